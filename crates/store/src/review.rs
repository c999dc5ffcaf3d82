//! Rows of reviews: lines that the person has seen, and what rejections took out and why.
//!
//! A reviewed line is known by keys of its content and its neighbours.

use std::collections::HashMap;

use retake_model::{Change, ChangeId, DialogId, OperationId, OperationKind, ProjectPath};
use rusqlite::OptionalExtension as _;

use crate::manifest::{bounds_beneath, path_from};
use crate::{Batch, Store, StoreError};

/// Key in `meta` of the place up to which the person has seen everything.
const SEEN_KEY: &str = "review_seen";

/// Changes of which an operation took back single places of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenPart {
    /// The operation.
    pub operation: OperationId,
    /// The path that the operation wrote.
    pub path: ProjectPath,
    /// The changes, oldest first.
    pub changes: Vec<ChangeId>,
}

/// A run of lines that a rejection took out, known by its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRun {
    /// The rejection.
    pub operation: OperationId,
    /// The file.
    pub path: ProjectPath,
    /// The hash of all its lines.
    pub digest: u64,
    /// The hash of the first of them.
    pub first: u64,
    /// The number of its lines.
    pub lines: u32,
}

/// A change that added lines which the person had rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedAgain {
    /// The change.
    pub change: ChangeId,
    /// The rejection.
    pub operation: OperationId,
}

impl Store {
    /// The place in the order up to which the person has seen everything; 0 at first.
    pub fn review_seen(&self) -> Result<u64, StoreError> {
        self.meta_number(SEEN_KEY)
    }

    /// The keys of the reviewed lines of a file, each with the place in the order at which it was
    /// marked.
    pub fn reviewed_lines(&self, path: &ProjectPath) -> Result<HashMap<u64, u64>, StoreError> {
        let sql = "SELECT key, seq FROM reviewed_line WHERE path = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map([path.as_bytes()], |row| {
            Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The operations after a change that took back single places of it, or of the file that it is
    /// about, and stand; with all that they took.
    pub fn parts_taken_after(&self, change: &Change) -> Result<Vec<TakenPart>, StoreError> {
        // What was taken together is found by one of its paths.
        let mut query = self.db.prepare_cached(
            "SELECT t.operation, t.path FROM taken_part t WHERE t.change = ?1
             UNION SELECT t.operation, t.path FROM taken_part at
             JOIN taken_part t ON t.operation = at.operation AND t.change = at.change
             WHERE at.path IN (?2, ?3) AND at.operation > ?1
             ORDER BY 1, 2",
        )?;
        let (path, old_path) = (change.path.as_bytes(), change.from_path().as_bytes());
        let mut rows = query.query((change.id.0 as i64, path, old_path))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let operation = OperationId(row.get::<_, i64>(0)? as u64);
            let path = path_from(row.get(1)?)?;
            let stands = self.operation(operation)?.is_some_and(|it| it.undone_by.is_none());
            if !stands || self.was_restored_since(&path, operation)? {
                continue;
            }
            let changes = self.changes_taken_in_part(operation, &path)?;
            found.push(TakenPart { operation, path, changes });
        }
        Ok(found)
    }

    /// Returns whether a file was restored after an operation: what that took out of it is there again,
    /// or other things are gone.
    fn was_restored_since(
        &self,
        path: &ProjectPath,
        operation: OperationId,
    ) -> Result<bool, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT 1 FROM change c JOIN operation o ON o.seq = c.operation_seq
             WHERE c.path = ?1 AND c.seq > ?2 AND o.kind = ?3 AND o.undone_by IS NULL",
        )?;
        let restore = OperationKind::Restore.as_str();
        Ok(query.exists((path.as_bytes(), operation.0 as i64, restore))?)
    }

    /// The changes of which an operation took back places of a file.
    pub fn changes_taken_in_part(
        &self,
        operation: OperationId,
        path: &ProjectPath,
    ) -> Result<Vec<ChangeId>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT change FROM taken_part WHERE operation = ?1 AND path = ?2 ORDER BY change",
        )?;
        let rows = query.query_map((operation.0 as i64, path.as_bytes()), |row| {
            Ok(ChangeId(row.get::<_, i64>(0)? as u64))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The reason of a rejection, if the person gave one.
    pub fn rejection_reason(&self, operation: OperationId) -> Result<Option<String>, StoreError> {
        let sql = "SELECT reason FROM rejection WHERE operation = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row([operation.0 as i64], |row| row.get(0)).optional()?.flatten())
    }

    /// Returns whether any rejected run is remembered.
    pub fn has_rejected_runs(&self) -> Result<bool, StoreError> {
        Ok(self.db.prepare_cached("SELECT 1 FROM rejected_run LIMIT 1")?.exists([])?)
    }

    /// The runs that rejections which stand took out of a file.
    pub fn rejected_runs(&self, path: &ProjectPath) -> Result<Vec<RejectedRun>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT r.operation, r.digest, r.first, r.lines FROM rejected_run r
             JOIN operation o ON o.seq = r.operation
             WHERE r.path = ?1 AND o.undone_by IS NULL ORDER BY r.operation DESC",
        )?;
        let rows = query.query_map([path.as_bytes()], |row| {
            Ok(RejectedRun {
                operation: OperationId(row.get::<_, i64>(0)? as u64),
                path: path.clone(),
                digest: row.get::<_, i64>(1)? as u64,
                first: row.get::<_, i64>(2)? as u64,
                lines: row.get::<_, i64>(3)? as u32,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The rejections whose lines a change added again, and that stand.
    pub fn rejections_repeated_by(&self, change: ChangeId) -> Result<Vec<OperationId>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT a.operation FROM added_again a JOIN operation o ON o.seq = a.operation
             WHERE a.change = ?1 AND o.undone_by IS NULL ORDER BY a.operation",
        )?;
        let rows = query
            .query_map([change.0 as i64], |row| Ok(OperationId(row.get::<_, i64>(0)? as u64)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The changes of a dialog that added rejected lines again, and of which its agent was not told.
    pub fn unheard_repeats(&self, dialog: &DialogId) -> Result<Vec<AddedAgain>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT a.change, a.operation FROM added_again a
             JOIN change c ON c.seq = a.change JOIN operation o ON o.seq = a.operation
             WHERE a.heard IS NULL AND c.dialog = ?1 AND o.undone_by IS NULL
                 AND c.status IN ('pending', 'accepted')
             ORDER BY a.change, a.operation",
        )?;
        let rows = query.query_map([&dialog.0], |row| {
            Ok(AddedAgain {
                change: ChangeId(row.get::<_, i64>(0)? as u64),
                operation: OperationId(row.get::<_, i64>(1)? as u64),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The rejections of a dialog's work that its agent was not told of, and that stand.
    pub fn unheard_rejections(&self, dialog: &DialogId) -> Result<Vec<OperationId>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT n.operation FROM rejection_notice n JOIN operation o ON o.seq = n.operation
             WHERE n.dialog = ?1 AND n.heard IS NULL AND o.undone_by IS NULL ORDER BY n.operation",
        )?;
        let rows =
            query.query_map([&dialog.0], |row| Ok(OperationId(row.get::<_, i64>(0)? as u64)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl Batch<'_> {
    /// Sets the place up to which the person has seen everything.
    pub fn set_review_seen(&self, seq: u64) -> Result<(), StoreError> {
        self.set_meta(SEEN_KEY, &seq.to_be_bytes())
    }

    /// Marks a line of a file as reviewed at a place in the order, by its key.
    pub fn put_reviewed_line(
        &self,
        path: &ProjectPath,
        key: u64,
        seq: u64,
    ) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO reviewed_line(path, key, seq) VALUES(?1, ?2, ?3)";
        self.execute("mark line", sql, (path.as_bytes(), key as i64, seq as i64))?;
        Ok(())
    }

    /// Takes the mark of a line away.
    pub fn remove_reviewed_line(&self, path: &ProjectPath, key: u64) -> Result<(), StoreError> {
        let sql = "DELETE FROM reviewed_line WHERE path = ?1 AND key = ?2";
        self.execute("open line", sql, (path.as_bytes(), key as i64))?;
        Ok(())
    }

    /// Records a rejection with its reason.
    pub fn put_rejection(
        &self,
        operation: OperationId,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO rejection(operation, reason) VALUES(?1, ?2)";
        self.execute("put rejection", sql, (operation.0 as i64, reason))?;
        Ok(())
    }

    /// Records that an operation took back single places of a change in a file.
    pub fn put_taken_part(
        &self,
        operation: OperationId,
        path: &ProjectPath,
        change: ChangeId,
    ) -> Result<(), StoreError> {
        self.execute(
            "put taken part",
            "INSERT OR IGNORE INTO taken_part(operation, path, change) VALUES(?1, ?2, ?3)",
            (operation.0 as i64, path.as_bytes(), change.0 as i64),
        )?;
        Ok(())
    }

    /// Records a run of lines that a rejection took out.
    pub fn put_rejected_run(&self, run: &RejectedRun) -> Result<(), StoreError> {
        self.execute(
            "put rejected run",
            "INSERT OR IGNORE INTO rejected_run(operation, path, digest, first, lines)
             VALUES(?1, ?2, ?3, ?4, ?5)",
            (
                run.operation.0 as i64,
                run.path.as_bytes(),
                run.digest as i64,
                run.first as i64,
                run.lines,
            ),
        )?;
        Ok(())
    }

    /// Forgets the rejected runs of a file, of all files beneath a folder, or of all files, and what
    /// brought them again; returns how many there were.
    pub fn forget_rejected_runs(&self, path: Option<&ProjectPath>) -> Result<u64, StoreError> {
        let forgotten = if let Some(path) = path {
            let [from, to] = bounds_beneath(path);
            let paths = (path.as_bytes(), from, to);
            let sql = "DELETE FROM added_again WHERE change IN
                (SELECT seq FROM change WHERE path = ?1 OR (path > ?2 AND path < ?3))";
            self.execute("forget repeats", sql, paths.clone())?;
            let sql = "DELETE FROM rejected_run WHERE path = ?1 OR (path > ?2 AND path < ?3)";
            self.execute("forget runs", sql, paths)?
        } else {
            self.execute("forget repeats", "DELETE FROM added_again", [])?;
            self.execute("forget runs", "DELETE FROM rejected_run", [])?
        };
        Ok(forgotten as u64)
    }

    /// Forgets the runs that one rejection took out of a file.
    pub fn forget_rejected_runs_of(
        &self,
        operation: OperationId,
        path: &ProjectPath,
    ) -> Result<(), StoreError> {
        let sql = "DELETE FROM rejected_run WHERE operation = ?1 AND path = ?2";
        self.execute("forget runs", sql, (operation.0 as i64, path.as_bytes()))?;
        Ok(())
    }

    /// Records that a change added lines again that were rejected.
    pub fn put_added_again(&self, again: AddedAgain) -> Result<(), StoreError> {
        let sql = "INSERT OR IGNORE INTO added_again(change, operation) VALUES(?1, ?2)";
        let (change, operation) = (again.change.0 as i64, again.operation.0 as i64);
        self.execute("put repeat", sql, (change, operation))?;
        Ok(())
    }

    /// Records that the agent was told that it added rejected lines again.
    pub fn set_repeat_heard(&self, again: AddedAgain, seq: u64) -> Result<(), StoreError> {
        let sql = "UPDATE added_again SET heard = ?3 WHERE change = ?1 AND operation = ?2";
        let (change, operation) = (again.change.0 as i64, again.operation.0 as i64);
        self.execute("hear repeat", sql, (change, operation, seq as i64))?;
        Ok(())
    }

    /// Records that the agent of a dialog is to be told of a rejection.
    pub fn put_rejection_notice(
        &self,
        operation: OperationId,
        dialog: &DialogId,
    ) -> Result<(), StoreError> {
        let sql = "INSERT OR IGNORE INTO rejection_notice(operation, dialog) VALUES(?1, ?2)";
        self.execute("put rejection notice", sql, (operation.0 as i64, &dialog.0))?;
        Ok(())
    }

    /// Records that the agent of a dialog was told of a rejection.
    pub fn set_rejection_heard(
        &self,
        operation: OperationId,
        dialog: &DialogId,
        seq: u64,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE rejection_notice SET heard = ?3 WHERE operation = ?1 AND dialog = ?2";
        self.execute("hear rejection", sql, (operation.0 as i64, &dialog.0, seq as i64))?;
        Ok(())
    }
}
