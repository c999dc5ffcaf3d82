//! Who said what is on record, and how that is known.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test plays the user, and fails loudly"
)]

use std::time::Duration;

use retake_engine::model::{
    Caller, CallerChannel, CallerEvidence, Event, EventKind, JournalKind, ProcessKey,
};
use retake_engine::{Project, Selection, Submission, TakeBackOptions};
use retake_testkit::TestProject;
use serde_json::json;

fn hook(project: &Project, test: &TestProject, event: Event) {
    let at = test.tick();
    let key = project.spool_writer().new_key(at);
    let said_by = Caller::hook_of(&event);
    project.submit(&Submission::new(key, event, at).said_by(said_by)).unwrap();
}

fn person() -> Caller {
    Caller::person(CallerChannel::CommandLine, CallerEvidence::Peer)
}

/// The kinds of the journal with their callers, as `kind channel`.
fn journal(project: &Project) -> Vec<(JournalKind, Option<CallerChannel>)> {
    let events = project.store().events_after(0, 100).unwrap();
    events.into_iter().map(|event| (event.kind, event.said_by.map(|by| by.channel))).collect()
}

/// One edit by a hook, taken back by the person.
fn edited(test: &TestProject) -> Project {
    test.write("a.txt", "one\n");
    let project = test.init();
    let say = EventKind::UserMessage { text: "go".into() };
    hook(&project, test, Event::new("d1", say));
    let input = json!({ "file_path": "a.txt", "content": "two\n" });
    hook(&project, test, TestProject::begin("d1", "w1", "Write", input));
    test.write("a.txt", "two\n");
    hook(&project, test, TestProject::end("d1", "w1"));
    project
}

#[test]
fn every_row_has_the_caller_who_said_it() {
    let test = TestProject::new();
    let project = edited(&test);
    let agent = Caller::hook_of(&Event::new("d1", EventKind::DialogEnd {}));
    let changes = test.changes();
    assert_eq!(changes[0].said_by.as_ref(), Some(&agent), "found with the hook's event");
    let before = project.checkpoints(Some(&"d1".into()), 9).unwrap();
    assert!(before.iter().all(|point| point.said_by.as_ref() == Some(&agent)), "{before:?}");

    project.set_caller(person());
    let made = project.checkpoint(None, None, test.tick()).unwrap();
    assert_eq!(made.said_by, Some(person()));
    assert_eq!(project.checkpoints(None, 1).unwrap()[0].said_by, Some(person()));
    let selection = Selection::default();
    let plan = project.plan_reject(&selection, TakeBackOptions::default(), test.tick()).unwrap();
    let done = project.apply(&plan, test.tick()).unwrap();
    assert_eq!(done.operation.unwrap().said_by, Some(person()));
    assert_eq!(project.operations(1).unwrap()[0].said_by, Some(person()));
    assert_eq!(test.changes().last().unwrap().said_by, Some(person()), "the operation's own");

    let journal = journal(&project);
    assert!(journal.iter().all(|(_, channel)| channel.is_some()), "{journal:?}");
    let first = journal.iter().position(|(_, by)| *by == Some(CallerChannel::CommandLine)).unwrap();
    let is_library =
        |(_, by): &(JournalKind, Option<CallerChannel>)| *by == Some(CallerChannel::Library);
    assert!(is_library(&journal[0]), "init named no caller: {journal:?}");
    assert!(!journal[first..].iter().any(is_library), "{journal:?}");
    assert!(journal.contains(&(JournalKind::FileChangeStatus, Some(CallerChannel::CommandLine))));
}

#[test]
fn a_spooled_event_keeps_its_caller_and_a_line_of_an_earlier_version_has_none() {
    let test = TestProject::new();
    let project = test.init();
    let spool = retake_store::Spool::new(project.store().folder());
    let event = |text: &str| Event::new("d1", EventKind::UserMessage { text: text.into() });
    let mut submission = Submission::new("k1", event("one"), test.tick());
    submission = submission.said_by(Caller::hook_of(&event("one")));
    submission.origin.process = Some(ProcessKey { pid: 7, started: "1".into() });
    project.spool_writer().push_submission(&submission).unwrap();
    spool.push("k2", &event("two"), test.tick()).unwrap();
    let file = project.store().folder().join("spool.jsonl");
    let lines = std::fs::read_to_string(&file).unwrap();
    assert_eq!(lines.matches("\"origin\"").count(), 1, "{lines}");
    let unknown = lines.replace("\"channel\":\"hook\"", "\"channel\":\"telepathy\"");
    std::fs::write(&file, lines + &unknown.replace("\"id\":\"k", "\"id\":\"n")).unwrap();
    project.set_caller(person());
    project.refresh(test.tick()).unwrap();
    let said = |(kind, by): (JournalKind, Option<CallerChannel>)| {
        (kind == JournalKind::UserMessage).then_some(by)
    };
    let channels: Vec<_> = journal(&project).into_iter().filter_map(said).collect();
    // What drained the spool says what has no caller of its own, or one that it cannot read.
    let (hook, line) = (Some(CallerChannel::Hook), Some(CallerChannel::CommandLine));
    assert_eq!(channels, [hook, line, line, line]);
}

#[test]
fn the_process_of_an_agent_stands_beside_its_call() {
    let test = TestProject::new();
    let project = test.init();
    let at = test.tick();
    let begin = TestProject::begin("d1", "b1", "Bash", json!({ "command": "make" }));
    let mut submission = Submission::new("k1", begin, at);
    let process = ProcessKey { pid: 12, started: "345".into() };
    submission.origin.process = Some(process.clone());
    project.submit(&submission).unwrap();
    let call = project.store().call(&"d1".into(), &"b1".into()).unwrap().unwrap();
    assert_eq!(call.process, Some(process));
}

#[test]
fn rows_of_earlier_versions_have_no_caller() {
    let test = TestProject::new();
    let project = edited(&test);
    let folder = project.store().folder().to_owned();
    drop(project);
    let db = rusqlite::Connection::open(folder.join("retake.db")).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    db.execute_batch("UPDATE event SET caller = NULL; DELETE FROM caller").unwrap();
    drop(db);
    let project = test.open();
    assert!(journal(&project).iter().all(|(_, channel)| channel.is_none()));
    assert_eq!(test.changes()[0].said_by, None);
    assert_eq!(project.checkpoints(None, 1).unwrap()[0].said_by, None);
}
