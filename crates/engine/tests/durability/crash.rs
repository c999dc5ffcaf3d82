//! A kill or an error at any write loses nothing that was acknowledged.
//!
//! The child records a short story and says `ack` after each event that was
//! acknowledged. It is killed before its 1st, 2nd, 3rd … write, or that fails;
//! each time the parent opens the same store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use retake_engine::model::{Event, EventKind, JournalKind, ProjectPath};
use retake_engine::{ChangeFilter, JournalEvent, Project, Submission};
use retake_testkit::sweep::{
    ALL_FAULTS, ERROR_FAULTS, FaultSweep, InjectedFault, KILL_FAULTS, SweepRun,
};
use retake_testkit::{TestProject, child};
use serde_json::json;

mod decisions;
mod migration;
mod reviews;
mod salvage;
mod strace;

const FILES: usize = 3;

#[test]
fn kill_between_any_two_writes_of_a_record() {
    if child::role().is_some() {
        return tell_story();
    }
    let project = prepared();
    let sweep = FaultSweep::new("record", &project);
    sweep.run_each(&KILL_FAULTS, |done| verify_story(&project, &done.acks));
}

/// A disk that is full or broken at any write: the event is spooled or refused, nothing acknowledged
/// is lost.
#[test]
fn an_error_at_any_write_of_a_record() {
    if child::role().is_some() {
        return tell_story_to_the_end();
    }
    let project = prepared();
    let sweep = FaultSweep::new("record", &project);
    let verify = |done: &SweepRun| {
        let opened = project.open();
        opened.refresh(project.tick()).unwrap();
        assert_clean(&opened);
        assert_eq!(opened.status().unwrap().spooled, 0, "{done}");
        let events = opened.store().events_after(0, 1000).unwrap();
        for ack in &done.acks {
            let is_it = |event: &&JournalEvent| event.body["text"].as_str() == Some(ack);
            let times = events.iter().filter(is_it).count();
            assert_eq!(times, 1, "{ack} was acknowledged, and is there {times} times: {done}");
        }
    };
    sweep.run_each(&ERROR_FAULTS, verify);
    sweep.run_each(&[InjectedFault::Short], verify);
}

#[test]
fn a_fault_at_any_write_of_init() {
    if child::role().is_some() {
        let project = child::project();
        let options = retake_engine::InitOptions::default();
        let made = project.retake().init(&project.root(), options, project.tick(), &mut |_, _| {});
        if made.is_ok() {
            child::acknowledge("init");
        }
        return;
    }
    let project = with_files();
    let sweep = FaultSweep::new("init", &project);
    for faults in ALL_FAULTS {
        sweep.run_each(faults, |done| {
            if !done.acks.is_empty() {
                assert_eq!(project.open().status().unwrap().files, FILES as u64, "{done}");
            }
            let opened = project.init(); // what a person would do: run it again
            assert_clean(&opened);
            assert_eq!(opened.status().unwrap().files, FILES as u64, "{done}");
            assert!(project.changes().is_empty(), "the first look is baseline: {done}");
        });
    }
}

#[test]
fn a_fault_while_spooling_and_taking_in() {
    if child::role().is_some() {
        return spool_story();
    }
    let project = prepared();
    let sweep = FaultSweep::new("spool", &project);
    for faults in ALL_FAULTS {
        sweep.run_each(faults, |done| verify_spool(&project, &done.acks));
    }
}

#[test]
fn a_fault_at_any_write_of_a_group() {
    if child::role().is_some() {
        return tell_story_in_groups();
    }
    let project = prepared();
    let sweep = FaultSweep::new("group", &project);
    for faults in ALL_FAULTS {
        sweep.run_each(faults, |done| verify_groups(&project, &done.acks));
    }
}

fn with_files() -> TestProject {
    let project = TestProject::in_memory();
    for n in 0..FILES {
        project.write(&format!("f{n}.txt"), format!("original {n}\n"));
    }
    project
}

fn prepared() -> TestProject {
    let project = with_files();
    project.init();
    project
}

/// Each file is written by a tool; the end of each call is acknowledged with its name.
fn tell_story() {
    let project = child::project();
    for n in 0..FILES {
        let (path, call) = (format!("f{n}.txt"), format!("w{n}"));
        let text = format!("agent {n}\n");
        let input = json!({ "file_path": path, "content": text });
        project.record(&TestProject::begin("d1", &call, "Write", input));
        project.write(&path, text);
        project.record(&TestProject::end("d1", &call));
        child::acknowledge(&path);
    }
    project.record(&Event::new("d1", EventKind::TurnEnd { background: Vec::new() }));
}

/// Calls begin in one group and end in another; in between they have written their files.
fn tell_story_in_groups() {
    let project = child::project();
    let Ok(opened) = project.retake().open(&project.root()) else { return };
    let deliver = |events: Vec<Event>| {
        let parcel = |event| {
            let at = project.tick();
            Submission::new(opened.spool_writer().new_key(at), event, at)
        };
        let parcels: Vec<_> = events.into_iter().map(parcel).collect();
        for (parcel, result) in parcels.iter().zip(opened.submit_all(&parcels)) {
            if result.is_ok() {
                child::acknowledge(&label(&parcel.event));
            }
        }
    };
    let text = |n: usize| format!("agent {n}\n");
    let begin = |n: usize| {
        let input = json!({ "file_path": format!("f{n}.txt"), "content": text(n) });
        TestProject::begin("d1", &format!("w{n}"), "Write", input)
    };
    let say = |text: &str| Event::new("d1", EventKind::UserMessage { text: text.into() });
    deliver(std::iter::once(say("1")).chain((0..FILES).map(begin)).collect());
    for n in 0..FILES {
        project.write(&format!("f{n}.txt"), text(n));
    }
    let end = |n: usize| TestProject::end("d1", &format!("w{n}"));
    deliver((0..FILES).map(end).chain(std::iter::once(say("2"))).collect());
}

/// What an event is called in the story of the groups.
fn label(event: &Event) -> String {
    match &event.what {
        EventKind::UserMessage { text } => text.clone(),
        EventKind::ToolBegin { call: Some(call), .. } => format!("begin {call}"),
        EventKind::ToolEnd { call: Some(call), .. } => format!("end {call}"),
        other => panic!("not in the story: {other:?}"),
    }
}

/// Whatever was acknowledged is there, once and in order, with what it showed.
fn verify_groups(project: &TestProject, acks: &[String]) {
    let opened = project.open();
    opened.refresh(project.tick()).unwrap();
    assert_clean(&opened);
    assert_eq!(opened.status().unwrap().spooled, 0);
    let events = opened.store().events_after(0, 1000).unwrap();
    let name = |event: &JournalEvent| match (event.kind.as_str(), &event.call) {
        ("user_message", _) => event.body["text"].as_str().map(ToOwned::to_owned),
        ("tool_begin", Some(call)) => Some(format!("begin {call}")),
        ("tool_end", Some(call)) => Some(format!("end {call}")),
        _ => None,
    };
    let recorded: Vec<_> = events.iter().filter_map(name).collect();
    let story = ["1", "begin w0", "begin w1", "begin w2", "end w0", "end w1", "end w2", "2"];
    let in_order = story.iter().filter(|label| recorded.iter().any(|known| known == *label));
    assert_eq!(recorded, in_order.copied().collect::<Vec<_>>(), "once and in order");
    for ack in acks {
        assert!(recorded.contains(ack), "{ack} was acknowledged: {recorded:?}");
    }
    for n in 0..FILES {
        let path = format!("f{n}.txt");
        let on_disk = project.read(&path);
        let changes = changes_of(&opened, &path);
        let expected = usize::from(on_disk.starts_with(b"agent"));
        assert_eq!(changes.len(), expected, "{path}: {changes:?}");
        let Some(change) = changes.last() else { continue };
        assert_eq!(opened.content(&change.after).unwrap(), Some(on_disk));
        if recorded.contains(&format!("begin w{n}")) {
            assert_eq!(change.call.as_ref().unwrap().0, format!("w{n}"));
        }
    }
}

/// Goes on whatever fails, and acknowledges the messages that were taken.
fn tell_story_to_the_end() {
    let project = child::project();
    for text in ["1", "2", "3"] {
        let Ok(opened) = project.retake().open(&project.root()) else { continue };
        project.write("f0.txt", text);
        let event = Event::new("d1", EventKind::UserMessage { text: text.into() });
        if opened.record(&event, project.tick()).is_ok() {
            child::acknowledge(text);
        }
    }
}

fn verify_story(project: &TestProject, acks: &[String]) {
    let opened = project.open();
    assert_clean(&opened);
    for path in acks {
        let changes = changes_of(&opened, path);
        let [change] = changes.as_slice() else { panic!("{path}: {changes:?}") };
        let n = path.trim_start_matches('f').trim_end_matches(".txt");
        let text = |side| String::from_utf8(opened.content(side).unwrap().unwrap()).unwrap();
        assert_eq!(text(&change.before), format!("original {n}\n"));
        assert_eq!(text(&change.after), format!("agent {n}\n"));
        assert_eq!(change.call.as_ref().unwrap().0, format!("w{n}"));
    }
    // What was not acknowledged is found by the next look; nothing is counted twice.
    opened.refresh(project.tick()).unwrap();
    assert_clean(&opened);
    for n in 0..FILES {
        let path = format!("f{n}.txt");
        let on_disk = project.read(&path);
        let expected = usize::from(on_disk.starts_with(b"agent"));
        let changes = changes_of(&opened, &path);
        assert_eq!(changes.len(), expected, "{path}: {changes:?}");
        if let Some(change) = changes.last() {
            assert_eq!(opened.content(&change.after).unwrap(), Some(on_disk));
        }
    }
}

/// Messages are spooled while the project is locked, then taken in by the next record.
fn spool_story() {
    let project = child::project();
    let opened = project.open();
    let say = |text: &str| Event::new("d1", EventKind::UserMessage { text: text.into() });
    let lock = std::fs::File::open(opened.store().folder().join("lock")).unwrap();
    lock.lock().unwrap();
    let spool = retake_store::Spool::new(opened.store().folder());
    for text in ["1", "2"] {
        let at = project.tick();
        if spool.push(&spool.new_key(at), &say(text), at).is_ok() {
            child::acknowledge(text);
        }
    }
    drop(lock);
    for text in ["3", "4"] {
        if opened.record(&say(text), project.tick()).is_ok() {
            child::acknowledge(text);
        }
    }
}

/// Whatever was acknowledged is there once, in order.
fn verify_spool(project: &TestProject, acks: &[String]) {
    let opened = project.open();
    opened.refresh(project.tick()).unwrap();
    let events = opened.store().events_after(0, 1000).unwrap();
    let messages: Vec<_> = events
        .iter()
        .filter(|event| event.kind == JournalKind::UserMessage)
        .filter_map(|event| event.body["text"].as_str())
        .collect();
    for ack in acks {
        let times = messages.iter().filter(|text| *text == ack).count();
        assert_eq!(times, 1, "{ack} was acknowledged, and is there {times} times");
    }
    let mut sorted = messages.clone();
    sorted.sort_unstable();
    assert_eq!(messages, sorted, "in order");
    assert_clean(&opened);
}

fn changes_of(project: &Project, path: &str) -> Vec<retake_engine::model::Change> {
    let path: ProjectPath = path.parse().unwrap();
    project.changes(&ChangeFilter { path: Some(path), ..ChangeFilter::default() }).unwrap()
}

fn assert_clean(project: &Project) {
    let found = project.check_health(true, &mut |_, _| {}).unwrap().verification;
    assert_eq!(found.problems, []);
}
