//! Conversations in opencode's own database, read as `opencode export` would print them.
//!
//! The database is opened for reading only; its tables are `session`, `message` and `part`, the
//! latter two with a JSON document each.

use std::path::Path;

use retake_engine::model::{ErrorCode, Millis};
use rusqlite::types::Type;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use serde_json::{Map, Value, json};

use crate::ApiError;

/// The first bytes of every SQLite database.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// A conversation in opencode's database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpencodeSession {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The folder that it was about.
    pub directory: String,
    /// When it last changed.
    pub updated: Millis,
}

/// Returns whether these bytes begin a database.
pub fn is_database(content: &[u8]) -> bool {
    content.starts_with(SQLITE_MAGIC)
}

/// The conversations in a database, the latest first.
pub fn opencode_sessions(file: &Path) -> Result<Vec<OpencodeSession>, ApiError> {
    let read = || {
        let database = open(file)?;
        let mut query = database.prepare(
            "SELECT id, title, directory, time_updated FROM session ORDER BY time_updated DESC",
        )?;
        let rows = query.query_map([], |row| {
            let (id, title, directory, updated) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(OpencodeSession { id, title, directory, updated })
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    read().map_err(|error| unreadable(file, &error))
}

/// One conversation, as the JSON that `opencode export` prints; none if it is not there.
pub fn opencode_session(file: &Path, id: &str) -> Result<Option<String>, ApiError> {
    let read = || {
        let database = open(file)?;
        let known = "SELECT title, directory FROM session WHERE id = ?1";
        let session = database.query_row(known, [id], |row| {
            Ok(json!({ "id": id, "title": row.get::<_, String>(0)?,
                "directory": row.get::<_, String>(1)? }))
        });
        let Some(info) = session.optional()? else { return Ok(None) };
        let mut messages = Vec::new();
        for (message, data) in read_documents(
            &database,
            "message WHERE session_id = ?1 ORDER BY time_created, id",
            id,
        )? {
            let own = json!({ "id": message, "sessionID": id });
            let of_it = "part WHERE message_id = ?1 ORDER BY id";
            let parts =
                read_documents(&database, of_it, &message)?.into_iter().map(|(part, data)| {
                    let own = json!({ "id": part, "sessionID": id, "messageID": message });
                    merge_row(&own, &data)
                });
            messages.push(
                json!({ "info": merge_row(&own, &data), "parts": parts.collect::<Vec<_>>() }),
            );
        }
        Ok(Some(json!({ "info": info, "messages": messages }).to_string()))
    };
    read().map_err(|error| unreadable(file, &error))
}

fn open(file: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Ids and documents of a table.
fn read_documents(
    database: &Connection,
    from: &str,
    key: &str,
) -> rusqlite::Result<Vec<(String, Value)>> {
    let mut query = database.prepare(&format!("SELECT id, data FROM {from}"))?;
    let rows = query.query_map([key], |row| {
        let (id, data): (String, String) = (row.get(0)?, row.get(1)?);
        let parsed = serde_json::from_str(&data).map_err(|error| {
            let why = format!("{id}: {error}").into();
            rusqlite::Error::FromSqlConversionFailure(1, Type::Text, why)
        })?;
        Ok((id, parsed))
    })?;
    rows.collect()
}

/// Merges a row's document with its ids.
fn merge_row(own: &Value, data: &Value) -> Value {
    let mut all: Map<_, _> = data.as_object().cloned().unwrap_or_default();
    all.extend(own.as_object().cloned().unwrap_or_default());
    Value::Object(all)
}

fn unreadable(file: &Path, error: &rusqlite::Error) -> ApiError {
    let message = format!("{} cannot be read as a database of opencode: {error}", file.display());
    let hint = "`opencode export ID > FILE` writes one conversation, which can be imported";
    ApiError::new(ErrorCode::UnreadableHistory, message, hint)
}
