//! Rows 37, 38 and 39: symbolic links, hard links, and what a file has besides its bytes.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use retake_testkit::machine::{MachineRequirement, has_all};
use rustix::fs::XattrFlags;

use super::paused::Paused;
use super::{assert_same, check, files, made_by, sh, turn};
use crate::support::{Ran, World};

#[test]
fn row_37_loops_of_links() {
    let world = made_by(
        "echo a > a; ln -s self self; ln -s two one; ln -s one two; mkdir d; ln -s ../d d/d; ln -s . d/dot",
    );
    let before = files(&world.root());
    assert_eq!(world.run(&["status", "--json"]).json()["files"], 6);
    turn(&world, "rm self one two d/d; rm -r d; mkdir one; echo x > one/x; ln -s one self");
    world.ok(&["undo"]);
    assert_same(&files(&world.root()), &before);
    check(&world);
    world.ok(&["redo"]);
    world.ok(&["restore", "--before-message", "1", "--yes"]);
    assert_same(&files(&world.root()), &before);
    check(&world);
}

#[test]
fn row_38_links_out_of_the_project() {
    let world = made_by("echo a > a; ln -s ../outside out; ln -s ../outside/secret file");
    sh(
        &world,
        "mkdir -p ../outside/deep; echo secret | tee ../outside/secret ../outside/deep/secret",
    );
    let outside = world.outer().join("outside");
    let before = (files(&outside), files(&world.root()));
    // Links are kept as links; what they lead to is neither read nor tracked.
    assert_eq!(world.run(&["status", "--json"]).json()["files"], 3);
    // The agent puts folders and files in their place, and the person puts the links back.
    let places =
        "mkdir -p out/deep; echo x | tee out/secret out/deep/secret out/deep/new; echo z > file";
    turn(&world, &format!("rm out file; {places}"));
    sh(&world, "rm -r out file; ln -s ../outside out; ln -s ../outside/secret file");
    world.run(&["undo"]);
    world.run(&["redo", "--cascade", "--yes"]);
    world.run(&["restore", "--before-message", "1", "--yes"]);
    assert_eq!(files(&outside), before.0, "nothing came out");
    assert_same(&files(&world.root()), &before.1);
    check(&world);
}

/// An undo of what an agent did to `src`, which becomes a link to elsewhere right after the first
/// file was put into place.
fn undone_while_a_link_comes(agent: &str) -> (World, Ran) {
    let world = made_by("mkdir -p src/in; for f in a b c; do echo $f > src/in/$f; done");
    turn(&world, agent);
    sh(&world, "mkdir -p ../outside/in; echo outside > ../outside/in/d");
    let outside = world.outer().join("outside");
    let before = files(&outside);
    let is_back = |file: &&str| world.read(&format!("src/in/{file}")) == format!("{file}\n");
    let is_first_back = || ["a", "b", "c"].iter().any(is_back);
    let paused = Paused::after(&world, &["undo"], ("renameat2", 1), is_first_back);
    std::fs::rename(world.root().join("src"), world.root().join("aside")).unwrap();
    symlink("../outside", world.root().join("src")).unwrap();
    let undone = paused.go_on();
    assert_eq!(files(&outside), before, "nothing came out: {}{}", undone.text(), undone.stderr);
    assert_eq!(undone.code, 3, "{}{}", undone.text(), undone.stderr);
    let why = "the symbolic link 'src' is on the way";
    assert!(undone.text().contains(why), "{}{}", undone.text(), undone.stderr);
    // The person takes the link away again.
    sh(&world, "rm src; mv aside src");
    (world, undone)
}

/// What was left can be tried again.
fn finish(world: &World) {
    world.ok(&["restore", "--before-message", "1", "--yes"]);
    for file in ["a", "b", "c"] {
        assert_eq!(world.read(&format!("src/in/{file}")), format!("{file}\n"));
    }
    check(world);
}

#[test]
fn row_38_a_link_that_comes_while_files_are_replaced() {
    if !has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let agent = "for f in a b c; do echo agent >> src/in/$f; done";
    let (world, undone) = undone_while_a_link_comes(agent);
    // What was displaced is where it says, since it could not go back to its place.
    let text = undone.text();
    let place = text.split_once("and is kept as ").unwrap().1.lines().next().unwrap();
    assert!(world.read(place).ends_with("\nagent\n"), "{text}");
    sh(&world, "rm src/in/.retake-*");
    finish(&world);
}

#[test]
fn row_38_a_link_that_comes_while_files_are_made() {
    if !has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let (world, _) = undone_while_a_link_comes("rm -r src");
    finish(&world);
}

#[test]
fn row_39_modes_are_kept() {
    let world = made_by(
        "for mode in 600 640 644 755 711 400 4755; do echo $mode > $mode; chmod $mode $mode; done",
    );
    let before = files(&world.root());
    turn(&world, "for f in *; do chmod 666 $f; echo more >> $f; done; rm 755; chmod 777 711");
    world.ok(&["undo"]);
    assert_same(&files(&world.root()), &before);
    let mode = world.root().join("4755").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o4755);
    check(&world);
}

#[test]
fn row_39_hard_links_and_attributes_are_warned_of() {
    let world = made_by("echo a > a.txt; ln a.txt ../other-name; echo b > b.txt; echo c > c.txt");
    let tagged = world.root().join("b.txt");
    rustix::fs::setxattr(&tagged, "user.tag", b"value", XattrFlags::empty()).unwrap();
    turn(&world, "for f in a b c; do echo more >> $f.txt; done");
    let warnings = |arguments: &[&str]| {
        let document = world.run(&[arguments, &["--json"]].concat()).json();
        let files = document["files"].as_array().unwrap().clone();
        files
            .iter()
            .map(|file| file["warning"].as_str().unwrap_or("").to_owned())
            .collect::<Vec<_>>()
    };
    let linked = "its other hard link keeps the old content";
    let attributed = "its extended attributes are lost: user.tag";
    // Before it is done, and when it is done.
    assert_eq!(warnings(&["undo", "--dry-run"]), [linked, attributed, ""]);
    let undone = world.ok(&["undo"]);
    assert!(undone.contains(linked) && undone.contains(attributed), "{undone}");
    assert_eq!(world.read("a.txt"), "a\n");
    let other = std::fs::read_to_string(world.outer().join("other-name")).unwrap();
    assert_eq!(other, "a\nmore\n", "the other name keeps what it had");
    assert_eq!(world.root().join("a.txt").metadata().unwrap().nlink(), 1);
    check(&world);
    // A change of the mode alone leaves the very file.
    let moded = world.root().join("c.txt");
    rustix::fs::setxattr(&moded, "user.tag", b"value", XattrFlags::empty()).unwrap();
    turn(&world, "chmod 755 c.txt");
    assert_eq!(warnings(&["undo"]), [""]);
    let mut value = [0; 5];
    rustix::fs::getxattr(&moded, "user.tag", &mut value).unwrap();
    assert_eq!(&value, b"value");
    check(&world);
}
