//! Words, options, times and answers that were once taken for something else.

use std::process::Command;

use serde_json::json;

use crate::support::{World, ran};

/// Two dialogs, each with a turn: c6 of d1, c12 of d2.
fn story() -> World {
    let world = World::with(&[("a.txt", "1\n"), ("b.txt", "1\n")]);
    world.say("d1", "add two");
    world.shell_of("d1", "k1", "echo 2 >> a.txt");
    world.say("d2", "add three");
    world.shell_of("d2", "k2", "echo 3 >> b.txt");
    world
}

#[test]
fn only_the_command_hook_never_fails() {
    let world = World::new();
    std::fs::remove_dir_all(world.home()).ok();
    for words in [&["checkpoint", "-m", "hook"][..], &["show", "hook"], &["config", "get", "hook"]]
    {
        let done = world.run(words);
        assert_eq!(done.code, 1, "{words:?}: {}", done.stderr);
        assert!(!world.run(&[words, &["--json"]].concat()).json()["error"].is_null());
    }
    assert_eq!(world.run(&["show", "hook", "--nonsense"]).code, 2);
    for words in [&["hook", "--nonsense"][..], &["--project", "hook", "hook", "nobody", "--x"]] {
        assert_eq!(world.run(words).code, 0, "{words:?}");
    }
    assert_eq!(world.run(&["--project", "hook", "status", "--nonsense"]).code, 2);
}

#[test]
fn global_options_may_stand_before_a_command_of_a_command() {
    let world = story();
    for words in [
        &["config", "--json", "get", "hook.budget_ms"][..],
        &["config", "get", "hook.budget_ms", "--json"],
        &["--json", "config", "get", "hook.budget_ms"],
    ] {
        assert_eq!(world.run(words).json()["value"], json!(2000), "{words:?}");
    }
    // Those of the command itself would be ignored.
    let done = world.run(&["context", "--stale", "export"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("'--stale' of `retake context`"), "{}", done.stderr);
}

#[test]
fn an_empty_home_of_the_records_is_none() {
    let world = World::new();
    let home = world.outer().join("person");
    let empty = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retake"));
        command.args(words).current_dir(world.root()).env_clear();
        command.env("HOME", &home).env("RETAKE_HOME", "").env("RETAKE_AUTOSTART", "0");
        ran(command.output().unwrap())
    };
    for words in [&["init"][..], &["checkpoint", "-m", "x"], &["status"]] {
        let done = empty(words);
        assert_eq!(done.code, 0, "{words:?}: {}", done.stderr);
    }
    assert!(!world.home().join("projects").exists(), "another folder");
}

#[test]
fn times_mean_what_they_say() {
    let world = story();
    let listed = |words: &[&str], zone: &str| {
        let mut command = world.command(&[&["log", "--json"], words].concat());
        let done = ran(command.env("TZ", zone).output().unwrap());
        assert_eq!(done.code, 0, "{}", done.stderr);
        done.json()["changes"].as_array().unwrap().len()
    };
    assert_eq!(listed(&["--since", "2020-01-01T00:00[+01:00]"], "UTC"), 2);
    assert_eq!(listed(&["--until", "20200101"], "UTC"), 0);
    // All of today, wherever the clocks are changed.
    assert_eq!(listed(&["--until", "today"], "UTC"), 2);
    for wrong in ["2020-01-01T00:00[Nowhere]", "2020-01-01[+01:00]"] {
        assert_eq!(world.run(&["log", "--since", wrong]).code, 2, "{wrong}");
    }
}

#[test]
fn a_message_of_several_dialogs_is_named_before_a_restore() {
    let world = story();
    let done = world.run(&["restore", "--before-message", "1"]);
    assert_eq!(done.code, 1);
    assert!(done.stderr.contains("several dialogs have a message 1: d2, d1"), "{}", done.stderr);
    assert_eq!(world.read("b.txt"), "1\n3\n");
    world.ok(&["restore", "--before-message", "1", "--dialog", "d2", "--yes"]);
    assert_eq!((world.read("a.txt"), world.read("b.txt")), ("1\n2\n".into(), "1\n".into()));
}

#[test]
fn a_restore_of_a_part_says_that_it_is_a_part() {
    let world = World::with(&[("a.txt", "1\n"), ("b.txt", "1\n")]);
    world.say("d1", "add two");
    world.shell_of("d1", "k1", "echo 2 >> a.txt; echo 2 >> b.txt; echo x > passing.txt");
    world.shell_of("d1", "k2", "rm passing.txt");
    let first = world.run(&["checkpoints", "--json"]).json()["checkpoints"].clone();
    let first = first.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    let plan = |words: &[&str]| world.ok(&[&["restore", &first], words, &["--dry-run"]].concat());
    assert!(plan(&[]).contains("\nUndone with it: the answer to message 1 of d1.\n"));
    assert!(
        plan(&["a.txt"]).contains("\nUndone in part with it: the answer to message 1 of d1.\n")
    );
}

/// What two agents can have made at the same time is of no turn.
#[test]
fn shared_changes_are_named_where_nothing_else_is_to_be_undone() {
    let world = World::with(&[("a.txt", "1\n")]);
    for dialog in ["d1", "d2"] {
        world.say(dialog, "go");
        let begin = json!({
            "event": "tool_begin", "dialog": dialog, "call": "k", "tool": "Bash",
            "input": { "command": "make" },
        });
        assert_eq!(world.feed(begin.to_string()).code, 0);
    }
    world.write("made.txt", "made\n");
    for dialog in ["d1", "d2"] {
        let end = json!({ "event": "tool_end", "dialog": dialog, "call": "k", "ok": true });
        assert_eq!(world.feed(end.to_string()).code, 0);
    }
    let id = world.change_of("made.txt");
    let done = world.run(&["undo"]);
    assert_eq!(done.code, 3, "{}", done.text());
    let said = "1 change is of no turn, since several dialogs can have made it.\n";
    assert!(done.text().contains(&format!("{said}→ retake reject {id} takes it back\n")));
    let document = world.run(&["undo", "--json"]).json();
    assert_eq!((&document["whole"], &document["shared"]), (&json!(false), &json!([id])));
    // The approval that settles it counts it.
    assert!(world.ok(&["approve", "--dialog", "d1"]).contains(": 0 changes"));
    assert!(world.ok(&["approve", "--dialog", "d2"]).contains(": 1 change,"));
    let done = world.ok(&["approve", "--dialog", "d2"]);
    assert_eq!(done, "Nothing to approve: d2 has no work that waits for approval.\n");
}

#[test]
fn undo_says_where_it_stopped_and_what_had_been_approved() {
    let world = World::with(&[("a.txt", "1\n")]);
    world.say("d1", "one");
    world.shell_of("d1", "k1", "echo 2 >> a.txt");
    world.say("d1", "two");
    world.shell_of("d1", "k2", "echo 3 >> a.txt");
    world.ok(&["approve"]);
    world.write("a.txt", "1\n2\nmine\n");
    let done = world.run(&["undo", "2"]);
    assert_eq!(done.code, 3);
    assert!(done.text().ends_with("Stopped at step 1 of 2.\n"), "{}", done.text());
    world.write("a.txt", "1\n2\n3\n");
    let done = world.ok(&["undo", "--across-git"]);
    assert!(done.contains("You had approved work that is in it.\n"), "{done}");
}

#[test]
fn a_subagent_stands_behind_its_main_agent() {
    let world = World::with(&[("a.txt", "1\n")]);
    world.say("d1", "go");
    let events = [
        json!({"event": "tool_begin", "dialog": "d1", "agent": "a-helper", "call": "h", "tool": "Bash",
            "input": { "command": "x" }}),
        json!({"event": "tool_end", "dialog": "d1", "agent": "a-helper", "call": "h", "ok": true}),
    ];
    assert_eq!(world.feed(events[0].to_string()).code, 0);
    world.write("helped.txt", "h\n");
    assert_eq!(world.feed(events[1].to_string()).code, 0);
    world.shell_of("d1", "k1", "echo 2 >> a.txt");
    let status = world.ok(&["status"]);
    let shown: Vec<_> =
        status.lines().skip_while(|line| !line.starts_with("d1")).skip(1).take(3).collect();
    for (line, start) in shown.iter().zip([
        "  M  a.txt  +1  -0  c",
        "  a-helper (subagent)",
        "    A  helped.txt  +1  -0  c",
    ]) {
        assert!(line.starts_with(start), "{status}");
    }
}

#[test]
fn an_answer_counts_with_its_line_only() {
    let world = World::with(&[("a.txt", "1\n2\n3\n")]);
    world.say("d1", "go");
    world.shell_of("d1", "k1", "sed -i s/2/two/ a.txt");
    world.write("a.txt", "1\nmine\n3\n");
    // Ctrl-D hands over what was typed, and then ends the input.
    let Some(seen) = world.answered("undo --cascade", "y\x04\x04") else { return };
    assert!(seen.contains("Cancelled; nothing was changed."), "{seen}");
    assert_eq!(world.read("a.txt"), "1\nmine\n3\n");
}
