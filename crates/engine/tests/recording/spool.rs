//! Events that could not be placed at once are taken in later, in order, and own what is theirs.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test plays the user, and fails loudly"
)]

use retake_engine::NoticeCode;
use retake_engine::model::{Actor, Event, EventKind};
use retake_testkit::TestProject;
use serde_json::json;

#[test]
fn an_event_that_finds_the_project_locked_is_spooled_and_taken_in_in_order() {
    let project = TestProject::new();
    std::fs::create_dir_all(project.home()).unwrap();
    std::fs::write(project.home().join("config.toml"), "[wait]\nevent_ms = 1\n").unwrap();
    project.write("a.txt", "one\n");
    let opened = project.init();
    let lock = std::fs::File::open(opened.store().folder().join("lock")).unwrap();
    lock.lock().unwrap();
    let input = json!({ "file_path": "a.txt", "content": "two\n" });
    let begun = project.record(&TestProject::begin("d1", "w1", "Write", input));
    assert_eq!(begun.notices[0].code, NoticeCode::Spooled);
    assert_eq!(begun.seq, None);
    project.write("a.txt", "two\n");
    project.write("mine.txt", "mine\n");
    project.record(&TestProject::end("d1", "w1"));
    assert_eq!(opened.status().unwrap().spooled, 2);
    drop(lock);
    project.record(&Event::new("d1", EventKind::TurnEnd { background: Vec::new() }));
    assert_eq!(opened.status().unwrap().spooled, 0);
    let events = opened.store().events_after(0, 100).unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    let after: Vec<_> =
        kinds.into_iter().filter(|kind| kind.contains('_') && *kind != "file_changed").collect();
    assert_eq!(after, ["tool_begin", "tool_end", "turn_end"]);
    let seen: Vec<_> = project
        .changes()
        .iter()
        .map(|change| format!("{} {} {}", change.path, change.actor, change.confidence))
        .collect();
    assert_eq!(seen, ["a.txt agent certain", "mine.txt user assumed"]);
}

#[test]
fn what_is_spooled_owns_what_it_aims_at_and_what_was_written_meanwhile() {
    let project = TestProject::new();
    std::fs::create_dir_all(project.home()).unwrap();
    std::fs::write(project.home().join("config.toml"), "[wait]\nevent_ms = 1\n").unwrap();
    project.write(".gitignore", ".env\n");
    project.write(".env", "SECRET\n");
    let opened = project.init();
    let lock = std::fs::File::open(opened.store().folder().join("lock")).unwrap();
    lock.lock().unwrap();
    let shell =
        |call, command: &str| TestProject::begin("d1", call, "Bash", json!({ "command": command }));
    opened.record(&shell("s1", "make; rm .env"), now()).unwrap();
    project.write("made.txt", "by make\n");
    project.shell("rm .env");
    std::thread::sleep(std::time::Duration::from_millis(30));
    opened.record(&TestProject::end("d1", "s1"), now()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    project.write("mine.txt", "by hand, after the end\n");
    drop(lock);
    opened.refresh(now()).unwrap();
    let seen: Vec<_> =
        project.changes().iter().map(|c| format!("{} {}", c.path, c.actor)).collect();
    assert_eq!(seen, ["made.txt agent", "mine.txt user"]);
    let gaps = opened.status().unwrap().gaps;
    assert!(gaps.iter().any(|(gap, _)| gap.path.as_bytes() == b".env"), "{gaps:?}");
}

#[test]
fn a_spooled_begin_does_not_own_what_was_written_before_it() {
    let project = TestProject::new();
    let seen = seen_after_spooling(&project, |spooler| {
        project.write("mine.txt", "by hand\n");
        spooler.push(&make("s1"));
        project.write("made.txt", "by make\n");
    });
    assert_eq!(seen, ["made.txt agent", "mine.txt user"]);
}

#[test]
fn a_spooled_turn_end_closes_windows_when_it_came() {
    let project = TestProject::new();
    let opened = project.init();
    opened.record(&make("s1"), now()).unwrap();
    let seen = seen_after_spooling(&project, |spooler| {
        project.write("made.txt", "by make\n");
        spooler.push(&Event::new("d1", EventKind::TurnEnd { background: Vec::new() }));
        project.write("mine.txt", "by hand\n");
    });
    assert_eq!(seen, ["made.txt agent", "mine.txt user"]);
}

#[test]
fn a_spooled_message_leaves_what_begins_after_it_open_and_in_its_turn() {
    let project = TestProject::new();
    project.init().record(&say("one"), now()).unwrap();
    let seen = seen_after_spooling(&project, |spooler| {
        spooler.push(&say("two"));
        spooler.push(&make("s1"));
    });
    assert_eq!(seen, [""; 0]);
    let call = project.open().store().call(&"d1".into(), &"s1".into()).unwrap().unwrap();
    assert_eq!((call.turn, call.state), (2, retake_store::CallState::Open));
    project.write("made.txt", "by make\n");
    let ended = project.open().record(&TestProject::end("d1", "s1"), now()).unwrap();
    assert_eq!(ended.changes[0].actor, Actor::Agent);
}

#[test]
fn a_spooled_command_that_could_destroy_anything_is_a_gap() {
    let project = TestProject::new();
    project.write(".gitignore", "*.env\n");
    project.write("a.env", "SECRET\n");
    seen_after_spooling(&project, |spooler| {
        let input = json!({ "command": "git clean -fdx" });
        spooler.push(&TestProject::begin("d1", "s1", "Bash", input));
        project.shell("rm a.env");
    });
    let gaps = project.open().status().unwrap().gaps;
    assert!(gaps.iter().any(|(gap, _)| gap.path.as_bytes() == b"*"), "{gaps:?}");
}

#[test]
fn an_event_that_is_nested_deep_survives_the_spool() {
    let project = TestProject::new();
    let deep = format!("{}1{}", "[".repeat(120), "]".repeat(120));
    let input = serde_json::from_str(&deep).unwrap();
    seen_after_spooling(&project, |spooler| {
        spooler.push(&TestProject::begin("d1", "x1", "Other", input));
    });
    assert!(project.open().store().call(&"d1".into(), &"x1".into()).unwrap().is_some());
}

#[test]
fn equal_calls_without_ids_that_waited_end_one_after_the_other() {
    let project = TestProject::new();
    let (tool, input) = ("Bash".to_owned(), json!({ "command": "make" }));
    let begin = EventKind::ToolBegin { call: None, tool: tool.clone(), input: input.clone() };
    let (call, ok, tool, background, task) = (None, Some(true), Some(tool), false, None);
    let end = EventKind::ToolEnd { call, ok, exit_code: None, tool, input, background, task };
    seen_after_spooling(&project, |spooler| {
        for _ in 0..2 {
            spooler.push(&Event::new("d1", begin.clone()));
            spooler.push(&Event::new("d1", end.clone()));
        }
    });
    project.write("mine.txt", "by hand\n");
    let opened = project.open();
    opened.refresh(now()).unwrap();
    assert_eq!(project.changes()[0].actor, Actor::User);
    assert!(opened.store().live_calls().unwrap().is_empty());
}

#[test]
fn a_spooled_batch_does_not_take_from_its_calls_what_they_did() {
    let project = TestProject::new();
    let seen = seen_after_spooling(&project, |spooler| {
        spooler.push(&make("s1"));
        project.write("made.txt", "by make\n");
        spooler.push(&TestProject::end("d1", "s1"));
        spooler.push(&Event::new("d1", EventKind::ToolsOver { calls: vec!["s1".into()] }));
        project.write("mine.txt", "by hand\n");
    });
    assert_eq!(seen, ["made.txt agent", "mine.txt user"]);
}

/// The first look of a large project may take longer than an agent waits.
#[test]
fn what_was_written_before_the_first_look_was_done_is_a_gap() {
    let project = TestProject::new();
    project.write("old.txt", "long before\n");
    project.write("a.txt", "before\n");
    std::thread::sleep(std::time::Duration::from_millis(60));
    let opened = project.retake().open_or_create(&project.root(), now()).unwrap();
    let keeper = opened.spool_writer();
    let at = now();
    keeper.push(&keeper.new_key(at), &make("s1"), at).unwrap();
    project.write("a.txt", "by make\n");
    opened.refresh(now()).unwrap();
    let gaps = opened.status().unwrap().gaps;
    let paths = gaps.iter().map(|(gap, _)| format!("{} {}", gap.path, gap.reason.as_str()));
    assert_eq!(paths.collect::<Vec<_>>(), ["a.txt before_first_look"]);
    assert!(opened.store().call(&"d1".into(), &"s1".into()).unwrap().is_some(), "taken in");
}

/// A project that another process holds while `story` is told; then it is looked at.
fn seen_after_spooling(project: &TestProject, story: impl FnOnce(&Spooler)) -> Vec<String> {
    let opened = project.init();
    let lock = std::fs::File::open(opened.store().folder().join("lock")).unwrap();
    lock.lock().unwrap();
    story(&Spooler { spool: retake_store::Spool::new(opened.store().folder()) });
    drop(lock);
    opened.refresh(now()).unwrap();
    project.changes().iter().map(|c| format!("{} {}", c.path, c.actor)).collect()
}

struct Spooler {
    spool: retake_store::Spool,
}

impl Spooler {
    /// Spools an event, well apart from what happens before and after it.
    fn push(&self, event: &Event) {
        let pause = std::time::Duration::from_millis(40);
        std::thread::sleep(pause);
        let at = now();
        self.spool.push(&self.spool.new_key(at), event, at).unwrap();
        std::thread::sleep(pause);
    }
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_millis() as i64
}

fn make(call: &str) -> Event {
    TestProject::begin("d1", call, "Bash", json!({ "command": "make" }))
}

fn say(text: &str) -> Event {
    Event::new("d1", EventKind::UserMessage { text: text.into() })
}
