//! Reads a conversation line by line: groups blocks into messages, and keeps the resume position.
//!
//! What counts as a message, and which lines form one message of the assistant, is decided by
//! [`crate::transcript`] alone; this adds the blocks, the results, and injected messages.
//!
//! Invariant: after [`ReadPosition`], nothing refers to a message before it (except by the Gemini
//! ids that it holds). So resuming there gives the same messages as reading at once.

use std::collections::BTreeMap;

use retake_model::{AgentId, MessageRole, Millis, ModelMessage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::block;
use crate::AgentKind;
use crate::transcript::{
    MessageCounter, Speaker, TranscriptMessage, TranscriptState, complete_lines, texts,
};
use crate::wire::{self, fingerprint, text};

/// Maximum message ids remembered; an older message cannot be rewritten.
const MAX_REMEMBERED_IDS: usize = 512;

/// Read cursor of a conversation; to be stored between reads.
///
/// It holds no text. A message that may still grow is read again from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelCursor {
    pub(crate) at: ReadPosition,
    /// The fingerprints of the messages after that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) read: Vec<u64>,
}

/// Position where reading can resume, with the state needed there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReadPosition {
    said: TranscriptState,
    /// How many messages there are before this.
    pub(crate) places: u64,
    /// Documents: the fingerprint of the messages before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<u64>,
    /// Gemini: the fingerprints of the last messages' ids, and their places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ids: Vec<(u64, u64)>,
}

impl ReadPosition {
    /// A position in a document, after this many messages.
    pub(crate) fn after_messages(places: u64, before: Option<u64>) -> Self {
        Self { places, before, ..Self::default() }
    }
}

impl ModelCursor {
    /// Returns the file offset of the next read.
    pub fn offset(&self) -> u64 {
        self.at.said.offset()
    }

    /// Returns the number of messages up to here.
    pub fn messages(&self) -> u64 {
        self.at.places.saturating_add(self.read.len() as u64)
    }

    /// Returns whether a message is not yet known as it is.
    pub(crate) fn is_new(&self, place: u64, message: &ModelMessage) -> bool {
        let known = place.checked_sub(self.at.places).and_then(|at| usize::try_from(at).ok());
        let known = known.and_then(|at| self.read.get(at));
        known.is_none_or(|known| *known != message_fingerprint(message))
    }
}

/// Returns a fingerprint that changes when a message does.
pub(crate) fn message_fingerprint(message: &ModelMessage) -> u64 {
    let body = serde_json::to_string(message).unwrap_or_default();
    fingerprint(&format!("{:?}{body}", message.index))
}

/// Dialog, subagent and folder of a conversation, as the file says.
#[derive(Default)]
pub(crate) struct ConversationHeader {
    pub(crate) dialog: Option<String>,
    pub(crate) subagent: Option<AgentId>,
    pub(crate) cwd: Option<String>,
}

impl ConversationHeader {
    /// Fills the missing values from a line.
    pub(crate) fn fill_from(&mut self, line: &Value, dialog: &str, cwd: &str) {
        fill_missing(&mut self.dialog, line, dialog);
        fill_missing(&mut self.cwd, line, cwd);
    }
}

fn fill_missing(known: &mut Option<String>, line: &Value, pointer: &str) {
    if known.is_none() {
        *known = text(line, pointer).filter(|text| !text.is_empty()).map(str::to_owned);
    }
}

/// The assistant's last message.
struct LastReply {
    index: u64,
    place: u64,
}

/// Reads one line.
pub(crate) type HistoryLineReader = fn(&mut HistoryReader, &Value);

/// State of one read.
pub(crate) struct HistoryReader {
    counter: MessageCounter,
    next_place: u64,
    ids: Vec<(u64, u64)>,
    /// Before the line that is being read.
    line_start: ReadPosition,
    /// Where the next read begins.
    resume_at: ReadPosition,
    last_reply: Option<LastReply>,
    /// The place of what the tools of that message answered.
    results_place: Option<u64>,
    /// Codex: the place of a person's words that were not counted yet.
    prompt_place: Option<u64>,
    messages: BTreeMap<u64, ModelMessage>,
    pub(crate) header: ConversationHeader,
}

impl HistoryReader {
    pub(crate) fn resume(agent: AgentKind, position: &ReadPosition) -> Self {
        Self {
            counter: MessageCounter::resume(agent, position.said.clone()),
            next_place: position.places,
            ids: position.ids.clone(),
            line_start: position.clone(),
            resume_at: position.clone(),
            last_reply: None,
            results_place: None,
            prompt_place: None,
            messages: BTreeMap::new(),
            header: ConversationHeader::default(),
        }
    }

    /// Reads the complete lines; others are skipped.
    pub(crate) fn read_lines(&mut self, new: &[u8], read_line: HistoryLineReader) {
        for line in complete_lines(new) {
            if let Ok(parsed) = wire::parse(line) {
                read_line(self, &parsed);
            }
            self.counter.advance(line.len());
            self.line_start = self.position();
        }
    }

    /// Returns the messages that are new or have grown since the cursor, and the next cursor.
    pub(crate) fn finish(self, cursor: &ModelCursor) -> (Vec<(u64, ModelMessage)>, ModelCursor) {
        let read = self
            .messages
            .range(self.resume_at.places..)
            .map(|(_, message)| message_fingerprint(message));
        let next = ModelCursor { read: read.collect(), at: self.resume_at };
        let new = |(place, message): &(u64, ModelMessage)| cursor.is_new(*place, message);
        (self.messages.into_iter().filter(new).collect(), next)
    }

    /// Every message, in order.
    pub(crate) fn into_messages(self) -> Vec<ModelMessage> {
        self.messages.into_values().collect()
    }

    /// Counts a line; returns the message that it belongs to.
    pub(crate) fn count_line(&mut self, line: &Value) -> Option<TranscriptMessage> {
        self.counter.count_line(line)
    }

    /// Claude Code: whether a line is of another conversation than the file.
    pub(crate) fn is_foreign(&self, line: &Value) -> bool {
        self.counter.state().is_foreign(line)
    }

    /// Adds a message of the user's side.
    pub(crate) fn add_user(
        &mut self,
        content: Vec<Value>,
        ts: Option<Millis>,
        index: Option<u64>,
    ) -> u64 {
        self.add_message(ModelMessage {
            role: MessageRole::User,
            content,
            ts,
            is_summary: false,
            index,
        })
    }

    /// Adds a summary of the messages before it.
    pub(crate) fn add_summary(&mut self, content: Vec<Value>, ts: Option<Millis>) -> u64 {
        self.add_message(ModelMessage {
            role: MessageRole::User,
            content,
            ts,
            is_summary: true,
            index: None,
        })
    }

    /// Adds a part of the assistant's message with this index.
    pub(crate) fn add_assistant(
        &mut self,
        index: u64,
        content: Vec<Value>,
        ts: Option<Millis>,
    ) -> u64 {
        if let Some(place) =
            self.last_reply.as_ref().filter(|turn| turn.index == index).map(|turn| turn.place)
        {
            self.edit_message(place, |message| message.content.extend(content));
            return place;
        }
        let index = Some(index);
        self.add_message(ModelMessage {
            role: MessageRole::Assistant,
            content,
            ts,
            is_summary: false,
            index,
        })
    }

    /// Adds tool results for the assistant's last message: one message for all of them.
    pub(crate) fn add_results(&mut self, content: Vec<Value>, ts: Option<Millis>) -> u64 {
        let place = self.results_place.unwrap_or_else(|| self.add_user(vec![], ts, None));
        self.results_place = Some(place);
        self.set_results(place, content);
        place
    }

    /// Sets results in the message at this place; a call has one result, and the last one counts.
    pub(crate) fn set_results(&mut self, place: u64, content: Vec<Value>) {
        // Rewritten earlier messages have their results already.
        if place < self.resume_at.places {
            return;
        }
        self.edit_message(place, |message| {
            for block in content {
                let id =
                    text(&block, "/tool_use_id").filter(|_| block::is_type(&block, "tool_result"));
                let same = |other: &&mut Value| id.is_some() && text(other, "/tool_use_id") == id;
                match message.content.iter_mut().find(same) {
                    Some(known) => *known = block,
                    None => message.content.push(block),
                }
            }
        });
    }

    /// Codex: adds the person's text, to be counted by an event that follows.
    pub(crate) fn add_prompt(&mut self, content: Vec<Value>, ts: Option<Millis>) {
        self.prompt_place = Some(self.add_user(content, ts, None));
    }

    /// Codex: assigns the index that an event gives to the pending text.
    pub(crate) fn assign_index(&mut self, spoken: &TranscriptMessage) {
        let Some(place) = self.prompt_place.filter(|_| spoken.by == Speaker::User) else { return };
        let is_it = |message: &ModelMessage| {
            let words = texts(&Value::Array(message.content.clone())).join("\n");
            words.starts_with(&spoken.text)
        };
        if self.messages.get(&place).is_some_and(is_it) {
            self.edit_message(place, |message| message.index = Some(spoken.index));
            self.prompt_place = None;
        }
    }

    /// Gemini: the place of the message with this id.
    pub(crate) fn place_of_id(&self, id: &str) -> Option<u64> {
        let id = fingerprint(id);
        self.ids.iter().rev().find(|(known, _)| *known == id).map(|(_, place)| *place)
    }

    /// Gemini: remembers the place of the message with this id.
    pub(crate) fn remember_id(&mut self, id: &str, place: u64) {
        if self.ids.len() >= MAX_REMEMBERED_IDS {
            self.ids.remove(0);
        }
        self.ids.push((fingerprint(id), place));
    }

    /// Gemini: puts a message that was written again into its place.
    pub(crate) fn replace(&mut self, place: u64, message: ModelMessage) {
        self.messages.insert(place, message);
    }

    /// Returns whether the assistant's last message is at this place.
    pub(crate) fn is_last_reply(&self, place: u64) -> bool {
        self.last_reply.as_ref().is_some_and(|turn| turn.place == place)
    }

    /// The next message.
    pub(crate) fn add_message(&mut self, message: ModelMessage) -> u64 {
        let place = self.next_place;
        self.next_place = place.saturating_add(1);
        let of_assistant = message.role == MessageRole::Assistant;
        // Before the first answer, only the last message and words that are not counted can change.
        if of_assistant || (self.last_reply.is_none() && self.prompt_place.is_none()) {
            self.resume_at = self.line_start.clone();
            (self.results_place, self.prompt_place) = (None, None);
        }
        if of_assistant {
            self.last_reply = message.index.map(|index| LastReply { index, place });
        }
        self.messages.insert(place, message);
        place
    }

    fn edit_message(&mut self, place: u64, change: impl FnOnce(&mut ModelMessage)) {
        if let Some(message) = self.messages.get_mut(&place) {
            change(message);
        }
    }

    fn position(&self) -> ReadPosition {
        let said = self.counter.state().clone();
        ReadPosition { said, places: self.next_place, before: None, ids: self.ids.clone() }
    }
}
