//! Cline: `~/.cline/data/sessions/<id>/<id>.messages.json`, one document that is rewritten whole.
//!
//! Messages counted before are not returned again, except the last one if it has grown.
//! A document with fewer messages than before was rewritten, and is returned whole.

use serde_json::Value;

use crate::prompt::{Prompt, element_text};
use crate::transcript::{
    ReadAhead, Speaker, TranscriptCursor, TranscriptMessage, TranscriptParser, TranscriptState,
    call_by_id, texts,
};
use crate::wire::{self, list, text};

pub(crate) fn read_document(
    mut parser: TranscriptParser,
    cursor: &TranscriptCursor,
    whole: &[u8],
) -> (Vec<TranscriptMessage>, TranscriptCursor) {
    // A document that is just being written is read the next time.
    let Ok(document) = wire::parse(whole) else {
        return (Vec::new(), cursor.clone());
    };
    for each in list(&document, "/messages") {
        read_message(&mut parser, each);
    }
    let messages = parser.state.messages;
    let Some(last) = parser.messages.values().next_back().cloned() else {
        return (Vec::new(), TranscriptCursor::default());
    };
    // As if all of it were to be read again: the next document is.
    let read = ReadAhead { messages, grows: last.index, was: last.fingerprint() };
    let rewritten = messages < cursor.messages();
    let known = if rewritten { TranscriptCursor::default() } else { cursor.clone() };
    let (new, _) = parser.finish(&known);
    (new, TranscriptCursor { state: TranscriptState::default(), read: Some(read) })
}

pub(crate) fn read_message(parser: &mut TranscriptParser, message: &Value) {
    let content = message.get("content").unwrap_or(&Value::Null);
    let of_type = |kind: &'static str| {
        let matching = move |block: &&Value| text(block, "/type") == Some(kind);
        list(message, "/content").iter().filter(matching)
    };
    match text(message, "/role") {
        Some("user") if of_type("tool_result").next().is_none() => {
            let words = texts(content).join("\n");
            if let Some(words) = Prompt::of(unwrap_user_input(&words)).message() {
                parser.add_message(Speaker::User, words, vec![]);
            }
        }
        Some("assistant") => {
            let calls = of_type("tool_use").filter_map(|call| text(call, "/id")).map(call_by_id);
            let model = text(message, "/modelInfo/id");
            parser.add_assistant(&texts(content).join("\n"), calls.collect(), model);
        }
        _ => {}
    }
}

/// The person's words without the element that Cline puts around them.
pub(crate) fn unwrap_user_input(words: &str) -> &str {
    let inner = element_text(words, "<user_input", "</user_input>");
    inner.and_then(|inner| inner.split_once('>')).map_or(words, |(_, words)| words)
}
