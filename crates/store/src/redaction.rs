//! Redaction: finds and drops quotes of purged content in call arguments, commands and messages.
//!
//! A content of text is quoted where one of its longer lines, or the value of a
//! line like `KEY=value`, stands. When in doubt it counts as a quote: losing a
//! message is better than keeping a secret that was to go.

use std::collections::HashSet;

use retake_model::ObjectId;
use serde_json::{Value, json};

use crate::compression::{MAX_TEXT_BYTES, zstd_decompress_up_to};
use crate::messages::{compress_body, read_body};
use crate::purge::{PurgeScope, PurgeTarget};
use crate::{Batch, Store, StoreError};

/// Minimum bytes of a piece: shorter ones occur in too many texts that quote nothing.
const MIN_PIECE_BYTES: usize = 8;
/// Maximum bytes of a content that is split into pieces.
const MAX_CONTENT_BYTES: u64 = 1024 * 1024;
/// Maximum pieces of all contents.
const MAX_PIECES: usize = 20_000;
/// Minimum bytes of a truncated text: shorter ones are whole.
const MIN_TRUNCATED_BYTES: usize = 50;
/// Suffix that may follow a truncated message.
const LATE_SUFFIX: &str = " (taken in late";

/// Replacement for a redacted text.
const PURGED_PLACEHOLDER: &str = "[purged]";

/// Lines and values of the purged contents, to be matched against texts.
#[derive(Debug, Default)]
pub(crate) struct QuoteMatcher {
    pieces: HashSet<String>,
}

impl QuoteMatcher {
    /// The pieces of these contents; what is damaged or no text has none.
    pub(crate) fn of(store: &Store, contents: &[(ObjectId, u64)]) -> Result<Self, StoreError> {
        let mut quotes = Self::default();
        for (oid, size) in contents.iter().filter(|(_, size)| *size <= MAX_CONTENT_BYTES) {
            let Some(bytes) = store.read_if_intact(oid)? else { continue };
            debug_assert_eq!(bytes.len() as u64, *size);
            if let Ok(text) = std::str::from_utf8(&bytes) {
                text.lines().for_each(|line| quotes.add_line(line));
            }
        }
        Ok(quotes)
    }

    fn add_line(&mut self, line: &str) {
        let value = line.split_once('=').or_else(|| line.split_once(": ")).map(|(_, value)| value);
        for piece in [Some(line), value].into_iter().flatten() {
            let piece = piece.trim().trim_matches(['"', '\'']);
            if piece.len() >= MIN_PIECE_BYTES && self.pieces.len() < MAX_PIECES {
                self.pieces.insert(piece.to_owned());
                // Names of checkpoints are one line with single spaces.
                self.pieces.insert(piece.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }

    /// Returns whether a text holds a piece, or is truncated within one.
    fn may_match(&self, text: &str) -> bool {
        self.matches(text) || self.matches_truncated(text)
    }

    /// Returns whether a truncated text ends with the beginning of a piece.
    fn matches_truncated(&self, text: &str) -> bool {
        // Suffixes that names add to a truncated text.
        let bare = text.trim_end_matches([')', '\'', '”', '…']);
        let bare = bare.strip_suffix(LATE_SUFFIX).unwrap_or(bare);
        let long = [text, bare].into_iter().filter(|text| text.len() >= MIN_TRUNCATED_BYTES);
        long.into_iter().any(|text| self.pieces.iter().any(|piece| ends_within(text, piece)))
    }

    /// Redacts every string of a JSON value that quotes a piece; returns whether there was one.
    fn redact(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) if self.may_match(text) => {
                PURGED_PLACEHOLDER.clone_into(text);
                true
            }
            Value::Array(inner) => self.redact_each(inner.iter_mut()),
            Value::Object(inner) if inner.keys().any(|key| self.matches(key)) => {
                inner.clear();
                inner.insert(PURGED_PLACEHOLDER.to_owned(), true.into());
                true
            }
            Value::Object(inner) => self.redact_each(inner.values_mut()),
            _ => false,
        }
    }

    fn redact_each<'v>(&self, values: impl Iterator<Item = &'v mut Value>) -> bool {
        let mut found = false;
        for value in values {
            found |= self.redact(value);
        }
        found
    }

    /// Returns whether any string of a JSON text is truncated within a piece.
    fn matches_truncated_json(&self, json: &str) -> bool {
        let mut values: Vec<Value> = serde_json::from_str(json).into_iter().collect();
        while let Some(value) = values.pop() {
            match value {
                Value::String(text) if self.matches_truncated(&text) => return true,
                Value::Array(inner) => values.extend(inner),
                Value::Object(inner) => values.extend(inner.into_iter().map(|(_, value)| value)),
                _ => {}
            }
        }
        false
    }

    /// Returns whether a text holds a piece, as it is or as JSON writes it.
    fn matches(&self, text: &str) -> bool {
        let escaped = |piece: &str| {
            let json = Value::from(piece).to_string();
            json.trim_matches('"').to_owned()
        };
        self.pieces
            .iter()
            .any(|piece| text.contains(piece.as_str()) || text.contains(&escaped(piece)))
    }
}

/// Returns whether a text ends with the beginning of a piece, of [`MIN_PIECE_BYTES`] or more.
fn ends_within(text: &str, piece: &str) -> bool {
    let Some(begin) = (MIN_PIECE_BYTES..=piece.len()).find(|at| piece.is_char_boundary(*at)) else {
        return false;
    };
    let first = text.len().saturating_sub(piece.len());
    let end =
        (first..=text.len()).find(|at| text.is_char_boundary(*at)).map_or("", |at| &text[at..]);
    end.match_indices(&piece[..begin]).any(|(at, _)| piece.starts_with(&end[at..]))
}

impl Store {
    /// Counts the checkpoints that quote a content in their message, which is part of their id.
    pub(crate) fn count_quoting_checkpoints(
        &self,
        quotes: &QuoteMatcher,
    ) -> Result<u64, StoreError> {
        let mut query = self.db.prepare("SELECT message FROM checkpoint")?;
        let mut rows = query.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += u64::from(quotes.may_match(&row.get::<_, String>(0)?));
        }
        Ok(count)
    }

    /// The calls that can have made a change of one of the paths.
    fn calls_that_touched(&self, scope: &PurgeScope) -> Result<HashSet<i64>, StoreError> {
        let mut calls = HashSet::new();
        let mut query = self.db.prepare(
            "SELECT a.call FROM candidate a JOIN change c ON c.seq = a.change
             WHERE c.path = ?1 OR c.old_path = ?1
             UNION SELECT call FROM change
             WHERE (path = ?1 OR old_path = ?1) AND call IS NOT NULL",
        )?;
        for path in &scope.paths {
            for call in query.query_map([path.as_bytes()], |row| row.get(0))? {
                calls.insert(call?);
            }
        }
        Ok(calls)
    }
}

impl Batch<'_> {
    /// Drops arguments and commands of the calls that touched the paths, name them or quote a
    /// content; returns how many.
    pub(crate) fn redact_calls(
        &self,
        quotes: &QuoteMatcher,
        target: &PurgeTarget,
        scope: &PurgeScope,
    ) -> Result<u64, StoreError> {
        let touched = self.calls_that_touched(scope)?;
        let name = match target {
            PurgeTarget::Path(path) => path.as_str().map(str::to_owned),
            PurgeTarget::Content(_) => None,
        };
        let mut doomed = Vec::new();
        let sql = "SELECT id, input, command, arguments FROM call
            WHERE input NOT NULL OR command NOT NULL OR arguments NOT NULL";
        let mut query = self.db.prepare(sql)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let command = row.get::<_, Option<String>>(2)?.unwrap_or_default();
            let says = |text: &str| {
                quotes.matches(text) || name.as_deref().is_some_and(|name| text.contains(name))
            };
            let says_packed = |packed: Option<Vec<u8>>| {
                let Some(packed) = packed else { return false };
                let text = zstd_decompress_up_to(&packed, MAX_TEXT_BYTES).ok();
                let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
                // What cannot be read cannot be told from a quote.
                text.is_none_or(|text| says(&text) || quotes.matches_truncated_json(&text))
            };
            let goes = touched.contains(&id)
                || says(&command)
                || quotes.matches_truncated(&command)
                || says_packed(row.get(1)?)
                || says_packed(row.get(3)?);
            if goes {
                doomed.push(id);
            }
        }
        for id in &doomed {
            let sql =
                "UPDATE call SET input = NULL, command = NULL, arguments = NULL WHERE id = ?1";
            self.execute("drop arguments", sql, [id])?;
        }
        Ok(doomed.len() as u64)
    }

    /// Redacts quotes in the messages of conversations; returns the number of messages.
    ///
    /// A message keeps its digest, so it is not imported again from the agent's record.
    pub(crate) fn redact_messages(&self, quotes: &QuoteMatcher) -> Result<u64, StoreError> {
        let mut changed = Vec::new();
        let mut query = self.db.prepare("SELECT id, body FROM message")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let read = read_body(&row.get::<_, Vec<u8>>(1)?);
            // What cannot be read cannot be told from a quote.
            let is_read = read.is_ok();
            let mut body =
                read.unwrap_or_else(|_| json!([{ "type": "text", "text": PURGED_PLACEHOLDER }]));
            if quotes.redact(&mut body) || !is_read {
                changed.push((row.get::<_, i64>(0)?, compress_body(&body)?));
            }
        }
        for (id, body) in &changed {
            let sql = "UPDATE message SET body = ?2 WHERE id = ?1";
            self.execute("drop quotes", sql, (id, body))?;
        }
        Ok(changed.len() as u64)
    }

    /// Drops bodies of events and titles that quote a content; returns the number of events.
    pub(crate) fn redact_events(&self, quotes: &QuoteMatcher) -> Result<u64, StoreError> {
        let mut doomed = Vec::new();
        let mut query = self.db.prepare("SELECT seq, body FROM event WHERE length(body) > 2")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let body = row.get::<_, String>(1)?;
            if quotes.matches(&body) || quotes.matches_truncated_json(&body) {
                doomed.push(row.get::<_, i64>(0)?);
            }
        }
        for seq in &doomed {
            let sql = "UPDATE event SET body = '{\"purged\":true}' WHERE seq = ?1";
            self.execute("drop event body", sql, [seq])?;
        }
        for (table, column, instead) in [
            ("dialog", "title", "NULL"),
            ("dialog_title", "title", "NULL"),
            ("work_session", "message", "NULL"),
            ("operation", "title", "kind"),
            ("rejection", "reason", "NULL"),
            ("queued_rejection", "reason", "NULL"),
            ("review_comment", "text", "'[purged]'"),
            ("review_comment", "answer", "NULL"),
            ("review_comment", "anchor", "'{}'"),
        ] {
            let sql = format!("SELECT DISTINCT {column} FROM {table} WHERE {column} NOT NULL");
            let mut query = self.db.prepare(&sql)?;
            let texts: Vec<String> =
                query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            for text in texts.iter().filter(|text| quotes.may_match(text)) {
                let sql = format!("UPDATE {table} SET {column} = {instead} WHERE {column} = ?1");
                self.execute("drop text", &sql, [text])?;
            }
        }
        Ok(doomed.len() as u64)
    }
}
