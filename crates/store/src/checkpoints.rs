//! Checkpoints: commits of the whole project.
//!
//! Invariant: a checkpoint's id is that of a git commit object in the store whose
//! tree and parents are there too. No two checkpoints share an id: the message
//! ends with the place in the project's order.

use retake_model::{Checkpoint, CheckpointKind, DialogId, Millis, ObjectId, Stamp};
use rusqlite::{OptionalExtension as _, Row, params_from_iter};

use crate::callers::caller_from;
use crate::changes::parse_text_column;
use crate::manifest::oid_from;
use crate::objects::{ObjectKind, encode};
use crate::{Batch, Store, StoreError};

/// A checkpoint about to be made.
#[derive(Clone, Debug)]
pub struct NewCheckpoint<'a> {
    /// When.
    pub at: Millis,
    /// Why.
    pub kind: CheckpointKind,
    /// What it is called.
    pub message: &'a str,
    /// The dialog that it belongs to.
    pub dialog: Option<&'a DialogId>,
    /// The work session that it belongs to.
    pub session: Option<u64>,
    /// The commits that it follows.
    pub parents: &'a [ObjectId],
}

/// Number of hexadecimal digits in an id.
const OID_DIGITS: usize = 40;

/// Query of all columns that [`checkpoint_from`] reads.
const SELECT_CHECKPOINT: &str =
    "SELECT seq, oid, tree, at, kind, message, dialog, session, files, unstable,
        (SELECT text FROM caller WHERE id = (SELECT caller FROM event WHERE seq = checkpoint.seq))
     FROM checkpoint";

impl Store {
    /// The checkpoints, newest first; of one dialog if it is given.
    pub fn checkpoints(
        &self,
        dialog: Option<&DialogId>,
        limit: usize,
    ) -> Result<Vec<Checkpoint>, StoreError> {
        let condition = dialog.map_or("", |_| "WHERE dialog = ?1");
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = format!("{SELECT_CHECKPOINT} {condition} ORDER BY seq DESC LIMIT {limit}");
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query(params_from_iter(dialog.map(|id| &id.0)))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(checkpoint_from(row)?);
        }
        Ok(found)
    }

    /// The checkpoints whose id begins with these hexadecimal digits.
    pub fn checkpoints_by_prefix(&self, digits: &str) -> Result<Vec<Checkpoint>, StoreError> {
        let bound = |fill: &str| {
            let rest = fill.repeat(OID_DIGITS.saturating_sub(digits.len()));
            format!("{digits}{rest}").parse::<ObjectId>()
        };
        let (Ok(first), Ok(last)) = (bound("0"), bound("f")) else { return Ok(Vec::new()) };
        let sql = format!("{SELECT_CHECKPOINT} WHERE oid BETWEEN ?1 AND ?2 ORDER BY seq");
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query([first.as_bytes().as_slice(), last.as_bytes()])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(checkpoint_from(row)?);
        }
        Ok(found)
    }

    /// The checkpoint with this id.
    pub fn checkpoint(&self, id: &ObjectId) -> Result<Option<Checkpoint>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{SELECT_CHECKPOINT} WHERE oid = ?1"))?;
        let row = query.query_row([id.as_bytes().as_slice()], |row| Ok(checkpoint_from(row)));
        row.optional()?.transpose()
    }

    /// The newest checkpoint of no dialog.
    pub fn newest_of_no_dialog(&self) -> Result<Option<Checkpoint>, StoreError> {
        let sql = format!("{SELECT_CHECKPOINT} WHERE dialog IS NULL ORDER BY seq DESC LIMIT 1");
        let mut query = self.db.prepare_cached(&sql)?;
        query.query_row([], |row| Ok(checkpoint_from(row))).optional()?.transpose()
    }
}

fn checkpoint_from(row: &Row<'_>) -> Result<Checkpoint, StoreError> {
    Ok(Checkpoint {
        seq: row.get::<_, i64>(0)? as u64,
        id: oid_from(&row.get::<_, Vec<u8>>(1)?)?,
        tree: oid_from(&row.get::<_, Vec<u8>>(2)?)?,
        at: row.get(3)?,
        kind: parse_text_column(row, 4)?,
        message: row.get(5)?,
        dialog: row.get::<_, Option<String>>(6)?.map(DialogId),
        session: row.get::<_, Option<i64>>(7)?.map(|number| number as u64),
        files: row.get::<_, i64>(8)? as u64,
        unstable: row.get::<_, i64>(9)? as u64,
        said_by: caller_from(row.get(10)?),
    })
}

impl Batch<'_> {
    /// Makes a checkpoint of the manifest as it is in this batch.
    pub fn put_checkpoint(&self, new: &NewCheckpoint<'_>) -> Result<Checkpoint, StoreError> {
        let seq = self.next_seq();
        let tree = self.project_tree()?;
        let stamp = Stamp { seq, at: new.at };
        let id = self.put_commit(&tree, new.parents, new.message, new.dialog, stamp)?;
        let tally = self.current_counts()?;
        let (files, unknown) = (tally.files as u64, tally.unknown as u64);
        let unstable = unknown + self.count_unstable_files()?;
        self.execute(
            "put checkpoint",
            "INSERT INTO checkpoint(seq, oid, tree, at, kind, message, dialog, session, files,
                unstable) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            (
                seq as i64,
                id.as_bytes().as_slice(),
                tree.as_bytes().as_slice(),
                new.at,
                new.kind.as_str(),
                new.message,
                new.dialog.map(|id| &id.0),
                new.session.map(|number| number as i64),
                files as i64,
                unstable as i64,
            ),
        )?;
        Ok(Checkpoint {
            seq,
            id,
            tree,
            at: new.at,
            kind: new.kind,
            message: new.message.to_owned(),
            dialog: new.dialog.cloned(),
            session: new.session,
            files,
            unstable,
            said_by: Some(self.caller()),
        })
    }

    /// Stores a commit object; `stamp.seq` makes its id unique.
    pub fn put_commit(
        &self,
        tree: &ObjectId,
        parents: &[ObjectId],
        message: &str,
        dialog: Option<&DialogId>,
        stamp: Stamp,
    ) -> Result<ObjectId, StoreError> {
        use std::fmt::Write as _;
        let mut text = format!("tree {tree}\n");
        for parent in parents {
            let _ = writeln!(text, "parent {parent}");
        }
        let who = format!("Retake <retake@localhost> {} +0000", stamp.at.div_euclid(1000).max(0));
        let message = message.replace('\0', " ");
        let _ = write!(text, "author {who}\ncommitter {who}\n\n{}\n\n", message.trim_end());
        if let Some(dialog) = dialog {
            let one_line = dialog.0.replace(|c: char| c.is_control(), " ");
            let _ = writeln!(text, "Retake-Dialog: {one_line}");
        }
        let _ = writeln!(text, "Retake-Seq: {}", stamp.seq);
        let commit = encode(ObjectKind::Commit, text.as_bytes())?;
        self.put_object(&commit)?;
        Ok(commit.oid)
    }

    fn count_unstable_files(&self) -> Result<u64, StoreError> {
        use retake_model::GapReason::Unstable;
        Ok(self.gaps()?.iter().filter(|(gap, _)| gap.reason == Unstable).count() as u64)
    }
}
