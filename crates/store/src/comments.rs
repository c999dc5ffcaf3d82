//! Comments of the person on lines and files, for agents.

use retake_model::{CommentState, DialogId, ProjectPath, ReviewComment};
use rusqlite::Row;

use crate::callers::caller_from;
use crate::changes::parse_text_column;
use crate::manifest::path_from;
use crate::{Batch, Store, StoreError};

/// Query of all columns that [`comment_from`] reads.
const SELECT_COMMENT: &str = "SELECT id, at, path, dialog, kind, state, text, answer, anchor,
    batch, heard, (SELECT text FROM caller WHERE id = review_comment.caller) FROM review_comment";

impl Store {
    /// One comment.
    pub fn comment(&self, id: u64) -> Result<Option<ReviewComment>, StoreError> {
        Ok(self.comments_where("WHERE id = ?1", [id as i64])?.pop())
    }

    /// All comments, oldest first.
    pub fn comments(&self) -> Result<Vec<ReviewComment>, StoreError> {
        self.comments_where("ORDER BY id", [])
    }

    /// The comments on a file, oldest first.
    pub fn comments_on(&self, path: &ProjectPath) -> Result<Vec<ReviewComment>, StoreError> {
        self.comments_where("WHERE path = ?1 ORDER BY id", [path.as_bytes()])
    }

    /// The comments that were sent to the agent of a dialog, and that it was not told of.
    pub fn unheard_comments(&self, dialog: &DialogId) -> Result<Vec<ReviewComment>, StoreError> {
        let rest =
            "WHERE dialog = ?1 AND state IN ('sent', 'answered') AND heard IS NULL ORDER BY id";
        self.comments_where(rest, [&dialog.0])
    }

    fn comments_where(
        &self,
        rest: &str,
        params: impl rusqlite::Params,
    ) -> Result<Vec<ReviewComment>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{SELECT_COMMENT} {rest}"))?;
        let mut rows = query.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(comment_from(row)?);
        }
        Ok(found)
    }
}

impl Batch<'_> {
    /// Records a comment; its id and its caller are set here. Returns the id.
    pub fn put_comment(&self, new: &ReviewComment) -> Result<u64, StoreError> {
        let anchor = serde_json::to_string(&new.anchor)
            .map_err(|error| StoreError::Row(format!("a comment's place: {error}")))?;
        self.execute(
            "put comment",
            "INSERT INTO review_comment(at, path, dialog, kind, state, text, anchor, caller)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            (
                new.at,
                new.path.as_ref().map(ProjectPath::as_bytes),
                new.dialog.as_ref().map(|dialog| &dialog.0),
                new.kind.as_str(),
                new.state.as_str(),
                &new.text,
                anchor,
                self.current_caller_row()?,
            ),
        )?;
        Ok(self.last_row_id() as u64)
    }

    /// Replaces the words of a comment.
    pub fn set_comment_text(&self, id: u64, text: &str) -> Result<(), StoreError> {
        let sql = "UPDATE review_comment SET text = ?2 WHERE id = ?1";
        self.execute("edit comment", sql, (id as i64, text))?;
        Ok(())
    }

    /// Sends a comment to the agent of a dialog, in a batch.
    pub fn send_comment(&self, id: u64, dialog: &DialogId, batch: u64) -> Result<(), StoreError> {
        self.execute(
            "send comment",
            "UPDATE review_comment SET state = 'sent', dialog = ?2, batch = ?3 WHERE id = ?1",
            (id as i64, &dialog.0, batch as i64),
        )?;
        Ok(())
    }

    /// Sets the state of a comment, and the agent's answer if there is one.
    pub fn set_comment_state(
        &self,
        id: u64,
        state: CommentState,
        answer: Option<&str>,
    ) -> Result<(), StoreError> {
        self.execute(
            "settle comment",
            "UPDATE review_comment SET state = ?2, answer = coalesce(?3, answer) WHERE id = ?1",
            (id as i64, state.as_str(), answer),
        )?;
        Ok(())
    }

    /// Records that the agent was told of a comment.
    pub fn set_comment_heard(&self, id: u64, seq: u64) -> Result<(), StoreError> {
        let sql = "UPDATE review_comment SET heard = ?2 WHERE id = ?1";
        self.execute("hear comment", sql, (id as i64, seq as i64))?;
        Ok(())
    }

    /// Removes a comment.
    pub fn remove_comment(&self, id: u64) -> Result<(), StoreError> {
        self.execute("remove comment", "DELETE FROM review_comment WHERE id = ?1", [id as i64])?;
        Ok(())
    }
}

fn comment_from(row: &Row<'_>) -> Result<ReviewComment, StoreError> {
    // A place that was purged or damaged is as if the lines were gone.
    let anchor = serde_json::from_str(&row.get::<_, String>(8)?).unwrap_or_default();
    Ok(ReviewComment {
        id: row.get::<_, i64>(0)? as u64,
        at: row.get(1)?,
        path: row.get::<_, Option<Vec<u8>>>(2)?.map(path_from).transpose()?,
        dialog: row.get::<_, Option<String>>(3)?.map(DialogId),
        kind: parse_text_column(row, 4)?,
        state: parse_text_column(row, 5)?,
        text: row.get(6)?,
        answer: row.get(7)?,
        anchor,
        batch: row.get::<_, Option<i64>>(9)?.map(|batch| batch as u64),
        heard: row.get::<_, Option<i64>>(10)?.map(|seq| seq as u64),
        said_by: caller_from(row.get(11)?),
    })
}
