//! Bytes that the store reads: damaged ones are an error, never a panic, never another content, and
//! never more memory than there is content.
//!
//! An input says what is damaged (a column of an object, a pack, its index, the database, its log,
//! the spool, the stat cache, a tree), of which object, where in it, and with which bytes.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use retake_engine::model::ObjectId;
use retake_store::{
    ObjectKind, PackWriter, Store, StoreAccess, StoreError, encode, encode_packed, hash_blob,
};
use rusqlite::{Connection, params};

use crate::input::{choose, spliced, split_head};
use crate::reused_project::{OpenTestProject, ReusedFixture, with_fixture};

/// The part that is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DamagedPart {
    Data,
    Size,
    Kind,
    Encoding,
    /// A decompression bomb.
    Bomb,
    Pack,
    Index,
    Database,
    Log,
    Spool,
    Stats,
    Tree,
}

const PARTS: &[DamagedPart] = &[
    DamagedPart::Data,
    DamagedPart::Size,
    DamagedPart::Kind,
    DamagedPart::Encoding,
    DamagedPart::Bomb,
    DamagedPart::Pack,
    DamagedPart::Index,
    DamagedPart::Database,
    DamagedPart::Log,
    DamagedPart::Spool,
    DamagedPart::Stats,
    DamagedPart::Tree,
];

const CHUNKED_BYTES: usize = 300 * 1024;
const BOMB_UNPACKED_BYTES: u64 = 1 << 29;
/// Sizes that a row with a bomb claims: the true one, a small one, or an impossible one.
const CLAIMED_SIZES: [Option<i64>; 4] = [None, Some(1 << 20), Some(1 << 62), Some(-1)];
/// Maximum peak memory of this process.
const MAX_MEMORY_BYTES: u64 = 384 << 20;

static BOMB_BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let zeros = std::io::Read::take(std::io::repeat(0), BOMB_UNPACKED_BYTES);
    zstd::stream::encode_all(zeros, 1).unwrap()
});

thread_local! {
    static STORED: ReusedFixture<StoredProject> = const { ReusedFixture::new(None) };
}

/// Damage is reported, and all else can still be read.
pub fn stored(data: &[u8]) {
    let (part, rest) = choose(PARTS, data);
    let (which, rest) = split_head(rest);
    let (place, bytes) = split_head(rest);
    with_fixture(&STORED, 300, StoredProject::new, |stored| match part {
        DamagedPart::Data
        | DamagedPart::Size
        | DamagedPart::Kind
        | DamagedPart::Encoding
        | DamagedPart::Bomb => {
            stored.damage_row(part, which, place, bytes);
        }
        DamagedPart::Pack => stored.damage_pack("pack", place, bytes),
        DamagedPart::Index => stored.damage_pack("idx", place, bytes),
        DamagedPart::Database => stored.damage_database("retake.db", place, bytes),
        DamagedPart::Log => stored.damage_database("retake.db-wal", place, bytes),
        DamagedPart::Spool => stored.damage_spool(bytes),
        DamagedPart::Stats => stored.damage_stats(place, bytes),
        DamagedPart::Tree => stored.damage_tree(bytes),
    });
}

/// A project whose store has an object of every kind, and what they hold.
struct StoredProject {
    stage: OpenTestProject,
    contents: Vec<(ObjectId, Vec<u8>)>,
}

impl StoredProject {
    fn new() -> Self {
        let mut noise = vec![0; CHUNKED_BYTES];
        fastrand::Rng::with_seed(1).fill(&mut noise);
        let files = [
            ("raw", b"short".to_vec()),
            ("squeezed", b"the same line again and again\n".repeat(400)),
            ("chunks", noise),
            ("d/e/empty", Vec::new()),
            ("packed", b"in a pack\n".repeat(9)),
        ];
        let write = |test: &retake_testkit::TestProject| {
            for (name, content) in &files {
                test.write(name, content);
            }
        };
        let stage = OpenTestProject::new(write);
        stage.project.checkpoint(Some("all"), None, stage.test.tick()).unwrap();
        let contents: Vec<_> =
            files.into_iter().map(|(_, bytes)| (hash_blob(&bytes).unwrap(), bytes)).collect();
        let stored = Self { stage, contents };
        // The record needs it, and only the pack has it.
        let (oid, content) = stored.contents.last().unwrap();
        pack(stored.stage.project.store(), *oid, content);
        let sql = "DELETE FROM object WHERE oid = ?1";
        assert_eq!(stored.connection().execute(sql, [oid.as_bytes().as_slice()]), Ok(1));
        stored
    }

    fn folder(&self) -> &Path {
        self.stage.project.store().folder()
    }

    fn connection(&self) -> Connection {
        Connection::open(self.folder().join("retake.db")).unwrap()
    }

    /// Everything is what it was, or an error of those that `may_fail` names.
    fn check(&self, store: &Store, may_fail: impl Fn(&ObjectId) -> bool) {
        let mut failed = false;
        for (oid, content) in &self.contents {
            let found = store.read(oid);
            assert_eq!(found.is_ok(), store.read_if_intact(oid).is_ok_and(|it| it.is_some()));
            match found {
                Ok(found) => assert!(found == *content, "{oid} is another content"),
                Err(StoreError::Missing(_) | StoreError::Damaged { .. } | StoreError::Row(_)) => {
                    assert!(may_fail(oid), "{oid} was not damaged");
                    failed = true;
                }
                Err(error) => panic!("{oid}: {error}"),
            }
        }
        let verified = store.verify(true, &mut |_, _| {});
        assert!(!failed || verified.is_ok_and(|it| !it.problems.is_empty()), "nobody is told");
        check_memory();
    }

    fn damage_row(&self, part: DamagedPart, which: usize, place: usize, bytes: &[u8]) {
        let db = self.connection();
        let count: i64 = db.query_row("SELECT count(*) FROM object", [], |row| row.get(0)).unwrap();
        let sql = "SELECT oid, kind, encoding, size, data FROM object ORDER BY size, oid LIMIT 1 OFFSET ?1";
        let (oid, kind, encoding, size, data): (Vec<u8>, i64, i64, i64, Vec<u8>) = db
            .query_row(sql, [which as i64 % count], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .unwrap();
        let number = number(bytes);
        let put = |kind: i64, encoding: i64, size: i64, data: &[u8]| {
            let sql =
                "UPDATE object SET kind = ?1, encoding = ?2, size = ?3, data = ?4 WHERE oid = ?5";
            db.execute(sql, params![kind, encoding, size, data, oid]).unwrap();
        };
        match part {
            DamagedPart::Data => put(kind, encoding, size, &spliced(&data, place, bytes)),
            DamagedPart::Size => put(kind, encoding, number, &data),
            DamagedPart::Kind => put(number % 5, encoding, size, &data),
            DamagedPart::Encoding => put(kind, number % 4, size, &data),
            _ => {
                let claim = CLAIMED_SIZES[place % CLAIMED_SIZES.len()].unwrap_or(size);
                put(kind, 1 + number % 2, claim, &BOMB_BYTES);
            }
        }
        let chunked =
            self.contents.iter().find(|(_, it)| it.len() == CHUNKED_BYTES).map(|(oid, _)| *oid);
        // A chunk that is damaged damages what it is part of.
        self.check(self.stage.project.store(), |it| {
            it.as_bytes()[..] == oid || Some(*it) == chunked
        });
        put(kind, encoding, size, &data);
        self.check(self.stage.project.store(), |_| false);
    }

    fn damage_pack(&self, end: &str, place: usize, bytes: &[u8]) {
        let packs = std::fs::read_dir(self.folder().join("packs")).unwrap().flatten();
        let file = packs.map(|it| it.path()).find(|it| it.extension().is_some_and(|it| it == end));
        let file = file.unwrap();
        let before = std::fs::read(&file).unwrap();
        replace(&file, &spliced(&before, place, bytes));
        let packed = self.contents.last().map(|(oid, _)| *oid);
        let fresh = Store::open(self.folder(), StoreAccess::Read).unwrap();
        self.check(&fresh, |oid| Some(*oid) == packed);
        replace(&file, &before);
    }

    /// Of a damaged database nothing is expected but that it says so.
    fn damage_database(&self, name: &str, place: usize, bytes: &[u8]) {
        let copy = self.stage.test.outer().join("copy");
        let _ = std::fs::remove_dir_all(&copy);
        std::fs::create_dir(&copy).unwrap();
        for file in ["retake.db", "retake.db-wal"] {
            let content = std::fs::read(self.folder().join(file)).unwrap_or_default();
            let content = if file == name { spliced(&content, place, bytes) } else { content };
            std::fs::write(copy.join(file), content).unwrap();
        }
        let Ok(store) = Store::open(&copy, StoreAccess::Read) else { return };
        for (oid, content) in &self.contents {
            assert!(store.read(oid).map_or(true, |found| found == *content), "another content");
        }
        let _ = store.verify(true, &mut |_, _| {});
        let _ = store.manifest();
        let _ = store.tracked_paths();
        let _ = store.checkpoints(None, 10);
        check_memory();
    }

    /// Unreadable lines are reported, and no line keeps others from being recorded.
    fn damage_spool(&self, bytes: &[u8]) {
        let file = self.folder().join("spool.jsonl");
        std::fs::write(&file, bytes).unwrap();
        let looked = self.stage.project.refresh(self.stage.test.tick());
        looked.unwrap_or_else(|error| panic!("{error}: {}", bytes.escape_ascii()));
        std::fs::write(&file, "").unwrap();
    }

    /// The stat cache is derived: without it files are read again, and no false change is recorded.
    fn damage_stats(&self, place: usize, bytes: &[u8]) {
        let files = std::fs::read_dir(self.folder()).unwrap().flatten();
        let is_it = |file: &PathBuf| {
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("stats-"))
        };
        let Some(file) = files.map(|it| it.path()).find(is_it) else { return };
        let before = std::fs::read(&file).unwrap();
        replace(&file, &spliced(&before, place, bytes));
        let looked = self.stage.project.refresh(self.stage.test.tick()).unwrap();
        assert!(looked.changes.is_empty(), "{:?}", looked.changes);
    }

    /// The cached tree of a folder may be anything: checkpoints are made or refused.
    fn damage_tree(&self, bytes: &[u8]) {
        let (project, test) = (&self.stage.project, &self.stage.test);
        let Ok(tree) = encode(ObjectKind::Tree, bytes) else { return };
        let batch = project.store().batch().unwrap();
        batch.put_object(&tree).unwrap();
        batch.commit().unwrap();
        let db = self.connection();
        let sql = "UPDATE folder_tree SET oid = ?1 WHERE path = x''";
        db.execute(sql, [tree.oid.as_bytes().as_slice()]).unwrap();
        test.write("moving", format!("{}\n", test.tick()));
        let _ = project.checkpoint(Some("of a strange tree"), None, test.tick());
        db.execute("DELETE FROM folder_tree", []).unwrap();
        project.checkpoint(Some("again"), None, test.tick()).unwrap();
    }
}

fn pack(store: &Store, oid: ObjectId, content: &[u8]) {
    let batch = store.batch().unwrap();
    let mut writer = PackWriter::new(store).unwrap();
    writer.add(&encode_packed(ObjectKind::Blob, oid, content).unwrap()).unwrap();
    writer.finish(&batch).unwrap();
    batch.commit().unwrap();
}

fn number(bytes: &[u8]) -> i64 {
    let mut number = [0; 8];
    number.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    i64::from_le_bytes(number)
}

/// A new file under the name: the old one may be mapped into memory.
fn replace(file: &Path, content: &[u8]) {
    std::fs::remove_file(file).unwrap();
    std::fs::write(file, content).unwrap();
}

fn check_memory() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let most = kilobytes.unwrap_or(0) * 1024;
    assert!(most <= MAX_MEMORY_BYTES, "this process once took {} MiB", most >> 20);
}
