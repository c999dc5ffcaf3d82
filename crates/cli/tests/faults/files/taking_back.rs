//! Rows 18, 48 and 49: another author in the same file, and going back and forth.

use std::fs::OpenOptions;
use std::io::Write as _;

use retake_testkit::machine::{MachineRequirement, has_all};
use serde_json::json;

use super::paused::Paused;
use super::{assert_same, check, files, made_by, sh, turn};
use crate::support::World;

/// A program that has the file open goes on writing to it while another one takes its place.
#[test]
fn row_18_a_file_that_a_writer_has_open() {
    if !has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let world = made_by("for f in a b c; do echo $f > $f; done");
    turn(&world, "for f in a b c; do echo agent >> $f; done");
    let open = |name: &&str| OpenOptions::new().append(true).open(world.root().join(name)).unwrap();
    let mut writers: Vec<_> = ["a", "b", "c"].iter().map(open).collect();
    // Two are replaced by then; of these one was looked at already and is only waiting to be removed.
    let replaced = || ["a", "b", "c"].iter().filter(|file| world.read(file).len() == 2).count();
    let paused = Paused::after(&world, &["undo"], ("renameat2", 2), || replaced() == 2);
    for writer in &mut writers {
        writer.write_all(b"late\n").unwrap();
    }
    let undone = paused.go_on();
    assert_eq!(undone.code, 3, "{}{}", undone.text(), undone.stderr);
    for file in ["a", "b", "c"] {
        // Where it was written, whether the file had been replaced by then or not.
        assert_eq!(world.read(file), format!("{file}\nagent\nlate\n"));
    }
    assert_eq!(undone.text().matches("changed just now").count(), 3, "{}", undone.text());
    check(&world);
    drop(writers);
    // What the writer added is the person's, and stays when the agent's lines go.
    let again = world.run(&["undo", "--dry-run", "--json"]).json();
    assert_eq!(again["files"].as_array().unwrap().len(), 3, "{again}");
}

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// An edit of one line, as an agent's tool makes it.
fn edit(world: &World, dialog: &str, call: &str, old: &str, new: &str) {
    let input = json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
    let begin = json!({ "event": "tool_begin", "dialog": dialog, "call": call, "tool": "Edit", "input": input });
    assert_eq!(world.feed(begin.to_string()).code, 0);
    world.write("a.txt", world.read("a.txt").replace(old, new));
    let end = json!({ "event": "tool_end", "dialog": dialog, "call": call, "ok": true });
    assert_eq!(world.feed(end.to_string()).code, 0);
}

#[test]
fn row_48_two_agents_in_one_file() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("one", "go");
    world.say("two", "go");
    edit(&world, "one", "k1", "2\n", "two\n");
    edit(&world, "two", "k2", "8\n", "eight\n");
    edit(&world, "one", "k3", "5\n", "five\n");
    world.ok(&["reject", "--dialog", "one", "--yes"]);
    assert_eq!(world.read("a.txt"), LINES.replace('8', "eight"), "only its own lines");
    check(&world);
    world.ok(&["undo"]);
    // Now the other one edits the very line.
    edit(&world, "two", "k4", "five\n", "fünf\n");
    let both = LINES.replace('2', "two").replace('5', "fünf").replace('8', "eight");
    assert_eq!(world.read("a.txt"), both);
    // A rollback leaves what does not fit; a rejection asks before it goes over the other's work.
    let left = world.run(&["rollback", "--dialog", "one", "--yes"]);
    assert_eq!(left.code, 3, "{}{}", left.text(), left.stderr);
    assert!(left.text().contains("later changes touch the same lines"), "{}", left.text());
    assert!(world.read("a.txt").contains("fünf\n"), "{}", world.read("a.txt"));
    check(&world);
    let asked = world.run(&["reject", "--dialog", "one"]);
    assert_eq!(asked.code, 3, "{}", asked.text());
    assert!(asked.stderr.contains("It takes back later changes too"), "{}", asked.stderr);
    assert!(asked.stderr.contains("by two."), "{}", asked.stderr);
    assert!(world.read("a.txt").contains("fünf\n"), "{}", world.read("a.txt"));
    world.ok(&["reject", "--dialog", "one", "--yes"]);
    assert_eq!(world.read("a.txt"), LINES.replace('8', "eight"));
    check(&world);
}

#[test]
fn row_49_restoring_twice_and_taking_that_back() {
    let world = made_by("echo a > a; echo b > b; mkdir d; echo x > d/x; ln -s a l; chmod 755 b");
    let before = files(&world.root());
    turn(&world, "echo more >> a; rm b; rm -r d; echo d > d; rm l; echo l > l; echo new > new");
    sh(&world, "echo mine > mine; echo mine >> a");
    let original = files(&world.root());
    let restore = ["restore", "--before-message", "1", "--yes", "--exact"];
    world.ok(&restore);
    let restored = files(&world.root());
    assert_same(&restored, &before);
    world.ok(&restore);
    assert_eq!(files(&world.root()), restored, "the second time nothing is touched");
    world.ok(&["undo"]);
    assert_same(&files(&world.root()), &original);
    world.ok(&["redo"]);
    assert_same(&files(&world.root()), &before);
    world.ok(&["undo"]);
    assert_same(&files(&world.root()), &original);
    check(&world);
}
