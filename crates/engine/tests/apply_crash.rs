//! A kill between any two writes of a verb leaves every file wholly old or wholly new.
//!
//! The child carries out one verb and is killed before its 1st, 2nd, 3rd … write,
//! until it survives. After each kill both versions of every file are in the store,
//! no other verb writes, and `recover` finishes the operation or takes it back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use retake_engine::{Recovery, TakeBackOptions, VerbError};
use retake_testkit::disk::{self, Disk};
use retake_testkit::{TestProject, child, play};

/// Everything that a verb can have to do: write, create, delete, mode, link, move, folder to file.
const STORY: &str = r"
    file a.txt: 1\n2\n3\n4\n5\n6\n7\n
    file gone.txt: gone\n
    file old/name.txt: some longer text\nthat moves\n
    file run.sh: echo\n
    file turns: a file\n
    run ln -s a.txt link
    init
    say d: go
    edit d e1 a.txt: 2 => two
    write d w2 made/deep/new.txt: new\n
    shell d s3: rm gone.txt && chmod 755 run.sh && ln -sfn run.sh link
    shell d s4: mv old/name.txt name.txt
    shell d s5: rm turns && mkdir turns && echo in > turns/in
    turn-end d
    run sed -i s/7/seven/ a.txt
    look
";

fn prepared(more: &str) -> TestProject {
    let project = TestProject::in_memory();
    play(&project, STORY);
    play(&project, more);
    project
}

fn carry_out_as_child(verb: &str) {
    let outer = std::env::var("RETAKE_TEST_OUTER").unwrap();
    let project = TestProject::at(Path::new(&outer));
    let first = project.open().checkpoints(None, 100).unwrap().pop().unwrap();
    project.name("first", first.id);
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", play(&project, verb)).unwrap();
}

/// Kills the verb before each of its steps; gives how many it has.
fn sweep(test: &str, before: &str, verb: &str) -> u64 {
    if child::role().is_some() {
        carry_out_as_child(verb);
        return u64::MAX;
    }
    let project = prepared(before);
    let (kept, old) = (project.keep(), disk::read(&project.root()));
    let whole = run(test, &project, 0);
    for step in 1.. {
        project.bring_back(&kept);
        if run_killed(test, &project, step) {
            assert!(step > 20, "only {step} steps: does the seam still see the writes?");
            return step;
        }
        verify(&project, &old, &whole, step);
    }
    unreachable!("the steps end")
}

/// Runs the child to its end, and gives what is on disk then.
fn run(test: &str, project: &TestProject, kill_at: u64) -> Disk {
    let output = child::command(test, "verb")
        .env("RETAKE_TEST_OUTER", project.outer())
        .env("RETAKE_KILL_AT", kill_at.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("leave"), "nothing is left: {said}");
    disk::read(&project.root())
}

/// Whether the child survived.
fn run_killed(test: &str, project: &TestProject, kill_at: u64) -> bool {
    let output = child::command(test, "verb")
        .env("RETAKE_TEST_OUTER", project.outer())
        .env("RETAKE_KILL_AT", kill_at.to_string())
        .output()
        .unwrap();
    assert!(
        output.status.success() || output.status.signal() == Some(9),
        "step {kill_at}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output.status.success()
}

fn verify(project: &TestProject, old: &Disk, new: &Disk, step: u64) {
    let opened = project.open();
    let now = without_temps(disk::read(&project.root()));
    for (name, entry) in &now {
        let known = [old.get(name), new.get(name)];
        let is_one = known.iter().flatten().any(|known| known.is_same(entry));
        assert!(is_one, "step {step}: {name} is neither old nor new: {entry:?}");
    }
    if opened.interrupted().unwrap().is_none() {
        let is_one = disk::is_same(&now, old) || disk::is_same(&now, new);
        assert!(is_one, "step {step}: {now:?}");
        assert_clean(project, step);
        return;
    }
    for entry in old.values().chain(new.values()) {
        let oid = retake_store::hash_blob(&entry.content).unwrap();
        assert!(opened.store().has(&oid).unwrap(), "step {step}: {entry:?} is not in the store");
    }
    let options = TakeBackOptions::default();
    let refused = opened.plan_undo(options, project.tick()).map(drop);
    assert!(matches!(refused, Err(VerbError::Unfinished { .. })), "step {step}: {refused:?}");
    // Looks go on meanwhile, and do not mistake Retake's work for the user's.
    let looked = opened.look(project.tick()).unwrap().changes;
    assert!(looked.iter().all(|change| change.made_by.is_some()), "step {step}: {looked:?}");
    let (how, goal) =
        if step.is_multiple_of(2) { (Recovery::Resume, new) } else { (Recovery::Undo, old) };
    let applied = opened.recover(how, project.tick()).unwrap();
    assert!(applied.is_whole(), "step {step}, {how:?}: {:?}", applied.plan);
    let now = disk::read(&project.root());
    assert!(disk::is_same(&now, goal), "step {step}, {how:?}: {now:?}, not {goal:?}");
    assert!(opened.interrupted().unwrap().is_none());
    assert_clean(project, step);
}

fn without_temps(mut disk: Disk) -> Disk {
    disk.retain(|name, _| !name.contains(".retake-"));
    disk
}

fn assert_clean(project: &TestProject, step: u64) {
    let opened = project.open();
    let found = opened.check_up(true, &mut |_, _| {}).unwrap();
    assert_eq!(found.verification.problems, [], "step {step}");
    assert_eq!(opened.look(project.tick()).unwrap().changes, [], "step {step}");
}

#[test]
fn killed_undo() {
    sweep("killed_undo", "", "undo");
}

#[test]
fn killed_redo() {
    sweep("killed_redo", "undo", "redo");
}

#[test]
fn killed_reject() {
    sweep("killed_reject", "", "reject dialog=d");
}

#[test]
fn killed_rollback() {
    sweep("killed_rollback", "", "rollback call=s5");
}

#[test]
fn killed_restore() {
    sweep("killed_restore", "", "restore first exact");
}

#[test]
fn killed_reset() {
    sweep("killed_reset", "", "reset d");
}

/// Recovery can be killed, too: it is only begun again.
#[test]
fn killed_recovery() {
    let test = "killed_recovery";
    if let Some(role) = child::role() {
        return carry_out_as_child(if role == "verb" { "undo" } else { &role });
    }
    let project = prepared("");
    let (kept, old) = (project.keep(), disk::read(&project.root()));
    let new = run(test, &project, 0);
    let half = (1..1000).find(|&step| {
        project.bring_back(&kept);
        run_killed(test, &project, step);
        is_half_done(&project, &old, &new)
    });
    let half = half.unwrap();
    for (how, goal) in [("recover resume", &new), ("recover undo", &old)] {
        for step in 1.. {
            project.bring_back(&kept);
            assert!(!run_killed(test, &project, half));
            let output = child::command(test, how)
                .env("RETAKE_TEST_OUTER", project.outer())
                .env("RETAKE_KILL_AT", step.to_string())
                .output()
                .unwrap();
            if output.status.success() {
                break;
            }
            // Taking back is an operation of its own: once that has begun, it is what has to
            // be finished.
            let opened = project.open();
            if let Some(interrupted) = opened.interrupted().unwrap() {
                let is_first = interrupted.operation.title.starts_with("undo of turn");
                let undo = is_first && how == "recover undo";
                let how = if undo { Recovery::Undo } else { Recovery::Resume };
                opened.recover(how, project.tick()).unwrap();
            } else if how == "recover undo" && !disk::is_same(&disk::read(&project.root()), &old) {
                // Killed between the two: the first is closed as far as it came.
                play(&project, "redo");
            }
            let now = disk::read(&project.root());
            assert!(disk::is_same(&now, goal), "{how} step {step}: {now:?}");
            assert_clean(&project, step);
        }
    }
}

/// Whether a kill has left some files old and some new.
fn is_half_done(project: &TestProject, old: &Disk, new: &Disk) -> bool {
    let now = without_temps(disk::read(&project.root()));
    let is = |goal: &Disk| {
        now.iter().filter(|(n, e)| goal.get(*n).is_some_and(|g| g.is_same(e))).count()
    };
    !disk::is_same(&now, old) && !disk::is_same(&now, new) && is(new) > 3
}
