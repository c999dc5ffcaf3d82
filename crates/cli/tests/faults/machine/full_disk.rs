//! Rows 11, 12, 13 and 52: no room, no inodes, and more on record than there should be.

use retake_testkit::disk;
use retake_testkit::machine::{MachineRequirement, has_all};
use serde_json::json;

use super::{
    Mount, after, assert_sound, before, fill_up, fill_with_noise, hook, leftovers, prompt,
    recorded, under,
};
use crate::support::World;

/// A world whose store lies on a small file system of its own, with a turn of an agent on record.
fn on_a_small_disk(limits: &str) -> (World, Mount) {
    let world = World::new();
    let mount = Mount::memory(&world.home(), limits);
    world.write("a.txt", "one\n");
    world.write("b.txt", "by hand\n");
    world.ok(&["init"]);
    hook(&world, &prompt("the first message"));
    hook(&world, &before("t1", "make"));
    world.write("a.txt", "two\n");
    hook(&world, &after("t1", "make"));
    assert_eq!(recorded(&world), ["a.txt"]);
    (world, mount)
}

/// The id of a checkpoint with this message.
fn checkpoint(world: &World, message: &str) -> String {
    let listed = world.run(&["checkpoints", "--json", "--no-look"]).json();
    let found = listed["checkpoints"].as_array().unwrap().iter();
    let mut found = found.filter(|made| made["message"].as_str().unwrap().contains(message));
    found.next().unwrap()["id"].as_str().unwrap().to_owned()
}

/// What holds while nothing can be written to the store: the agent goes on, no reply says that all
/// is well, and no file is touched.
fn assert_loud_and_harmless(world: &World, errno: &str) {
    hook(world, &before("t2", "make"));
    world.write("a.txt", "three\n");
    let before = disk::read_files(&world.root());
    let heard = hook(world, &after("t2", "make"));
    assert_eq!((heard.code, heard.text().as_str()), (0, ""), "{}", heard.stderr);
    assert!(heard.stderr.contains("not all was recorded"), "{}", heard.stderr);
    assert!(heard.stderr.contains(errno), "{}", heard.stderr);
    let status = world.run(&["status"]);
    assert!(status.stderr.contains("could not be scanned"), "{}", status.stderr);
    let sick = world.run(&["doctor"]);
    assert_eq!(sick.code, 1, "{}", sick.text());
    for command in [
        &["checkpoint", "-m", "x"][..],
        &["undo", "--yes"],
        &["reject", "--dialog", "s1", "--yes"],
        &["restore", &checkpoint(world, "first"), "--yes"],
    ] {
        let refused = world.run(command);
        assert_eq!(refused.code, 1, "{command:?}: {} {}", refused.text(), refused.stderr);
    }
    assert_eq!(disk::read_files(&world.root()), before, "not even a time differs");
    assert_eq!(recorded(world), ["a.txt"], "what was acknowledged is there");
}

/// What holds once there is room again: all goes on, with what came meanwhile, and the gap is told.
fn assert_goes_on(world: &World) {
    let status = world.ok(&["status"]);
    assert!(status.contains("events that could not be"), "{status}");
    assert_eq!(recorded(world), ["a.txt", "a.txt"]);
    assert_sound(world);
    hook(world, &prompt("the second message"));
    hook(world, &before("t3", "make"));
    world.write("a.txt", "four\n");
    hook(world, &after("t3", "make"));
    world.ok(&["undo", "--yes"]);
    assert_eq!(world.read("a.txt"), "three\n");
    // The author of changes made while nothing could be recorded is unknown, so it is the person;
    // the way back is there all the same.
    world.ok(&["restore", &checkpoint(world, "first"), "--yes"]);
    assert_eq!((world.read("a.txt"), world.read("b.txt")), ("one\n".into(), "by hand\n".into()));
    assert_sound(world);
}

#[test]
fn row_11_no_space_in_the_store() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let (world, _mount) = on_a_small_disk("size=3m");
    let ballast = fill_up(&world.home(), 0);
    assert_loud_and_harmless(&world, "No space left");
    std::fs::remove_file(ballast).unwrap();
    assert_goes_on(&world);
}

/// With a little room a commit can fail in its middle, at any page of it.
#[test]
fn row_11_space_that_ends_in_the_middle_of_a_commit() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let (world, _mount) = on_a_small_disk("size=3m");
    let mut failed = 0;
    for (round, room) in (0..10).map(|round| (round, round * 2 * 4096)) {
        let name = format!("large-{round}.bin");
        let mut bytes = vec![0; 20 * 4096];
        fill_with_noise(&mut bytes, round);
        world.write(&name, &bytes);
        let ballast = fill_up(&world.home(), room);
        let made = world.run(&["checkpoint", "-m", &name]);
        failed += u32::from(made.code == 1);
        std::fs::remove_file(ballast).unwrap();
        assert_sound(&world);
        let listed = world.run(&["checkpoints", "--json", "--no-look"]).text();
        assert_eq!(listed.contains(&name), made.code == 0, "{room}: {}", made.stderr);
        std::fs::remove_file(world.root().join(&name)).unwrap();
        if made.code == 0 {
            world.ok(&["restore", &checkpoint(&world, &name), "--yes"]);
            assert!(std::fs::read(world.root().join(&name)).unwrap() == bytes);
        }
        world.ok(&["gc"]);
    }
    assert!(failed > 3, "only {failed} failed");
}

/// A project on a small file system, of which an agent has rewritten every file; how many.
fn project_on_a_small_disk(limits: &str) -> (World, Mount, usize) {
    let world = World::new();
    let mount = Mount::memory(&world.root(), limits);
    let count = 60;
    for number in 0..count {
        world.write(&format!("{number}.txt"), format!("{number}, by hand\n"));
    }
    world.ok(&["init"]);
    world.say("d1", "go");
    world.shell("k1", "for file in *.txt; do echo by the agent > $file; done; rm 5*.txt");
    (world, mount, count)
}

/// A restore for which there is no room leaves every file as it is, says so, and works once there
/// is.
fn assert_wholly_old_then_new(world: &World, count: usize, undo: impl FnOnce()) {
    let old = disk::read_files(&world.root());
    let refused = world.run(&["undo", "--yes"]);
    assert!(matches!(refused.code, 1 | 3), "{} {}", refused.text(), refused.stderr);
    let told = refused.text() + &refused.stderr;
    assert!(told.contains("No space left") || told.contains("free"), "{told}");
    assert_eq!(
        disk::read_files(&world.root()),
        old,
        "not even a time differs, and nothing is left over"
    );
    undo();
    world.ok(&["undo", "--yes"]);
    for number in 0..count {
        assert_eq!(world.read(&format!("{number}.txt")), format!("{number}, by hand\n"));
    }
    assert_eq!(leftovers(world), [""; 0]);
    assert_sound(world);
}

/// The sum of all sizes would fit; each file takes a block all the same.
#[test]
fn row_12_no_space_in_the_project() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let (world, _mount, count) = project_on_a_small_disk("size=2m");
    let ballast = fill_up(&world.root(), 20 * 4096);
    assert_wholly_old_then_new(&world, count, || std::fs::remove_file(ballast).unwrap());
}

/// What cannot fit is refused before anything is written.
#[test]
fn row_12_too_little_space_is_known_beforehand() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let world = World::new();
    let _mount = Mount::memory(&world.root(), "size=2m");
    world.write("large.txt", "0123456789abcde\n".repeat(64 * 1024 - 4096));
    world.write("a.txt", "one\n");
    world.ok(&["init"]);
    world.say("d1", "go");
    world.shell("k1", "rm large.txt; echo two > a.txt");
    fill_up(&world.root(), 100 * 4096);
    let old = disk::read_files(&world.root());
    let refused = world.run(&["undo", "--yes", "--json"]);
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (1, &json!("no_space")));
    assert_eq!(disk::read_files(&world.root()), old);
    assert_eq!(world.run(&["ops", "--json"]).json()["operations"], json!([]), "nothing was begun");
}

#[test]
fn row_13_no_inodes_in_the_project() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let (world, _mount, count) = project_on_a_small_disk("size=2m,nr_inodes=200");
    let takers = take_inodes(&world.root());
    // They are the person's own files, and known.
    world.ok(&["status"]);
    assert_wholly_old_then_new(&world, count, || remove(&takers));
}

fn remove(files: &[std::path::PathBuf]) {
    for file in files {
        std::fs::remove_file(file).unwrap();
    }
}

/// Takes all the inodes but a few.
fn take_inodes(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut taken = Vec::new();
    for number in 0.. {
        let path = folder.join(format!("taken-{number}"));
        if std::fs::File::create_new(&path).is_err() {
            break;
        }
        taken.push(path);
    }
    for path in taken.drain(taken.len().saturating_sub(5)..) {
        std::fs::remove_file(path).unwrap();
    }
    taken
}

/// A store without inodes records on: its files are there. What needs a new file says so.
#[test]
fn row_13_no_inodes_in_the_store() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let (world, _mount) = on_a_small_disk("size=4m,nr_inodes=40");
    let mut taken = take_inodes(&world.home());
    for number in 0.. {
        let path = world.home().join(format!("last-{number}"));
        if std::fs::File::create_new(&path).is_err() {
            break;
        }
        taken.push(path);
    }
    let heard = hook(&world, &before("t2", "make"));
    assert_eq!(heard.code, 0);
    world.write("a.txt", "three\n");
    let heard = hook(&world, &after("t2", "make"));
    assert_eq!((heard.code, heard.text().as_str()), (0, ""));
    let is_told = !heard.stderr.is_empty();
    assert_eq!(recorded(&world).len(), if is_told { 1 } else { 2 }, "{}", heard.stderr);
    // Another project has no place; nothing half is left of it.
    let other = world.outer().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("x.txt"), "x\n").unwrap();
    let refused = super::come_to(&mut world.command_in(&other, &["init"]));
    assert_eq!(refused.code, 1, "{}", refused.text());
    assert!(refused.stderr.contains("No space left"), "{}", refused.stderr);
    remove(&taken);
    assert_eq!(super::come_to(&mut world.command_in(&other, &["init"])).code, 0);
    assert_eq!(
        super::come_to(&mut world.command_in(&other, &["doctor", "--json"])).json()["objects"],
        1
    );
    world.ok(&["status"]);
    assert_eq!(recorded(&world), ["a.txt", "a.txt"]);
    assert_sound(&world);
}

/// Of a record over its limit the oldest decided work goes; what waits for a decision never does.
#[test]
fn row_52_the_record_exceeds_its_limit() {
    if !has_all(&[MachineRequirement::Program("faketime")]) {
        return;
    }
    let world = World::with(&[("a.txt", "0\n")]);
    let mut noise = vec![0; 100_000];
    for (number, dialog) in (0..).zip(["old", "middle", "waits", "newest"]) {
        world.say(dialog, "go");
        fill_with_noise(&mut noise, number);
        std::fs::write(world.outer().join("noise"), &noise).unwrap();
        world.shell_of(dialog, dialog, &format!("cp ../noise {dialog}.bin"));
        if dialog != "waits" {
            world.ok(&["approve", "--dialog", dialog]);
        }
    }
    let settings = "[retention]\nmax_bytes = 1\n";
    std::fs::write(world.home().join("config.toml"), settings).unwrap();
    let files = disk::read_files(&world.root());
    // What was active within a day stays, whatever it was.
    let collected = under(&["faketime", "-f", "+3d"], &world.command(&["gc"])).output().unwrap();
    assert!(collected.status.success(), "{collected:?}");
    assert_eq!(disk::read_files(&world.root()), files, "it is about the record, not about files");
    let left = recorded(&world);
    assert!(!left.contains(&"old.bin".to_owned()), "{left:?}");
    assert!(left.contains(&"waits.bin".to_owned()), "{left:?}");
    assert_sound(&world);
    let pending = world.change_of("waits.bin");
    world.ok(&["reject", &pending, "--yes"]);
    assert_eq!(world.read("waits.bin"), "(absent)");
    world.ok(&["undo", "--yes"]);
    fill_with_noise(&mut noise, 2);
    assert!(std::fs::read(world.root().join("waits.bin")).unwrap() == noise);
}
