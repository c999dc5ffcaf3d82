//! What a hook costs the daemon: a small constant, however large the project is.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::World;
use crate::watched::Watched;

/// So often it is measured.
const TRIES: usize = 3;

/// Of one hook, on either side.
const FEW: usize = 150;

fn project(files: usize) -> World {
    let world = World::new();
    for number in 0..files {
        world.write(&format!("{}/{}/{number}.txt", number % 60, number % 600), "text\n");
    }
    world.ok(&["init"]);
    // The first hook takes a checkpoint of it all, and the daemon is traced: that may last.
    std::fs::write(world.home().join("config.toml"), "[hook]\nbudget_ms = 60000\n").unwrap();
    world
}

/// The calls that ask for names or states of files, so far.
fn asked(trace: &Path) -> usize {
    let text = String::from_utf8_lossy(&std::fs::read(trace).unwrap()).into_owned();
    let calls = ["stat", "open", "getdents", "access", "readlink"];
    text.lines().filter(|line| calls.iter().any(|call| line.contains(call))).count()
}

/// The same, once no more calls are made: what went before may have left something to tidy up.
fn asked_at_rest(trace: &Path) -> usize {
    let mut last = asked(trace);
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let now = asked(trace);
        if now == last {
            return now;
        }
        last = now;
    }
}

/// What the two hooks of a shell call that changes one file ask the system for.
fn cost(files: usize) -> (usize, u64) {
    let world = project(files);
    let trace = world.outer().join("trace");
    let daemon = world.command(&["daemon", "run"]);
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-e", "trace=%file,getdents64", "-o"]).arg(&trace);
    traced.arg(daemon.get_program()).args(daemon.get_args()).env_clear();
    for (name, value) in daemon.get_envs() {
        traced.env(name, value.unwrap());
    }
    traced.current_dir(world.root());
    let watched = Watched::start_as(world, traced);
    // The first ones make the dialog, and its first checkpoint.
    watched.hook("PreToolUse", "make first");
    watched.hook("PostToolUse", "make first");
    watched.world.ok(&["status"]);
    let before = asked_at_rest(&trace);
    watched.hook("PreToolUse", "make");
    watched.world.write("1/1/1.txt", "changed\n");
    watched.hook("PostToolUse", "make");
    let after = asked(&trace);
    assert_eq!(watched.changes()[0]["call"], "t1");
    let status = std::fs::read_to_string(format!("/proc/{}/status", watched.pid)).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").trim().parse().unwrap();
    (after - before, kilobytes / 1024)
}

#[test]
fn a_hook_costs_the_same_on_six_hundred_and_on_sixty_thousand_files() {
    // On a busy machine the watcher may look once more in between, which costs what a look costs:
    // what counts is what the hooks need, so the least of a few tries.
    let (small, _) = cost(600);
    let mut tried = Vec::new();
    for _ in 0..TRIES {
        let (large, memory) = cost(60_000);
        assert!(memory < 256, "{memory} MiB");
        if large <= FEW && large <= small + 20 {
            return;
        }
        tried.push(large);
    }
    panic!("{tried:?} calls on 60,000 files, {small} on 600");
}
