//! An older database becomes a newer one wholly or not at all, and keeps everything.
//!
//! The database is one of a program that wrote this schema: it did the story below, from the
//! outside, and what it left was dumped by SQLite.

use std::fmt::Write as _;

use retake_engine::model::PathState;
use retake_store::SCHEMA_VERSION;
use retake_testkit::sweep::{ALL_FAULTS, FaultSweep};
use retake_testkit::{TestProject, child, expect, play};
use rusqlite::Connection;

use super::assert_clean;

/// What the story left: an agent edits a.txt, writes b.txt and removes c.txt; the person adds a line
/// to a.txt, accepts b.txt, and rejects the removal.
const FILES: [(&str, &str); 3] =
    [("a.txt", "one\nTWO\nthree\nmine\n"), ("b.txt", "new\n"), ("sub/c.txt", "sea\n")];

const OLD: u32 = 3;
const DUMP: &str = include_str!("databases/v3.sql");

/// A project as that program left it.
fn old_project() -> TestProject {
    let project = TestProject::in_memory();
    for (name, text) in FILES {
        project.write(name, text);
    }
    let folder = project.init().store().folder().to_owned();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("retake.db") || name.starts_with("stats") {
            retake_seam::fs::remove_file(&path).unwrap();
        }
    }
    let db = Connection::open(folder.join("retake.db")).unwrap();
    // A dump names tables before it makes them.
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA auto_vacuum = INCREMENTAL").unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    db.execute_batch(DUMP).unwrap();
    project
}

fn schema(project: &TestProject) -> u32 {
    let folder = project.home().join("projects");
    let project = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let db = Connection::open(project.join("retake.db")).unwrap();
    db.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

/// Every change with both of its contents, and every checkpoint.
fn on_record(test: &TestProject) -> String {
    let project = test.open();
    let content = |side: &PathState| match project.content(side).unwrap() {
        Some(bytes) => bytes.escape_ascii().to_string(),
        None => "absent".to_owned(),
    };
    let mut all = String::new();
    for change in test.changes() {
        let (path, status) = (&change.path, change.status);
        let (before, after) = (content(&change.before), content(&change.after));
        writeln!(all, "{path} by {}, {status}: {before} -> {after}", change.actor).unwrap();
    }
    for point in project.checkpoints(None, 100).unwrap() {
        writeln!(all, "{} {:?}", point.kind, point.message).unwrap();
    }
    all
}

#[test]
fn an_old_database_keeps_everything() {
    let project = old_project();
    assert_eq!(schema(&project), OLD);
    expect![[r#"
        a.txt by agent, pending: one\ntwo\nthree\n -> one\nTWO\nthree\n
        b.txt by agent, accepted: absent -> new\n
        sub/c.txt by agent, rejected: sea\n -> absent
        a.txt by user, pending: one\nTWO\nthree\n -> one\nTWO\nthree\nmine\n
        sub/c.txt by retake, pending: absent -> sea\n
        before_operation "Before reject of all changes of sub/c.txt"
        manual "by hand"
        before_message "Before user message: please"
        initial "Initial checkpoint"
    "#]]
    .assert_eq(&on_record(&project));
    assert_eq!(schema(&project), SCHEMA_VERSION);
    assert_clean(&project.open());
    assert_eq!(project.refresh().changes, []);
    // What was done then can be taken back now.
    play(&project, "rollback file=a.txt");
    assert_eq!(project.read("a.txt"), b"one\ntwo\nthree\nmine\n");
}

#[test]
fn a_fault_at_any_write_of_a_migration() {
    if child::role().is_some() {
        let project = child::project();
        let opened = project.retake().open(&project.root());
        // What cannot be written is opened all the same, to be read.
        if opened.is_ok_and(|opened| opened.refresh(project.tick()).is_ok()) {
            child::acknowledge("migrated");
        }
        return;
    }
    let project = old_project();
    let sweep = FaultSweep::new("migration", &project);
    let whole = on_record(&project);
    for faults in ALL_FAULTS {
        sweep.run_each(faults, |done| {
            let found = schema(&project);
            let is_done = found == SCHEMA_VERSION;
            assert!(is_done || found == OLD, "schema {found}: {done}");
            assert!(is_done || done.acks.is_empty(), "{done}");
            assert_eq!(on_record(&project), whole, "{done}");
            assert_clean(&project.open());
        });
    }
}
