//! A kill or an error between any two writes of a verb leaves every file wholly old or wholly new.
//!
//! The child carries out one verb and is killed before its 1st, 2nd, 3rd … write, or that fails.
//! After each kill both versions of every file are in the store,
//! no other verb writes, and `recover` finishes the operation or takes it back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use std::fmt::Write as _;
use std::io::Write as _;

use retake_engine::model::{Change, ChangeId, ChangeStatus};
use retake_engine::{AppliedPlan, OperationError, RecoveryChoice, TakeBackOptions};
use retake_testkit::disk::{self, DiskFile, DiskFiles};
use retake_testkit::sweep::{ERROR_FAULTS, FaultSweep, InjectedFault, KILL_FAULTS, SweepRun};
use retake_testkit::{TestProject, child, plan_line, play};

mod errors;

/// Everything that a verb can have to do: write, create, delete, mode, link, move, folder to file.
const STORY: &str = r"
    file a.txt: 1\n2\n3\n4\n5\n6\n7\n
    file gone.txt: gone\n
    file old/name.txt: some longer text\nthat moves\n
    file run.sh: echo\n
    file turns: a file\n
    file quiet/quiet.txt: nobody touches this\n
    run ln -s a.txt link; ln -s ../outside out; mkdir ../outside; echo beyond > ../outside/a.txt
    run git init -q
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

/// Carries out the verb, and says what became of each file.
fn act_as_child(verb: &str) {
    let project = child::project();
    let first = project.open().checkpoints(None, 100).unwrap().pop().unwrap();
    project.name_checkpoint("first", first.id);
    let said = match carry_out(&project, verb) {
        Ok(applied) => told(&applied),
        Err(error) => format!("error: {error}"),
    };
    let mut stdout = std::io::stdout();
    writeln!(stdout, "\n{said}").unwrap();
}

fn carry_out(project: &TestProject, verb: &str) -> Result<AppliedPlan, OperationError> {
    let opened = project.open();
    match verb {
        "recover resume" => opened.recover(RecoveryChoice::Resume, project.tick()),
        "recover undo" => opened.recover(RecoveryChoice::Undo, project.tick()),
        verb => opened.apply(&plan_line(project, verb)?, project.tick()),
    }
}

/// One line for each file.
fn told(applied: &AppliedPlan) -> String {
    let mut said = String::new();
    for file in &applied.plan.files {
        let (path, action, code) = (&file.path, file.action.as_str(), file.reason.code());
        writeln!(said, "{path:?} {action} {code} {:?}", file.warning).unwrap();
    }
    said
}

/// What a project is before a verb and after it.
struct Ends {
    old: DiskFiles,
    new: DiskFiles,
    /// What no verb may touch: git's own files, and what lies outside of the project.
    beyond: Vec<(String, DiskFile)>,
    /// The changes that were taken back before.
    reverted: Vec<ChangeId>,
}

/// Kills the verb before each of its steps, and lets each step fail.
fn sweep(before: &str, verb: &str) {
    if child::role().is_some() {
        return act_as_child(verb);
    }
    let project = prepared(before);
    let is_reverted = |change: &Change| change.status == ChangeStatus::Reverted;
    let reverted = project.changes().into_iter().filter(is_reverted).map(|change| change.id);
    let (old, beyond) = (disk::read_files(&project.root()), beyond(&project));
    let reverted = reverted.collect();
    let role = verb.split(' ').next().unwrap();
    let sweep = FaultSweep::new(role, &project);
    let ends = Ends { old, beyond, reverted, new: disk::read_files(&project.root()) };
    sweep.run_each(&KILL_FAULTS, |done| verify(&project, &ends, done));
    sweep.run_each(&ERROR_FAULTS, |done| errors::verify(&project, &ends, done));
    sweep.run_each(&[InjectedFault::Short], |done| errors::verify(&project, &ends, done));
}

fn beyond(project: &TestProject) -> Vec<(String, DiskFile)> {
    let outside = disk::read_files(&project.outer().join("outside"));
    disk::git_state(&project.root()).into_iter().chain(outside).collect()
}

/// What a verb does not concern keeps bytes, mode and time (promises 3, 4 and 6).
fn assert_untouched(project: &TestProject, ends: &Ends, done: &SweepRun) {
    let now = disk::read_files(&project.root());
    for (name, old) in &ends.old {
        let is_concerned = ends.new.get(name).is_none_or(|new| !new.same_content(old));
        assert!(is_concerned || now.get(name) == Some(old), "{name} was touched: {done}");
    }
    assert_eq!(beyond(project), ends.beyond, "{done}");
}

fn verify(project: &TestProject, ends: &Ends, done: &SweepRun) {
    let Ends { old, new, .. } = ends;
    assert_untouched(project, ends, done);
    let opened = project.open();
    let now = without_temps(disk::read_files(&project.root()));
    for (name, entry) in &now {
        let known = [old.get(name), new.get(name)];
        let is_one = known.iter().flatten().any(|known| known.same_content(entry));
        assert!(is_one, "{name} is neither old nor new: {entry:?}: {done}");
    }
    if opened.interrupted().unwrap().is_none() {
        let is_one = disk::same_files(&now, old) || disk::same_files(&now, new);
        assert!(is_one, "{now:?}: {done}");
        assert_clean(project, done);
        return;
    }
    for entry in old.values().chain(new.values()) {
        let oid = retake_store::hash_blob(&entry.content).unwrap();
        assert!(opened.store().has(&oid).unwrap(), "{entry:?} is not in the store: {done}");
    }
    let options = TakeBackOptions::default();
    let refused = opened.plan_undo(options, project.tick()).map(drop);
    assert!(matches!(refused, Err(OperationError::Unfinished { .. })), "{refused:?}: {done}");
    // Looks go on meanwhile, and do not mistake Retake's work for the user's.
    let looked = opened.refresh(project.tick()).unwrap().changes;
    assert!(looked.iter().all(|change| change.made_by.is_some()), "{looked:?}: {done}");
    let (how, goal) = if done.at.0.number.is_multiple_of(2) {
        (RecoveryChoice::Resume, new)
    } else {
        (RecoveryChoice::Undo, old)
    };
    let applied = opened.recover(how, project.tick()).unwrap();
    assert!(applied.is_whole(), "{how:?}: {:?}: {done}", applied.plan);
    let now = disk::read_files(&project.root());
    assert!(disk::same_files(&now, goal), "{how:?}: {now:?}, not {goal:?}: {done}");
    assert!(opened.interrupted().unwrap().is_none());
    assert_clean(project, done);
}

fn without_temps(mut disk: DiskFiles) -> DiskFiles {
    disk.retain(|name, _| !name.contains(".retake-"));
    disk
}

fn assert_clean(project: &TestProject, done: &SweepRun) {
    let opened = project.open();
    let found = opened.check_health(true, &mut |_, _| {}).unwrap();
    assert_eq!(found.verification.problems, [], "{done}");
    assert_eq!(opened.refresh(project.tick()).unwrap().changes, [], "{done}");
}

#[test]
fn a_fault_in_undo() {
    sweep("", "undo");
}

#[test]
fn a_fault_in_redo() {
    sweep("undo", "redo");
}

#[test]
fn a_fault_in_reject() {
    sweep("", "reject dialog=d");
}

#[test]
fn a_fault_in_a_rejection_of_hunks() {
    sweep("", "reject-hunks all a.txt#1 gone.txt#1 name.txt#1 turns/in#1 because=no_words");
}

#[test]
fn a_fault_in_rollback() {
    sweep("", "rollback call=s5");
}

#[test]
fn a_fault_in_restore() {
    sweep("", "restore first exact");
}

#[test]
fn a_fault_in_reset() {
    sweep("", "reset d");
}

/// Recovery can be stopped, too: it is only begun again.
#[test]
fn a_fault_in_recovery() {
    if let Some(role) = child::role() {
        return act_as_child(&role);
    }
    let project = prepared("");
    let old = disk::read_files(&project.root());
    let undo = FaultSweep::new("undo", &project);
    let new = disk::read_files(&project.root());
    leave_half_done(&undo, &project, &old, &new);
    let (half, halfway) = (project.copy_all(), without_temps(disk::read_files(&project.root())));
    for (how, goal) in [("recover resume", &new), ("recover undo", &old)] {
        project.restore_copy(&half);
        let recovery = FaultSweep::new(how, &project);
        recovery.run_each(&KILL_FAULTS, |done| verify_recovery(&project, how, goal, done));
    }
    project.restore_copy(&half);
    let resume = FaultSweep::new("recover resume", &project);
    let ends = Ends { old: halfway, new, beyond: beyond(&project), reverted: Vec::new() };
    resume.run_each(&ERROR_FAULTS, |done| errors::verify(&project, &ends, done));
}

/// Taking back is an operation of its own: once that has begun, it is what has to be finished.
fn verify_recovery(project: &TestProject, how: &str, goal: &DiskFiles, done: &SweepRun) {
    let opened = project.open();
    if let Some(interrupted) = opened.interrupted().unwrap() {
        let is_first = interrupted.operation.title.starts_with("undo of turn");
        let undo = is_first && how == "recover undo";
        let how = if undo { RecoveryChoice::Undo } else { RecoveryChoice::Resume };
        opened.recover(how, project.tick()).unwrap();
    } else if how == "recover undo" && !disk::same_files(&disk::read_files(&project.root()), goal) {
        // Stopped between the two: the first is closed as far as it came.
        play(project, "redo");
    }
    let now = disk::read_files(&project.root());
    assert!(disk::same_files(&without_temps(now.clone()), goal), "{how}: {now:?}: {done}");
    assert_clean(project, done);
}

/// Kills at the first step that leaves some files old and some new.
fn leave_half_done(undo: &FaultSweep<'_>, project: &TestProject, old: &DiskFiles, new: &DiskFiles) {
    let found = undo.steps().iter().any(|step| {
        undo.run_once(step, InjectedFault::Kill);
        is_half_done(project, old, new)
    });
    assert!(found, "no step leaves it half done");
}

/// Whether a kill has left some files old and some new.
fn is_half_done(project: &TestProject, old: &DiskFiles, new: &DiskFiles) -> bool {
    let now = without_temps(disk::read_files(&project.root()));
    let is = |goal: &DiskFiles| {
        now.iter().filter(|(n, e)| goal.get(*n).is_some_and(|g| g.same_content(e))).count()
    };
    !disk::same_files(&now, old) && !disk::same_files(&now, new) && is(new) > 3
}
