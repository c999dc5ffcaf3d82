//! Power cuts: the scheduled one, and the recorded syncs at which one could happen.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fuser::Errno;

use super::medium::Medium;
use super::serve::Listing;

/// The time of a power cut: at the n-th sync, counted from when it was scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// From 1.
    pub nth: u64,
    /// On which side of it.
    pub side: Side,
}

/// The effect of the sync at which power is cut; either way it was never answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It did not.
    Before,
    /// It did.
    After,
}

/// A sync that happened, and the disk as it was just before it.
#[derive(Clone, Debug)]
pub struct Moment {
    medium: Medium,
    id: u64,
    whole: bool,
    /// Length of the witness file.
    pub said: u64,
}

impl Moment {
    /// The path that was synced.
    pub fn path(&self) -> String {
        self.medium.path_of(self.id)
    }

    /// Returns the disk with a power cut here, before unsynced data is lost.
    pub fn cut(&self, side: Side) -> Medium {
        let mut medium = self.medium.clone();
        if side == Side::After {
            medium.sync(self.id, self.whole);
        }
        medium
    }
}

#[derive(Debug, Default)]
pub(super) struct Shared(Mutex<Power>);

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Power> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
pub(super) struct Power {
    pub(super) medium: Medium,
    pub(super) listings: HashMap<u64, Listing>,
    pub(super) syncs: u64,
    /// The number of the sync at which the power fails.
    cut: Option<Cut>,
    off: bool,
    witness: Option<PathBuf>,
    pub(super) moments: Vec<Moment>,
    handles: u64,
}

impl Power {
    pub(super) fn is_off(&self) -> bool {
        self.off
    }

    /// A disk with power and nothing ordered.
    pub(super) fn restart(&mut self, medium: Medium) {
        let syncs = self.syncs;
        *self = Self { medium, syncs, ..Self::default() };
    }

    pub(super) fn order(&mut self, cut: Cut) {
        self.cut = Some(Cut { nth: self.syncs + cut.nth, ..cut });
    }

    pub(super) fn watch(&mut self, witness: PathBuf) {
        self.witness = Some(witness);
        self.moments.clear();
    }

    pub(super) fn new_handle(&mut self) -> u64 {
        self.handles += 1;
        self.handles
    }

    pub(super) fn sync(&mut self, id: u64, whole: bool) -> Result<(), Errno> {
        self.syncs += 1;
        if let Some(witness) = &self.witness {
            let said = std::fs::metadata(witness).map_or(0, |known| known.len());
            self.moments.push(Moment { medium: self.medium.clone(), id, whole, said });
        }
        let cut = self.cut.filter(|cut| cut.nth == self.syncs);
        if cut.is_none_or(|cut| cut.side == Side::After) {
            self.medium.sync(id, whole);
        }
        self.off = cut.is_some();
        if self.off { Err(Errno::EIO) } else { Ok(()) }
    }
}
