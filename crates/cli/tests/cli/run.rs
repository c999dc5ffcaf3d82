//! `retake run`: the program comes first, and what it changes is on record.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{World, ran};

fn changes(world: &World) -> Vec<Value> {
    world.run(&["log", "--json", "--oldest-first"]).json()["changes"].as_array().unwrap().clone()
}

#[test]
fn what_a_program_and_its_children_change_is_one_turn_that_can_be_undone() {
    let world = World::with(&[("a.txt", "one\n"), ("gone.txt", "x\n")]);
    world.write("mine.txt", "before the run\n");
    let script = "echo out; echo two >> a.txt; (rm gone.txt; sh -c 'echo new > sub/new.txt')";
    let run = world.run(&[
        "run",
        "--agent",
        "my-agent",
        "--",
        "sh",
        "-c",
        &format!("mkdir sub; {script}"),
    ]);
    assert_eq!((run.code, run.text().as_str()), (0, "out\n"), "{}", run.stderr);
    assert!(run.stderr.contains("3 files changed, +2 -1: a.txt, gone.txt, sub/new.txt"));
    world.write("mine.txt", "before the run\nand after it\n");
    let fact = |c: &Value| json!([c["path"], c["actor"], c["kind"], c["turn"], c["tool"]]);
    let facts: Vec<_> = changes(&world).iter().map(fact).collect();
    assert_eq!(
        facts,
        [
            json!(["mine.txt", "user", null, null, null]),
            json!(["a.txt", "agent", "my-agent", 1, "shell"]),
            json!(["gone.txt", "agent", "my-agent", 1, "shell"]),
            json!(["sub/new.txt", "agent", "my-agent", 1, "shell"]),
            json!(["mine.txt", "user", null, null, null]),
        ]
    );
    world.ok(&["undo", "--yes"]);
    assert_eq!((world.read("a.txt").as_str(), world.read("gone.txt").as_str()), ("one\n", "x\n"));
    assert!(!world.root().join("sub/new.txt").exists());
    assert_eq!(world.read("mine.txt"), "before the run\nand after it\n");
}

#[test]
fn exit_codes_and_signals_are_the_program_s() {
    let world = World::with(&[]);
    assert_eq!(world.run(&["run", "--", "sh", "-c", "exit 42"]).code, 42);
    assert_eq!(world.run(&["run", "--", "sh", "-c", "exit 0"]).code, 0);
    let killed = world.command(&["run", "--", "sh", "-c", "kill -KILL $$"]).output().unwrap();
    assert_eq!(killed.status.signal(), Some(9));
    let missing = world.run(&["run", "--", "no-such-program"]);
    assert_eq!(missing.code, 127);
    assert!(missing.stderr.contains("no-such-program cannot be run"), "{}", missing.stderr);
    world.write("plain.txt", "no program\n");
    assert_eq!(world.run(&["run", "--", "./plain.txt"]).code, 126);
    assert_eq!(world.run(&["run", "--", "./missing"]).code, 127);
    assert_eq!(world.run(&["run", "--", "."]).code, 126);
    let dialogs = world.run(&["dialogs", "--json"]).json();
    assert_eq!(dialogs["dialogs"].as_array().unwrap().len(), 3, "only of programs that ran");
}

#[test]
fn a_signal_to_retake_reaches_the_program_which_may_still_write() {
    let world = World::with(&[]);
    let script = "trap 'echo bye > bye.txt; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let mut command = world.command(&["run", "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let done = ran(child.wait_with_output().unwrap());
    assert_eq!(done.code, 5, "{}", done.stderr);
    assert_eq!(changes(&world)[0]["path"], "bye.txt");
    assert_eq!(changes(&world)[0]["actor"], "agent");
}

#[test]
fn the_summary_for_programs_is_a_line_on_standard_error() {
    let world = World::with(&[("a.txt", "one\n")]);
    let title = "Fix it";
    let run = world.run(&["run", "--json", "--dialog", title, "--", "sh", "-c", "echo b > a.txt"]);
    assert_eq!(run.text(), "");
    let document: Value = serde_json::from_str(run.stderr.trim()).unwrap();
    assert_eq!(document["paths"], json!(["a.txt"]));
    assert_eq!((&document["added"], &document["removed"]), (&json!(1), &json!(1)));
    let dialogs = world.run(&["dialogs", "--json"]).json();
    assert_eq!(dialogs["dialogs"][0]["title"], title);
    assert_eq!(dialogs["dialogs"][0]["id"], document["dialog"]);
    let undo = world.run(&["rollback", "--yes", "--dialog", document["dialog"].as_str().unwrap()]);
    assert_eq!((undo.code, world.read("a.txt").as_str()), (0, "one\n"), "{}", undo.stderr);
}

#[test]
fn a_program_runs_even_where_nothing_can_be_recorded() {
    let world = World::new();
    let home = world.outer().join("person");
    let run = ran(world
        .command_in(&home, &["run", "--", "sh", "-c", "echo hi; exit 3"])
        .output()
        .unwrap());
    assert_eq!((run.code, run.text().as_str()), (3, "hi\n"));
    assert!(run.stderr.contains("is not recorded") && run.stderr.contains("home folder"));
}

#[test]
fn an_agent_that_reports_itself_needs_no_run_around_it() {
    let world = World::with(&[("a.txt", "one\n")]);
    // Nothing tells what these scripts write but the files themselves.
    for name in ["early", "mine"] {
        world.write(&format!("{name}.sh"), format!("echo x > {name}.txt\n"));
    }
    world.ok(&["status"]);
    let start = r#"{"hook_event_name":"SessionStart","session_id":"s1"}"#;
    let hook = format!("echo '{start}' | {} hook claude-code", env!("CARGO_BIN_EXE_retake"));
    let run = world.run(&["run", "--", "sh", "-c", &format!("sh early.sh; {hook}; sh mine.sh")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let made = |c: &&Value| !c["path"].as_str().unwrap().contains(".sh");
    let facts: Vec<_> = changes(&world)
        .iter()
        .filter(made)
        .map(|c| json!([c["path"], c["actor"], c["kind"]]))
        .collect();
    assert_eq!(facts, [json!(["early.txt", "agent", "sh"]), json!(["mine.txt", "user", null])]);
}

#[test]
fn a_run_that_was_killed_owns_nothing_of_what_the_person_writes_then() {
    let world = World::with(&[("a.txt", "one\n")]);
    world.write("wait.sh", "echo ready; exec sleep 60\n");
    world.ok(&["status"]);
    let mut command = world.command(&["run", "--", "sh", "wait.sh"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    world.write("during.txt", "while it runs: the run's, as far as anybody can tell\n");
    world.ok(&["status"]);
    child.kill().unwrap();
    child.wait().unwrap();
    world.write("mine.txt", "by hand\n");
    let made = |c: &&Value| c["path"] != "wait.sh";
    let all = changes(&world);
    let facts: Vec<_> = all.iter().filter(made).map(|c| json!([c["path"], c["actor"]])).collect();
    assert_eq!(facts, [json!(["during.txt", "agent"]), json!(["mine.txt", "user"])]);
}

#[test]
fn a_run_that_was_killed_does_not_own_what_the_person_writes_to_its_target() {
    let world = World::with(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    world.ok(&["status"]);
    // It waits for a word that never comes, and ends with this test.
    let line = "echo by the run > b.txt; echo ready; read word && echo never > a.txt";
    let mut command = world.command(&["run", "--", "sh", "-c", line]);
    let (stdin, stdout) = (Stdio::piped(), Stdio::piped());
    let mut child = command.stdin(stdin).stdout(stdout).stderr(Stdio::null()).spawn().unwrap();
    let _word = child.stdin.take();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    world.ok(&["status"]);
    child.kill().unwrap();
    child.wait().unwrap();
    world.write("a.txt", "by hand\n");
    world.write("b.txt", "by hand\n");
    let all = changes(&world);
    let facts: Vec<_> = all.iter().map(|c| json!([c["path"], c["actor"]])).collect();
    assert_eq!(
        facts,
        [["b.txt", "agent"], ["a.txt", "user"], ["b.txt", "user"]].map(|it| json!(it))
    );
}

#[test]
fn of_runs_in_runs_the_inner_one_counts() {
    let world = World::with(&[]);
    let retake = env!("CARGO_BIN_EXE_retake");
    for name in ["early", "inner", "mine"] {
        world.write(&format!("{name}.sh"), format!("echo x > {name}.txt\n"));
    }
    world.ok(&["status"]);
    let line = format!("sh early.sh; {retake} run --agent inner -- sh inner.sh; sh mine.sh");
    let run = world.run(&["run", "--agent", "outer", "--", "sh", "-c", &line]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let made = |c: &&Value| !c["path"].as_str().unwrap().contains(".sh");
    let all = changes(&world);
    let facts: Vec<_> = all.iter().filter(made).map(|c| json!([c["path"], c["kind"]])).collect();
    assert_eq!(
        facts,
        [json!(["early.txt", "outer"]), json!(["inner.txt", "inner"]), json!(["mine.txt", null])]
    );
}
