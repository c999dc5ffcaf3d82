//! What happened while nothing ran.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

use std::time::{SystemTime, UNIX_EPOCH};

use retake_engine::model::{Actor, Change, JournalKind, Millis};
use retake_engine::{JournalEvent, Project, RefreshOutcome};
use retake_testkit::TestProject;
use serde_json::json;

const MINUTE: Millis = 60_000;

fn now() -> Millis {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as Millis
}

fn reconciled(project: &Project, at: Millis) -> (RefreshOutcome, Vec<JournalEvent>) {
    let before = project.store().last_seq().unwrap();
    let looked = project.reconcile(at).unwrap();
    let mut events = project.store().events_after(before, 1000).unwrap();
    events.retain(|event| event.kind == JournalKind::Reconciled);
    (looked, events)
}

fn by(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| format!("{} {}", change.path, change.actor)).collect()
}

#[test]
fn what_was_found_is_told_once_and_nothing_is_not_told() {
    let test = TestProject::new();
    test.write("a.txt", "one\n");
    let project = test.init();
    let (looked, events) = reconciled(&project, test.tick());
    assert!(looked.whole && looked.changes.is_empty() && events.is_empty());
    let last = project.store().last_seq().unwrap();
    test.write("a.txt", "two\n");
    test.write("b.txt", "new\n");
    let (looked, events) = reconciled(&project, test.tick());
    assert_eq!(by(&looked.changes), ["a.txt user", "b.txt user"]);
    let body = &events[0].body;
    assert_eq!((&body["changes"], &body["actors"]), (&json!(2), &json!({ "user": 2 })));
    assert_eq!((&body["gaps"], &body["open_dialogs"]), (&json!(0), &json!([])));
    let known = project.store().events_after(0, 1000).unwrap();
    let before = known.iter().rfind(|event| event.seq <= last).unwrap().at;
    assert_eq!(body["last_event_at"], before);
    let (_, events) = reconciled(&project, test.tick());
    assert_eq!(events, []);
}

#[test]
fn what_waited_is_taken_in_first_and_counts() {
    let test = TestProject::new();
    test.write("a.txt", "one\n");
    let project = test.init();
    let keeper = project.spool_writer();
    let input = json!({ "file_path": "a.txt", "content": "two\n" });
    let begin = TestProject::begin("d1", "w1", "Write", input);
    keeper.push(&keeper.new_key(test.tick()), &begin, test.tick()).unwrap();
    test.write("a.txt", "two\n");
    let end = TestProject::end("d1", "w1");
    keeper.push(&keeper.new_key(test.tick()), &end, test.tick()).unwrap();
    let (_, events) = reconciled(&project, test.tick());
    assert_eq!(by(&test.changes()), ["a.txt agent"]);
    let body = &events[0].body;
    assert_eq!((&body["changes"], &body["actors"]), (&json!(1), &json!({ "agent": 1 })));
    assert_eq!(body["open_dialogs"], json!(["d1"]));
}

#[test]
fn a_call_that_just_began_keeps_its_window() {
    let test = TestProject::new();
    test.write("a.txt", "one\n");
    test.write("gone.txt", "one\n");
    let project = test.init();
    let begin = TestProject::begin("d1", "s1", "Bash", json!({ "command": "make" }));
    project.record(&begin, now()).unwrap();
    test.write("a.txt", "two\n");
    test.shell("rm gone.txt");
    let (looked, events) = reconciled(&project, now() + 9 * MINUTE);
    assert_eq!(by(&looked.changes), ["a.txt agent", "gone.txt agent"]);
    assert_eq!(events[0].body["calls_closed"], 0);
}

#[test]
fn what_an_agent_that_died_left_open_owns_only_what_it_could_have_done() {
    let test = TestProject::new();
    for name in ["a.txt", "b.txt", "aim.txt", "gone.txt"] {
        test.write(name, "one\n");
    }
    let project = test.init();
    // It began half an hour ago and was never heard of again.
    let begin = TestProject::begin("d1", "s1", "Bash", json!({ "command": "make > aim.txt" }));
    project.record(&begin, now() - 30 * MINUTE).unwrap();
    test.write("a.txt", "while it could run\n");
    test.shell("touch -d '-28 minutes' a.txt");
    test.write("b.txt", "long after\n");
    test.write("aim.txt", "long after\n");
    test.shell("rm gone.txt");
    let (looked, events) = reconciled(&project, now());
    let who = by(&looked.changes);
    assert_eq!(who, ["a.txt agent", "aim.txt agent", "b.txt user", "gone.txt user"]);
    let body = &events[0].body;
    assert_eq!((&body["calls_closed"], &body["open_dialogs"]), (&json!(1), &json!(["d1"])));
    // Its window is closed now.
    test.write("b.txt", "later still\n");
    let looked = project.refresh(now()).unwrap();
    assert_eq!((looked.changes.len(), looked.changes[0].actor), (1, Actor::User));
    // Should it have lived, its end is heard.
    test.write("aim.txt", "its last words\n");
    let ended = project.record(&TestProject::end("d1", "s1"), now()).unwrap();
    assert_eq!(by(&ended.changes), ["aim.txt agent"]);
}
