//! Rows 6 and 50: a store that an older or a newer program has written.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use retake_testkit::disk;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use serde_json::{Value, json};

use super::{after, assert_sound, before, hook, prompt};
use crate::support::World;

/// What the newest migrations added, taken away again: a store as older programs wrote it.
const OLDER: [(u32, &str); 9] = [
    (
        14,
        "DROP TABLE reviewed_line; DROP TABLE rejection; DROP TABLE taken_part;
         DROP TABLE rejected_run; DROP TABLE added_again; DROP TABLE rejection_notice;
         DROP TABLE queued_rejection; DROP TABLE review_comment; PRAGMA user_version = 14",
    ),
    (
        13,
        "DROP INDEX dialog_by_number; ALTER TABLE dialog DROP COLUMN number;
         PRAGMA user_version = 13",
    ),
    (
        12,
        "DROP INDEX call_by_turn; DROP INDEX candidate_by_call; DROP INDEX event_turn_ends;
         ALTER TABLE call DROP COLUMN model; ALTER TABLE call DROP COLUMN arguments;
         ALTER TABLE call DROP COLUMN exit_code;
         PRAGMA user_version = 12",
    ),
    (11, "DROP INDEX change_by_call; PRAGMA user_version = 11"),
    (10, "DROP TABLE dialog_title; PRAGMA user_version = 10"),
    (
        9,
        "DROP TABLE caller; ALTER TABLE event DROP COLUMN caller;
         ALTER TABLE operation DROP COLUMN caller; ALTER TABLE call DROP COLUMN process;
         PRAGMA user_version = 9",
    ),
    (8, "DROP TABLE moved; DROP TABLE touched; DROP TABLE tally; PRAGMA user_version = 8"),
    (
        7,
        "DROP INDEX change_by_dialog; DROP INDEX change_by_turn; DROP INDEX change_in_effect;
         DROP INDEX change_pending; DROP INDEX change_shared; DROP INDEX change_by_joins;
         DROP INDEX undoes_by_undone; DROP INDEX operation_by_undone_by;
         CREATE INDEX change_by_dialog ON change(dialog, agent, seq) WHERE dialog IS NOT NULL;
         CREATE INDEX change_pending ON change(dialog, agent, path, seq)
             WHERE status = 'pending' AND actor = 'agent';
         CREATE INDEX change_in_effect ON change(dialog, turn, seq)
             WHERE actor = 'agent' AND status IN ('pending', 'accepted');
         DELETE FROM meta WHERE key = 'changes'; PRAGMA user_version = 7",
    ),
    (6, "DROP TABLE pack; PRAGMA user_version = 6"),
];

fn database(world: &World) -> Connection {
    Connection::open(world.store().join("retake.db")).unwrap()
}

fn version(world: &World) -> u32 {
    database(world).query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

fn set_version(world: &World, version: u32) {
    let db = database(world);
    // As Retake itself does: what was written stays in the log.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    db.pragma_update(None, "user_version", version).unwrap();
}

/// An agent's work in three turns, one of which was taken back.
fn worked() -> World {
    let world = World::with(&[("a.txt", "0\n"), ("b.txt", "b\n")]);
    for number in 1..=3 {
        world.say("d1", "go");
        world.shell(&format!("k{number}"), &format!("echo {number} > a.txt; echo x >> b.txt"));
    }
    world.ok(&["undo", "--yes"]);
    world.ok(&["checkpoint", "-m", "by hand"]);
    world
}

/// Makes the store one of this older version.
fn make_older(world: &World, number: u32) {
    for (_, sql) in OLDER.iter().filter(|(version, _)| *version >= number) {
        database(world).execute_batch(sql).unwrap();
    }
}

/// Everything that a person can ask of the record.
fn told(world: &World) -> Vec<Value> {
    let questions: [&[&str]; 6] = [
        &["log", "--json"],
        &["checkpoints", "--json"],
        &["ops", "--json"],
        &["dialogs", "--json"],
        &["session", "--json", "--dialog", "d1"],
        &["blame", "a.txt", "--json"],
    ];
    questions.iter().map(|words| world.run(words).json()).collect()
}

/// Takes away what programs before schema 10 did not keep: who said something.
fn forget_callers(told: &mut Value) {
    match told {
        Value::Array(values) => values.iter_mut().for_each(forget_callers),
        Value::Object(fields) => {
            fields.values_mut().for_each(forget_callers);
            if let Some(said_by) = fields.get_mut("said_by") {
                *said_by = Value::Null;
            }
        }
        _ => {}
    }
}

#[test]
fn row_6_a_store_of_an_older_program_is_taken_over_with_all_that_is_in_it() {
    let world = worked();
    let (ours, mut before) = (version(&world), told(&world));
    assert_eq!(ours, OLDER[0].0 + 1, "there is a newer migration than this test knows");
    for (number, _) in OLDER {
        make_older(&world, number);
        assert_eq!(version(&world), number);
        if number < 10 {
            before.iter_mut().for_each(forget_callers);
        }
        assert_eq!(told(&world), before, "from {number}");
        assert_eq!(version(&world), ours);
        assert_sound(&world);
    }
    world.ok(&["undo", "--yes"]);
    assert_eq!((world.read("a.txt"), world.read("b.txt")), ("1\n".into(), "b\nx\n".into()));
}

/// Killed before any of its writes, the store is the old one or the new one.
#[test]
fn row_6_a_kill_while_a_store_is_taken_over() {
    let world = worked();
    let (ours, before) = (version(&world), told(&world));
    let steps = world.outer().join("steps");
    make_older(&world, OLDER[2].0);
    let mut counted = world.command(&["log", "--json"]);
    assert!(counted.env("RETAKE_COUNT_STEPS", &steps).output().unwrap().status.success());
    let steps = std::fs::read_to_string(steps).unwrap();
    let migration: Vec<_> = steps.lines().filter(|line| line.contains("migrat")).collect();
    assert_eq!(migration.len(), 2, "{steps}");
    let last = migration[1].split_once(' ').unwrap().0.parse::<u32>().unwrap();
    for at in 1..=last + 1 {
        if version(&world) == ours {
            make_older(&world, OLDER[2].0);
        }
        let mut killed = world.command(&["log", "--json"]);
        let status = killed.env("RETAKE_KILL_AT", at.to_string()).output().unwrap().status;
        assert_eq!(status.signal(), Some(9), "{at}");
        assert!([ours, OLDER[2].0].contains(&version(&world)), "{at}");
        assert_eq!(told(&world), before, "{at}");
    }
    assert_sound(&world);
}

/// The bytes of everything in the store but what commands may always write: their lock, and what
/// hooks keep for later.
fn untouched(store: &Path) -> disk::DiskFiles {
    let mut files = disk::read_files(store);
    files.retain(|name, _| !["lock", "spool.jsonl", "retake.db-shm"].contains(&name.as_str()));
    files
}

#[test]
fn row_50_a_newer_store_is_refused_and_not_touched() {
    let world = worked();
    let ours = version(&world);
    set_version(&world, ours + 1);
    let (files, store) = (disk::read_files(&world.root()), untouched(&world.store()));
    let commands: [&[&str]; 9] = [
        &["init"],
        &["status"],
        &["log"],
        &["undo", "--yes"],
        &["checkpoint", "-m", "x"],
        &["gc"],
        &["doctor", "--read-data"],
        &["purge", "a.txt", "--yes"],
        &["recover", "--undo"],
    ];
    for words in commands {
        let refused = world.run(&[words, &["--json"]].concat());
        let error = refused.json()["error"].clone();
        assert_eq!((refused.code, &error["code"]), (1, &json!("newer_schema")), "{words:?}");
        assert_eq!(error["hint"], "update retake");
    }
    let heard = [prompt("go"), before("t1", "make")].map(|payload| hook(&world, &payload));
    world.write("a.txt", "by the agent\n");
    let last = hook(&world, &after("t1", "make"));
    for heard in heard.iter().chain([&last]) {
        assert_eq!((heard.code, heard.text().as_str()), (0, ""), "{}", heard.stderr);
        assert!(heard.stderr.contains("newer retake"), "{}", heard.stderr);
    }
    // Of which agents anything was heard, is asked of every store.
    world.ok(&["setup", "--status"]);
    let now = untouched(&world.store());
    assert_eq!(now.keys().collect::<Vec<_>>(), store.keys().collect::<Vec<_>>());
    for (name, entry) in &now {
        assert!(store[name] == *entry, "{name} was touched");
    }
    let mut files = files;
    files.insert("a.txt".to_owned(), disk::read_files(&world.root())["a.txt"].clone());
    assert_eq!(disk::read_files(&world.root()), files, "no file was written but by the agent");
    // The newer program, when it comes, is told what happened meanwhile.
    set_version(&world, ours);
    world.ok(&["status"]);
    let log = world.run(&["log", "--json", "--file", "a.txt"]).json();
    assert_eq!(
        (&log["changes"][0]["dialog"], &log["changes"][0]["actor"]),
        (&json!("s1"), &json!("agent"))
    );
    assert_sound(&world);
}
