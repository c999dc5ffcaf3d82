//! Whatever a client must redraw for is an event, in the transaction that did it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]

use retake_engine::model::{ChangeId, DialogId, Event, EventKind, JournalKind};
use retake_engine::{JournalEvent, Project, PurgeTarget, Selection, TakeBackOptions};
use retake_testkit::TestProject;
use serde_json::json;

use crate::support::Work;

fn start() -> TestProject {
    let test = TestProject::new();
    test.write("a.txt", "original\n");
    test.init();
    test
}

/// The events that something adds.
fn told(project: &Project, work: impl FnOnce()) -> Vec<JournalEvent> {
    let before = project.store().last_seq().unwrap();
    work();
    project.store().events_after(before, 1000).unwrap()
}

/// The statuses among events: change, status, session of the approval.
fn statuses(events: &[JournalEvent]) -> Vec<(String, String, Option<u64>)> {
    let of_status = events.iter().filter(|event| event.kind == JournalKind::FileChangeStatus);
    let row = |event: &JournalEvent| {
        let word = |key: &str| event.body[key].as_str().unwrap().to_owned();
        (word("change"), word("status"), event.body["approved"].as_u64())
    };
    of_status.map(row).collect()
}

fn each(
    ids: &[ChangeId],
    status: &str,
    approved: Option<u64>,
) -> Vec<(String, String, Option<u64>)> {
    ids.iter().map(|id| (id.to_string(), status.to_owned(), approved)).collect()
}

fn kinds(events: &[JournalEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

#[test]
fn each_verb_tells_the_status_of_each_change_that_it_decides_on() {
    let test = start();
    let work = Work::begin(&test, "d1");
    work.write("a.txt", b"one\n");
    work.write("b.txt", b"two\n");
    let project = &work.project;
    let ids: Vec<_> = test.changes().iter().map(|change| change.id).collect();
    let all = Selection { dialog: Some(DialogId("d1".into())), ..Selection::default() };
    let options = TakeBackOptions::default();

    let events = told(project, || drop(project.accept(&all, test.tick()).unwrap()));
    assert_eq!(statuses(&events), each(&ids, "accepted", None));
    let first = &events[0];
    assert_eq!((&first.dialog, first.call.as_ref().unwrap().0.as_str()), (&all.dialog, "d1-1"));
    assert_eq!(first.agent.as_ref().unwrap().0, "main");
    // What is accepted already is not told again.
    assert_eq!(told(project, || drop(project.accept(&all, test.tick()).unwrap())), []);

    let events = told(project, || {
        let (plan, _) = project.plan_undo(options, test.tick()).unwrap();
        project.apply(&plan, test.tick()).unwrap();
    });
    assert_eq!(statuses(&events), each(&ids, "reverted", None));
    let states: Vec<_> =
        events.iter().filter(|event| event.kind == JournalKind::Operation).collect();
    let [began, ended] = states[..] else { panic!("{events:?}") };
    assert_eq!((&began.body["state"], &ended.body["state"]), (&json!("running"), &json!("done")));
    assert_eq!(format!("o{}", began.seq), ended.body["operation"]);
    assert_eq!((&ended.body["written"], &ended.body["left"]), (&json!(2), &json!(0)));

    let events = told(project, || {
        let (plan, _) = project.plan_redo(options, test.tick()).unwrap();
        project.apply(&plan, test.tick()).unwrap();
    });
    // So does what Retake wrote to take them back, which is taken back now.
    assert!(statuses(&events).starts_with(&each(&ids, "accepted", None)), "{events:?}");
    let events = told(project, || {
        work.approve("good");
    });
    assert_eq!(statuses(&events), each(&ids, "accepted", Some(1)));
    assert!(kinds(&events).contains(&"approved"));
}

#[test]
fn a_reset_tells_that_the_work_session_is_abandoned() {
    let test = start();
    let work = Work::begin(&test, "d1");
    work.write("a.txt", b"one\n");
    let events = told(&work.project, || work.reset());
    let abandoned =
        events.iter().find(|event| event.kind == JournalKind::SessionAbandoned).unwrap();
    assert_eq!(abandoned.body, json!({ "session": "session_1", "new_session": "session_2" }));
    assert_eq!(abandoned.dialog, Some(work.dialog.clone()));
    assert_eq!(statuses(&events).len(), 1);
}

#[test]
fn gaps_are_told_when_they_open_and_when_they_close_and_only_then() {
    let test = start();
    let project = test.open();
    let limit = "[limits]\nmax_file_bytes = 10\n";
    std::fs::write(test.home().join("config.toml"), limit).unwrap();
    test.write("large.txt", "more than ten bytes\n");
    let gaps = |events: &[JournalEvent]| -> Vec<_> {
        let told = events.iter().filter(|event| event.kind == JournalKind::Gaps);
        told.map(|event| event.body.clone()).collect()
    };
    let events = told(&project, || drop(test.refresh()));
    assert_eq!(gaps(&events), [json!({ "opened": 1, "closed": 0 })]);
    assert_eq!(gaps(&told(&project, || drop(test.refresh()))), Vec::<serde_json::Value>::new());
    std::fs::remove_file(test.root().join("large.txt")).unwrap();
    let events = told(&project, || drop(test.refresh()));
    assert_eq!(gaps(&events), [json!({ "opened": 0, "closed": 1 })]);
}

#[test]
fn words_that_come_later_and_contents_that_go_are_told() {
    let test = start();
    let project = test.open();
    let what = EventKind::UserMessage { text: String::new() };
    let message = Event { message_index: Some(0), ..Event::new("d1", what) };
    test.record(&message);
    let dialog = DialogId("d1".into());
    let events = told(&project, || assert!(project.complete_message(&dialog, "hello").unwrap()));
    assert_eq!(kinds(&events), ["message_completed"]);
    assert_eq!(events[0].dialog, Some(dialog));
    let target = PurgeTarget::Path("a.txt".parse().unwrap());
    let events = told(&project, || drop(project.purge(&target, test.tick()).unwrap()));
    assert_eq!(kinds(&events), ["purged"]);
}

#[test]
fn what_was_removed_from_the_stream_is_known() {
    let test = start();
    for dialog in ["d1", "d2"] {
        let work = Work::begin(&test, dialog);
        work.write("a.txt", dialog.as_bytes());
        work.approve("good");
    }
    std::fs::write(test.home().join("config.toml"), "[retention]\nmax_dialogs = 1\n").unwrap();
    let project = test.open();
    assert_eq!(project.store().event_page(0, 1).unwrap().removed, 0);
    let events = told(&project, || {
        project.collect_garbage(1_700_000_000_000 + 400 * 86_400_000, &mut |_, _| {}).unwrap();
    });
    assert_eq!(kinds(&events), ["collected"]);
    let page = project.store().event_page(0, 1).unwrap();
    assert!(page.removed > 0 && page.removed < page.events[0].seq, "{page:?}");
    assert_eq!(page.last, events[0].seq);
}
