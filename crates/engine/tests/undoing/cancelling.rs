//! An operation that is cancelled at any step writes nothing, or is finished.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use retake_engine::model::OperationState;
use retake_engine::{
    OperationControl, OperationError, OperationPhase, OperationProgress, TakeBackOptions,
};
use retake_testkit::disk::{self, DiskFiles};
use retake_testkit::{TestProject, play};

/// Everything that an undo can have to do, and a file that it leaves.
const STORY: &str = r"
    file a.txt: 1\n2\n3\n4\n5\n6\n7\n
    file gone.txt: gone\n
    file old/name.txt: some longer text\nthat moves\n
    file run.sh: echo\n
    file turns: a file\n
    file left.txt: one\n
    init
    say d: go
    edit d e1 a.txt: 2 => two
    write d w2 made/deep/new.txt: new\n
    shell d s3: rm gone.txt && chmod 755 run.sh
    shell d s4: mv old/name.txt name.txt
    shell d s5: rm turns && mkdir turns && echo in > turns/in
    edit d e6 left.txt: one => two
    turn-end d
    run echo mine > left.txt
    look
";

/// Undoes the turn, and cancels that before its n-th step; returns the number of steps.
fn undo_cancelled_at(
    project: &TestProject,
    number: u32,
    control: &Arc<OperationControl>,
) -> (Result<(), OperationError>, u32) {
    let opened = project.open();
    let (plan, _) = opened.plan_undo(TakeBackOptions::default(), project.tick()).unwrap();
    let count = Rc::new(Cell::new(0));
    let (counted, cancelled) = (Rc::clone(&count), Arc::clone(control));
    retake_seam::on_step(Some(Box::new(move |_| {
        counted.set(counted.get() + 1);
        if counted.get() == number {
            cancelled.cancel();
        }
    })));
    let done = opened.apply_with_control(plan, project.tick(), control);
    retake_seam::on_step(None);
    (done.map(drop), count.get())
}

/// Checks that nothing is left over, and that the record is as the files are.
fn assert_settled(project: &TestProject, files: &DiskFiles, number: u32) {
    let now = disk::read_files(&project.root());
    assert!(disk::same_files(&now, files), "step {number}: {now:?}");
    let opened = project.open();
    assert!(opened.interrupted().unwrap().is_none(), "step {number}");
    let found = opened.refresh(project.tick()).unwrap().changes;
    assert!(found.is_empty(), "step {number}: {found:?}");
}

#[test]
fn an_undo_that_is_cancelled_at_any_step_is_whole_or_did_not_happen() {
    let project = TestProject::in_memory();
    play(&project, STORY);
    let (kept, old) = (project.copy_all(), disk::read_files(&project.root()));
    let whole = Arc::new(OperationControl::default());
    let (done, steps) = undo_cancelled_at(&project, u32::MAX, &whole);
    done.unwrap();
    assert!(!whole.cancel(), "it has written");
    let new = disk::read_files(&project.root());
    let (mut unrecorded, mut cancelled, mut finished) = (0, 0, 0);
    for number in 1..=steps {
        project.restore_copy(&kept);
        let control = Arc::new(OperationControl::default());
        match undo_cancelled_at(&project, number, &control).0 {
            Ok(()) => {
                finished += 1;
                assert!(!control.is_cancelled(), "step {number}");
                assert_settled(&project, &new, number);
            }
            Err(OperationError::Cancelled { operation }) => {
                assert_settled(&project, &old, number);
                let opened = project.open();
                match operation {
                    Some(id) => {
                        let operation = opened.operation(id).unwrap().unwrap();
                        assert_eq!(operation.state, OperationState::Cancelled);
                        cancelled += 1;
                    }
                    None => unrecorded += 1,
                }
                drop(opened);
                // As if it had never been asked for: the same undo can be done.
                let again = Arc::new(OperationControl::default());
                undo_cancelled_at(&project, u32::MAX, &again).0.unwrap();
                assert_settled(&project, &new, number);
            }
            Err(error) => panic!("step {number}: {error}"),
        }
    }
    let seen = [unrecorded, cancelled, finished];
    assert!(seen.iter().all(|count| *count > 0), "{seen:?} of {steps} steps");
}

#[test]
fn an_operation_reports_each_file_that_it_stages_and_writes() {
    let project = TestProject::in_memory();
    play(&project, STORY);
    let reports = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = Arc::clone(&reports);
    let control = Arc::new(OperationControl::new(move |progress| {
        listener.lock().unwrap().push(progress);
    }));
    undo_cancelled_at(&project, u32::MAX, &control).0.unwrap();
    let reports = reports.lock().unwrap();
    let of = |phase| move |report: &&OperationProgress| report.phase == phase;
    let (staged, written) = (of(OperationPhase::Staging), of(OperationPhase::Writing));
    let total = reports.last().unwrap().total;
    assert!(total > 5, "{reports:?}");
    assert_eq!(reports.iter().filter(staged).count() as u64, total);
    assert_eq!(reports.iter().filter(written).count() as u64, total);
    assert!(reports.iter().filter(written).all(|report| report.operation.is_some()));
}
