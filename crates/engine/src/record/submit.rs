//! Submits events to a project: one, or under load several that become durable together.
//!
//! Each event has its own scan and its own batch, as if it had come alone; they share the lock and
//! the commit. Invariants: nothing is acknowledged before that commit; events are recorded in the
//! order of submission; an event that fails is spooled, and recorded before the one that follows
//! it.

use retake_model::{Event, EventKind, Millis};
use retake_store::{FileLock, StoreError};
use serde::{Deserialize, Serialize};

use crate::calls::interpret::ReceivedEvent;
use crate::project::Project;
use crate::record::{RecordError, RecordOutcome};
use crate::scan::shared_scan::ScanTicket;

/// An event that is submitted for recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Idempotency key: the event counts once, even if it is also given to a
    /// [`Keeper`](crate::SpoolWriter) because the host cannot wait longer.
    pub key: String,
    /// The event.
    pub event: Event,
    /// Time at which the event arrived.
    pub at: Millis,
    /// The kinds of reply that the sender can act on.
    #[serde(alias = "hears")]
    pub reply_support: ReplySupport,
    /// Time until which the sender waits for the reply; `None` for no limit. Compared with the
    /// host's clock, see [`Project::set_clock`].
    #[serde(default)]
    pub deadline: Option<Millis>,
}

/// The kinds of reply that the sender of an event can act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplySupport {
    /// Nothing.
    Nothing,
    /// Notes for its model.
    #[default]
    Notes,
    /// Denials of a call, with the reason: the call then does not happen.
    Denials,
    /// Denials; notes for its model about a call are delivered at the call's end. Notes about
    /// content that the call has overwritten by then are dropped.
    DenialsAndLateNotes,
}

impl Submission {
    /// An event whose sender reads notes, but does not act on denials.
    pub fn new(key: impl Into<String>, event: Event, at: Millis) -> Self {
        Self { key: key.into(), event, at, reply_support: ReplySupport::default(), deadline: None }
    }
}

impl Project {
    /// Records an event and everything that has changed until now.
    ///
    /// Once this returns, all of it survives a kill and power loss. If the lock of the project
    /// cannot be acquired in time, the event is spooled and recorded later.
    pub fn record(&self, event: &Event, at: Millis) -> Result<RecordOutcome, RecordError> {
        self.record_once(&self.spool_writer().new_key(at), event, at)
    }

    /// Like [`Project::record`], for an event that the host may also give to a
    /// [`Keeper`](crate::SpoolWriter) because it cannot wait longer: the idempotency key makes it count
    /// once.
    pub fn record_once(
        &self,
        key: &str,
        event: &Event,
        at: Millis,
    ) -> Result<RecordOutcome, RecordError> {
        self.submit(&Submission::new(key, event.clone(), at))
    }

    /// Records one event; the reply contains what its sender can act on.
    pub fn submit(&self, parcel: &Submission) -> Result<RecordOutcome, RecordError> {
        self.submit_all(std::slice::from_ref(parcel)).pop().unwrap_or(Ok(RecordOutcome::default()))
    }

    /// Records several events in a row under one lock and with one commit; returns the outcome of
    /// each, in their order.
    ///
    /// The caller chooses how many: other processes wait for the lock meanwhile.
    pub fn submit_all(&self, parcels: &[Submission]) -> Vec<Result<RecordOutcome, RecordError>> {
        // Before recording: the call that an event ends is still open then.
        let relays: Vec<_> = parcels.iter().map(|parcel| self.relay_for(&parcel.event)).collect();
        let mut results = self.submit_here(parcels);
        for (result, relay) in results.iter_mut().zip(relays) {
            if let (Ok(recorded), Ok(relay)) = (result, relay) {
                recorded.relay = relay;
            }
        }
        results
    }

    fn submit_here(&self, parcels: &[Submission]) -> Vec<Result<RecordOutcome, RecordError>> {
        // Without the lock. If the answer is not known yet, it is decided under the lock.
        if parcels.iter().all(|parcel| self.is_redundant(&parcel.event).unwrap_or(false)) {
            return parcels.iter().map(|_| Ok(RecordOutcome::default())).collect();
        }
        if self.check_writable().is_err() {
            return parcels.iter().map(|parcel| self.spool_unwritable(parcel)).collect();
        }
        let arrival = self.scan_ticket();
        match FileLock::acquire(self.store().folder(), self.settings().wait.event_timeout()) {
            Ok(Some(_lock)) => self.record_locked(parcels, arrival),
            Ok(None) => self.spool_all(parcels, "the project is in use"),
            Err(error) => self.spool_all(parcels, &error.to_string()),
        }
    }

    /// The caller holds the lock.
    pub(crate) fn record_locked(
        &self,
        parcels: &[Submission],
        arrival: Option<ScanTicket>,
    ) -> Vec<Result<RecordOutcome, RecordError>> {
        let mut results = Vec::with_capacity(parcels.len());
        while let Some((first, _)) = parcels[results.len()..].split_first() {
            let rest = &parcels[results.len()..];
            match self.catch_up(first.at).and_then(|()| self.record_group(rest, arrival)) {
                Ok((recorded, failure)) => {
                    results.extend(recorded.into_iter().map(Ok));
                    if let Some(error) = failure {
                        let failed = &parcels[results.len()];
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
        parcels: &[Submission],
        arrival: Option<ScanTicket>,
    ) -> Result<(Vec<RecordOutcome>, Option<StoreError>), StoreError> {
        let group = self.store().group()?;
        let (mut recorded, mut failure) = (Vec::new(), None);
        for parcel in parcels {
            match self.record_submission(parcel, arrival) {
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
        parcel: &Submission,
        arrival: Option<ScanTicket>,
    ) -> Result<RecordOutcome, StoreError> {
        // It may have been drained from the spool just now, or an earlier event made it redundant.
        if self.store().is_key_recorded(&parcel.key)? || self.is_redundant(&parcel.event)? {
            return Ok(RecordOutcome::default());
        }
        let arrived = ReceivedEvent::from_submission(parcel, arrival);
        let mut results = self.record_received(vec![arrived], parcel.at)?;
        Ok(results.pop().unwrap_or_default())
    }

    fn spool_all(
        &self,
        parcels: &[Submission],
        why: &str,
    ) -> Vec<Result<RecordOutcome, RecordError>> {
        parcels.iter().map(|parcel| self.spool_event(parcel, why)).collect()
    }

    /// Spools the event, and returns the reason why the store cannot be written.
    fn spool_unwritable(&self, parcel: &Submission) -> Result<RecordOutcome, RecordError> {
        let kept = self.spool_event(parcel, "nothing can be recorded")?;
        self.check_writable()?;
        Ok(kept)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_support_is_accepted_by_its_old_name_and_written_by_the_new_one() {
        let submission = Submission {
            reply_support: ReplySupport::Denials,
            ..Submission::new("k1", Event::new("d1", EventKind::DialogEnd {}), 1)
        };
        let new = serde_json::to_value(&submission).unwrap();
        assert_eq!(new["reply_support"], "denials");
        let mut old = new;
        let fields = old.as_object_mut().unwrap();
        let value = fields.remove("reply_support").unwrap();
        fields.insert("hears".to_owned(), value);
        assert_eq!(serde_json::from_value::<Submission>(old).unwrap(), submission);
    }
}
