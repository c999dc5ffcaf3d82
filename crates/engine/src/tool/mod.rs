//! Interprets a tool call: the files it reads and edits, from its name and arguments alone.
//!
//! Every agent names its tools and arguments differently; here they become one [`ToolIntent`].
//! Invariants: no I/O, no panic on any input, and time linear in the input's size. Nothing here is
//! trusted: a prediction only proves something when it equals what is found on disk
//! (docs/design/attribution.md).

mod arguments;
mod blocks;
mod edits;
mod names;
mod patch;
mod predict;
mod python;
mod reads;
mod shell_quote;

#[cfg(test)]
mod predict_tests;
#[cfg(test)]
mod reads_tests;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use reads_tests::show_readings;

pub use arguments::ToolArguments;
pub(crate) use names::is_from_server;
pub use names::{ToolKind, kind_of, kind_of_call};
pub use patch::{PatchDialect, PatchHunk, parse_patch};
pub use predict::{PredictedFile, predict, predict_moved};
pub use shell_quote::quoted;

use retake_model::LineSpan;
use serde_json::Value;

/// The intent of one tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolIntent {
    /// The kind of call.
    pub kind: ToolKind,
    /// Every file that it names to write, edit or delete, as the agent wrote it: absolute, or
    /// relative to its working folder. Both ends of a move are listed.
    pub paths: Vec<String>,
    /// The files whose content it shows to the agent, as far as the arguments tell.
    pub reads: Vec<FileReading>,
    /// The shell text, if it runs one.
    pub command: Option<String>,
    /// The folder that the arguments ask the command to run in.
    pub cwd: Option<String>,
    /// The edits, as far as the arguments spell them out.
    pub edits: Vec<FileEdit>,
    /// The arguments ask for a run that outlives the call.
    pub background: bool,
}

/// A file whose content a call shows to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReading {
    /// The file, as the agent wrote it.
    pub path: String,
    /// The folder that the path starts at, if the call moved there first.
    pub cwd: Option<String>,
    /// The part that is shown.
    pub part: FilePart,
}

/// The part of a file that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePart {
    /// All of it.
    Whole,
    /// These lines, as far as it has them.
    Lines(LineSpan),
    /// This many lines at its end.
    Last(u32),
}

/// One edit of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// The file, as the agent wrote it.
    pub path: String,
    /// The edit.
    pub edit: EditKind,
}

/// The edit that a call makes to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditKind {
    /// The whole content is replaced.
    Content(Vec<u8>),
    /// Texts are replaced, in this order.
    Replace(Vec<TextReplacement>),
    /// A patch is applied.
    Hunks(Vec<PatchHunk>),
    /// Lines are put in after line `line` (0: at the top).
    Insert {
        /// The line before the new text.
        line: usize,
        /// The new text.
        text: String,
    },
    /// Text is added at the end.
    Append(String),
    /// The file goes away.
    Delete,
    /// The file moves to another path, patched on the way.
    MoveTo {
        /// The new path, as the agent wrote it.
        to: String,
        /// The changes besides the path.
        hunks: Vec<PatchHunk>,
    },
}

/// One text replacement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextReplacement {
    /// The text that must be there.
    pub old: String,
    /// The new text.
    pub new: String,
    /// Every occurrence, not just one.
    pub all: bool,
    /// The number of occurrences that the agent expects.
    pub count: Option<usize>,
    /// The line (from 1) where `old` starts, which decides between several occurrences.
    pub line: Option<usize>,
}

/// Interprets one tool call.
pub fn intent(tool: &str, input: &Value) -> ToolIntent {
    let arguments = ToolArguments::parse(input);
    let kind = kind_of_call(tool, &arguments);
    let mut intent = ToolIntent {
        kind,
        paths: Vec::new(),
        reads: Vec::new(),
        command: None,
        cwd: None,
        edits: Vec::new(),
        background: false,
    };
    match kind {
        ToolKind::Read => intent.reads = reads::collect(tool, &arguments),
        ToolKind::Shell => {
            intent.command = arguments.command();
            intent.cwd = arguments.text(arguments::CWD_KEYS).map(str::to_owned);
            intent.background = arguments.flag(arguments::BACKGROUND_KEYS);
        }
        ToolKind::Delete => {
            intent.paths = edits::named_paths(&arguments);
            intent.edits = edits::deletions(&intent.paths);
        }
        ToolKind::Write | ToolKind::Edit | ToolKind::Other => {
            intent.edits = edits::collect(&arguments);
            intent.paths = edits::paths_of(&intent.edits, &edits::named_paths(&arguments));
            intent.background = arguments.flag(arguments::BACKGROUND_KEYS);
        }
    }
    intent
}
