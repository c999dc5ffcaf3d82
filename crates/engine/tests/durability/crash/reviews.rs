//! A decision of a review, a comment and a queued rejection are there wholly or not at all; a
//! rejection that waits is carried out once, whatever stops it.

use retake_engine::RecoveryChoice;
use retake_engine::model::{OperationKind, QueueState};
use retake_testkit::sweep::{FaultSweep, KILL_FAULTS, SweepRun};
use retake_testkit::{TestProject, child, play};

use super::assert_clean;
use super::decisions::DecisionSweep;

const STORY: &str = r"
    file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
    file b.txt: b\n
    init
    say d: go
    shell d s1: sed -i 's/2/two/; s/8/eight/' a.txt
    edit d e2 b.txt: b => let password = read_from_file();
    comment a.txt:2: a number
";

/// Everything that a review is about.
fn decided(test: &TestProject) -> String {
    let shown = play(test, "review all\nwaiting\ncomments\nfeedback d\nstatuses");
    let project = test.open();
    let operations = project.store().operations(100).unwrap();
    format!("{shown}\n{operations:#?}\n{:?}", project.review_seen().unwrap())
}

fn sweep(earlier: &str, role: &str, act: &str) {
    DecisionSweep { role, story: &[STORY, earlier], act, decided }.run();
}

#[test]
fn a_fault_at_any_write_of_keeping_hunks() {
    sweep("", "keep", "keep all");
}

#[test]
fn a_fault_at_any_write_of_queueing() {
    sweep("", "queue", "queue all because=no_words");
}

#[test]
fn a_fault_at_any_write_of_sending_comments() {
    sweep("", "send", "send-comments");
}

#[test]
fn a_fault_at_any_write_of_telling_an_agent() {
    sweep("send-comments", "tell", "take-feedback d");
}

/// Kills between any two steps of carrying out the queue: the next process goes on.
#[test]
fn a_kill_while_the_queue_is_carried_out() {
    if child::role().is_some() {
        play(&child::project(), "carry-out");
        return;
    }
    let project = TestProject::in_memory();
    play(&project, STORY);
    play(&project, "queue all a.txt#2 b.txt#1 because=no_words\nturn-end d");
    let sweep = FaultSweep::new("carry-out", &project);
    sweep.run_each(&KILL_FAULTS, |done| verify_queue(&project, done));
}

fn verify_queue(project: &TestProject, done: &SweepRun) {
    let opened = project.open();
    if opened.interrupted().unwrap().is_some() {
        opened.refresh(project.tick()).unwrap();
        let refused = play(project, "carry-out");
        assert!(!refused.contains("done"), "one operation at a time: {refused}: {done}");
        opened.recover(RecoveryChoice::Resume, project.tick()).unwrap();
    }
    play(project, "carry-out");
    let text = |name| String::from_utf8(project.read(name)).unwrap();
    assert_eq!(text("a.txt"), "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n", "{done}");
    assert_eq!(text("b.txt"), "b\n", "{done}");
    let queue = opened.queued_rejections(10).unwrap();
    let rejections = opened.store().operations(10).unwrap();
    let rejections: Vec<_> =
        rejections.iter().filter(|one| one.kind == OperationKind::Reject).collect();
    assert_eq!(rejections.len(), 1, "carried out once: {rejections:#?}: {done}");
    for entry in queue {
        assert_eq!(entry.state, QueueState::Done, "{entry:?}: {done}");
        assert_eq!(entry.operation, Some(rejections[0].id), "{entry:?}: {done}");
    }
    let reason = opened.rejection_reason(rejections[0].id).unwrap();
    assert_eq!(reason.as_deref(), Some("no words"), "{done}");
    let (items, _) = opened.unheard_feedback(&"d".into()).unwrap();
    assert_eq!(items.rejections, [rejections[0].id], "{done}");
    // It is remembered: the agent adds it again.
    play(project, "say d: again\nedit d e3 b.txt: b => let password = read_from_file();");
    let again = play(project, "again");
    assert_eq!(again, format!("e3 brings {} again\n", rejections[0].id), "{done}");
    assert_clean(&opened);
}
