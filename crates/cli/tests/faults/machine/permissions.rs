//! Rows 16, 17 and 51: what may not be read or written, and disks that are not to be trusted.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

use retake_testkit::disk;
use retake_testkit::machine::{MachineRequirement, has_all};
use serde_json::json;

use super::{Mount, after, assert_sound, before, come_to, done, hook, hook_by, recorded, under};
use crate::support::{Ran, World};

const NOBODY: u32 = 65534;
const AS_NOBODY: [&str; 6] = ["setpriv", "--clear-groups", "--reuid", "65534", "--regid", "65534"];

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Gives a folder and all that is in it to the person who may do nothing special.
fn give_away(folder: &Path) {
    done(Command::new("chown").args(["-R", "65534:65534"]).arg(folder));
}

/// What holds while the store can be read and not written.
fn assert_claims_nothing(world: &World, run: &dyn Fn(&[&str]) -> Ran) {
    let files = disk::read_files(&world.root());
    for command in [&["init"][..], &["checkpoint", "-m", "x"], &["undo", "--yes"], &["gc"]] {
        let refused = run(command);
        assert_eq!(refused.code, 1, "{command:?}: {} {}", refused.text(), refused.stderr);
        assert!(!refused.stderr.is_empty(), "{command:?}");
        assert!(!refused.text().contains("protected"), "{command:?}: {}", refused.text());
    }
    let status = run(&["status"]);
    assert!(status.stderr.contains("could not be scanned"), "{}", status.stderr);
    // What is on record can be read all the same.
    assert!(run(&["log", "--files"]).text().contains("a.txt"));
    assert_eq!(disk::read_files(&world.root()), files);
}

fn world_with_a_turn() -> World {
    let world = World::with(&[("a.txt", "one\n")]);
    world.say("s1", "go");
    world.shell_of("s1", "k1", "echo two > a.txt");
    world
}

/// The file system is read only, as after an error of the disk.
#[test]
fn row_16_the_store_is_on_a_read_only_file_system() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let world = world_with_a_turn();
    let mount = Mount::read_only(&world.home());
    assert_claims_nothing(&world, &|words| world.run(words));
    let heard = hook(&world, &before("t1", "make"));
    assert_eq!((heard.code, heard.text().as_str()), (0, ""), "{}", heard.stderr);
    assert!(heard.stderr.contains("lost"), "{}", heard.stderr);
    world.write("a.txt", "three\n");
    hook(&world, &after("t1", "make"));
    drop(mount);
    world.ok(&["status"]);
    assert_eq!(recorded(&world), ["a.txt", "a.txt"]);
    assert_sound(&world);
}

/// The store is another user's: nothing of it can be written, or not even read.
#[test]
fn row_16_the_store_belongs_to_somebody_else() {
    if !has_all(&[MachineRequirement::Root, MachineRequirement::Program("setpriv")]) {
        return;
    }
    let world = world_with_a_turn();
    give_away(&world.root());
    give_away(&world.outer().join("person"));
    chown(world.outer(), Some(NOBODY), Some(NOBODY)).unwrap();
    done(Command::new("chmod").args(["-R", "a+rX"]).arg(world.home()));
    let run = |words: &[&str]| come_to(&mut under(&AS_NOBODY, &world.command(words)));
    assert_claims_nothing(&world, &run);
    let hears = || {
        let mut command = under(&AS_NOBODY, &world.command(&["hook", "claude-code"]));
        let heard = hook_by(&mut command, &world.root(), &before("t1", "make"));
        assert_eq!((heard.code, heard.text().as_str()), (0, ""), "{}", heard.stderr);
        assert!(
            heard.stderr.contains("recorded") || heard.stderr.contains("lost"),
            "{}",
            heard.stderr
        );
    };
    hears();
    let pointers = || {
        let all = std::fs::read_dir(world.home().join("roots")).unwrap();
        all.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect::<Vec<_>>()
    };
    let known = pointers();
    // What cannot be read is not "no project": no other one is made in its place.
    for hidden in [world.store(), world.home().join("roots"), world.home()] {
        set_mode(&hidden, 0o700);
        hears();
        for command in [&["status"][..], &["init"], &["checkpoint"]] {
            let refused = run(command);
            assert_eq!(refused.code, 1, "{hidden:?} {command:?}: {}", refused.text());
            assert!(
                refused.stderr.contains("ermission denied"),
                "{hidden:?} {command:?}: {}",
                refused.stderr
            );
        }
    }
    assert_eq!(pointers(), known);
    set_mode(&world.root().join("a.txt"), 0o644);
    assert_eq!(recorded(&world), ["a.txt"]);
    assert_sound(&world);
}

/// A home that is the person's own but for one folder that they cannot read: that is said, and
/// the record is not forgotten.
#[test]
fn row_16_an_unreadable_record_is_not_a_missing_one() {
    if !has_all(&[MachineRequirement::Root, MachineRequirement::Program("setpriv")]) {
        return;
    }
    let world = world_with_a_turn();
    for folder in [world.root(), world.home(), world.outer().join("person")] {
        give_away(&folder);
    }
    chown(world.outer(), Some(NOBODY), Some(NOBODY)).unwrap();
    let store = world.store();
    let run = |words: &[&str]| come_to(&mut under(&AS_NOBODY, &world.command(words)));
    for (path, mode) in [(store.clone(), 0o700), (store.join("project.json"), 0o600)] {
        set_mode(&path, 0);
        let refused = run(&["init"]);
        assert_eq!(refused.code, 1, "{}", refused.text());
        let mut command = under(&AS_NOBODY, &world.command(&["hook", "claude-code"]));
        let heard = hook_by(&mut command, &world.root(), &before("t1", "make"));
        assert_eq!(heard.code, 0);
        assert!(heard.stderr.contains("ermission denied"), "{}", heard.stderr);
        set_mode(&path, mode);
        let projects = std::fs::read_dir(world.home().join("projects")).unwrap();
        assert_eq!(projects.count(), 1, "no second record was begun");
        assert!(run(&["log", "--files"]).text().contains("a.txt"));
    }
}

/// Two files of a turn, one of which cannot be changed: it is named beforehand and left, the other
/// one goes back, and the result says that it is not all.
#[test]
fn row_17_an_immutable_file_in_the_project() {
    if !has_all(&[
        MachineRequirement::Root,
        MachineRequirement::Program("mkfs.ext4"),
        MachineRequirement::Program("chattr"),
    ]) {
        return;
    }
    let world = World::new();
    let _mount = Mount::ext4(&world.root(), &world.outer().join("image"), 8);
    world.write("fixed.txt", "one\n");
    world.write("free.txt", "one\n");
    world.ok(&["init"]);
    world.say("d1", "go");
    world.shell("k1", "echo two > fixed.txt; echo two > free.txt");
    let fixed = world.root().join("fixed.txt");
    let attribute = |flag: &str| done(Command::new("chattr").arg(flag).arg(&fixed));
    attribute("+i");
    let dry = world.run(&["undo", "--dry-run", "--json"]);
    let told = dry.text();
    assert!(told.contains("not_writable"), "it is known beforehand: {told}");
    let asked = world.run(&["undo"]);
    assert_eq!(asked.code, 3, "{}", asked.text());
    assert!(asked.stderr.contains("needs your confirmation"), "{}", asked.stderr);
    assert_eq!(world.read("free.txt"), "two\n", "nothing without a yes");
    let part = world.run(&["undo", "--yes"]);
    let said = part.text() + &part.stderr;
    assert_eq!(part.code, 3, "{said}");
    assert!(said.contains("cannot write 'fixed.txt'"), "{said}");
    assert_eq!((world.read("fixed.txt"), world.read("free.txt")), ("two\n".into(), "one\n".into()));
    assert_eq!(super::leftovers(&world), [""; 0]);
    attribute("-i");
    world.ok(&["rollback", "--file", "fixed.txt", "--yes"]);
    assert_eq!((world.read("fixed.txt"), world.read("free.txt")), ("one\n".into(), "one\n".into()));
    assert_sound(&world);
}

/// The same with a whole project that is read only, and with a folder that the person may not
/// write to: refused or left, never in half.
#[test]
fn row_17_a_read_only_project() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let world = world_with_a_turn();
    let mount = Mount::read_only(&world.root());
    let part = world.run(&["undo", "--yes"]);
    let said = part.text() + &part.stderr;
    assert_eq!(part.code, 3, "{said}");
    assert!(said.contains("ead-only file system"), "{said}");
    assert_eq!(world.read("a.txt"), "two\n");
    drop(mount);
    world.ok(&["undo", "--yes"]);
    assert_eq!(world.read("a.txt"), "one\n");
}

/// There is no network file system here: the kernel's answer to "what is this?" is changed on its
/// way to the program.
#[test]
fn row_51_the_store_lies_on_a_network_file_system() {
    if !has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let world = world_with_a_turn();
    let before = disk::read_files(&world.home());
    for (magic, kind) in
        [("6969000000000000", "NFS"), ("424d53ff00000000", "CIFS"), ("424d53fe00000000", "SMB2")]
    {
        let poke = format!("inject=statfs:poke_exit=@arg2={magic}");
        let trace = world.outer().join("trace");
        let wrapper = [
            "strace",
            "-f",
            "-qq",
            "-o",
            trace.to_str().unwrap(),
            "-e",
            "trace=statfs",
            "-e",
            &poke,
        ];
        let run = |words: &[&str]| come_to(&mut under(&wrapper, &world.command(words)));
        for words in [
            &["init", "--json"][..],
            &["status", "--json"],
            &["checkpoint", "--json"],
            &["undo", "--yes", "--json"],
        ] {
            let refused = run(words);
            let error = refused.json()["error"].clone();
            assert_eq!(
                (refused.code, &error["code"]),
                (1, &json!("network_file_system")),
                "{words:?}"
            );
            assert!(error["message"].as_str().unwrap().contains(kind), "{error}");
        }
        let mut command = under(&wrapper, &world.command(&["hook", "claude-code"]));
        let heard = hook_by(&mut command, &world.root(), &super::prompt("go"));
        assert_eq!(heard.code, 0);
        assert!(heard.stderr.contains(kind), "{}", heard.stderr);
    }
    let (mut before, mut after) = (before, disk::read_files(&world.home()));
    // Nothing but what the hooks were told, which waits.
    for files in [&mut before, &mut after] {
        files.retain(|name, _| !name.ends_with("spool.jsonl") && !name.ends_with("lock"));
    }
    assert_eq!(after, before, "nothing of the store was touched");
    world.ok(&["status"]);
    let dialogs = world.run(&["dialogs", "--json"]).json();
    assert_eq!(
        dialogs["dialogs"][0]["turns"], 4,
        "on a disk of its own it goes on, with all of it"
    );
}
