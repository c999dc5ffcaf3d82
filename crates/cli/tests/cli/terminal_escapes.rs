//! Names, contents and ids that try to take over the terminal.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use serde_json::json;

use crate::support::World;

const NAMES: &[&[u8]] = &[
    b"esc-\x1b[2J\x1b]0;owned\x07.txt",
    b"new\nline\r.txt",
    b"bad-\xff\xfe.txt",
    "bidi-\u{202e}txt.exe\u{2066}".as_bytes(),
    "c1-\u{9b}31m.txt".as_bytes(),
    b"del-\x7f \"quoted\" back\\slash.txt",
];
const CONTENT: &[u8] = b"a\x1b[31mred\x07\n\xc2\x9b2J\n\xe2\x80\xae reversed\n";

fn hostile_world() -> World {
    let world = World::with(&[]);
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}";
    let start = json!({ "event": "dialog_start", "dialog": evil, "kind": evil, "title": evil, "agent": evil });
    let begin = json!({ "event": "tool_begin", "dialog": evil, "agent": evil, "call": evil,
        "tool": evil, "input": { "command": evil } });
    assert_eq!(world.feed(format!("{start}\n{begin}\n")).code, 0);
    for name in NAMES {
        std::fs::write(world.root().join(OsStr::from_bytes(name)), CONTENT).unwrap();
    }
    Command::new("mkfifo").arg(world.root().join("fifo-\u{1b}[2J")).status().unwrap();
    let end = json!({ "event": "tool_end", "dialog": evil, "agent": evil, "call": evil });
    let ran = world.feed(end.to_string());
    assert_harmless(&ran.stdout, "event");
    world
}

/// No C0 but newline, no DEL, no C1, nothing that turns the reading direction.
fn assert_harmless(output: &[u8], what: &str) {
    let text = std::str::from_utf8(output).unwrap_or_else(|_| panic!("{what}: invalid UTF-8"));
    let hostile = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if let Some(at) = text.find(hostile) {
        panic!("{what}: {:?}", &text[at.saturating_sub(0)..].chars().take(40).collect::<String>());
    }
}

#[test]
fn no_command_lets_an_escape_through() {
    let world = hostile_world();
    let log = world.run(&["log", "--json"]).json();
    let changes = log["changes"].as_array().unwrap();
    assert_eq!(changes.len(), NAMES.len());
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["init"],
        vec!["status"],
        vec!["status", "--ignored"],
        vec!["log"],
        vec!["dialogs"],
        vec!["doctor", "--read-data"],
        vec!["diff", "--stat"],
        vec!["log", "--dialog", "\u{1b}[2J\u{202e}"],
        vec!["log", "--file", "/\u{1b}[2J"],
        vec!["--project", "no\u{1b}[2J\u{9b}", "log"],
        vec!["log", "--since", "\u{1b}[2J"],
    ];
    for change in changes {
        commands.push(vec!["show", change["id"].as_str().unwrap()]);
        if change.get("path_hex").is_none() {
            let blame = vec!["blame", change["path"].as_str().unwrap()];
            assert_eq!(world.run(&blame).code, 0, "{blame:?}");
            commands.push(blame);
        }
    }
    for command in &commands {
        let ran = world.run(command);
        assert_harmless(&ran.stdout, &format!("{command:?}"));
        assert_harmless(ran.stderr.as_bytes(), &format!("{command:?} (errors)"));
        let mut with_json = command.clone();
        with_json.push("--json");
        assert_harmless(&world.run(&with_json).stdout, &format!("{with_json:?}"));
    }
    assert_harmless(&world.run(&["diff", "--json"]).stdout, "diff --json");
}

#[test]
fn nothing_that_takes_back_lets_an_escape_through() {
    const EVIL: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\n";
    let world = hostile_world();
    // First what only shows or refuses, then what writes, and what undoes that.
    for words in [
        "session",
        "review",
        "review everything",
        "review --report",
        "review EVIL",
        "comment add - EVIL",
        "comment add EVIL EVIL",
        "comment",
        "comment send",
        "feedback",
        "undo --dry-run --diff",
        "reject --all --dry-run --diff",
        "rollback --agent EVIL",
        "rollback --dialog EVIL",
        "rollback --call EVIL",
        "rollback --file /EVIL",
        "restore EVIL",
        "restore --before-message 1 --dialog EVIL",
        "reset",
        "reset --exact --diff",
        "checkpoint -m EVIL",
        "undo --diff",
        "ops",
        "redo",
        "checkpoints",
        "accept --all",
        "approve -m EVIL",
        "session --all",
        "rollback --after 1h",
        "ops",
        "recover",
        "status",
    ] {
        let words: Vec<_> = words.split(' ').map(|word| word.replace("EVIL", EVIL)).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        // The document before the deed, which then goes by its text.
        let mut with_json = words.clone();
        with_json.push("--json");
        let only_shows = !matches!(words[0], "undo" | "redo" | "rollback" | "accept" | "approve");
        if only_shows || words.contains(&"--dry-run") {
            assert_harmless(&world.run(&with_json).stdout, &format!("{with_json:?}"));
        } else if words[0] != "accept" && words[0] != "approve" {
            with_json.push("--dry-run");
            assert_harmless(&world.run(&with_json).stdout, &format!("{with_json:?}"));
        }
        let ran = world.run(&words);
        assert!(ran.stdout.len() + ran.stderr.len() > 10, "{words:?}");
        assert_harmless(&ran.stdout, &format!("{words:?}"));
        assert_harmless(ran.stderr.as_bytes(), &format!("{words:?} (errors)"));
    }
}

#[test]
fn exact_names_are_taken_back_and_in_the_documents() {
    let world = hostile_world();
    let undone = world.run(&["undo", "--json"]).json();
    assert_eq!(undone["whole"], true);
    let hex: Vec<_> =
        undone["files"].as_array().unwrap().iter().filter_map(|f| f["path_hex"].as_str()).collect();
    assert_eq!(hex, ["6261642dfffe2e747874"]);
    for name in NAMES {
        assert!(!world.root().join(OsStr::from_bytes(name)).exists());
    }
    world.ok(&["redo"]);
    for name in NAMES {
        assert_eq!(std::fs::read(world.root().join(OsStr::from_bytes(name))).unwrap(), CONTENT);
    }
    let session = world.run(&["session", "--json"]).json();
    let files = session["changed_files"].as_array().unwrap();
    assert_eq!(files.iter().filter(|file| file.get("path_hex").is_some()).count(), 1);
    let one = world.command(&["rollback", "--file"]).arg(OsStr::from_bytes(NAMES[2])).output();
    assert_eq!(one.unwrap().status.code(), Some(0));
    assert!(!world.root().join(OsStr::from_bytes(NAMES[2])).exists());
}

#[test]
fn on_a_terminal_diff_and_content_are_escaped_and_on_a_pipe_exact() {
    let world = hostile_world();
    let piped = world.run(&["diff"]).stdout;
    assert!(piped.windows(4).any(|bytes| bytes == b"\x1b[31"), "a patch has the exact bytes");
    let log = world.run(&["log", "--json"]).json();
    let id = log["changes"][0]["id"].as_str().unwrap();
    assert_eq!(world.run(&["show", id, "--after"]).stdout, CONTENT);
    for command in
        [&["diff"][..], &["show", id], &["show", id, "--after"], &["log"], &["blame", "plain.txt"]]
    {
        let Some(seen) = world.on_a_terminal(command) else { return };
        // Colour is ours; the terminal itself adds carriage returns.
        assert!(seen.len() > 20, "{seen:?}");
        assert_harmless(seen.replace('\r', "").as_bytes(), &format!("{command:?} on a terminal"));
    }
}

#[test]
fn names_that_are_no_text_have_their_bytes_in_json() {
    let world = hostile_world();
    let log = world.run(&["log", "--json"]).json();
    let hex: Vec<_> =
        log["changes"].as_array().unwrap().iter().filter_map(|c| c["path_hex"].as_str()).collect();
    assert_eq!(hex, ["6261642dfffe2e747874"]);
}
