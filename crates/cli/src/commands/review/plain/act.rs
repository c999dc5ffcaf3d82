//! Keeping hunks and lines of them, and commenting.

use std::collections::BTreeSet;

use anyhow::Result;
use retake_engine::model::{CommentKind, HunkKind};
use retake_engine::{CommentPlace, HunkChoice, HunkLines, NewComment, OperationError, ReviewHunk};
use retake_service::request::{AddComment, CancelRejection, KeepHunks};

use super::answer::{LinesAnswer, ask_lines_answer};
use super::decision::{Decision, DecisionKind};
use super::walk::ShownHunk;
use super::{NextStep, PlainReview, report};
use crate::args::parse_lines;
use crate::commands::accept::describe_kept;
use crate::commands::comment::describe_draft;
use crate::output::{TextStyle, print_message, print_to_person};
use crate::question::ask_words;

impl PlainReview<'_> {
    /// Keeps hunks of the file.
    pub(super) fn keep(
        &mut self,
        shown: &ShownHunk<'_>,
        hunks: Vec<HunkChoice>,
    ) -> Result<Option<NextStep>> {
        if !self.cancel_waiting(shown)? {
            return Ok(None);
        }
        let request = self.request(hunks);
        let done = self.context.run_request(self.project, KeepHunks { hunks: request.clone() });
        let done = match self.attempt(shown, done) {
            Ok(done) => done,
            Err(step) => return Ok(step),
        };
        self.context.out.text(&(describe_kept(&request, &done) + "\n"))?;
        let kind = DecisionKind::Kept { request };
        self.decisions.push(Decision::new(shown.place(), done.hunks, kind));
        Ok(Some(NextStep::Next))
    }

    /// Takes the rejections of a hunk that is kept after all out of the queue; returns false if that
    /// failed.
    fn cancel_waiting(&mut self, shown: &ShownHunk<'_>) -> Result<bool> {
        if shown.waiting_rejection().is_none() {
            return Ok(true);
        }
        let place = shown.place();
        let mut waiting = self.project.waiting_rejections()?;
        waiting.retain(|row| row.hunk == place.id && row.path == place.path);
        for row in waiting {
            let done = self.context.run_request(self.project, CancelRejection { id: row.id });
            if self.attempt(shown, done).is_err() {
                return Ok(false);
            }
            self.context.out.text(&format!("Cancelled rejection {}.\n", row.id))?;
        }
        Ok(true)
    }

    /// Asks for lines of the hunk, and keeps or rejects them.
    pub(super) fn decide_on_lines(&mut self, shown: &ShownHunk<'_>) -> Result<Option<NextStep>> {
        if !matches!(shown.hunk().kind, HunkKind::Lines | HunkKind::Create) {
            print_to_person("This hunk is decided on as a whole.\n");
            return Ok(None);
        }
        let prompt = "Lines of the hunk, as +1-3,-2 (Enter for none): ";
        let Some(words) = ask_words(prompt)? else { return Ok(Some(NextStep::Leave)) };
        if words.is_empty() {
            return Ok(None);
        }
        let lines = match parse_lines(&words) {
            Ok(lines) => lines,
            Err(problem) => {
                print_message("error", TextStyle::Bad, &problem);
                return Ok(None);
            }
        };
        if !has_lines(shown.hunk(), &lines) {
            report(&missing_lines(shown.hunk()).into());
            return Ok(None);
        }
        let hunks = vec![shown.choice(Some(lines))];
        match ask_lines_answer()? {
            Some(LinesAnswer::Keep) => self.keep(shown, hunks),
            Some(LinesAnswer::Reject) => self.reject(shown, hunks),
            Some(LinesAnswer::Neither) => Ok(None),
            None => Ok(Some(NextStep::Leave)),
        }
    }

    /// Writes a comment on the hunk, as a draft. Words that end with a question mark ask a question.
    pub(super) fn comment(&mut self, shown: &ShownHunk<'_>) -> Result<Option<NextStep>> {
        let prompt = "Comment for the agent (Enter for none): ";
        let Some(text) = ask_words(prompt)? else { return Ok(Some(NextStep::Leave)) };
        if text.is_empty() {
            return Ok(None);
        }
        let scope = Box::new(self.walk.scope().clone());
        let place = CommentPlace::Hunk { scope, hunk: shown.choice(None) };
        let kind = if text.ends_with('?') { CommentKind::Question } else { CommentKind::Order };
        let comment = NewComment { place, kind, text, dialog: None };
        let made = self.context.run_request(self.project, AddComment { comment });
        let made = match self.attempt(shown, made) {
            Ok(made) => made,
            Err(step) => return Ok(step),
        };
        self.context.out.text(&describe_draft(&made))?;
        let kind = DecisionKind::Commented { comment: made.id };
        self.decisions.push(Decision::new(shown.place(), Vec::new(), kind));
        Ok(None)
    }
}

/// Returns true if a hunk has all of these lines.
fn has_lines(hunk: &ReviewHunk, lines: &HunkLines) -> bool {
    let fits = |numbers: &BTreeSet<u32>, count: usize| {
        numbers.last().is_none_or(|last| *last as usize <= count)
    };
    fits(&lines.removed, hunk.removed.len()) && fits(&lines.added, hunk.added.len())
}

fn missing_lines(hunk: &ReviewHunk) -> OperationError {
    let (removed, added) = (hunk.removed.len(), hunk.added.len());
    OperationError::UnknownHunkLines { hunk: hunk.id, removed, added }
}
