//! What commands are said to show, with the real shell as the oracle: nothing may be claimed that
//! it does not print.

#![expect(clippy::disallowed_methods, reason = "these write the files of a test")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::effects;
use crate::tool::{FilePart, FileReading, show_readings};

/// Files and how many lines they have; each line names its file and its number.
const FILES: &[(&str, u32)] = &[("a", 30), ("b", 4), ("sub/c", 12), ("a b", 3), ("empty", 0)];

fn line(path: &str, number: u32) -> String {
    format!("<{path}:{number}>")
}

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    for (path, count) in FILES {
        let text: String = (1..=*count).map(|number| line(path, number) + "\n").collect();
        fs::write(folder.path().join(path), text).unwrap();
    }
    folder
}

/// The lines of the file that a reading claims.
fn claimed(reading: &FileReading) -> Vec<String> {
    let folder = reading.cwd.as_ref().map(|cwd| format!("{cwd}/")).unwrap_or_default();
    let path = format!("{folder}{}", reading.path).replace("./", "");
    let Some((path, count)) = FILES.iter().find(|(name, _)| *name == path) else {
        return Vec::new();
    };
    let (first, last) = match reading.part {
        FilePart::Whole => (1, *count),
        FilePart::Lines(lines) => (lines.first, lines.last.min(*count)),
        FilePart::Last(lines) => ((count + 1).saturating_sub(lines).max(1), *count),
    };
    (first..=last).map(|number| line(path, number)).collect()
}

/// What the real shell prints.
fn printed(command: &str, folder: &Path) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).stdin(Stdio::null());
    String::from_utf8_lossy(&shell.output().unwrap().stdout).into_owned()
}

fn check_with_shell(command: &str, folder: &Path) -> Vec<FileReading> {
    let readings = effects(command).reads;
    let printed = printed(command, folder);
    for claim in readings.iter().flat_map(claimed) {
        assert!(printed.contains(&claim), "{command}\nclaims {claim}, but prints\n{printed}");
    }
    readings
}

fn check(commands: &[&str], expected: &Expect) {
    let folder = project();
    let mut table = String::new();
    for command in commands {
        let shown = show_readings(&check_with_shell(command, folder.path()));
        writeln!(table, "{command}: {shown}").unwrap();
    }
    expected.assert_eq(&table);
}

#[test]
fn files_and_lines_of_them() {
    check(
        &[
            "cat a b",
            "cat -n ./a",
            "cat 'a b' empty missing",
            "nl -ba a",
            "less -N a",
            "more b",
            "head a",
            "head -n 3 a b",
            "head -3 a",
            "head -qn3 a",
            "tail a",
            "tail -n 3 a",
            "tail -n +28 a",
            "tail -3 a",
            "sed -n '3,5p' a",
            "sed -n 5p a",
            "sed -ne '28,$p' a",
            "sed -n '$p' a",
            "sed -n -e 1,2p -e '9,+1p' a",
            "sed -n '1,20p;5q' a",
            "sed -n '5q;1,20p' a",
            "sed -n '9,3p' a",
            "sed -sn 2,3p a b",
            "awk 'NR>=3 && NR<=5' a",
            "awk 'NR == 7 {print}' a",
            "cat < a",
            "head -n 2 <a",
        ],
        &expect![[r"
            cat a b: a, b
            cat -n ./a: ./a
            cat 'a b' empty missing: a b, empty, missing
            nl -ba a: a
            less -N a: a
            more b: b
            head a: a:1-10
            head -n 3 a b: a:1-3, b:1-3
            head -3 a: a:1-3
            head -qn3 a: a:1-3
            tail a: a:-10
            tail -n 3 a: a:-3
            tail -n +28 a: a:28-
            tail -3 a: a:-3
            sed -n '3,5p' a: a:3-5
            sed -n 5p a: a:5-5
            sed -ne '28,$p' a: a:28-
            sed -n '$p' a: a:-1
            sed -n -e 1,2p -e '9,+1p' a: a:1-2, a:9-10
            sed -n '1,20p;5q' a: a:1-5
            sed -n '5q;1,20p' a: a:1-4
            sed -n '9,3p' a: a:9-9
            sed -sn 2,3p a b: a:2-3, b:2-3
            awk 'NR>=3 && NR<=5' a: a:3-5
            awk 'NR == 7 {print}' a: a:7-7
            cat < a: a
            head -n 2 <a: a:1-2
        "]],
    );
}

#[test]
fn what_flows_through_pipes() {
    check(
        &[
            "cat a | head -5",
            "cat -n a | sed -n '10,20p'",
            "nl -ba a | sed -n '10,20p' | head -3",
            "head -20 a | tail -n +15",
            "head -20 a | tail -5",
            "head -20 b | tail -3",
            "tail -n +5 a | tail -3",
            "tail -10 a | tail -3",
            "tail -10 a | head -3",
            "cat a b | cat",
            "cat a b | head -3",
            "cat a | head -20 | tail -5 | head -2",
            "cat a | grep 3",
            "cat a | wc -l",
            "grep -n 3 a | head -5",
            "{ echo x; cat a; } | head -3",
            "sh -c 'echo x; cat a' | head -3",
            "cat a | { cat; }",
            "cat a | (head -2; head -2)",
            "echo x | cat a",
            "echo x | cat",
            "cat a | head -3 < b",
            "cat < a | head -2",
        ],
        &expect![[r"
            cat a | head -5: a:1-5
            cat -n a | sed -n '10,20p': a:10-20
            nl -ba a | sed -n '10,20p' | head -3: a:10-12
            head -20 a | tail -n +15: a:15-20
            head -20 a | tail -5: a:16-20
            head -20 b | tail -3: b:18-20
            tail -n +5 a | tail -3: -
            tail -10 a | tail -3: a:-3
            tail -10 a | head -3: -
            cat a b | cat: a, b
            cat a b | head -3: -
            cat a | head -20 | tail -5 | head -2: -
            cat a | grep 3: -
            cat a | wc -l: -
            grep -n 3 a | head -5: -
            { echo x; cat a; } | head -3: -
            sh -c 'echo x; cat a' | head -3: -
            cat a | { cat; }: a
            cat a | (head -2; head -2): a:1-2
            echo x | cat a: a
            echo x | cat: -
            cat a | head -3 < b: b:1-3
            cat < a | head -2: a:1-2
        "]],
    );
}

#[test]
fn chains_folders_and_wrappers() {
    check(
        &[
            "cd sub && cat c",
            "cd sub && cat c; cat ../a",
            "(cd sub; cat c); cat b",
            "bash -lc \"sed -n '1,3p' a\"",
            "bash -lc 'cd sub && sed -n 1,3p c && pwd'",
            "timeout 5 cat b",
            "ls -la && cat b; echo; tail -n 1 a",
            "for f in a b; do echo $f; head -2 $f; done",
            "F=b; cat $F",
            "show() { head -2 \"$1\"; }; show a",
            "cat a 2>/dev/null",
            "cat a 2>&1",
            "cd sub || exit 1; cat c",
        ],
        &expect![[r#"
            cd sub && cat c: sub c
            cd sub && cat c; cat ../a: sub c, sub ../a
            (cd sub; cat c); cat b: sub c, b
            bash -lc "sed -n '1,3p' a": a:1-3
            bash -lc 'cd sub && sed -n 1,3p c && pwd': sub c:1-3
            timeout 5 cat b: b
            ls -la && cat b; echo; tail -n 1 a: b, a:-1
            for f in a b; do echo $f; head -2 $f; done: a:1-2, b:1-2
            F=b; cat $F: b
            show() { head -2 "$1"; }; show a: a:1-2
            cat a 2>/dev/null: a
            cat a 2>&1: a
            cd sub || exit 1; cat c: sub c
        "#]],
    );
}

#[test]
fn what_is_not_certain_shows_nothing() {
    check(
        &[
            "cat *",
            "cat $X ~/a",
            "head $N a",
            "cat a > out",
            "cat a >&2",
            "cat a &> out",
            "{ cat a; } > out",
            "for f in a; do cat $f; done > out",
            "x=$(cat a); echo \"$x\" | wc -c",
            "diff <(cat a) b",
            "grep -q nothing a && cat b",
            "test -f missing && cat b",
            "true || cat b",
            "if test -f missing; then cat b; fi",
            "case x in y) cat b;; esac",
            "while false; do cat b; done",
            "exit; cat b",
            "if true; then exit; fi; cat b",
            "exec > out; cat a",
            "cat b &",
            "trap 'cat b' USR1",
            "printf '' | xargs -r cat a",
            "find . -name missing -exec cat a \\;",
            "cat() { :; }; cat a",
            "./cat a",
            "head -c 20 a",
            "head -n -25 a",
            "tail -c 20 a",
            "tail -5 a b",
            "tail -n 0 a",
            "sed -n '/3/p' a",
            "sed '1,3d' a",
            "sed -n 's/3/x/p' a",
            "sed -n '2!p' a",
            "sed -n 1~5p a",
            "sed -n 2,3p a b",
            "sed -i -n 1,2p out",
            "awk '{print $1}' empty",
            "awk 'NR>3 || NR<2' empty",
            "cat --help",
            "cat <<'EOF'\ncat a\nEOF",
            "cd /missing/folder; cd $X; cat c",
            "cat",
            "grep 3 a",
        ],
        &expect![[r#"
            cat *: -
            cat $X ~/a: -
            head $N a: -
            cat a > out: -
            cat a >&2: -
            cat a &> out: -
            { cat a; } > out: -
            for f in a; do cat $f; done > out: -
            x=$(cat a); echo "$x" | wc -c: -
            diff <(cat a) b: -
            grep -q nothing a && cat b: -
            test -f missing && cat b: -
            true || cat b: -
            if test -f missing; then cat b; fi: -
            case x in y) cat b;; esac: -
            while false; do cat b; done: -
            exit; cat b: -
            if true; then exit; fi; cat b: -
            exec > out; cat a: -
            cat b &: -
            trap 'cat b' USR1: -
            printf '' | xargs -r cat a: -
            find . -name missing -exec cat a \;: -
            cat() { :; }; cat a: -
            ./cat a: -
            head -c 20 a: -
            head -n -25 a: -
            tail -c 20 a: -
            tail -5 a b: -
            tail -n 0 a: -
            sed -n '/3/p' a: -
            sed '1,3d' a: -
            sed -n 's/3/x/p' a: -
            sed -n '2!p' a: -
            sed -n 1~5p a: -
            sed -n 2,3p a b: -
            sed -i -n 1,2p out: -
            awk '{print $1}' empty: -
            awk 'NR>3 || NR<2' empty: -
            cat --help: -
            cat <<'EOF'
            cat a
            EOF: -
            cd /missing/folder; cd $X; cat c: -
            cat: -
            grep 3 a: -
        "#]],
    );
}

/// Random pipelines, chains and redirections of the known commands.
#[test]
fn no_line_is_claimed_that_the_shell_does_not_print() {
    const SOURCES: &[&str] = &[
        "cat",
        "cat -n",
        "nl -ba",
        "head -n 7",
        "tail -n 7",
        "tail -n +3",
        "sed -n 2,9p",
        "cat b",
    ];
    const FILTERS: &[&str] = &[
        "cat",
        "nl",
        "head -3",
        "head -n 9",
        "tail -2",
        "tail -n 6",
        "tail -n +2",
        "tail -n +9",
        "sed -n 3,6p",
        "sed -n '2p;4,$p'",
        "sed -n '$p'",
        "sed -n '1,8p;3q'",
        "grep 1",
        "wc -l",
        "awk 'NR>2&&NR<=8'",
        "less",
        "cat >/dev/null",
        "cat - b",
        "tail -n 3 a",
    ];
    const JOINS: &[&str] = &["; ", " && ", " || ", " & wait; ", "\n", "; exit; ", "; cd sub; "];
    let folder = project();
    let mut random = fastrand::Rng::with_seed(11);
    let mut some = 0;
    for _ in 0..300 {
        let mut command = String::new();
        for part in 0..random.usize(1..3) {
            if part > 0 {
                command += random.choice(JOINS).unwrap();
            }
            let files = ["a", "b", "sub/c", "c", "a b", "empty", "missing", "a b\" \"a"];
            let file = random.choice(files).unwrap();
            write!(command, "{} \"{file}\"", random.choice(SOURCES).unwrap()).unwrap();
            for _ in 0..random.usize(..4) {
                write!(command, " | {}", random.choice(FILTERS).unwrap()).unwrap();
            }
        }
        some += usize::from(!check_with_shell(&command, folder.path()).is_empty());
    }
    assert!(some > 100, "{some} of the commands show something");
}
