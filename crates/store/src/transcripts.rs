//! Import of agents' own transcripts: messages and read cursors, in one transaction.

use retake_model::{AgentId, DialogId};
use rusqlite::OptionalExtension as _;

use crate::{Batch, Store, StoreError};

impl Store {
    /// Returns the cursor at which reading an agent's transcript stopped, in the reader's format.
    pub fn transcript_cursor(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Option<String>, StoreError> {
        let mut query = self
            .db
            .prepare_cached("SELECT cursor FROM transcript WHERE dialog = ?1 AND agent = ?2")?;
        Ok(query.query_row([&dialog.0, &agent.0], |row| row.get(0)).optional()?)
    }
}

impl Batch<'_> {
    /// Sets the text of a person's message that was recorded without one, and the dialog's title;
    /// returns whether there was one.
    pub fn set_message_text(
        &self,
        dialog: &DialogId,
        index: u64,
        text: &str,
        title: &str,
    ) -> Result<bool, StoreError> {
        let filled = self.execute(
            "fill message",
            "UPDATE event SET body = json_set(body, '$.text', ?3)
             WHERE kind = 'user_message' AND dialog = ?1
                 AND json_extract(body, '$.message_index') = ?2
                 AND json_extract(body, '$.text') = ''",
            (&dialog.0, index as i64, text),
        )?;
        if filled > 0 {
            let sql = "UPDATE dialog SET title = coalesce(title, nullif(?2, '')) WHERE id = ?1";
            self.execute("title dialog", sql, (&dialog.0, title))?;
        }
        Ok(filled > 0)
    }

    /// Stores the cursor at which reading stopped.
    pub fn set_transcript_cursor(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        cursor: &str,
    ) -> Result<(), StoreError> {
        self.execute(
            "set transcript cursor",
            "INSERT INTO transcript(dialog, agent, cursor) VALUES(?1, ?2, ?3)
             ON CONFLICT(dialog, agent) DO UPDATE SET cursor = excluded.cursor",
            (&dialog.0, &agent.0, cursor),
        )?;
        Ok(())
    }
}
