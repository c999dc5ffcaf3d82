//! Row 55: the caller's environment is full of `GIT_*`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use retake_testkit::machine::{MachineRequirement, has_all};
use retake_testkit::{disk, git};
use serde_json::Value;

use super::{after, assert_sound, before, come_to, hook_by, prompt};
use crate::support::World;

/// Each variable of git's that names a place, a program or a setting.
const PLACES: [&str; 12] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_TEMPLATE_DIR",
    "GIT_ATTR_SOURCE",
];
const PROGRAMS: [&str; 9] = [
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PROXY_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_TRACE_SETUP",
];
const OTHERS: [(&str, &str); 10] = [
    ("GIT_NAMESPACE", "trap"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_ICASE_PATHSPECS", "1"),
    ("GIT_DEFAULT_HASH", "sha256"),
    ("GIT_OPTIONAL_LOCKS", "1"),
    ("GIT_REPLACE_REF_BASE", "refs/trap"),
    ("GIT_CONFIG_COUNT", "2"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_KEY_1", "core.hooksPath"),
    ("GIT_CONFIG_NOSYSTEM", "0"),
];

/// A world whose project is a repository, and beside it another repository and a program, which
/// Retake must not touch or run.
struct Trap {
    world: World,
    victim: PathBuf,
    canary: PathBuf,
    ran: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let world = World::new();
        world.write("a.txt", "one\n");
        world.write(".gitignore", "*.log\n");
        world.write("x.log", "ignored\n");
        commit_all(&world.root());
        let victim = world.outer().join("victim");
        std::fs::create_dir(&victim).unwrap();
        std::fs::write(victim.join("theirs.txt"), "theirs\n").unwrap();
        commit_all(&victim);
        let (canary, ran) = (world.outer().join("canary"), world.outer().join("ran"));
        std::fs::write(&canary, format!("#!/bin/sh\necho \"$0 $@\" >> {}\n", ran.display()))
            .unwrap();
        std::fs::set_permissions(&canary, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { world, victim, canary, ran }
    }

    /// Sets all of it.
    fn set<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let inside = self.victim.join(".git");
        for name in PLACES {
            command.env(name, &inside);
        }
        command.env("GIT_INDEX_FILE", inside.join("index")).env("GIT_WORK_TREE", &self.victim);
        command.env("GIT_OBJECT_DIRECTORY", inside.join("objects"));
        for name in PROGRAMS {
            command.env(name, &self.canary);
        }
        command.envs(OTHERS);
        command.env("GIT_CONFIG_VALUE_0", &self.canary).env("GIT_CONFIG_VALUE_1", &self.victim);
        command.env("GIT_TRACE", self.world.outer().join("ran"))
    }

    /// What the program says, with or without all of it set.
    fn run(&self, trapped: bool, words: &[&str]) -> (i32, Value) {
        let mut command = self.world.command(words);
        if trapped {
            self.set(&mut command);
        }
        let ran = come_to(&mut command);
        let text = ran.text();
        let told = serde_json::from_str(&text).unwrap_or(Value::String(text));
        (ran.code, told)
    }

    fn hook(&self, trapped: bool, payload: &Value) {
        let mut command = self.world.command(&["hook", "claude-code"]);
        if trapped {
            self.set(&mut command);
        }
        let heard = hook_by(&mut command, &self.world.root(), payload);
        assert_eq!((heard.code, heard.stderr.as_str()), (0, ""));
    }
}

fn commit_all(root: &std::path::Path) {
    for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "first"]] {
        git::run(root, words);
    }
}

/// A day with Retake; what was said, without times, ids and places that differ from run to run.
fn day(trap: &Trap, trapped: bool) -> Vec<(i32, Value)> {
    let world = &trap.world;
    let mut said = vec![trap.run(trapped, &["init", "--checkpoint"])];
    trap.hook(trapped, &prompt("go"));
    trap.hook(trapped, &before("t1", "make"));
    world.write("a.txt", "two\n");
    world.write("new/b.txt", "b\n");
    trap.hook(trapped, &after("t1", "make"));
    for words in [
        &["status", "--json"][..],
        &["log", "--json"],
        &["diff"],
        &["git", "--", "log", "--all", "--format=%s"],
        &["git", "--", "ls-tree", "-r", "--name-only", "main"],
        &["undo", "--yes"],
    ] {
        said.push(trap.run(trapped, words));
    }
    assert_eq!(world.read("a.txt"), "one\n");
    assert_eq!(world.read("new/b.txt"), "(absent)");
    said
}

/// Only what does not differ from one run to the next.
fn comparable(said: &[(i32, Value)]) -> Vec<String> {
    let keep = |(code, told): &(i32, Value)| match told {
        Value::String(text) => {
            let lines: Vec<_> =
                text.lines().map(|line| line.split("checkpoint").next().unwrap()).collect();
            let lines: Vec<_> =
                lines.into_iter().filter(|line| !line.contains("/retake-cli-")).collect();
            format!("{code} {}", lines.join("\n"))
        }
        json => {
            let of = |change: &Value| {
                format!("{} {} {}", change["path"], change["actor"], change["dialog"])
            };
            let changes =
                json["changes"].as_array().map(|all| all.iter().map(of).collect::<Vec<_>>());
            format!("{code} {changes:?} {} {}", json["files"], json["gaps"])
        }
    };
    said.iter().map(keep).collect()
}

#[test]
fn row_55_inherited_git_variables_have_no_effect() {
    if !has_all(&[MachineRequirement::Program("git")]) {
        return;
    }
    let (plain, trap) = (Trap::new(), Trap::new());
    let (ours, theirs) = (disk::git_state(&trap.world.root()), disk::git_state(&trap.victim));
    let said = day(&trap, true);
    assert_eq!(comparable(&said), comparable(&day(&plain, false)));
    assert_eq!(said[1].1["changes"].as_array().map_or(0, Vec::len), 0);
    assert!(!trap.ran.exists(), "{}", std::fs::read_to_string(&trap.ran).unwrap());
    assert_eq!(disk::git_state(&trap.victim), theirs, "nobody touched the other repository");
    assert_eq!(disk::read_files(&trap.victim).len(), 1);
    assert_eq!(disk::git_state(&trap.world.root()), ours, "nor the person's own");
    assert_sound(&trap.world);
    // A daemon that inherits them neither, nor what it starts.
    let mut command = trap.world.command(&["daemon", "start", "--json"]);
    let started = come_to(trap.set(&mut command).stdin(Stdio::null())).json();
    let environment = std::fs::read(format!("/proc/{}/environ", started["pid"])).unwrap();
    trap.world.ok(&["daemon", "stop"]);
    assert!(!String::from_utf8_lossy(&environment).contains("GIT_"));
    assert!(!trap.ran.exists());
}
