//! Rows of callers: who said an event, or asked for an operation.
//!
//! Events and operations refer to a caller's row by its number, since the same few callers say
//! nearly everything.

use retake_model::Caller;
use rusqlite::OptionalExtension as _;

use crate::{Batch, Store, StoreError};

/// A caller and the number of its row.
#[derive(Debug)]
pub(crate) struct CallerRow {
    caller: Caller,
    row: i64,
}

/// A caller from its row; none if there is none, or if a newer version wrote it.
pub(crate) fn caller_from(text: Option<String>) -> Option<Caller> {
    text.and_then(|text| serde_json::from_str(&text).ok())
}

impl Store {
    /// Who says what is recorded now.
    pub fn caller(&self) -> Caller {
        self.caller.borrow().clone()
    }

    /// Sets who says what is recorded from here on; returns the caller before.
    pub fn set_caller(&self, caller: Caller) -> Caller {
        self.caller.replace(caller)
    }
}

impl Batch<'_> {
    /// The row of the caller who says what is recorded now.
    pub(crate) fn current_caller_row(&self) -> Result<i64, StoreError> {
        self.caller_row(&self.caller.borrow())
    }

    /// The row of a caller, inserted if there is none.
    pub(crate) fn caller_row(&self, caller: &Caller) -> Result<i64, StoreError> {
        if let Some(known) = &*self.caller_row.borrow()
            && known.caller == *caller
        {
            return Ok(known.row);
        }
        let text = serde_json::to_string(caller)
            .map_err(|error| StoreError::Row(format!("a caller cannot be stored: {error}")))?;
        let row = if let Some(row) = self.find_caller(&text)? {
            row
        } else {
            self.execute("put caller", "INSERT INTO caller(text) VALUES(?1)", [&text])?;
            self.last_row_id()
        };
        self.caller_row.replace(Some(CallerRow { caller: caller.clone(), row }));
        Ok(row)
    }

    /// Removes the callers that no row refers to.
    pub(crate) fn remove_unused_callers(&self) -> Result<(), StoreError> {
        self.caller_row.replace(None);
        self.execute(
            "remove callers",
            "DELETE FROM caller WHERE id NOT IN
                 (SELECT caller FROM event WHERE caller IS NOT NULL
                  UNION SELECT caller FROM operation WHERE caller IS NOT NULL
                  UNION SELECT caller FROM queued_rejection WHERE caller IS NOT NULL
                  UNION SELECT caller FROM review_comment WHERE caller IS NOT NULL)",
            [],
        )?;
        Ok(())
    }

    fn find_caller(&self, text: &str) -> Result<Option<i64>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT id FROM caller WHERE text = ?1")?;
        Ok(query.query_row([text], |row| row.get(0)).optional()?)
    }
}
