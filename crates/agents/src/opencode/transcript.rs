//! opencode: the messages of a session as its SDK returns them, `[{info, parts}]`.
//!
//! The plugin sends them with `session.idle`, because opencode keeps them in a database of its
//! own. Parts that opencode added to a person's message are marked `synthetic`.

use serde_json::Value;

use crate::prompt::Prompt;
use crate::transcript::{
    Speaker, TranscriptMessage, TranscriptParser, TranscriptState, call_by_id,
};
use crate::wire::{is_true, list, text};

/// The conversation, from index 0 on.
pub(crate) fn parse_messages(messages: &Value) -> Vec<TranscriptMessage> {
    let mut parser = TranscriptParser::resume(TranscriptState::default());
    messages.as_array().into_iter().flatten().for_each(|one| read_message(&mut parser, one));
    parser.messages.into_values().collect()
}

pub(crate) fn read_message(parser: &mut TranscriptParser, message: &Value) {
    if let Some(parsed) = parse_message(message, parser.state.messages) {
        parser.state.messages = parsed.index.saturating_add(1);
        parser.messages.insert(parsed.index, parsed);
    }
}

/// The words in the parts of a message.
pub(crate) fn spoken_text(parts: &Value) -> String {
    let parts = parts.as_array().map_or(&[][..], Vec::as_slice);
    let words =
        parts.iter().filter(|part| text(part, "/type") == Some("text") && !is_synthetic(part));
    words.filter_map(|part| text(part, "/text")).collect::<Vec<_>>().join("\n")
}

fn parse_message(message: &Value, index: u64) -> Option<TranscriptMessage> {
    let parts = message.get("parts").unwrap_or(&Value::Null);
    match text(message, "/info/role")? {
        "user" => {
            let all = list(message, "/parts");
            if !all.is_empty() && all.iter().all(is_synthetic) {
                return None;
            }
            let mut parsed = TranscriptMessage::new(index, Speaker::User);
            parsed.add_text(Prompt::of(&spoken_text(parts)).message()?);
            Some(parsed)
        }
        // The summary that stands for what was compacted.
        "assistant" if is_true(message, "/info/summary") => None,
        "assistant" => {
            let mut parsed = TranscriptMessage::new(index, Speaker::Assistant);
            parsed.add_text(&spoken_text(parts));
            parsed.set_model(text(message, "/info/modelID"));
            let calls = list(message, "/parts").iter().filter_map(|part| text(part, "/callID"));
            calls.for_each(|id| parsed.add_call(call_by_id(id)));
            Some(parsed)
        }
        _ => None,
    }
}

/// Returns whether opencode added this part.
pub(crate) fn is_synthetic(part: &Value) -> bool {
    is_true(part, "/synthetic")
        || is_true(part, "/ignored")
        || text(part, "/type") == Some("compaction")
}
