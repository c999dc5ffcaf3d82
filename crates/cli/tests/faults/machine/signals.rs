//! Rows 9, 10 and 21: asked to end in the middle of a restore, killed for want of memory, and what
//! such ends leave behind.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use retake_testkit::disk;
use retake_testkit::machine::{MachineRequirement, has_all, report_not_run};
use rustix::process::{Pid, Signal, kill_process};

use super::processes::Daemon;
use super::{assert_sound, leftovers, under, until};
use crate::support::World;

const FILES: usize = 40;

/// A project of which an agent rewrote every file.
fn rewritten(files: usize) -> World {
    let world = World::new();
    for number in 0..files {
        world.write(&format!("d/{number}.txt"), format!("{number}, old\n"));
    }
    world.ok(&["init"]);
    world.say("d1", "go");
    world.shell("k1", "for file in d/*; do echo new > $file; done");
    world
}

/// How many files are wholly as they were before the agent, and after it; there is nothing else.
fn old_and_new(world: &World, files: usize) -> (usize, usize) {
    // Each is read once: they may be put back meanwhile.
    let texts: Vec<_> = (0..files).map(|number| world.read(&format!("d/{number}.txt"))).collect();
    let is_old = |(number, text): &(usize, &String)| **text == format!("{number}, old\n");
    let old = texts.iter().enumerate().filter(is_old).count();
    let new = texts.iter().filter(|text| *text == "new\n").count();
    assert_eq!(old + new, files, "each is wholly one or the other");
    (old, new)
}

/// The same command, which takes a long time for each file that it puts into place.
fn slowed(command: &Command) -> Command {
    let slow = "inject=renameat2:delay_enter=300ms:when=3+";
    let trace = ["-e", "trace=renameat2", "-o", "/dev/null"];
    // With -D it is the program that is our child, and not its observer.
    under(&[&["strace", "-D", "-f", "-qq", "-e", slow][..], &trace].concat(), command)
}

/// A signal from another process comes when the first files are put back and many are not.
#[test]
fn row_9_asked_to_end_in_the_middle_of_a_restore() {
    if !has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    for (how, signal) in [("--resume", Signal::TERM), ("--undo", Signal::INT)] {
        let world = rewritten(FILES);
        let mut undo = slowed(&world.command(&["undo", "--yes"]));
        undo.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut undo = undo.spawn().unwrap();
        until("it is in the middle", || old_and_new(&world, FILES).0 > 0);
        kill_process(Pid::from_child(&undo), signal).unwrap();
        let status = undo.wait().unwrap();
        assert!(!status.success(), "{status:?}");
        let (old, new) = old_and_new(&world, FILES);
        assert!(old > 0 && new > 0, "it was in the middle: {old} old, {new} new");
        let told = world.run(&["status"]);
        assert!(told.text().contains("was interrupted"), "{}", told.text());
        let refused = world.run(&["undo", "--yes", "--json"]);
        assert_eq!(refused.json()["error"]["code"], "unfinished", "it is settled first");
        world.ok(&["recover", how]);
        let expected = if how == "--resume" { (FILES, 0) } else { (0, FILES) };
        assert_eq!(old_and_new(&world, FILES), expected, "{how}");
        assert_eq!(leftovers(&world), [""; 0]);
        assert_sound(&world);
    }
}

/// A daemon finishes what it has begun, and tells it. If it cannot within the few seconds that it
/// gives itself, the caller is told so: then the operation is done in its last moment, or waits
/// for recovery.
#[test]
fn row_9_a_daemon_asked_to_end_in_the_middle_of_a_restore() {
    if !has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let world = rewritten(8);
    let mut daemon = Daemon::by(&world, &mut slowed(&world.command(&["daemon", "run"])));
    let mut undo = world.command(&["undo", "--yes"]);
    let undo = undo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    until("it is in the middle", || old_and_new(&world, 8).0 > 0);
    daemon.signal(Signal::TERM);
    let said = undo.wait_with_output().unwrap();
    assert_eq!(daemon.ended(), Some(0));
    let is_told = said.status.code() != Some(0);
    if is_told && world.run(&["status"]).text().contains("was interrupted") {
        world.ok(&["recover", "--resume"]);
    }
    assert_eq!(old_and_new(&world, 8), (8, 0), "{said:?}");
    assert_eq!(leftovers(&world), [""; 0]);
    assert_sound(&world);
}

/// A cgroup with a memory limit, which kills its processes.
struct Poor(PathBuf);

impl Poor {
    /// None if this machine cannot limit memory.
    fn new(name: &str) -> Option<Self> {
        let memory = Path::new("/sys/fs/cgroup/memory");
        let unified = Path::new("/sys/fs/cgroup");
        let controllers = std::fs::read_to_string(unified.join("cgroup.subtree_control"));
        let parent = match controllers {
            _ if memory.join("memory.limit_in_bytes").exists() => memory,
            Ok(controllers) if controllers.contains("memory") => unified,
            _ => return None,
        };
        let folder = parent.join(format!("retake-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        Some(Self(folder))
    }

    fn limit(&self, bytes: u64) {
        let set = |name: &str, value: &str| {
            let file = self.0.join(name);
            !file.exists() || std::fs::write(file, value).is_ok()
        };
        let bytes = bytes.to_string();
        // In either order, since one may not be below the other.
        let names =
            ["memory.memsw.limit_in_bytes", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
        for name in names {
            set(name, &bytes);
        }
        assert!(set("memory.max", &bytes) && set("memory.swap.max", "0"));
    }

    /// Runs a command in it; whether it was killed.
    fn kills(&self, command: &Command) -> bool {
        let join = "echo $$ > \"$0\"; exec \"$@\"";
        let procs = self.0.join("cgroup.procs");
        let mut command = under(&["sh", "-c", join, procs.to_str().unwrap()], command);
        let output = command.stdin(Stdio::null()).output().unwrap();
        output.status.signal() == Some(9)
    }
}

impl Drop for Poor {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// The kernel kills what records and what restores, with ever more memory until nothing is killed.
#[test]
fn row_10_killed_for_want_of_memory() {
    if !has_all(&[MachineRequirement::Root]) {
        return;
    }
    let Some(poor) = Poor::new("row-10") else {
        return report_not_run("no group of processes can be given a limit of memory");
    };
    let world = rewritten(40);
    world.ok(&["checkpoint", "-m", "acknowledged"]);
    let mut large = vec![0; 1 << 20];
    super::fill_with_noise(&mut large, 10);
    let mut killed = 0;
    for verb in [&["checkpoint", "-m", "large"][..], &["undo", "--yes"]] {
        for number in 0..8 {
            world.write(&format!("large-{number}.bin"), &large);
        }
        let mut room = 1 << 20;
        loop {
            poor.limit(room);
            room += room / 2;
            if !poor.kills(&world.command(verb)) {
                break;
            }
            killed += 1;
            let _ = old_and_new(&world, 40);
            world.run(&["recover", "--undo"]);
            assert_eq!(old_and_new(&world, 40), (0, 40), "{verb:?}");
            assert_eq!(leftovers(&world), [""; 0], "{verb:?}");
            assert_sound(&world);
            assert!(world.ok(&["checkpoints"]).contains("acknowledged"));
        }
    }
    assert!(killed > 1, "only {killed} were killed");
    world.ok(&["undo", "--yes"]);
    assert_sound(&world);
}

/// What a kill leaves behind goes under the lock, and only that: a file that is called like a
/// temporary one is the person's, and what another program wrote into a temporary one is kept.
#[test]
fn row_21_stale_locks_and_temporary_files() {
    let world = rewritten(3);
    world.write("d/.retake-mine.tmp", "the person's own\n");
    world.ok(&["status"]);
    let steps = world.outer().join("counted");
    let twin = rewritten(3);
    let counted = twin.command(&["undo", "--yes"]).env("RETAKE_COUNT_STEPS", &steps).output();
    assert!(counted.unwrap().status.success());
    let steps = std::fs::read_to_string(steps).unwrap();
    let exchanges: Vec<_> =
        steps.lines().filter_map(|line| line.strip_suffix(" exchange")).collect();
    let mut undo = world.command(&["undo", "--yes"]);
    let ended = undo.env("RETAKE_KILL_AT", exchanges[1]).output().unwrap().status;
    assert_eq!(ended.signal(), Some(9));
    assert!(leftovers(&world).len() > 3, "{:?}", leftovers(&world));
    // A program that had the displaced file open goes on writing to it.
    let displaced = leftovers(&world).into_iter().find(|name| world.read(name) == "new\n").unwrap();
    world.write(&displaced, "written in between\n");
    // The killed process's lock blocks no other process, and its files are no changes.
    assert!(world.store().join("lock").exists());
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(status["interrupted"]["state"], "running", "{status:#}");
    world.run(&["recover", "--resume"]);
    assert_eq!(leftovers(&world), ["d/.retake-mine.tmp"]);
    assert_eq!(world.read("d/.retake-mine.tmp"), "the person's own\n");
    let files = disk::read_files(&world.root());
    let is_there = |text: &str| files.values().any(|file| file.content == text.as_bytes());
    let told = world.ok(&["ops", "--json"]) + &world.ok(&["log", "--json"]);
    assert!(is_there("written in between\n") || told.contains("kept as object"), "{told}");
    assert_sound(&world);
}
