//! Reads agents' transcripts incrementally: the messages and their indexes (DM-4).
//!
//! # Contract
//! - Messages are counted from 0: what a person (or, in a subagent's file, the parent) wrote, and
//!   what the assistant answered. Tool results, injected context, notifications and the agent's
//!   bookkeeping are no messages.
//! - [`read`] is given the file from [`TranscriptCursor::offset`] on, and returns every message that is new or
//!   has **grown**, whole, once, in order. A message that was returned before keeps its index: set
//!   by index, do not add.
//! - Only whole lines are consumed; a line that is cut off at the end waits for the next time. If
//!   [`TranscriptCursor::offset`] does not move although there are new bytes, the line is longer than what
//!   was given: give more.
//! - A text is cut at [`MAX_TEXT_BYTES`] bytes.
//! - A file that became shorter than [`TranscriptCursor::offset`] is another file: start over with
//!   [`TranscriptCursor::default`].
//! - Lines that are not understood are passed over. Reading in any slices gives the same messages
//!   as reading at once.

mod claude_code;
mod cline;
mod codex;
mod copilot;
mod gemini;
mod opencode;

use std::collections::BTreeMap;

use retake_model::{AgentId, CallId, CalledTool, DialogId, Event, EventKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::parse::{EventSource, Subagent};
use crate::{AgentKind, wire};

pub(crate) use cline::unwrap_user_input;
pub(crate) use opencode::{
    is_synthetic as opencode_added, parse_messages as opencode_messages,
    spoken_text as opencode_words,
};

/// Maximum bytes kept of a message's text.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Maximum calls kept of one message, and maximum bytes of a call id.
const MAX_CALLS_PER_MESSAGE: usize = 1024;
const MAX_CALL_ID_BYTES: usize = 512;

/// Read cursor of a transcript; to be stored between reads.
///
/// It holds no text: messages can be purged from the record without a trace here. So the last
/// message of the assistant, if it may still grow, is read again from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TranscriptCursor {
    #[serde(flatten)]
    state: TranscriptState,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<ReadAhead>,
}

/// Position of a reader, with the state that it needs there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TranscriptState {
    offset: u64,
    messages: u64,
    /// Claude Code: whether this is the file of a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    sidechain: Option<bool>,
    /// Codex: the message that the next event may repeat in its other form.
    #[serde(skip_serializing_if = "Option::is_none")]
    echo: Option<codex::CountedPrompt>,
    /// Gemini: the fingerprints of the last messages' ids, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ids: Vec<u64>,
}

/// Messages that were read beyond the state, and will be read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ReadAhead {
    /// How many messages there were in all.
    messages: u64,
    /// Which of them may grow, and the fingerprint of what it was.
    grows: u64,
    was: u64,
}

/// A message that may still grow.
struct OpenMessage {
    /// Lines with the same key are of the same message.
    key: u64,
    /// The next line begins another message, but calls may still be added.
    is_over: bool,
    spoken: TranscriptMessage,
    /// Where it begins.
    resume_at: TranscriptState,
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
}

impl TranscriptMessage {
    /// The message as an event of this dialog; `agent` is the subagent whose file it is.
    pub fn event(&self, dialog: &DialogId, agent: Option<&AgentId>, kind: AgentKind) -> Event {
        let subagent = agent.map(|agent| Subagent::of_main(&agent.0));
        self.event_from(&EventSource { kind, dialog: dialog.clone(), subagent, cwd: None })
    }

    pub(crate) fn event_from(&self, voice: &EventSource) -> Event {
        let text = self.text.clone();
        let what = match self.by {
            Speaker::User => EventKind::UserMessage { text },
            Speaker::Assistant => EventKind::AssistantMessage { text, calls: self.calls.clone() },
        };
        Event { message_index: Some(self.index), ..voice.event(what) }
    }

    fn new(index: u64, by: Speaker) -> Self {
        Self { index, by, text: String::new(), calls: Vec::new() }
    }

    /// Returns a fingerprint that changes when the message grows.
    fn fingerprint(&self) -> u64 {
        let calls = self.calls.iter().filter_map(|called| called.call.as_ref());
        let ids: Vec<&str> = calls.map(|call| call.0.as_str()).collect();
        wire::fingerprint(&format!("{}\0{}\0{}", self.text, self.calls.len(), ids.join("\0")))
    }

    /// Adds a part of the text, on a line of its own.
    fn add_text(&mut self, part: &str) {
        if part.is_empty() || self.text.len() >= MAX_TEXT_BYTES {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let room = MAX_TEXT_BYTES - self.text.len();
        self.text.push_str(utf8_prefix(part, room));
    }

    fn add_call(&mut self, call: CalledTool) {
        let long = call.call.as_ref().is_some_and(|id| id.0.len() > MAX_CALL_ID_BYTES);
        let known = call.call.is_some() && self.calls.iter().any(|other| other.call == call.call);
        if !long && !known && self.calls.len() < MAX_CALLS_PER_MESSAGE {
            self.calls.push(call);
        }
    }
}

/// Returns the longest prefix of a text that fits into this many bytes.
fn utf8_prefix(text: &str, room: usize) -> &str {
    let fits = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..fits.unwrap_or(0)]
}

/// A call that hooks know by its id; then the id is enough.
fn call_by_id(id: &str) -> CalledTool {
    CalledTool { call: Some(CallId::from(id)), tool: None, input: Value::Null }
}

/// Continues reading: `new` are the bytes of the file from [`TranscriptCursor::offset`] on.
///
/// Cline's file is one JSON document: there the offset stays 0 and `new` is the whole file.
/// opencode sends its conversation with the hook, and the format of Cursor's file is not known:
/// these are not read.
pub fn read(
    agent: AgentKind,
    cursor: &TranscriptCursor,
    new: &[u8],
) -> (Vec<TranscriptMessage>, TranscriptCursor) {
    let mut reader = TranscriptParser::resume(cursor.state.clone());
    match agent {
        AgentKind::ClaudeCode | AgentKind::Codex | AgentKind::Gemini | AgentKind::Copilot => {
            reader.read_lines(new, line_parser(agent));
        }
        AgentKind::Cline => return cline::read_document(reader, cursor, new),
        AgentKind::Opencode | AgentKind::Cursor => {}
    }
    reader.finish(cursor)
}

/// Returns the parser for a line of this agent, or a message of its document.
fn line_parser(agent: AgentKind) -> fn(&mut TranscriptParser, &Value) {
    match agent {
        AgentKind::ClaudeCode => claude_code::read_line,
        AgentKind::Codex => codex::read_line,
        AgentKind::Gemini => gemini::read_line,
        AgentKind::Copilot => copilot::read_line,
        AgentKind::Cline => cline::read_message,
        AgentKind::Opencode => opencode::read_message,
        AgentKind::Cursor => |_, _| {},
    }
}

/// Counts messages for readers that need more of a file than its text: one rule for both.
pub(crate) struct MessageCounter {
    reader: TranscriptParser,
    parse_line: fn(&mut TranscriptParser, &Value),
}

impl MessageCounter {
    /// From this state on.
    pub(crate) fn resume(agent: AgentKind, state: TranscriptState) -> Self {
        Self { reader: TranscriptParser::resume(state), parse_line: line_parser(agent) }
    }

    /// Returns the message that a line belongs to, as far as it is complete.
    pub(crate) fn count_line(&mut self, line: &Value) -> Option<TranscriptMessage> {
        self.reader.messages.clear();
        (self.parse_line)(&mut self.reader, line);
        self.reader.messages.pop_last().map(|(_, spoken)| spoken)
    }

    /// Advances past a line of this many bytes.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.reader.state.advance(bytes);
    }

    /// Returns the current state.
    pub(crate) fn state(&self) -> &TranscriptState {
        &self.reader.state
    }
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

/// Returns the complete lines, each with its line end.
pub(crate) fn complete_lines(new: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    new[..whole].split_inclusive(|byte| *byte == b'\n')
}

/// State of one read.
struct TranscriptParser {
    state: TranscriptState,
    /// The last message of the assistant, if its next lines would be part of it.
    open: Option<OpenMessage>,
    /// What is new or has grown, by index.
    messages: BTreeMap<u64, TranscriptMessage>,
}

impl TranscriptParser {
    fn resume(state: TranscriptState) -> Self {
        Self { state, open: None, messages: BTreeMap::new() }
    }

    fn read_lines(&mut self, new: &[u8], understand: fn(&mut Self, &Value)) {
        for line in complete_lines(new) {
            if let Ok(parsed) = wire::parse(line) {
                understand(self, &parsed);
            }
            self.state.advance(line.len());
        }
    }

    /// Returns the messages that are new or have grown since the cursor, and the next cursor.
    fn finish(mut self, cursor: &TranscriptCursor) -> (Vec<TranscriptMessage>, TranscriptCursor) {
        if let Some(read) = &cursor.read {
            let has_grown = |spoken: &TranscriptMessage| {
                spoken.index == read.grows && spoken.fingerprint() != read.was
            };
            self.messages.retain(|index, spoken| *index >= read.messages || has_grown(spoken));
        }
        let next = match self.open {
            None => TranscriptCursor { state: self.state, read: None },
            Some(OpenMessage { spoken, resume_at: begins, .. }) => {
                let (grows, was) = (spoken.index, spoken.fingerprint());
                let read = ReadAhead { messages: self.state.messages, grows, was };
                TranscriptCursor { state: begins, read: Some(read) }
            }
        };
        (self.messages.into_values().collect(), next)
    }

    /// The next message, empty.
    fn next_message(&mut self, by: Speaker) -> TranscriptMessage {
        let index = self.state.messages;
        self.state.messages = index.saturating_add(1);
        TranscriptMessage::new(index, by)
    }

    /// Adds a message that is complete.
    fn add_message(&mut self, by: Speaker, text: &str, calls: Vec<CalledTool>) {
        let spoken = self.next_message(by);
        self.set_message(spoken, text, calls);
    }

    /// Gives a message its text and calls.
    fn set_message(&mut self, mut spoken: TranscriptMessage, text: &str, calls: Vec<CalledTool>) {
        spoken.add_text(text);
        for call in calls {
            spoken.add_call(call);
        }
        self.messages.insert(spoken.index, spoken);
    }

    /// Adds a part of the assistant's message with this key.
    fn grow_assistant(&mut self, key: u64, texts: &[&str], calls: Vec<CalledTool>) {
        if self.open.as_ref().is_none_or(|open| open.key != key || open.is_over) {
            let begins = self.state.clone();
            let spoken = self.next_message(Speaker::Assistant);
            self.open = Some(OpenMessage { key, is_over: false, spoken, resume_at: begins });
        }
        self.extend_assistant(texts, calls);
    }

    /// Adds to the assistant's last message, if there is one.
    fn extend_assistant(&mut self, texts: &[&str], calls: Vec<CalledTool>) {
        let Some(open) = &mut self.open else {
            return;
        };
        for text in texts {
            open.spoken.add_text(text);
        }
        for call in calls {
            open.spoken.add_call(call);
        }
        self.messages.insert(open.spoken.index, open.spoken.clone());
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
        let mut spoken = TranscriptMessage::new(0, Speaker::User);
        spoken.add_text("x");
        spoken.add_text(&"é".repeat(MAX_TEXT_BYTES));
        assert!(spoken.text.len() <= MAX_TEXT_BYTES && spoken.text.len() > MAX_TEXT_BYTES - 3);
        let full = spoken.clone();
        spoken.add_text("more");
        assert!(spoken.text.len() <= MAX_TEXT_BYTES && spoken.text.starts_with(&full.text));
    }

    #[test]
    fn calls_are_kept_once_and_bounded() {
        let mut spoken = TranscriptMessage::new(0, Speaker::Assistant);
        for _ in 0..2 {
            (0..MAX_CALLS_PER_MESSAGE + 5)
                .for_each(|at| spoken.add_call(call_by_id(&format!("c{at}"))));
        }
        spoken.add_call(call_by_id(&"x".repeat(MAX_CALL_ID_BYTES + 1)));
        assert_eq!(spoken.calls.len(), MAX_CALLS_PER_MESSAGE);
    }
}
