//! Who wrote each line of a file.

use std::collections::BTreeSet;

use retake_engine::{self as engine, BlameBody, LineOrigin};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathName, hex};
use super::{ChangeDocument, MessageDocument};
use crate::Masking;

/// Who wrote each line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Blame)]
pub struct BlameDocument {
    /// The file.
    #[serde(flatten)]
    pub path: PathName,
    /// Its lines.
    pub lines: Vec<BlameLineDocument>,
    /// The changes that the lines name, the oldest first.
    pub changes: Vec<BlamedChange>,
}

impl BlameDocument {
    /// Some lines of a file, and the changes that they name.
    pub fn new(blame: &engine::FileBlame, lines: &[engine::BlameLine], masking: Masking) -> Self {
        let named: BTreeSet<_> = lines.iter().filter_map(|line| line.origin.change()).collect();
        let blamed = named.iter().filter_map(|id| blame.changes.get(id));
        let all = match &blame.body {
            BlameBody::Lines(all) => all.iter().map(|line| line.text.as_slice()).collect(),
            BlameBody::Binary | BlameBody::TooLarge | BlameBody::NotCaptured => Vec::new(),
        };
        let all = all.join(b"\n".as_slice());
        let masked = masking.masked_lines(&blame.path, &all);
        let line = |line: &engine::BlameLine| {
            BlameLineDocument::new(line, masked.get(&(line.number as usize - 1)).cloned())
        };
        Self {
            path: (&blame.path).into(),
            lines: lines.iter().map(line).collect(),
            changes: blamed.map(|blamed| BlamedChange::new(blamed, masking)).collect(),
        }
    }
}

/// One line and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = BlameLine)]
pub struct BlameLineDocument {
    /// Its number, from 1.
    pub number: u32,
    /// `change`; `baseline` if it was there before anything was recorded; `unseen` if it came
    /// while the content was not captured.
    pub origin: String,
    /// The change that wrote it.
    pub change: Option<String>,
    /// Its text, without the newline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in hexadecimal digits, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<String>,
}

impl BlameLineDocument {
    fn new(line: &engine::BlameLine, masked: Option<String>) -> Self {
        let origin = match line.origin {
            LineOrigin::Change(_) => "change",
            LineOrigin::Baseline => "baseline",
            LineOrigin::Unseen => "unseen",
        };
        let (text, hex) = match (masked, std::str::from_utf8(&line.text)) {
            (Some(masked), _) => (Some(masked), None),
            (None, Ok(text)) => (Some(text.to_owned()), None),
            (None, Err(_)) => (None, Some(hex(&line.text))),
        };
        Self {
            number: line.number,
            origin: origin.to_owned(),
            change: line.origin.change().map(|id| id.to_string()),
            text,
            hex,
        }
    }
}

/// A change that lines come from, and what it was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlamedChange {
    /// The change.
    #[serde(flatten)]
    pub change: ChangeDocument,
    /// The message that began its turn.
    pub message: Option<MessageDocument>,
}

impl BlamedChange {
    fn new(blamed: &engine::BlameSource, masking: Masking) -> Self {
        let message = blamed.message.as_ref().map(|message| MessageDocument::new(message, masking));
        Self { change: (&blamed.change).into(), message }
    }
}
