//! Throttles the versions that are recorded of files that a person is editing.
//!
//! The watcher sees each save of a file, and each piece that a running command writes. Of what it
//! alone saw, at most one version per path and minute is recorded; the rest is deferred until a
//! minute has passed, or until a scan is requested: a tool begins, a message comes, a verb runs. A
//! deletion is always recorded at once. Nothing is deferred when git's own record has changed: its
//! evidence about files counts at one scan only.

use std::collections::{BTreeSet, HashMap};

use retake_model::{Actor, Change, Millis, ProjectPath};

use crate::scan::request::{ScanStart, ScanTrigger};

/// Minimum time between two versions of a path that only the watcher saw.
const VERSION_INTERVAL: Millis = 60_000;

/// Treatment of deferred versions by a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeferralMode {
    /// It scans those that are due; others may be deferred.
    DueOnly,
    /// It scans all of them.
    Flush,
}

/// Recently recorded versions, and deferred paths.
#[derive(Debug, Default)]
pub(crate) struct VersionThrottle {
    /// Paths whose newest change was found by a watcher-triggered scan, and when.
    recent: HashMap<ProjectPath, (Millis, Actor)>,
    pending: BTreeSet<ProjectPath>,
}

impl VersionThrottle {
    /// The paths of which no new version is recorded yet.
    pub(crate) fn deferred_paths(&self, at: Millis) -> BTreeSet<ProjectPath> {
        self.recent.keys().filter(|path| !self.is_due(path, at)).cloned().collect()
    }

    /// Returns true if nothing is deferred, and nothing would be.
    pub(crate) fn is_idle(&self) -> bool {
        self.recent.is_empty() && self.pending.is_empty()
    }

    /// The deferred paths.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &ProjectPath> {
        self.pending.iter()
    }

    /// The deferred paths that are due.
    pub(crate) fn due(&self, at: Millis) -> Vec<ProjectPath> {
        self.pending.iter().filter(|path| self.is_due(path, at)).cloned().collect()
    }

    /// Time at which the first deferred path is due.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        let due =
            |path| self.recent.get(path).map_or(0, |(recorded, _)| recorded + VERSION_INTERVAL);
        self.pending.iter().map(due).min()
    }

    fn is_due(&self, path: &ProjectPath, at: Millis) -> bool {
        // A clock that was set back must not defer anything for long.
        let is_recent =
            |(recorded, _): &(Millis, Actor)| (0..VERSION_INTERVAL).contains(&(at - recorded));
        !self.recent.get(path).is_some_and(is_recent)
    }

    /// Updates the state after a committed scan with these changes and deferred paths; one of
    /// single paths leaves the deferred ones alone.
    pub(crate) fn update(
        &mut self,
        deferral: Option<DeferralMode>,
        start: ScanStart,
        changes: &[Change],
        deferred: &[ProjectPath],
    ) {
        let ScanStart { trigger, at } = start;
        match deferral {
            None => {}
            Some(DeferralMode::Flush) => self.pending.clear(),
            Some(DeferralMode::DueOnly) => {
                let stays = |path: &&ProjectPath| !self.is_due(path, at);
                self.pending = self.pending.iter().filter(stays).cloned().collect();
            }
        }
        self.pending.extend(deferred.iter().cloned());
        for change in changes {
            match (trigger, change.actor) {
                (ScanTrigger::Watcher, Actor::User | Actor::Agent) if change.after.is_absent() => {}
                (ScanTrigger::Watcher, Actor::User | Actor::Agent) => {
                    self.recent.insert(change.path.clone(), (at, change.actor));
                }
                _ => {
                    self.recent.remove(&change.path);
                }
            }
        }
        // A tool ended, say: later changes are not the rest of what an agent was writing.
        let goes_on = |actor| trigger == ScanTrigger::Watcher || actor != Actor::Agent;
        let is_recent = |recorded: Millis| (0..VERSION_INTERVAL).contains(&(at - recorded));
        self.recent.retain(|_, (recorded, actor)| is_recent(*recorded) && goes_on(*actor));
    }
}
