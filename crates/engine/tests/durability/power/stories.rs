//! The stories that are cut off.

use std::path::Path;
use std::time::Duration;

use retake_engine::model::ObjectId;
use retake_engine::{GoToOptions, PurgeTarget, Selection, TakeBackOptions};
use retake_store::RetentionLimits;
use retake_testkit::lossy_fs::{self, LossModel, LossyFs};
use retake_testkit::machine::{self, MachineRequirement};
use retake_testkit::{TestProject, child, git};

use super::rig::{Rig, Roles, Strides, is_child, is_long};
use super::teller::Teller;
use super::told::{Told, id, tell};

const DAY: i64 = 24 * 60 * 60 * 1000;
/// Later than anything that a story does.
const FAR: i64 = 1_700_000_000_000 + 400 * DAY;
const EVERY: Strides = Strides { unsynced: 1, bytes: 1, chance: (1, 4), live: 1 };

/// Does a child's part, or cuts the story off as the parent.
fn play(prepare: fn(&TestProject), story: fn(&Teller), quick: Strides) {
    if !is_child(Roles { prepare, story })
        && machine::has_all(&[MachineRequirement::Root, MachineRequirement::Fuse])
    {
        Rig::new().sweep(if is_long() { EVERY } else { quick });
    }
}

/// Text that cannot be compressed to nothing.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes.into_iter().map(|byte| b'a' + byte % 26).collect()
}

fn call(id: &str) -> Selection {
    Selection { call: Some(id.into()), ..Selection::default() }
}

/// The person's settings let a story be short: nobody waits for the lock, little is kept.
const SETTINGS: &str = "[wait]\nevent_ms = 1\n[retention]\nmax_dialogs = 1\nprotect_days = 0\n";

fn few_files(test: &TestProject) {
    std::fs::create_dir(test.home()).unwrap();
    std::fs::write(test.home().join("config.toml"), SETTINGS).unwrap();
    for n in 0..4 {
        test.write(&format!("f{n}.txt"), format!("original {n}\n"));
    }
}

/// Events of every kind: edits of all sizes, messages, checkpoints, the spool, approval.
#[test]
fn records() {
    let quick = Strides { unsynced: 1, bytes: 6, chance: (4, 2), live: 9 };
    play(few_files, tell_records, quick);
}

fn tell_records(teller: &Teller) {
    teller.init();
    teller.say("d1", "first");
    teller.write("d1", "w1", "f0.txt", b"by an agent\n");
    teller.write("d1", "w2", "new/deep/file.txt", &noise(1, 5_000));
    // Above 256 KiB a content is kept in chunks.
    teller.write("d1", "w3", "big.txt", &noise(2, 400_000));
    let mut changed = noise(2, 400_000);
    changed.splice(200_000..200_010, *b"in between");
    teller.write("d1", "w4", "big.txt", &changed);
    teller.checkpoint("by hand");
    teller.by_hand("f1.txt", b"by hand\n");
    teller.spool("d1", &["spooled 1", "spooled 2"]);
    teller.spool("d1", &["spooled 3"]);
    teller.shell("d1", "s6", "rm f2.txt; mv f3.txt moved.txt; chmod 755 f1.txt");
    teller.end_turn("d1");
    teller.approve("d1");
    teller.say("d2", "second");
    teller.write("d2", "w7", "f0.txt", b"by another\n");
}

/// Above 8 MiB a content is committed ahead of its record. Only in a long run.
#[test]
fn large() {
    if child::role().is_some() || is_long() {
        play(few_files, tell_large, EVERY);
    }
}

fn tell_large(teller: &Teller) {
    teller.init();
    teller.write("d1", "w1", "large.txt", &noise(3, 9 << 20));
    teller.checkpoint("with it");
    teller.write("d1", "w2", "large.txt", &noise(4, 9 << 20));
}

/// Everything that a verb can have to do, in more files and folders than are synced one by one
/// where there is a better way.
fn many_kinds(test: &TestProject) {
    for n in 0..6 {
        test.write(&format!("d{n}/f.txt"), format!("1\n2\n3 of {n}\n4\n5\n6\n7\n"));
    }
    test.write("gone.txt", "gone\n");
    test.write("old/name.txt", "some longer text\nthat moves\n");
    test.write("run.sh", "echo\n");
    test.write("turns", "a file\n");
    test.shell("ln -s gone.txt link");
    test.init();
}

#[test]
fn verbs() {
    let quick = Strides { unsynced: 1, bytes: 7, chance: (4, 1), live: 13 };
    play(many_kinds, tell_verbs, quick);
}

fn tell_verbs(teller: &Teller) {
    tell(&Told::Init);
    teller.say("d", "go");
    let point = teller.checkpoint("before");
    for n in 0..6 {
        let text = format!("1\ntwo\n3 of {n}\n4\n5\n6\n7\n");
        teller.write("d", &format!("w{n}"), &format!("d{n}/f.txt"), text.as_bytes());
    }
    teller.write("d", "w6", "made/deep/new.txt", b"new\n");
    teller.shell("d", "s1", "rm gone.txt && chmod 755 run.sh && ln -sfn run.sh link");
    teller.shell("d", "s2", "mv old/name.txt name.txt");
    teller.shell("d", "s3", "rm turns && mkdir turns && echo in > turns/in");
    teller.end_turn("d");
    teller.by_hand("d0/f.txt", b"1\ntwo\n3 of 0\n4\n5\n6\nseven\n");
    let options = TakeBackOptions::default;
    teller.verb("rollback", |project, at| project.plan_rollback(&call("s1"), options(), at));
    teller.verb("reject", |project, at| project.plan_reject(&call("w6"), options(), at));
    teller.verb("undo", |project, at| Ok(project.plan_undo(options(), at)?.0));
    teller.verb("redo", |project, at| Ok(project.plan_redo(options(), at)?.0));
    teller.verb("restore", |project, at| restore(project, &point, at));
    teller.verb("undo of the restore", |project, at| Ok(project.plan_undo(options(), at)?.0));
    teller.verb("reset", |project, at| project.plan_reset(&"d".into(), false, options(), at));
}

fn restore(
    project: &retake_engine::Project,
    point: &ObjectId,
    at: i64,
) -> Result<retake_engine::Plan, retake_engine::OperationError> {
    let checkpoint = project.find_checkpoint(&point.to_string())?;
    let options = GoToOptions { exact: true, ..GoToOptions::default() };
    project.plan_restore(&checkpoint, &options, at)
}

/// Removing what is old and what is secret takes nothing else along.
#[test]
fn upkeep() {
    let quick = Strides { unsynced: 1, bytes: 6, chance: (4, 2), live: 9 };
    play(few_recorded_files, tell_upkeep, quick);
}

fn few_recorded_files(test: &TestProject) {
    few_files(test);
    test.init();
}

fn tell_upkeep(teller: &Teller) {
    tell(&Told::Init);
    for (seed, dialog) in ["d1", "d2"].into_iter().enumerate() {
        teller.say(dialog, &format!("work in {dialog}"));
        teller.write(dialog, &format!("{dialog}-a"), "f0.txt", format!("by {dialog}\n").as_bytes());
        teller.write(dialog, &format!("{dialog}-b"), "big.txt", &noise(seed as u64, 300_000));
        teller.approve(dialog);
    }
    teller.say("d3", "stays");
    let secret = noise(9, 280_000);
    teller.write("d3", "d3-a", "secret.txt", &secret);
    teller.write("d3", "d3-b", "f1.txt", b"stays\n");
    tell(&Told::ReleaseDialogs(vec!["d1".to_owned(), "d2".to_owned()]));
    assert!(teller.project().collect_garbage(FAR, &mut |_, _| {}).unwrap().complete);
    teller.write("d3", "d3-c", "f1.txt", b"recorded after a collection\n");
    tell(&Told::ReleasePath("secret.txt".to_owned()));
    let target = PurgeTarget::Path("secret.txt".parse().unwrap());
    let purge = teller.project().purge(&target, teller.test.tick()).unwrap();
    assert!(purge.is_complete);
    tell(&Told::Purged(id(&secret)));
    teller.write("d3", "d3-d", "f1.txt", b"recorded after a purge\n");
}

/// Just enough to be many.
const MANY: usize = 400;

fn write_many(test: &TestProject) {
    for number in 0..MANY {
        let lines = format!("{number}\n").repeat(number % 40 + 1);
        test.write(&format!("d{}/f{number}.txt", number % 9), lines);
    }
}

/// A first look at so many files that they go into a pack.
#[test]
fn own_pack() {
    let quick = Strides { unsynced: 1, bytes: 7, chance: (5, 1), live: 9 };
    play(write_many, tell_packs, quick);
}

fn tell_packs(teller: &Teller) {
    tell_first_look(teller);
    teller.write("d1", "w1", "d0/f0.txt", b"changed\n");
}

/// What lies in a folder can only be reached by the names of all folders above it.
#[test]
fn ways() {
    if machine::has_all(&[MachineRequirement::Root, MachineRequirement::Fuse]) {
        let mut disk = LossyFs::new();
        let folder = disk.path().join("not/there/yet");
        retake_seam::fs::create_private_dir_all(&folder).unwrap();
        retake_seam::fs::replace_durably(&folder.join("file"), b"whole").unwrap();
        disk.power_on(LossModel::Unsynced);
        assert_eq!(std::fs::read(folder.join("file")).unwrap(), b"whole");
    }
}

/// What a killed run had made and not synced is synced by the next one.
#[test]
fn killed_before() {
    let roles = Roles { prepare: write_many, story: tell_first_look };
    if !is_child(roles) && machine::has_all(&[MachineRequirement::Root, MachineRequirement::Fuse]) {
        Rig::new().kill_first(is_long());
    }
}

fn tell_first_look(teller: &Teller) {
    teller.init();
    teller.checkpoint("all");
}

/// The same for hooks that only leave a message behind, and never open the store.
#[test]
fn killed_before_spooling() {
    let roles = Roles { prepare: few_recorded_files, story: tell_left_behind };
    if !is_child(roles) && machine::has_all(&[MachineRequirement::Root, MachineRequirement::Fuse]) {
        Rig::new().kill_first(true);
    }
}

fn tell_left_behind(teller: &Teller) {
    tell(&Told::Init);
    teller.leave_behind("d1", &format!("left behind by {}", std::process::id()));
}

/// The first look at a repository, whose packs are borrowed, until git lets go of them.
#[test]
fn borrowed_pack() {
    if machine::has_all(&[MachineRequirement::Program("git")]) {
        let quick = Strides { unsynced: 1, bytes: 11, chance: (6, 1), live: 13 };
        play(clone_of_many, tell_borrowed, quick);
    }
}

fn clone_of_many(test: &TestProject) {
    write_many(test);
    let root = test.root();
    git::run(&root, &["init", "-q"]);
    git::run(&root, &["add", "-A"]);
    git::run(&root, &["commit", "-qm", "all"]);
    // An index that is younger than every file.
    std::thread::sleep(Duration::from_millis(20));
    std::fs::remove_file(root.join(".git/index")).unwrap();
    git::run(&root, &["reset", "-q", "--mixed"]);
    git::run(&root, &["update-index", "-q", "--refresh"]);
}

fn tell_borrowed(teller: &Teller) {
    // Nobody but Retake syncs the pack that it counts on.
    git::run(&teller.test.root(), &["-c", "core.fsync=none", "gc", "-q"]);
    tell_packs(teller);
    let packs = teller.project().store().folder().join("packs");
    assert_eq!(std::fs::read_dir(packs).unwrap().count(), 2, "a pack and its index are borrowed");
    let root = teller.test.root();
    repack(&root);
    let limits =
        RetentionLimits { max_age: None, max_dialogs: 30, max_bytes: u64::MAX, protect: 0 };
    let wait = Duration::from_secs(20);
    let done = teller.project().store().gc(&limits, FAR, wait, &mut |_, _| {}).unwrap();
    assert!(done.complete);
    teller.write("d1", "w2", "d0/f0.txt", b"changed again\n");
}

/// git drops the packs that were borrowed.
fn repack(root: &Path) {
    git::run(root, &["add", "-A"]);
    git::run(root, &["commit", "-qm", "more"]);
    git::run(root, &["gc", "-q", "--prune=now"]);
    lossy_fs::sync_all(root).unwrap();
}
