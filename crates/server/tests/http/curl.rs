//! The session in docs/api.md works as it is written.

use std::process::Command;

use retake_testkit::{TestProject, play};

use crate::stage::Stage;

const STORY: &str = r"
    file a.txt: one\ntwo\n
    init
    say d1: make it better
    edit d1 w1 a.txt: two => TWO
    edit d1 w2 a.txt: one => ONE
    turn-end d1
";

/// Commands of the document, each with what it prints.
fn session() -> Vec<(String, Option<String>)> {
    let text = include_str!("../../../../docs/api.md");
    let mut steps: Vec<(String, Option<String>)> = Vec::new();
    let mut parts = text.split("```");
    parts.next();
    for part in parts.step_by(2) {
        let (language, body) = part.split_once('\n').unwrap();
        match language {
            "sh" => steps.push((body.to_owned(), None)),
            "json" => steps.last_mut().unwrap().1 = Some(body.trim_end().to_owned()),
            other => panic!("docs/api.md has a block of '{other}'"),
        }
    }
    steps
}

/// Whether a text is what was written, where `…` stands for anything.
fn is_as_written(text: &str, written: &str) -> bool {
    let mut parts = written.split('…');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<_> = parts.collect();
    for (number, part) in parts.iter().enumerate() {
        let is_last = number + 1 == parts.len();
        let found = if is_last { rest.strip_suffix(part).map(str::len) } else { rest.find(part) };
        let Some(at) = found else { return false };
        rest = if is_last { "" } else { &rest[at + part.len()..] };
    }
    rest.is_empty()
}

#[test]
fn the_session_in_the_documentation_works_as_written() {
    let project = TestProject::new();
    play(&project, STORY);
    let stage = Stage::of(project);
    let steps = session();
    assert!(steps.len() >= 8, "only {} commands were found", steps.len());
    // One shell runs them all; a line between them tells where one ends.
    let commands: Vec<_> = steps.iter().map(|(command, _)| command.as_str()).collect();
    let script = commands.join("\necho\necho =====\n");
    let output = Command::new("bash")
        .args(["-euc", &script])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("RETAKE_HOME", stage.project.home())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let printed: Vec<_> = stdout.split("=====\n").collect();
    for ((command, written), printed) in steps.iter().zip(printed) {
        let written = written.as_deref().unwrap_or_default();
        assert!(is_as_written(printed.trim_end(), written), "{command}\n{written}\n{printed}");
    }
}
