//! Reads a conversation line by line: groups blocks into messages, and keeps the resume position.
//!
//! What counts as a message, and which lines form one message of the assistant, is decided by
//! [`crate::transcript`] alone; this adds the blocks, the results, and injected messages.
//!
//! Invariant: after [`Position`], nothing refers to a message before it (except by the Gemini ids
//! that it holds). So resuming there gives the same messages as reading at once.

use std::collections::BTreeMap;

use retake_model::{AgentId, Millis, ModelMessage, Role};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::block;
use crate::Agent;
use crate::transcript::{Count, Speaker, Spoken, State, texts, whole_lines};
use crate::wire::{self, fingerprint, text};

/// Maximum message ids remembered; an older message cannot be rewritten.
const IDS_LIMIT: usize = 512;

/// Read cursor of a conversation; to be stored between reads.
///
/// It holds no text. A message that may still grow is read again from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelCursor {
    pub(super) at: Position,
    /// The fingerprints of the messages after that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) read: Vec<u64>,
}

/// Position where reading can resume, with the state needed there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Position {
    said: State,
    /// How many messages there are before this.
    pub(super) places: u64,
    /// Documents: the fingerprint of the messages before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<u64>,
    /// Gemini: the fingerprints of the last messages' ids, and their places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ids: Vec<(u64, u64)>,
}

impl Position {
    /// A position in a document, after this many messages.
    pub(super) fn behind(places: u64, before: Option<u64>) -> Self {
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
    pub(super) fn is_new(&self, place: u64, message: &ModelMessage) -> bool {
        let known = place.checked_sub(self.at.places).and_then(|at| usize::try_from(at).ok());
        let known = known.and_then(|at| self.read.get(at));
        known.is_none_or(|known| *known != mark(message))
    }
}

/// Returns a fingerprint that changes when a message does.
pub(super) fn mark(message: &ModelMessage) -> u64 {
    let body = serde_json::to_string(message).unwrap_or_default();
    fingerprint(&format!("{:?}{body}", message.index))
}

/// Dialog, subagent and folder of a conversation, as the file says.
#[derive(Default)]
pub(super) struct About {
    pub(super) dialog: Option<String>,
    pub(super) subagent: Option<AgentId>,
    pub(super) cwd: Option<String>,
}

impl About {
    /// Fills the missing values from a line.
    pub(super) fn learn(&mut self, line: &Value, dialog: &str, cwd: &str) {
        learn(&mut self.dialog, line, dialog);
        learn(&mut self.cwd, line, cwd);
    }
}

fn learn(known: &mut Option<String>, line: &Value, pointer: &str) {
    if known.is_none() {
        *known = text(line, pointer).filter(|text| !text.is_empty()).map(str::to_owned);
    }
}

/// The assistant's last message.
struct Turn {
    index: u64,
    place: u64,
}

/// State of one read.
pub(super) struct Reader {
    said: Count,
    places: u64,
    ids: Vec<(u64, u64)>,
    /// Before the line that is being read.
    before: Position,
    /// Where the next read begins.
    begins: Position,
    turn: Option<Turn>,
    /// The place of what the tools of that message answered.
    results: Option<u64>,
    /// Codex: the place of a person's words that were not counted yet.
    prompt: Option<u64>,
    messages: BTreeMap<u64, ModelMessage>,
    pub(super) about: About,
}

impl Reader {
    pub(super) fn at(agent: Agent, position: &Position) -> Self {
        Self {
            said: Count::on(agent, position.said.clone()),
            places: position.places,
            ids: position.ids.clone(),
            before: position.clone(),
            begins: position.clone(),
            turn: None,
            results: None,
            prompt: None,
            messages: BTreeMap::new(),
            about: About::default(),
        }
    }

    /// Reads the complete lines; others are skipped.
    pub(super) fn lines(&mut self, new: &[u8], understand: fn(&mut Self, &Value)) {
        for line in whole_lines(new) {
            if let Ok(parsed) = wire::parse(line) {
                understand(self, &parsed);
            }
            self.said.pass(line.len());
            self.before = self.position();
        }
    }

    /// Returns the messages that are new or have grown since the cursor, and the next cursor.
    pub(super) fn finish(self, cursor: &ModelCursor) -> (Vec<(u64, ModelMessage)>, ModelCursor) {
        let read = self.messages.range(self.begins.places..).map(|(_, message)| mark(message));
        let next = ModelCursor { read: read.collect(), at: self.begins };
        let new = |(place, message): &(u64, ModelMessage)| cursor.is_new(*place, message);
        (self.messages.into_iter().filter(new).collect(), next)
    }

    /// Every message, in order.
    pub(super) fn into_messages(self) -> Vec<ModelMessage> {
        self.messages.into_values().collect()
    }

    /// Counts a line; returns the message that it belongs to.
    pub(super) fn hear(&mut self, line: &Value) -> Option<Spoken> {
        self.said.line(line)
    }

    /// Claude Code: whether a line is of another conversation than the file.
    pub(super) fn is_foreign(&self, line: &Value) -> bool {
        self.said.state().is_foreign(line)
    }

    /// Adds a message of the user's side.
    pub(super) fn user(
        &mut self,
        content: Vec<Value>,
        ts: Option<Millis>,
        index: Option<u64>,
    ) -> u64 {
        self.add(ModelMessage { role: Role::User, content, ts, is_summary: false, index })
    }

    /// Adds a summary of the messages before it.
    pub(super) fn summary(&mut self, content: Vec<Value>, ts: Option<Millis>) -> u64 {
        self.add(ModelMessage { role: Role::User, content, ts, is_summary: true, index: None })
    }

    /// Adds a part of the assistant's message with this index.
    pub(super) fn assistant(&mut self, index: u64, content: Vec<Value>, ts: Option<Millis>) -> u64 {
        if let Some(place) =
            self.turn.as_ref().filter(|turn| turn.index == index).map(|turn| turn.place)
        {
            self.change(place, |message| message.content.extend(content));
            return place;
        }
        let index = Some(index);
        self.add(ModelMessage { role: Role::Assistant, content, ts, is_summary: false, index })
    }

    /// Adds tool results for the assistant's last message: one message for all of them.
    pub(super) fn results(&mut self, content: Vec<Value>, ts: Option<Millis>) -> u64 {
        let place = self.results.unwrap_or_else(|| self.user(vec![], ts, None));
        self.results = Some(place);
        self.answer(place, content);
        place
    }

    /// Sets results in the message at this place; a call has one result, and the last one counts.
    pub(super) fn answer(&mut self, place: u64, content: Vec<Value>) {
        // Rewritten earlier messages have their results already.
        if place < self.begins.places {
            return;
        }
        self.change(place, |message| {
            for block in content {
                let id = text(&block, "/tool_use_id").filter(|_| block::is(&block, "tool_result"));
                let same = |other: &&mut Value| id.is_some() && text(other, "/tool_use_id") == id;
                match message.content.iter_mut().find(same) {
                    Some(known) => *known = block,
                    None => message.content.push(block),
                }
            }
        });
    }

    /// Codex: adds the person's text, to be counted by an event that follows.
    pub(super) fn prompt(&mut self, content: Vec<Value>, ts: Option<Millis>) {
        self.prompt = Some(self.user(content, ts, None));
    }

    /// Codex: assigns the index that an event gives to the pending text.
    pub(super) fn counted(&mut self, spoken: &Spoken) {
        let Some(place) = self.prompt.filter(|_| spoken.by == Speaker::User) else { return };
        let is_it = |message: &ModelMessage| {
            let words = texts(&Value::Array(message.content.clone())).join("\n");
            words.starts_with(&spoken.text)
        };
        if self.messages.get(&place).is_some_and(is_it) {
            self.change(place, |message| message.index = Some(spoken.index));
            self.prompt = None;
        }
    }

    /// Gemini: the place of the message with this id.
    pub(super) fn known(&self, id: &str) -> Option<u64> {
        let id = fingerprint(id);
        self.ids.iter().rev().find(|(known, _)| *known == id).map(|(_, place)| *place)
    }

    /// Gemini: remembers the place of the message with this id.
    pub(super) fn remember(&mut self, id: &str, place: u64) {
        if self.ids.len() >= IDS_LIMIT {
            self.ids.remove(0);
        }
        self.ids.push((fingerprint(id), place));
    }

    /// Gemini: puts a message that was written again into its place.
    pub(super) fn replace(&mut self, place: u64, message: ModelMessage) {
        self.messages.insert(place, message);
    }

    /// Returns whether the assistant's last message is at this place.
    pub(super) fn is_last(&self, place: u64) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.place == place)
    }

    /// The next message.
    pub(super) fn add(&mut self, message: ModelMessage) -> u64 {
        let place = self.places;
        self.places = place.saturating_add(1);
        let of_assistant = message.role == Role::Assistant;
        // Before the first answer, only the last message and words that are not counted can change.
        if of_assistant || (self.turn.is_none() && self.prompt.is_none()) {
            self.begins = self.before.clone();
            (self.results, self.prompt) = (None, None);
        }
        if of_assistant {
            self.turn = message.index.map(|index| Turn { index, place });
        }
        self.messages.insert(place, message);
        place
    }

    fn change(&mut self, place: u64, change: impl FnOnce(&mut ModelMessage)) {
        if let Some(message) = self.messages.get_mut(&place) {
            change(message);
        }
    }

    fn position(&self) -> Position {
        let said = self.said.state().clone();
        Position { said, places: self.places, before: None, ids: self.ids.clone() }
    }
}
