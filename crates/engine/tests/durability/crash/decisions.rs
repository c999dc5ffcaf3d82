//! A decision or a checkpoint is there wholly or not at all, and wholly if it was acknowledged.

use retake_testkit::sweep::{ALL_FAULTS, FaultSweep};
use retake_testkit::{TestProject, child, play};

use super::assert_clean;

const STORY: &str = r"
    file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
    init
    say d: go
    edit d e1 a.txt: 2 => two
    shell d s2: sed -i 's/4/four/; s/8/eight/' a.txt
    write d w3 b.txt: new\n
    turn-end d
    accept call=w3
";

/// Everything that is decided.
fn decided(test: &TestProject) -> String {
    let project = test.open();
    let session = project.session_status(&"d".into()).unwrap();
    let places = |id| project.store().hunk_decisions(id).unwrap();
    let hunks: Vec<_> = test.changes().iter().map(|change| places(change.id)).collect();
    let points = project.checkpoints(None, 100).unwrap();
    format!("{:#?}\n{hunks:#?}\n{points:#?}\n{session:#?}", test.changes())
}

/// Something that is decided wholly or not at all.
pub(super) struct DecisionSweep<'s> {
    /// The name of the child.
    pub(super) role: &'s str,
    /// What happened before.
    pub(super) story: &'s [&'s str],
    /// The steps that are swept.
    pub(super) act: &'s str,
    /// Everything that is decided.
    pub(super) decided: fn(&TestProject) -> String,
}

impl DecisionSweep<'_> {
    pub(super) fn run(&self) {
        let Self { role, story, act, decided } = self;
        if child::role().is_some() {
            if !play(&child::project(), act).contains("error: ") {
                child::acknowledge("done");
            }
            return;
        }
        let project = TestProject::in_memory();
        story.iter().for_each(|part| drop(play(&project, part)));
        let before = decided(&project);
        let sweep = FaultSweep::new(role, &project);
        let after = decided(&project);
        assert_ne!(before, after);
        for faults in ALL_FAULTS {
            sweep.run_each(faults, |done| {
                let now = decided(&project);
                let is_done = now == after;
                assert!(is_done || now == before, "{done}: {now}");
                assert!(is_done || done.acks.is_empty(), "acknowledged, but not there: {done}");
                assert_clean(&project.open());
                assert_eq!(project.refresh().changes, [], "{done}");
            });
        }
    }
}

fn sweep(role: &str, act: &str) {
    DecisionSweep { role, story: &[STORY], act, decided }.run();
}

#[test]
fn a_fault_at_any_write_of_a_checkpoint() {
    sweep("checkpoint", "checkpoint named d");
}

#[test]
fn a_fault_at_any_write_of_accept() {
    sweep("accept", "accept dialog=d");
}

#[test]
fn a_fault_at_any_write_of_accepting_a_place() {
    sweep("accept", "accept call=s2 hunk=2");
}

#[test]
fn a_fault_at_any_write_of_approve() {
    sweep("approve", "approve d");
}
