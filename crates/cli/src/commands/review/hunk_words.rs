//! A hunk in words: where it is, who made it, what was decided about it.

use std::collections::BTreeSet;

use anyhow::Result;
use retake_engine::model::{
    Actor, Change, ChangeId, FileKind, FileState, HunkKind, OperationId, PathState,
};
use retake_engine::{Project, Review, ReviewFile, ReviewHunk};
use retake_service::describe::list_names;
use retake_service::documents::octal;
use retake_service::review::CommentReader;

use crate::args::format_lines;
use crate::describe::{
    DialogNames, describe_confidence, dialog_names, display_path, first_line, first_words,
    format_size, plural,
};
use crate::escape::escape;
use crate::output::TextStyle;

/// Maximum later changes that are named of an entangled hunk.
const MAX_NAMED_BLOCKERS: usize = 3;
/// Maximum comments that are named of a hunk.
const MAX_NAMED_COMMENTS: usize = 5;

/// Maximum messages of the person that are quoted for a hunk.
const MAX_QUOTED_MESSAGES: usize = 3;

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
    reader: CommentReader,
}

impl<'a> HunkWords<'a> {
    /// For this reader, who is told only of comments that it sees.
    pub(super) fn new(project: &'a Project, reader: CommentReader) -> Result<Self> {
        Ok(Self { project, names: dialog_names(project)?, reader })
    }

    /// Who made a hunk: `claude-1:3` for the answer to message 3, `you`.
    pub(super) fn makers(&self, review: &Review<'_>, hunk: &ReviewHunk) -> String {
        let changes = hunk.changes.iter().filter_map(|id| review.change(*id));
        join_once(changes.map(|change| self.maker_and_message(change)))
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

    /// Who made a hunk, with which model, and how that is known:
    /// `claude-1:3, claude-1:4 with opus-4.1 (it is what the tool announced)`.
    pub(super) fn behind(&self, review: &Review<'_>, hunk: &ReviewHunk) -> String {
        let mut groups: Vec<(String, Vec<&Change>)> = Vec::new();
        for change in hunk.changes.iter().filter_map(|id| review.change(*id)) {
            let how = describe_making(change);
            match groups.iter_mut().find(|(other, _)| *other == how) {
                Some((_, changes)) => changes.push(change),
                None => groups.push((how, vec![change])),
            }
        }
        let describe = |(how, changes): (String, Vec<&Change>)| {
            join_once(changes.into_iter().map(|change| self.maker_and_message(change))) + &how
        };
        groups.into_iter().map(describe).collect::<Vec<_>>().join("; ")
    }

    /// The messages of the person that a hunk answers, each on a line.
    pub(super) fn messages(&self, review: &Review<'_>, hunk: &ReviewHunk) -> Result<Vec<String>> {
        let changes = hunk.changes.iter().filter_map(|id| review.change(*id));
        let turns: BTreeSet<_> =
            changes.filter_map(|change| Some((change.dialog.as_ref()?, change.turn?))).collect();
        let mut messages = Vec::new();
        for (dialog, turn) in turns.into_iter().rev().take(MAX_QUOTED_MESSAGES) {
            let said = self.project.message_of_turn(dialog, turn)?;
            messages.extend(said.map(|said| format!("“{}”", escape(first_line(&said.text)))));
        }
        messages.reverse();
        Ok(messages)
    }

    /// What is to be known of a hunk before it is decided on, the most important first.
    pub(super) fn remarks(&self, file: &ReviewFile, hunk: &ReviewHunk) -> Result<StyledWords> {
        let mut style = TextStyle::Plain;
        let mut parts: Vec<_> = describe_whole(self.project, file, hunk)?.into_iter().collect();
        if hunk.reviewed {
            style = TextStyle::Dim;
        }
        if hunk.obstacle.is_some() {
            style = TextStyle::Warn;
            parts.push(self.entanglement(hunk)?);
        }
        for operation in &hunk.again {
            style = TextStyle::Warn;
            let rejected = describe_rejected_before(self.project, *operation)?;
            parts.push(format!("again, {rejected}"));
        }
        if let Some(id) = hunk.queued {
            style = TextStyle::Warn;
            parts.push(match &hunk.queued_lines {
                Some(lines) => format!("rejection {id} waits, of lines {}", format_lines(lines)),
                None => format!("rejection {id} waits"),
            });
        }
        let ids = self.comments_on(hunk)?;
        if !ids.is_empty() {
            let what = if ids.len() == 1 { "comment" } else { "comments" };
            parts.push(format!("{what} {}", list_names(&ids, MAX_NAMED_COMMENTS)));
        }
        if hunk.reviewed {
            parts.push("reviewed".to_owned());
        }
        Ok(StyledWords { text: parts.join("; "), style })
    }

    fn comments_on(&self, hunk: &ReviewHunk) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for id in &hunk.comments {
            let comment = self.project.comment(*id)?;
            if comment.is_some_and(|comment| self.reader.sees(&comment)) {
                ids.push(id.to_string());
            }
        }
        Ok(ids)
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

/// With which model a change was made, and how its maker is known; nothing for the person's.
fn describe_making(change: &Change) -> String {
    if change.actor != Actor::Agent {
        return String::new();
    }
    let model = change.model.as_ref().map(|model| format!(" with {}", escape(model)));
    let known = describe_confidence(change.confidence);
    format!("{} ({known})", model.unwrap_or_default())
}

/// Where a hunk is: `line 12`, `lines 12-18`, `after line 11`, or what happened to the file as a whole.
pub(crate) fn describe_lines(hunk: &ReviewHunk) -> String {
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
            0 if hunk.new.start == 0 => "before line 1".to_owned(),
            0 => format!("after line {}", hunk.new.start),
            1 => format!("line {}", hunk.new.end),
            _ => format!("lines {}-{}", hunk.new.start + 1, hunk.new.end),
        },
    }
}

/// The rejection of lines that are there again: `you rejected it as o7: “we keep the old name”`.
pub(in crate::commands) fn describe_rejected_before(
    project: &Project,
    operation: OperationId,
) -> Result<String> {
    let reason = project.rejection_reason(operation)?;
    let reason = reason.map(|reason| format!(": “{}”", quoted(&reason)));
    Ok(format!("you rejected it as {operation}{}", reason.unwrap_or_default()))
}

/// What a hunk without lines did to its file: `0644 → 0755`, `12 KiB → 14 KiB`, `link to a.txt`.
fn describe_whole(
    project: &Project,
    file: &ReviewFile,
    hunk: &ReviewHunk,
) -> Result<Option<String>> {
    let sides = [file.base.known(), file.now.known()];
    let join = |show: &dyn Fn(&FileState) -> String| {
        sides.into_iter().flatten().map(show).collect::<Vec<_>>().join(" → ")
    };
    let has_lines = !hunk.removed.is_empty() || !hunk.added.is_empty();
    Ok(match hunk.kind {
        HunkKind::Mode => Some(join(&|state| octal(state.mode))),
        HunkKind::Binary | HunkKind::TooLarge => Some(join(&|state| format_size(state.size))),
        HunkKind::Create | HunkKind::Delete if !has_lines => {
            let side = if hunk.kind == HunkKind::Create { &file.now } else { &file.base };
            side.known().map(|state| describe_content(project, state, side)).transpose()?
        }
        _ => None,
    })
}

/// A content without lines: `link to a.txt`, `empty`, `binary, 12 KiB`.
fn describe_content(project: &Project, state: &FileState, side: &PathState) -> Result<String> {
    Ok(match state.kind {
        FileKind::Link => {
            let target = project.content(side)?.unwrap_or_default();
            format!("link to {}", escape(target))
        }
        FileKind::File if state.size == 0 => "empty".to_owned(),
        FileKind::File => format!("no text, {}", format_size(state.size)),
    })
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
