//! Hooks through the daemon: the same record, next to no work in the hook, and nothing lost.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Daemon, last_writer, status, until};
use crate::support::{Ran, World, ran};

fn payload(world: &World, what: &Value) -> String {
    let mut payload = json!({ "session_id": "s1", "cwd": world.root() });
    payload.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    payload.to_string()
}

fn start(command: &mut Command, payload: &str) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    child
}

fn hook(world: &World, what: &Value) -> Ran {
    let mut command = world.command(&["hook", "claude-code"]);
    let done = ran(start(&mut command, &payload(world, what)).wait_with_output().unwrap());
    assert_eq!((done.code, done.text().as_str()), (0, ""), "{}", done.stderr);
    done
}

fn prompt(text: &str) -> Value {
    json!({ "hook_event_name": "UserPromptSubmit", "prompt": text })
}

fn call(event: &str, id: &str, command: &str) -> Value {
    json!({ "hook_event_name": event, "tool_name": "Bash", "tool_use_id": id,
        "tool_input": { "command": command } })
}

fn turns(world: &World) -> u64 {
    let dialogs = world.run(&["dialogs", "--json"]).json();
    dialogs["dialogs"][0]["turns"].as_u64().unwrap_or(0)
}

/// A turn with a shell call, an edit of the person and words of the agent.
fn turn(world: &World) -> Vec<Value> {
    let transcript = world.outer().join("person/talk.jsonl");
    let lines = [
        json!({ "type": "user", "isSidechain": false, "message": { "role": "user", "content": "go" } }),
        json!({ "type": "assistant", "isSidechain": false, "message": { "id": "m1", "role": "assistant",
            "content": [{ "type": "text", "text": "Done." }] } }),
    ];
    std::fs::write(&transcript, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    hook(world, &prompt("go"));
    hook(world, &call("PreToolUse", "t1", "echo two > a.txt"));
    world.write("a.txt", "two\n");
    hook(world, &call("PostToolUse", "t1", "echo two > a.txt"));
    world.write("mine.txt", "by me\n");
    // A place in the person's home, which the daemon is told.
    hook(world, &json!({ "hook_event_name": "Stop", "transcript_path": "~/talk.jsonl" }));
    world.ok(&["status"]);
    let log = world.run(&["log", "--json"]).json();
    let told = |change: &Value| {
        let shown = world.run(&["show", "--json", change["id"].as_str().unwrap()]).json();
        json!([
            change["path"],
            change["actor"],
            change["confidence"],
            change["dialog"],
            shown["said"],
            shown["message"]["text"]
        ])
    };
    log["changes"].as_array().unwrap().iter().map(told).collect()
}

#[test]
fn the_same_is_recorded_as_without() {
    let (without, with) = (World::new(), World::new());
    without.write("a.txt", "one\n");
    with.write("a.txt", "one\n");
    let daemon = Daemon::of(&with);
    let recorded = turn(&without);
    assert_eq!(recorded, turn(&with));
    assert_eq!(recorded.len(), 2, "{recorded:?}");
    assert_eq!(last_writer(&with), daemon.pid());
}

#[test]
fn with_a_daemon_that_hangs_a_hook_works_itself_and_counts_once() {
    let world = World::with(&[]);
    let daemon = Daemon::of(&world);
    for round in 1..=4 {
        daemon.signal(Signal::STOP);
        hook(&world, &prompt(&format!("message {round}")));
        daemon.signal(Signal::CONT);
        until("it answers", || status(&world)["running"] == true);
        world.ok(&["status"]);
        assert_eq!(turns(&world), round);
    }
    // Stopped at any moment of its work, too.
    for round in 5..=16 {
        let mut command = world.command(&["hook", "claude-code"]);
        let child = start(&mut command, &payload(&world, &prompt(&format!("message {round}"))));
        std::thread::sleep(std::time::Duration::from_millis(round % 8));
        daemon.signal(Signal::STOP);
        let done = ran(child.wait_with_output().unwrap());
        assert_eq!(done.code, 0, "{}", done.stderr);
        daemon.signal(Signal::CONT);
        until("it counts", || {
            world.ok(&["status"]);
            turns(&world) >= round
        });
        assert_eq!(turns(&world), round);
    }
    world.ok(&["doctor", "--read-data"]);
}

#[test]
fn a_daemon_that_is_killed_at_any_moment_loses_no_message() {
    let world = World::with(&[]);
    for round in 1..=10 {
        let daemon = Daemon::of(&world);
        let mut command = world.command(&["hook", "claude-code"]);
        let child = start(&mut command, &payload(&world, &prompt(&format!("message {round}"))));
        std::thread::sleep(std::time::Duration::from_millis(2 * round));
        daemon.signal(Signal::KILL);
        let done = ran(child.wait_with_output().unwrap());
        assert_eq!(done.code, 0);
        until("it counts", || {
            world.ok(&["status"]);
            turns(&world) >= round
        });
        assert_eq!(turns(&world), round);
    }
    world.ok(&["doctor", "--read-data"]);
}

#[test]
fn many_hooks_at_once_are_all_recorded() {
    let world = World::with(&[]);
    let daemon = Daemon::of(&world);
    let hooks: Vec<_> = (0..40)
        .map(|number| {
            let mut command = world.command(&["hook", "claude-code"]);
            let what = json!({ "session_id": format!("s{number}"), "cwd": world.root(),
                "hook_event_name": "UserPromptSubmit", "prompt": "hi" });
            start(&mut command, &what.to_string())
        })
        .collect();
    for child in hooks {
        assert_eq!(ran(child.wait_with_output().unwrap()).code, 0);
    }
    until("all of them are there", || {
        world.ok(&["status"]);
        world.run(&["dialogs", "--json"]).json()["dialogs"].as_array().unwrap().len() == 40
    });
    assert_eq!(last_writer(&world), daemon.pid());
    world.ok(&["doctor", "--read-data"]);
}

#[test]
fn a_hook_starts_the_daemon_unless_that_is_declined_and_does_not_wait() {
    let world = World::with(&[]);
    hook(&world, &prompt("one"));
    assert_eq!(status(&world)["running"], false, "the environment of tests declines it");
    let machine = world.outer().join("person/.claude");
    std::fs::create_dir_all(machine).unwrap();
    let chosen = world.run(&["setup", "claude-code", "--yes"]);
    assert_eq!(chosen.code, 0, "{}", chosen.stderr);
    assert!(chosen.stderr.contains("hooks start the daemon"), "{}", chosen.stderr);
    assert!(!world.home().join("config.toml").exists(), "nobody chose anything");
    let mut command = world.command(&["hook", "claude-code"]);
    command.env_remove("RETAKE_AUTOSTART");
    command.env("RETAKE_NO_DAEMON", "1").env("GIT_DIR", "/nowhere");
    start(&mut command, &payload(&world, &prompt("two"))).wait_with_output().unwrap();
    assert_eq!(status(&world)["running"], false, "not by one that asks no daemon");
    let mut command = world.command(&["hook", "claude-code"]);
    command.env_remove("RETAKE_AUTOSTART").env("GIT_DIR", "/nowhere");
    start(&mut command, &payload(&world, &prompt("three"))).wait_with_output().unwrap();
    until("the daemon answers", || status(&world)["running"] == true);
    let pid = status(&world)["pid"].as_u64().unwrap();
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains("GIT_DIR"), "row 55");
    hook(&world, &prompt("four"));
    assert_eq!(u64::from(last_writer(&world)), pid);
    assert_eq!(turns(&world), 4);
    assert_eq!(world.run(&["setup", "claude-code", "--yes", "--daemon=no"]).code, 0);
    let settings = std::fs::read_to_string(world.home().join("config.toml")).unwrap();
    assert_eq!(settings, "[daemon]\nautostart = false\n");
    world.ok(&["daemon", "stop"]);
    let mut command = world.command(&["hook", "claude-code"]);
    command.env_remove("RETAKE_AUTOSTART");
    start(&mut command, &payload(&world, &prompt("five"))).wait_with_output().unwrap();
    assert_eq!(status(&world)["running"], false);
}

/// Calls of the hook's own process that ask for a file's state or open one, by the project's size.
fn calls(world: &World, what: &Value) -> usize {
    let trace = world.outer().join("trace");
    let program = world.command(&[]);
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=%%stat,openat,openat2,getdents64", "-o"]).arg(&trace);
    command.arg(program.get_program()).args(["hook", "claude-code"]).current_dir(world.root());
    command.env_clear();
    for (name, value) in program.get_envs() {
        value.map(|value| command.env(name, value));
    }
    let done = start(&mut command, &payload(world, what)).wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let trace = std::fs::read_to_string(&trace).unwrap();
    assert!(!trace.contains("retake.db"), "the hook opens no database");
    // How many processes are around the hook is not its work.
    trace.lines().filter(|line| line.contains('(') && !line.contains("\"/proc/")).count()
}

#[test]
fn a_hook_itself_does_the_same_little_work_however_large_the_project_is() {
    let world = World::with(&[]);
    let daemon = Daemon::of(&world);
    hook(&world, &prompt("go"));
    let few = calls(&world, &call("PreToolUse", "t1", "make"));
    for number in 0..3000 {
        world.write(&format!("f{}/{number}.txt", number % 30), "x\n");
    }
    world.ok(&["status"]);
    let many = calls(&world, &call("PreToolUse", "t2", "make"));
    assert!(many <= few + 2 && many < 40, "{few}, then {many}");
    assert_eq!(last_writer(&world), daemon.pid());
}

/// Logs have paths and ids, never what was said or written.
#[test]
fn the_log_holds_no_contents() {
    let world = World::with(&[]);
    let mut command = world.command(&["daemon", "start"]);
    assert!(command.env("RETAKE_LOG", "trace").output().unwrap().status.success());
    hook(&world, &prompt("CANARY1"));
    hook(&world, &call("PreToolUse", "t1", "echo CANARY2 > a.txt"));
    world.write("a.txt", "CANARY3\n");
    hook(&world, &call("PostToolUse", "t1", "echo CANARY2 > a.txt"));
    world.ok(&["undo", "--yes"]);
    world.ok(&["daemon", "stop"]);
    let log = std::fs::read_to_string(world.home().join("run/daemon.log")).unwrap();
    assert!(log.contains("the daemon serves"), "{log}");
    assert!(!log.contains("CANARY"), "{log}");
}
