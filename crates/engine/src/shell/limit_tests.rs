//! Deep, long and random input: an answer always comes, and soon.

use super::effects;
use super::tests::{check, show};

#[test]
fn nesting_ends_in_an_answer() {
    for (open, close) in [
        ("( ", " )"),
        ("(", ")"),
        ("{ ", "; }"),
        ("if a; then ", "; fi"),
        ("echo $(", ")"),
        ("echo \"$(", ")\""),
        ("echo ${a:-", "}"),
        ("echo $((", "))"),
        ("f() { ", "; }"),
        ("case a in b) ", ";; esac"),
        ("[[ ! ", ""),
        ("coproc ", ""),
        ("echo {a,", "}"),
        ("eval '", "'"),
        ("`", "`"),
        ("for i in 1 2 3 4; do ", "; done"),
        ("while true; do ", "; done"),
    ] {
        for depth in [3, 13, 100, 5_000, 30_000] {
            let inner = open.repeat(depth);
            effects(&format!("{inner}rm x{}", close.repeat(depth)));
            effects(&inner);
        }
    }
}

#[test]
fn doubling_stays_small() {
    check(&[("a=x; for i in {1..60}; do a=$a$a; done; rm $a", "?")]);
    effects(&"{a,b}".repeat(60));
    effects(&format!("echo {}", "{".repeat(50_000)));
    effects(&format!("cat > f <<'EOF'\n{}\nEOF\n", "some (code) `here` ${x} $(y)\n".repeat(5_000)));
}

#[test]
fn long_heredocs_keep_their_target() {
    let body = "fn main() { println!(\"{}\", `x` ${y} (z); }\n".repeat(2_000);
    let command = format!("cat > src/main.rs <<'EOF'\n{body}EOF\n");
    assert_eq!(show(&effects(&command)), "W! src/main.rs, .");
}

/// Mutations of real commands: whatever comes out, something comes out.
#[test]
fn random_text_never_panics() {
    const SEEDS: &[&str] = &[
        "for f in a {b,c}*; do sed -i.bak \"s/$f/x/\" ~/\"$f\" && mv $f ${f%.x} || exit; done",
        "cat <<'EOF' > f 2>&1 | bash -lc 'git checkout -- a && find . -exec rm {} +'\nx\nEOF\n",
        "if [[ -n $(git stash) ]]; then $'a\\x41\\u12' >| `b`; else case é in *) dd of=x;; esac fi",
        "perl -i -pe 's/a/b/' x; patch -p1 <<E\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nE\n",
        "cat -n a | sed -n '1,5p;3q' | tail -n +2 <b; head -n 3 a b && awk 'NR>=1&&NR<2' \"$x\" | nl",
    ];
    const BITS: &[&str] = &[
        "(",
        ")",
        "{",
        "}",
        "$(",
        "${",
        "`",
        "'",
        "\"",
        "\\",
        "\n",
        "<<E\n",
        "E\n",
        "é",
        "$'",
        "((",
        "[[",
        "]]",
        "&&",
        "||",
        ";",
        "&",
        "|",
        ">",
        ">>",
        "{1..9}",
        "~",
        "*",
        "$",
        "\0",
        "-",
        "if",
        "fi",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "function f",
        "coproc",
        "99999999999999",
    ];
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..4_000 {
        let mut text = SEEDS[random.usize(..SEEDS.len())].to_owned();
        for _ in 0..random.usize(1..8) {
            let at = floor(&text, random.usize(..=text.len()));
            let end = floor(&text, (at + random.usize(..12)).min(text.len()));
            text.replace_range(at..end.max(at), BITS[random.usize(..BITS.len())]);
        }
        effects(&text);
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
