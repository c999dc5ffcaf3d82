cat <<'EOF' > f 2>&1 | bash -lc 'git checkout -- a && find . -exec rm {} +'
x
EOF
