//! Rows 25, 26 and 29: what the watcher cannot see, and that it says so.

use std::process::Command;

use retake_testkit::machine::{MachineRequirement, has_all};

use super::watched::{Watched, until};
use super::{is_long, looked_at_all, sh};
use crate::support::World;

/// How much of the only project is watched, in the daemon's words.
fn watch(world: &World) -> String {
    let status = world.run(&["daemon", "status", "--json"]).json();
    status["projects"][0]["watch"].as_str().unwrap_or("").to_owned()
}

/// More than the system keeps of one watcher, so that it loses events.
fn lost_events() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let enough = limit.trim().parse::<usize>().unwrap() / 3 + 600;
    if is_long() { enough.max(20_000) } else { enough }
}

#[test]
fn row_25_lost_events_of_the_watcher() {
    let watched = Watched::start(World::with(&[("a.txt", "one\n"), ("d/b.txt", "b\n")]));
    assert_eq!(watch(&watched.world), "on");
    // No scan can run before this lock is released, so that the state is there to be seen.
    let lock = std::fs::File::open(watched.world.store().join("lock")).unwrap();
    lock.lock().unwrap();
    watched.signal("-STOP");
    for number in 0..lost_events() {
        // Three events each.
        watched.world.write(&format!("d/{number}"), format!("{number}\n"));
    }
    std::fs::remove_file(watched.root().join("d/b.txt")).unwrap();
    watched.world.write("e/f/g", "g\n");
    watched.signal("-CONT");
    until("it says that it is catching up", || watch(&watched.world) == "catching up");
    lock.unlock().unwrap();
    looked_at_all(&watched.world);
    watched.check();
    until("it has caught up", || watch(&watched.world) == "on");
    // Folders that came while events were lost are watched, too.
    watched.world.write("e/f/h", "h\n");
    until("what comes later is seen", || {
        watched.changes().iter().any(|change| change["path"] == "e/f/h")
    });
    watched.check();
    super::check_record(&watched.world);
}

/// A daemon for which the system's limits of inotify are these.
fn limited(world: World, limits: &str) -> Option<Watched> {
    let needed = [MachineRequirement::Program("unshare")];
    let allowed = Command::new("unshare").args(["-U", "-r", "sh", "-ec", limits]).output();
    if !has_all(&needed) || !allowed.is_ok_and(|done| done.status.success()) {
        retake_testkit::machine::report_not_run("no user namespace can be made");
        return None;
    }
    let daemon = world.command(&["daemon", "run"]);
    let mut command = Command::new("unshare");
    command.args(["-U", "-r", "sh", "-ec", &format!(r#"{limits}; exec "$0" "$@""#)]);
    command.arg(daemon.get_program()).args(daemon.get_args()).env_clear();
    for (name, value) in daemon.get_envs() {
        command.env(name, value.unwrap());
    }
    command.current_dir(world.root());
    Some(Watched::start_as(world, command))
}

/// How many folders a process watches.
fn watches(pid: u64) -> usize {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap();
    let infos = entries.filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok());
    infos.map(|info| info.lines().filter(|line| line.starts_with("inotify wd:")).count()).sum()
}

#[test]
fn row_26_limits_of_the_watcher() {
    let world = World::new();
    for number in 0..60 {
        world.write(&format!("d{number}/a.txt"), "a\n");
    }
    world.ok(&["init"]);
    let limits = "echo 40 > /proc/sys/user/max_inotify_watches";
    let Some(watched) = limited(world, limits) else { return };
    let said = watch(&watched.world);
    assert!(said.starts_with("partial: "), "{said}");
    let taken = watches(watched.pid);
    assert!((1..=20).contains(&taken), "{taken} of the user's 40 watches");
    sh(
        &watched.world,
        "for d in d*; do echo more >> $d/a.txt; mkdir $d/new; echo b > $d/new/b; done",
    );
    watched.check();
    assert_eq!(watched.changes().len(), 120);
    if is_long() {
        sh(&watched.world, "for d in d*; do echo again >> $d/a.txt; done");
        until("what cannot be watched is looked at", || watched.changes().len() == 180);
    }
    super::check_record(&watched.world);
}

#[test]
fn row_26_no_watcher_at_all() {
    let world = World::with(&[("a.txt", "one\n")]);
    let limits = "echo 0 > /proc/sys/user/max_inotify_instances";
    let Some(watched) = limited(world, limits) else { return };
    let said = watch(&watched.world);
    assert!(said.starts_with("off: too many watchers"), "{said}");
    watched.world.write("a.txt", "two\n");
    watched.world.write("b/c.txt", "c\n");
    watched.check();
    assert_eq!(watched.changes().len(), 2);
}

/// Its content is unknown, and nothing is made up; every tool's temporary files come and go
/// like this, so that it is no gap either. What a call names, or a later command removes, is kept.
#[test]
fn row_29_a_file_that_comes_and_goes_between_two_looks() {
    let world = World::with(&[("a.txt", "one\n")]);
    super::turn(&world, "echo secret > passing.txt; echo more >> passing.txt; rm passing.txt");
    let log = world.run(&["log", "--json"]).json();
    assert_eq!(log["changes"], serde_json::json!([]));
    assert_eq!(super::gaps(&world), []);
    super::check(&world);
    // In a command of its own, `rm` is looked at before it runs.
    world.shell("k2", "echo secret > passing.txt");
    world.shell("k3", "rm passing.txt");
    world.ok(&["undo"]);
    assert_eq!(world.read("passing.txt"), "(absent)", "the whole turn goes back");
    let change = world.run(&["log", "--json", "--file", "passing.txt"]).json();
    let kinds: Vec<_> =
        change["changes"].as_array().unwrap().iter().map(|c| c["change_type"].clone()).collect();
    assert_eq!(kinds, ["delete", "create"]);
    let id = change["changes"][0]["id"].as_str().unwrap();
    assert_eq!(world.ok(&["show", id, "--before"]), "secret\n");
    super::check(&world);
}

/// With a daemon it is the same, however often it comes and goes.
#[test]
fn row_29_under_the_eyes_of_a_daemon() {
    let watched = Watched::start(World::with(&[("a.txt", "one\n")]));
    for round in 0..50 {
        watched.world.write("passing.txt", format!("{round}\n"));
        std::fs::remove_file(watched.root().join("passing.txt")).unwrap();
    }
    watched.check();
    // Whatever was seen of it went again; the record is closed.
    let changes = watched.changes();
    let (made, gone): (Vec<_>, Vec<_>) =
        changes.iter().partition(|change| change["change_type"] == "create");
    assert_eq!(made.len(), gone.len());
    super::check_record(&watched.world);
}
