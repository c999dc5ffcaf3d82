//! A batch: one transaction, or one savepoint of a group's, for content and record together.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Deref;

use rusqlite::Params;

use crate::counts::Tally;
use crate::folders::Moved;
use crate::group::Bracket;
use crate::objects::{Encoded, ObjectKind};
use crate::recent::Kept;
use crate::stats::Noting;
use crate::{Store, StoreError};

/// Pending object bytes above which objects are committed ahead of their record.
const AHEAD: usize = 32 * 1024 * 1024;

/// A transaction on a [`Store`]. Dropping it rolls back.
///
/// Inside a [`Group`](crate::Group) it is a part of the group's transaction.
///
/// It reads like the store, including what it has written itself.
#[derive(Debug)]
pub struct Batch<'s> {
    store: &'s Store,
    bracket: Bracket<'s>,
    /// The newest `seq` on record.
    recorded_seq: Cell<u64>,
    seq: Cell<u64>,
    /// Changes added minus changes removed.
    pub(crate) changes: Cell<i64>,
    bytes: Cell<usize>,
    _recent: Kept<'s>,
    /// Pending change of the manifest's counts.
    pub(crate) counted: Cell<Tally>,
    /// Where touched paths are recorded.
    pub(crate) noting: RefCell<Noting>,
    /// Names that changed, by folder, since the last tree was built.
    pub(crate) moved: RefCell<HashMap<Vec<u8>, Moved>>,
}

impl Deref for Batch<'_> {
    type Target = Store;

    fn deref(&self) -> &Store {
        self.store
    }
}

impl<'s> Batch<'s> {
    pub(crate) fn begin(store: &'s Store) -> Result<Self, StoreError> {
        let bracket = Bracket::open(store)?;
        let seq = store.last_seq()?;
        let noting = match store.stats_name()? {
            Some(_) => Noting::InTable,
            None => Noting::Nowhere,
        };
        Ok(Self {
            store,
            bracket,
            recorded_seq: Cell::new(seq),
            seq: Cell::new(seq),
            changes: Cell::default(),
            bytes: Cell::default(),
            _recent: store.recent.open(),
            counted: Cell::default(),
            noting: RefCell::new(noting),
            moved: RefCell::default(),
        })
    }

    /// Makes everything durable, inside a group with the group. Only after that may anything be
    /// acknowledged. A batch that wrote nothing costs nothing: it is not synced.
    pub fn commit(self) -> Result<(), StoreError> {
        if self.seq != self.recorded_seq {
            self.set_meta("seq", &self.seq.get().to_be_bytes())?;
        }
        self.keep_change_count()?;
        self.keep_tally()?;
        self.bracket.close(self.store, self.bytes.get())
    }

    /// Commits objects ahead of their record if they have become many bytes.
    ///
    /// Called only while nothing but objects has been written. Inside a group they stay in its
    /// transaction: what memory cannot hold of it, SQLite puts into the WAL.
    pub fn commit_ahead(&mut self) -> Result<(), StoreError> {
        let Bracket::Alone(tx) = &self.bracket else { return Ok(()) };
        if self.bytes.get() < AHEAD {
            return Ok(());
        }
        retake_seam::statement("commit ahead")?;
        let store = self.store;
        tx.execute_batch("COMMIT; BEGIN IMMEDIATE").map_err(|error| store.distrust_wal(error))?;
        self.recorded_seq.set(store.last_seq()?);
        self.seq.set(self.recorded_seq.get());
        self.bytes.set(0);
        Ok(())
    }

    /// Inserts an object unless the store has it.
    ///
    /// "Has it" means these very bytes: a damaged row is overwritten.
    pub fn put(&self, object: &Encoded) -> Result<(), StoreError> {
        if self.is_soundly_packed(object)? {
            return Ok(());
        }
        let written = self.execute(
            "put object",
            "INSERT INTO object(oid, kind, encoding, size, data) VALUES(?1, ?2, ?3, ?4, ?5)
             ON CONFLICT(oid) DO UPDATE SET kind = excluded.kind, encoding = excluded.encoding,
                 size = excluded.size, data = excluded.data
             WHERE (data, encoding, kind, size)
                 IS NOT (excluded.data, excluded.encoding, excluded.kind, excluded.size)",
            (
                object.oid.as_bytes().as_slice(),
                object.kind.code(),
                object.encoding.code(),
                object.size as i64,
                &object.data,
            ),
        )?;
        self.bytes.set(self.bytes.get() + written * object.data.len());
        Ok(())
    }

    /// Trees are only checked for presence: reading each would take longer than a row, and they are
    /// derived from records that do not need them.
    fn is_soundly_packed(&self, object: &Encoded) -> Result<bool, StoreError> {
        if !self.is_packed(&object.oid)? {
            return Ok(false);
        }
        let is_tree = object.kind == ObjectKind::Tree;
        Ok(is_tree || matches!(self.read_packed(&object.oid), Ok(Some(_))))
    }

    /// Stores a small value under a key.
    pub fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.execute(
            "set meta",
            "INSERT INTO meta(key, value) VALUES(?1, ?2)
             ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            (key, value),
        )?;
        Ok(())
    }

    /// The next place in the project's order.
    pub fn next_seq(&self) -> u64 {
        self.seq.set(self.seq.get() + 1);
        self.seq.get()
    }

    /// Runs one writing statement, counted by the seam.
    pub(crate) fn execute(
        &self,
        what: &'static str,
        sql: &str,
        params: impl Params,
    ) -> Result<usize, StoreError> {
        retake_seam::statement(what)?;
        Ok(self.store.db.prepare_cached(sql)?.execute(params)?)
    }

    pub(crate) fn last_row(&self) -> i64 {
        self.store.db.last_insert_rowid()
    }
}

impl Store {
    /// The newest place in the project's order.
    pub fn last_seq(&self) -> Result<u64, StoreError> {
        self.number("seq")
    }

    /// A number kept under a name; 0 if there is none.
    pub(crate) fn number(&self, key: &str) -> Result<u64, StoreError> {
        let Some(bytes) = self.meta(key)? else { return Ok(0) };
        let bytes = bytes.as_slice().try_into();
        Ok(u64::from_be_bytes(bytes.map_err(|_| StoreError::Row(format!("meta '{key}'")))?))
    }
}
