//! An undo of very many files takes bounded memory: in the daemon, in its client, and alone.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use super::Daemon;
use crate::support::World;

/// Number of files, and the maximum of memory in MiB. As a tree of JSON values, the plan of so many
/// files alone takes more than that.
fn sizes() -> (usize, u64) {
    if std::env::var_os("RETAKE_LONG").is_some() { (20_000, 256) } else { (4000, 80) }
}

/// A project in which one call changed all files.
fn changed_project(files: usize) -> World {
    let world = World::new();
    for number in 0..files {
        let mut text = String::new();
        for line in 0..20 {
            let _ = writeln!(text, "line {line} of file {number}");
        }
        world.write(&format!("d{}/file{number}.txt", number / 200), text);
    }
    world.ok(&["init"]);
    world.say("d1", "change them all");
    world.shell_of("d1", "k1", "for file in d*/*; do echo more >> $file; done");
    world
}

/// The most memory that a process has had, in MiB; 0 if it is gone.
fn most_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0)
        / 1024
}

/// Runs a command that must be done; returns the most memory that it took, in MiB.
fn peak(world: &World, arguments: &[&str]) -> u64 {
    let mut child = world.command(arguments).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    // It only grows, so that the last one that is seen is the largest.
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(most_memory(child.id()));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success(), "{arguments:?}");
    peak
}

#[test]
fn an_undo_of_very_many_files_takes_bounded_memory() {
    let (files, most) = sizes();
    let world = changed_project(files);
    let alone = peak(&world, &["--no-daemon", "undo", "--json"]);
    assert!((1..=most).contains(&alone), "alone it takes {alone} MiB");
    assert!(!world.read("d0/file7.txt").contains("more"), "it is undone");
    let daemon = Daemon::of(&world);
    let client = peak(&world, &["redo", "--json"]);
    let served = most_memory(daemon.pid());
    assert!((1..=most).contains(&client), "a client takes {client} MiB");
    assert!((1..=most).contains(&served), "the daemon takes {served} MiB");
    assert!(world.read("d0/file7.txt").contains("more"), "it is redone");
}
