//! Review: hunks, comments on lines, and rejections that wait for the end of a turn.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;
use crate::{Caller, DialogId, Millis, OperationId, ProjectPath};

/// Number of hexadecimal digits of a hunk's id.
const HUNK_ID_DIGITS: usize = 12;

/// The name of a hunk: its content and the lines around it, so that it stays the same while other
/// places change. Of several hunks that are equal in all of that, each has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HunkId {
    /// The hash; only its lower 48 bits are used.
    pub hash: u64,
    /// Its number among equal hunks of the file, from 1; 0 if there are no others.
    pub ordinal: u32,
}

impl HunkId {
    /// The id of a hunk that has no equal one in its file.
    pub fn new(hash: u64) -> Self {
        Self { hash: hash & ((1 << (4 * HUNK_ID_DIGITS)) - 1), ordinal: 0 }
    }
}

impl fmt::Display for HunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h{:0digits$x}", self.hash, digits = HUNK_ID_DIGITS)?;
        if self.ordinal > 0 { write!(f, ".{}", self.ordinal) } else { Ok(()) }
    }
}

impl FromStr for HunkId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (digits, ordinal) = match text.strip_prefix('h')?.split_once('.') {
                Some((digits, ordinal)) => (digits, ordinal.parse().ok().filter(|n| *n > 0)?),
                None => (text.strip_prefix('h')?, 0),
            };
            let is_hash = digits.len() == HUNK_ID_DIGITS
                && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            let hash = u64::from_str_radix(digits, 16).ok().filter(|_| is_hash)?;
            Some(Self { hash, ordinal })
        };
        parse().ok_or_else(|| {
            format!("'{text}' is not a hunk; they look like h3f9a2c81d0e4 (see `retake review`)")
        })
    }
}

impl Serialize for HunkId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HunkId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

text_enum! {
    /// The kind of a hunk.
    HunkKind {
        /// Lines that were removed, added or replaced.
        Lines = "lines",
        /// A place, or a whole file, where the changes cannot be taken out cleanly.
        Entangled = "entangled",
        /// The file came to be.
        Create = "create",
        /// The file went away.
        Delete = "delete",
        /// The file was moved.
        Rename = "rename",
        /// The permissions changed.
        Mode = "mode",
        /// A symbolic link points elsewhere, or became a file, or a file became one.
        Link = "link",
        /// Content that is not text.
        Binary = "binary",
        /// Content that is too large to be compared by lines.
        TooLarge = "too_large",
    }
}

text_enum! {
    /// What a comment asks of the agent.
    CommentKind {
        /// To do something.
        Order = "order",
        /// To explain something.
        Question = "question",
    }
}

text_enum! {
    /// The state of a comment.
    CommentState {
        /// Only the person sees it.
        Draft = "draft",
        /// It is for the agent.
        Sent = "sent",
        /// The agent answered it.
        Answered = "answered",
        /// It is settled.
        Resolved = "resolved",
    }
}

text_enum! {
    /// The side of a diff that lines are on.
    LineSide {
        /// Lines that were removed.
        Removed = "removed",
        /// Lines of the file as it is.
        Added = "added",
    }
}

/// The lines that a comment is about, known by their content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommentAnchor {
    /// Whether they are lines that were removed.
    pub removed: bool,
    /// The number of the first of them when the comment was made, from 1.
    pub first_line: u32,
    /// The lines.
    pub lines: Vec<String>,
    /// Up to three lines above them.
    pub above: Vec<String>,
    /// Up to three lines below them.
    pub below: Vec<String>,
}

/// A comment of the person, for the agent of a dialog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewComment {
    /// Its number.
    pub id: u64,
    /// When it was made.
    pub at: Millis,
    /// The file; none if it is about the work as a whole.
    pub path: Option<ProjectPath>,
    /// The dialog whose agent it is for.
    pub dialog: Option<DialogId>,
    /// What it asks.
    pub kind: CommentKind,
    /// How far it is.
    pub state: CommentState,
    /// The person's words.
    pub text: String,
    /// The agent's answer.
    pub answer: Option<String>,
    /// The lines; none if it is about the whole file.
    pub anchor: Option<CommentAnchor>,
    /// The batch that it was sent in.
    pub batch: Option<u64>,
    /// The event at which the agent was told of it.
    pub heard: Option<u64>,
    /// Who made it.
    pub said_by: Option<Caller>,
}

text_enum! {
    /// The state of a queued rejection.
    QueueState {
        /// It waits for the end of the turn.
        Waiting = "waiting",
        /// It was carried out.
        Done = "done",
        /// It could not be carried out.
        Dropped = "dropped",
        /// The person cancelled it.
        Cancelled = "cancelled",
    }
}

/// A rejection that waits until the agents concerned have ended their turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedRejection {
    /// Its number.
    pub id: u64,
    /// When it was queued.
    pub at: Millis,
    /// The file.
    pub path: ProjectPath,
    /// The hunk.
    pub hunk: HunkId,
    /// What of it is rejected, and how, as JSON.
    pub request: String,
    /// Why.
    pub reason: Option<String>,
    /// The dialogs whose turns it waits for.
    pub dialogs: Vec<DialogId>,
    /// How far it is.
    pub state: QueueState,
    /// Why it was dropped.
    pub outcome: Option<String>,
    /// The operation that carried it out.
    pub operation: Option<OperationId>,
    /// Who asked for it.
    pub said_by: Option<Caller>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_id_reads_as_it_is_written_and_nothing_else_does() {
        let plain = HunkId::new(0x1234_5678_9abc_def0);
        assert_eq!(plain.to_string(), "h56789abcdef0");
        let second = HunkId { ordinal: 2, ..plain };
        for id in [plain, second, HunkId::new(0)] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for text in [
            "",
            "h",
            "h1",
            "h56789abcdef",
            "hxyz89abcdef0",
            "56789abcdef0",
            "h56789abcdef0.0",
            "h56789abcdef0.",
            "h+6789abcdef0",
            "H56789abcdef0",
            "h56789ABCDEF0",
        ] {
            assert!(text.parse::<HunkId>().is_err(), "{text}");
        }
    }
}
