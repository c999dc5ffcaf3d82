//! Who runs a command: what an agent's open shell call runs has the agent's scope, what a person
//! types has the person's. The agent is a real process: a script that runs hooks and commands.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::hook::{claude, hook, prompt, write_call};
use crate::support::{Ran, World, ran};

/// Runs the begin of a call as its hook, the command in a shell, and the end as its hook.
const AGENT: &str = r#"
hook() { printf '%s' "$1" | sh -c 'retake hook claude-code; true' >/dev/null; }
[ -z "$BEGIN" ] || hook "$BEGIN"
sh -c "$TYPED"
code=$?
[ -z "$END" ] || hook "$END"
exit $code
"#;

/// What an agent does around a command that is typed or called for.
struct Played<'a> {
    /// The command of the call that is begun; none if no call is.
    called: Option<&'a str>,
    /// What its shell runs.
    typed: &'a str,
    /// Whether the end of the call is told.
    ends: bool,
}

impl Played<'_> {
    fn run(&self, world: &World) -> Ran {
        let bin = world.outer().join("bin");
        let _ = std::fs::create_dir(&bin);
        let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_retake"), bin.join("retake"));
        let script = world.outer().join("agent.sh");
        std::fs::write(&script, AGENT).unwrap();
        let payload = |event: &str| {
            let command = self.called.unwrap_or_default();
            json!({
                "session_id": "s1", "cwd": world.root(), "hook_event_name": event,
                "tool_name": "Bash", "tool_use_id": "b1", "tool_input": { "command": command },
            })
            .to_string()
        };
        let path = std::env::var("PATH").unwrap_or_default();
        let mut agent = std::process::Command::new("sh");
        for (name, value) in world.command(&[]).get_envs() {
            agent.env(name, value.unwrap_or_default());
        }
        agent
            .arg(script)
            .current_dir(world.root())
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("BEGIN", self.called.map(|_| payload("PreToolUse")).unwrap_or_default())
            .env("END", if self.ends { payload("PostToolUse") } else { String::new() })
            .env("TYPED", self.typed)
            // A person's command has these in an agent, too.
            .env("CLAUDECODE", "1")
            .env("CLAUDE_CODE_SESSION_ID", "s1")
            .stdin(Stdio::null());
        ran(agent.output().unwrap())
    }
}

/// An agent's shell call, whole.
pub(crate) fn call(world: &World, command: &str) -> Ran {
    Played { called: Some(command), typed: command, ends: true }.run(world)
}

/// The agent s1 has written a file.
pub(crate) fn worked() -> World {
    let world = World::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
    claude(&world, &prompt("add two"));
    claude(&world, &write_call("PreToolUse", "a.txt", "two\n"));
    world.write("a.txt", "two\n");
    claude(&world, &write_call("PostToolUse", "a.txt", "two\n"));
    world
}

/// Who asked for the newest operation.
fn asker(world: &World) -> Value {
    world.run(&["ops", "--json"]).json()["operations"][0]["said_by"].clone()
}

fn assert_own_undo(world: &World) {
    let done = call(world, "retake undo --yes");
    assert_eq!((done.code, world.read("a.txt").as_str()), (0, "one\n"), "{}", done.stderr);
    let by = json!({
        "channel": "command_line", "scope": "agent", "dialog": "s1", "agent": "main",
        "evidence": "ancestor_process",
    });
    assert_eq!(asker(world), by);
    // Its own act is its to take back, too.
    let done = call(world, "retake redo --yes");
    assert_eq!((done.code, world.read("a.txt").as_str()), (0, "two\n"), "{}", done.stderr);
}

#[test]
fn an_agents_shell_call_takes_back_its_own_work_as_the_agent() {
    assert_own_undo(&worked());
}

#[test]
fn the_same_through_a_daemon() {
    let world = worked();
    let _daemon = Daemon::of(&world);
    assert_own_undo(&world);
}

const DECISIONS: [&str; 12] = [
    "retake approve",
    "retake accept --all",
    "retake purge b.txt --yes",
    "retake gc",
    "retake setup claude-code --yes",
    "retake daemon stop",
    "retake daemon code",
    "retake restore --before-message 1 --yes",
    "retake history back",
    "retake config set api.mask no",
    "retake config set shield.enabled no --here",
    "retake config unset retention.max_dialogs",
];

fn assert_decisions_are_refused(world: &World) {
    for command in DECISIONS {
        let done = call(world, command);
        assert_eq!(done.code, 1, "{command}: {} {}", done.text(), done.stderr);
        let folder = world.root();
        let way_out = format!("ask the person to run: cd {} && {command}", folder.display());
        assert!(done.stderr.contains(&way_out), "{command}: {}", done.stderr);
    }
    let session = world.run(&["session", "--json"]).json();
    assert_eq!(session["active_session"], "session_1", "{session:#}");
}

#[test]
fn what_is_for_the_person_to_decide_is_refused_with_the_command_for_the_person() {
    assert_decisions_are_refused(&worked());
}

#[test]
fn decisions_are_refused_through_a_daemon_which_goes_on() {
    let world = worked();
    let _daemon = Daemon::of(&world);
    assert_decisions_are_refused(&world);
    world.ok(&["daemon", "status"]);
}

#[test]
fn decisions_are_refused_also_outside_of_the_project() {
    let world = worked();
    for command in [
        "cd / && retake config set retention.max_dialogs 1",
        "cd / && retake config unset retention.max_dialogs",
        "cd / && retake setup claude-code --remove --yes",
        "cd / && retake daemon stop",
    ] {
        let done = call(&world, command);
        assert_eq!(done.code, 1, "{command}: {}", done.stderr);
        assert!(done.stderr.contains("this is for the person to decide"), "{}", done.stderr);
    }
    assert!(!world.home().join("config.toml").exists());
}

#[test]
fn work_in_another_project_is_not_the_agents_to_take_back() {
    let world = worked();
    let other = world.outer().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("c.txt"), "c\n").unwrap();
    let project = other.to_str().unwrap();
    world.ok(&["init", project]);
    let tell = |event: Value| {
        let mut child = world.command(&["event", "--project", project]);
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), event.to_string().as_bytes())
            .unwrap();
        assert!(child.wait().unwrap().success());
    };
    tell(json!({ "event": "user_message", "dialog": "x", "text": "go" }));
    tell(
        json!({ "event": "tool_begin", "dialog": "x", "call": "k", "tool": "Bash", "input": { "command": "y" } }),
    );
    std::fs::write(other.join("c.txt"), "changed\n").unwrap();
    tell(json!({ "event": "tool_end", "dialog": "x", "call": "k", "ok": true }));
    for command in [
        format!("cd {project} && retake undo --yes"),
        format!("retake --project {project} reject --all --yes"),
    ] {
        let done = call(&world, &command);
        assert_eq!(done.code, 1, "{command}: {} {}", done.text(), done.stderr);
        assert_eq!(std::fs::read_to_string(other.join("c.txt")).unwrap(), "changed\n");
    }
}

#[test]
fn reading_planning_and_checkpoints_are_free() {
    let world = worked();
    for command in [
        "retake status",
        "retake log --json",
        "retake checkpoint -m mine",
        "retake undo --dry-run",
        "retake config --changed",
        "retake config get api.mask",
    ] {
        let done = call(&world, command);
        assert_eq!(done.code, 0, "{command}: {} {}", done.text(), done.stderr);
    }
    let made = world.run(&["checkpoints", "--json"]).json();
    assert_eq!(made["checkpoints"][0]["said_by"]["dialog"], "s1", "{made:#}");
    assert_eq!(world.read("a.txt"), "two\n");
}

fn assert_others_work_stays(world: &World) {
    world.say("other", "go");
    world.shell_of("other", "k1", "echo theirs >> b.txt");
    let done = call(world, "retake undo --yes");
    assert_eq!(done.code, 1, "{} {}", done.text(), done.stderr);
    assert!(done.text().contains("b.txt"), "the plan: {}", done.text());
    assert!(done.stderr.contains("another dialog's"), "{}", done.stderr);
    assert!(done.stderr.contains("&& retake undo --yes"), "{}", done.stderr);
    let done = call(world, "retake rollback --dialog other --yes --json");
    assert_eq!((done.code, done.json()["error"]["code"].as_str()), (1, Some("human_only")));
    assert_eq!(world.read("b.txt"), "b\ntheirs\n");
    // Its own work is still its to take back.
    let done = call(world, "retake rollback --dialog s1 --yes");
    assert_eq!((done.code, world.read("a.txt").as_str()), (0, "one\n"), "{}", done.stderr);
}

#[test]
fn work_of_others_stays_and_the_plan_is_shown() {
    assert_others_work_stays(&worked());
}

#[test]
fn work_of_others_stays_through_a_daemon() {
    let world = worked();
    let _daemon = Daemon::of(&world);
    assert_others_work_stays(&world);
}

#[test]
fn what_the_person_decided_or_did_is_not_the_agents_to_take_back() {
    let world = worked();
    world.ok(&["accept", "--all"]);
    let done = call(&world, "retake rollback --dialog s1 --yes");
    assert_eq!(done.code, 1, "{} {}", done.text(), done.stderr);
    assert!(done.stderr.contains("decided by the person"), "{}", done.stderr);
    world.ok(&["rollback", "--dialog", "s1", "--yes"]);
    assert_eq!(world.read("a.txt"), "one\n");
    let done = call(&world, "retake undo --yes");
    assert_eq!(done.code, 1, "the person's rollback: {} {}", done.text(), done.stderr);
    assert_eq!(world.read("a.txt"), "one\n");
}

#[test]
fn what_a_person_types_into_an_agent_is_the_persons() {
    let world = worked();
    let typed = "retake undo --yes";
    // No call is open.
    let done = Played { called: None, typed, ends: false }.run(&world);
    assert_eq!((done.code, world.read("a.txt").as_str()), (0, "one\n"), "{}", done.stderr);
    assert_eq!(asker(&world)["scope"], "person");
    // The person interrupted a call, of which no end was heard.
    let typed = "retake redo --yes";
    let done = Played { called: Some("npm test"), typed, ends: false }.run(&world);
    assert_eq!((done.code, world.read("a.txt").as_str()), (0, "two\n"), "{}", done.stderr);
    assert_eq!(asker(&world)["scope"], "person");
    let done = Played { called: None, typed: "retake approve", ends: false }.run(&world);
    assert_eq!(done.code, 0, "{} {}", done.text(), done.stderr);
}

#[test]
fn a_program_that_the_call_runs_is_the_agents_too() {
    let world = worked();
    let tool = world.outer().join("tidy");
    std::fs::write(&tool, "#!/bin/sh\nretake approve\n").unwrap();
    let done = call(&world, &format!("sh {}", tool.display()));
    assert_eq!(done.code, 1, "{} {}", done.text(), done.stderr);
    assert!(done.stderr.contains("ask the person to run"), "{}", done.stderr);
}

fn assert_events_of_others_are_refused(world: &World) {
    let event = |dialog: &str| {
        let line = json!({ "event": "user_message", "dialog": dialog, "text": "forged" });
        format!("echo '{line}' | retake event")
    };
    let done = call(world, &event("other"));
    let reply = done.json();
    assert_eq!(
        (reply["ok"].as_bool(), reply["error"]["code"].as_str()),
        (Some(false), Some("other_dialog"))
    );
    let dialogs = world.run(&["dialogs", "--json"]).json();
    assert_eq!(dialogs["dialogs"].as_array().map(Vec::len), Some(1), "{dialogs:#}");
    assert_eq!(call(world, &event("s1")).json()["ok"], true);
    // From outside of the agent, a program speaks for any dialog.
    world.say("other", "not forged");
}

#[test]
fn a_call_cannot_speak_for_another_dialog() {
    assert_events_of_others_are_refused(&worked());
}

#[test]
fn a_call_cannot_speak_for_another_dialog_through_a_daemon() {
    let world = worked();
    let _daemon = Daemon::of(&world);
    assert_events_of_others_are_refused(&world);
}

/// The agent s1 has written two places of a file: the first and the last line.
fn worked_at_two_places() -> World {
    let world = World::with(&[("a.txt", TWO_PLACES)]);
    claude(&world, &prompt("go"));
    let after = TWO_PLACES.replace('1', "one").replace('9', "nine");
    claude(&world, &write_call("PreToolUse", "a.txt", &after));
    world.write("a.txt", &after);
    claude(&world, &write_call("PostToolUse", "a.txt", &after));
    world
}

const TWO_PLACES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// The hunks of the file, in the order of its lines.
fn two_hunks(world: &World) -> [String; 2] {
    let review = world.run(&["review", "--json"]).json();
    let hunks = review["contents"][0]["hunks"].as_array().unwrap();
    [0, 1].map(|at| hunks[at]["id"].as_str().unwrap().to_owned())
}

#[track_caller]
fn assert_decided(world: &World, commands: &[String]) {
    let before = world.read("a.txt");
    for command in commands {
        let done = call(world, command);
        assert_eq!(done.code, 1, "{command}: {} {}", done.text(), done.stderr);
        assert!(done.stderr.contains("the person has decided in a.txt"), "{}", done.stderr);
        assert_eq!(world.read("a.txt"), before);
    }
}

fn assert_kept_places_stay(world: &World) {
    let [first, last] = two_hunks(world);
    world.ok(&["accept", &first]);
    let change = world.change_of("a.txt");
    let commands = [
        format!("retake reject {first} --yes"),
        format!("retake reject {change} --yes"),
        format!("retake reject {first} {last} --yes"),
        "retake undo --yes".to_owned(),
        "retake rollback --dialog s1 --yes".to_owned(),
    ];
    assert_decided(world, &commands);
    // The place that is still open is its to take back.
    let done = call(world, &format!("retake reject {last} --yes"));
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(world.read("a.txt"), TWO_PLACES.replace('1', "one"));
}

#[test]
fn a_place_that_the_person_has_kept_is_not_the_agents_to_take_back() {
    assert_kept_places_stay(&worked_at_two_places());
}

#[test]
fn a_place_that_the_person_has_kept_stays_through_a_daemon() {
    let world = worked_at_two_places();
    let _daemon = Daemon::of(&world);
    assert_kept_places_stay(&world);
}

#[test]
fn a_place_whose_rejection_waits_is_left_to_the_person() {
    let world = worked_at_two_places();
    let [first, _] = two_hunks(&world);
    // Whatever the scope is in which the person rejects it.
    world.ok(&["reject", &first, "--scope", "everything", "--wait", "--reason", "no words"]);
    let commands = [format!("retake reject {first} --yes"), "retake undo --yes".to_owned()];
    assert_decided(&world, &commands);
    let stop = json!({ "session_id": "s1", "cwd": world.root(), "hook_event_name": "Stop" });
    assert_eq!(hook(&world, &["claude-code"], stop.to_string()).code, 0);
    assert_eq!(world.read("a.txt"), TWO_PLACES.replace('9', "nine"));
    assert_eq!(asker(&world)["scope"], "person");
}

/// Beside the work of others a place has other names in other scopes.
#[test]
fn a_place_that_the_person_has_kept_stays_beside_the_work_of_others() {
    let world = worked_at_two_places();
    world.say("other", "go");
    world.shell_of("other", "k1", "sed -i s/3/three/ a.txt");
    let [first, ..] = two_hunks(&world);
    world.ok(&["accept", &first]);
    assert_decided(&world, &[format!("retake reject {first} --yes")]);
}
