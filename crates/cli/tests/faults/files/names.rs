//! Rows 31, 32 and 33: names that are nearly the same, that are no text, and that are too long.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::{assert_same, check, check_record, files, gaps, made_by, turn};
use crate::support::World;

#[test]
fn row_31_names_that_differ_in_case() {
    let world = made_by("echo one > readme; echo K > Kelvin; printf 'e\\n' > 'caf\\303\\251'");
    let before = files(&world.root());
    turn(
        &world,
        "mv readme README; echo two > readme; mv Kelvin kelvin; mkdir Kelvin; echo k > Kelvin/k",
    );
    let after = files(&world.root());
    assert!(after.contains_key(&b"README"[..]) && after.contains_key(&b"readme"[..]));
    world.ok(&["undo"]);
    assert_same(&files(&world.root()), &before);
    check(&world);
    world.ok(&["redo"]);
    assert_same(&files(&world.root()), &after);
    check(&world);
    // A plain rename is one change, and goes back as one.
    world.ok(&["undo"]);
    turn(&world, "mv readme Readme");
    let log = world.run(&["log", "--json", "-n", "1"]).json();
    assert_eq!(
        (&log["changes"][0]["change_type"], &log["changes"][0]["path"]),
        (&"rename".into(), &"Readme".into())
    );
    world.ok(&["undo"]);
    assert_same(&files(&world.root()), &before);
    check(&world);
}

const NAMES: [&[u8]; 20] = [
    b"bad-\xff\xfe\x80",
    b"\xc3\x28",
    b"new\nline",
    b"\n",
    b"car\rriage",
    b"esc\x1b[2J\x1b]0;owned\x07",
    b"tab\there",
    b"\x01\x7f",
    b" lead",
    b"trail ",
    b"-rf",
    b"q\"uo'te`",
    b"back\\slash",
    "\u{fc}".as_bytes(),
    "u\u{308}".as_bytes(),
    "\u{202e}txt.c".as_bytes(),
    b"*?[x]{y}",
    b"#hash",
    b"!bang",
    b"$HOME:~",
];

/// A file of each name in a folder of that name, written by a person.
fn write_all(world: &World, text: &str) {
    for name in NAMES {
        let folder = world.root().join(OsStr::from_bytes(&[b"in ", name].concat()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(OsStr::from_bytes(name)), text).unwrap();
    }
}

#[test]
fn row_32_names_that_are_no_text() {
    let world = World::new();
    write_all(&world, "one\n");
    world.ok(&["init"]);
    check(&world);
    let before = files(&world.root());
    let all = r#"find . -type f -exec sh -c 'echo more >> "$1"' sh {} \;"#;
    turn(&world, &format!("{all}; cp -r . ../copy; rm -r ./in*; mv ../copy made"));
    let after = files(&world.root());
    assert_eq!(after.len(), NAMES.len());
    check(&world);
    for (verb, then) in [("undo", &before), ("redo", &after), ("undo", &before)] {
        world.ok(&[verb]);
        assert_same(&files(&world.root()), then);
        check(&world);
    }
    // By name, too, as far as a shell can write it.
    write_all(&world, "two\n");
    world.ok(&["checkpoint"]);
    let checkpoint = super::newest_checkpoint(&world);
    write_all(&world, "three\n");
    for name in NAMES {
        let path =
            Path::new(OsStr::from_bytes(&[b"in ", name].concat())).join(OsStr::from_bytes(name));
        let mut restore = world.command(&["restore", &checkpoint, "--yes", "--"]);
        let done = crate::support::ran(restore.arg(&path).output().unwrap());
        assert_eq!(done.code, 0, "{path:?}: {}{}", done.text(), done.stderr);
        assert_eq!(std::fs::read(world.root().join(&path)).unwrap(), b"two\n", "{path:?}");
    }
    check(&world);
}

/// Folders in each other until the path has this many bytes; a file at the bottom.
fn dig(root: &Path, name: &str, length: usize) {
    let folder = |at: &std::os::fd::OwnedFd, name: &str| {
        // One step at a time: the whole path is too long for the system.
        let _ = rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o755));
        rustix::fs::openat(at, name, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap()
    };
    let mut at = rustix::fs::open(root, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
    at = folder(&at, name);
    let mut dug = name.len();
    while dug + 202 < length {
        at = folder(&at, &"x".repeat(200));
        dug += 201;
    }
    let rest = "f".repeat(length - dug - 1);
    let flags = OFlags::CREATE | OFlags::WRONLY;
    let file = rustix::fs::openat(&at, rest, flags, Mode::from_raw_mode(0o644)).unwrap();
    std::io::Write::write_all(&mut std::fs::File::from(file), b"deep\n").unwrap();
}

#[test]
fn row_33_names_and_paths_at_the_limit() {
    let longest = "n".repeat(255);
    let world = made_by(&format!(
        "echo a > a.txt; echo long > {longest}; mkdir d; echo long > d/{longest}"
    ));
    // Within a path of 4,095 bytes from the root, and beyond it.
    dig(&world.root(), "just", 4000);
    dig(&world.root(), "over", 4200);
    world.ok(&["status"]);
    let log = world.run(&["status", "--json"]).json();
    assert_eq!(log["files"], 4, "all but what is too deep");
    let told = gaps(&world);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].0.starts_with("over/") && told[0].1 == "name_too_long", "{told:?}");
    let before = files(&world.root());
    turn(
        &world,
        &format!(
            "echo more >> a.txt; echo more >> {longest}; rm d/{longest}; find just -type f -execdir sh -c 'echo more >> \"$1\"' sh {{}} ';'"
        ),
    );
    let changed = world.run(&["log", "--json", "-n", "9"]).json();
    assert_eq!(
        changed["changes"].as_array().unwrap().iter().filter(|c| c["actor"] == "agent").count(),
        4
    );
    let undone = world.run(&["undo"]);
    assert!([0, 3].contains(&undone.code), "{}", undone.stderr);
    let now = files(&world.root());
    for name in ["a.txt", &longest, &format!("d/{longest}")] {
        assert!(
            now[name.as_bytes()].is_same(&before[name.as_bytes()]),
            "{name}: {}",
            undone.text()
        );
    }
    // As deep as that it is either back, or named as left.
    let text = undone.text();
    let deep = std::process::Command::new("sh")
        .args(["-c", "find just -type f -execdir cat {} ';'"])
        .current_dir(world.root())
        .output()
        .unwrap();
    let is_back = deep.stdout == b"deep\n";
    assert_eq!(is_back, undone.code == 0, "{text}");
    check_record(&world);
}
