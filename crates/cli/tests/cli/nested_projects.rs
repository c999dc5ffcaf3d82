//! Projects in projects, and beside them: every record says who did it.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::support::{Ran, World, ran};

/// `project` with `project/pkg` in it, and `lib` beside it; all three are projects.
fn world() -> World {
    let world = World::with(&[("top.txt", "top\n"), ("pkg/in.txt", "in\n")]);
    let lib = world.outer().join("lib");
    std::fs::create_dir(&lib).unwrap();
    std::fs::write(lib.join("side.txt"), "side\n").unwrap();
    for folder in [world.root().join("pkg"), lib] {
        assert_eq!(run_in(&world, &folder, &["init"]).code, 0);
    }
    world
}

fn run_in(world: &World, folder: &Path, arguments: &[&str]) -> Ran {
    ran(world.command_in(folder, arguments).stdin(Stdio::null()).output().unwrap())
}

/// Path, actor and dialog of what the record of a folder's project has, oldest first.
fn recorded(world: &World, folder: &Path) -> Vec<String> {
    let log = run_in(world, folder, &["log", "--json", "--oldest-first"]).json();
    let line = |change: &Value| {
        let [path, actor] = ["path", "actor"].map(|name| change[name].as_str().unwrap());
        format!("{path} {actor} {}", change["dialog"].as_str().unwrap_or("-"))
    };
    log["changes"].as_array().unwrap().iter().map(line).collect()
}

/// An agent's hook, as Claude Code calls it in a folder.
fn hook(world: &World, folder: &Path, event: &str, tool: &str, input: &Value) {
    let payload = json!({
        "session_id": "d1", "cwd": folder, "hook_event_name": event, "tool_name": tool,
        "tool_use_id": "t1", "tool_input": input, "tool_response": {}, "prompt": "go",
    });
    let mut command = world.command_in(folder, &["hook", "claude-code"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    serde_json::to_writer(stdin, &payload).unwrap();
    let done = ran(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{event} {tool}");
}

fn shell(world: &World, folder: &Path, script: &str) {
    let input = json!({ "command": script });
    hook(world, folder, "PreToolUse", "Bash", &input);
    assert!(
        Command::new("sh").args(["-c", script]).current_dir(folder).status().unwrap().success()
    );
    hook(world, folder, "PostToolUse", "Bash", &input);
}

fn write(world: &World, folder: &Path, file: &Path, content: &str) {
    let input = json!({ "file_path": file, "content": content });
    hook(world, folder, "PreToolUse", "Write", &input);
    std::fs::write(file, content).unwrap();
    hook(world, folder, "PostToolUse", "Write", &input);
}

fn check_every_record_knows_the_agent(world: &World) {
    let (root, pkg, lib) = (world.root(), world.root().join("pkg"), world.outer().join("lib"));
    // In the outer one, of the inner one and of the one beside it.
    hook(world, &root, "UserPromptSubmit", "", &Value::Null);
    write(world, &root, &pkg.join("in.txt"), "by the agent\n");
    write(world, &root, &lib.join("side.txt"), "by the agent\n");
    shell(world, &root, "for f in top.txt pkg/in.txt; do echo more >> $f; done");
    // In the inner one.
    shell(world, &pkg, "for f in new.txt; do echo new > $f; done");
    // The person's own stays the person's.
    std::fs::write(pkg.join("mine.txt"), "mine\n").unwrap();
    assert_eq!(
        recorded(world, &root),
        [
            "pkg/in.txt agent d1",
            "pkg/in.txt agent d1",
            "top.txt agent d1",
            "pkg/new.txt agent d1",
            "pkg/mine.txt user -",
        ]
    );
    let inner = ["in.txt agent d1", "in.txt agent d1", "new.txt agent d1", "mine.txt user -"];
    assert_eq!(recorded(world, &pkg), inner);
    assert_eq!(recorded(world, &lib), ["side.txt agent d1"]);
}

#[test]
fn an_event_goes_to_every_project_that_it_concerns() {
    check_every_record_knows_the_agent(&world());
}

#[test]
fn an_event_goes_to_every_project_with_a_daemon() {
    let world = world();
    let _daemon = Daemon::of(&world);
    check_every_record_knows_the_agent(&world);
}

#[test]
fn what_retake_writes_for_one_project_is_retakes_in_the_others() {
    for with_daemon in [false, true] {
        let world = world();
        let daemon = with_daemon.then(|| Daemon::of(&world));
        let (root, pkg) = (world.root(), world.root().join("pkg"));
        hook(&world, &root, "UserPromptSubmit", "", &Value::Null);
        shell(&world, &root, "for f in pkg/in.txt; do echo more >> $f; done");
        let undone = run_in(&world, &root, &["undo", "--yes"]);
        assert_eq!(undone.code, 0, "{}", undone.stderr);
        assert_eq!(world.read("pkg/in.txt"), "in\n");
        assert_eq!(recorded(&world, &pkg), ["in.txt agent d1", "in.txt retake -"]);
        // What the inner one takes back, the outer one knows.
        hook(&world, &pkg, "UserPromptSubmit", "", &Value::Null);
        shell(&world, &pkg, "for f in in.txt; do echo again >> $f; done");
        let undone = run_in(&world, &pkg, &["undo", "--yes"]);
        assert_eq!(undone.code, 0, "{}", undone.stderr);
        let outer = recorded(&world, &root);
        let newest = ["pkg/in.txt agent d1", "pkg/in.txt retake -"];
        assert_eq!(outer[outer.len() - 2..], newest, "{outer:?}");
        drop(daemon);
    }
}

#[test]
fn programs_and_clients_reach_every_project_as_well() {
    let world = world();
    let (root, pkg) = (world.root(), world.root().join("pkg"));
    assert_eq!(run_in(&world, &root, &["run", "--", "sh", "-c", "echo run >> pkg/in.txt"]).code, 0);
    world.shell("s1", "for f in pkg/in.txt; do echo event >> $f; done");
    let of_pkg = recorded(&world, &pkg);
    assert!(of_pkg.iter().all(|line| line.starts_with("in.txt agent")), "{of_pkg:?}");
    assert_eq!(of_pkg.len(), 2, "{of_pkg:?}");
}

/// A record that cannot be read keeps no other project from recording.
#[test]
fn damage_of_one_record_does_not_reach_the_others() {
    let world = world();
    let (root, pkg) = (world.root(), world.root().join("pkg"));
    let status = run_in(&world, &pkg, &["status", "--json"]).json();
    let store = Path::new(status["store"].as_str().unwrap());
    std::fs::write(store.join("retake.db"), "no database at all").unwrap();
    std::fs::write(root.join("pkg/in.txt"), "by the person\n").unwrap();
    shell(&world, &root, "for f in pkg/in.txt; do echo more >> $f; done");
    assert_eq!(recorded(&world, &root), ["pkg/in.txt user -", "pkg/in.txt agent d1"]);
}

#[test]
fn a_git_directory_never_becomes_a_project() {
    let world = World::new();
    let bare = world.outer().join("bare.git");
    let git = |folder: &Path, arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&world.outer(), &["init", "-q", "--bare", "bare.git"]);
    git(&world.root(), &["init", "-q"]);
    for folder in [bare.clone(), bare.join("hooks"), world.root().join(".git")] {
        for arguments in [&["init"][..], &["init", "--anywhere"]] {
            let refused = run_in(&world, &folder, arguments);
            assert_eq!(refused.code, 1, "{arguments:?} in {}", folder.display());
            assert!(refused.stderr.contains("is git's own directory"), "{}", refused.stderr);
        }
    }
    // A program runs all the same, and it is said that nothing is recorded.
    let ran = run_in(&world, &bare, &["run", "--", "true"]);
    assert!(ran.stderr.contains("is git's own directory"), "{}", ran.stderr);
    assert_eq!(ran.code, 0);
    assert!(!world.home().join("projects").exists());
    // Of a `.git`, the working tree around it is meant.
    let ran = run_in(&world, &world.root().join(".git"), &["run", "--", "true"]);
    assert_eq!((ran.code, ran.stderr.contains("no file was changed")), (0, true), "{}", ran.stderr);
}
