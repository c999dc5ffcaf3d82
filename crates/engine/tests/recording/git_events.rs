//! What git does in bulk is one event, seen where the eyes say.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

use retake_engine::model::{Actor, Change};
use retake_engine::{JournalEvent, Project};
use retake_testkit::{ListingHints, TestProject, git};

/// A repository with two branches that differ in so many files.
fn two_branches(files: usize) -> TestProject {
    let test = TestProject::new();
    let root = test.root();
    let write = |text: &str| {
        for number in 0..files {
            test.write(&format!("src/{}/{number}.txt", number % 9), format!("{text} {number}\n"));
        }
    };
    write("main");
    test.write("mine.txt", "mine\n");
    git::run(&root, &["init", "-q", "."]);
    git::run(&root, &["add", "-A"]);
    git::run(&root, &["commit", "-qm", "one"]);
    git::run(&root, &["checkout", "-qb", "other"]);
    write("other");
    git::run(&root, &["commit", "-qam", "two"]);
    git::run(&root, &["checkout", "-q", "main"]);
    test
}

fn watched(test: &TestProject) -> Project {
    let mut project = test.init();
    let rules = project.watch_rules().unwrap();
    project.set_hint_source(Box::new(ListingHints::open(&test.root(), rules.clone())), rules);
    assert!(project.refresh(test.tick()).unwrap().whole);
    project
}

/// Runs git commands and looks, narrowly: the changes and the events that came of it.
fn after(
    test: &TestProject,
    project: &Project,
    commands: &[&[&str]],
) -> (Vec<Change>, Vec<JournalEvent>) {
    let before = project.store().last_seq().unwrap();
    for command in commands {
        git::run(&test.root(), command);
    }
    let looked = project.refresh_in_background(test.tick()).unwrap();
    assert!(!looked.whole && !looked.postponed);
    (looked.changes, project.store().events_after(before, 10_000).unwrap())
}

/// The one event of git's that these are.
fn the_one_of_git(changes: &[Change], events: &[JournalEvent]) -> serde_json::Value {
    let others: Vec<_> = changes.iter().filter(|change| change.actor != Actor::Git).collect();
    assert!(others.is_empty(), "{others:?}");
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["git"]);
    assert_eq!(events[0].body["changes"], changes.len());
    events[0].body.clone()
}

#[test]
fn a_switch_of_200_files_is_one_event() {
    let test = two_branches(200);
    let project = watched(&test);
    let (changes, events) = after(&test, &project, &[&["checkout", "-q", "other"]]);
    assert_eq!(changes.len(), 200);
    let body = the_one_of_git(&changes, &events);
    assert_eq!((&body["from"], &body["to"]), (&"main".into(), &"other".into()));
    assert_eq!(body["actions"][0], "checkout: moving from main to other");
    // A detached HEAD is named by its commit.
    let commit = git::run(&test.root(), &["rev-parse", "main"]);
    let (changes, events) = after(&test, &project, &[&["checkout", "-q", &commit]]);
    assert_eq!(the_one_of_git(&changes, &events)["to"], commit);
}

#[test]
fn an_edit_beside_a_switch_stays_the_users() {
    let test = two_branches(3);
    let project = watched(&test);
    test.write("mine.txt", "edited\n");
    let (changes, _) = after(&test, &project, &[&["checkout", "-q", "other"]]);
    let by: Vec<_> = changes.iter().map(|it| format!("{} {}", it.path, it.actor)).collect();
    assert_eq!(by, ["mine.txt user", "src/0/0.txt git", "src/1/1.txt git", "src/2/2.txt git"]);
}

#[test]
fn a_rebase_of_five_commits_is_one_event() {
    let test = two_branches(3);
    let root = test.root();
    git::run(&root, &["checkout", "-qb", "topic", "main"]);
    for number in 0..5 {
        test.write(&format!("topic/{number}.txt"), format!("{number}\n"));
        git::run(&root, &["add", "-A"]);
        git::run(&root, &["commit", "-qm", &format!("step {number}")]);
    }
    let project = watched(&test);
    let (changes, events) = after(&test, &project, &[&["rebase", "-q", "other"]]);
    assert_eq!(changes.len(), 3, "the files of `topic` came and went: {changes:?}");
    let body = the_one_of_git(&changes, &events);
    assert_eq!((&body["from"], &body["to"]), (&"topic".into(), &"topic".into()));
    assert!(body["actions"].to_string().contains("rebase"), "{body}");
}

#[test]
fn a_stash_and_its_return_are_one_event_each() {
    let test = two_branches(6);
    let project = watched(&test);
    for number in 0..4 {
        test.write(&format!("src/{number}/{number}.txt"), "edited\n");
    }
    test.write("new.txt", "new\n");
    let edited = project.refresh(test.tick()).unwrap().changes;
    assert!(edited.iter().all(|change| change.actor == Actor::User));
    for command in [["stash", "push", "-qu"], ["stash", "pop", "-q"]] {
        let command: Vec<_> = command.into_iter().collect();
        let (changes, events) = after(&test, &project, &[&command]);
        assert_eq!(changes.len(), 5, "{command:?}: {changes:?}");
        let body = the_one_of_git(&changes, &events);
        assert_eq!((&body["from"], &body["to"]), (&"main".into(), &"main".into()));
    }
    test.write("src/0/0.txt", "by hand\n");
    assert_eq!(project.refresh(test.tick()).unwrap().changes[0].actor, Actor::User);
}
