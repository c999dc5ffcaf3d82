//! Rows 30 and 36: what a name can stand for besides a file.

use std::os::unix::net::UnixListener;
use std::process::Command;

use retake_testkit::machine::{MachineRequirement, has_all};

use super::{assert_same, check, check_record, files, gaps, made_by, sh, turn};
use crate::support::{World, ran};

/// How each kind is made at a name that is free.
const KINDS: [(&str, &str); 4] = [
    ("file", "echo file > x"),
    ("folder", "mkdir -p x/sub; echo in > x/in; echo deep > x/sub/deep"),
    ("link", "ln -s elsewhere x"),
    ("nothing", ":"),
];

#[test]
fn row_30_kinds_that_take_each_others_place() {
    for (from, make_old) in KINDS {
        for (to, make_new) in KINDS {
            if from == to {
                continue;
            }
            let world = made_by(&format!("echo a > a; {make_old}"));
            let before = files(&world.root());
            turn(&world, &format!("rm -rf x; {make_new}"));
            let after = files(&world.root());
            for (verb, then) in [("undo", &before), ("redo", &after), ("undo", &before)] {
                world.ok(&[verb]);
                let now = files(&world.root());
                assert_same(&now, then);
                assert_eq!(now[&b"a"[..]], before[&b"a"[..]], "{from} to {to}: not concerned");
            }
            check(&world);
        }
    }
}

#[test]
fn row_30_a_folder_with_files_of_the_person_stays() {
    let world = made_by("echo file > x; ln -s a y");
    turn(&world, "rm x y; mkdir x y; echo in > x/in; echo in > y/in");
    sh(&world, "echo mine > x/mine; mkdir y/mine");
    let undone = world.run(&["undo"]);
    assert_eq!(undone.code, 3, "{}", undone.text());
    assert!(
        undone.text().contains("the folder of x/mine stands in its place"),
        "{}",
        undone.text()
    );
    assert_eq!((world.read("x/mine"), world.read("x/in")), ("mine\n".into(), "in\n".into()));
    assert!(world.root().join("y/mine").is_dir(), "a folder that the person made stays, too");
    check(&world);
    let restored = world.run(&["restore", "--before-message", "1", "--yes", "y"]);
    assert_eq!(restored.code, 3, "{}", restored.text());
    assert!(restored.text().contains("it is a folder, which is never"), "{}", restored.text());
    assert!(world.root().join("y/mine").is_dir() && world.root().join("y/in").exists());
    check(&world);
}

/// Names that a program opened, or tried to.
fn opened(world: &World, arguments: &[&str]) -> (i32, Vec<String>) {
    let trace = world.outer().join("trace");
    let program = world.command(arguments);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=open,openat,openat2", "-o"]).arg(&trace);
    strace.arg(program.get_program()).args(program.get_args()).env_clear();
    for (name, value) in program.get_envs() {
        strace.env(name, value.unwrap());
    }
    let code = ran(strace.current_dir(world.root()).output().unwrap()).code;
    let trace = std::fs::read_to_string(trace).unwrap();
    (code, trace.lines().map(str::to_owned).collect())
}

#[test]
fn row_36_fifos_sockets_and_devices() {
    if !has_all(&[MachineRequirement::Root, MachineRequirement::Program("strace")]) {
        return;
    }
    let world = made_by("echo a > a.txt; echo b > b.txt; mkfifo in.fifo; mknod in.null c 1 3");
    let _socket = UnixListener::bind(world.root().join("in.sock")).unwrap();
    let before = files(&world.root());
    let special = |name: &str| (name.to_owned(), "special".to_owned());
    assert_eq!(gaps(&world), ["in.fifo", "in.null", "in.sock"].map(special));
    // An agent makes one, and puts another in the place of a file.
    turn(&world, "echo more >> a.txt; mkfifo made.fifo; rm b.txt; mkfifo b.txt");
    assert_eq!(gaps(&world), ["b.txt", "in.fifo", "in.null", "in.sock", "made.fifo"].map(special));
    for verb in [&["undo"][..], &["redo"], &["restore", "--before-message", "1", "--yes"]] {
        let (_, opened) = opened(&world, verb);
        let special = ["\"in.", "\"made.", "\"b.txt\"", ".fifo\"", ".null\""];
        let bad = opened.iter().find(|line| special.iter().any(|name| line.contains(name)));
        assert_eq!(bad, None, "{verb:?}");
    }
    let now = files(&world.root());
    assert_eq!(world.read("a.txt"), "a\n");
    for name in ["in.fifo", "in.null", "in.sock"] {
        assert_eq!(now[name.as_bytes()], before[name.as_bytes()], "{name}");
    }
    assert_eq!((now[&b"made.fifo"[..]].kind, now[&b"b.txt"[..]].kind), ('p', 'p'));
    // What stands in a file's place is the person's to remove; then the file comes back.
    let undone = world.run(&["restore", "--before-message", "1", "--yes"]);
    assert_eq!(undone.code, 3, "{}", undone.text());
    sh(&world, "rm b.txt");
    world.ok(&["restore", "--before-message", "1", "--yes"]);
    assert_eq!(world.read("b.txt"), "b\n");
    check_record(&world);
}
