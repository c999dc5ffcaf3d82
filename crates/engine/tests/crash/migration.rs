//! An older database becomes a newer one wholly or not at all, and keeps everything.
//!
//! The databases are of programs that wrote these schemas: each did the story below, from the
//! outside, and was dumped by SQLite.

use std::fmt::Write as _;

use retake_store::SCHEMA_VERSION;
use retake_testkit::sweep::{ERRORS, KILLS, Sweep};
use retake_testkit::{TestProject, child, expect, play};
use rusqlite::Connection;

use super::assert_clean;

/// What the story left: an agent edits a.txt, writes b.txt and removes c.txt; the person adds a line
/// to a.txt, accepts b.txt, and rejects the removal.
const FILES: [(&str, &str); 3] =
    [("a.txt", "one\nTWO\nthree\nmine\n"), ("b.txt", "new\n"), ("sub/c.txt", "sea\n")];

fn dump(version: u32) -> &'static str {
    match version {
        3 => include_str!("databases/v3.sql"),
        6 => include_str!("databases/v6.sql"),
        _ => unreachable!("there are no others"),
    }
}

/// A project as a program of this schema left it.
fn of_version(version: u32) -> TestProject {
    let project = TestProject::in_memory();
    for (name, text) in FILES {
        project.write(name, text);
    }
    let folder = project.init().store().folder().to_owned();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("retake.db") || name.starts_with("stats") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let db = Connection::open(folder.join("retake.db")).unwrap();
    db.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL").unwrap();
    db.execute_batch(dump(version)).unwrap();
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
    let text = |side| match project.content(side).unwrap() {
        Some(bytes) => bytes.escape_ascii().to_string(),
        None => "absent".to_owned(),
    };
    let mut all = String::new();
    for change in test.changes() {
        let (path, status) = (&change.path, change.status);
        let (before, after) = (text(&change.before), text(&change.after));
        writeln!(all, "{path} by {}, {status}: {before} -> {after}", change.actor).unwrap();
    }
    for point in project.checkpoints(None, 100).unwrap() {
        writeln!(all, "{} {}", point.kind, point.title).unwrap();
    }
    all
}

#[test]
fn old_databases_keep_everything() {
    let expected = expect![[""]];
    for version in [3, 6] {
        let project = of_version(version);
        assert_eq!(schema(&project), version);
        let seen = on_record(&project);
        assert_eq!(schema(&project), SCHEMA_VERSION);
        expected.assert_eq(&seen);
        assert_clean(&project.open());
        assert_eq!(project.look().changes, [], "version {version}");
        // What was done then can be taken back now.
        play(&project, "rollback file=a.txt");
        assert_eq!(project.read("a.txt"), b"one\ntwo\nthree\nmine\n", "version {version}");
    }
}

fn sweep(test: &str, version: u32) {
    if child::role().is_some() {
        let project = child::project();
        if project.retake().open(&project.root()).is_ok() {
            child::acknowledge("migrated");
        }
        return;
    }
    let project = of_version(version);
    let sweep = Sweep::new(test, "migration", &project);
    let whole = on_record(&project);
    for faults in [KILLS.as_slice(), &ERRORS] {
        sweep.each(faults, |done| {
            let found = schema(&project);
            let is_done = found == SCHEMA_VERSION;
            assert!(is_done || found == version, "schema {found}: {done}");
            assert!(is_done || done.acks.is_empty(), "{done}");
            assert_eq!(on_record(&project), whole, "{done}");
            assert_clean(&project.open());
        });
    }
}

#[test]
fn a_fault_at_any_write_of_a_migration_from_3() {
    sweep("migration::a_fault_at_any_write_of_a_migration_from_3", 3);
}

#[test]
fn a_fault_at_any_write_of_a_migration_from_6() {
    sweep("migration::a_fault_at_any_write_of_a_migration_from_6", 6);
}
