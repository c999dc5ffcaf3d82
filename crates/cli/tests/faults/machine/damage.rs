//! Rows 19 and 20: bytes of the record that are not what they were.
//!
//! Damage is never read as "did not exist", it is told, and nothing is thrown away because of it.

mod pages;

use retake_testkit::{disk, git};
use rusqlite::Connection;
use serde_json::Value;

use super::assert_sound;
use crate::support::World;

/// The id of a content, as git and the record have it.
fn object_of(world: &World, text: &str) -> Vec<u8> {
    let file = world.outer().join("content");
    std::fs::write(&file, text).unwrap();
    let hex = git::run(&world.outer(), &["hash-object", "--no-filters", "content"]);
    (0..40).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Does this to the record, past Retake.
fn meddle(world: &World, sql: &str, oid: &[u8]) {
    let db = Connection::open(world.store().join("retake.db")).unwrap();
    assert_eq!(db.execute(sql, [oid]).unwrap(), 1, "{sql}");
}

fn problems(checked: &Value) -> String {
    let checks = checked["checks"].as_array().unwrap().iter();
    checks.flat_map(|check| check["problems"].as_array().unwrap()).map(Value::to_string).collect()
}

/// A content that is missing, cut off or other than its name says: that version is damaged, and its
/// file is left alone with the reason. The others go back.
#[test]
fn row_20_missing_and_damaged_contents() {
    for (sql, kind) in [
        ("DELETE FROM object WHERE oid = ?1", "missing"),
        ("UPDATE object SET data = substr(data, 1, length(data) / 2) WHERE oid = ?1", "damaged"),
        ("UPDATE object SET data = zeroblob(length(data)) WHERE oid = ?1", "damaged"),
        ("UPDATE object SET data = x'' WHERE oid = ?1", "damaged"),
        ("UPDATE object SET encoding = 2 WHERE oid = ?1", "damaged"),
    ] {
        let world = World::with(&[("a.txt", "old a, of some length\n"), ("b.txt", "old b\n")]);
        world.ok(&["checkpoint", "-m", "good"]);
        world.say("d1", "go");
        world.shell("k1", "echo new > a.txt; echo new > b.txt; echo new > c.txt");
        let victim = object_of(&world, "old a, of some length\n");
        meddle(&world, sql, &victim);
        let files = disk::read_files(&world.root());
        let sick = world.run(&["doctor", "--read-data", "--json"]);
        assert_eq!(sick.code, 1, "{sql}");
        let hex = git::run(&world.outer(), &["hash-object", "--no-filters", "content"]);
        assert!(problems(&sick.json()).contains(&hex), "{sql}: {}", sick.text());
        assert_eq!(disk::read_files(&world.root()), files, "looking changes nothing");
        let part = world.run(&["undo", "--yes"]);
        let said = part.text() + &part.stderr;
        assert_eq!(part.code, 3, "{sql}: {said}");
        assert!(said.contains("a.txt") && said.contains(kind), "{sql}: {said}");
        assert_eq!(world.read("a.txt"), "new\n", "{sql}: it is left, and never deleted");
        assert_eq!(
            (world.read("b.txt"), world.read("c.txt")),
            ("old b\n".into(), "(absent)".into())
        );
        // Going to a state in which it was is no other.
        let restored = world.run(&["restore", &first(&world), "--yes"]);
        assert_eq!(
            (restored.code, world.read("a.txt").as_str()),
            (3, "new\n"),
            "{}",
            restored.text()
        );
        // The same content, seen again, mends it.
        world.write("a.txt", "old a, of some length\n");
        world.ok(&["status"]);
        world.ok(&["checkpoint", "-m", "mended"]);
        assert_sound(&world);
    }
}

fn first(world: &World) -> String {
    let listed = world.run(&["checkpoints", "--json"]).json();
    listed["checkpoints"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned()
}

/// The same for contents that came by the thousands, and lie in a pack.
#[test]
fn row_20_packs_that_are_cut_off_or_gone() {
    for is_gone in [false, true] {
        let world = World::new();
        for number in 0..420 {
            world.write(&format!("d{}/{number}.txt", number % 5), format!("number {number}\n"));
        }
        world.ok(&["init", "--checkpoint"]);
        world.say("d1", "go");
        world.shell("k1", "for n in 0 1 2 3; do echo new > d$n/$n.txt; done; rm d4/4.txt");
        let packs = std::fs::read_dir(world.store().join("packs")).unwrap();
        let packs: Vec<_> = packs.map(|entry| entry.unwrap().path()).collect();
        let pack = packs.iter().find(|path| path.extension().is_some_and(|end| end == "pack"));
        let pack = pack.expect("it is many files, so there is a pack");
        let bytes = std::fs::read(pack).unwrap();
        if is_gone {
            std::fs::remove_file(pack).unwrap();
        } else {
            std::fs::write(pack, &bytes[..bytes.len() / 3]).unwrap();
        }
        let files = disk::read_files(&world.root());
        assert_eq!(world.run(&["doctor", "--read-data"]).code, 1);
        let part = world.run(&["undo", "--yes"]);
        assert_eq!(part.code, 3, "{} {}", part.text(), part.stderr);
        assert_eq!(world.run(&["restore", &first(&world), "--yes"]).code, 3);
        let now = disk::read_files(&world.root());
        assert!(
            now.len() >= files.len(),
            "nothing was deleted: {} files of {}",
            now.len(),
            files.len()
        );
        // What is put there of the pack can be read is put back; what cannot is as it was.
        for number in 0..4 {
            let text = world.read(&format!("d{number}/{number}.txt"));
            assert!(text == "new\n" || text == format!("number {number}\n"), "{text}");
        }
        world.run(&["gc"]);
        assert_eq!(disk::read_files(&world.root()), now);
        // With the pack back in its place all is well again.
        std::fs::write(pack, &bytes).unwrap();
        assert_sound(&world);
        world.ok(&["restore", &first(&world), "--yes"]);
        assert_eq!(world.read("d4/4.txt"), "number 4\n");
    }
}
