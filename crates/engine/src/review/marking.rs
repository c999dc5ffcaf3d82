//! Marks hunks as seen, and opens them again.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{
    Actor, Change, ChangeId, ChangeStatus, HunkId, JournalKind, Millis, QueueState,
};
use retake_store::{Batch, StoreError};
use serde_json::json;

use crate::content::diff::lines;
use crate::error::OperationError;
use crate::feedback::rejection::record_queue;
use crate::journal::record_entry;
use crate::review::act::{ChosenLines, ChosenPart};
use crate::review::file::{Review, ReviewFile};
use crate::review::file_target::HunkLines;
use crate::review::hunk::ReviewHunk;
use crate::review::line_marks::{LineMarks, MarkSource, accepted_by_hunks_key, seen_change_key};
use crate::review::queue::queued_lines;

/// Marks the chosen hunks of a part in one transaction.
pub(super) struct HunkMarking<'a> {
    pub(super) batch: &'a Batch<'a>,
    pub(super) review: &'a Review<'a>,
    pub(super) part: &'a ChosenPart,
    pub(super) at: Millis,
    /// The place in the order up to which the files were looked at.
    pub(super) seq: u64,
}

/// A part whose hunks were marked.
pub(super) struct MarkedPart {
    /// The hunks that were marked.
    pub(super) hunks: Vec<HunkId>,
    /// The changes of which something was not seen.
    pub(super) open: BTreeSet<ChangeId>,
}

impl HunkMarking<'_> {
    /// Marks the chosen hunks, and with them the changes of which all is seen.
    pub(super) fn mark(&self, reviewed: bool) -> Result<MarkedPart, OperationError> {
        let mut hunks = Vec::new();
        for (file, chosen) in self.files().filter(|(_, chosen)| !chosen.is_empty()) {
            let marked = self.mark_hunks(file, chosen, reviewed)?;
            let body = json!({ "path": file.path, "hunks": marked, "reviewed": reviewed });
            let stamp = self.batch.next_stamp(self.at);
            record_entry(self.batch, stamp, JournalKind::HunksReviewed, None, body)?;
            hunks.extend(marked);
        }
        let open = self.unreviewed_changes()?;
        for change in self.changes_of_part().filter(|change| !open.contains(&change.id)) {
            self.batch.put_reviewed_line(&change.path, seen_change_key(change.id), self.seq)?;
        }
        Ok(MarkedPart { hunks, open })
    }

    /// Accepts the changes behind the chosen hunks of which all is seen; where nothing of the part is
    /// open, also those of which nothing is left.
    pub(super) fn accept_seen(
        &self,
        open: &BTreeSet<ChangeId>,
    ) -> Result<Vec<ChangeId>, OperationError> {
        let chosen = self.part.chosen_changes();
        let mut accepted = Vec::new();
        for change in self.changes_of_part() {
            let is_seen =
                open.is_empty() || (chosen.contains(&change.id) && !open.contains(&change.id));
            if !is_seen || change.actor != Actor::Agent || change.status != ChangeStatus::Pending {
                continue;
            }
            self.batch.set_status(change.id, ChangeStatus::Accepted, self.at)?;
            let key = accepted_by_hunks_key(change.id);
            self.batch.put_reviewed_line(&change.path, key, self.seq)?;
            accepted.push(change.id);
        }
        Ok(accepted)
    }

    /// What is kept is rejected no more: neither by the queue nor when it comes again. Lines of a hunk
    /// that wait are still rejected if the rest of it is kept.
    pub(super) fn settle_kept(&self) -> Result<(), OperationError> {
        for (file, chosen) in self.files() {
            let waiting = self.batch.waiting_rejections_of(&file.path)?;
            for (at, kept) in chosen {
                let hunk = &file.hunks[*at];
                for row in waiting.iter().filter(|row| row.hunk == hunk.id) {
                    let is_kept = match (queued_lines(row)?, kept) {
                        (Some(queued), Some(kept)) => kept.includes(&queued),
                        (Some(_), None) => false,
                        (None, _) => true,
                    };
                    if is_kept {
                        let (state, why) = (QueueState::Cancelled, Some("it was kept"));
                        self.batch.settle_queued_rejection(row.id, state, why, None)?;
                        record_queue(self.batch, row.id, state, self.at)?;
                    }
                }
                for operation in hunk.again.iter().filter(|_| kept.is_none()) {
                    for path in &file.names {
                        self.batch.forget_rejected_runs_of(*operation, path)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Opens the changes behind the chosen hunks again, accepted ones, too. Their places that were
    /// seen keep marks of their own.
    pub(super) fn open_again(&self) -> Result<(), OperationError> {
        let changes = self.part.chosen_changes();
        for (file, _) in self.files() {
            let concerns =
                |hunk: &&ReviewHunk| hunk.reviewed && !hunk.changes.is_disjoint(&changes);
            let seen = file.hunks.iter().filter(concerns);
            let keys: Vec<u64> = self.with_marks(file, |source| {
                seen.flat_map(|hunk| source.keys_to_mark(hunk, None)).collect()
            })?;
            for key in keys {
                self.batch.put_reviewed_line(&file.path, key, self.seq)?;
            }
        }
        for change in changes.iter().filter_map(|id| self.review.change(*id)) {
            if change.approved.is_some() {
                return Err(OperationError::Approved(change.id));
            }
            if change.status == ChangeStatus::Accepted {
                self.batch.set_status(change.id, ChangeStatus::Pending, self.at)?;
            }
            for key in [seen_change_key(change.id), accepted_by_hunks_key(change.id)] {
                self.batch.remove_reviewed_line(&change.path, key)?;
            }
        }
        Ok(())
    }

    fn files(&self) -> impl Iterator<Item = (&ReviewFile, &ChosenLines)> {
        self.part.part.files.iter().zip(&self.part.chosen)
    }

    fn changes_of_part(&self) -> impl Iterator<Item = &Change> {
        let ids: BTreeSet<ChangeId> =
            self.part.part.files.iter().flat_map(|file| file.changes.iter().copied()).collect();
        ids.into_iter().filter_map(|id| self.review.change(id))
    }

    /// The changes behind hunks of the part of which something was not seen.
    fn unreviewed_changes(&self) -> Result<BTreeSet<ChangeId>, StoreError> {
        let mut open = BTreeSet::new();
        for (file, _) in self.files() {
            let mut marked = LineMarks::new();
            for name in &file.names {
                marked.extend(self.batch.reviewed_lines(name)?);
            }
            self.with_marks(file, |source| {
                let unseen = file.hunks.iter().filter(|hunk| !source.is_reviewed(hunk, &marked));
                open.extend(unseen.flat_map(|hunk| hunk.changes.iter().copied()));
            })?;
        }
        Ok(open)
    }

    fn mark_hunks(
        &self,
        file: &ReviewFile,
        chosen: &ChosenLines,
        reviewed: bool,
    ) -> Result<Vec<HunkId>, OperationError> {
        let keys: Vec<u64> = self.with_marks(file, |source| {
            let keys = |(at, lines): (&usize, &Option<HunkLines>)| {
                source.keys_to_mark(&file.hunks[*at], lines.as_ref())
            };
            chosen.iter().flat_map(keys).collect()
        })?;
        for key in keys {
            // Under its earlier names it has the marks that were set before it was moved.
            for path in file.names.iter().filter(|_| !reviewed) {
                self.batch.remove_reviewed_line(path, key)?;
            }
            if reviewed {
                self.batch.put_reviewed_line(&file.path, key, self.seq)?;
            }
        }
        Ok(chosen.keys().map(|at| file.hunks[*at].id).collect())
    }

    /// Reads what the keys of a file's hunks follow from, as the record is now.
    fn with_marks<T>(
        &self,
        file: &ReviewFile,
        read: impl FnOnce(&MarkSource<'_>) -> T,
    ) -> Result<T, StoreError> {
        let now: Vec<&[u8]> = lines(file.now_text.as_deref().unwrap_or_default()).collect();
        let mut changes = BTreeMap::new();
        for id in &file.changes {
            changes.extend(self.batch.change(*id)?.map(|change| (*id, change)));
        }
        Ok(read(&MarkSource { now: &now, trace: &file.trace, changes: &changes }))
    }
}
