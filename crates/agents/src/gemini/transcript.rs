//! Gemini CLI: `~/.gemini/tmp/<project>/chats/session-….jsonl`, one line per message or patch.
//!
//! A message is written again under its id when its calls have ended, and replaces itself. Hooks
//! have no call ids, so a call is given with its tool and arguments. Patches (`$set`) may hold
//! messages; the first one holds the session's context, which is not a message.

use retake_model::CalledTool;
use serde_json::Value;

use crate::prompt::Prompt;
use crate::transcript::{Speaker, TranscriptMessage, TranscriptParser, texts};
use crate::wire::{fingerprint, is_true, list, parse_embedded, text};

/// Maximum message ids remembered; an older message cannot be rewritten.
const MAX_REMEMBERED_IDS: usize = 512;

pub(crate) fn read_line(parser: &mut TranscriptParser, line: &Value) {
    for patched in list(line, "/$set/messages") {
        read_message(parser, patched);
    }
    read_message(parser, line);
}

fn read_message(parser: &mut TranscriptParser, message: &Value) {
    let Some(id) = text(message, "/id") else {
        return;
    };
    let words = texts(message.get("content").unwrap_or(&Value::Null)).join("\n");
    match text(message, "/type") {
        Some("user") if is_prompt(message, &words) => {
            let message = message_with_id(parser, id, Speaker::User);
            parser.set_message(message, &words, vec![]);
        }
        Some("gemini") => {
            let calls = list(message, "/toolCalls").iter().filter_map(parse_call).collect();
            let mut said = message_with_id(parser, id, Speaker::Assistant);
            said.set_model(text(message, "/model"));
            parser.set_message(said, &words, calls);
        }
        _ => {}
    }
}

fn is_prompt(message: &Value, words: &str) -> bool {
    let result = |part: &Value| part.get("functionResponse").is_some();
    Prompt::of(words).message().is_some()
        && !is_true(message, "/isSummary")
        && !words.trim_start().starts_with("<session_context>")
        && !list(message, "/content").iter().any(result)
}

fn parse_call(call: &Value) -> Option<CalledTool> {
    let tool = text(call, "/name")?.to_owned();
    let input = call.get("args").map_or(Value::Null, parse_embedded);
    Some(CalledTool { call: None, tool: Some(tool), input })
}

/// The message with this id, empty: a new one, or one that is written again.
fn message_with_id(parser: &mut TranscriptParser, id: &str, by: Speaker) -> TranscriptMessage {
    let id = fingerprint(id);
    let state = &mut parser.state;
    if let Some(at) = state.ids.iter().rposition(|other| *other == id) {
        let after = (state.ids.len() - at) as u64;
        TranscriptMessage::new(state.messages.saturating_sub(after), by)
    } else {
        if state.ids.len() >= MAX_REMEMBERED_IDS {
            state.ids.remove(0);
        }
        state.ids.push(id);
        parser.next_message(by)
    }
}
