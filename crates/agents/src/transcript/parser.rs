//! The common part of reading a transcript: counts messages, and keeps the one that may grow.

use std::collections::BTreeMap;

use retake_model::CalledTool;
use serde_json::Value;

use super::{
    LineParser, ReadAhead, Speaker, TranscriptCursor, TranscriptMessage, TranscriptRead,
    TranscriptState,
};
use crate::{AgentKind, wire};

/// State of one read.
pub(crate) struct TranscriptParser {
    pub(crate) state: TranscriptState,
    /// The last message of the assistant, if its next lines would be part of it.
    pub(crate) open: Option<OpenMessage>,
    /// What is new or has grown, by index.
    pub(crate) messages: BTreeMap<u64, TranscriptMessage>,
}

impl TranscriptParser {
    pub(crate) fn resume(state: TranscriptState) -> Self {
        Self { state, open: None, messages: BTreeMap::new() }
    }

    pub(crate) fn read_lines(&mut self, new: &[u8], parse_line: LineParser) {
        for line in complete_lines(new) {
            if let Ok(parsed) = wire::parse(line) {
                parse_line(self, &parsed);
            }
            self.state.advance(line.len());
        }
    }

    /// Returns the messages that are new or have grown since the cursor, and the next cursor.
    pub(crate) fn finish(mut self, cursor: &TranscriptCursor) -> TranscriptRead {
        if let Some(read) = &cursor.read {
            let has_grown = |message: &TranscriptMessage| {
                message.index == read.grows && message.fingerprint() != read.was
            };
            self.messages.retain(|index, message| *index >= read.messages || has_grown(message));
        }
        let next = match self.open {
            None => TranscriptCursor { state: self.state, read: None },
            Some(OpenMessage { message, resume_at, .. }) => {
                let (grows, was) = (message.index, message.fingerprint());
                let read = ReadAhead { messages: self.state.messages, grows, was };
                TranscriptCursor { state: resume_at, read: Some(read) }
            }
        };
        (self.messages.into_values().collect(), next)
    }

    /// The next message, empty.
    pub(crate) fn next_message(&mut self, by: Speaker) -> TranscriptMessage {
        let index = self.state.messages;
        self.state.messages = index.saturating_add(1);
        TranscriptMessage::new(index, by)
    }

    /// Adds a message that is complete.
    pub(crate) fn add_message(&mut self, by: Speaker, text: &str, calls: Vec<CalledTool>) {
        let message = self.next_message(by);
        self.set_message(message, text, calls);
    }

    /// Adds a message of the assistant that is complete, and says its model.
    pub(crate) fn add_assistant(
        &mut self,
        text: &str,
        calls: Vec<CalledTool>,
        model: Option<&str>,
    ) {
        let mut message = self.next_message(Speaker::Assistant);
        message.set_model(model);
        self.set_message(message, text, calls);
    }

    /// Sets the model of the assistant's message that may grow.
    pub(crate) fn set_open_model(&mut self, model: Option<&str>) {
        if let Some(open) = &mut self.open {
            open.message.set_model(model);
            self.messages.insert(open.message.index, open.message.clone());
        }
    }

    /// Gives a message its text and calls.
    pub(crate) fn set_message(
        &mut self,
        mut message: TranscriptMessage,
        text: &str,
        calls: Vec<CalledTool>,
    ) {
        message.add_text(text);
        for call in calls {
            message.add_call(call);
        }
        self.messages.insert(message.index, message);
    }

    /// Adds a part of the assistant's message with this key.
    pub(crate) fn grow_assistant(&mut self, key: u64, texts: &[&str], calls: Vec<CalledTool>) {
        if self.open.as_ref().is_none_or(|open| open.key != key || open.is_over) {
            let resume_at = self.state.clone();
            let message = self.next_message(Speaker::Assistant);
            self.open = Some(OpenMessage { key, is_over: false, message, resume_at });
        }
        self.extend_assistant(texts, calls);
    }

    /// Adds to the assistant's last message, if there is one.
    pub(crate) fn extend_assistant(&mut self, texts: &[&str], calls: Vec<CalledTool>) {
        let Some(open) = &mut self.open else {
            return;
        };
        for text in texts {
            open.message.add_text(text);
        }
        for call in calls {
            open.message.add_call(call);
        }
        self.messages.insert(open.message.index, open.message.clone());
    }
}

/// A message that may still grow.
pub(crate) struct OpenMessage {
    /// Lines with the same key are of the same message.
    key: u64,
    /// The next line begins another message, but calls may still be added.
    pub(crate) is_over: bool,
    message: TranscriptMessage,
    /// Where it begins.
    resume_at: TranscriptState,
}

/// Counts messages for readers that need more of a file than its text: one rule for both.
pub(crate) struct MessageCounter {
    parser: TranscriptParser,
    parse_line: LineParser,
}

impl MessageCounter {
    /// From this state on.
    pub(crate) fn resume(agent: AgentKind, state: TranscriptState) -> Self {
        let parse_line = agent.spec().transcript.line_parser();
        Self { parser: TranscriptParser::resume(state), parse_line }
    }

    /// Returns the message that a line belongs to, as far as it is complete.
    pub(crate) fn count_line(&mut self, line: &Value) -> Option<TranscriptMessage> {
        self.parser.messages.clear();
        (self.parse_line)(&mut self.parser, line);
        self.parser.messages.pop_last().map(|(_, message)| message)
    }

    /// Advances past a line of this many bytes.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.parser.state.advance(bytes);
    }

    /// Returns the current state.
    pub(crate) fn state(&self) -> &TranscriptState {
        &self.parser.state
    }
}

/// Returns the complete lines, each with its line end.
pub(crate) fn complete_lines(new: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    new[..whole].split_inclusive(|byte| *byte == b'\n')
}
