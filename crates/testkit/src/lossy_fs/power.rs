//! Power cuts: the scheduled one, and the recorded syncs at which one could happen.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fuser::Errno;

use super::fuse::DirListing;
use super::medium::DiskImage;

/// The time of a power cut: at the n-th sync, counted from when it was scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// From 1.
    pub nth: u64,
    /// On which side of it.
    pub side: CutSide,
}

/// The effect of the sync at which power is cut; either way it was never answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutSide {
    /// It did not.
    Before,
    /// It did.
    After,
}

/// A sync that happened, and the disk as it was just before it.
#[derive(Clone, Debug)]
pub struct SyncPoint {
    medium: DiskImage,
    id: u64,
    whole: bool,
    /// Length of the witness file.
    pub witness_bytes: u64,
}

impl SyncPoint {
    /// The path that was synced.
    pub fn path(&self) -> String {
        self.medium.path_of(self.id)
    }

    /// Returns the disk with a power cut here, before unsynced data is lost.
    pub fn medium_after_cut(&self, side: CutSide) -> DiskImage {
        let mut medium = self.medium.clone();
        if side == CutSide::After {
            medium.sync(self.id, self.whole);
        }
        medium
    }
}

#[derive(Debug, Default)]
pub(super) struct SharedPower(Mutex<PowerState>);

impl SharedPower {
    pub(super) fn lock(&self) -> MutexGuard<'_, PowerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
pub(super) struct PowerState {
    pub(super) medium: DiskImage,
    pub(super) listings: HashMap<u64, DirListing>,
    pub(super) syncs: u64,
    /// The number of the sync at which the power fails.
    cut: Option<PowerCut>,
    off: bool,
    witness: Option<PathBuf>,
    pub(super) sync_points: Vec<SyncPoint>,
    handles: u64,
}

impl PowerState {
    pub(super) fn is_off(&self) -> bool {
        self.off
    }

    /// A disk with power and nothing ordered.
    pub(super) fn restart(&mut self, medium: DiskImage) {
        let syncs = self.syncs;
        *self = Self { medium, syncs, ..Self::default() };
    }

    pub(super) fn schedule_cut(&mut self, cut: PowerCut) {
        self.cut = Some(PowerCut { nth: self.syncs + cut.nth, ..cut });
    }

    pub(super) fn record_syncs(&mut self, witness: PathBuf) {
        self.witness = Some(witness);
        self.sync_points.clear();
    }

    pub(super) fn new_handle(&mut self) -> u64 {
        self.handles += 1;
        self.handles
    }

    pub(super) fn sync(&mut self, id: u64, whole: bool) -> Result<(), Errno> {
        self.syncs += 1;
        if let Some(witness) = &self.witness {
            let said = std::fs::metadata(witness).map_or(0, |known| known.len());
            self.sync_points.push(SyncPoint {
                medium: self.medium.clone(),
                id,
                whole,
                witness_bytes: said,
            });
        }
        let cut = self.cut.filter(|cut| cut.nth == self.syncs);
        if cut.is_none_or(|cut| cut.side == CutSide::After) {
            self.medium.sync(id, whole);
        }
        self.off = cut.is_some();
        if self.off { Err(Errno::EIO) } else { Ok(()) }
    }
}
