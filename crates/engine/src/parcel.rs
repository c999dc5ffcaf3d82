//! Handing events in: one, or under load several that become durable together.
//!
//! Each event has its own look and its own batch, as if it had come alone; what they share is the
//! lock and the commit. Invariants: nothing is acknowledged before that commit; the order is that of
//! the parcels; an event that fails is spooled, and taken in before the one that follows it.

use retake_model::{Event, EventKind, Millis};
use retake_store::{Lock, StoreError};
use serde::{Deserialize, Serialize};

use crate::arrival::Arrived;
use crate::project::Project;
use crate::record::{RecordError, Recorded};
use crate::shared_look::Arrival;

/// An event on its way in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    /// By this it counts once, even if it is also given to a [`Keeper`](crate::Keeper) because the
    /// host cannot wait any longer.
    pub key: String,
    /// The event.
    pub event: Event,
    /// When it came.
    pub at: Millis,
    /// What its sender can be told.
    pub hears: Hears,
    /// Until when its sender waits for the answer; none is for as long as it takes. Compared with
    /// the host's clock, see [`Project::set_clock`].
    #[serde(default)]
    pub deadline: Option<Millis>,
}

/// What the sender of an event understands of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hears {
    /// Nothing.
    Nothing,
    /// What its model should know.
    #[default]
    Notes,
    /// That a call is denied, and why: then it does not happen.
    Denials,
    /// The same; but what its model should know of a call, it hears at the call's end. What the
    /// call has overwritten by then is not told.
    DenialsAndLateNotes,
}

impl Parcel {
    /// An event whose sender gets an answer, but does not let itself be denied anything.
    pub fn new(key: impl Into<String>, event: Event, at: Millis) -> Self {
        Self { key: key.into(), event, at, hears: Hears::default(), deadline: None }
    }
}

impl Project {
    /// Records an event and everything that has changed until now.
    ///
    /// Once this returns, all of it survives a kill and power loss. If the project
    /// is locked for too long, the event is kept durably and taken in later.
    pub fn record(&self, event: &Event, at: Millis) -> Result<Recorded, RecordError> {
        self.record_once(&self.keeper().new_key(at), event, at)
    }

    /// Like [`Project::record`], for an event that the host may also give to a
    /// [`Keeper`](crate::Keeper) because it cannot wait any longer: by its key it counts once.
    pub fn record_once(
        &self,
        key: &str,
        event: &Event,
        at: Millis,
    ) -> Result<Recorded, RecordError> {
        self.take(&Parcel::new(key, event.clone(), at))
    }

    /// Records one event, and gives as much of an answer as its sender understands.
    pub fn take(&self, parcel: &Parcel) -> Result<Recorded, RecordError> {
        self.record_all(std::slice::from_ref(parcel)).pop().unwrap_or(Ok(Recorded::default()))
    }

    /// Records several events in a row under one lock and with one commit; gives what came of each,
    /// in their order.
    ///
    /// How many is the caller's choice: others wait for the lock meanwhile.
    pub fn record_all(&self, parcels: &[Parcel]) -> Vec<Result<Recorded, RecordError>> {
        // Asked before: the call that an event ends is known until then.
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
        // Without waiting for a lock. What cannot be answered now is found out with it.
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

    /// Records as many of these as fit into one group, up to one that fails; gives what came of
    /// them, and why the one after them failed.
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
        // What was seen for these events is not on record.
        group.commit().inspect_err(|_| self.look_again())?;
        Ok((recorded, failure))
    }

    fn record_parcel(
        &self,
        parcel: &Parcel,
        arrival: Option<Arrival>,
    ) -> Result<Recorded, StoreError> {
        // It may have come out of the spool just now, or an event before it has said it all.
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

    /// It is kept, but the host is told why nothing can be recorded.
    fn keep_unwritable(&self, parcel: &Parcel) -> Result<Recorded, RecordError> {
        let kept = self.keep_for_later(parcel, "nothing can be recorded")?;
        self.writable()?;
        Ok(kept)
    }

    /// Whether an event is only about calls that have ended: nearly every end of several calls
    /// at once, for agents that also tell each single end.
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
