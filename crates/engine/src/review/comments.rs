//! Comments of the person on lines and files.
//!
//! Invariants: a draft is seen by no agent. A comment is anchored by the content of its lines, so
//! that it follows them, or says that they are gone.

use std::collections::BTreeSet;
use std::ops::Range;

use retake_model::{
    Change, ChangeId, CommentAnchor, CommentKind, CommentState, DialogId, HunkKind, JournalKind,
    Millis, ProjectPath, ReviewComment,
};
use retake_store::{Batch, ChangeFilter, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::content::comparable::comparable_content;
use crate::content::diff::{is_binary, lines};
use crate::error::OperationError;
use crate::feedback::anchor::{anchor_of, find_anchor};
use crate::feedback::rejected_lines::earlier_names;
use crate::journal::record_entry;
use crate::project::Project;
use crate::review::act::{HunkChoice, HunkRequest};
use crate::review::file_target::HunkLines;
use crate::review::hunk::ReviewHunk;
use crate::review::scope::ReviewScope;
use crate::review::trace::trace_file;

/// A comment that the person makes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewComment {
    /// What it is about.
    pub place: CommentPlace,
    /// What it asks.
    pub kind: CommentKind,
    /// The words.
    pub text: String,
    /// The dialog whose agent it is for; the one that changed the place last if none is given.
    pub dialog: Option<DialogId>,
}

/// What a comment is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CommentPlace {
    /// The work as a whole.
    Work,
    /// A file.
    File(ProjectPath),
    /// Lines of a file as it is, from 1, both included.
    Lines {
        /// The file.
        path: ProjectPath,
        /// The first line.
        first: u32,
        /// The last line.
        last: u32,
    },
    /// A hunk, or some of its lines; lines that were removed, if it added none.
    Hunk {
        /// The scope in which it is a hunk.
        scope: Box<ReviewScope>,
        /// The hunk.
        hunk: HunkChoice,
    },
}

/// A comment, and where its lines are now.
#[derive(Clone, Debug)]
pub struct LocatedComment {
    /// The comment.
    pub comment: ReviewComment,
    /// The lines, from 0; none if it is about no lines, about removed ones, or they are gone.
    pub lines: Option<Range<usize>>,
    /// Its number.
    pub id: u64,
}

impl LocatedComment {
    /// Returns whether its lines are gone.
    pub fn is_gone(&self) -> bool {
        let anchor = self.comment.anchor.as_ref();
        self.lines.is_none() && anchor.is_some_and(|anchor| !anchor.removed)
    }

    /// Returns whether it is about lines of a hunk.
    pub(super) fn is_in(&self, hunk: &ReviewHunk) -> bool {
        let Some(anchor) = &self.comment.anchor else { return false };
        if anchor.removed {
            let removed: Vec<String> = hunk.removed.iter().map(|line| text_of(line)).collect();
            return removed.windows(anchor.lines.len().max(1)).any(|run| *run == anchor.lines[..]);
        }
        let has_lines = hunk.kind != HunkKind::Entangled || !hunk.new.is_empty();
        let lines = self.lines.as_ref().filter(|_| has_lines);
        lines.is_some_and(|lines| lines.start < hunk.new.end && hunk.new.start < lines.end)
    }
}

impl Project {
    /// Makes a comment, as a draft; returns it.
    pub fn add_comment(
        &self,
        new: &NewComment,
        at: Millis,
    ) -> Result<ReviewComment, OperationError> {
        let _lock = self.lock_and_refresh(at)?;
        let (path, anchor, maker) = self.anchor_comment(&new.place)?;
        let dialog = match (&new.dialog, maker, &path) {
            (Some(dialog), ..) => {
                self.store()
                    .dialog(dialog)?
                    .ok_or_else(|| OperationError::UnknownDialog(dialog.clone()))?;
                Some(dialog.clone())
            }
            (None, Some(maker), _) => Some(maker),
            (None, None, Some(path)) => self.last_dialog_of(path)?,
            (None, None, None) => None,
        };
        let comment = ReviewComment {
            id: 0,
            at,
            path,
            dialog,
            kind: new.kind,
            state: CommentState::Draft,
            text: new.text.trim().to_owned(),
            answer: None,
            anchor,
            batch: None,
            heard: None,
            said_by: None,
        };
        self.change_comment(at, "draft", |batch| batch.put_comment(&comment))
    }

    /// Replaces the words of a draft.
    pub fn edit_comment(
        &self,
        id: u64,
        text: &str,
        at: Millis,
    ) -> Result<ReviewComment, OperationError> {
        let _lock = self.acquire_lock()?;
        self.comment_in(id, &[CommentState::Draft])?;
        self.change_comment(at, "edited", |batch| {
            batch.set_comment_text(id, text.trim())?;
            Ok(id)
        })
    }

    /// Removes a comment.
    pub fn remove_comment(&self, id: u64, at: Millis) -> Result<(), OperationError> {
        let _lock = self.acquire_lock()?;
        self.comment_in(id, &[])?;
        let batch = self.store().batch()?;
        batch.remove_comment(id)?;
        record_comment(&batch, id, "removed", None, at)?;
        batch.commit()?;
        Ok(())
    }

    /// Sends drafts to their agents, in one batch: these, or all. A draft for no dialog goes to the
    /// latest one.
    pub fn send_comments(
        &self,
        ids: &[u64],
        at: Millis,
    ) -> Result<Vec<ReviewComment>, OperationError> {
        let _lock = self.acquire_lock()?;
        let mut drafts = Vec::new();
        for id in ids {
            drafts.push(self.comment_in(*id, &[CommentState::Draft])?);
        }
        if ids.is_empty() {
            drafts = self.store().comments()?;
            drafts.retain(|comment| comment.state == CommentState::Draft);
        }
        let batch = self.store().batch()?;
        let number = batch.next_stamp(at).seq;
        for draft in &drafts {
            let dialog = match &draft.dialog {
                Some(dialog) => dialog.clone(),
                None => self.latest_dialog()?.id,
            };
            batch.send_comment(draft.id, &dialog, number)?;
            record_comment(&batch, draft.id, "sent", Some(&dialog), at)?;
        }
        batch.commit()?;
        let sent = drafts.iter().map(|draft| self.comment_in(draft.id, &[]));
        sent.collect()
    }

    /// Records the agent's answer to a comment.
    pub fn answer_comment(
        &self,
        id: u64,
        answer: &str,
        at: Millis,
    ) -> Result<ReviewComment, OperationError> {
        let _lock = self.acquire_lock()?;
        self.comment_in(id, &[CommentState::Sent, CommentState::Answered])?;
        self.change_comment(at, "answered", |batch| {
            batch.set_comment_state(id, CommentState::Answered, Some(answer.trim()))?;
            Ok(id)
        })
    }

    /// Settles a comment.
    pub fn resolve_comment(&self, id: u64, at: Millis) -> Result<ReviewComment, OperationError> {
        let _lock = self.acquire_lock()?;
        self.comment_in(id, &[])?;
        self.change_comment(at, "resolved", |batch| {
            batch.set_comment_state(id, CommentState::Resolved, None)?;
            Ok(id)
        })
    }

    /// Returns all comments with the places of their lines, oldest first.
    pub fn comments(&self) -> Result<Vec<LocatedComment>, StoreError> {
        let mut located = Vec::new();
        for mut comment in self.store().comments()? {
            let mut text = None;
            if let Some(path) = &comment.path {
                let path = self.current_name(path, comment.at)?;
                text = self.text_now(&path)?;
                comment.path = Some(path);
            }
            located.push(locate(comment, text.as_deref()));
        }
        Ok(located)
    }

    /// Returns one comment.
    pub fn comment(&self, id: u64) -> Result<Option<ReviewComment>, StoreError> {
        self.store().comment(id)
    }

    /// Returns the number of comments that are not sent yet.
    pub fn draft_comments(&self) -> Result<u64, StoreError> {
        let all = self.store().comments()?;
        let drafts = all.iter().filter(|comment| comment.state == CommentState::Draft);
        Ok(drafts.count() as u64)
    }

    /// Returns the comments on a file that had these names, and whose text is known.
    pub(super) fn comments_in(
        &self,
        names: &BTreeSet<ProjectPath>,
        text: Option<&[u8]>,
    ) -> Result<Vec<LocatedComment>, StoreError> {
        let mut located = Vec::new();
        for name in names {
            let comments = self.store().comments_on(name)?;
            located.extend(comments.into_iter().map(|comment| locate(comment, text)));
        }
        located.sort_by_key(|comment| comment.id);
        Ok(located)
    }

    /// Where the file is that was at a path at a time: there, or where it was moved since.
    fn current_name(&self, path: &ProjectPath, at: Millis) -> Result<ProjectPath, StoreError> {
        let (mut path, mut names) = (path.clone(), BTreeSet::new());
        while self.store().manifest_entry(&path)?.is_none() && names.insert(path.clone()) {
            let filter = ChangeFilter { path: Some(path.clone()), ..ChangeFilter::default() };
            let since = self.store().changes(&filter)?.into_iter();
            let mut since = since.filter(|change| change.at >= at);
            match since.find(|change| change.old_path.as_ref() == Some(&path)) {
                Some(moved) => path = moved.path,
                None => break,
            }
        }
        Ok(path)
    }

    /// The path and lines that a comment is about, and the dialog that changed them last.
    fn anchor_comment(&self, place: &CommentPlace) -> Result<CommentSubject, OperationError> {
        match place {
            CommentPlace::Work => Ok((None, None, None)),
            CommentPlace::File(path) => {
                let known = self.store().manifest_entry(path)?.is_some()
                    || self.store().last_change_of(path)?.is_some();
                if !known {
                    return Err(OperationError::NoFileToCommentOn(path.clone()));
                }
                Ok((Some(path.clone()), None, None))
            }
            CommentPlace::Lines { path, first, last } => {
                let text = self.text_now(path)?;
                let text = text.ok_or_else(|| OperationError::NoFileToCommentOn(path.clone()))?;
                let count = if is_binary(&text) { 0 } else { lines(&text).count() };
                let range = (first.saturating_sub(1) as usize)..*last as usize;
                if range.is_empty() || range.end > count || *first == 0 {
                    return Err(OperationError::UnknownLines { path: path.clone(), lines: count });
                }
                let writer = self.last_writer_of(path, &range)?;
                Ok((Some(path.clone()), Some(anchor_of(&text, &range, false)), writer))
            }
            CommentPlace::Hunk { scope, hunk } => self.anchor_on_hunk(scope, hunk),
        }
    }

    fn anchor_on_hunk(
        &self,
        scope: &ReviewScope,
        choice: &HunkChoice,
    ) -> Result<CommentSubject, OperationError> {
        let hunks = vec![choice.clone()];
        let request = HunkRequest { scope: scope.clone(), hunks, all: false };
        let (review, parts) = self.find_hunks(&request)?;
        for part in &parts {
            for (file, chosen) in part.part.files.iter().zip(&part.chosen) {
                let Some((at, chosen)) = chosen.iter().next() else { continue };
                let hunk = &file.hunks[*at];
                let mut changes = hunk.changes.iter().rev().filter_map(|id| review.change(*id));
                let maker = changes.find_map(|change| change.dialog.clone());
                let anchor = match (&file.now_text, hunk_lines(hunk, chosen.as_ref())) {
                    (Some(text), Some(lines)) => Some(anchor_of(text, &lines, false)),
                    _ if hunk.removed.is_empty() => None,
                    _ => Some(removed_anchor(hunk, chosen.as_ref())),
                };
                return Ok((Some(file.path.clone()), anchor, maker));
            }
        }
        Err(OperationError::StaleHunks(vec![choice.id]))
    }

    fn text_now(&self, path: &ProjectPath) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(entry) = self.store().manifest_entry(path)? else { return Ok(None) };
        comparable_content(self.store(), &entry.state.into())
    }

    /// The dialog of the newest change by an agent that wrote one of these lines, counted from 0.
    fn last_writer_of(
        &self,
        path: &ProjectPath,
        lines: &Range<usize>,
    ) -> Result<Option<DialogId>, OperationError> {
        let mut names = BTreeSet::from([path.clone()]);
        names.extend(earlier_names(self.store(), path, None)?);
        let trace = trace_file(self.store(), path, &names, ChangeId(0))?;
        let writer = lines.clone().filter_map(|line| trace.writer_of(line)).max();
        let change = writer.map(|id| self.store().change(id)).transpose()?.flatten();
        Ok(change.and_then(|change| change.dialog))
    }

    fn last_dialog_of(&self, path: &ProjectPath) -> Result<Option<DialogId>, StoreError> {
        let actors = vec![retake_model::Actor::Agent];
        let filter = ChangeFilter { actors, path: Some(path.clone()), ..ChangeFilter::default() };
        let changes = self.store().changes(&filter)?;
        Ok(changes.into_iter().find(Change::is_effective).and_then(|change| change.dialog))
    }

    /// Loads a comment; an error unless it is in one of these states, if there are any.
    fn comment_in(
        &self,
        id: u64,
        states: &[CommentState],
    ) -> Result<ReviewComment, OperationError> {
        let comment = self.store().comment(id)?.ok_or(OperationError::UnknownComment(id))?;
        if states.is_empty() || states.contains(&comment.state) {
            return Ok(comment);
        }
        Err(OperationError::CommentState { id, state: comment.state })
    }

    fn change_comment(
        &self,
        at: Millis,
        what: &str,
        change: impl FnOnce(&Batch<'_>) -> Result<u64, StoreError>,
    ) -> Result<ReviewComment, OperationError> {
        let batch = self.store().batch()?;
        let id = change(&batch)?;
        let dialog = batch.comment(id)?.and_then(|comment| comment.dialog);
        record_comment(&batch, id, what, dialog.as_ref(), at)?;
        batch.commit()?;
        self.comment_in(id, &[])
    }
}

/// The file of a comment, its lines, and the dialog that changed them last.
type CommentSubject = (Option<ProjectPath>, Option<CommentAnchor>, Option<DialogId>);

/// The lines of a hunk in the file now; `None` if it is only about removed lines.
fn hunk_lines(hunk: &ReviewHunk, chosen: Option<&HunkLines>) -> Option<Range<usize>> {
    let lines = match chosen {
        Some(chosen) => {
            let (first, last) = (chosen.added.first()?, chosen.added.last()?);
            hunk.new.start + *first as usize - 1..hunk.new.start + *last as usize
        }
        None => hunk.new.clone(),
    };
    (!lines.is_empty()).then_some(lines)
}

fn removed_anchor(hunk: &ReviewHunk, chosen: Option<&HunkLines>) -> CommentAnchor {
    let is_chosen = |at: &usize| {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        chosen.is_none_or(|lines| lines.removed.contains(&number))
    };
    let lines = (0..hunk.removed.len()).filter(is_chosen).map(|at| text_of(&hunk.removed[at]));
    CommentAnchor {
        removed: true,
        first_line: u32::try_from(hunk.new.start + 1).unwrap_or(u32::MAX),
        lines: lines.collect(),
        above: Vec::new(),
        below: Vec::new(),
    }
}

/// A line without its end.
fn text_of(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

fn locate(comment: ReviewComment, text: Option<&[u8]>) -> LocatedComment {
    let anchor = comment.anchor.as_ref().filter(|anchor| !anchor.removed);
    let lines = anchor.zip(text).and_then(|(anchor, text)| find_anchor(text, anchor));
    LocatedComment { id: comment.id, lines, comment }
}

fn record_comment(
    batch: &Batch<'_>,
    id: u64,
    what: &str,
    dialog: Option<&DialogId>,
    at: Millis,
) -> Result<(), StoreError> {
    let body = json!({ "comment": id, "what": what });
    record_entry(batch, batch.next_stamp(at), JournalKind::ReviewComment, dialog, body)
}
