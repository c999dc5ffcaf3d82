//! Reads agents' transcripts incrementally: the messages and their indexes (DM-4).
//!
//! # Contract
//! - Messages are counted from 0: what a person (or, in a subagent's file, the parent) wrote, and
//!   what the assistant answered. Tool results, injected context, notifications and the agent's
//!   bookkeeping are no messages.
//! - [`read`] is given the file from [`TranscriptCursor::offset`] on, and returns every message
//!   that is new or has **grown**, whole, once, in order. A message that was returned before keeps
//!   its index: set by index, do not add.
//! - Only whole lines are consumed; a line that is cut off at the end waits for the next time. If
//!   [`TranscriptCursor::offset`] does not move although there are new bytes, the line is longer
//!   than what was given: give more.
//! - A text is cut at [`MAX_TEXT_BYTES`] bytes.
//! - A file that became shorter than [`TranscriptCursor::offset`] is another file: start over with
//!   [`TranscriptCursor::default`].
//! - Lines that are not understood are passed over. Reading in any slices gives the same messages
//!   as reading at once.

mod parser;

use retake_model::{AgentId, CallId, CalledTool, DialogId, Event, EventKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codex::transcript::CountedPrompt;
use crate::parse::{EventSource, Subagent};
use crate::{AgentKind, wire};

pub(crate) use parser::{MessageCounter, TranscriptParser, complete_lines};

/// Maximum bytes kept of a message's text.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Maximum calls kept of one message, and maximum bytes of a call id.
const MAX_CALLS_PER_MESSAGE: usize = 1024;
const MAX_CALL_ID_BYTES: usize = 512;
/// Maximum bytes of a model's name; a longer one is none.
const MAX_MODEL_BYTES: usize = 256;

/// Read cursor of a transcript; to be stored between reads.
///
/// It holds no text: messages can be purged from the record without a trace here. So the last
/// message of the assistant, if it may still grow, is read again from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TranscriptCursor {
    #[serde(flatten)]
    pub(crate) state: TranscriptState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) read: Option<ReadAhead>,
}

/// Position of a reader, with the state that it needs there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TranscriptState {
    offset: u64,
    pub(crate) messages: u64,
    /// Claude Code: whether this is the file of a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sidechain: Option<bool>,
    /// Codex: the message that the next event may repeat in its other form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) echo: Option<CountedPrompt>,
    /// Gemini: the fingerprints of the last messages' ids, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ids: Vec<u64>,
}

/// Messages that were read beyond the state, and will be read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReadAhead {
    /// How many messages there were in all.
    pub(crate) messages: u64,
    /// Which of them may grow, and the fingerprint of what it was.
    pub(crate) grows: u64,
    pub(crate) was: u64,
}

impl TranscriptCursor {
    /// A cursor after this many messages of a conversation that arrives as a whole.
    pub fn after(messages: u64) -> Self {
        Self { state: TranscriptState { messages, ..TranscriptState::default() }, read: None }
    }

    /// Returns the file offset of the next read.
    pub fn offset(&self) -> u64 {
        self.state.offset
    }

    /// Returns the number of messages up to here.
    pub fn messages(&self) -> u64 {
        self.read.as_ref().map_or(self.state.messages, |read| read.messages)
    }
}

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The person, or the agent that started this one.
    User,
    /// The agent.
    Assistant,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TranscriptMessage {
    /// Its place in the conversation.
    pub index: u64,
    /// Who spoke.
    pub by: Speaker,
    /// What was said; empty if the assistant only called tools.
    pub text: String,
    /// The calls that the message carried: ids, or tool and arguments if hooks tell no ids.
    pub calls: Vec<CalledTool>,
    /// The model that wrote it, as the agent names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl TranscriptMessage {
    /// The message as an event of this dialog; `agent` is the subagent whose file it is.
    pub fn event(&self, dialog: &DialogId, agent: Option<&AgentId>, kind: AgentKind) -> Event {
        let subagent = agent.map(|agent| Subagent::of_main(&agent.0));
        self.event_from(&EventSource {
            kind,
            dialog: dialog.clone(),
            subagent,
            cwd: None,
            model: None,
        })
    }

    pub(crate) fn event_from(&self, source: &EventSource) -> Event {
        let text = self.text.clone();
        let what = match self.by {
            Speaker::User => EventKind::UserMessage { text },
            Speaker::Assistant => EventKind::AssistantMessage { text, calls: self.calls.clone() },
        };
        let event = source.event(what);
        let model = self.model.clone().or_else(|| event.model.clone());
        Event { message_index: Some(self.index), model, ..event }
    }

    pub(crate) fn new(index: u64, by: Speaker) -> Self {
        Self { index, by, text: String::new(), calls: Vec::new(), model: None }
    }

    /// Returns a fingerprint that changes when the message grows.
    pub(crate) fn fingerprint(&self) -> u64 {
        let calls = self.calls.iter().filter_map(|called| called.call.as_ref());
        let ids: Vec<&str> = calls.map(|call| call.0.as_str()).collect();
        wire::fingerprint(&format!("{}\0{}\0{}", self.text, self.calls.len(), ids.join("\0")))
    }

    /// Adds a part of the text, on a line of its own.
    pub(crate) fn add_text(&mut self, part: &str) {
        if part.is_empty() || self.text.len() >= MAX_TEXT_BYTES {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let capacity = MAX_TEXT_BYTES - self.text.len();
        self.text.push_str(utf8_prefix(part, capacity));
    }

    /// Sets the model, if it is told.
    pub(crate) fn set_model(&mut self, model: Option<&str>) {
        let plausible = |model: &&str| !model.is_empty() && model.len() <= MAX_MODEL_BYTES;
        if let Some(model) = model.filter(plausible) {
            self.model = Some(model.to_owned());
        }
    }

    pub(crate) fn add_call(&mut self, call: CalledTool) {
        let long = call.call.as_ref().is_some_and(|id| id.0.len() > MAX_CALL_ID_BYTES);
        let known = call.call.is_some() && self.calls.iter().any(|other| other.call == call.call);
        if !long && !known && self.calls.len() < MAX_CALLS_PER_MESSAGE {
            self.calls.push(call);
        }
    }
}

/// Returns the longest prefix of a text that fits into this many bytes.
fn utf8_prefix(text: &str, capacity: usize) -> &str {
    let fits = (0..=capacity.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..fits.unwrap_or(0)]
}

/// A call that hooks know by its id; then the id is enough.
pub(crate) fn call_by_id(id: &str) -> CalledTool {
    CalledTool { call: Some(CallId::from(id)), tool: None, input: Value::Null }
}

/// Where the messages of an agent come from.
pub(crate) enum TranscriptSource {
    /// A file with one JSON document on each line.
    Lines(LineParser),
    /// A file that is one document, rewritten whole.
    Document {
        /// Reads the document; the cursor's offset stays 0.
        read: DocumentReader,
        /// Reads one message of it.
        parse_message: LineParser,
    },
    /// The agent's hooks send the messages.
    Hooks(LineParser),
    /// The format is not known.
    Unknown,
}

/// Reads a line, or a message of a document.
pub(crate) type LineParser = fn(&mut TranscriptParser, &Value);

/// Reads a document, given a parser at the cursor's state.
pub(crate) type DocumentReader = fn(TranscriptParser, &TranscriptCursor, &[u8]) -> TranscriptRead;

/// The messages that are new or have grown, and the next cursor.
pub(crate) type TranscriptRead = (Vec<TranscriptMessage>, TranscriptCursor);

impl TranscriptSource {
    /// Returns the parser for a line, or for a message of a document.
    fn line_parser(&self) -> LineParser {
        match self {
            Self::Lines(parse)
            | Self::Document { parse_message: parse, .. }
            | Self::Hooks(parse) => *parse,
            Self::Unknown => |_, _| {},
        }
    }
}

/// Continues reading: `new` are the bytes of the file from [`TranscriptCursor::offset`] on.
///
/// Of an agent whose file is one JSON document (Cline), the offset stays 0 and `new` is the whole
/// file. Nothing is read of an agent whose hooks send the conversation (opencode), or whose format
/// is not known (Cursor).
pub fn read(
    agent: AgentKind,
    cursor: &TranscriptCursor,
    new: &[u8],
) -> (Vec<TranscriptMessage>, TranscriptCursor) {
    let mut parser = TranscriptParser::resume(cursor.state.clone());
    match agent.spec().transcript {
        TranscriptSource::Lines(parse_line) => parser.read_lines(new, parse_line),
        TranscriptSource::Document { read, .. } => return read(parser, cursor, new),
        TranscriptSource::Hooks(_) | TranscriptSource::Unknown => {}
    }
    parser.finish(cursor)
}

impl TranscriptState {
    /// Returns the file offset.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns whether a line of Claude Code is of another conversation than the file.
    pub(crate) fn is_foreign(&self, line: &Value) -> bool {
        self.sidechain.is_some_and(|side| side != wire::is_true(line, "/isSidechain"))
    }

    fn advance(&mut self, bytes: usize) {
        self.offset = self.offset.saturating_add(bytes as u64);
    }
}

/// The texts of content that is one text, or a list of blocks with a text each.
pub(crate) fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| wire::text(block, "/text")).collect()
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut message = TranscriptMessage::new(0, Speaker::User);
        message.add_text("x");
        message.add_text(&"é".repeat(MAX_TEXT_BYTES));
        assert!(message.text.len() <= MAX_TEXT_BYTES && message.text.len() > MAX_TEXT_BYTES - 3);
        let full = message.clone();
        message.add_text("more");
        assert!(message.text.len() <= MAX_TEXT_BYTES && message.text.starts_with(&full.text));
    }

    #[test]
    fn calls_are_kept_once_and_bounded() {
        let mut message = TranscriptMessage::new(0, Speaker::Assistant);
        for _ in 0..2 {
            (0..MAX_CALLS_PER_MESSAGE + 5)
                .for_each(|at| message.add_call(call_by_id(&format!("c{at}"))));
        }
        message.add_call(call_by_id(&"x".repeat(MAX_CALL_ID_BYTES + 1)));
        assert_eq!(message.calls.len(), MAX_CALLS_PER_MESSAGE);
    }
}
