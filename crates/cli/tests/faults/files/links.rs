//! Rows 37, 38 and 39: symbolic links, hard links, and what a file has besides its bytes.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use retake_testkit::machine::{Need, has};
use rustix::fs::XattrFlags;

use super::paused::Paused;
use super::{assert_same, check, files, made_by, sh, turn};

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
    sh(&world, "mkdir ../outside; echo secret > ../outside/secret");
    let outside = world.outer().join("outside");
    let before = (files(&outside), files(&world.root()));
    // Links are kept as links; what they lead to is neither read nor tracked.
    assert_eq!(world.run(&["status", "--json"]).json()["files"], 3);
    // The agent puts folders and files in their place, and the person puts the links back.
    turn(&world, "rm out file; mkdir out; echo x > out/secret; echo y > out/new; echo z > file");
    sh(&world, "rm -r out file; ln -s ../outside out; ln -s ../outside/secret file");
    world.run(&["undo"]);
    world.run(&["redo", "--cascade", "--yes"]);
    world.run(&["restore", "--before-message", "1", "--yes"]);
    assert_eq!(files(&outside), before.0, "nothing came out");
    assert_same(&files(&world.root()), &before.1);
    check(&world);
}

/// The folder becomes a link to somewhere else while the files in it are being put back.
#[test]
fn row_38_a_link_that_comes_while_files_are_written() {
    if !has(&[Need::Program("strace")]) {
        return;
    }
    let world = made_by("mkdir src; for f in a b c; do echo $f > src/$f; done");
    turn(&world, "for f in a b c; do echo agent >> src/$f; done");
    sh(&world, "mkdir ../outside; for f in a b c d; do echo outside > ../outside/$f; done");
    let outside = world.outer().join("outside");
    let before = files(&outside);
    // Files are put into place by exchanging names: right after the first one it stands still.
    let is_first_there =
        || ["a", "b", "c"].iter().any(|f| world.read(&format!("src/{f}")).len() == 2);
    let paused = Paused::after(&world, &["undo"], "renameat2", is_first_there);
    std::fs::rename(world.root().join("src"), world.root().join("aside")).unwrap();
    symlink(&outside, world.root().join("src")).unwrap();
    let undone = paused.go_on();
    assert_eq!(files(&outside), before, "nothing came out: {}{}", undone.text(), undone.stderr);
    assert_eq!(undone.code, 3, "{}{}", undone.text(), undone.stderr);
    // What was displaced is where it says, since it could not go back to its place.
    let (_, place) = undone.text().split_once("and is kept as ").map(own).unwrap();
    sh(&world, "rm src; mv aside src");
    assert!(world.read(place.lines().next().unwrap()).ends_with("\nagent\n"));
    // The person took the link away: it can be tried again, and what lies about be removed.
    sh(&world, "rm src/.retake-*");
    world.ok(&["restore", "--before-message", "1", "--yes"]);
    for file in ["a", "b", "c"] {
        assert_eq!(world.read(&format!("src/{file}")), format!("{file}\n"));
    }
    check(&world);
}

fn own((one, other): (&str, &str)) -> (String, String) {
    (one.to_owned(), other.to_owned())
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
