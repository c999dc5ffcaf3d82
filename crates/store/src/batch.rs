//! A batch: one transaction, or one savepoint of a group's, for content and record together.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Deref;

use retake_model::{Millis, Stamp};
use rusqlite::Params;

use crate::callers::CallerRow;
use crate::counts::ManifestCounts;
use crate::group::TxScope;
use crate::object_cache::ObjectCacheGuard;
use crate::objects::{EncodedObject, ObjectKind};
use crate::stat_cache::TouchedLog;
use crate::tree_cache::MovedNames;
use crate::{Store, StoreError};

/// Pending object bytes above which objects are committed ahead of their record.
const COMMIT_AHEAD_BYTES: usize = 32 * 1024 * 1024;

/// A transaction on a [`Store`]. Dropping it rolls back.
///
/// Inside a [`BatchGroup`](crate::BatchGroup) it is a part of the group's transaction.
///
/// It reads like the store, including what it has written itself.
#[derive(Debug)]
pub struct Batch<'s> {
    store: &'s Store,
    tx_scope: TxScope<'s>,
    /// The newest `seq` on record.
    recorded_seq: Cell<u64>,
    seq: Cell<u64>,
    /// Changes added minus changes removed.
    pub(crate) change_count_delta: Cell<i64>,
    bytes: Cell<usize>,
    /// Row of the last caller that was recorded.
    pub(crate) caller_row: RefCell<Option<CallerRow>>,
    _cache_guard: ObjectCacheGuard<'s>,
    /// Pending change of the manifest's counts.
    pub(crate) manifest_counts_delta: Cell<ManifestCounts>,
    /// Where touched paths are recorded.
    pub(crate) touched_log: RefCell<TouchedLog>,
    /// Names that changed, by folder, since the last tree was built.
    pub(crate) moved_in_folders: RefCell<HashMap<Vec<u8>, MovedNames>>,
}

impl Deref for Batch<'_> {
    type Target = Store;

    fn deref(&self) -> &Store {
        self.store
    }
}

impl<'s> Batch<'s> {
    pub(crate) fn begin(store: &'s Store) -> Result<Self, StoreError> {
        let bracket = TxScope::open(store)?;
        let seq = store.last_seq()?;
        let noting = match store.stat_cache_id()? {
            Some(_) => TouchedLog::InTable,
            None => TouchedLog::Off,
        };
        Ok(Self {
            store,
            tx_scope: bracket,
            recorded_seq: Cell::new(seq),
            seq: Cell::new(seq),
            change_count_delta: Cell::default(),
            bytes: Cell::default(),
            caller_row: RefCell::default(),
            _cache_guard: store.object_cache.enable(),
            manifest_counts_delta: Cell::default(),
            touched_log: RefCell::new(noting),
            moved_in_folders: RefCell::default(),
        })
    }

    /// Makes everything durable, inside a group with the group. Only after that may anything be
    /// acknowledged. A batch that wrote nothing costs nothing: it is not synced.
    pub fn commit(self) -> Result<(), StoreError> {
        if self.seq != self.recorded_seq {
            self.set_meta("seq", &self.seq.get().to_be_bytes())?;
        }
        self.write_change_count()?;
        self.write_manifest_counts()?;
        self.tx_scope.commit(self.store, self.bytes.get())
    }

    /// Commits objects ahead of their record if they have become many bytes.
    ///
    /// Called only while nothing but objects has been written. Inside a group they stay in its
    /// transaction: what memory cannot hold of it, SQLite puts into the WAL.
    pub fn commit_ahead(&mut self) -> Result<(), StoreError> {
        let TxScope::Alone(tx) = &self.tx_scope else { return Ok(()) };
        if self.bytes.get() < COMMIT_AHEAD_BYTES {
            return Ok(());
        }
        retake_seam::statement("commit ahead")?;
        let store = self.store;
        tx.execute_batch("COMMIT; BEGIN IMMEDIATE")
            .map_err(|error| store.truncate_wal_after_failure(error))?;
        self.recorded_seq.set(store.last_seq()?);
        self.seq.set(self.recorded_seq.get());
        self.bytes.set(0);
        Ok(())
    }

    /// Inserts an object unless the store has it.
    ///
    /// "Has it" means these very bytes: a damaged row is overwritten.
    pub fn put_object(&self, object: &EncodedObject) -> Result<(), StoreError> {
        if self.is_packed_intact(object)? {
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
    fn is_packed_intact(&self, object: &EncodedObject) -> Result<bool, StoreError> {
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

    /// The next place in the project's order, at this time.
    pub fn next_stamp(&self, at: Millis) -> Stamp {
        Stamp { seq: self.next_seq(), at }
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

    pub(crate) fn last_row_id(&self) -> i64 {
        self.store.db.last_insert_rowid()
    }
}

impl Store {
    /// The newest place in the project's order.
    pub fn last_seq(&self) -> Result<u64, StoreError> {
        self.meta_number("seq")
    }

    /// A number kept under a name; 0 if there is none.
    pub(crate) fn meta_number(&self, key: &str) -> Result<u64, StoreError> {
        let Some(bytes) = self.meta(key)? else { return Ok(0) };
        let bytes = bytes.as_slice().try_into();
        Ok(u64::from_be_bytes(bytes.map_err(|_| StoreError::Row(format!("meta '{key}'")))?))
    }
}
