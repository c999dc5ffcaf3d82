//! What lies in the project: names, kinds, sizes, links, mounts, roots, git.
//!
//! After each fault [`check`] asks what holds in all rows: everything on record can be restored,
//! the record is what git makes of the files, and nothing of Retake's is left in the project.

mod burst;
mod git;
mod kinds;
mod links;
mod mounts;
mod names;
mod paused;
mod roots;
mod sizes;
mod taking_back;
#[path = "../watching/watched.rs"]
mod watched;
mod watching;

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::World;
use watched::{real_tree, recorded_tree};

/// Whether there is time for the large numbers.
fn is_long() -> bool {
    std::env::var_os("RETAKE_LONG").is_some_and(|value| value == "1")
}

/// Waits until everything was looked at: a look at very many files lasts longer than a command waits
/// for its turn, which then shows what is on record and says so.
fn looked_at_all(world: &World) {
    let end = Instant::now() + Duration::from_secs(3600);
    while !world.run(&["status"]).stderr.is_empty() {
        assert!(Instant::now() < end, "it is never looked at");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What is true after every row.
fn check(world: &World) {
    world.ok(&["status"]);
    assert_eq!(recorded_tree(world), real_tree(world), "the record is not what is there");
    check_record(world);
}

/// The same where git cannot be asked what is there.
fn check_record(world: &World) {
    world.ok(&["doctor", "--read-data"]);
    let left = files(&world.root()).into_keys().find(|path| has(path, b".retake-"));
    assert_eq!(left.as_deref().map(String::from_utf8_lossy), None, "it left something behind");
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// What the person does, by a shell in the project.
fn sh(world: &World, script: &str) {
    let done = Command::new("sh").args(["-ec", script]).current_dir(world.root()).output().unwrap();
    assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A project that a script makes, on record.
fn made_by(script: &str) -> World {
    let world = World::new();
    sh(&world, script);
    world.ok(&["init"]);
    world
}

/// One turn of an agent: a message, and a command that really runs.
fn turn(world: &World, script: &str) {
    world.say("d1", "go");
    world.shell("k1", script);
}

/// What is not protected, with the reason, in the order of paths.
fn gaps(world: &World) -> Vec<(String, String)> {
    let status = world.run(&["status", "--json"]).json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let gap = |gap: &Value| (text(&gap["path"]), text(&gap["reason"]));
    let mut gaps: Vec<_> = status["gaps"].as_array().unwrap().iter().map(gap).collect();
    gaps.sort();
    gaps
}

/// The id of the newest checkpoint.
fn newest_checkpoint(world: &World) -> String {
    let list = world.run(&["checkpoints", "--json", "-n", "1"]).json();
    list["checkpoints"][0]["id"].as_str().unwrap().to_owned()
}

/// Everything that can be told of a name without opening what must not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    kind: char,
    mode: u32,
    mtime: (i64, i64),
    /// Of a file its bytes, of a link its target; huge files are told by their size.
    content: Vec<u8>,
}

impl Found {
    /// Whether it is the same but for the time.
    fn is_same(&self, other: &Self) -> bool {
        (self.kind, self.mode, &self.content) == (other.kind, other.mode, &other.content)
    }
}

/// A file of this size is not read by a test.
const HUGE: u64 = 64 << 20;

type Files = BTreeMap<Vec<u8>, Found>;

/// Everything beneath a root but folders and `.git`, by the bytes of its path.
fn files(root: &Path) -> Files {
    let mut found = Files::new();
    collect(root, b"", &mut found);
    found
}

fn collect(folder: &Path, prefix: &[u8], files: &mut Files) {
    // A path may be too long for one call: what is that deep is not for us to see.
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let (name, path) = (entry.file_name(), entry.path());
        let key = [prefix, name.as_bytes()].concat();
        if name == ".git" {
            continue;
        }
        let Ok(data) = path.symlink_metadata() else { continue };
        let of = data.file_type();
        let (kind, content) = match data.len() {
            _ if of.is_dir() => {
                collect(&path, &[&key, &b"/"[..]].concat(), files);
                continue;
            }
            _ if of.is_symlink() => {
                ('l', std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec())
            }
            _ if of.is_fifo() => ('p', Vec::new()),
            _ if of.is_socket() => ('s', Vec::new()),
            _ if of.is_char_device() => ('c', data.rdev().to_be_bytes().to_vec()),
            size if size > HUGE => ('f', size.to_be_bytes().to_vec()),
            _ => ('f', std::fs::read(&path).unwrap()),
        };
        let mtime = (data.mtime(), data.mtime_nsec());
        files.insert(key, Found { kind, mode: data.mode() & 0o7777, mtime, content });
    }
}

/// Fails unless the files are these again, whatever their times are.
fn assert_same(now: &Files, then: &Files) {
    let names = |files: &Files| -> Vec<String> {
        files.keys().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    };
    assert_eq!(names(now), names(then));
    for (name, found) in now {
        let name_shown = String::from_utf8_lossy(name);
        assert!(found.is_same(&then[name]), "{name_shown}: {found:?}");
    }
}
