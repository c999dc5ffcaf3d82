//! The events of one transaction, from their interpretation to their outcomes.

use retake_model::{Change, Millis, Stamp};
use retake_store::{Batch, CallEnd, CallState, StoreError};

use crate::calls::call_id::assign_call_id;
use crate::calls::interpret::{EventEffect, InterpretedEvent, Interpreter};
use crate::calls::live_calls::LiveCalls;
use crate::feedback::tell_sender;
use crate::freshness::{
    FoundWithEvent, StaleReaction, ignore_row_damage, notify_sender, record_predicted, record_reads,
};
use crate::project::Project;
use crate::record::RecordOutcome;
use crate::record::checkpoint::checkpoint_for_event;
use crate::record::event_rows::{EventPlace, ensure_event_rows, record_event_effect};
use crate::record::notices::{ignored_files_notice, interrupted_notice, new_gap_notices};
use crate::scan::context::ScanContext;
use crate::scan::observation::Observation;
use crate::scan::refresh::UncommittedScan;
use crate::scan::rows::CallRowMap;
use crate::scan::state;
use crate::submission::{Notice, NoticeCode, Submission};

/// TTL of the idempotency keys of recorded events: for this long an event may still enter or leave
/// the spool.
const EVENT_KEY_TTL: Millis = 60 * 60 * 1000;

/// Events that are recorded together; each has its outcome at the same index.
pub(super) struct Recording<'p> {
    project: &'p Project,
    pub(super) events: Vec<InterpretedEvent>,
    pub(super) outcomes: Vec<RecordOutcome>,
    /// Rows of the calls that had a temporary one.
    rows: CallRowMap,
    /// The changes that the scan finds may be later than an event.
    is_late: bool,
    gap_notices: Vec<Notice>,
}

impl<'p> Recording<'p> {
    /// Interprets the events in their order; the calls that they begin join the live ones.
    pub(super) fn interpret(
        project: &'p Project,
        batch: &Batch<'_>,
        calls: &mut LiveCalls,
        submissions: Vec<Submission>,
    ) -> Result<Self, StoreError> {
        let (mut events, mut outcomes) = (Vec::new(), Vec::new());
        for mut submission in submissions {
            assign_call_id(batch, calls, &mut submission.event)?;
            let path_base = project.path_base();
            let mut interpreter = Interpreter { batch, path_base, calls, notices: Vec::new() };
            let effect = interpreter.interpret(&submission)?;
            let notices = interpreter.notices;
            events.push(InterpretedEvent { submission, effect });
            outcomes.push(RecordOutcome { notices, ..RecordOutcome::default() });
        }
        let (rows, gap_notices) = (CallRowMap::new(), Vec::new());
        Ok(Self { project, events, outcomes, rows, is_late: false, gap_notices })
    }

    /// Inserts the rows that the changes of the scan refer to, before any of them is written.
    pub(super) fn prepare_rows(
        &mut self,
        batch: &Batch<'_>,
        observation: &Observation,
        context: &ScanContext<'_>,
    ) -> Result<CallRowMap, StoreError> {
        self.gap_notices = new_gap_notices(batch, observation)?;
        for event in &self.events {
            ensure_event_rows(batch, event, context.calls, &mut self.rows)?;
        }
        let is_late = |event: &InterpretedEvent| {
            event.submission.was_spooled || matches!(event.effect, EventEffect::EndsUnbegun(_))
        };
        self.is_late = self.events.len() > 1
            || self.events.iter().any(is_late)
            || !context.late_calls.is_empty();
        // Changes found now may be later than an event that was spooled, so its checkpoint is of
        // the state that was known before.
        if self.is_late {
            self.make_checkpoints(batch)?;
        }
        Ok(self.rows.clone())
    }

    /// Writes the events and their effects, after the changes that were found with them.
    pub(super) fn record_events(
        &mut self,
        batch: &Batch<'_>,
        calls: &LiveCalls,
        changes: &[Change],
        at: Millis,
    ) -> Result<(), StoreError> {
        if !self.is_late {
            self.make_checkpoints(batch)?;
        }
        for (event, outcome) in self.events.iter().zip(&mut self.outcomes) {
            let (seq, checkpoint) = (batch.next_seq(), outcome.checkpoint);
            let place = EventPlace { calls, rows: &self.rows, seq, checkpoint };
            record_event_effect(batch, event, &place)?;
            outcome.seq = Some(seq);
            let found = FoundWithEvent { calls, changes, is_late: self.is_late, seq };
            ignore_row_damage(record_predicted(batch, event, calls, changes))?;
            ignore_row_damage(record_reads(batch, self.project.root(), event, &found))?;
            outcome.stale = notify_sender(batch, event, calls, &self.project.settings().freshness);
            outcome.feedback = match tell_sender(batch, &event.submission, at, self.project.now()) {
                // Damage of older records must not prevent the recording of new ones.
                Err(StoreError::Row(why)) => {
                    tracing::warn!(why, "feedback for the agent cannot be told");
                    None
                }
                told => told?,
            };
            if let EventEffect::Begins(row) = event.effect
                && outcome.reaction() == Some(StaleReaction::Deny)
            {
                // The call does not happen, so no later change is its work.
                batch.close_call(
                    place.row(row),
                    CallEnd::unreported(CallState::Denied),
                    Stamp { seq, at },
                )?;
            }
            batch.record_key(&event.submission.key, at)?;
            let (name, dialog) = (event.submission.event.name(), &event.submission.event.dialog.0);
            tracing::debug!(event = name, dialog, seq, changes = changes.len());
        }
        batch.expire_keys(at - EVENT_KEY_TTL)
    }

    /// The last event's outcome has the changes and the notices of all of them.
    pub(super) fn add_notices(
        &mut self,
        batch: &Batch<'_>,
        scan: &UncommittedScan<'_>,
        context: &ScanContext<'_>,
    ) -> Result<(), StoreError> {
        if let Some(number) = scan.observation.scan_number {
            state::save_last_scan_number(batch, number)?;
        }
        let Some(last) = self.outcomes.last_mut() else { return Ok(()) };
        last.changes.clone_from(&scan.changes);
        last.notices.append(&mut self.gap_notices);
        last.notices.extend(ignored_files_notice(&scan.observation, context));
        let problem = self.project.settings_problem().map(ToString::to_string);
        last.notices.extend(problem.map(|why| Notice::new(NoticeCode::Settings, why)));
        last.notices.extend(interrupted_notice(batch)?);
        Ok(())
    }

    /// Makes the checkpoints that the events ask for.
    fn make_checkpoints(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let settings = &self.project.settings().checkpoints;
        for (event, outcome) in self.events.iter().zip(&mut self.outcomes) {
            match checkpoint_for_event(batch, &event.submission, settings, self.is_late) {
                Ok(made) => outcome.checkpoint = made.map(|made| made.id),
                // Damage of older records must not prevent the recording of new ones.
                Err(error @ StoreError::Row(_)) => {
                    let message = format!("no checkpoint was made: {error}; see `retake doctor`");
                    outcome.notices.push(Notice::new(NoticeCode::Gap, message));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
