//! Group commit: several batches become durable together, with one fsync.
//!
//! Under load one writer records many events in a row, each in a batch of its own. Inside a group
//! a batch is a savepoint: it still happens wholly or not at all, but nothing of it is durable, and
//! nothing may be acknowledged, before the group is committed.
//!
//! Invariant: an error may make SQLite roll back the whole transaction. From then on the group
//! takes no batch and cannot be committed, so a part of it never stands alone.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::{Store, StoreError};

/// Content bytes above which a group should be committed.
const LARGE_GROUP_BYTES: usize = 32 * 1024 * 1024;

/// A transaction around batches. Dropping it rolls all of them back.
#[derive(Debug)]
pub struct BatchGroup<'s> {
    store: &'s Store,
    tx: Option<Transaction<'s>>,
}

impl<'s> BatchGroup<'s> {
    fn begin(store: &'s Store) -> Result<Self, StoreError> {
        let tx = begin_tx(store)?;
        store.group_bytes.set(Some(0));
        Ok(Self { store, tx: Some(tx) })
    }

    /// Returns whether the group should be committed: the WAL has to hold all that it wrote.
    pub fn is_large(&self) -> bool {
        self.store.group_bytes.get().is_some_and(|bytes| bytes >= LARGE_GROUP_BYTES)
    }

    /// Makes everything durable. Only after this may anything be acknowledged.
    pub fn commit(mut self) -> Result<(), StoreError> {
        match self.tx.take() {
            Some(tx) => commit_tx(self.store, tx),
            None => Ok(()),
        }
    }
}

impl Drop for BatchGroup<'_> {
    fn drop(&mut self) {
        self.store.group_bytes.set(None);
    }
}

impl Store {
    /// Starts a group: until it is committed or dropped, each batch is a part of it. The caller
    /// holds the project's lock.
    pub fn group(&self) -> Result<BatchGroup<'_>, StoreError> {
        BatchGroup::begin(self)
    }

    /// Returns whether a group is open: what a batch writes is durable only after its commit.
    pub fn is_in_group(&self) -> bool {
        self.group_bytes.get().is_some()
    }
}

/// Rollback scope of a batch: a transaction of its own, or a savepoint in a group's.
#[derive(Debug)]
pub(crate) enum TxScope<'s> {
    Alone(Transaction<'s>),
    InGroup(Savepoint<'s>),
}

impl<'s> TxScope<'s> {
    pub(crate) fn open(store: &'s Store) -> Result<Self, StoreError> {
        match store.group_bytes.get() {
            None => Ok(Self::Alone(begin_tx(store)?)),
            Some(_) => Ok(Self::InGroup(Savepoint::open(&store.db)?)),
        }
    }

    /// Commits or releases; `bytes` is the content written.
    pub(crate) fn commit(self, store: &Store, bytes: usize) -> Result<(), StoreError> {
        match self {
            Self::Alone(tx) => commit_tx(store, tx),
            Self::InGroup(savepoint) => {
                savepoint.release()?;
                store.group_bytes.set(store.group_bytes.get().map(|earlier| earlier + bytes));
                Ok(())
            }
        }
    }
}

fn begin_tx(store: &Store) -> Result<Transaction<'_>, StoreError> {
    if !store.is_in_place() {
        return Err(StoreError::NotInPlace(store.folder().join("retake.db")));
    }
    Ok(Transaction::new_unchecked(&store.db, TransactionBehavior::Immediate)?)
}

fn commit_tx(store: &Store, tx: Transaction<'_>) -> Result<(), StoreError> {
    retake_seam::statement("commit")?;
    tx.commit().map_err(|error| store.truncate_wal_after_failure(error))?;
    // A kill here, after the commit and before the reply, must lose nothing either. An
    // injected error is ignored: the commit is done.
    let _ = retake_seam::statement("after commit");
    if store.has_new_stat_cache.take() {
        store.remove_old_stat_caches();
    }
    store.shorten_wal_after_commit();
    Ok(())
}

/// A savepoint in a group's transaction. Dropping it rolls back what was written since.
#[derive(Debug)]
pub(crate) struct Savepoint<'s> {
    db: &'s Connection,
    released: bool,
}

impl<'s> Savepoint<'s> {
    fn open(db: &'s Connection) -> Result<Self, StoreError> {
        // Outside of a transaction a savepoint would be one of its own, durable when released.
        if db.is_autocommit() {
            let why = "an earlier failure took back the group that this belongs to";
            return Err(std::io::Error::other(why).into());
        }
        db.execute_batch("SAVEPOINT batch")?;
        Ok(Self { db, released: false })
    }

    fn release(mut self) -> Result<(), StoreError> {
        retake_seam::statement("release")?;
        self.db.execute_batch("RELEASE batch")?;
        self.released = true;
        Ok(())
    }
}

impl Drop for Savepoint<'_> {
    fn drop(&mut self) {
        if self.released || self.db.is_autocommit() {
            return;
        }
        if let Err(error) = self.db.execute_batch("ROLLBACK TO batch; RELEASE batch") {
            // Better no group than one with half a batch in it.
            let whole = self.db.execute_batch("ROLLBACK");
            tracing::warn!(%error, ?whole, "a batch could not be taken back alone");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{EncodedObject, ObjectKind, encode};
    use crate::{JournalEvent, StoreAccess};
    use retake_model::JournalKind;

    /// Appends an event of this name; gives its place.
    fn append(store: &Store, name: &str) -> Result<u64, StoreError> {
        let batch = store.batch()?;
        let seq = batch.next_seq();
        batch.put_event(&event(seq, name))?;
        batch.commit()?;
        Ok(seq)
    }

    fn event(seq: u64, name: &str) -> JournalEvent {
        let (kind, body) = (JournalKind::Baseline, serde_json::json!({ "name": name }));
        let (dialog, agent, call, change) = (None, None, None, None);
        JournalEvent { seq, at: 1, kind, dialog, agent, call, change, body, said_by: None }
    }

    fn events(store: &Store) -> Vec<(u64, String)> {
        let events = store.events_after(0, 100).unwrap_or_default();
        events.into_iter().map(|event| (event.seq, name_of(&event))).collect()
    }

    fn name_of(event: &JournalEvent) -> String {
        event.body["name"].as_str().unwrap_or_default().to_owned()
    }

    fn expected(names: &[&str]) -> Vec<(u64, String)> {
        (1..).zip(names.iter().map(|&name| name.to_owned())).collect()
    }

    fn noise(bytes: usize, seed: u64) -> EncodedObject {
        let mut noise = vec![0; bytes];
        fastrand::Rng::with_seed(seed).fill(&mut noise);
        encode(ObjectKind::Blob, &noise).expect("noise is no attack")
    }

    #[test]
    fn batches_of_a_group_see_each_other_and_become_durable_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let reader = Store::open(folder.path(), StoreAccess::Read).unwrap();
        append(&store, "alone").unwrap();
        let group = store.group().unwrap();
        assert_eq!(append(&store, "one").unwrap(), 2);
        let batch = store.batch().unwrap();
        assert_eq!(events(&batch), expected(&["alone", "one"]), "it reads what came before it");
        batch.put_event(&event(batch.next_seq(), "dropped")).unwrap();
        batch.put_event(&event(batch.next_seq(), "dropped")).unwrap();
        drop(batch);
        assert_eq!(append(&store, "two").unwrap(), 3, "what was taken back has no place");
        assert_eq!(events(&reader), expected(&["alone"]), "nothing is committed yet");
        group.commit().unwrap();
        assert_eq!(append(&store, "after").unwrap(), 4, "the next batch is a transaction again");
        assert_eq!(events(&reader), expected(&["alone", "one", "two", "after"]));
    }

    #[test]
    fn a_group_that_is_dropped_never_happened() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let group = store.group().unwrap();
        append(&store, "one").unwrap();
        let mut batch = store.batch().unwrap();
        let object = noise(LARGE_GROUP_BYTES, 1);
        batch.put_object(&object).unwrap();
        batch.commit_ahead().unwrap();
        assert!(!group.is_large());
        batch.commit().unwrap();
        assert!(group.is_large());
        drop(group);
        assert!(events(&store).is_empty());
        assert!(!store.has(&object.oid).unwrap(), "nothing was committed ahead");
        assert!(!store.group().unwrap().is_large(), "each group counts for itself");
        assert_eq!(append(&store, "alone").unwrap(), 1);
    }

    #[test]
    fn a_group_whose_transaction_was_taken_back_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let group = store.group().unwrap();
        append(&store, "one").unwrap();
        let batch = store.batch().unwrap();
        // What SQLite does by itself on some errors.
        store.db.execute_batch("ROLLBACK").unwrap();
        drop(batch);
        let refused = append(&store, "two").unwrap_err();
        assert!(refused.to_string().contains("an earlier failure"), "{refused}");
        assert!(group.commit().is_err());
        assert!(events(&store).is_empty());
        assert_eq!(append(&store, "alone").unwrap(), 1, "and the store goes on");
    }

    #[test]
    fn a_batch_that_finds_the_disk_full_leaves_the_others_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let limit = |pages: i64| {
            store
                .db
                .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
                .unwrap();
        };
        let group = store.group().unwrap();
        append(&store, "one").unwrap();
        limit(1); // SQLite takes that for "as many as there are".
        let batch = store.batch().unwrap();
        batch.put_event(&event(batch.next_seq(), "half")).unwrap();
        assert!(batch.put_object(&noise(1024 * 1024, 2)).is_err());
        drop(batch);
        limit(1_000_000);
        let went_on = append(&store, "two").is_ok();
        assert_eq!(group.commit().is_ok(), went_on);
        assert_eq!(events(&store), expected(if went_on { &["one", "two"] } else { &[] }));
    }
}
