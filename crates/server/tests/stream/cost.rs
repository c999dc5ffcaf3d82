//! What a frame costs, counted in steps of SQLite: the same in a call with many changes as in one
//! with few.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use retake_engine::KnownProject;
use retake_server::stream::{EventFollower, StreamChoice, StreamStart};
use retake_testkit::{TestProject, count_steps, play};
use rusqlite::Connection;

/// A larger call may cost a little more for each frame: indexes are deeper.
const TOLERANCE: u64 = 2;
const FEW: usize = 100;
const MANY: usize = 20_000;
/// Older names come with a diff for each change, which takes its time and is not counted.
const MANY_WITH_DIFFS: usize = 2_000;

/// A project in which one call made so many changes, each taken back by an operation since.
fn one_call(changes: usize) -> TestProject {
    let test = TestProject::in_memory();
    play(&test, "file a.txt: one\\n\ninit\nwrite d1 w1 a.txt: two\\n\n");
    let folder = test.open().store().folder().join("retake.db");
    let db = Connection::open(folder).unwrap();
    let first: i64 = db.query_row("SELECT max(seq) FROM change", [], |row| row.get(0)).unwrap();
    let numbers = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {changes})"
    );
    // Copies of the one change, with numbers of their own.
    for (table, number_columns) in [("change", &["seq"][..]), ("event", &["seq", "change"])] {
        let mut query = db.prepare(&format!("PRAGMA table_info({table})")).unwrap();
        let columns = query.query_map([], |row| row.get::<_, String>(1)).unwrap();
        let columns: Vec<String> = columns.collect::<Result<_, _>>().unwrap();
        let value = |column: &String| {
            if number_columns.contains(&column.as_str()) {
                format!("{first} + 1000 + i")
            } else {
                format!("t.{column}")
            }
        };
        let values: Vec<_> = columns.iter().map(value).collect();
        let sql = format!(
            "{numbers} INSERT INTO {table}({}) SELECT {} FROM n, {table} t WHERE t.seq = {first}",
            columns.join(", "),
            values.join(", ")
        );
        db.execute_batch(&sql).unwrap();
    }
    // The statuses come newest first, as a rollback sets them.
    let status = first + 1000 + changes as i64;
    let last = status + changes as i64;
    db.execute_batch(&format!(
        "{numbers} INSERT INTO candidate(change, call)
            SELECT {first} + 1000 + i, call FROM n, candidate WHERE change = {first};
         {numbers} INSERT INTO event(seq, at, kind, dialog, agent, call, change, body)
            SELECT {status} + i, 1, 'file_change_status', 'd1', 'main', 'w1', NULL,
                json_object('change', 'c' || ({status} + 1 - i), 'status', 'reverted',
                    'approved', NULL) FROM n;
         UPDATE meta SET value = unhex(printf('%016x', {last})) WHERE key = 'seq'"
    ))
    .unwrap();
    test
}

/// Steps for each frame of a stream from the beginning.
fn steps_per_frame(test: &TestProject, compat: bool) -> u64 {
    let project = test.open();
    let known = KnownProject {
        id: project.id().to_owned(),
        root: test.root(),
        presence: project.root_presence(),
        created_at: 0,
    };
    let choice = StreamChoice { compat, ..StreamChoice::default() };
    let mut follower = EventFollower::new(test.retake(), known, StreamStart::After(0), choice);
    let steps = Arc::new(AtomicU64::new(0));
    let mut frames = count_steps(&steps, || follower.next_events().unwrap().len());
    while follower.has_more() {
        frames += follower.next_events().unwrap().len();
    }
    let last = test.open().last_seq().unwrap();
    assert_eq!(follower.position(), Some(last));
    assert!(frames >= 2 * FEW, "{frames} frames");
    steps.load(Ordering::Relaxed) / frames as u64
}

#[test]
fn a_frame_costs_the_same_in_a_call_with_many_changes() {
    let few = one_call(FEW);
    for (compat, many) in [(false, MANY), (true, MANY_WITH_DIFFS)] {
        let many = one_call(many);
        let [few, many] = [&few, &many].map(|test| steps_per_frame(test, compat));
        assert!(few > 0 && many <= few * TOLERANCE, "compat {compat}: {few} steps, then {many}");
    }
}

#[test]
fn a_record_is_found_by_its_name_without_the_others() {
    for (changes, number) in [(FEW, 7), (MANY_WITH_DIFFS, 7)] {
        let test = one_call(changes);
        let steps = Arc::new(AtomicU64::new(0));
        let project = count_steps(&steps, || test.open());
        let name = format!("w1:{number}");
        let before = steps.load(Ordering::Relaxed);
        let found = project.file_record(&"d1".into(), &name).unwrap().unwrap();
        let cost = steps.load(Ordering::Relaxed) - before;
        assert_eq!(found.tool_call_id, name);
        assert!(cost < 2000, "{cost} steps among {changes}");
        // All at once they have the same names.
        let all = project.file_records(&"d1".into()).unwrap();
        assert_eq!(all[number].change.id, found.change.id);
        assert!(project.file_record(&"d1".into(), "w1").unwrap().is_none());
        assert!(project.file_record(&"d2".into(), &name).unwrap().is_none());
    }
}
