//! Rows 42, 43, 53 and 54: what becomes of the project's folder, and which folders are none.

use std::path::Path;
use std::process::Stdio;

use retake_testkit::git;
use serde_json::json;

use super::watched::Watched;
use super::{assert_same, check, files, made_by, sh, turn};
use crate::support::{Ran, World, ran};

fn run_in(world: &World, folder: &Path, arguments: &[&str]) -> Ran {
    ran(world.command_in(folder, arguments).stdin(Stdio::null()).output().unwrap())
}

/// Makes the project's folder again, and gives the checkpoint that `init` offers.
fn made_again(world: &World) -> Option<String> {
    std::fs::create_dir_all(world.root()).unwrap();
    let refused = world.run(&["undo"]);
    assert_eq!(refused.code, 1, "before the person says what it is, nothing is written");
    assert!(refused.stderr.contains("init --same"), "{}", refused.stderr);
    assert_eq!(std::fs::read_dir(world.root()).unwrap().count(), 0);
    offered(&world.ok(&["init", "--same"]))
}

/// The checkpoint of what was on record, as `init` names it.
fn offered(said: &str) -> Option<String> {
    let (_, after) = said.split_once("`retake restore ")?;
    Some(after.split('`').next()?.to_owned())
}

const SHOP: &str = "echo a > a.txt; mkdir -p src/deep; echo b > src/deep/b; chmod 755 src/deep/b; ln -s a.txt link";

#[test]
fn row_42_a_project_that_was_deleted() {
    let world = made_by(SHOP);
    turn(&world, "echo more >> a.txt; echo new > new.txt");
    let before = files(&world.root());
    std::fs::remove_dir_all(world.root()).unwrap();
    // The record says so, and what can be done; nothing is taken for a new project.
    let root = world.root().to_str().unwrap().to_owned();
    for verb in [&["status"][..], &["undo"], &["log"], &["checkpoints"]] {
        let gone =
            run_in(&world, &world.outer(), &[&["--project", &root, "--json"], verb].concat());
        assert_eq!(gone.code, 1, "{verb:?}");
        let error = &gone.json()["error"];
        assert_eq!(error["code"], "gone", "{verb:?}: {error}");
        assert!(error["hint"].as_str().unwrap().contains("retake init --same"), "{error}");
    }
    assert!(!world.root().exists());
    let all = made_again(&world).expect("all of it is offered");
    world.ok(&["restore", &all, "--yes"]);
    assert_same(&files(&world.root()), &before);
    check(&world);
    // The agent's work is still known as such.
    world.ok(&["rollback", "--message", "1", "--yes"]);
    assert_eq!((world.read("a.txt"), world.read("new.txt")), ("a\n".into(), "(absent)".into()));
    check(&world);
}

/// An agent removes the very folder that it works in, under the eyes of a daemon.
#[test]
fn row_42_a_project_that_an_agent_deleted() {
    let watched = Watched::start(made_by(SHOP));
    let world = &watched.world;
    let before = files(&world.root());
    watched.hook("PreToolUse", "rm -rf ../project");
    sh(world, "rm -rf ../project");
    let payload = json!({
        "session_id": "s1", "cwd": world.root(), "hook_event_name": "PostToolUse",
        "tool_name": "Bash", "tool_use_id": "t1", "tool_input": { "command": "rm -rf ../project" },
    });
    let file = world.outer().join("payload");
    std::fs::write(&file, payload.to_string()).unwrap();
    let mut hook = world.command_in(&world.outer(), &["hook", "claude-code"]);
    let heard = ran(hook.stdin(std::fs::File::open(&file).unwrap()).output().unwrap());
    assert_eq!(heard.code, 0, "the agent goes on: {}", heard.stderr);
    // While it went, the daemon may have looked: what was gone by then is the agent's change, and
    // the rest is what was still on record. Neither is lost.
    if let Some(rest) = made_again(world) {
        world.ok(&["restore", &rest, "--yes"]);
    }
    world.run(&["rollback", "--dialog", "s1", "--yes"]);
    assert_same(&files(&world.root()), &before);
    check(world);
    // What comes after that is seen again.
    world.write("src/later", "later\n");
    watched.check();
}

#[test]
fn row_43_a_folder_that_was_moved_and_one_in_its_place() {
    let world = made_by("echo a > a.txt");
    turn(&world, "echo more >> a.txt");
    let moved = world.outer().join("moved");
    std::fs::rename(world.root(), &moved).unwrap();
    world.write("a.txt", "another project\n");
    let elsewhere = files(&world.root());
    // At the old place there is nothing to undo, whichever command runs first.
    for verb in
        [&["undo"][..], &["redo"], &["restore", "--before-message", "1", "--yes"], &["checkpoint"]]
    {
        let refused = run_in(&world, &world.root(), verb);
        assert_eq!(refused.code, 1, "{verb:?}: {}", refused.text());
        assert!(
            refused.stderr.contains("another folder than the one"),
            "{verb:?}: {}",
            refused.stderr
        );
    }
    let event = json!({ "event": "tool_begin", "dialog": "d1", "call": "k2", "tool": "Bash", "input": { "command": "-" } });
    let reply = world.feed(event.to_string()).lines().remove(0);
    assert_eq!(reply["error"]["code"], "replaced", "{reply}");
    assert_eq!(files(&world.root()), elsewhere, "nothing was written there");
    // The moved one is the project, and is found by itself.
    let undone = run_in(&world, &moved, &["undo"]);
    assert_eq!(undone.code, 0, "{}", undone.stderr);
    assert_eq!(std::fs::read_to_string(moved.join("a.txt")).unwrap(), "a\n");
    assert_eq!(files(&world.root()), elsewhere);
    // From now on the other one is in no project, and can become one of its own.
    assert_eq!(world.run(&["undo"]).code, 1);
    world.ok(&["init"]);
    assert!(world.ok(&["log"]).starts_with("Nothing has changed"));
    assert_eq!(run_in(&world, &moved, &["doctor", "--read-data"]).code, 0);
    assert_eq!(world.run(&["doctor", "--read-data"]).code, 0);
}

/// The same while a daemon has the folder open.
#[test]
fn row_43_a_folder_that_is_replaced_under_a_daemon() {
    let watched = Watched::start(made_by("echo a > a.txt"));
    let world = &watched.world;
    turn(world, "echo more >> a.txt");
    let moved = world.outer().join("moved");
    std::fs::rename(world.root(), &moved).unwrap();
    world.write("a.txt", "another project\n");
    let refused = world.run(&["undo"]);
    assert_eq!(refused.code, 1, "{}", refused.text());
    assert_eq!(world.read("a.txt"), "another project\n");
    let undone = run_in(world, &moved, &["undo"]);
    assert_eq!((undone.code, undone.stderr.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(moved.join("a.txt")).unwrap(), "a\n");
    assert_eq!(world.read("a.txt"), "another project\n");
    // The daemon watches it where it is now.
    std::fs::write(moved.join("b.txt"), "b\n").unwrap();
    let log = run_in(world, &moved, &["log", "--json", "-n", "1"]).json();
    assert_eq!(
        (&log["changes"][0]["path"], &log["changes"][0]["actor"]),
        (&"b.txt".into(), &"user".into())
    );
    let status = world.run(&["daemon", "status", "--json"]).json();
    assert_eq!(status["projects"][0]["root"], moved.to_str().unwrap(), "{status}");
}

/// A command of a person whose records are where they are without any setting.
fn at_home(world: &World, arguments: &[&str]) -> Ran {
    let folder = world.outer().join("person/shop");
    let mut command = world.command_in(&folder, arguments);
    ran(command.env_remove("RETAKE_HOME").stdin(Stdio::null()).output().unwrap())
}

/// The records lie in the person's home unless they are told to lie elsewhere: then, and only
/// then, they survive it.
#[test]
fn row_53_the_persons_home_is_deleted() {
    let world = World::new();
    let shop = world.outer().join("person/shop");
    let fill = || {
        std::fs::create_dir_all(&shop).unwrap();
        std::fs::write(shop.join("a.txt"), "a\n").unwrap();
    };
    fill();
    assert_eq!(at_home(&world, &["init"]).code, 0);
    assert!(world.outer().join("person/.local/share/retake/projects").is_dir());
    std::fs::remove_dir_all(world.outer().join("person")).unwrap();
    std::fs::create_dir_all(&shop).unwrap();
    let lost = at_home(&world, &["undo"]);
    assert_eq!(lost.code, 1);
    assert!(lost.stderr.contains("in no project yet"), "nothing is claimed: {}", lost.stderr);
    assert_eq!(at_home(&world, &["init"]).code, 0, "and it can be begun anew");

    // With a home of Retake's elsewhere everything comes back.
    fill();
    let elsewhere = |arguments: &[&str]| run_in(&world, &shop, arguments);
    assert_eq!(elsewhere(&["init"]).code, 0);
    let before = files(&shop);
    std::fs::remove_dir_all(world.outer().join("person")).unwrap();
    std::fs::create_dir_all(&shop).unwrap();
    let id = offered(&elsewhere(&["init", "--same"]).text()).unwrap();
    assert_eq!(elsewhere(&["restore", &id, "--yes"]).code, 0);
    assert_same(&files(&shop), &before);
    assert_eq!(elsewhere(&["doctor", "--read-data"]).code, 0);
}

#[test]
fn row_54_folders_that_are_too_broad() {
    let world = World::new();
    let (person, temp) = (world.outer().join("person"), world.outer().join("tmp"));
    // Dotfiles in git do not make the home a project.
    git::run(&person, &["init", "--quiet"]);
    std::os::unix::fs::symlink(&person, world.outer().join("alias")).unwrap();
    for folder in [Path::new("/"), &person, &temp, &world.outer().join("alias")] {
        let refused = run_in(&world, folder, &["init", "--json"]);
        assert_eq!(
            (refused.code, &refused.json()["error"]["code"]),
            (1, &"too_broad".into()),
            "{folder:?}"
        );
        let event = json!({ "event": "user_message", "dialog": "d", "text": "go", "cwd": folder });
        let mut told = world.command_in(folder, &["event"]);
        let file = world.outer().join("event");
        std::fs::write(&file, event.to_string()).unwrap();
        let told = ran(told.stdin(std::fs::File::open(&file).unwrap()).output().unwrap());
        assert_eq!(told.lines()[0]["error"]["code"], "too_broad", "{folder:?}");
        // A hook says it to the person, and lets the agent go on.
        let payload = json!({ "session_id": "s", "cwd": folder, "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_use_id": "t", "tool_input": { "command": "ls" } });
        std::fs::write(&file, payload.to_string()).unwrap();
        let mut hook = world.command_in(folder, &["hook", "claude-code"]);
        let heard = ran(hook.stdin(std::fs::File::open(&file).unwrap()).output().unwrap());
        assert_eq!(heard.code, 0);
        assert!(heard.stderr.contains("almost never meant"), "{folder:?}: {}", heard.stderr);
    }
    assert!(!world.home().join("projects").exists(), "nothing is on record");
    // A person who means it passes --anywhere.
    assert_eq!(run_in(&world, &person, &["init", "--anywhere"]).code, 0);
    assert_eq!(run_in(&world, &person, &["status"]).code, 0);
}
