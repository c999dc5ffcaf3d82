//! Row 14: the disk refuses to make something durable.
//!
//! The error is the kernel's answer, changed on its way to the program. What such a call did not make
//! durable may be lost although it can still be read, so nothing may build on it.

use std::path::Path;

use retake_testkit::machine::{MachineRequirement, has_all};

use super::{after, assert_sound, before, come_to, hook, hook_by, leftovers, prompt, under};
use crate::support::{Ran, World};

/// The calls that ask for durability.
const SYNCS: &str = "fsync,fdatasync,syncfs";

/// What a command said whose n-th wish for durability was refused, and the file that it was about;
/// none if it had fewer.
fn with_error_at(world: &World, nth: u32, words: &[&str]) -> (Ran, Option<String>) {
    let trace = world.outer().join("trace");
    let ran = come_to(&mut traced(world, nth, words, &trace));
    let file = refused(&trace);
    (ran, file)
}

fn traced(world: &World, nth: u32, words: &[&str], trace: &Path) -> std::process::Command {
    let _ = std::fs::remove_file(trace);
    let inject = format!("inject={SYNCS}:error=EIO:when={nth}");
    let calls = format!("trace={SYNCS}");
    let wrapper =
        ["strace", "-f", "-y", "-qq", "-o", trace.to_str().unwrap(), "-e", &calls, "-e", &inject];
    under(&wrapper, &world.command(words))
}

/// `12 fdatasync(5</…/retake.db-wal>) = -1 EIO (Input/output error) (INJECTED)`.
fn refused(trace: &Path) -> Option<String> {
    let trace = std::fs::read_to_string(trace).unwrap();
    let line = trace.lines().find(|line| line.ends_with("(INJECTED)"))?;
    let path = line.split_once('<')?.1.split_once('>')?.0;
    Some(path.rsplit('/').next()?.to_owned())
}

fn checkpoints(world: &World) -> String {
    world.run(&["checkpoints", "--json", "--no-look"]).text()
}

/// Not acknowledged, so it is not there; and the log of the database, of which part may never have
/// reached the disk, is not built upon.
#[test]
fn row_14_a_checkpoint_whose_sync_fails_did_not_happen() {
    if !has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let world = World::with(&[("a.txt", "one\n")]);
    world.ok(&["checkpoint", "-m", "the first"]);
    let mut refusals = Vec::new();
    for nth in 1.. {
        world.write("a.txt", format!("{nth}\n"));
        let message = format!("number {nth}.");
        let (ran, file) = with_error_at(&world, nth, &["checkpoint", "-m", &message]);
        let Some(file) = file else { break };
        if ran.code == 0 {
            assert!(checkpoints(&world).contains(&message), "{nth} ({file}): acknowledged");
        } else {
            assert_eq!(ran.code, 1, "{nth} ({file}): {}", ran.stderr);
            assert!(!checkpoints(&world).contains(&message), "{nth} ({file}): {}", ran.stderr);
            let log = std::fs::metadata(world.store().join("retake.db-wal")).unwrap();
            assert_eq!(log.len(), 0, "{nth} ({file}): what is not durable is cut off");
        }
        assert!(checkpoints(&world).contains("the first"));
        assert_sound(&world);
        refusals.push((file, ran.code));
        // The next command works, on what is durable.
        world.ok(&["checkpoint", "-m", &format!("after {nth}")]);
    }
    assert!(refusals.contains(&("retake.db-wal".to_owned(), 1)), "{refusals:?}");
}

/// Each file is wholly old or wholly new, and what was done is told.
#[test]
fn row_14_an_undo_whose_sync_fails_is_taken_back_or_told() {
    if !has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let world = World::with(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    world.say("d1", "go");
    world.shell("k1", "echo two > a.txt; echo two > b.txt");
    let mut refusals = 0;
    for nth in 1.. {
        let (ran, file) = with_error_at(&world, nth, &["undo", "--yes"]);
        let now = (world.read("a.txt"), world.read("b.txt"));
        let (old, new) =
            (("two\n".to_owned(), "two\n".to_owned()), ("one\n".into(), "one\n".into()));
        assert!(now == old || now == new, "{nth}: {now:?}: {}", ran.stderr);
        let Some(file) = file else { break };
        refusals += 1;
        let is_interrupted = world.run(&["recover"]).code == 3;
        if is_interrupted {
            world.ok(&["recover", "--undo"]);
        } else if now == new {
            assert_eq!(ran.code, 0, "{nth} ({file}): done and not told: {}", ran.stderr);
            world.ok(&["redo", "--yes"]);
        } else {
            assert_ne!(ran.code, 0, "{nth} ({file}): told and not done: {}", ran.text());
        }
        assert_eq!((world.read("a.txt"), world.read("b.txt")), old, "{nth} ({file})");
        assert_eq!(leftovers(&world), [""; 0], "{nth} ({file})");
        assert_sound(&world);
    }
    assert!(refusals > 3, "only {refusals}");
}

/// The agent goes on; its event is on record or kept, or its loss is said.
#[test]
fn row_14_a_hook_whose_sync_fails_ends_well_and_loses_nothing_in_silence() {
    if !has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let world = World::with(&[("a.txt", "0\n")]);
    let trace = world.outer().join("trace");
    hook(&world, &prompt("go"));
    let mut refusals = Vec::new();
    for nth in 1.. {
        let call = format!("t{nth}");
        hook(&world, &before(&call, "make"));
        world.write("a.txt", format!("{nth}\n"));
        let mut command = traced(&world, nth, &["hook", "claude-code"], &trace);
        let heard = hook_by(&mut command, &world.root(), &after(&call, "make"));
        assert_eq!((heard.code, heard.text().as_str()), (0, ""), "{}", heard.stderr);
        let Some(file) = refused(&trace) else { break };
        world.ok(&["status"]);
        let log = world.run(&["log", "--json"]).json();
        let newest = &log["changes"][0];
        assert_eq!(log["changes"].as_array().unwrap().len(), nth as usize, "{nth} ({file})");
        assert_eq!(newest["actor"], "agent", "{nth} ({file}): {}", heard.stderr);
        assert_sound(&world);
        refusals.push(file);
    }
    assert!(refusals.contains(&"retake.db-wal".to_owned()), "{refusals:?}");
}
