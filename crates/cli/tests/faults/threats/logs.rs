//! Logs, at their most talkative: no content, no message, no argument, no token, no query.

use std::ffi::OsStr;

use serde_json::json;

use super::served::{Daemon, stderr_of};
use crate::support::World;

/// In everything that is not a path. A path may be logged.
const CANARY: &str = "canary-4c71fe02b9";

fn assert_silent(log: &str, secrets: &[&str], what: &str) {
    for secret in secrets {
        if let Some(at) = log.find(secret) {
            let start = log[..at].rfind('\n').map_or(0, |at| at + 1);
            panic!("{what} tells {secret}: {}", log[start..].lines().next().unwrap());
        }
    }
}

/// The turn of an agent in which everything that it says is the canary.
fn turn(world: &World) -> Vec<Vec<u8>> {
    let events = [
        json!({ "event": "dialog_start", "dialog": "d1", "title": CANARY }),
        json!({ "event": "user_message", "dialog": "d1", "text": CANARY }),
        json!({ "event": "tool_begin", "dialog": "d1", "call": "k1", "tool": "Bash", "input": { "command": format!("echo {CANARY}; rm x") } }),
        json!({ "event": "tool_begin", "dialog": "d1", "call": "k2", "tool": "Write", "input": { "file_path": "a.txt", "content": CANARY } }),
    ];
    world.write("a.txt", CANARY);
    let ends = [
        json!({ "event": "tool_end", "dialog": "d1", "call": "k2", "ok": true }),
        json!({ "event": "assistant_message", "dialog": "d1", "text": CANARY }),
        json!({ "event": "turn_end", "dialog": "d1" }),
        json!({ "event": CANARY, "dialog": "d1" }),
    ];
    events.iter().chain(&ends).map(|event| event.to_string().into_bytes()).collect()
}

fn hook(world: &World) -> Vec<u8> {
    let payload = json!({
        "session_id": "s1", "cwd": world.root(), "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_use_id": "t1", "prompt": CANARY, "tool_input": { "file_path": "b.txt", "content": CANARY },
    });
    payload.to_string().into_bytes()
}

fn run(world: &World, words: &[&str], input: &[u8]) -> (i32, String) {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut command = world.command(words);
    command.env("RETAKE_LOG", "trace").env("RUST_LOG", "trace");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn threat_logs_of_commands_tell_no_content() {
    let world = World::with(&[("a.txt", "one\n"), ("secret.env", CANARY)]);
    let mut all = String::new();
    for event in turn(&world) {
        all += &run(&world, &["event"], &event).1;
    }
    all += &run(&world, &["hook", "claude-code"], &hook(&world)).1;
    all += &run(&world, &["hook", "claude-code"], format!("{{{CANARY}").as_bytes()).1;
    let out = world.outer().join("out").display().to_string();
    for words in [
        &["status"][..],
        &["log"],
        &["diff"],
        &["history"],
        &["context"],
        &["checkpoint"],
        &["undo", "--yes"],
        &["redo", "--yes"],
        &["git"],
        &["export", &out],
        &["doctor", "--read-data"],
        &["gc"],
        &["purge", "a.txt", "--yes"],
    ] {
        all += &run(&world, words, b"").1;
    }
    assert!(all.contains("DEBUG") || all.contains("TRACE"), "something is logged: {all}");
    assert_silent(&all, &[CANARY], "standard error");
}

/// Also threat "SSE": a token is never in a URL, and what is in one is never logged.
#[test]
fn threat_logs_of_the_daemon_tell_no_content_token_or_query() {
    let world = World::with(&[("a.txt", "one\n"), ("secret.env", CANARY)]);
    let trace: &[(&str, &OsStr)] =
        &[("RETAKE_LOG", "trace".as_ref()), ("RUST_LOG", "trace".as_ref())];
    let daemon = Daemon::with(&world, trace);
    for event in turn(&world) {
        run(&world, &["event"], &event);
    }
    run(&world, &["hook", "claude-code"], &hook(&world));
    let project =
        daemon.get("/api/projects").json()["projects"][0]["id"].as_str().unwrap().to_owned();
    let at = |path: &str| format!("/api/projects/{project}/{path}");
    for path in ["diff", "changes", "status", "dialogs", "dialogs/d1/messages", "blame?path=a.txt"]
    {
        assert_eq!(daemon.get(&at(path)).status, 200, "{path}");
    }
    for query in ["changes?dialog", "events?dialog", "blame?path", "events?token", "diff?token"] {
        daemon.get(&at(&format!("{query}={CANARY}")));
        daemon.get(&at(&format!("{query}={}", daemon.human)));
    }
    assert_eq!(daemon.get(&at("events")).status, 200);
    let code = world.ok(&["daemon", "code"]).split_whitespace().last().unwrap().to_owned();
    daemon.post("/api/exchange", &json!({ "code": code }));
    daemon.post(&at("checkpoints"), &json!({ "message": CANARY }));
    daemon.post(
        &at("events"),
        &json!({ "events": [{ "event": "user_message", "dialog": "d1", "text": CANARY }] }),
    );
    daemon.post(&at("undo"), &json!({ "yes": true, CANARY: 1 }));
    daemon.ask("GET", "/api/projects", Some(CANARY), None);
    daemon.ask("GET", &format!("/{CANARY}"), Some(&daemon.human), None);
    let (human, agent) = (daemon.human.clone(), daemon.agent.clone());
    daemon.stop();
    let log = std::fs::read_to_string(stderr_of(&world)).unwrap();
    assert!(log.contains("GET") && log.contains("DEBUG"), "requests are logged: {log}");
    assert_silent(&log, &[CANARY, &human, &agent, &code], "the daemon's log");
}
