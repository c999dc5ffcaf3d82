//! Submits events to a project: one, or under load several that become durable together.
//!
//! Each event has its own scan and its own batch, as if it had come alone; they share the lock and
//! the commit. Invariants: nothing is acknowledged before that commit; events are recorded in the
//! order of submission; an event that fails is spooled, and recorded before the one that follows
//! it.

use retake_model::{Event, EventKind, Millis};
use retake_store::{Lock, StoreError};
use serde::{Deserialize, Serialize};

use crate::arrival::Arrived;
use crate::project::Project;
use crate::record::{RecordError, Recorded};
use crate::shared_look::Arrival;

/// An event that is submitted for recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    /// Idempotency key: the event counts once, even if it is also given to a
    /// [`Keeper`](crate::Keeper) because the host cannot wait longer.
    pub key: String,
    /// The event.
    pub event: Event,
    /// Time at which the event arrived.
    pub at: Millis,
    /// The kinds of reply that the sender can act on.
    pub hears: Hears,
    /// Time until which the sender waits for the reply; `None` for no limit. Compared with the
    /// host's clock, see [`Project::set_clock`].
    #[serde(default)]
    pub deadline: Option<Millis>,
}

/// The kinds of reply that the sender of an event can act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hears {
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

impl Parcel {
    /// An event whose sender reads notes, but does not act on denials.
    pub fn new(key: impl Into<String>, event: Event, at: Millis) -> Self {
        Self { key: key.into(), event, at, hears: Hears::default(), deadline: None }
    }
}

impl Project {
    /// Records an event and everything that has changed until now.
    ///
    /// Once this returns, all of it survives a kill and power loss. If the lock of the project
    /// cannot be acquired in time, the event is spooled and recorded later.
    pub fn record(&self, event: &Event, at: Millis) -> Result<Recorded, RecordError> {
        self.record_once(&self.keeper().new_key(at), event, at)
    }

    /// Like [`Project::record`], for an event that the host may also give to a
    /// [`Keeper`](crate::Keeper) because it cannot wait longer: the idempotency key makes it count
    /// once.
    pub fn record_once(
        &self,
        key: &str,
        event: &Event,
        at: Millis,
    ) -> Result<Recorded, RecordError> {
        self.take(&Parcel::new(key, event.clone(), at))
    }

    /// Records one event; the reply contains what its sender can act on.
    pub fn take(&self, parcel: &Parcel) -> Result<Recorded, RecordError> {
        self.record_all(std::slice::from_ref(parcel)).pop().unwrap_or(Ok(Recorded::default()))
    }

    /// Records several events in a row under one lock and with one commit; returns the outcome of
    /// each, in their order.
    ///
    /// The caller chooses how many: other processes wait for the lock meanwhile.
    pub fn record_all(&self, parcels: &[Parcel]) -> Vec<Result<Recorded, RecordError>> {
        // Before recording: the call that an event ends is still open then.
        let relays: Vec<_> = parcels.iter().map(|parcel| self.relay(&parcel.event)).collect();
        let mut results = self.record_here(parcels);
        for (result, relay) in results.iter_mut().zip(relays) {
            if let (Ok(recorded), Ok(relay)) = (result, relay) {
                recorded.relay = relay;
            }
        }
        results
    }

    fn record_here(&self, parcels: &[Parcel]) -> Vec<Result<Recorded, RecordError>> {
        // Without the lock. If the answer is not known yet, it is decided under the lock.
        if parcels.iter().all(|parcel| self.says_nothing_new(&parcel.event).unwrap_or(false)) {
            return parcels.iter().map(|_| Ok(Recorded::default())).collect();
        }
        if self.writable().is_err() {
            return parcels.iter().map(|parcel| self.keep_unwritable(parcel)).collect();
        }
        let arrival = self.arrival();
        match Lock::acquire(self.store().folder(), self.settings().wait.event()) {
            Ok(Some(_lock)) => self.record_locked(parcels, arrival),
            Ok(None) => self.keep_all(parcels, "the project is in use"),
            Err(error) => self.keep_all(parcels, &error.to_string()),
        }
    }

    /// The caller holds the lock.
    pub(crate) fn record_locked(
        &self,
        parcels: &[Parcel],
        arrival: Option<Arrival>,
    ) -> Vec<Result<Recorded, RecordError>> {
        let mut results = Vec::with_capacity(parcels.len());
        while let Some((first, _)) = parcels[results.len()..].split_first() {
            let rest = &parcels[results.len()..];
            match self.catch_up(first.at).and_then(|()| self.record_group(rest, arrival)) {
                Ok((recorded, failure)) => {
                    results.extend(recorded.into_iter().map(Ok));
                    if let Some(error) = failure {
                        let failed = &parcels[results.len()];
                        results.push(self.keep_for_later(failed, &error.to_string()));
                    }
                }
                Err(error) => results.extend(self.keep_all(rest, &error.to_string())),
            }
        }
        results
    }

    /// Records as many of these as fit into one group, up to one that fails; returns their
    /// outcomes, and the error of the one after them.
    fn record_group(
        &self,
        parcels: &[Parcel],
        arrival: Option<Arrival>,
    ) -> Result<(Vec<Recorded>, Option<StoreError>), StoreError> {
        let group = self.store().group()?;
        let (mut recorded, mut failure) = (Vec::new(), None);
        for parcel in parcels {
            match self.record_parcel(parcel, arrival) {
                Ok(result) => recorded.push(result),
                Err(error) => failure = Some(error),
            }
            if failure.is_some() || group.is_large() {
                break;
            }
        }
        // What the scans of these events found is not on record.
        group.commit().inspect_err(|_| self.look_again())?;
        Ok((recorded, failure))
    }

    fn record_parcel(
        &self,
        parcel: &Parcel,
        arrival: Option<Arrival>,
    ) -> Result<Recorded, StoreError> {
        // It may have been drained from the spool just now, or an earlier event made it redundant.
        if self.store().spool_taken(&parcel.key)? || self.says_nothing_new(&parcel.event)? {
            return Ok(Recorded::default());
        }
        let arrived = Arrived::now(parcel, arrival);
        let mut results = self.record_arrived(vec![arrived], parcel.at)?;
        Ok(results.pop().unwrap_or_default())
    }

    fn keep_all(&self, parcels: &[Parcel], why: &str) -> Vec<Result<Recorded, RecordError>> {
        parcels.iter().map(|parcel| self.keep_for_later(parcel, why)).collect()
    }

    /// Spools the event, and returns the reason why the store cannot be written.
    fn keep_unwritable(&self, parcel: &Parcel) -> Result<Recorded, RecordError> {
        let kept = self.keep_for_later(parcel, "nothing can be recorded")?;
        self.writable()?;
        Ok(kept)
    }

    /// Returns true if an event is only about calls that have ended: nearly every end of several
    /// calls at once, for agents that also report each single end.
    fn says_nothing_new(&self, event: &Event) -> Result<bool, StoreError> {
        let EventKind::ToolsOver { calls } = &event.what else { return Ok(false) };
        for call in calls {
            if self.is_open(&event.dialog, call)? {
                return Ok(false);
            }
        }
        Ok(self.spool().is_empty())
    }
}
