//! Short descriptions of changes for people, escaped.

use std::path::Path;

use retake_engine::model::{Change, ChangeStatus, Confidence, PathState, ProjectPath, title_of};
use retake_engine::{Project, StoreError};
use retake_service::describe::{self, FormatName};

pub(crate) use retake_service::describe::{DialogNames, format_count, format_size, plural};

use crate::escape::escape;

/// Maximum characters of a message that is quoted among other things.
const MAX_QUOTED_CHARS: usize = 50;
/// Maximum characters of a message in a column of its own; the terminal may have room for fewer.
const MAX_LINE_CHARS: usize = 160;

/// Escapes a name.
fn escaped_name(name: &[u8]) -> String {
    escape(name)
}

/// Escapes foreign names in descriptions of changes.
pub(crate) const NAME_ESCAPER: FormatName = escaped_name;

/// An id for a list: a long one is cut, its start is enough to name it.
pub(crate) fn short_id(id: &str) -> String {
    describe::short_id(id, NAME_ESCAPER)
}

/// The short names of a project's dialogs, escaped.
pub(crate) fn dialog_names(project: &Project) -> Result<DialogNames, StoreError> {
    DialogNames::load(project, NAME_ESCAPER)
}

/// The path, with the path before a rename.
pub(crate) fn describe_path(change: &Change) -> String {
    describe::describe_path(change, NAME_ESCAPER)
}

/// A path.
pub(crate) fn display_path(path: &ProjectPath) -> String {
    escape(path.as_bytes())
}

/// Describes further facts of a change in a list.
pub(crate) fn describe_remarks(change: &Change) -> String {
    let mut remarks = Vec::new();
    if let Some(joins) = change.joins {
        remarks.push(format!("belongs to {joins}"));
    }
    if matches!(change.before, PathState::Unknown) {
        remarks.push("content before not captured".to_owned());
    }
    if matches!(change.after, PathState::Unknown) {
        remarks.push("content after not captured".to_owned());
    }
    match change.status {
        ChangeStatus::Pending => {}
        ChangeStatus::Reverted => remarks.push("undone".to_owned()),
        status => remarks.push(status.to_string()),
    }
    if remarks.is_empty() { String::new() } else { format!("({})", remarks.join(", ")) }
}

/// Lines added and removed; empty if they were not counted.
pub(crate) fn line_counts(change: &Change) -> (String, String) {
    change.lines.as_ref().map_or_else(Default::default, |lines| {
        let (added, removed) = (u64::from(lines.added), u64::from(lines.removed));
        (format!("+{}", format_count(added)), format!("-{}", format_count(removed)))
    })
}

/// A mark for a change of which it is not certain who made it, and nothing for others.
pub(crate) fn confidence_mark(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain | Confidence::Assumed => "",
        Confidence::Window | Confidence::Late => "~",
        Confidence::Shared => "?",
    }
}

/// Explains the marks of these changes, a line each; empty if there are none.
pub(crate) fn confidence_legend<'c>(changes: impl IntoIterator<Item = &'c Change>) -> String {
    let marks: Vec<_> =
        changes.into_iter().map(|change| confidence_mark(change.confidence)).collect();
    let legend = |mark: &str, text: &str| {
        if marks.contains(&mark) { format!("{mark} {text}\n") } else { String::new() }
    };
    legend("~", "found by what ran at the time, not announced by a tool (see `retake show`)")
        + &legend("?", "several agents were at work, and any of them can have made it")
}

/// Describes how it is known who made a change.
pub(crate) fn describe_confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "it is what the tool announced",
        Confidence::Window => "only this call was running",
        Confidence::Shared => "several calls were running",
        Confidence::Late => "after its call had ended, by what it aimed at",
        Confidence::Assumed => "no agent can have done it",
    }
}

/// The first words of a message.
pub(crate) fn first_words(text: &str) -> String {
    title_of(text, MAX_QUOTED_CHARS)
}

/// The first line of a message, for a column that shortens it.
pub(crate) fn first_line(text: &str) -> String {
    title_of(text, MAX_LINE_CHARS)
}

/// A folder as people write it: `~` for their home.
pub(crate) fn display_folder(folder: &Path, home: Option<&Path>) -> String {
    let beneath = home.and_then(|home| folder.strip_prefix(home).ok());
    match beneath {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", escape(rest.as_os_str().as_encoded_bytes())),
        None => escape(folder.as_os_str().as_encoded_bytes()),
    }
}
