//! Row 19: flipped bytes in the database and in its log.

use std::path::PathBuf;

use retake_testkit::disk;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use serde_json::{Value, json};

use super::super::{after, assert_sound, before, hook, prompt, recorded};
use super::first;
use crate::support::World;

const PAGE: usize = 4096;

/// Some work of an agent and of a person, in a record of many pages.
fn worked() -> World {
    let world = World::with(&[("a.txt", "0\n"), ("b.txt", "by hand\n")]);
    for number in 1..=6 {
        world.say("d1", "go");
        let script = format!("echo {number} > a.txt; seq {number} 3000 > long.txt");
        world.shell(&format!("k{number}"), &script);
        world.write("b.txt", format!("by hand {number}\n"));
        world.ok(&["status"]);
    }
    world.ok(&["checkpoint", "-m", "the last"]);
    world
}

fn database(world: &World) -> PathBuf {
    world.store().join("retake.db")
}

/// Brings the log into the database, and gives where its tables and indexes begin, with a page of
/// the second level of each.
fn classes(world: &World) -> Vec<(String, usize)> {
    let db = Connection::open(database(world)).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let sql = "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0 AND name IN
        ('object', 'change', 'event', 'manifest', 'meta', 'call', 'checkpoint', 'dialog',
         'sqlite_autoindex_object_1', 'change_by_path')";
    let mut query = db.prepare(sql).unwrap();
    let rows =
        query.query_map([], |row| Ok((row.get(0)?, row.get::<_, u32>(1)? as usize))).unwrap();
    let mut found: Vec<(String, usize)> = rows.map(Result::unwrap).collect();
    let bytes = std::fs::read(database(world)).unwrap();
    for (name, page) in found.clone() {
        let start = (page - 1) * PAGE;
        // An interior page: its last child is a leaf here.
        if matches!(bytes[start], 2 | 5) {
            let child = bytes[start + 8..start + 12].try_into().unwrap();
            found.push((format!("last page of {name}"), u32::from_be_bytes(child) as usize));
        }
    }
    found
}

fn kept_in(world: &World) -> PathBuf {
    let entries = std::fs::read_dir(world.store()).unwrap().map(|entry| entry.unwrap().path());
    let is_kept =
        |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("damaged-");
    let kept: Vec<_> = entries.filter(is_kept).collect();
    assert_eq!(kept.len(), 1);
    kept[0].clone()
}

/// Everything works again, whatever was lost.
fn assert_goes_on(world: &World, seen: &str) {
    let checked = world.run(&["doctor", "--json"]).json();
    assert_eq!(checked["checks"][0]["state"], "ok", "{seen}: {checked:#}");
    world.ok(&["status"]);
    world.say("d2", "go on");
    world.shell_of("d2", "k9", "echo after > a.txt");
    let now = world.read("b.txt");
    world.ok(&["undo", "--yes"]);
    assert_eq!(world.read("b.txt"), now, "{seen}");
    assert_ne!(world.read("a.txt"), "after\n", "{seen}");
}

#[test]
fn row_19_damage_in_every_class_of_page() {
    let world = worked();
    let (good, told) = (recorded(&world), world.run(&["checkpoints", "--json"]).text());
    let mut places: Vec<(String, usize)> = vec![
        ("header".to_owned(), 0),
        ("size of pages".to_owned(), 16),
        ("type of the first page".to_owned(), 100),
        ("count of tables".to_owned(), 104),
        ("map of pages".to_owned(), PAGE),
    ];
    let classes = classes(&world);
    assert!(classes.len() > 10, "{classes:?}");
    places.extend(classes.into_iter().map(|(name, page)| (name, (page - 1) * PAGE)));
    let bytes = std::fs::read(database(&world)).unwrap();
    let files = disk::read_files(&world.root());
    let mut whole = 0;
    for (seen, place) in places {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0xff;
        std::fs::write(database(&world), &damaged).unwrap();
        let sick = world.run(&["doctor", "--read-data"]);
        assert_eq!(sick.code, 1, "{seen}: {}", sick.text());
        assert!(
            std::fs::read(database(&world)).unwrap() == damaged,
            "{seen}: looking changes nothing"
        );
        let saved = world.run(&["doctor", "--salvage", "--json"]);
        assert!(matches!(saved.code, 0 | 3), "{seen}: {}", saved.text());
        let lost = saved.json()["lost_from"].as_array().unwrap().len();
        assert_eq!(saved.code == 0, lost == 0, "{seen}: {}", saved.text());
        let kept = kept_in(&world);
        assert!(std::fs::read(kept.join("retake.db")).unwrap() == damaged, "{seen}: it is kept");
        assert_eq!(disk::read_files(&world.root()), files, "{seen}: no file was touched");
        if lost == 0 {
            whole += 1;
            assert_eq!(recorded(&world), good, "{seen}");
            assert_eq!(world.run(&["checkpoints", "--json"]).text(), told, "{seen}");
            assert_sound(&world);
        } else if !saved.text().contains("\"change\"") {
            assert_eq!(recorded(&world), good, "{seen}: nothing of other tables is lost");
        } else {
            assert!(recorded(&world).iter().all(|path| good.contains(path)), "{seen}");
        }
        assert_goes_on(&world, &seen);
        // All as it was, for the next.
        std::fs::remove_dir_all(kept).unwrap();
        for name in ["retake.db-wal", "retake.db-shm"] {
            let _ = std::fs::remove_file(world.store().join(name));
        }
        std::fs::write(database(&world), &bytes).unwrap();
        restore_files(&world, &files);
    }
    assert!(whole >= 5, "what was lost with header, schema, map and indexes is nothing: {whole}");
}

fn restore_files(world: &World, files: &disk::DiskFiles) {
    for (name, entry) in files {
        world.write(name, &entry.content);
        let file = std::fs::File::options().write(true).open(world.root().join(name)).unwrap();
        let (seconds, nanos) = (entry.mtime.0 as u64, entry.mtime.1 as u32);
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::new(seconds, nanos))
            .unwrap();
    }
}

/// SQLite takes damage in its log for the log's end: all that was acknowledged later would be gone
/// without a word. It is seen, told, not written over, and none of it is lost.
#[test]
fn row_19_damage_in_the_log() {
    let world = worked();
    let good = recorded(&world);
    let log = world.store().join("retake.db-wal");
    let bytes = std::fs::read(&log).unwrap();
    assert!(bytes.len() > 40 * PAGE, "there is a log to be damaged: {}", bytes.len());
    let frame = |number: usize| 32 + number * (24 + PAGE);
    let last = (bytes.len() - 32) / (24 + PAGE);
    let places = [
        ("magic number", 0),
        ("salt of the header", 17),
        ("sum of the header", 25),
        ("first frame", frame(0) + 4),
        ("sum of a frame", frame(last / 2) + 17),
        ("unused byte of a page", frame(last / 3) + 24 + 2000),
    ];
    let database = std::fs::read(database(&world)).unwrap();
    let files = disk::read_files(&world.root());
    for (seen, place) in places {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0xff;
        std::fs::write(&log, &damaged).unwrap();
        for words in
            [&["checkpoint", "--json"][..], &["undo", "--yes", "--json"], &["doctor", "--json"]]
        {
            let refused = world.run(words);
            let code = refused.json()["error"]["code"].clone();
            assert_eq!((refused.code, &code), (1, &json!("damaged")), "{seen} {words:?}");
        }
        let heard =
            [prompt("go"), before("t1", "make"), after("t1", "make")].map(|it| hook(&world, &it));
        for heard in heard {
            assert_eq!((heard.code, heard.text().as_str()), (0, ""), "{seen}");
            assert!(heard.stderr.contains("damaged"), "{seen}: {}", heard.stderr);
        }
        assert!(std::fs::read(&log).unwrap() == damaged, "{seen}: it is not written over");
        let saved = world.run(&["doctor", "--salvage", "--json"]);
        assert!(matches!(saved.code, 0 | 3), "{seen}: {} {}", saved.text(), saved.stderr);
        let kept = kept_in(&world);
        assert!(
            std::fs::read(kept.join("retake.db-wal")).unwrap() == damaged,
            "{seen}: it is kept"
        );
        assert_eq!(recorded(&world), good, "{seen}: all that was acknowledged is there");
        world.ok(&["status"]);
        let dialogs = world.run(&["dialogs", "--json"]).json();
        let heard = dialogs["dialogs"].as_array().unwrap().iter().any(|one| one["id"] == "s1");
        assert!(heard, "{seen}: what came meanwhile was kept: {dialogs:#}");
        assert_sound(&world);
        assert_goes_on(&world, seen);
        assert_eq!(world.run(&["restore", &first(&world), "--exact", "--yes"]).code, 0, "{seen}");
        assert_eq!(world.read("a.txt"), "0\n", "{seen}");
        std::fs::remove_dir_all(kept).unwrap();
        for name in ["retake.db-shm", "spool.jsonl"] {
            let _ = std::fs::remove_file(world.store().join(name));
        }
        std::fs::write(super::pages::database(&world), &database).unwrap();
        restore_files(&world, &files);
    }
}

/// What a kill leaves at the log's end is no damage.
#[test]
fn row_19_the_end_of_a_log_that_was_cut_off_is_no_damage() {
    let world = worked();
    let log = world.store().join("retake.db-wal");
    let db = Connection::open(database(&world)).unwrap();
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    drop(db);
    let bytes = std::fs::read(&log).unwrap();
    let good = recorded(&world);
    for cut in [1, 24, PAGE, PAGE + 24, PAGE + 100] {
        // The last commit, in part; or, whole, with the beginning of one more behind it.
        std::fs::write(&log, &bytes[..bytes.len() - cut]).unwrap();
        let checked: Value = world.run(&["doctor", "--json"]).json();
        assert_eq!(checked["checks"][0]["state"], "ok", "{cut}: {checked:#}");
        let mut longer = bytes.clone();
        longer.extend_from_slice(&bytes[32..32 + cut]);
        std::fs::write(&log, &longer).unwrap();
        assert_eq!(recorded(&world), good, "{cut}");
    }
    world.ok(&["undo", "--yes"]);
}
