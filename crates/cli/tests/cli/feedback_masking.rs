//! What an agent is told goes to its model: secrets in it are masked, in quoted lines and in the
//! person's own words.

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::hook::{claude, hook, prompt, write_call};
use crate::support::World;

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";
const LINE: &str = "client.login(\"ghp_0123456789abcdefghijABCDEFGHIJ012345\")\n";
/// A key in a comment, in a reason, in a rejected line, and in a line that is commented on.
const SECRETS: [&str; 4] = [
    "sk-ant-api03-0123456789abcdefghijABCDEFGHIJ",
    "AKIA0123456789ABCDEF",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "hunter2-in-the-code",
];

/// What the agent is told in the reply to its hook.
fn told(world: &World, what: &Value) -> String {
    let mut payload = json!({ "session_id": "s1", "cwd": world.root() });
    payload.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    let done = hook(world, &["claude-code"], payload.to_string());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    done.text()
}

#[track_caller]
fn assert_masked(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(text.contains("•••"), "{text}");
    for secret in SECRETS {
        assert!(!text.contains(secret), "{text}");
    }
}

fn write(world: &World, content: &str) -> String {
    claude(world, &write_call("PreToolUse", "a.py", content));
    world.write("a.py", content);
    told(world, &write_call("PostToolUse", "a.py", content))
}

fn hunk_with(world: &World, text: &str) -> String {
    let review = world.run(&["review", "--json"]).json();
    let hunks = review["contents"][0]["hunks"].as_array().unwrap();
    let found = hunks.iter().find(|hunk| hunk["lines"].to_string().contains(text));
    found.unwrap_or_else(|| panic!("{review:#}"))["id"].as_str().unwrap().to_owned()
}

/// The agent adds a line with a key, which the person rejects, and another one.
fn reviewed() -> World {
    let world = World::with(&[("a.py", BEFORE)]);
    claude(&world, &prompt("go"));
    let after = format!("{BEFORE}password = '{}'\n", SECRETS[3]).replace("two\n", LINE);
    assert_eq!(write(&world, &after), "");
    world
}

fn decide(world: &World) {
    let [words, reason, ..] = SECRETS;
    let commented = hunk_with(world, "password");
    world.ok(&["comment", "add", &commented, &format!("use {words} here")]);
    world.ok(&["comment", "send"]);
    let rejected = hunk_with(world, "client.login");
    world.ok(&["reject", &rejected, "--reason", &format!("{reason} is the key")]);
}

fn check_turn_end(world: &World) {
    decide(world);
    for asked in [&["feedback"][..], &["feedback", "s1", "--json"]] {
        assert_masked(&world.ok(asked), &["is the key", "client.login", "here", "password = "]);
    }
    let text = told(world, &json!({ "hook_event_name": "Stop" }));
    assert_masked(&text, &["is the key", "client.login", "here", "password = "]);
    // The same line comes again, after a look at the file.
    for event in ["PreToolUse", "PostToolUse"] {
        let look = json!({
            "hook_event_name": event, "tool_name": "Read", "tool_use_id": "r1",
            "tool_input": { "file_path": "a.py" },
        });
        assert_eq!(told(world, &look), "");
    }
    let text = write(world, &world.read("a.py").replace("four\n", LINE));
    assert_masked(&text, &["that you added again", "is the key"]);
}

#[test]
fn at_the_end_of_a_turn_and_of_a_call() {
    check_turn_end(&reviewed());
}

#[test]
fn at_the_end_of_a_turn_and_of_a_call_through_a_daemon() {
    let world = reviewed();
    let _daemon = Daemon::of(&world);
    check_turn_end(&world);
}

#[test]
fn with_the_next_message_and_from_the_terminal() {
    let world = reviewed();
    decide(&world);
    let text = told(&world, &prompt("go on"));
    assert_masked(&text, &["is the key", "client.login", "here", "password = "]);
    let world = reviewed();
    decide(&world);
    let text = world.ok(&["feedback", "s1", "--told"]);
    assert_masked(&text, &["is the key", "client.login", "here", "password = "]);
    let text = told(&world, &prompt("go on"));
    assert!(!text.contains("rejected"), "it was told: {text}");
}

#[test]
fn who_turned_masking_off_gets_everything() {
    let world = reviewed();
    world.ok(&["config", "set", "api.mask", "no"]);
    decide(&world);
    let text = told(&world, &prompt("go on"));
    for secret in SECRETS {
        assert!(text.contains(secret), "{text}");
    }
}
