//! Rows 27, 34 and 35: files that change while they are read, and files that are too large to be.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use retake_testkit::machine::{MachineRequirement, has_all};

use super::watched::until;
use super::{check, check_record, files, gaps, is_long, turn};
use crate::support::{Ran, World, ran};

/// Writes to a file without pause for as long as something is done.
fn while_written<T>(file: &File, act: impl FnOnce() -> T) -> T {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in (0..=u8::MAX).cycle() {
                file.write_all_at(&[round], 0).unwrap();
                if over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let _stop = Stop(&over);
        act()
    })
}

#[test]
fn row_27_a_file_that_changes_while_it_is_read() {
    let world = World::with(&[("a.txt", "one\n")]);
    let busy = File::create(world.root().join("busy.bin")).unwrap();
    // Reading this takes much longer than writing a byte of it.
    busy.write_all_at(&vec![b'x'; 8 << 20], 0).unwrap();
    world.write("a.txt", "two\n");
    while_written(&busy, || {
        let unstable = ("busy.bin".to_owned(), "unstable".to_owned());
        until("it is called unstable", || gaps(&world) == [unstable.clone()]);
        let seen = world.ok(&["--no-look", "status"]);
        assert!(seen.contains("changed each time it was read"), "{seen}");
        // The rest is recorded all the same.
        assert_eq!(world.change_of("a.txt").chars().next(), Some('c'));
    });
    // Left alone, it is as good as any other.
    assert_eq!(gaps(&world), []);
    check(&world);
}

/// Runs a command; gives what it came to, and the names of the files that it read from.
fn traced(world: &World, arguments: &[&str]) -> (Ran, String) {
    let trace = world.outer().join("trace");
    let program = world.command(arguments);
    let mut strace = Command::new("strace");
    let calls = "trace=read,pread64,readv,preadv,mmap,sendfile,splice,copy_file_range";
    strace.args(["-f", "-y", "-qq", "-e", calls, "-o"]).arg(&trace);
    strace.arg(program.get_program()).args(program.get_args()).env_clear();
    for (name, value) in program.get_envs() {
        strace.env(name, value.unwrap());
    }
    let done = ran(strace.current_dir(world.root()).output().unwrap());
    let trace = String::from_utf8_lossy(&std::fs::read(&trace).unwrap()).into_owned();
    assert!(trace.contains("read("), "strace saw nothing");
    (done, trace)
}

/// A file of nothing but holes is listed, never read, and never touched by any verb.
fn too_large(size: u64) {
    if !has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let world =
        World::with(&[("a.txt", "one\n"), ("image/b.txt", "b\n"), (".gitignore", "*.img\n")]);
    world.say("d1", "go");
    for name in ["image/huge.bin", "hidden.img"] {
        File::create(world.root().join(name)).unwrap().set_len(size).unwrap();
    }
    world.write("a.txt", "two\n");
    let (status, read) = traced(&world, &["status", "--json"]);
    assert_eq!(status.code, 0);
    assert!(!read.contains("huge.bin") && !read.contains(".img>"), "{read}");
    let listed = ("image/huge.bin".to_owned(), "too_large".to_owned());
    assert_eq!(gaps(&world), [listed]);

    // A command of an agent writes into it, another one removes the hidden one.
    let before = files(&world.root());
    world.shell(
        "k1",
        "echo more >> a.txt; printf x | dd of=image/huge.bin bs=1 seek=9 conv=notrunc status=none",
    );
    world.shell("k2", "rm hidden.img");
    let shielded = ("hidden.img".to_owned(), "not_shielded".to_owned());
    assert!(gaps(&world).contains(&shielded), "{:?}", gaps(&world));
    for verb in [&["undo"][..], &["redo"], &["restore", "--before-message", "1", "--yes"]] {
        let (done, read) = traced(&world, verb);
        assert!(!read.contains("huge.bin"), "{verb:?}: {read}");
        assert!(done.text().contains("Not protected"), "{verb:?}: {}{}", done.text(), done.stderr);
        let now = files(&world.root());
        let huge = |files: &super::Files| files[&b"image/huge.bin"[..]].content.clone();
        assert_eq!(huge(&now), huge(&before), "{verb:?}");
    }
    // A file that grew so large is not replaced by the small one that it was: its bytes are kept
    // nowhere else.
    turn(&world, &format!("truncate -s {size} image/b.txt"));
    let grown = world.run(&["undo"]);
    assert_eq!(grown.code, 3, "{}", grown.text());
    assert_eq!(world.root().join("image/b.txt").metadata().unwrap().len(), size);
    // Gone, it cannot come back, which is said and is no success.
    std::fs::write(world.root().join("a.txt"), "three\n").unwrap();
    turn(&world, "rm image/huge.bin");
    let undone = world.run(&["undo"]);
    assert_eq!(undone.code, 3, "{}", undone.text());
    assert!(undone.text().contains("the earlier content was not captured"), "{}", undone.text());
    assert_eq!(world.read("a.txt"), "three\n");
    check_record(&world);
}

#[test]
fn row_34_a_file_of_five_gibibytes() {
    too_large(5 << 30);
}

#[test]
fn row_35_a_sparse_file_of_a_terabyte() {
    too_large(1 << 40);
}

/// Runs a command that must be done; gives the most memory that it took, in MiB.
fn peak(world: &World, arguments: &[&str]) -> u64 {
    let mut child = world.command(arguments).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    // It only grows, so that the last one that is seen is the largest.
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success(), "{arguments:?}");
    peak / 1024
}

/// With a limit that lets it in, it is streamed: memory stays bounded, and it comes back.
#[test]
fn row_34_a_large_file_is_streamed() {
    let (size, most): (u64, u64) = if is_long() { (5 << 30, 256) } else { (192 << 20, 128) };
    let world = World::with(&[("a.txt", "one\n")]);
    let limit = format!("[limits]\nmax_file_bytes = {size}\n");
    std::fs::write(world.home().join("config.toml"), limit).unwrap();
    let large = File::create(world.root().join("large.bin")).unwrap();
    large.set_len(size).unwrap();
    large.write_all_at(b"in the middle", size / 2).unwrap();
    let taken = peak(&world, &["checkpoint"]);
    assert!((1..most).contains(&taken), "{taken} MiB to take it in");
    turn(&world, "rm large.bin");
    let taken = peak(&world, &["undo"]);
    assert!((1..most).contains(&taken), "{taken} MiB to bring it back");
    let back = File::open(world.root().join("large.bin")).unwrap();
    assert_eq!(back.metadata().unwrap().len(), size);
    let mut middle = [0; 13];
    back.read_exact_at(&mut middle, size / 2).unwrap();
    assert_eq!(&middle, b"in the middle");
    check_record(&world);
}
