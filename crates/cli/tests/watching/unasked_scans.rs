//! What the daemon sees without being asked.

use std::collections::BTreeMap;
use std::process::Command;

use retake_testkit::git;

use crate::support::World;
use crate::watched::{Watched, until};

fn sh(watched: &Watched, script: &str) {
    let status = Command::new("sh").args(["-c", script]).current_dir(watched.root()).status();
    assert!(status.unwrap().success(), "{script}");
}

/// A repository with a branch `other`, in which these many files are others.
fn repository(files: usize) -> World {
    let world = World::new();
    let root = world.root();
    let fill = |word: &str| {
        for number in 0..files {
            world
                .write(&format!("src/{}/{number}.txt", number % 100), format!("{word} {number}\n"));
        }
    };
    git::run(&root, &["init", "--quiet"]);
    fill("one");
    git::run(&root, &["add", "."]);
    git::run(&root, &["commit", "--quiet", "-m", "one"]);
    git::run(&root, &["checkout", "--quiet", "-b", "other"]);
    fill("two");
    git::run(&root, &["commit", "--quiet", "-am", "two"]);
    git::run(&root, &["checkout", "--quiet", "main"]);
    world.ok(&["init"]);
    world
}

#[test]
fn edits_of_the_person_appear_by_themselves() {
    let watched = Watched::start(World::with(&[("a.txt", "one\n"), ("d/b.txt", "b\n")]));
    watched.world.write("a.txt", "one\ntwo\n");
    watched.world.write("new/deep/c.txt", "c\n");
    std::fs::remove_file(watched.root().join("d/b.txt")).unwrap();
    until("three changes", || watched.changes().len() == 3);
    let seen: BTreeMap<_, _> = watched
        .changes()
        .iter()
        .map(|change| {
            assert_eq!(change["actor"], "user");
            (change["path"].to_string(), change["change_type"].to_string())
        })
        .collect();
    let expected = [("a.txt", "modify"), ("d/b.txt", "delete"), ("new/deep/c.txt", "create")];
    let quoted = |text: &str| format!("\"{text}\"");
    assert_eq!(seen, expected.map(|(path, kind)| (quoted(path), quoted(kind))).into());
    watched.check();
}

#[test]
fn a_branch_switch_is_one_event_of_git() {
    let watched = Watched::start(repository(300));
    git::run(&watched.root(), &["checkout", "--quiet", "other"]);
    until("all files", || watched.changes().len() == 300);
    assert!(watched.changes().iter().all(|change| change["actor"] == "git"));
    watched.check();
}

#[test]
fn what_git_brings_back_just_after_a_save_is_gits() {
    let watched = Watched::start(repository(3));
    let actors = || -> Vec<_> {
        watched.changes().iter().rev().map(|change| change["actor"].to_string()).collect()
    };
    let mut expected = Vec::new();
    for command in ["stash --quiet", "reset --quiet --hard", "checkout --quiet -- ."] {
        watched.world.write("src/1/1.txt", format!("by hand, before git {command}\n"));
        expected.push("\"user\"");
        until("the save", || watched.changes().len() == expected.len());
        git::run(&watched.root(), &command.split(' ').collect::<Vec<_>>());
        expected.push("\"git\"");
        until(command, || watched.changes().len() == expected.len());
        assert_eq!(actors(), expected, "{command}");
    }
    watched.check();
}

#[test]
fn what_is_written_through_one_name_of_a_file_is_seen_at_the_others() {
    let world = World::with(&[("a/first.txt", "one\n"), ("z/other.txt", "one\n")]);
    std::fs::hard_link(world.root().join("a/first.txt"), world.root().join("z/last.txt")).unwrap();
    let watched = Watched::start(world);
    let file = |name: &str| watched.root().join(name);
    let seen = |kind: &str| {
        watched.changes().iter().filter(|change| change["change_type"] == kind).count()
    };
    watched.world.write("z/last.txt", "two\n");
    until("both names", || seen("modify") == 2);
    watched.check();
    // A name that is made while a daemon watches.
    let made = seen("create");
    std::fs::hard_link(file("z/other.txt"), file("a/another.txt")).unwrap();
    until("the new name", || seen("create") == made + 1);
    watched.world.write("a/another.txt", "two\n");
    watched.check();
}

#[test]
fn what_changed_while_nothing_ran_is_found_at_the_start() {
    let mut watched = Watched::start(World::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]));
    watched.kill();
    watched.world.write("a.txt", "two\n");
    watched.world.ok(&["daemon", "start"]);
    watched.world.ok(&["status"]);
    let changes = watched.changes();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0]["actor"], "user");
    watched.check();
}

#[test]
fn twenty_thousand_files_at_once_are_all_seen() {
    let watched = Watched::start(World::with(&[("a.txt", "one\n")]));
    for number in 0..20_000 {
        watched.world.write(&format!("burst/{}/{number}", number % 200), format!("{number}\n"));
    }
    watched.check();
}

#[test]
fn a_checkout_of_ten_thousand_files_is_seen_whole() {
    let watched = Watched::start(repository(10_000));
    git::run(&watched.root(), &["checkout", "--quiet", "other"]);
    watched.check();
    assert!(watched.changes().iter().all(|change| change["actor"] == "git"));
}

#[test]
fn a_folder_that_is_copied_in_is_seen_whole() {
    let world = World::with(&[("a.txt", "one\n")]);
    let source = world.outer().join("source");
    for number in 0..1600 {
        let file = source.join(format!("{}/{}/{number}", number % 7, number % 40));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{number}\n")).unwrap();
    }
    let watched = Watched::start(world);
    for round in 0..5 {
        sh(&watched, &format!("cp -r ../source copy{round}"));
        watched.check();
    }
}

#[test]
fn events_that_overflow_the_queue_cost_a_walk_and_nothing_else() {
    let watched = Watched::start(World::with(&[("a.txt", "one\n"), ("d/b.txt", "b\n")]));
    watched.signal("-STOP");
    for round in 0..3 {
        for number in 0..10_000 {
            watched.world.write(&format!("d/{number}"), format!("{round} {number}\n"));
        }
    }
    std::fs::remove_file(watched.root().join("d/b.txt")).unwrap();
    watched.world.write("e/f/g", "g\n");
    watched.signal("-CONT");
    watched.check();
    watched.world.write("e/f/h", "h\n");
    watched.check();
}
