//! A command whose agent did not wait until the project was looked at.
//!
//! The look goes on, what is found is told apart by the files' own times, and what the command
//! changed before anybody saw it is named: the person may have saved it just before.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use retake_engine::model::{Actor, Change, GapReason, Millis};
use retake_engine::{Project, Submission};
use retake_testkit::{TestProject, play};
use serde_json::json;

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as Millis
}

fn by(changes: &[Change]) -> Vec<(String, Actor)> {
    changes.iter().map(|change| (change.path.to_string(), change.actor)).collect()
}

/// The person edits and deletes, an agent asks for `make`, and before the look is done it has
/// edited, made and deleted files, too.
fn began_before_the_look(test: &TestProject) -> Millis {
    for name in ["by user.txt", "by make.txt", "d/gone by make.txt"] {
        test.write(name, "one\n");
    }
    test.init();
    play(test, "say d1: go");
    test.write("by user.txt", "two\n");
    std::thread::sleep(Duration::from_millis(50));
    let began = now();
    test.write("by make.txt", "two\n");
    test.write("made.txt", "new\n");
    test.shell("touch -d 2001-01-01 made.txt; rm 'd/gone by make.txt'");
    began
}

fn begin(at: Millis, deadline: Option<Millis>) -> Submission {
    let event = TestProject::begin("d1", "s1", "Bash", json!({ "command": "make" }));
    let mut submission = Submission::new("k1", event, at);
    submission.deadline = deadline;
    submission
}

fn gaps(project: &Project) -> Vec<(String, GapReason)> {
    let gaps = project.status().unwrap().gaps;
    gaps.into_iter().map(|(gap, _)| (gap.path.to_string(), gap.reason)).collect()
}

#[test]
fn what_a_command_did_before_it_was_looked_at_is_its_own_and_named() {
    let test = TestProject::new();
    let began = began_before_the_look(&test);
    let mut project = test.open();
    project.set_clock(|| Millis::MAX);
    let recorded = project.submit(&begin(began, Some(began + 2_000))).unwrap();
    let (agent, user) = (Actor::Agent, Actor::User);
    let expected = [
        ("by make.txt", agent),
        ("by user.txt", user),
        ("d/gone by make.txt", agent),
        ("made.txt", agent),
    ];
    assert_eq!(by(&recorded.changes), expected.map(|(path, by)| (path.to_owned(), by)));
    let named = ["by make.txt", "d/gone by make.txt", "made.txt"];
    let named = named.map(|path| (path.to_owned(), GapReason::NotLooked));
    assert_eq!(gaps(&project), named);
    let told: Vec<_> = recorded.notices.iter().map(|notice| notice.message.as_str()).collect();
    assert!(told.iter().any(|text| text.contains("by make.txt")), "{told:?}");
}

#[test]
fn what_could_not_be_shielded_in_time_is_named() {
    let test = TestProject::new();
    test.write(".gitignore", ".env\n");
    test.write(".env", "mine\n");
    test.init();
    play(&test, "say d1: go");
    let mut project = test.open();
    project.set_clock(|| Millis::MAX);
    let event = TestProject::begin("d1", "s1", "Bash", json!({ "command": "rm .env" }));
    let mut submission = Submission::new("k1", event, now());
    submission.deadline = Some(now());
    project.submit(&submission).unwrap();
    assert_eq!(gaps(&project), [(".env".to_owned(), GapReason::NotShielded)]);
}

#[test]
fn an_agent_that_waits_has_done_nothing_yet() {
    let test = TestProject::new();
    let began = began_before_the_look(&test);
    let mut project = test.open();
    project.set_clock(|| 0);
    for deadline in [None, Some(began + 2_000)] {
        let recorded = project.submit(&begin(began, deadline)).unwrap();
        assert!(recorded.changes.iter().all(|change| change.actor == Actor::User));
        assert_eq!(gaps(&project), []);
    }
}

#[test]
fn an_event_that_waited_in_the_spool_says_the_same() {
    let test = TestProject::new();
    let began = began_before_the_look(&test);
    let parcel = begin(began, None);
    test.open().spool_writer().push(&parcel.key, &parcel.event, parcel.at).unwrap();
    let project = test.open();
    project.refresh(now()).unwrap();
    let by_agent: Vec<_> = by(&test.changes())
        .into_iter()
        .filter(|(_, actor)| *actor == Actor::Agent)
        .map(|(path, _)| path)
        .collect();
    assert_eq!(by_agent, ["by make.txt", "d/gone by make.txt", "made.txt"]);
    assert_eq!(gaps(&project).len(), 3);
}
