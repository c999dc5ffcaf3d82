//! Submits events to a project: one, or under load several that become durable together.
//!
//! Each event has its own scan and its own batch, as if it had come alone; they share the lock and
//! the commit. Invariants: nothing is acknowledged before that commit; events are recorded in the
//! order of submission; an event that fails is spooled, and recorded before the one that follows
//! it.

use retake_model::{Event, EventKind, Millis};
use retake_store::{FileLock, StoreError};

use crate::error::RecordError;
use crate::project::Project;
use crate::record::RecordOutcome;
use crate::submission::{ScanTicket, Submission};

impl Project {
    /// Records an event and everything that has changed until now.
    ///
    /// Once this returns, all of it survives a kill and power loss. If the lock of the project
    /// cannot be acquired in time, the event is spooled and recorded later.
    pub fn record(&self, event: &Event, at: Millis) -> Result<RecordOutcome, RecordError> {
        self.record_once(&self.spool_writer().new_key(at), event, at)
    }

    /// Like [`Project::record`], for an event that the host may also give to a
    /// [`SpoolWriter`](crate::SpoolWriter) because it cannot wait longer: the idempotency key makes
    /// it count once.
    pub fn record_once(
        &self,
        key: &str,
        event: &Event,
        at: Millis,
    ) -> Result<RecordOutcome, RecordError> {
        self.submit(&Submission::new(key, event.clone(), at))
    }

    /// Records one event; the reply contains what its sender can act on.
    pub fn submit(&self, submission: &Submission) -> Result<RecordOutcome, RecordError> {
        self.submit_all(std::slice::from_ref(submission))
            .pop()
            .unwrap_or(Ok(RecordOutcome::default()))
    }

    /// Records several events in a row under one lock and with one commit; returns the outcome of
    /// each, in their order.
    ///
    /// The caller chooses how many: other processes wait for the lock meanwhile.
    pub fn submit_all(
        &self,
        submissions: &[Submission],
    ) -> Vec<Result<RecordOutcome, RecordError>> {
        // Before recording: the call that an event ends is still open then.
        let others = self.neighbours();
        let relay = |submission: &Submission| self.relay_for(&submission.event, &others);
        let relays: Vec<_> = submissions.iter().map(relay).collect();
        let mut results = self.submit_here(submissions);
        for (result, relay) in results.iter_mut().zip(relays) {
            if let (Ok(recorded), Ok(relay)) = (result, relay) {
                recorded.relay = relay;
            }
        }
        results
    }

    fn submit_here(&self, submissions: &[Submission]) -> Vec<Result<RecordOutcome, RecordError>> {
        // Without the lock. If the answer is not known yet, it is decided under the lock.
        if submissions
            .iter()
            .all(|submission| self.is_redundant(&submission.event).unwrap_or(false))
        {
            return submissions.iter().map(|_| Ok(RecordOutcome::default())).collect();
        }
        if self.check_writable().is_err() {
            return submissions
                .iter()
                .map(|submission| self.spool_unwritable(submission))
                .collect();
        }
        let ticket = self.scan_ticket();
        match FileLock::acquire(self.store().folder(), self.settings().wait.event_timeout()) {
            Ok(Some(_lock)) => self.record_locked(submissions, ticket),
            Ok(None) => self.spool_all(submissions, "the project is in use"),
            Err(error) => self.spool_all(submissions, &error.to_string()),
        }
    }

    /// The caller holds the lock.
    pub(crate) fn record_locked(
        &self,
        submissions: &[Submission],
        ticket: Option<ScanTicket>,
    ) -> Vec<Result<RecordOutcome, RecordError>> {
        let mut results = Vec::with_capacity(submissions.len());
        while let Some((first, _)) = submissions[results.len()..].split_first() {
            let rest = &submissions[results.len()..];
            match self.catch_up(first.at).and_then(|()| self.record_group(rest, ticket)) {
                Ok((recorded, failure)) => {
                    results.extend(recorded.into_iter().map(Ok));
                    if let Some(error) = failure {
                        let failed = &submissions[results.len()];
                        results.push(self.spool_event(failed, &error.to_string()));
                    }
                }
                Err(error) => results.extend(self.spool_all(rest, &error.to_string())),
            }
        }
        results
    }

    /// Records as many of these as fit into one group, up to one that fails; returns their
    /// outcomes, and the error of the one after them.
    fn record_group(
        &self,
        submissions: &[Submission],
        ticket: Option<ScanTicket>,
    ) -> Result<(Vec<RecordOutcome>, Option<StoreError>), StoreError> {
        let group = self.store().group()?;
        let (mut recorded, mut failure) = (Vec::new(), None);
        for submission in submissions {
            match self.record_submission(submission, ticket) {
                Ok(result) => recorded.push(result),
                Err(error) => failure = Some(error),
            }
            if failure.is_some() || group.is_large() {
                break;
            }
        }
        // What the scans of these events found is not on record.
        group.commit().inspect_err(|_| self.force_full_scan())?;
        Ok((recorded, failure))
    }

    fn record_submission(
        &self,
        submission: &Submission,
        ticket: Option<ScanTicket>,
    ) -> Result<RecordOutcome, StoreError> {
        // It may have been drained from the spool just now, or an earlier event made it redundant.
        if self.store().is_key_recorded(&submission.key)? || self.is_redundant(&submission.event)? {
            return Ok(RecordOutcome::default());
        }
        let submission = Submission { scan_ticket: ticket, ..submission.clone() };
        let at = submission.at;
        Ok(self.record_submissions(vec![submission], at)?.pop().unwrap_or_default())
    }

    fn spool_all(
        &self,
        submissions: &[Submission],
        why: &str,
    ) -> Vec<Result<RecordOutcome, RecordError>> {
        submissions.iter().map(|submission| self.spool_event(submission, why)).collect()
    }

    /// Spools the event, and returns the reason why the store cannot be written.
    fn spool_unwritable(&self, submission: &Submission) -> Result<RecordOutcome, RecordError> {
        let outcome = self.spool_event(submission, "nothing can be recorded")?;
        self.check_writable()?;
        Ok(outcome)
    }

    /// Returns true if an event is only about calls that have ended: nearly every end of several
    /// calls at once, for agents that also report each single end.
    fn is_redundant(&self, event: &Event) -> Result<bool, StoreError> {
        let EventKind::ToolsOver { calls } = &event.what else { return Ok(false) };
        for call in calls {
            if self.is_open(&event.dialog, call)? {
                return Ok(false);
            }
        }
        Ok(self.spool().is_empty())
    }
}
