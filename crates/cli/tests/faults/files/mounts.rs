//! Row 41: other file systems inside the project.

use std::path::PathBuf;
use std::process::Command;

use retake_testkit::machine::{MachineRequirement, has_all};

use super::watched::Watched;
use super::{check, check_record, files, gaps, made_by, turn};

/// Something that is mounted for as long as this lives.
struct Mounted(PathBuf);

impl Mounted {
    fn new(at: PathBuf, what: &[&str]) -> Self {
        let done = Command::new("mount").args(what).arg(&at).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self(at)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

/// A daemon does not see that something is mounted; nothing is written there all the same.
#[test]
fn row_41_a_mount_that_comes_under_a_daemon() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let watched = Watched::start(made_by("echo a > a.txt; mkdir disk; echo c > disk/c"));
    let world = &watched.world;
    turn(world, "echo more >> a.txt; echo more >> disk/c; echo new > disk/new");
    let mounted = Mounted::new(world.root().join("disk"), &["-t", "tmpfs", "none"]);
    world.write("disk/c", "of the other disk\n");
    let undone = world.run(&["undo", "--yes"]);
    assert_eq!(undone.code, 3, "{}{}", undone.text(), undone.stderr);
    assert!(undone.text().contains("it is on another mount"), "{}", undone.text());
    assert_eq!(world.read("disk/c"), "of the other disk\n");
    assert_eq!(std::fs::read_dir(world.root().join("disk")).unwrap().count(), 1);
    assert_eq!(world.read("a.txt"), "a\n", "the rest is done");
    drop(mounted);
    // The way out that it named for each file.
    for line in undone.text().lines().filter(|line| line.contains("tries it again")) {
        let command: Vec<_> = line.split('`').nth(1).unwrap().split(' ').skip(1).collect();
        world.ok(&command);
    }
    assert_eq!((world.read("disk/c"), world.read("disk/new")), ("c\n".into(), "(absent)".into()));
    watched.check();
    check_record(world);
}

#[test]
fn row_41_other_mounts_inside() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let world = made_by(
        "echo a > a.txt; mkdir disk bind real; echo c > disk/c; echo b > bind/b; echo r > real/r; echo f > file",
    );
    let at = |name: &str| world.root().join(name);
    let covered = files(&world.root());
    let real = at("real").to_str().unwrap().to_owned();
    let file = at("a.txt").to_str().unwrap().to_owned();
    let mounts = [
        Mounted::new(at("disk"), &["-t", "tmpfs", "none"]),
        Mounted::new(at("bind"), &["--bind", &real]),
        Mounted::new(at("file"), &["--bind", &file]),
    ];
    world.write("disk/c", "of the other disk\n");
    world.write("disk/new", "of the other disk\n");
    let other = |name: &str| (name.to_owned(), "other_mount".to_owned());
    let not_crossed = ["bind", "disk", "file"].map(other);
    assert_eq!(gaps(&world), not_crossed);
    // An agent works on both sides of the border.
    turn(
        &world,
        "echo more >> a.txt; echo x > disk/c; rm disk/new; echo made > disk/made; echo more >> real/r",
    );
    assert_eq!(gaps(&world), not_crossed);
    let log = world.run(&["log", "--json"]).json();
    let mut paths: Vec<_> =
        log["changes"].as_array().unwrap().iter().map(|c| c["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a.txt", "real/r"], "what is covered is neither changed nor gone");
    let undone = world.ok(&["undo"]);
    assert!(undone.contains("Not protected: 3 paths"), "{undone}");
    assert_eq!((world.read("a.txt"), world.read("real/r")), ("a\n".into(), "r\n".into()));
    assert_eq!((world.read("disk/c"), world.read("disk/made")), ("x\n".into(), "made\n".into()));
    world.ok(&["restore", "--before-message", "1", "--yes", "--exact"]);
    assert_eq!(world.read("disk/made"), "made\n");
    check_record(&world);
    drop(mounts);
    // Uncovered, everything is as it was.
    assert_eq!(gaps(&world), []);
    for name in ["disk/c", "bind/b", "file"] {
        assert_eq!(files(&world.root())[name.as_bytes()], covered[name.as_bytes()], "{name}");
    }
    check(&world);
}
