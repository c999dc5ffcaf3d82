//! The state of a path at one moment, and gaps: paths that could not be captured.

use serde::{Deserialize, Serialize};

use crate::{ObjectId, ProjectPath};

/// The kinds of files whose content is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A symbolic link; its content is the target's text (W-5).
    Link,
}

/// A captured state: everything that is needed to put the path back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileState {
    /// Regular file or link.
    pub kind: FileKind,
    /// Permission bits (`0o7777`); of a link always `0o777`.
    pub mode: u32,
    /// The content.
    pub oid: ObjectId,
    /// The content's length in bytes.
    pub size: u64,
}

/// One side of a change.
///
/// `Absent` and `Unknown` are never mixed up: "missing from the store" must not
/// be read as "did not exist" (promise 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PathState {
    /// The path did not exist.
    Absent,
    /// The path existed, but its content was not captured (see the gaps).
    Unknown,
    /// The path had this state, and its content is in the store.
    Known(FileState),
}

impl PathState {
    /// The captured state, if there is one.
    pub fn known(&self) -> Option<&FileState> {
        match self {
            Self::Known(state) => Some(state),
            Self::Absent | Self::Unknown => None,
        }
    }

    /// Returns whether the path did not exist.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// Something that Retake cannot protect right now, shown in `status` (promise 5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The path, or the folder under which everything is concerned.
    pub path: ProjectPath,
    /// Why.
    pub reason: GapReason,
    /// A detail for people: the system's error text, the size, the type.
    pub detail: String,
}

/// Why a path is not protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapReason {
    /// The file is larger than the limit in the settings.
    TooLarge,
    /// The file or folder cannot be read.
    Unreadable,
    /// A FIFO, socket or device: listed, never opened.
    Special,
    /// Another file system is mounted there: not crossed.
    OtherMount,
    /// The file changed each time it was read.
    Unstable,
    /// The path or a name in it is longer than the system can handle.
    NameTooLong,
    /// A destructive command was about to run and this was over the shield's budget.
    NotShielded,
    /// An event came when the store could not be written, and could not be understood later.
    LostEvent,
    /// Its content was purged and is not taken again.
    Purged,
    /// It was written after an agent had begun to work, and before the first look was done.
    BeforeFirstLook,
    /// It changed while a command ran that began before the look at the project was done: what was
    /// there just before the command is not on record.
    NotLooked,
    /// Ignore rules outside of the project's files changed while a command ran.
    RulesChanged,
}

impl GapReason {
    /// The stable name in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Unreadable => "unreadable",
            Self::Special => "special",
            Self::OtherMount => "other_mount",
            Self::Unstable => "unstable",
            Self::NameTooLong => "name_too_long",
            Self::NotShielded => "not_shielded",
            Self::LostEvent => "lost_event",
            Self::Purged => "purged",
            Self::BeforeFirstLook => "before_first_look",
            Self::NotLooked => "not_looked",
            Self::RulesChanged => "rules_changed",
        }
    }
}
