//! A file, or lines of it, that an agent has seen, and how it came into the agent's context.

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;

/// Lines of a file: the first and the last, counted from 1; `[1, 40]` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct LineSpan {
    /// The first line.
    pub first: u32,
    /// The last line, itself included; one before the first names the place before a line.
    pub last: u32,
}

impl From<(u32, u32)> for LineSpan {
    fn from(pair: (u32, u32)) -> Self {
        let (first, last) = pair;
        Self { first, last }
    }
}

impl From<LineSpan> for (u32, u32) {
    fn from(lines: LineSpan) -> Self {
        (lines.first, lines.last)
    }
}

/// A file, or lines of it, whose content an event brought into an agent's context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// The file as the agent wrote it: absolute, or relative to its working directory.
    pub path: String,
    /// The lines; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineSpan>,
}

text_enum! {
    /// How a file came into an agent's context, or what happened to it there (DM-12).
    ContextSource {
        /// The agent read it.
        ReadTool = "read_tool",
        /// The person named it in a message that carried its content.
        FileMentioned = "file_mentioned",
        /// The agent changed it.
        AgentEdited = "roo_edited",
        /// The person or another program changed it.
        UserEdited = "user_edited",
    }
}
