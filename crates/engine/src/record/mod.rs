//! Records events: an event arrives, the project is scanned, the changes are recorded.
//!
//! Content, changes, manifest and event rows are one transaction: either the event is acknowledged
//! and everything it showed can be restored, or it did not happen and the next scan finds the same
//! again. An event that finds the project locked is spooled and recorded, in order, by the next
//! holder of the lock.

mod call_lifecycle;
mod caller_guard;
pub(crate) mod checkpoint;
pub(crate) mod event_rows;
mod notices;
mod recording;
pub(crate) mod relay;
pub(crate) mod spool;
pub(crate) mod submit;
mod title;
pub(crate) mod transcript;

use retake_model::{CallId, Change, DialogId, Millis, ObjectId};
use retake_store::{AgentCall, CallState, FileLock, StoreError};
use serde::{Deserialize, Serialize};

use crate::calls::live_calls::LiveCalls;
use crate::error::RecordError;
use crate::freshness::{StaleContext, StaleReaction};
use crate::project::Project;
use crate::record::caller_guard::CallerGuard;
use crate::record::recording::Recording;
use crate::record::relay::EventRelay;
use crate::scan::context::ScanContext;
use crate::scan::request::{ScanStart, ScanTrigger};
use crate::submission::{Notice, Submission};

/// Outcome of recording an event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordOutcome {
    /// Its sequence number in the journal; none if it is spooled, or redundant.
    pub seq: Option<u64>,
    /// The changes that its scan found.
    pub changes: Vec<Change>,
    /// The checkpoint that was made before it, if it asks for one.
    pub checkpoint: Option<ObjectId>,
    /// Notices for the sender.
    pub notices: Vec<Notice>,
    /// Files that changed since the agent read them. If the reaction is to deny, the call must not
    /// happen, and counts as one that did not.
    #[serde(default)]
    pub stale: Option<StaleContext>,
    /// What the agent is told about its work, in the person's name; from here on it counts as told.
    #[serde(default)]
    pub feedback: Option<String>,
    /// The other projects that the event concerns; the caller submits it there as well.
    #[serde(default)]
    pub relay: Option<EventRelay>,
}

impl RecordOutcome {
    /// Returns the reaction to files that changed since the agent read them.
    pub fn reaction(&self) -> Option<StaleReaction> {
        self.stale.as_ref().map(|stale| stale.reaction)
    }
}

impl Project {
    /// Returns true if a call has begun and not ended, according to the record.
    pub fn is_open(&self, dialog: &DialogId, call: &CallId) -> Result<bool, StoreError> {
        let known = self.store().call(dialog, call)?;
        Ok(known.is_some_and(|call| call.state == CallState::Open))
    }

    /// The agents of the calls that can still do something, according to the record.
    pub fn agent_calls(&self) -> Result<Vec<AgentCall>, StoreError> {
        self.store().agent_calls()
    }

    /// Acquires the project's lock for a command, which waits longer than an event.
    pub(crate) fn acquire_lock(&self) -> Result<FileLock, RecordError> {
        self.check_writable()?;
        let lock =
            FileLock::acquire(self.store().folder(), self.settings().wait.command_timeout())?;
        lock.ok_or_else(|| self.locked_error())
    }

    /// Records events in one transaction, with everything that has changed until now; the caller
    /// holds the lock.
    pub(crate) fn record_submissions(
        &self,
        submissions: Vec<Submission>,
        at: Millis,
    ) -> Result<Vec<RecordOutcome>, StoreError> {
        if submissions.is_empty() {
            return Ok(Vec::new());
        }
        let _caller = CallerGuard::for_submissions(self, &submissions);
        let mut batch = self.store().batch()?;
        let mut calls = LiveCalls::load(self, &batch, at)?;
        let mut recording = Recording::interpret(self, &batch, &mut calls, submissions)?;
        let mut context = ScanContext::for_events(self, &batch, &recording.events, &calls)?;
        let start = ScanStart { trigger: ScanTrigger::Requested, at };
        let mut scan = self.scan(
            &mut batch,
            &mut context,
            start,
            &mut |_, _| {},
            &mut |batch, seen, context| recording.prepare_rows(batch, seen, context),
        )?;
        recording.record_events(&batch, &calls, &scan.changes, at)?;
        recording.add_notices(&batch, &scan, &context)?;
        batch.commit()?;
        self.scan_committed(&mut scan, start);
        Ok(recording.outcomes)
    }
}
