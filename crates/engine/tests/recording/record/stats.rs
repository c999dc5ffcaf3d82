//! Under which stats files were read: what is kept of them, and that it never hides a change.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use retake_engine::model::{Event, EventKind};
use retake_store::TouchedState;
use retake_testkit::{TestProject, play};
use retake_workspace::{FileStat, StatCache, StatKind};

#[test]
fn a_stat_that_a_later_edit_could_repeat_is_not_trusted() {
    let project = TestProject::new();
    project.write("settled", "x");
    project.write("future", "x");
    project.shell("touch -d 2100-01-01 future");
    let trusted = |path: &str| stats(&project).stat(&path.parse().unwrap()).is_some();
    // Until the file system's clock has moved on, even a settled file could be edited unseen.
    project.init();
    while !trusted("settled") {
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(project.refresh().changes, []);
    }
    assert!(!trusted("future"));
    // The edit leaves size and mtime alone; a trusted stat would hide it on a coarse clock.
    project.write("future", "y");
    project.shell("touch -d 2100-01-01 future");
    assert_eq!(project.refresh().changes.len(), 1);
}

/// What is known of the files' stats: the stat cache, and what was touched since.
fn stats(project: &TestProject) -> StatCache {
    let opened = project.open();
    let kept = opened.store().stat_cache().unwrap();
    let mut known = StatCache::from_bytes(kept.unwrap().bytes).unwrap();
    for (path, touched) in opened.store().touched().unwrap() {
        match touched {
            TouchedState::Gone => known.remove(&path),
            TouchedState::There(stat) => known.insert(
                &path,
                stat.map(|stat| FileStat {
                    kind: StatKind::File,
                    mode: stat.mode,
                    size: stat.size,
                    mtime_ns: stat.mtime_ns,
                    ctime_ns: stat.ctime_ns,
                    inode: stat.inode,
                }),
            ),
        }
    }
    let manifest: BTreeSet<_> =
        opened.store().manifest().unwrap().into_iter().map(|entry| entry.path).collect();
    assert_eq!(known.paths().collect::<BTreeSet<_>>(), manifest);
    known
}

/// Looks until every stat can be relied on, so that a look reads nothing; gives their number.
fn settle(project: &TestProject) -> usize {
    loop {
        let known = stats(project);
        let (all, trusted) = (known.paths().count(), known.paths());
        if trusted.filter(|path| known.stat(path).is_some()).count() == all {
            return all;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(project.refresh().changes, []);
    }
}

/// The file that holds the stat cache; there is only ever one.
fn stat_cache(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_one = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("stats-");
    let mut found: Vec<_> = entries.filter(is_one).collect();
    let cache = found.pop().unwrap();
    assert!(found.is_empty(), "{found:?}");
    cache
}

type Damage<'d> = &'d dyn Fn(&mut Vec<u8>);

#[test]
fn a_lost_or_damaged_stat_cache_costs_nothing_but_time() {
    let project = TestProject::new();
    for n in 0..300 {
        project.write(&format!("d{}/file {n}", n % 7), "one\n");
    }
    let folder = project.init().store().folder().to_owned();
    assert_eq!(settle(&project), 300);
    let name_of_a_file = |whole: &[u8]| {
        let found = whole.windows(8).position(|bytes| bytes == b"file 123");
        found.expect("names stand there as they are") + 7
    };
    let damages: [Damage<'_>; 8] = [
        &|whole| *whole = b"garbage".to_vec(),
        &Vec::clear,
        &|whole| whole.truncate(whole.len() / 2),
        &|whole| whole[0] ^= 1,
        &|whole| whole[5] ^= 1,
        &|whole| whole[20] ^= 1,
        &|whole| *whole.last_mut().unwrap() ^= 1,
        &|whole| {
            let at = name_of_a_file(whole);
            whole[at] ^= 1;
        },
    ];
    for (n, damage) in damages.map(Some).into_iter().chain([None]).enumerate() {
        settle(&project);
        let cache = stat_cache(&folder);
        match damage {
            Some(damage) => {
                let mut bytes = std::fs::read(&cache).unwrap();
                damage(&mut bytes);
                std::fs::write(&cache, bytes).unwrap();
            }
            None => std::fs::remove_file(&cache).unwrap(),
        }
        project.write("d0/new", n.to_string());
        assert_eq!(project.refresh().changes.len(), 1, "{n}");
        assert_ne!(stat_cache(&folder), cache, "it is made anew");
    }
}

#[test]
fn a_look_that_finds_nothing_writes_nothing() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    let opened = project.init();
    settle(&project);
    let wal = || std::fs::metadata(opened.store().folder().join("retake.db-wal")).unwrap().len();
    let before = wal();
    assert_eq!(opened.refresh(project.tick()).unwrap().changes, []);
    assert_eq!(wal(), before);
    project.write("a.txt", "two\n");
    assert_eq!(opened.refresh(project.tick()).unwrap().changes.len(), 1);
    assert!(wal() > before);
}

#[test]
fn a_checkpoint_and_its_look_are_one_commit() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    let opened = project.init();
    project.write("a.txt", "two\n");
    retake_seam::fail_once("put checkpoint", 1, 28);
    assert!(opened.checkpoint(None, None, project.tick()).is_err());
    assert_eq!(project.changes(), [], "neither is there without the other");
    let commits = Rc::new(Cell::new(0));
    let counted = Rc::clone(&commits);
    let count = move |step: &str| counted.set(counted.get() + u32::from(step == "commit"));
    retake_seam::on_step(Some(Box::new(count)));
    let made = opened.checkpoint(None, None, project.tick()).unwrap();
    retake_seam::on_step(None);
    assert_eq!((commits.get(), made.files, project.changes().len()), (1, 1, 1));
    assert_eq!(made.tree, opened.tree_id().unwrap());
}

/// A narrow look reads a small file again rather than the cache, but not a large one.
#[test]
fn a_look_at_a_large_file_asks_the_stat_cache() {
    let project = TestProject::new();
    project.write("large", vec![b'x'; 2 << 20]);
    project.write("small", "x");
    project.init();
    settle(&project);
    project.record(&Event::new("d1", EventKind::UserMessage { text: "hi".into() }));
    for path in ["large", "small"] {
        play(&project, &format!(r#"begin d1 {path} Read {{"file_path":"{path}"}}"#));
    }
    let touched = project.open().store().touched().unwrap();
    let touched: Vec<_> = touched.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(touched, ["small"], "what was read");
}

/// A stat vouches for what the manifest says, so a cache of another time must not be believed.
#[test]
fn a_stat_cache_of_another_time_is_none() {
    let project = TestProject::new();
    for n in 0..300 {
        project.write(&n.to_string(), "one\n");
    }
    let folder = project.init().store().folder().to_owned();
    settle(&project);
    let backup = |name: &str| std::fs::read(folder.join(name)).unwrap_or_default();
    let database = ["retake.db", "retake.db-wal"].map(|name| (name, backup(name)));
    let (old, old_bytes) = (stat_cache(&folder), std::fs::read(stat_cache(&folder)).unwrap());
    for n in 0..300 {
        project.write(&n.to_string(), "two\n");
    }
    assert_eq!(project.refresh().changes.len(), 300);
    settle(&project);
    // The database is restored, the cache is not.
    for (name, bytes) in &database {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let _ = std::fs::remove_file(folder.join("retake.db-shm"));
    assert_eq!(project.refresh().changes.len(), 300);
    settle(&project);
    // An old cache is put in the place of the one that belongs here.
    project.shell("rm -f [1-9]*");
    assert_eq!(project.refresh().changes.len(), 299);
    assert!(!old.exists());
    std::fs::write(stat_cache(&folder), old_bytes).unwrap();
    assert_eq!(project.refresh().changes, []);
    assert_eq!(settle(&project), 1);
}

/// Retake's folder may be one where nothing new can be made; then stats are not kept.
#[test]
fn without_room_for_a_stat_cache_there_is_none() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    let opened = project.init();
    std::fs::remove_file(stat_cache(opened.store().folder())).unwrap();
    for _ in 0..2 {
        retake_seam::fail_once("create", 2, 28); // The first is the stamp; "no space left".
        project.write("a.txt", "two\n");
        opened.refresh(project.tick()).unwrap();
        assert_eq!(opened.store().stat_cache_id().unwrap(), None);
        assert_eq!(opened.store().touched().unwrap(), []);
    }
    project.write("a.txt", "three\n");
    assert_eq!(opened.refresh(project.tick()).unwrap().changes.len(), 1);
    settle(&project);
}

#[test]
fn the_stat_cache_of_an_earlier_program_is_removed() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    let folder = project.init().store().folder().to_owned();
    let db = rusqlite::Connection::open(folder.join("retake.db")).unwrap();
    db.execute_batch(
        "DROP TABLE reviewed_line; DROP TABLE rejection; DROP TABLE taken_part;
         DROP TABLE rejected_run; DROP TABLE added_again; DROP TABLE rejection_notice;
         DROP TABLE queued_rejection; DROP TABLE review_comment;
         DROP INDEX dialog_by_number; ALTER TABLE dialog DROP COLUMN number;
         DROP INDEX call_by_turn; DROP INDEX candidate_by_call; DROP INDEX event_turn_ends;
         ALTER TABLE call DROP COLUMN model; ALTER TABLE call DROP COLUMN arguments;
         ALTER TABLE call DROP COLUMN exit_code;
         DROP INDEX change_by_call; DROP TABLE dialog_title;
         DROP TABLE caller; ALTER TABLE event DROP COLUMN caller;
         ALTER TABLE operation DROP COLUMN caller; ALTER TABLE call DROP COLUMN process;
         DROP TABLE touched; DROP TABLE tally; DROP TABLE moved; DELETE FROM meta WHERE key = 'stats';
         PRAGMA user_version = 8",
    )
    .unwrap();
    drop(db);
    for name in ["cache.db", "cache.db-wal", "cache.db-shm"] {
        std::fs::write(folder.join(name), "SQLite format 3").unwrap();
    }
    assert_eq!(project.refresh().changes, []);
    assert_eq!(project.open().status().unwrap().files, 1, "they are counted");
    for name in ["cache.db", "cache.db-wal", "cache.db-shm"] {
        assert!(!folder.join(name).exists(), "{name}");
    }
    settle(&project);
}
