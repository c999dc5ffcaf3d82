//! The end of a review: drafts are sent, and what was decided is summed up.
//!
//! Invariant: only a review of all that agents did, in all files, moves "since I looked": it is one
//! place for the whole project.

use std::collections::BTreeMap;

use anyhow::Result;
use retake_engine::model::{HunkId, QueueState};
use retake_service::request::{MarkAllSeen, SendComments};

use super::PlainReview;
use super::decision::DecisionKind;
use crate::commands::review::carry_out_due;
use crate::context::Exit;
use crate::describe::{dialog_names, plural};
use crate::layout::render_paragraph;
use crate::output::TextStyle;
use crate::question::{AnswerChoice, ChoiceQuestion};

/// How a hunk was decided on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HunkFate {
    Kept,
    Rejected,
    Queued,
}

impl PlainReview<'_> {
    /// Closes the review. If it was of everything, the person has seen what was there at its beginning.
    pub(super) fn close(self, is_open: bool) -> Result<Exit> {
        let goes_on = self.send_drafts()?;
        if goes_on {
            if self.covers_all {
                let seq = Some(self.walk.began_at());
                self.context.run_request(self.project, MarkAllSeen { seq })?;
            }
            carry_out_due(self.context, self.project)?;
        }
        self.print_summary(is_open)
    }

    /// Leaves where the input has ended: what was decided stays.
    pub(super) fn leave(self) -> Result<Exit> {
        let is_open = self.walk.has_open()?;
        self.print_summary(is_open)
    }

    /// Asks whether drafts are sent; returns false if the input has ended.
    fn send_drafts(&self) -> Result<bool> {
        let drafts = self.project.draft_comments()?;
        if drafts == 0 {
            return Ok(true);
        }
        let text = match drafts {
            1 => "1 comment is a draft. Send it?".to_owned(),
            count => format!("{count} comments are drafts. Send them?"),
        };
        let choices = [
            AnswerChoice { label: "yes", value: true },
            AnswerChoice { label: "no", value: false },
        ];
        let question = ChoiceQuestion { text: &text, choices: &choices, default: Some(1) };
        match question.ask_until_answered()? {
            Some(true) => {
                self.context.run_request(self.project, SendComments { ids: Vec::new() })?;
                Ok(true)
            }
            Some(false) => Ok(true),
            None => Ok(false),
        }
    }

    fn print_summary(&self, is_open: bool) -> Result<Exit> {
        let mut lines = vec![self.describe_decisions()?];
        if is_open {
            lines.push("Some of this is still open.".to_owned());
        }
        lines.extend(self.describe_told()?);
        let drafts = self.project.draft_comments()?;
        if drafts > 0 {
            let drafts = plural(drafts, "comment is", "comments are");
            lines.push(format!("{drafts} not sent yet (`retake comment send`)."));
        }
        let out = self.context.out;
        let lines = lines.iter().map(|line| render_paragraph(line, "", TextStyle::Plain, out));
        out.text(&format!("\n{}", lines.collect::<String>()))?;
        Ok(if is_open { Exit::Partly } else { Exit::Done })
    }

    /// `Kept 2 hunks, rejected 1, wrote 1 comment.`
    fn describe_decisions(&self) -> Result<String> {
        let mut fates: BTreeMap<HunkId, HunkFate> = BTreeMap::new();
        let mut comments = 0;
        for decision in &self.decisions {
            let fate = match &decision.kind {
                DecisionKind::Kept { .. } => HunkFate::Kept,
                DecisionKind::Rejected { operation } if self.is_undone(*operation)? => continue,
                DecisionKind::Rejected { .. } => HunkFate::Rejected,
                DecisionKind::Queued { entries } => match self.fate_of(entries)? {
                    Some(fate) => fate,
                    None => continue,
                },
                DecisionKind::Commented { .. } => {
                    comments += 1;
                    continue;
                }
            };
            fates.extend(decision.hunks.iter().map(|id| (*id, fate)));
        }
        let count = |of| fates.values().filter(|fate| **fate == of).count() as u64;
        let counts = [
            ("kept", count(HunkFate::Kept), "hunk", "hunks"),
            ("rejected", count(HunkFate::Rejected), "hunk", "hunks"),
            ("queued", count(HunkFate::Queued), "rejection", "rejections"),
            ("wrote", comments, "comment", "comments"),
        ];
        let parts: Vec<_> = counts
            .into_iter()
            .filter(|(_, count, ..)| *count > 0)
            .map(|(did, count, one, many)| format!("{did} {}", plural(count, one, many)))
            .collect();
        if parts.is_empty() {
            return Ok("Nothing was decided.".to_owned());
        }
        Ok(format!("In this review you {}.", parts.join(", ")))
    }

    /// How entries of the queue ended, or that one waits; none if they were cancelled, dropped or undone.
    fn fate_of(&self, entries: &[u64]) -> Result<Option<HunkFate>> {
        let mut fate = None;
        for id in entries {
            let Some(entry) = self.project.queued_rejection(*id)? else { continue };
            match (entry.state, entry.operation) {
                (QueueState::Waiting, _) => return Ok(Some(HunkFate::Queued)),
                (QueueState::Done, Some(operation)) if self.is_undone(operation)? => {}
                (QueueState::Done, _) => fate = Some(HunkFate::Rejected),
                _ => {}
            }
        }
        Ok(fate)
    }

    /// What each agent hears next.
    fn describe_told(&self) -> Result<Vec<String>> {
        let names = dialog_names(self.project)?;
        let mut lines = Vec::new();
        for (dialog, _) in self.project.dialogs()? {
            let (items, _) = self.project.unheard_feedback(&dialog.id)?;
            let rejections = items.rejections.len() as u64;
            let comments = items.comments.len() as u64;
            let counts = [
                (rejections, plural(rejections, "rejection", "rejections")),
                (comments, plural(comments, "comment", "comments")),
            ];
            let counts: Vec<_> =
                counts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
            if counts.is_empty() {
                continue;
            }
            let (name, what) = (names.dialog(&dialog.id), counts.join(" and "));
            lines.push(format!(
                "{name} hears of {what} with your next message to it or when its turn ends; \
                 `retake feedback {name}` shows the words."
            ));
        }
        Ok(lines)
    }
}
