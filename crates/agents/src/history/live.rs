//! Reads a growing conversation incrementally, as [`crate::transcript::read`] does.
//!
//! The number of a message counts from 0; one that was returned before and has changed is returned
//! again, whole, with its number: set by number, do not add.

use retake_model::ModelMessage;
use serde_json::Value;

use super::reader::{HistoryReader, ModelCursor, ReadPosition, message_fingerprint};
use super::{Conversation, FormatReader};
use crate::wire::{self, fingerprint};
use crate::{AgentKind, opencode};

/// Messages at the end of a document that may change without all being returned again.
const MUTABLE_TAIL_MESSAGES: usize = 4;

/// Continues reading: `new` are the bytes of the file from [`ModelCursor::offset`] on.
///
/// Only whole lines are consumed. Of a format that is one document (Cline, opencode) the offset
/// stays 0 and `new` is the whole of it. Nothing is read of an agent whose format is not known
/// (Cursor).
pub fn read_on(
    agent: AgentKind,
    cursor: &ModelCursor,
    new: &[u8],
) -> (Vec<(u64, ModelMessage)>, ModelCursor) {
    match agent.spec().history.map(|format| format.read) {
        Some(FormatReader::Lines(read_line)) => {
            let mut reader = HistoryReader::resume(agent, &cursor.at);
            reader.read_lines(new, read_line);
            reader.finish(cursor)
        }
        Some(FormatReader::Document(read)) => read_document(cursor, new, read),
        None => (Vec::new(), cursor.clone()),
    }
}

/// The messages of an opencode session as its SDK returns them, `[{info, parts}]`; the place in the
/// list is the number.
pub fn opencode_messages(messages: &Value) -> Vec<ModelMessage> {
    opencode::history::read(messages).messages
}

fn read_document(
    cursor: &ModelCursor,
    whole: &[u8],
    read: fn(&Value) -> Conversation,
) -> (Vec<(u64, ModelMessage)>, ModelCursor) {
    // A document that is just being written is read the next time.
    let Ok(document) = wire::parse(whole) else {
        return (Vec::new(), cursor.clone());
    };
    let messages = read(&document).messages;
    let before = |places: u64| {
        let places = usize::try_from(places).unwrap_or(usize::MAX);
        let marks: Option<Vec<u64>> =
            messages.get(..places).map(|all| all.iter().map(message_fingerprint).collect());
        marks.map(|marks| fingerprint(&format!("{marks:?}")))
    };
    let same = before(cursor.at.places) == cursor.at.before.or_else(|| before(0));
    let rewritten = !same || (messages.len() as u64) < cursor.messages();
    let places = messages.len().saturating_sub(MUTABLE_TAIL_MESSAGES) as u64;
    let read = messages
        .iter()
        .skip(messages.len().saturating_sub(MUTABLE_TAIL_MESSAGES))
        .map(message_fingerprint)
        .collect();
    let at = ReadPosition::after_messages(places, before(places));
    let is_new = |(place, message): &(u64, ModelMessage)| {
        rewritten || (*place >= cursor.at.places && cursor.is_new(*place, message))
    };
    let new = (0..).zip(messages).filter(is_new).collect();
    (new, ModelCursor { at, read })
}
