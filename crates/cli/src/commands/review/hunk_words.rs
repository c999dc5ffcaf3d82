//! A hunk in words: where it is, who made it, what was decided about it.

use anyhow::Result;
use retake_engine::model::{Actor, Change, ChangeId, HunkKind};
use retake_engine::{Project, Review, ReviewFile, ReviewHunk};
use retake_service::describe::list_names;

use crate::describe::{DialogNames, dialog_names, display_path, first_words, plural};
use crate::escape::escape;
use crate::output::TextStyle;

/// Maximum later changes that are named of an entangled hunk.
const MAX_NAMED_BLOCKERS: usize = 3;
/// Maximum comments that are named of a hunk.
const MAX_NAMED_COMMENTS: usize = 5;

/// A remark, and how it looks.
#[derive(Clone, Debug)]
pub(super) struct StyledWords {
    pub(super) text: String,
    pub(super) style: TextStyle,
}

/// Describes the hunks of one review.
#[derive(Debug)]
pub(super) struct HunkWords<'a> {
    project: &'a Project,
    names: DialogNames,
}

impl<'a> HunkWords<'a> {
    pub(super) fn new(project: &'a Project) -> Result<Self> {
        Ok(Self { project, names: dialog_names(project)? })
    }

    /// Who made a hunk: `claude-1:3` for the answer to message 3, `you`.
    pub(super) fn makers(&self, review: &Review<'_>, hunk: &ReviewHunk) -> String {
        let changes = hunk.changes.iter().filter_map(|id| review.change(*id));
        join_once(changes.map(|change| self.maker_and_message(change)))
    }

    /// Who made the hunks of a file.
    pub(super) fn makers_of_file(&self, review: &Review<'_>, file: &ReviewFile) -> String {
        let ids = file.hunks.iter().flat_map(|hunk| &hunk.changes);
        let changes = ids.filter_map(|id| review.change(*id));
        join_once(changes.map(|change| self.names.maker(change)))
    }

    fn maker_and_message(&self, change: &Change) -> String {
        let maker = self.names.maker(change);
        match change.turn {
            // One of several agents has its message, but it is not known which.
            Some(turn) if change.actor == Actor::Agent && change.candidates.len() <= 1 => {
                format!("{maker}:{turn}")
            }
            _ => maker,
        }
    }

    /// What is to be known of a hunk before it is decided on, the most important first.
    pub(super) fn remarks(&self, hunk: &ReviewHunk) -> Result<StyledWords> {
        let (mut parts, mut style) = (Vec::new(), TextStyle::Plain);
        if hunk.reviewed {
            style = TextStyle::Dim;
        }
        if hunk.obstacle.is_some() {
            style = TextStyle::Warn;
            parts.push(self.entanglement(hunk)?);
        }
        for operation in &hunk.again {
            style = TextStyle::Warn;
            let reason = self.project.rejection_reason(*operation)?;
            let reason =
                reason.map_or_else(String::new, |reason| format!(": “{}”", quoted(&reason)));
            parts.push(format!("again, you rejected it as {operation}{reason}"));
        }
        if let Some(id) = hunk.queued {
            style = TextStyle::Warn;
            parts.push(format!("rejection {id} waits"));
        }
        if !hunk.comments.is_empty() {
            let ids: Vec<_> = hunk.comments.iter().map(ToString::to_string).collect();
            let what = if ids.len() == 1 { "comment" } else { "comments" };
            parts.push(format!("{what} {}", list_names(&ids, MAX_NAMED_COMMENTS)));
        }
        if hunk.reviewed {
            parts.push("reviewed".to_owned());
        }
        Ok(StyledWords { text: parts.join("; "), style })
    }

    /// Names the later changes that build on a hunk, and whose they are.
    pub(super) fn entanglement(&self, hunk: &ReviewHunk) -> Result<String> {
        let mut blockers = Vec::new();
        for id in &hunk.blockers {
            blockers.push(self.blocker(*id)?);
        }
        if blockers.is_empty() {
            let why = hunk.obstacle.as_ref().map(ToString::to_string).unwrap_or_default();
            return Ok(format!("entangled: {}", escape(why)));
        }
        let builds = if blockers.len() == 1 { "builds" } else { "build" };
        Ok(format!("entangled: {} {builds} on it", list_names(&blockers, MAX_NAMED_BLOCKERS)))
    }

    fn blocker(&self, id: ChangeId) -> Result<String> {
        let change = self.project.change(id)?;
        let by = change.map(|change| format!(" by {}", self.names.maker(&change)));
        Ok(format!("{id}{}", by.unwrap_or_default()))
    }
}

/// Where a hunk is: `12-18`, `after 11`, or what happened to the file as a whole.
pub(super) fn describe_lines(hunk: &ReviewHunk) -> String {
    match hunk.kind {
        HunkKind::Create => "new file".to_owned(),
        HunkKind::Delete => "deleted".to_owned(),
        HunkKind::Rename => "moved".to_owned(),
        HunkKind::Mode => "mode".to_owned(),
        HunkKind::Link => "link".to_owned(),
        HunkKind::Binary => "binary".to_owned(),
        HunkKind::TooLarge => "too large".to_owned(),
        HunkKind::Entangled if hunk.new.is_empty() => "file".to_owned(),
        HunkKind::Lines | HunkKind::Entangled => match hunk.new.len() {
            0 => format!("after {}", hunk.new.start),
            1 => hunk.new.end.to_string(),
            _ => format!("{}-{}", hunk.new.start + 1, hunk.new.end),
        },
    }
}

/// The same in a sentence: `line 12`, `lines 12-18`.
pub(super) fn describe_lines_in_words(hunk: &ReviewHunk) -> String {
    let lines = describe_lines(hunk);
    match (hunk.kind, hunk.new.len()) {
        (HunkKind::Lines | HunkKind::Entangled, 1) => format!("line {lines}"),
        (HunkKind::Lines | HunkKind::Entangled, 2..) => format!("lines {lines}"),
        (HunkKind::Lines, 0) => format!("after line {}", hunk.new.start),
        _ => lines,
    }
}

/// The path of a file, with the one that it would have without the changes.
pub(super) fn describe_file(file: &ReviewFile) -> String {
    if file.old_path == file.path {
        return display_path(&file.path);
    }
    format!("{} → {}", display_path(&file.old_path), display_path(&file.path))
}

/// `3 hunks, 2 not reviewed`.
pub(super) fn describe_progress(file: &ReviewFile) -> StyledWords {
    let (all, open) = (file.hunks.len() as u64, file.unreviewed() as u64);
    let hunks = plural(all, "hunk", "hunks");
    match open {
        0 => StyledWords { text: format!("{hunks}, reviewed"), style: TextStyle::Dim },
        _ if open == all => {
            StyledWords { text: format!("{hunks}, not reviewed"), style: TextStyle::Plain }
        }
        _ => StyledWords { text: format!("{hunks}, {open} not reviewed"), style: TextStyle::Plain },
    }
}

/// Lines added and removed by the hunks of a file.
pub(super) fn count_file(file: &ReviewFile) -> (u64, u64) {
    let sum = |of: fn(&ReviewHunk) -> usize| file.hunks.iter().map(|hunk| of(hunk) as u64).sum();
    (sum(|hunk| hunk.added.len()), sum(|hunk| hunk.removed.len()))
}

/// The first words of foreign text, on one line.
fn quoted(text: &str) -> String {
    escape(first_words(text))
}

fn join_once(names: impl Iterator<Item = String>) -> String {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found.join(", ")
}
