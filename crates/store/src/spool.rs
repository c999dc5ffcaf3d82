//! The spool: a durable queue of events that could not be recorded at once.
//!
//! One append-only file of JSON lines with a lock of its own, held only for the
//! append, so that a hook can leave its event while another process holds the
//! project. The next holder of the project's lock takes the entries in: each
//! entry's id is committed with what it caused, so a kill between that commit
//! and the cut of the file does not take it in twice.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use retake_model::{Event, EventOrigin, Millis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lock::lock_within;
use crate::{Batch, Store, StoreError};

/// Timeout of the spool's lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// Counter of the idempotency keys of this process; makes them unique within a millisecond.
static KEY_COUNTER: AtomicU64 = AtomicU64::new(0);

/// One spooled event.
#[derive(Clone, Debug, PartialEq)]
pub struct SpoolEntry {
    /// Unique in the project.
    pub id: String,
    /// When the event came.
    pub at: Millis,
    /// The event.
    pub event: Event,
    /// Where it comes from.
    pub origin: EventOrigin,
}

/// An entry as a line of the file. The event is a JSON string, so that nesting it does not exceed
/// the parser's depth limit.
#[derive(Serialize, Deserialize)]
struct SpoolLine {
    id: String,
    at: Millis,
    event: String,
    /// Absent in lines of earlier versions.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    origin: Value,
}

impl SpoolLine {
    fn parse_entry(bytes: &[u8]) -> Option<SpoolEntry> {
        let line: Self = serde_json::from_slice(bytes).ok()?;
        let event = serde_json::from_str(&line.event).ok()?;
        // The event counts, even if a newer version wrote an origin that this one cannot read.
        let origin = serde_json::from_value(line.origin).unwrap_or_default();
        Some(SpoolEntry { id: line.id, at: line.at, event, origin })
    }
}

/// What waits in a spool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpoolBacklog {
    /// Number of events.
    pub events: u64,
    /// When the oldest of them came.
    pub oldest: Option<Millis>,
}

/// The spool of a project.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
}

impl Spool {
    /// The spool in a project's folder.
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join("spool.jsonl") }
    }

    /// Returns a new idempotency key, unique in the project.
    pub fn new_key(&self, at: Millis) -> String {
        let number = KEY_COUNTER.fetch_add(1, Ordering::Relaxed);
        format!("{}-{at}-{number}", std::process::id())
    }

    /// Makes the file, empty, unless it is there.
    pub(crate) fn create(&self) -> Result<(), StoreError> {
        let opened = retake_seam::fs::open_private(&self.path);
        opened.map(drop).map_err(StoreError::io("create", &self.path))
    }

    /// Appends an event of unknown origin under its key, see [`Spool::push_entry`].
    pub fn push(&self, key: &str, event: &Event, at: Millis) -> Result<(), StoreError> {
        let (id, event, origin) = (key.to_owned(), event.clone(), EventOrigin::default());
        self.push_entry(&SpoolEntry { id, at, event, origin })
    }

    /// Appends an event under its key. Once this returns it survives power loss.
    pub fn push_entry(&self, entry: &SpoolEntry) -> Result<(), StoreError> {
        // On a full disk there may still be room for an empty file, so that the loss is noticed.
        self.append(entry)
            .inspect_err(|_| drop(retake_seam::fs::write_unsynced(&self.lost_file(), b"")))
    }

    /// Returns whether an event could not even be spooled.
    pub fn has_lost_event(&self) -> bool {
        self.lost_file().exists()
    }

    /// Removes the marker of a lost event, once the loss is on record.
    pub fn clear_lost_event(&self) {
        // If it stays, the loss is reported once more.
        let _ = retake_seam::fs::remove_file(&self.lost_file());
    }

    fn lost_file(&self) -> PathBuf {
        self.path.with_extension("lost")
    }

    fn append(&self, entry: &SpoolEntry) -> Result<(), StoreError> {
        let mut file = self.open_locked()?;
        let cannot = |error| StoreError::Row(format!("an event cannot be spooled: {error}"));
        let line = SpoolLine {
            id: entry.id.clone(),
            at: entry.at,
            event: serde_json::to_string(&entry.event).map_err(cannot)?,
            origin: if entry.origin == EventOrigin::default() {
                Value::Null
            } else {
                serde_json::to_value(&entry.origin).map_err(cannot)?
            },
        };
        let json = serde_json::to_string(&line).map_err(cannot)?;
        // The newline before it: a line that a kill cut off must not swallow this one.
        let failed = |act| StoreError::io(act, &self.path);
        retake_seam::fs::append(&mut file, format!("\n{json}\n").as_bytes())
            .map_err(failed("append to"))?;
        retake_seam::fs::sync_file(&file).map_err(failed("sync"))?;
        // Each time: the process that created the file may have been killed before this sync.
        match self.path.parent() {
            Some(folder) => retake_seam::fs::sync_dir(folder).map_err(failed("sync the folder of")),
            None => Ok(()),
        }
    }

    /// Returns whether nothing is spooled.
    pub fn is_empty(&self) -> bool {
        std::fs::metadata(&self.path).map_or(true, |data| data.len() == 0)
    }

    /// Counts what waits, without parsing the events and without the lock: an entry that is just
    /// being appended may be missing.
    pub fn backlog(&self) -> Result<SpoolBacklog, StoreError> {
        let mut backlog = SpoolBacklog::default();
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(backlog),
            Err(error) => return Err(StoreError::io("read", &self.path)(error)),
        };
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(StoreError::io("read", &self.path))?;
            if line.is_empty() {
                continue;
            }
            backlog.events += 1;
            if backlog.oldest.is_none() {
                let line = serde_json::from_slice(&line).ok();
                backlog.oldest = line.map(|line: SpoolLine| line.at);
            }
        }
        Ok(backlog)
    }

    /// Everything that is kept, in order, and the lines that cannot be understood.
    pub fn entries(&self) -> Result<(Vec<SpoolEntry>, Vec<String>), StoreError> {
        if self.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let mut file = self.open_locked()?;
        Self::parse(&mut file).map_err(StoreError::io("read", &self.path))
    }

    /// Empties the spool if it still holds just these many entries; what came since stays.
    pub fn clear(&self, taken: usize, bad: usize) -> Result<(), StoreError> {
        let mut file = self.open_locked()?;
        let failed = |act| StoreError::io(act, &self.path);
        let (entries, lines) = Self::parse(&mut file).map_err(failed("read"))?;
        if entries.len() == taken && lines.len() == bad {
            retake_seam::fs::truncate(&file, 0).map_err(failed("empty"))?;
        }
        Ok(())
    }

    fn parse(file: &mut File) -> std::io::Result<(Vec<SpoolEntry>, Vec<String>)> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        let (mut entries, mut bad) = (Vec::new(), Vec::new());
        for line in bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            match SpoolLine::parse_entry(line) {
                Some(entry) => entries.push(entry),
                None => bad.push(String::from_utf8_lossy(line).into_owned()),
            }
        }
        Ok((entries, bad))
    }

    fn open_locked(&self) -> Result<File, StoreError> {
        let file = retake_seam::fs::open_private(&self.path)
            .map_err(StoreError::io("open", &self.path))?;
        // Held for a few writes at most, unless its holder is suspended.
        if !lock_within(&file, LOCK_TIMEOUT).map_err(StoreError::io("lock", &self.path))? {
            let source = std::io::Error::from(std::io::ErrorKind::TimedOut);
            return Err(StoreError::Io { act: "lock", path: self.path.clone(), source });
        }
        Ok(file)
    }
}

impl Store {
    /// Returns whether the event of this key was recorded already.
    pub fn is_key_recorded(&self, id: &str) -> Result<bool, StoreError> {
        let mut query = self.db.prepare_cached("SELECT 1 FROM spool_taken WHERE id = ?1")?;
        Ok(query.exists([id])?)
    }
}

impl Batch<'_> {
    /// Removes the keys of events from before this time, which can no longer be in a spool.
    pub fn expire_keys(&self, before: Millis) -> Result<(), StoreError> {
        self.execute("forget keys", "DELETE FROM spool_taken WHERE at < ?1", [before])?;
        Ok(())
    }

    /// Records the idempotency key of an event, in the transaction of its effects.
    pub fn record_key(&self, key: &str, at: Millis) -> Result<(), StoreError> {
        self.execute(
            "take key",
            "INSERT OR IGNORE INTO spool_taken(id, at) VALUES(?1, ?2)",
            (key, at),
        )?;
        Ok(())
    }
}
