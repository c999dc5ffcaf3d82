//! What `gc` removes and what it never does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]

use retake_engine::model::{
    AgentId, Change, CheckpointKind, DialogId, MessageRole, Millis, ModelMessage, ObjectId,
    OperationId, OperationKind, OperationState,
};
use retake_engine::{GcReport, Project, RetentionReason, TakeBackOptions};
use retake_store::{NewCheckpoint, NewOperation, ObjectKind, encode};
use retake_testkit::sweep::{ALL_FAULTS, FaultSweep};
use retake_testkit::{TestProject, child, git};
use serde_json::{Value, json};

use crate::support::{Work, assert_clean};

const DAY: Millis = 24 * 60 * 60 * 1000;
const FAR: Millis = 1_700_000_000_000 + 400 * DAY;

fn settings(test: &TestProject, lines: &str) {
    std::fs::write(test.home().join("config.toml"), format!("[retention]\n{lines}\n")).unwrap();
}

fn collect(test: &TestProject, at: Millis) -> GcReport {
    let (project, before) = (test.open(), test.changes());
    let done = project.collect_garbage(at, &mut |_, _| {}).unwrap();
    assert!(done.complete);
    assert_clean(&project);
    assert_whole(test, &before);
    done
}

/// Whatever is on record can be read, and no checkpoint outlived a newer change.
fn assert_whole(test: &TestProject, before: &[Change]) {
    let (project, changes) = (test.open(), test.changes());
    for change in &changes {
        project.content(&change.before).unwrap();
        project.content(&change.after).unwrap();
    }
    let is_removed = |change: &&Change| changes.iter().all(|kept| kept.id != change.id);
    let removed = before.iter().filter(is_removed).map(|change| change.id.0).max();
    for point in project.store().checkpoints(None, usize::MAX).unwrap() {
        assert!(Some(point.seq) > removed, "{point:?} would need what was removed");
        assert!(project.store().has(&point.tree).unwrap());
    }
    let status = project.status().unwrap();
    assert_eq!(status.changes, changes.len() as u64);
    assert_eq!(status.files, project.store().manifest().unwrap().len() as u64);
}

fn dialogs(project: &Project) -> Vec<String> {
    let mut ids: Vec<_> =
        project.dialogs().unwrap().into_iter().map(|(dialog, _)| dialog.id.0).collect();
    ids.sort();
    ids
}

/// Dialogs after each other, each with an approved work session.
fn approved(test: &TestProject, names: &[&str]) {
    for name in names {
        let work = Work::begin(test, name);
        work.write("a.txt", format!("by {name}\n").as_bytes());
        work.write(&format!("{name}.txt"), format!("{name} alone\n").as_bytes());
        work.approve("good");
    }
}

/// A history of two messages, one of which is hidden.
fn converse(test: &TestProject, dialog: &str) {
    let message = |text: &str| ModelMessage {
        role: MessageRole::User,
        content: vec![json!({ "type": "text", "text": text })],
        ts: None,
        is_summary: false,
        index: None,
    };
    let (project, agent) = (test.open(), AgentId::from("main"));
    for list in [&[message("a"), message("b")][..], &[message("b")]] {
        project.save_model_messages(&dialog.into(), &agent, list, test.tick()).unwrap();
    }
}

/// The dialogs that have messages, with how many those are, and how many views there are.
fn conversations(test: &TestProject) -> Vec<(String, i64, i64)> {
    let db = rusqlite::Connection::open(test.open().store().folder().join("retake.db")).unwrap();
    let sql = "SELECT dialog, sum(is_message), sum(1 - is_message) FROM
        (SELECT dialog, 1 AS is_message FROM message UNION ALL SELECT dialog, 0 FROM conversation_view)
        GROUP BY dialog ORDER BY dialog";
    let mut query = db.prepare(sql).unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

fn start(test: &TestProject) {
    test.write("a.txt", "original\n");
    test.init();
}

fn oid(text: &str) -> ObjectId {
    retake_store::hash_blob(text.as_bytes()).unwrap()
}

fn ids(changes: &[Change]) -> Vec<u64> {
    changes.iter().map(|change| change.id.0).collect()
}

#[test]
fn the_oldest_dialogs_beyond_the_count_go_with_all_that_is_theirs() {
    let test = TestProject::new();
    start(&test);
    approved(&test, &["d1", "d2", "d3"]);
    test.write("a.txt", "the person's\n");
    test.refresh();
    converse(&test, "d3");
    approved(&test, &["d4", "d5"]);
    converse(&test, "d5");
    settings(&test, "max_dialogs = 2");
    let project = test.open();
    let forecast = project.retention_forecast(FAR, true).unwrap();
    let going: Vec<_> = forecast.dialogs.iter().map(|going| going.dialog.id.0.as_str()).collect();
    assert_eq!(going, ["d1", "d2", "d3"], "the oldest first");
    assert!(forecast.dialogs.iter().all(|going| going.reason == RetentionReason::TooMany));
    let before = test.changes();
    let done = collect(&test, FAR);
    assert_eq!(done.removed.changes, forecast.changes);
    assert_eq!(done.removed.checkpoints, forecast.checkpoints);
    assert_eq!(dialogs(&project), ["d4", "d5"]);
    let after = test.changes();
    assert!(before.ends_with(&after) && after.len() == 4, "{:?}", ids(&after));
    // Content that only they had is gone; what newer records name is there.
    assert!(!project.store().has(&oid("by d1\n")).unwrap());
    assert!(project.store().has(&oid("the person's\n")).unwrap());
    assert!(project.store().has(&oid("d1 alone\n")).unwrap(), "the file is still there");
    assert_eq!(project.store().work_sessions(&DialogId("d1".into())).unwrap(), []);
    assert_eq!(project.store().work_sessions(&DialogId("d5".into())).unwrap().len(), 2);
    assert_eq!(conversations(&test), [("d5".to_owned(), 2, 1)], "a conversation goes with them");
    let events = project.store().events_after(0, 1).unwrap();
    assert!(events[0].seq > ids(&before)[before.len() - 5], "its events go with it");
    assert!(done.after.content < done.before.content);
    let again = collect(&test, FAR);
    assert_eq!(again.removed, retake_engine::RemovedRecords::default());
    // And recording goes on.
    approved(&test, &["d6"]);
    assert_clean(&project);
}

#[test]
fn unapproved_work_of_dialogs_that_were_active_lately_stays() {
    let test = TestProject::new();
    start(&test);
    let open = Work::begin(&test, "open");
    open.write("a.txt", b"not approved\n");
    approved(&test, &["d1", "d2"]);
    settings(&test, "max_dialogs = 1\nprotect_days = 14");
    let soon = 1_700_000_000_000 + 10 * DAY;
    let forecast = test.open().retention_forecast(soon, false).unwrap();
    let open = &forecast.dialogs[0];
    assert!(open.dialog.id.0 == "open" && open.unapproved && open.from > soon);
    assert!(open.from < soon + 5 * DAY, "{}", open.from - soon);
    collect(&test, soon);
    let project = test.open();
    // Nothing below its records can go, but the other dialog's checkpoints can.
    assert_eq!(dialogs(&project), ["d1", "d2", "open"]);
    assert_eq!(test.changes().len(), 5);
    assert_eq!(project.store().checkpoints(Some(&"d1".into()), 9).unwrap(), []);
    assert!(!project.store().checkpoints(Some(&"open".into()), 9).unwrap().is_empty());
    collect(&test, FAR);
    assert_eq!(dialogs(&project), ["d2"]);
}

#[test]
fn age_counts_if_it_is_set() {
    let test = TestProject::new();
    start(&test);
    approved(&test, &["d1"]);
    settings(&test, "max_age_days = 30");
    let project = test.open();
    let soon = 1_700_000_000_000 + 10 * DAY;
    let forecast = project.retention_forecast(soon, true).unwrap();
    assert_eq!((forecast.changes, forecast.dialogs[0].reason), (0, RetentionReason::TooOld));
    assert!(forecast.dialogs[0].from > soon, "it says when");
    assert_eq!(collect(&test, soon).removed.changes, 0);
    assert_eq!(collect(&test, FAR).removed.changes, 2);
    assert_eq!(dialogs(&project), Vec::<String>::new());
    assert_eq!(project.content(&test.manifest("a.txt")).unwrap().unwrap(), b"by d1\n");
}

trait Manifest {
    fn manifest(&self, path: &str) -> retake_engine::model::PathState;
}

impl Manifest for TestProject {
    fn manifest(&self, path: &str) -> retake_engine::model::PathState {
        let entry = self.open().store().manifest_entry(&path.parse().unwrap()).unwrap();
        entry.unwrap().state.into()
    }
}

#[test]
fn a_record_over_its_bytes_loses_the_oldest_first_and_never_what_is_protected() {
    let test = TestProject::new();
    start(&test);
    let mut rng = fastrand::Rng::with_seed(1);
    let noise = |rng: &mut fastrand::Rng| -> Vec<u8> {
        (0..400_000).map(|_| rng.alphanumeric() as u8).collect()
    };
    for name in ["d1", "d2", "d3"] {
        let work = Work::begin(&test, name);
        work.write("big.txt", &noise(&mut rng));
        work.approve("good");
    }
    let open = Work::begin(&test, "open");
    open.write("big.txt", &noise(&mut rng));
    let project = test.open();
    let used = project.disk_usage().unwrap();
    settings(
        &test,
        &format!("max_bytes = {}\nprotect_days = 1000", used.content - 200_000 + used.records),
    );
    let done = collect(&test, FAR);
    // What d1 wrote is what d2 started from, so it takes both.
    assert_eq!(dialogs(&test.open()), ["d3", "open"]);
    assert_eq!(done.over_bytes, 0);
    settings(&test, "max_bytes = 1\nprotect_days = 1000");
    let done = collect(&test, FAR);
    assert_eq!(dialogs(&test.open()), ["open"]);
    assert!(done.over_bytes > 0, "all that is left is protected");
    let big = test.changes();
    assert_eq!(big.len(), 1, "{big:?}");
}

#[test]
fn one_dialog_without_end_loses_what_it_decided_on_long_ago() {
    let test = TestProject::new();
    start(&test);
    let work = Work::begin(&test, "d1");
    converse(&test, "d1");
    for n in 0..5 {
        let mut bytes = vec![0; 100_000];
        fastrand::Rng::with_seed(n).fill(&mut bytes);
        work.write("big.bin", &bytes);
        work.approve("good");
    }
    work.write("a.txt", b"open\n");
    settings(&test, "max_bytes = 250000\nprotect_days = 20");
    // Active yesterday, but most of it is long ago.
    let batch = work.project.store().batch().unwrap();
    batch.touch_dialog(&work.dialog, None, None, FAR - DAY).unwrap();
    batch.commit().unwrap();
    let done = collect(&test, FAR);
    let project = test.open();
    assert_eq!(dialogs(&project), ["d1"]);
    assert_eq!(conversations(&test), [("d1".to_owned(), 0, 1)]);
    let (dialog, agent) = (&work.dialog, AgentId::from("main"));
    assert_eq!(project.model_view(dialog, &agent).unwrap().next, 2, "no place is given twice");
    assert!(done.removed.changes == 5 && done.removed.sessions == 5, "{done:?}");
    let session = project.store().active_session(&work.dialog).unwrap().unwrap();
    assert_eq!(session.number, 6);
    assert!(project.store().has(&session.base).unwrap());
    assert_eq!(test.changes().len(), 1, "what nobody approved stays");
    let exported = project.export_git(Some(&work.dialog), &mut |_, _| {}).unwrap();
    assert_eq!(git::run(&exported.folder, &["--git-dir", ".", "fsck", "--full"]), "");
    // What was approved last is still known, and can be gone back to.
    work.write("b.txt", b"open\n");
    let options = TakeBackOptions::default();
    let plan = project.plan_reset(&work.dialog, true, options, FAR).unwrap();
    assert!(project.apply(&plan, FAR).unwrap().is_whole());
    assert_eq!(test.read("a.txt"), b"original\n");
    assert!(!test.root().join("b.txt").exists());
    assert_clean(&project);
}

/// What two dialogs may have made waits for both of them, and goes with all that is known of it.
#[test]
fn what_a_dialog_of_today_did_stays_whatever_the_limits_say() {
    let test = TestProject::new();
    start(&test);
    let work = Work::begin(&test, "d1");
    for n in 0..3 {
        let mut bytes = vec![0; 100_000];
        fastrand::Rng::with_seed(n).fill(&mut bytes);
        work.write("big.bin", &bytes);
        work.approve("good");
    }
    // The first of it is long ago; it was last active minutes ago.
    let at = |at: Millis| {
        let batch = work.project.store().batch().unwrap();
        batch.touch_dialog(&work.dialog, None, None, at).unwrap();
        batch.commit().unwrap();
    };
    at(FAR - 5 * 60 * 1000);
    settings(&test, "max_dialogs = 0\nmax_bytes = 1\nmax_age_days = 1\nprotect_days = 0");
    let done = collect(&test, FAR);
    assert_eq!((done.removed.changes, test.changes().len()), (0, 3), "{done:?}");
    assert!(done.over_bytes > 0, "and that is told");
    at(FAR - DAY - 1);
    assert_eq!(collect(&test, FAR).removed.changes, 3, "a day later it goes");
}

#[test]
fn half_approved_changes_go_with_their_approvals() {
    let test = TestProject::new();
    start(&test);
    retake_testkit::play(
        &test,
        "say d: one
        say e: one
        begin d s1 sh: make
        begin e s2 sh: make
        file made.txt: by one of them
        end d s1
        end e s2
        approve d",
    );
    assert_eq!(test.changes().iter().filter(|change| change.candidates.len() == 2).count(), 1);
    approved(&test, &["d1"]);
    settings(&test, "max_dialogs = 1\nprotect_days = 14");
    assert_eq!(collect(&test, 1_700_000_000_000 + 10 * DAY).removed.changes, 0, "e may need it");
    assert_eq!(collect(&test, FAR).removed.changes, 1);
    assert_eq!(dialogs(&test.open()), ["d1"]);
}

/// A temporary file that could not be removed is only known from its operation.
#[test]
fn an_operation_that_left_a_temporary_file_stays_until_it_is_removed() {
    let test = TestProject::new();
    start(&test);
    let project = test.open();
    let id = operation(&test, &project, OperationState::Running);
    let end = |untidy| {
        let batch = project.store().batch().unwrap();
        batch.end_operation(id, OperationState::Done, untidy).unwrap();
        batch.commit().unwrap();
    };
    end(false);
    for _ in 0..12 {
        operation(&test, &project, OperationState::Done);
    }
    approved(&test, &["d1"]);
    end(true);
    settings(&test, "max_dialogs = 0");
    collect(&test, FAR);
    assert_eq!(project.store().untidy_operations().unwrap().len(), 1);
    end(false);
    collect(&test, FAR);
    assert_eq!(project.store().operation(id).unwrap(), None);
}

fn operation(test: &TestProject, project: &Project, state: OperationState) -> OperationId {
    let batch = project.store().batch().unwrap();
    let parents: Vec<_> =
        batch.newest_of_no_dialog().unwrap().map(|point| point.id).into_iter().collect();
    let safety = batch
        .put_checkpoint(&NewCheckpoint {
            at: test.tick(),
            kind: CheckpointKind::BeforeOperation,
            message: "safety",
            dialog: None,
            session: None,
            parents: &parents,
        })
        .unwrap();
    let id = batch
        .begin_operation(&NewOperation {
            left_out: 0,
            at: test.tick(),
            kind: OperationKind::Restore,
            title: "restore",
            dialog: None,
            safety: &safety.id,
            follow_up: &Value::Null,
        })
        .unwrap();
    if state != OperationState::Running {
        batch.end_operation(id, state, false).unwrap();
    }
    batch.commit().unwrap();
    id
}

#[test]
fn the_newest_operations_and_unfinished_ones_keep_what_they_need() {
    let test = TestProject::new();
    start(&test);
    let project = test.open();
    approved(&test, &["d1"]);
    let old = operation(&test, &project, OperationState::Done);
    approved(&test, &["d2"]);
    let mut newest = Vec::new();
    for _ in 0..10 {
        newest.push(operation(&test, &project, OperationState::Done));
    }
    approved(&test, &["d3"]);
    settings(&test, "max_dialogs = 0");
    collect(&test, FAR);
    assert_eq!(project.store().operation(old).unwrap(), None);
    for id in &newest {
        let kept = project.store().operation(*id).unwrap().unwrap();
        assert!(project.store().checkpoint(&kept.safety).unwrap().is_some());
    }
    assert_eq!(test.changes().len(), 2, "what came after them stays: {:?}", ids(&test.changes()));
    // The chain's parent is gone, and git does not mind.
    let exported = project.export_git(None, &mut |_, _| {}).unwrap();
    assert_eq!(git::run(&exported.folder, &["--git-dir", ".", "fsck", "--full"]), "");
    let count = git::run(&exported.folder, &["--git-dir", ".", "rev-list", "--count", "HEAD"]);
    assert_eq!(count, "10");
}

#[test]
fn an_interrupted_operation_keeps_everything_since() {
    let test = TestProject::new();
    start(&test);
    let project = test.open();
    let running = operation(&test, &project, OperationState::Running);
    // Recording goes on, but nothing is approved before it is settled.
    for name in ["d1", "d2"] {
        let work = Work::begin(&test, name);
        work.write("a.txt", format!("by {name}\n").as_bytes());
        work.write(&format!("{name}.txt"), format!("{name} alone\n").as_bytes());
    }
    for _ in 0..12 {
        operation(&test, &project, OperationState::Done);
    }
    settings(&test, "max_dialogs = 0");
    collect(&test, FAR);
    assert_eq!(project.store().unfinished_operation().unwrap().unwrap().id, running);
    assert_eq!(test.changes().len(), 4);
    let batch = project.store().batch().unwrap();
    batch.end_operation(running, OperationState::Done, false).unwrap();
    batch.commit().unwrap();
    collect(&test, FAR);
    assert_eq!(test.changes(), [], "nothing else keeps them");
}

#[test]
fn garbage_goes_even_if_no_record_does() {
    let test = TestProject::new();
    start(&test);
    let project = test.open();
    let garbage = encode(ObjectKind::Blob, b"nobody names this").unwrap();
    let batch = project.store().batch().unwrap();
    batch.put_object(&garbage).unwrap();
    batch.commit().unwrap();
    let done = collect(&test, FAR);
    assert_eq!((done.removed.objects, done.removed.changes), (1, 0));
    assert!(!project.store().has(&garbage.oid).unwrap());
}

#[test]
fn what_is_recorded_meanwhile_is_whole() {
    let test = TestProject::new();
    start(&test);
    approved(&test, &["d1", "d2", "d3", "d4", "d5", "d6"]);
    settings(&test, "max_dialogs = 1");
    let outer = test.outer().to_owned();
    let recorder = std::thread::spawn(move || {
        let test = TestProject::at(&outer);
        let project = test.open();
        for n in 0..40 {
            // Old content comes back just while it is collected.
            test.write("a.txt", format!("by d{}\n", n % 6 + 1));
            project.refresh(FAR + n).unwrap();
        }
    });
    for _ in 0..8 {
        test.open().collect_garbage(FAR, &mut |_, _| {}).unwrap();
    }
    recorder.join().unwrap();
    collect(&test, FAR);
    assert_eq!(test.changes().iter().filter(|change| change.at >= FAR).count(), 40);
}

/// Content that is garbage when the collection is planned, and named before it is swept.
#[test]
fn what_comes_back_between_two_steps_is_not_swept() {
    let test = TestProject::new();
    start(&test);
    approved(&test, &["d1", "d2", "d3"]);
    settings(&test, "max_dialogs = 1");
    let (project, other) = (test.open(), test.open());
    let mut told = 0;
    let done = project.collect_garbage(FAR, &mut |_, _| {
        told += 1;
        if told == 1 {
            test.write("a.txt", "by d1\n");
            assert_eq!(other.refresh(FAR).unwrap().changes.len(), 1);
        }
    });
    assert!(done.unwrap().complete && told > 1);
    assert_clean(&project);
    assert_eq!(project.content(&test.manifest("a.txt")).unwrap().unwrap(), b"by d1\n");
}

#[test]
fn settings_that_cannot_be_used_remove_nothing() {
    let test = TestProject::new();
    start(&test);
    approved(&test, &["d1"]);
    settings(&test, "max_dialog = 0");
    let error = test.open().collect_garbage(FAR, &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("max_dialog"), "{error}");
    assert_eq!(test.changes().len(), 2);
}

#[test]
fn a_fault_at_any_step_of_gc() {
    if child::role().is_some() {
        child::project().open().collect_garbage(FAR, &mut |_, _| {}).unwrap();
        return;
    }
    let test = TestProject::in_memory();
    start(&test);
    approved(&test, &["d1", "d2"]);
    let project = test.open();
    operation(&test, &project, OperationState::Done);
    let kept = Work::begin(&test, "d3");
    kept.write("a.txt", b"kept\n");
    kept.point("kept");
    let points = project.checkpoints(Some(&kept.dialog), 9).unwrap();
    assert_eq!(points.len(), 3, "the initial one, before the message, and by hand");
    for _ in 0..10 {
        operation(&test, &project, OperationState::Done);
    }
    settings(&test, "max_dialogs = 1");
    let before = test.changes();
    let expected = before[4..].to_vec();
    drop(project);
    let sweep = FaultSweep::new("gc", &test);
    for faults in ALL_FAULTS {
        sweep.run_each(faults, |done| {
            let project = test.open();
            assert_clean(&project);
            assert_whole(&test, &before);
            assert!(test.changes().ends_with(&expected), "{done}");
            assert_eq!(project.checkpoints(Some(&kept.dialog), 9).unwrap(), points, "{done}");
            collect(&test, FAR);
            assert_eq!(test.changes(), expected, "{done}");
            assert_eq!(dialogs(&test.open()), ["d3"], "{done}");
        });
    }
}
