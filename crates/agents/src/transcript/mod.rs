//! Reads agents' transcripts incrementally: the messages and their indexes (DM-4).
//!
//! # Contract
//! - Messages are counted from 0: what a person (or, in a subagent's file, the parent) wrote, and
//!   what the assistant answered. Tool results, injected context, notifications and the agent's
//!   bookkeeping are no messages.
//! - [`read`] is given the file from [`Cursor::offset`] on, and returns every message that is new or
//!   has **grown**, whole, once, in order. A message that was returned before keeps its index: set
//!   by index, do not add.
//! - Only whole lines are consumed; a line that is cut off at the end waits for the next time. If
//!   [`Cursor::offset`] does not move although there are new bytes, the line is longer than what
//!   was given: give more.
//! - A text is cut at [`TEXT_LIMIT`] bytes.
//! - A file that became shorter than [`Cursor::offset`] is another file: start over with
//!   [`Cursor::default`].
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

use crate::heard::{Subagent, Voice};
use crate::{Agent, wire};

pub(crate) use cline::unwrapped;
pub(crate) use opencode::{
    added as opencode_added, messages as opencode_messages, words as opencode_words,
};

/// Maximum bytes kept of a message's text.
pub const TEXT_LIMIT: usize = 64 * 1024;
/// Maximum calls kept of one message, and maximum bytes of a call id.
const CALLS_LIMIT: usize = 1024;
const CALL_ID_LIMIT: usize = 512;

/// Read cursor of a transcript; to be stored between reads.
///
/// It holds no text: messages can be purged from the record without a trace here. So the last
/// message of the assistant, if it may still grow, is read again from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cursor {
    #[serde(flatten)]
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<Read>,
}

/// Position of a reader, with the state that it needs there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    offset: u64,
    messages: u64,
    /// Claude Code: whether this is the file of a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    sidechain: Option<bool>,
    /// Codex: the message that the next event may repeat in its other form.
    #[serde(skip_serializing_if = "Option::is_none")]
    echo: Option<codex::Echo>,
    /// Gemini: the fingerprints of the last messages' ids, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ids: Vec<u64>,
}

/// Messages that were read beyond the state, and will be read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Read {
    /// How many messages there were in all.
    messages: u64,
    /// Which of them may grow, and the fingerprint of what it was.
    grows: u64,
    was: u64,
}

/// A message that may still grow.
struct Open {
    /// Lines with the same key are of the same message.
    key: u64,
    /// The next line begins another message, but calls may still be added.
    over: bool,
    spoken: Spoken,
    /// Where it begins.
    begins: State,
}

impl Cursor {
    /// A cursor after this many messages of a conversation that arrives as a whole.
    pub fn after(messages: u64) -> Self {
        Self { state: State { messages, ..State::default() }, read: None }
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
pub struct Spoken {
    /// Its place in the conversation.
    pub index: u64,
    /// Who spoke.
    pub by: Speaker,
    /// What was said; empty if the assistant only called tools.
    pub text: String,
    /// The calls that the message carried: ids, or tool and arguments if hooks tell no ids.
    pub calls: Vec<CalledTool>,
}

impl Spoken {
    /// The message as an event of this dialog; `agent` is the subagent whose file it is.
    pub fn event(&self, dialog: &DialogId, agent: Option<&AgentId>, kind: Agent) -> Event {
        let subagent = agent.map(|agent| Subagent::of_main(&agent.0));
        self.said_by(&Voice { kind, dialog: dialog.clone(), subagent, cwd: None })
    }

    pub(crate) fn said_by(&self, voice: &Voice) -> Event {
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
        if part.is_empty() || self.text.len() >= TEXT_LIMIT {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let room = TEXT_LIMIT - self.text.len();
        self.text.push_str(start(part, room));
    }

    fn add_call(&mut self, call: CalledTool) {
        let long = call.call.as_ref().is_some_and(|id| id.0.len() > CALL_ID_LIMIT);
        let known = call.call.is_some() && self.calls.iter().any(|other| other.call == call.call);
        if !long && !known && self.calls.len() < CALLS_LIMIT {
            self.calls.push(call);
        }
    }
}

/// Returns the longest prefix of a text that fits into this many bytes.
fn start(text: &str, room: usize) -> &str {
    let fits = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..fits.unwrap_or(0)]
}

/// A call that hooks know by its id; then the id is enough.
fn called(id: &str) -> CalledTool {
    CalledTool { call: Some(CallId::from(id)), tool: None, input: Value::Null }
}

/// Continues reading: `new` are the bytes of the file from [`Cursor::offset`] on.
///
/// Cline's file is one JSON document: there the offset stays 0 and `new` is the whole file.
/// opencode sends its conversation with the hook, and the format of Cursor's file is not known:
/// these are not read.
pub fn read(agent: Agent, cursor: &Cursor, new: &[u8]) -> (Vec<Spoken>, Cursor) {
    let mut reader = Reader::at(cursor.state.clone());
    match agent {
        Agent::ClaudeCode | Agent::Codex | Agent::Gemini | Agent::Copilot => {
            reader.lines(new, understanding(agent));
        }
        Agent::Cline => return cline::file(reader, cursor, new),
        Agent::Opencode | Agent::Cursor => {}
    }
    reader.finish(cursor)
}

/// Returns the parser for a line of this agent, or a message of its document.
fn understanding(agent: Agent) -> fn(&mut Reader, &Value) {
    match agent {
        Agent::ClaudeCode => claude_code::line,
        Agent::Codex => codex::line,
        Agent::Gemini => gemini::line,
        Agent::Copilot => copilot::line,
        Agent::Cline => cline::message,
        Agent::Opencode => opencode::message,
        Agent::Cursor => |_, _| {},
    }
}

/// Counts messages for readers that need more of a file than its text: one rule for both.
pub(crate) struct Count {
    reader: Reader,
    understand: fn(&mut Reader, &Value),
}

impl Count {
    /// From this state on.
    pub(crate) fn on(agent: Agent, state: State) -> Self {
        Self { reader: Reader::at(state), understand: understanding(agent) }
    }

    /// Returns the message that a line belongs to, as far as it is complete.
    pub(crate) fn line(&mut self, line: &Value) -> Option<Spoken> {
        self.reader.spoken.clear();
        (self.understand)(&mut self.reader, line);
        self.reader.spoken.pop_last().map(|(_, spoken)| spoken)
    }

    /// Advances past a line of this many bytes.
    pub(crate) fn pass(&mut self, bytes: usize) {
        self.reader.state.pass(bytes);
    }

    /// Returns the current state.
    pub(crate) fn state(&self) -> &State {
        &self.reader.state
    }
}

impl State {
    /// Returns the file offset.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns whether a line of Claude Code is of another conversation than the file.
    pub(crate) fn is_foreign(&self, line: &Value) -> bool {
        self.sidechain.is_some_and(|side| side != wire::is_true(line, "/isSidechain"))
    }

    fn pass(&mut self, bytes: usize) {
        self.offset = self.offset.saturating_add(bytes as u64);
    }
}

/// Returns the complete lines, each with its line end.
pub(crate) fn whole_lines(new: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    new[..whole].split_inclusive(|byte| *byte == b'\n')
}

/// State of one read.
struct Reader {
    state: State,
    /// The last message of the assistant, if its next lines would be part of it.
    open: Option<Open>,
    /// What is new or has grown, by index.
    spoken: BTreeMap<u64, Spoken>,
}

impl Reader {
    fn at(state: State) -> Self {
        Self { state, open: None, spoken: BTreeMap::new() }
    }

    fn lines(&mut self, new: &[u8], understand: fn(&mut Self, &Value)) {
        for line in whole_lines(new) {
            if let Ok(parsed) = wire::parse(line) {
                understand(self, &parsed);
            }
            self.state.pass(line.len());
        }
    }

    /// Returns the messages that are new or have grown since the cursor, and the next cursor.
    fn finish(mut self, cursor: &Cursor) -> (Vec<Spoken>, Cursor) {
        if let Some(read) = &cursor.read {
            let has_grown =
                |spoken: &Spoken| spoken.index == read.grows && spoken.fingerprint() != read.was;
            self.spoken.retain(|index, spoken| *index >= read.messages || has_grown(spoken));
        }
        let next = match self.open {
            None => Cursor { state: self.state, read: None },
            Some(Open { spoken, begins, .. }) => {
                let (grows, was) = (spoken.index, spoken.fingerprint());
                let read = Read { messages: self.state.messages, grows, was };
                Cursor { state: begins, read: Some(read) }
            }
        };
        (self.spoken.into_values().collect(), next)
    }

    /// The next message, empty.
    fn next(&mut self, by: Speaker) -> Spoken {
        let index = self.state.messages;
        self.state.messages = index.saturating_add(1);
        Spoken::new(index, by)
    }

    /// Adds a message that is complete.
    fn say(&mut self, by: Speaker, text: &str, calls: Vec<CalledTool>) {
        let spoken = self.next(by);
        self.set(spoken, text, calls);
    }

    /// Gives a message its text and calls.
    fn set(&mut self, mut spoken: Spoken, text: &str, calls: Vec<CalledTool>) {
        spoken.add_text(text);
        for call in calls {
            spoken.add_call(call);
        }
        self.spoken.insert(spoken.index, spoken);
    }

    /// Adds a part of the assistant's message with this key.
    fn grow(&mut self, key: u64, texts: &[&str], calls: Vec<CalledTool>) {
        if self.open.as_ref().is_none_or(|open| open.key != key || open.over) {
            let begins = self.state.clone();
            let spoken = self.next(Speaker::Assistant);
            self.open = Some(Open { key, over: false, spoken, begins });
        }
        self.add(texts, calls);
    }

    /// Adds to the assistant's last message, if there is one.
    fn add(&mut self, texts: &[&str], calls: Vec<CalledTool>) {
        let Some(open) = &mut self.open else {
            return;
        };
        for text in texts {
            open.spoken.add_text(text);
        }
        for call in calls {
            open.spoken.add_call(call);
        }
        self.spoken.insert(open.spoken.index, open.spoken.clone());
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
        let mut spoken = Spoken::new(0, Speaker::User);
        spoken.add_text("x");
        spoken.add_text(&"é".repeat(TEXT_LIMIT));
        assert!(spoken.text.len() <= TEXT_LIMIT && spoken.text.len() > TEXT_LIMIT - 3);
        let full = spoken.clone();
        spoken.add_text("more");
        assert!(spoken.text.len() <= TEXT_LIMIT && spoken.text.starts_with(&full.text));
    }

    #[test]
    fn calls_are_kept_once_and_bounded() {
        let mut spoken = Spoken::new(0, Speaker::Assistant);
        for _ in 0..2 {
            (0..CALLS_LIMIT + 5).for_each(|at| spoken.add_call(called(&format!("c{at}"))));
        }
        spoken.add_call(called(&"x".repeat(CALL_ID_LIMIT + 1)));
        assert_eq!(spoken.calls.len(), CALLS_LIMIT);
    }
}
