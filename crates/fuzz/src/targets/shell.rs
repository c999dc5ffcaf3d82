//! Shell command lines.

use retake_engine::shell::{CommandEffects, effects, quoted};

use crate::reused_project::{OpenTestProject, ReusedFixture, check_place, with_fixture};

/// Dictionary of shell syntax and commands.
pub const DICTIONARY: &[&str] = &[
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
    "<<<",
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
    ">|",
    "&>",
    "2>&1",
    "<",
    "{1..9}",
    "{a,b}",
    "~",
    "*",
    "?",
    "[a]",
    "$",
    "$x",
    "x=",
    "-",
    "--",
    "if ",
    "; then ",
    "; fi",
    "; do ",
    "; done",
    "for i in ",
    "while ",
    "case ",
    " esac",
    "function f",
    "coproc ",
    "rm -rf ",
    "git ",
    "sed -i ",
    "tee ",
    "dd of=",
    "find . -exec ",
    "xargs ",
    "bash -c ",
    "eval ",
    "cd ",
    "sudo ",
    "env ",
    "é",
    "\0",
    "#",
    "!",
    "..",
    "/",
];

/// Maximum number of targets; these limits and the length of the text bound the work.
const MAX_TARGETS: usize = 1_000;
const MAX_READINGS: usize = 1_000;
const MAX_TARGET_BYTES: usize = 256 * 1024;

thread_local! {
    static STAGE: ReusedFixture<OpenTestProject> = const { ReusedFixture::new(None) };
}

/// The effects of a command are deterministic, within limits and beneath the root; and a
/// redirection is never missed.
pub fn shell(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let found = effects(&text);
    check(&found);
    assert_eq!(effects(&text), found, "the same text");
    check_places(&found);
    check_redirection(&text);
}

fn check(found: &CommandEffects) {
    assert!(found.targets.len() <= MAX_TARGETS, "{} targets", found.targets.len());
    assert!(found.reads.len() <= MAX_READINGS, "{} readings", found.reads.len());
    assert!(found.destroys.len() <= 2 * MAX_TARGETS, "{} destroyed", found.destroys.len());
    for target in &found.targets {
        assert!(target.path.len() <= MAX_TARGET_BYTES);
        let folder = target.cwd.as_ref().map_or(0, String::len);
        assert!(folder <= MAX_TARGET_BYTES, "a folder of {folder} bytes");
    }
}

/// Any target that resolves to a path of the project is beneath its root.
fn check_places(found: &CommandEffects) {
    let stage = || {
        OpenTestProject::new(|test| {
            test.write("a/b.txt", "x\n");
            std::os::unix::fs::symlink("../canary", test.root().join("link")).unwrap();
            test.write("../canary/a.txt", "not in the project\n");
        })
    };
    with_fixture(&STAGE, usize::MAX, stage, |stage| {
        let root = stage.test.root();
        for target in found.targets.iter().take(8) {
            let cwd = target.cwd.as_ref().map_or(root.clone(), |cwd| root.join(cwd));
            if let Some(path) = stage.project.resolve_path(&cwd, &target.path) {
                check_place(&root, &path);
            }
        }
    });
}

/// A plain redirection of a plain command names its target, with any text beside it.
///
/// Numbers that no descriptor can have are left out.
fn check_redirection(text: &str) {
    const REDIRECTIONS: &[&str] = &[">", ">>", ">|", "&>", "&>>", "2>", "1>>", "<>"];
    let word: String = text.chars().filter(|sign| *sign != '\0').take(60).collect();
    let name: String = word.chars().filter(|sign| !sign.is_control()).take(30).collect();
    let name = format!("out {}", name.replace('/', "_"));
    let sign = REDIRECTIONS[text.len() % REDIRECTIONS.len()];
    for command in ["echo", "cat", "made-up-command"] {
        let line = format!("{command} {} {sign} {}", quoted(&word), quoted(&name));
        let found = effects(&line);
        // The parser may take it for a descriptor, and give up: then anything may be destroyed.
        let is_number = word.len() > 9 && word.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && found.destroys_unknown {
            continue;
        }
        let is_it = |target: &retake_engine::shell::CommandTarget| {
            target.path == name && target.cwd.is_none() && !target.glob
        };
        assert!(found.targets.iter().any(is_it), "{line}\n{found:?}");
    }
}
