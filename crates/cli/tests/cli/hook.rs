//! `retake hook`: it never breaks or blocks the agent, and loses nothing.

use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Ran, World, ran};

const AGENTS: [&str; 8] =
    ["claude-code", "codex", "gemini", "opencode", "copilot", "cline", "cursor", "copilot-vscode"];

fn start(world: &World, arguments: &[&str]) -> Child {
    let mut command = world.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub(crate) fn hook(world: &World, arguments: &[&str], payload: impl AsRef<[u8]>) -> Ran {
    let mut child = start(world, &[&["hook"], arguments].concat());
    // A hook that refuses its arguments does not read on.
    let _ = child.stdin.take().unwrap().write_all(payload.as_ref());
    ran(child.wait_with_output().unwrap())
}

pub(crate) fn claude(world: &World, what: &Value) -> Ran {
    let mut payload = json!({ "session_id": "s1", "cwd": world.root() });
    payload.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    let done = hook(world, &["claude-code"], payload.to_string());
    assert_eq!((done.code, done.text().as_str()), (0, ""), "{}", done.stderr);
    done
}

pub(crate) fn prompt(text: &str) -> Value {
    json!({ "hook_event_name": "UserPromptSubmit", "prompt": text })
}

pub(crate) fn write_call(event: &str, path: &str, content: &str) -> Value {
    json!({
        "hook_event_name": event, "tool_name": "Write", "tool_use_id": "t1",
        "tool_input": { "file_path": path, "content": content },
    })
}

fn turns(world: &World) -> u64 {
    let dialogs = world.run(&["dialogs", "--json"]).json();
    dialogs["dialogs"][0]["turns"].as_u64().unwrap_or(0)
}

#[test]
fn a_conversation_becomes_a_dialog_with_changes_and_words() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let transcript = world.outer().join("person/talk.jsonl");
    let say = |what: &Value| {
        let mut what = what.clone();
        what["transcript_path"] = json!(transcript);
        claude(&world, &what)
    };
    say(&prompt("add two"));
    say(&write_call("PreToolUse", "a.txt", "one\ntwo\n"));
    world.write("a.txt", "one\ntwo\n");
    say(&write_call("PostToolUse", "a.txt", "one\ntwo\n"));
    let lines = [
        json!({ "type": "user", "isSidechain": false, "message": { "role": "user", "content": "add two" } }),
        json!({ "type": "assistant", "isSidechain": false, "message": { "id": "m1", "role": "assistant", "content": [
            { "type": "text", "text": "Here you are." }, { "type": "tool_use", "id": "t1", "name": "Write", "input": {} },
        ] } }),
    ];
    std::fs::write(&transcript, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    say(&json!({ "hook_event_name": "Stop", "last_assistant_message": "Here you are." }));
    let shown = world.run(&["show", "--json", &first_change(&world)]).json();
    assert_eq!(shown["change"]["confidence"], "certain");
    assert_eq!(shown["change"]["message_index"], 1);
    assert_eq!(shown["said"], "Here you are.");
    assert_eq!(shown["message"]["text"], "add two");
    assert_eq!(shown["message"]["message_index"], 0);
    let (log, text) = (world.ok(&["log"]), world.ok(&["show", &first_change(&world)]));
    assert!(log.contains("  s1  ") && log.contains("“add two”"), "{log}");
    assert!(text.contains("add two") && text.contains("Here you are."), "{text}");
}

fn first_change(world: &World) -> String {
    let log = world.run(&["log", "--json", "--oldest-first"]).json();
    log["changes"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn whatever_comes_in_it_exits_with_0_and_its_answer_is_valid() {
    let world = World::with(&[]);
    let deep = "[".repeat(100_000);
    let payloads: [&[u8]; 7] = [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"{\"hook_event_name\":\"PreToolUse\"}",
        b"\xff\xfe\x00",
        deep.as_bytes(),
    ];
    for agent in AGENTS {
        for payload in payloads {
            let done = hook(&world, &[agent], payload);
            assert_eq!(done.code, 0, "{agent}: {}", done.stderr);
            assert!(done.stderr.lines().count() <= 1, "one warning: {}", done.stderr);
            assert!(done.stdout.is_empty() || done.json().is_object());
        }
        let unknown = json!({ "hook_event_name": "SomethingNew" }).to_string();
        let done = hook(&world, &[agent], unknown);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{agent}");
    }
    for arguments in [&["nobody"][..], &[], &["codex", "--unknown"], &["codex", "a", "b", "c"]] {
        let done = hook(&world, arguments, b"{}");
        assert_eq!(done.code, 0, "{arguments:?}");
        assert!(!done.stderr.is_empty() && done.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(world.run(&["log", "--json"]).json()["changes"], json!([]));
}

#[test]
fn where_nothing_can_be_recorded_it_says_so_and_exits_with_0() {
    let world = World::new();
    let payload =
        json!({ "session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x" });
    let start = |edit: &dyn Fn(&mut std::process::Command)| {
        let mut command = world.command(&["hook", "claude-code"]);
        edit(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that knows already that it can do nothing does not read.
        let _ = child.stdin.take().unwrap().write_all(payload.to_string().as_bytes());
        ran(child.wait_with_output().unwrap())
    };
    let home = world.outer().join("person");
    let in_home = start(&|command| {
        command.current_dir(&home);
    });
    assert_eq!(in_home.code, 0);
    assert!(in_home.stderr.contains("home folder"), "{}", in_home.stderr);
    let no_home = start(&|command| {
        command.env_remove("RETAKE_HOME").env_remove("HOME");
    });
    assert_eq!(no_home.code, 0);
    assert!(no_home.stderr.contains("RETAKE_HOME"), "{}", no_home.stderr);
}

#[test]
fn the_project_is_where_the_agent_says_not_where_it_stands() {
    let world = World::with(&[("a.txt", "one\n")]);
    let elsewhere = world.outer().join("tmp");
    let payload = json!({
        "session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x", "cwd": elsewhere,
    });
    let mut command = world.command_in(&elsewhere, &["hook", "claude-code"]);
    command.env("CLAUDE_PROJECT_DIR", world.root());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    let done = ran(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert_eq!(turns(&world), 1);
}

#[test]
fn a_payload_that_never_ends_is_not_waited_for() {
    let world = World::with(&[]);
    let mut child = start(&world, &["hook", "cline"]);
    let held = child.stdin.take();
    let done = ran(child.wait_with_output().unwrap());
    drop(held);
    assert_eq!((done.code, done.json()), (0, json!({ "cancel": false })));
}

#[test]
fn while_another_process_holds_the_project_the_event_is_kept_and_taken_in_later() {
    let world = World::with(&[("a.txt", "one\n")]);
    let lock = std::fs::File::open(world.store().join("lock")).unwrap();
    lock.lock().unwrap();
    claude(&world, &prompt("hello"));
    assert_eq!(turns(&world), 0, "it waits");
    drop(lock);
    world.ok(&["status"]);
    assert_eq!(turns(&world), 1);
    assert_eq!(world.run(&["doctor", "--read-data"]).code, 0);
}

/// With budgets around what recording takes, the answer comes before, while or after it is
/// recorded: however that falls out, each message counts once.
#[test]
fn with_any_budget_each_message_counts_once() {
    let world = World::with(&[("a.txt", "one\n")]);
    for round in 0..24 {
        let settings = format!("[hook]\nbudget_ms = {}\n", round * 2);
        std::fs::write(world.home().join("config.toml"), settings).unwrap();
        let done = hook(&world, &["claude-code"], {
            let prompt = prompt(&format!("message {round}"));
            let mut payload = json!({ "session_id": "s1", "cwd": world.root() });
            payload.as_object_mut().unwrap().extend(prompt.as_object().unwrap().clone());
            payload.to_string()
        });
        assert_eq!((done.code, done.text().as_str()), (0, ""));
    }
    // Detached catch-up processes may still be running.
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        world.ok(&["status"]);
        if turns(&world) == 24 || Instant::now() > until {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(300));
    world.ok(&["status"]);
    assert_eq!(turns(&world), 24);
    assert_eq!(world.run(&["doctor", "--read-data"]).code, 0);
}

#[test]
fn a_task_of_cline_and_its_message_are_one_message() {
    let world = World::with(&[]);
    let tell = |what: Value| {
        let mut payload = json!({
            "taskId": "t1", "sessionContext": { "rootSessionId": "r1" },
            "workspaceRoots": [world.root()], "agent_id": "a", "parent_agent_id": null,
        });
        payload.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        let done = hook(&world, &["cline"], payload.to_string());
        assert_eq!((done.code, done.json()), (0, json!({ "cancel": false })), "{}", done.stderr);
    };
    let say = |text: &str| {
        let prompt = json!({ "prompt": text });
        tell(json!({ "hookName": "prompt_submit", "userPromptSubmit": prompt }));
    };
    tell(json!({ "hookName": "agent_start", "taskStart": {} }));
    say("fix it");
    let dialogs = world.run(&["dialogs", "--json"]).json();
    assert_eq!(dialogs["dialogs"][0]["title"], "fix it");
    assert_eq!(turns(&world), 1);
    say("and that, too");
    assert_eq!(turns(&world), 2);
}

/// Cline does not wait for the hook of its start, and may call the next one meanwhile.
#[test]
fn a_call_of_cline_that_overtakes_its_message_waits_for_it() {
    let world = World::new();
    std::fs::create_dir_all(world.home()).unwrap();
    let settings = "[hook]\nbudget_ms = 60000\n";
    std::fs::write(world.home().join("config.toml"), settings).unwrap();
    let folder = world.outer().join("person/.cline/data/sessions/r1");
    std::fs::create_dir_all(&folder).unwrap();
    let payload = |what: Value| {
        let mut payload = json!({
            "taskId": "t1", "sessionContext": { "rootSessionId": "r1" },
            "workspaceRoots": [world.root()], "agent_id": "a", "parent_agent_id": null,
        });
        payload.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        payload.to_string()
    };
    let call = json!({ "id": "c1", "name": "editor", "input": {
        "path": world.root().join("a.txt"), "new_text": "one\n",
    } });
    let begin = json!({ "hookName": "tool_call", "iteration": 1, "tool_call": call });
    let mut overtaking = start(&world, &["hook", "cline"]);
    let _ = overtaking.stdin.take().unwrap().write_all(payload(begin).as_bytes());
    // Without the wait, it would be on record by then.
    std::thread::sleep(Duration::from_millis(500));
    // The answer stands in the transcript already.
    let said = json!({ "messages": [
        { "id": "m1", "role": "user", "content": [{ "type": "text", "text": "make a file" }] },
        { "id": "m2", "role": "assistant", "content": [{ "type": "text", "text": "I do." }] },
    ] });
    std::fs::write(folder.join("r1.messages.json"), said.to_string()).unwrap();
    let started = json!({ "hookName": "agent_start", "taskStart": {} });
    assert_eq!(hook(&world, &["cline"], payload(started)).code, 0);
    assert_eq!(ran(overtaking.wait_with_output().unwrap()).code, 0);
    world.write("a.txt", "one\n");
    let end = json!({ "hookName": "tool_result", "iteration": 1, "tool_result": call });
    assert_eq!(hook(&world, &["cline"], payload(end)).code, 0);

    let change = &world.run(&["log", "--json"]).json()["changes"][0];
    assert_eq!((&change["path"], &change["turn"]), (&"a.txt".into(), &1.into()), "{change:#}");
    let blame = world.run(&["blame", "a.txt", "--json"]).json();
    assert_eq!(blame["changes"][0]["message"]["text"], "make a file", "{blame:#}");
}

#[test]
fn a_record_of_a_newer_program_is_left_alone_and_the_event_is_kept_for_that() {
    let world = World::with(&[]);
    let version = |version: u32| {
        let db = rusqlite::Connection::open(world.store().join("retake.db")).unwrap();
        db.pragma_update(None, "user_version", version).unwrap();
    };
    let db = rusqlite::Connection::open(world.store().join("retake.db")).unwrap();
    let ours: u32 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    drop(db);
    version(999);
    let done = claude(&world, &prompt("hello"));
    assert!(done.stderr.contains("newer"), "{}", done.stderr);
    version(ours);
    world.ok(&["status"]);
    assert_eq!(turns(&world), 1);
}

/// VS Code runs the hooks of Claude Code and of Copilot CLI, with payloads of its own.
#[test]
fn copilot_in_vscode_is_told_apart_and_counted_once() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let path = world.root().join("a.txt");
    let payload = |event: &str, second: u32, more: &Value| {
        let mut payload = json!({
            "timestamp": format!("2026-11-15T19:20:{second:02}.000Z"), "hook_event_name": event,
            "session_id": "v1", "cwd": world.root(),
            "transcript_path": "/x/workspaceStorage/1/GitHub.copilot-chat/transcripts/v1.jsonl",
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload.to_string()
    };
    // Both settings are there, so each hook comes twice.
    let both = |payload: &str| -> Vec<String> {
        [&["claude-code"][..], &["copilot", "PreToolUse"]]
            .into_iter()
            .map(|arguments| {
                let done = hook(&world, arguments, payload);
                assert_eq!((done.code, done.stderr.as_str()), (0, ""));
                done.text()
            })
            .collect()
    };
    both(&payload("UserPromptSubmit", 1, &json!({ "prompt": "add two" })));
    let edit = json!({ "tool_name": "replace_string_in_file", "tool_use_id": "t1",
        "tool_input": { "filePath": path, "oldString": "one", "newString": "two" } });
    both(&payload("PreToolUse", 2, &edit));
    world.write("a.txt", "two\n");
    both(&payload("PostToolUse", 3, &edit));
    let run = json!({ "tool_name": "run_in_terminal", "tool_use_id": "t2",
        "tool_input": { "command": "echo made > b.txt", "explanation": "", "isBackground": false } });
    both(&payload("PreToolUse", 4, &run));
    world.write("b.txt", "made\n");
    both(&payload("PostToolUse", 5, &run));
    both(&payload("Stop", 6, &json!({ "stop_hook_active": false })));
    assert_eq!(turns(&world), 1, "one message, told by two hooks");
    let log = world.run(&["log", "--json"]).json();
    let changes = log["changes"].as_array().unwrap();
    let told: Vec<_> = changes
        .iter()
        .map(|change| {
            (
                change["path"].as_str().unwrap(),
                change["kind"].as_str().unwrap(),
                change["confidence"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [("b.txt", "copilot-vscode", "window"), ("a.txt", "copilot-vscode", "certain")]
    );
    // A denial is in the form that VS Code reads.
    world.write("a.txt", "three\n");
    let again = json!({ "tool_name": "replace_string_in_file", "tool_use_id": "t3",
        "tool_input": { "filePath": path, "oldString": "three", "newString": "four" } });
    let replies = both(&payload("PreToolUse", 7, &again));
    let denied: Value = serde_json::from_str(&replies[0]).unwrap();
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny", "{denied}");
    assert_eq!(denied["hookSpecificOutput"]["hookEventName"], "PreToolUse");
}
