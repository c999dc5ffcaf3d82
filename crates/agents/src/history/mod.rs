//! Reads and writes whole conversations in each agent's format (HIST, DM-14).
//!
//! Whatever the format, a conversation is read into messages as a model gets them, in Anthropic's
//! blocks, and written from them.
//!
//! # Contract
//! - [`ModelMessage::index`] is the index that [`crate::transcript`] gives the same message;
//!   results of tools, injected context, notifications and summaries have none.
//! - What the assistant says and calls up to the next message is one message; what its tools
//!   answered is one message of the user with `tool_result` blocks.
//! - What fits no block of Anthropic's is a block `{"type":"opaque","form":…,"item":…}`. The form
//!   it came from gets it back as it was; other forms leave it out.
//! - What is written is read again as the same messages, as far as the form can carry them:
//!   Codex has no border between two messages of the assistant in a row, and only Anthropic's forms
//!   have blocks other than texts, images, calls and results.
//! - Nothing is cut.

mod api;
pub(crate) mod block;
mod display;
mod format;
mod live;
pub(crate) mod reader;
pub(crate) mod writer;

use retake_model::{AgentId, Millis, ModelMessage};
use serde_json::Value;

use crate::wire;
use reader::{ConversationHeader, HistoryLineReader, HistoryReader, ReadPosition};

pub use display::{DisplayKind, DisplayMessage, display_messages};
pub(crate) use format::{FormatReader, FormatSpec, has_element, is_uuid, jsonl_stem};
pub use format::{HistoryFormat, UnknownFormat, detect_format};
pub use live::{opencode_messages, read_on};
pub use reader::ModelCursor;

/// A conversation that was read, or is to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// The agent's own id of it.
    pub dialog: Option<String>,
    /// The subagent whose conversation it is.
    pub subagent: Option<AgentId>,
    /// The folder that it was about.
    pub cwd: Option<String>,
    /// What the model gets.
    pub messages: Vec<ModelMessage>,
    /// What a person sees.
    pub display: Vec<DisplayMessage>,
    /// Parts that could not be read.
    pub problems: Vec<ReadProblem>,
}

/// A part of a file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadProblem {
    /// Where: `line 12`, `message 3`.
    pub place: String,
    /// The reason.
    pub why: String,
}

/// Why a file could not be read at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConversationReadError {
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// It is no text.
    #[error("the file is not text: byte {0} is not UTF-8")]
    NotUtf8(usize),
    /// It is broken, or ends too early.
    #[error("the file is not whole JSON: line {line}, column {column}: {why}")]
    NotJson {
        /// The line, from 1 on.
        line: usize,
        /// The column, from 1 on; 0 if nothing is left on the line.
        column: usize,
        /// What the parser says.
        why: String,
    },
    /// It is something else.
    #[error("the file is not of the form {0}; name its format, or leave it to be found out")]
    OtherForm(HistoryFormat),
}

impl ConversationReadError {
    /// Returns the reason, for a known line.
    fn describe_in_line(&self) -> String {
        match self {
            Self::NotUtf8(at) => format!("byte {at} of the line is not UTF-8"),
            Self::NotJson { column, why, .. } => format!("not JSON at column {column}: {why}"),
            other => other.to_string(),
        }
    }
}

/// Reads a conversation.
///
/// Of a file with one document on each line the intact lines are read, and the others are
/// problems. A list with no messages is a conversation with none.
pub fn read(format: HistoryFormat, bytes: &[u8]) -> Result<Conversation, ConversationReadError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ConversationReadError::Empty);
    }
    match format.spec().read {
        FormatReader::Lines(read_line) => read_lines(format, bytes, read_line),
        FormatReader::Document(read) => read_document(format, bytes, read),
    }
}

/// Writes a conversation; `at` is the time of messages that have none.
pub fn write(format: HistoryFormat, conversation: &Conversation, at: Millis) -> String {
    (format.spec().write)(&writer::ConversationWriter::new(format, conversation, at))
}

fn read_document(
    format: HistoryFormat,
    bytes: &[u8],
    read: fn(&Value) -> Conversation,
) -> Result<Conversation, ConversationReadError> {
    let document = parse(bytes, 0)?;
    let empty = document.as_array().is_some_and(Vec::is_empty);
    if !(empty || format.matches(&document)) {
        return Err(ConversationReadError::OtherForm(format));
    }
    Ok(with_display(read(&document)))
}

fn read_lines(
    format: HistoryFormat,
    bytes: &[u8],
    read_line: HistoryLineReader,
) -> Result<Conversation, ConversationReadError> {
    let mut reader = HistoryReader::resume(format.spec().counts_like, &ReadPosition::default());
    let (mut problems, mut first, mut of_form) = (Vec::new(), None, false);
    for (number, line) in numbered_lines(bytes) {
        match parse(line, number - 1) {
            Ok(value) => {
                of_form |= format.matches(&value);
                read_line(&mut reader, &value);
            }
            Err(error) => {
                let is_last = line.as_ptr_range().end == bytes.as_ptr_range().end;
                let why = if is_last {
                    "the line is cut off".to_owned()
                } else {
                    error.describe_in_line()
                };
                problems.push(ReadProblem { place: format!("line {number}"), why });
                first.get_or_insert(error);
            }
        }
    }
    if !of_form {
        return Err(first.unwrap_or(ConversationReadError::OtherForm(format)));
    }
    let header = std::mem::take(&mut reader.header);
    let messages = reader.into_messages();
    let conversation = Conversation { messages, problems, ..Conversation::default() };
    Ok(with_display(conversation.with_header(header)))
}

/// The lines that are not blank, with their numbers; a file that is one document is one line.
fn numbered_lines(bytes: &[u8]) -> Vec<(usize, &[u8])> {
    if wire::parse(bytes).is_ok() {
        return vec![(1, bytes)];
    }
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    lines.filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace)).collect()
}

impl Conversation {
    pub(crate) fn with_header(self, header: ConversationHeader) -> Self {
        Self { dialog: header.dialog, subagent: header.subagent, cwd: header.cwd, ..self }
    }
}

/// Adds the display messages, if the format has none.
fn with_display(mut conversation: Conversation) -> Conversation {
    if conversation.display.is_empty() {
        conversation.display = display_messages(&conversation.messages);
    }
    conversation
}

/// Parses JSON that has this many lines before it.
fn parse(bytes: &[u8], lines: usize) -> Result<Value, ConversationReadError> {
    if let Err(error) = str::from_utf8(bytes) {
        return Err(ConversationReadError::NotUtf8(error.valid_up_to()));
    }
    wire::parse(bytes).map_err(|error| ConversationReadError::NotJson {
        line: lines + error.line(),
        column: error.column(),
        why: parser_reason(&error),
    })
}

/// Returns the parser's message without the position.
fn parser_reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split_once(" at line ").map_or(message.clone(), |(reason, _)| reason.to_owned())
}
