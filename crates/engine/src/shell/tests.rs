//! Commands and the effects that they must give, in one line each.
//!
//! The form: targets, then flags. `W a` write, `A` append, `D` delete, `M` move, `U` clean
//! untracked, `I` clean ignored, `T` checkout; `!` destroys, `*` pattern, `/` recursive,
//! `@dir` the folder; `anywhere a` is destroyed in a folder that is not known. Flags: `git`, `&`,
//! `?` for something unknown that is destroyed, and `.` for an understood shape.

use super::{CommandEffects, CommandTarget, TargetEffect, effects};

fn letter(what: TargetEffect) -> char {
    match what {
        TargetEffect::Write => 'W',
        TargetEffect::Append => 'A',
        TargetEffect::Delete => 'D',
        TargetEffect::Move => 'M',
        TargetEffect::CleanUntracked => 'U',
        TargetEffect::CleanIgnored => 'I',
        TargetEffect::CheckoutTree => 'T',
    }
}

fn show_target(target: &CommandTarget, destroyed: bool) -> String {
    let flag = |on: bool, mark: &str| if on { mark.to_owned() } else { String::new() };
    let cwd = target.cwd.as_ref().map(|cwd| format!("@{cwd}")).unwrap_or_default();
    [
        letter(target.what).to_string(),
        flag(destroyed, "!"),
        flag(target.glob, "*"),
        flag(target.recursive, "/"),
        " ".to_owned(),
        target.path.clone(),
        cwd,
    ]
    .concat()
}

pub(super) fn show(effects: &CommandEffects) -> String {
    let mut parts: Vec<String> = effects
        .targets
        .iter()
        .map(|target| show_target(target, effects.destroys.contains(target)))
        .collect();
    let elsewhere = effects.destroys.iter().filter(|target| !effects.targets.contains(target));
    parts.extend(elsewhere.map(|target| format!("anywhere {}", target.path)));
    for (on, mark) in [
        (effects.runs_git, "git"),
        (effects.background, "&"),
        (effects.destroys_unknown, "?"),
        (effects.understood.is_some(), "."),
    ] {
        if on {
            parts.push(mark.to_owned());
        }
    }
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

/// Each row is a command and its effects; all differences are reported at once.
pub(super) fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(command, expected)| {
            let found = show(&effects(command));
            (found != *expected)
                .then(|| format!("{command}\n    expected {expected}\n    found    {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_text_whose_targets_are_not_all_listed_is_not_understood() {
    let names: Vec<_> = (0..1_100).map(|number| number.to_string()).collect();
    assert!(effects(&format!("rm {}", names[..900].join(" "))).understood.is_some());
    assert_eq!(effects(&format!("rm {}", names.join(" "))).understood, None);
    assert_eq!(effects(&"rm a;".repeat(2_100)).understood, None);
}

#[test]
fn patterns_are_understood_where_they_cannot_become_options() {
    for command in ["cat *", "grep -n x *.rs src/*.rs", "ls [a-z]*", "rg x src/*.rs"] {
        assert!(effects(command).understood.is_some(), "{command}");
    }
    for command in ["rg x *", "rm *.log", "git diff *", "sort *"] {
        assert_eq!(effects(command).understood, None, "{command}");
    }
}

#[test]
fn what_is_not_understood_by_its_shape() {
    for command in [
        "cd d; rm x",
        "cd d && rm x; rm y",
        "cd d && rm x || rm y",
        "rm x && cd d && rm y",
        "cd d",
        "cd && ls",
        "cd - && ls",
        "cd ~/d && ls",
        "rm $X",
        "rm *.log",
        "rm ~/x",
        "rm {a,b}",
        "rm a &",
        "(rm a)",
        "if true; then rm a; fi",
        "for f in a b; do rm $f; done",
        "f() { rm a; }; f",
        "X=1 rm a",
        "rm -i a",
        "rm --one-file-system a",
        "cp -r a b",
        "cp -b a b",
        "mv -b a b",
        "ln -s a b",
        "sort -o a b",
        "sort --output=a b",
        "shuf a",
        "uniq a b",
        "sed -n 'w out' a",
        "sed ':l w out' a",
        "sed 's/a/b/w out' a",
        "sed 's/a/b/e' a",
        "sed -i.bak s/a/b/ f",
        "sed -i s/a/b/ *.txt",
        "sed -f s.sed a",
        "sed 's/a/b/;w out' a",
        "awk '{print > \"f\"}' a",
        "awk 'BEGIN{system(\"x\")}'",
        "awk -i inplace '{print}' a",
        "awk -f prog a",
        "find . -delete",
        "find . -fprint out",
        "find . -exec rm {} +",
        "rg --pre evil x",
        "git checkout a",
        "git commit -m x",
        "git branch new",
        "git log --output=f",
        "git log --outp=f",
        "git grep -Oless x",
        "git grep -lOrm hello",
        "git grep -nO'rm'",
        "git grep --open-files=rm x",
        "find . -fprintf out x",
        "find . -fls out",
        "find . -newermt 2020-01-01 -delete",
        "find . -newerzz x",
        "X=1 ls",
        "LC_ALL=$X ls",
        "LC_ALL=$(rm a) ls",
        "LC_ALL=C X=1 ls",
        "LOCPATH=d ls",
        "LC_ALL=C ./ls",
        "command rm a",
        "command -p ls",
        "command command ls",
        "time -o f ls",
        "! echo x | tee a",
        "ls ~root",
        "echo x > ~/a",
        "grep \"a$X\" f",
        "git -c alias.x=y status",
        "git tag v1",
        "git add -p",
        "env rm a",
        "xargs rm",
        "echo x > $F",
        "echo x <> f",
        "cat <<EOF > f\n$(rm x)\nEOF",
        "cat <(rm a)",
        "./ls",
        "time rm a",
        "! rm a",
        "chmod -R 755 d",
        "chmod $M a",
        "tee *",
        "less a",
        "bash -c 'bash -c \"rm a\"'",
        "bash -c \"rm $X\"",
        "bash script.sh",
    ] {
        assert_eq!(effects(command).understood, None, "{command}");
    }
}

#[test]
fn readers_change_nothing() {
    check(&[
        ("", "."),
        ("# only a comment", "."),
        ("ls -la", "."),
        ("cat a | grep x | head -3 | wc -l", "."),
        ("rg -n 'foo.*bar' src && echo done", "."),
        ("git status; git log --oneline -5; git diff HEAD~1 -- a", "."),
        ("git -C sub show HEAD:a", "."),
        ("[ -f a ] && echo yes || echo no", "."),
        ("[[ -n $X && $Y == z* ]]", "-"),
        ("sed -n '1,20p' a; sed 's/a/b/g' a", "."),
        ("find . -name '*.rs' -not -path './target/*'", "."),
        ("find . -type f -exec grep -l x {} +", "-"),
        ("find . -name x | xargs grep foo", "-"),
        ("ls $DIR \"$(pwd)\" `date`", "-"),
        ("awk '{print $1}' a | sort | uniq -c", "."),
        ("echo hi >&2; ls 2>&1 >/dev/null", "."),
        ("command -v cargo", "."),
        ("command ls -la; command git status", "."),
        ("time ls; time -p wc -l a", "."),
        ("! grep x a.txt && ! git diff --quiet", "."),
        ("LC_ALL=C ls; LANG=C TZ=UTC git log; LC_CTYPE=C NO_COLOR=1 TERM=dumb grep x a", "."),
        ("ls ~; cat ~/.profile; rg x ~/src", "."),
        ("grep \"a\\.b\" a.txt; grep -rn \"def \\w\" .; grep \"\\$x \\\"y\\\" \\\\ \\`\" a", "."),
        ("find . -newermt '1 day ago' -ls -quit; find . -xdev -mount -depth -printf '%p\\n'", "."),
        ("find . -executable -readable -writable -user me -group us -newer a -newermm b", "."),
        ("find -L . -exec grep x {} +", "-"),
        ("cat <<'EOF'\n$(rm x)\nEOF", "."),
        ("git branch -a; git stash list; git remote -v; git config --get user.name", "."),
        ("curl -s http://x/y | jq .", "-"),
        ("tar tzf a.tgz; unzip -l b.zip", "-"),
        ("export A=b; echo $A", "-"),
        ("while read -r l; do echo \"$l\"; done < f", "-"),
    ]);
}

#[test]
fn what_the_text_does_not_name() {
    check(&[
        ("cargo build", "-"),
        ("npm test && rm -rf dist", "D!/ dist"),
        ("$CMD a", "-"),
        ("./ls", "-"),
        ("source env.sh", "-"),
        ("echo $(make)", "-"),
        ("echo \"$(rm x)\"", "D! x"),
        ("cat <<EOF\n$(rm x)\nEOF", "D! x"),
        ("python3 - <<'EOF'\nopen('x','w')\nEOF", "?"),
        ("find . -name x | xargs rm", "?"),
        ("find $D -delete", "?"),
        ("PATH=/evil ls", "-"),
        ("if then fi (", "-"),
        ("echo ${x:-$(rm y)}", "?"),
        ("tar xzf a.tgz", "?"),
        ("sed 's/a/b/w out' f", "?"),
        ("sed 's/a/b/e' f", "?"),
        ("awk '{print > \"f\"}' a", "?"),
        ("git commit -m x", "git"),
        ("git -c core.pager=evil log", "?"),
        ("git -c alias.z='!rm -f build/x.log' z", "git, ?"),
        ("git -c user.name=x -c core.quotepath=off commit -m x", "git"),
        ("git z; git archive --output=.env HEAD", "git, ?"),
        ("git read-tree -u --reset other", "git, ?"),
        ("git reset --har other", "git, ?"),
        ("git grep -lOrm hello", "?"),
        ("git ls-remote --upload-pack='rm x' .", "?"),
        ("git worktree remove -f w", "git, ?"),
        ("history -w .env", "?"),
        ("jobs -x rm build/x.log", "?"),
        ("compgen -C 'rm build/x.log'", "?"),
        ("hash -p /bin/rm ls; ls x", "?"),
        ("xmllint --output .env a.xml", "?"),
        ("history 5; jobs -l; compgen -c; rg -n x; less a", "-"),
        ("[ -v 'a[$(rm x)]' ]; test -v 'a[$(rm x)]'", "?"),
        ("f=; : \"${f:=build/x.log}\"; rm \"$f\"", "?"),
        ("f=a; echo ${b:-${f=x}}; rm $f", "?"),
        ("f=a; : $((f=1)); rm $f", "?"),
        ("f=a.log; printf -vf build/x.log; rm \"$f\"", "?"),
        ("f=a.log; read -raf <<< x; rm \"$f\"", "?"),
        ("f='$(rm x)'; echo ${f@P}", "?"),
        ("f=a; echo ${f:-b}; rm $f", "D! a"),
        ("node -e \"require('fs').rmSync('build/x.log')\"", "?"),
        ("node -e \"require('fs').cpSync('a', 'build')\"", "?"),
        ("node -e \"require('fs').rmdirSync('build')\"", "?"),
        ("node -e \"require('fs').unlinkSync('build/x.log')\"", "?"),
        ("node -e \"require('fs').writeFileSync('build/x.log', '')\"", "?"),
        ("awk -f <(echo 'BEGIN{system(\"rm build/x.log\")}')", "?"),
        ("awk -e 'BEGIN{system(\"rm build/x.log\")}'", "?"),
        ("alias k='rm -rf'\nk build", "?"),
        ("sed --expr='w .env' a.txt", "?"),
        ("sed -n -f s.sed a", "?"),
        ("cp -b -S .log c.txt a", "W! a, W! a/c.txt, ?"),
        ("install -b -S .log c.txt a", "W! a, W! a/c.txt, ?"),
        ("patch -b -z .log a < p", "W! a, W! a.orig, W! a.rej, ?"),
        ("git clean -fX '*.log'", "I!*/ *.log, git, ?"),
        ("find -L d -delete", "D!/ d, ?"),
        ("GIT_PAGER='rm x' git log; CI=1 npm test", "?"),
        ("export EDITOR='rm x'", "?"),
        ("env EDITOR='rm x' make", "?"),
        ("flock l git reset --hard", "?"),
        ("gzip -S .log a", "D! a, W! a.gz, ?"),
        ("curl --outp .env http://x", "?"),
        ("curl --silent --retry 3 --output f http://x", "W! f"),
        ("zip --out .env a.zip b", "W! .env, ?"),
    ]);
}

#[test]
fn redirections() {
    check(&[
        ("echo a > b", "W! b, ."),
        ("echo a >> b", "A! b, ."),
        ("echo a >| b", "W! b, ."),
        ("ls &> b; ls &>> c", "W! b, A! c, ."),
        ("ls > a 2> b 3<> c", "W! a, W! b, A! c"),
        ("ls >& f", "W! f"),
        ("cat > 'a b' <<'EOF'\nx > y\nEOF", "W! a b, ."),
        ("cat <<EOF >f && ls\nx\nEOF\n", "W! f, ."),
        ("{ echo a; echo b; } > c", "W! c"),
        ("(cd d; ls) > c", "W! c"),
        ("> empty", "W! empty"),
        ("echo x > $F", "?"),
        ("cat <<< word > f", "W! f, ."),
        ("echo a | tee b c | tee -a d", "W! b, W! c, A! d, ."),
        ("echo x > >(tee f)", "W! f"),
        ("99999999999>x", "?"),
    ]);
}

#[test]
fn words() {
    check(&[
        (
            "rm 'a b' \"c d\" e\\ f $'g\\th' $'\\x41\\u00e9'",
            "D! a b, D! c d, D! e f, D! g\th, D! Aé",
        ),
        ("rm {a,b}.txt x{1..3}", "D! a.txt, D! b.txt, D! x1, D! x2, D! x3"),
        ("rm {a,b{c,d}}e", "D! ae, D! bce, D! bde"),
        ("rm '{a,b}' {a} a{,.bak}", "D! {a,b}, D! {a}, D! a, D! a.bak"),
        ("rm *.log a/b?.c '*'", "D!* *.log, D!* a/b?.c, D! *"),
        ("rm '['*", "D!* \\[*"),
        ("rm ~/x", "D! ~/x"),
        ("rm $HOME/x ${PWD}/y", "D! ~/x, D! ./y"),
        ("F=x; rm $F ${F}y \"$F z\"", "D! x, D! xy, D! x z"),
        ("F='a b'; rm $F", "D! a, D! b"),
        ("F='*.o'; rm $F", "D!* *.o"),
        ("F=x; if a; then F=y; fi; rm $F.o", "?"),
        ("F=x; F=y; rm $F", "D! y, ?"),
        ("F=x rm $F", "?"),
        ("F=$(date); rm $F", "?"),
        ("read F; rm $F", "?"),
        ("rm -- -f", "D! -f"),
        ("\\rm x; /bin/rm y", "D! x, D! y, ."),
        ("rm {1..1000000}", "?"),
        ("rm +(a|b)", "?"),
        ("rm \"$@\"", "?"),
    ]);
}

#[test]
fn control_flow() {
    check(&[
        ("a=1 && rm x || rm y; rm z", "D! x, D! y, D! z"),
        ("if test -f a; then rm a; elif true; then rm b; else rm c; fi", "D! a, D! b, D! c"),
        ("for f in a b; do rm $f.txt; done", "D! a.txt, D! b.txt"),
        ("for f in a b; do break; done; rm $f", "?"),
        (
            "for f in *.txt; do mv \"$f\" \"$f.bak\"; done",
            "M!*/ *.txt, W!*/ *.txt.bak, W!*/ *.txt.bak/*.txt",
        ),
        ("for f in $(ls); do rm $f; done", "?"),
        ("for f; do rm $f; done", "?"),
        ("while true; do rm x; done", "D! x"),
        ("i=0; while [ $i -lt 3 ]; do rm f$i; i=$((i+1)); done", "?"),
        ("for ((i=0;i<3;i++)); do rm f$i; done", "?"),
        ("case $x in a) rm a;; b|c) rm b;; esac", "D! a, D! b"),
        ("if x=1; then f=a; else f=b; fi; rm $f", "?"),
        ("f() { rm \"$1\"; }; f x; f y", "D! x, D! y, ?"),
        ("f() { f; }; f", "-"),
        ("(rm a); { rm b; }; ! rm c", "D! a, D! b, D! c"),
        ("rm a &", "D! a, &"),
        ("coproc rm a", "D! a, &"),
        ("time rm a | cat", "D! a"),
    ]);
}

#[test]
fn folders() {
    check(&[
        ("cd d && rm x", "D! x@d, ."),
        ("cd d; cd e/; rm x /y", "D! x@d/e/, D! /y"),
        ("(cd d && rm x); rm y", "D! x@d, D! y"),
        ("cd d | rm x", "D! x"),
        ("cd $D && rm x /y", "D! /y, anywhere x"),
        ("cd /abs && rm x; cd && rm y", "D! x@/abs, D! y@~"),
        ("cd d || exit 1; rm x", "D! x@d"),
        ("if a; then cd d; fi; rm x", "anywhere x"),
        ("cd - && rm x", "anywhere x"),
        ("pushd d; rm x; popd; rm y", "D! x@d, anywhere y"),
        ("git -C d rm x; rm y", "D! x@d, D! y, git"),
        ("cd . && rm x", "D! x, ."),
    ]);
}

#[test]
fn wrappers() {
    check(&[
        ("bash -c 'rm x && echo \"y\" > z'", "D! x, W! z, ."),
        ("zsh -lc 'sed -i s/a/b/ f'", "W! f, ."),
        ("bash -lc \"bash -c 'rm x'\"", "D! x"),
        ("sh -c \"$X\"", "-"),
        ("bash script.sh", "-"),
        ("bash <<'EOF'\nrm x\nEOF", "D! x"),
        ("env A=b rm x; sudo -u root rm y; timeout -k 1 5 rm z", "D! x, D! y, D! z"),
        ("nice -n 5 rm x; command rm y; exec rm z", "D! x, D! y, D! z"),
        ("nohup rm x > log 2>&1 &", "W! log, A nohup.out, D! x, &"),
        ("setsid rm x", "D! x, &"),
        ("eval 'rm x'; eval rm y", "D! x, D! y"),
        ("trap 'rm -f t' EXIT", "D! t"),
        ("xargs -n 1 rm x", "D! x, ?"),
        ("sudo -i", "-"),
        ("env", "-"),
    ]);
}

#[test]
fn file_commands() {
    check(&[
        ("rm -rf a b/", "D!/ a, D!/ b/, ."),
        ("rmdir a; unlink b; shred c; truncate -s 0 d", "D! a, D! b, W! c, W! d"),
        ("touch a -d yesterday b; mkdir -p -m 755 c/d", "W a, W b, W c/d"),
        ("chmod +x a; chmod -x b; chmod -R 755 c; chown u:g d", "W! a, W! b, W!/ c, W! d"),
        ("cp a b", "W! b, W! b/a, ."),
        ("cp a b dir/", "W! dir/a, W! dir/b, ."),
        ("mv src lib/", "M!/ src, W!/ lib/, W!/ lib/src, ."),
        ("bash -lc 'mv src lib/'", "M!/ src, W!/ lib/, W!/ lib/src, ."),
        ("cp --parents sub/z.log build", "W! build, W! build/z.log, W! build/sub/z.log"),
        ("cp -t dir a x/b", "W! dir/a, W! dir/b"),
        ("cp -r src/ dst", "W!/ dst, W!/ dst/src"),
        ("cp -T a b; cp a .", "W! b, W! a"),
        ("mv a b", "M!/ a, W!/ b, W!/ b/a, ."),
        ("mv a b dir", "M!/ a, M!/ b, W!/ dir/a, W!/ dir/b, ."),
        ("mv a $B", "M!/ a, ?"),
        ("ln -s ../a; ln -sf a b", "W a, W! b, W! b/a, ?"),
        ("install -m 755 a b; install -d c", "W! b, W! b/a, W c"),
        ("dd if=/dev/zero of=x bs=1", "W! x"),
        ("rsync -a --delete a/ b/; rsync a host:b", "D!/ b/"),
        ("sort -o a b; uniq a b", "W! a, W! b"),
        ("curl -sSL -o f http://x; wget -O g http://x; curl http://x", "W! f, W! g"),
        ("curl -O http://x/y", "?"),
        ("gzip a; gunzip b.gz; gzip -c d", "D! a, W! a.gz, D! b.gz, W! b"),
        ("tar czf a.tgz dir", "W! a.tgz"),
        ("unzip a.zip", "?"),
        ("find d -name '*.o' -delete", "D!/ d"),
        ("find . -type f -exec rm {} \\;", "D!/ ."),
        ("find d -exec sed -i s/a/b/ {} +", "W!/ d"),
        ("find d -exec mv {} {}.bak \\;", "M!/ d, ?"),
        ("diff <(sort a) <(sort b)", "-"),
    ]);
}

#[test]
fn programs() {
    check(&[
        (
            "sed -i 's/one/ONE/' existing.txt && echo made > shell_created.txt && rm doomed.txt",
            "W! existing.txt, W! shell_created.txt, D! doomed.txt, .",
        ),
        ("sed -i.bak s/a/b/ f", "W! f, W! f.bak"),
        ("sed -i '' -e s/a/b/ -e '/x/d' f g", "W! f, W! g"),
        ("sed -i '' 's/a/b/' f", "W! f"),
        ("sed -ni -e p f; sed --in-place=.b s,a,b, g", "W! f, W! g, W! g.b"),
        ("sed -i -f s.sed f", "W! f, ?"),
        ("sed -i -e s/A/B/ --in-place=.log a", "W! a, W! a.log"),
        ("sed --in-pl s/S/T/ .env", "W! .env"),
        ("sed -i \"s/$A/b/\" f", "W! f"),
        ("sed -i '3a\\new line' f", "W! f"),
        ("perl -i -pe 's/a/b/g' f g", "W! f, W! g"),
        ("perl -pi.bak -e 's/a/b/' f", "W! f, W! f.bak"),
        ("perl -i -pe 'system(\"x\")' f", "W! f, ?"),
        ("perl -e 'print 1'", "-"),
        ("yq -i '.a=1' f", "W! f"),
        ("patch -p1 f < x.patch", "W! f, W! f.orig, W! f.rej"),
        ("patch -p1 < x.patch", "?"),
        (
            "patch -p1 <<'EOF'\n--- a/x/y\n+++ b/x/y\n@@ -1 +1 @@\n-a\n+b\nEOF",
            "W! x/y, anywhere y, anywhere *.orig, anywhere *.rej",
        ),
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n\n+x\n*** Delete File: o\n\
          *** Update File: p\n*** Move to: q\n@@\n-a\n+b\n*** End Patch\nEOF",
            "W! n, D! o, M! p, W! q, anywhere o, anywhere p",
        ),
        (
            "cd sub && apply_patch '*** Begin Patch\n*** Add File: n\n+x\n*** End Patch'",
            "W! n@sub, anywhere n",
        ),
    ]);
}

#[test]
fn git() {
    check(&[
        ("git add -A && git status", "."),
        ("git checkout -- a b/", "T!/ a, T!/ b/, git"),
        ("git checkout main", "T!/ ., git"),
        ("git checkout .", "T!/ ., git"),
        ("git checkout HEAD~1 src/a.rs", "T!/ src/a.rs, git"),
        ("git switch -c x", "T!/ ., git"),
        (
            "git restore a; git restore --staged b; git restore --source HEAD~1 c",
            "T!/ a, T!/ c, git",
        ),
        ("git reset --hard HEAD~1", "T!/ ., git"),
        ("git reset a", "git"),
        ("git clean -fd", "U!/ ., git"),
        ("git clean -fdx sub", "U!/ sub, I!/ sub, git"),
        ("git clean -fdX", "I!/ ., git"),
        ("git clean -n", "git"),
        ("git stash", "T!/ ., git"),
        ("git stash -u", "T!/ ., U!/ ., git"),
        ("git stash pop", "T!/ ., git"),
        ("git rm -r --cached a; git rm b; git mv c d", "D! b, M!/ c, W!/ d, W!/ d/c, git"),
        ("git apply x.patch", "T!/ ., git"),
        ("git apply <<'EOF'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nEOF", "W! x, git"),
        ("git apply --check x.patch", "-"),
        ("git merge x; git rebase y", "T!/ ., git"),
        ("cd d && git reset --hard", "T!/ .@d, git"),
        ("git diff --output=f", "W! f"),
        ("git $SUB", "T!/ ., git"),
    ]);
}
