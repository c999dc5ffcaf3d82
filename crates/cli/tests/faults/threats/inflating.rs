//! What is small and becomes large: contents in rows and in packs that lie about their size, and
//! files of one endless line.

use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::Command;

use retake_testkit::git;
use retake_testkit::machine::{MachineRequirement, has_all};

use super::bounded::{MEMORY, run};
use super::deflate::{Claim, zlib_zeros, zstd_stored, zstd_zeros};
use super::served::Daemon;
use crate::support::World;

/// More than a run may have, in blocks of 128 KiB: 1 GiB.
const BLOCKS: usize = 8192;
/// Of one chunk; what is larger is stored in several.
const CHUNK: usize = 64 * 1024;

const NEEDS: [MachineRequirement; 2] =
    [MachineRequirement::Program("prlimit"), MachineRequirement::Program("timeout")];

/// A stored content as a row has it.
struct Row {
    encoding: i64,
    size: i64,
    data: Vec<u8>,
}

/// An agent replaced `a.txt`; what it said before is in this row.
fn world_with(row: impl FnOnce(&World) -> Row) -> World {
    let world = World::with(&[("a.txt", "before\n"), ("chunk.bin", &"c".repeat(CHUNK))]);
    let before = git::run(&world.root(), &["hash-object", "a.txt"]);
    world.shell("k1", "echo after > a.txt");
    let Row { encoding, size, data } = row(&world);
    let db = rusqlite::Connection::open(world.store().join("retake.db")).unwrap();
    let sql = "UPDATE object SET encoding = ?1, size = ?2, data = ?3 WHERE lower(hex(oid)) = ?4";
    let changed = db.execute(sql, (encoding, size, data, &before)).unwrap();
    assert_eq!(changed, 1, "{before}");
    world
}

/// A command that needs that content says that it is damaged, and leaves everything as it is.
fn assert_refused(world: &World, what: &str) {
    assert_not_read(world, what);
    let out = world.outer().join("out").display().to_string();
    for words in
        [&["diff"][..], &["log"], &["git"], &["gc"], &["export", &out], &["blame", "a.txt"]]
    {
        run(world, words);
    }
    // What is new is recorded all the same.
    world.write("a.txt", "later\n");
    run(world, &["status"]);
    assert_eq!(run(world, &["log", "--json", "-n", "1"]).json()["changes"][0]["path"], "a.txt");
}

fn assert_not_read(world: &World, what: &str) {
    let change = world.change_of("a.txt");
    let shown = run(world, &["show", &change, "--before"]);
    assert_eq!(shown.code, 1, "{what}");
    assert!(shown.stderr.contains("damaged"), "{what}: {}", shown.stderr);
    let checked = run(world, &["doctor", "--read-data"]);
    assert_eq!(checked.code, 1, "{what}: {}", checked.text());
    let undone = run(world, &["undo", "--yes"]);
    assert_ne!(undone.code, 0, "{what}: {}", undone.text());
    assert_eq!(world.read("a.txt"), "after\n", "{what}");
}

#[test]
fn threat_decompression_bomb_a_row_that_inflates_past_its_size() {
    if !has_all(&NEEDS) {
        return;
    }
    let small = |claim: &Claim| Row { encoding: 1, size: 7, data: zstd_zeros(BLOCKS, claim) };
    assert_refused(&world_with(|_| small(&Claim::Nothing)), "a frame that says nothing");
    let world = world_with(|_| small(&Claim::Bytes(7)));
    assert_refused(&world, "a frame that lies");
    for size in [i64::MAX, 1 << 50, -1] {
        let claim = Claim::Bytes(size.cast_unsigned());
        let row = Row { encoding: 1, size, data: zstd_zeros(1, &claim) };
        assert_refused(&world_with(|_| row), &format!("a row that claims {size} bytes"));
    }
}

#[test]
fn threat_decompression_bomb_a_list_of_chunks() {
    if !has_all(&NEEDS) {
        return;
    }
    let list = zstd_zeros(BLOCKS, &Claim::Nothing);
    let endless = Row { encoding: 2, size: 7, data: list };
    assert_refused(&world_with(|_| endless), "a list without an end");
    // One chunk, over and over: 1 GiB.
    let again = |world: &World| {
        let chunk = git::run(&world.root(), &["hash-object", "chunk.bin"]);
        let id = (0..20).map(|at| u8::from_str_radix(&chunk[2 * at..2 * at + 2], 16).unwrap());
        let length = u32::try_from(CHUNK).unwrap().to_be_bytes();
        let entry: Vec<u8> = id.chain(length).collect();
        Row { encoding: 2, size: 64 << 20, data: zstd_stored(&entry.repeat(1 << 14)) }
    };
    assert_not_read(&world_with(again), "a list that names a chunk too often");
}

#[test]
fn threat_decompression_bomb_what_agents_said() {
    if !has_all(&NEEDS) {
        return;
    }
    let world = World::with(&[("a.txt", "before\n")]);
    world.shell("k1", "echo after > a.txt");
    let talk = "../agents/tests/payloads/claude-code/transcript.jsonl";
    let talk = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(talk);
    world.ok(&["history", "import", talk.to_str().unwrap(), "--dialog", "d1"]);
    let change = world.change_of("a.txt");
    let db = rusqlite::Connection::open(world.store().join("retake.db")).unwrap();
    let bomb = zstd_zeros(BLOCKS, &Claim::Nothing);
    assert_eq!(db.execute("UPDATE call SET input = ?1", [&bomb]).unwrap(), 1);
    let one = "UPDATE message SET body = ?1 WHERE id = (SELECT max(id) FROM message)";
    assert_eq!(db.execute(one, [&bomb]).unwrap(), 1);
    drop(db);
    let out = world.outer().join("out").display().to_string();
    for words in [
        &["history"][..],
        &["history", "--model", "--whole"],
        &["history", "export"],
        &["log"],
        &["show", &change],
        &["blame", "a.txt"],
        &["export", &out],
        &["doctor"],
        &["purge", "a.txt", "--yes"],
    ] {
        run(&world, words);
    }
}

/// A repository lends its packs, and may have been made to harm their reader.
#[test]
fn threat_decompression_bomb_a_pack_of_the_repository() {
    if !has_all(&NEEDS) {
        return;
    }
    let world = World::new();
    let lent = Lent::by(&world);
    lent.plant(LARGE as u64);
    assert_eq!(run(&world, &["init"]).code, 0);
    assert_large_is_damaged(&world, "a stream that goes on");

    // It is the same file, so what is done to it after it was borrowed is done to both.
    let world = World::new();
    let lent = Lent::by(&world);
    assert_eq!(run(&world, &["init"]).code, 0);
    lent.plant(1 << 42);
    assert_large_is_damaged(&world, "an entry that claims 4 TiB");
}

fn assert_large_is_damaged(world: &World, what: &str) {
    world.shell("k1", "echo after > large.bin");
    let undone = run(world, &["undo", "--yes"]);
    assert_ne!(undone.code, 0, "{what}: {}", undone.text());
    assert_eq!(world.read("large.bin"), "after\n", "{what}");
    assert_eq!(run(world, &["doctor", "--read-data"]).code, 1, "{what}");
    let change = world.change_of("large.bin");
    let shown = run(world, &["show", &change, "--before"]);
    assert!(shown.code == 1 && shown.stderr.contains("damaged"), "{what}: {}", shown.stderr);
}

/// The length of a file in a pack: one that does not get smaller by packing.
const LARGE: usize = 8 << 20;

/// A pack of the user's repository, and where a large file is in it.
struct Lent {
    pack: PathBuf,
    offset: usize,
}

impl Lent {
    /// Makes a repository of so many files that its packs are borrowed.
    fn by(world: &World) -> Self {
        let root = world.root();
        for number in 0..420 {
            world.write(&format!("many/{number}"), format!("{number}\n"));
        }
        let mut random = vec![0; LARGE];
        std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut random).unwrap();
        world.write("large.bin", &random);
        // Older than git's index, so that git calls them clean.
        let mut age = Command::new("find");
        age.arg(&root).args(["-type", "f", "-exec", "touch", "-d", "2020-01-01", "{}", "+"]);
        assert!(age.status().unwrap().success());
        for arguments in [
            &["init", "--quiet"][..],
            &["add", "--all"],
            &["commit", "--quiet", "-m", "first"],
            &["repack", "--quiet", "-ad"],
        ] {
            git::run(&root, arguments);
        }
        let files = std::fs::read_dir(root.join(".git/objects/pack")).unwrap();
        let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        let named = |end: &str| files.iter().find(|file| file.extension().unwrap() == end).unwrap();
        let listed = git::run(&root, &["verify-pack", "-v", named("idx").to_str().unwrap()]);
        let oid = git::run(&root, &["hash-object", "large.bin"]);
        let line = listed.lines().find(|line| line.starts_with(&oid)).unwrap();
        let offset = line.split_whitespace().nth(4).unwrap().parse().unwrap();
        Self { pack: named("pack").clone(), offset }
    }

    /// Puts a stream that becomes more than a run may have in the place of the large file, with
    /// this as its length.
    fn plant(&self, claimed: u64) {
        let entry = [entry_head(claimed), zlib_zeros(MEMORY as usize + (128 << 20))].concat();
        assert!(entry.len() < LARGE, "it fits where the file was");
        std::fs::set_permissions(&self.pack, std::fs::Permissions::from_mode(0o644)).unwrap();
        let pack = std::fs::File::options().write(true).open(&self.pack).unwrap();
        pack.write_all_at(&entry, self.offset as u64).unwrap();
    }
}

/// The head of a blob of this size in a pack.
fn entry_head(size: u64) -> Vec<u8> {
    let mut head = vec![0x30 | (size & 0x0f) as u8];
    let mut rest = size >> 4;
    while rest > 0 {
        *head.last_mut().unwrap() |= 0x80;
        head.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    head
}

/// The promise of large files: they are kept whole, and compared with nothing.
#[test]
fn threat_huge_diffs_one_line_without_an_end_and_very_many_lines() {
    if !has_all(&NEEDS) {
        return;
    }
    let world = World::with(&[("line.txt", "short\n"), ("lines.txt", "one\n")]);
    let megabytes = if super::is_long() { 1024 } else { 64 };
    let script = format!(
        "head -c {megabytes}M /dev/zero | tr '\\0' 'x' > line.txt; seq 1 400000 > lines.txt"
    );
    world.shell("k1", &script);
    let (line, lines) = (world.change_of("line.txt"), world.change_of("lines.txt"));
    for words in [
        &["status"][..],
        &["log"],
        &["diff"],
        &["diff", "--stat"],
        &["diff", "--json"],
        &["show", &line],
        &["show", &line, "--json"],
        &["show", &lines],
        &["blame", "line.txt"],
        &["blame", "lines.txt"],
        &["undo", "--dry-run", "--diff"],
        &["context", "--stale"],
    ] {
        let done = run(&world, words);
        let told = done.stdout.len() + done.stderr.len();
        assert!(told < 64 * 1024, "{words:?} tells {told} bytes");
    }
    let daemon = Daemon::of(&world);
    let projects = daemon.get("/api/projects").json();
    let project = projects["projects"][0]["id"].as_str().unwrap().to_owned();
    for path in ["diff", &format!("changes/{line}/diff"), &format!("changes/{lines}/diff")] {
        let answer = daemon.get(&format!("/api/projects/{project}/{path}"));
        assert!(answer.body.len() < 64 * 1024, "{path}: {} bytes", answer.body.len());
    }
    drop(daemon);
    assert_eq!(run(&world, &["undo", "--yes"]).code, 0);
    assert_eq!(world.read("line.txt"), "short\n");
    assert_eq!(run(&world, &["redo", "--yes"]).code, 0);
    assert_eq!(world.root().join("line.txt").metadata().unwrap().len(), megabytes << 20);
}
