//! How many versions are kept of what a person is busy with.
//!
//! The watcher sees each time a file is saved, and each piece that a running command writes. Of
//! what it alone saw, at most one version per path and minute is kept; the rest waits until a
//! minute has passed, or until somebody asks: a tool begins, a message comes, a verb runs. That a
//! file went away is always told at once. Nothing waits when git's own record has moved: what it
//! tells of files counts at one look only.

use std::collections::{BTreeSet, HashMap};

use retake_model::{Actor, Change, Millis, ProjectPath};

use crate::look::Why;

const A_MINUTE: Millis = 60_000;

/// What a look does about versions that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// It looks at those that are due; others join them.
    GoesOn,
    /// It looks at all of them.
    Ends,
}

/// What was kept lately, and what waits.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Paths whose newest change was found by a look that nobody asked for, and when.
    kept: HashMap<ProjectPath, (Millis, Actor)>,
    later: BTreeSet<ProjectPath>,
}

impl Pace {
    /// The paths of which no other version is kept yet.
    pub(crate) fn spared(&self, at: Millis) -> BTreeSet<ProjectPath> {
        self.kept.keys().filter(|path| !self.is_due(path, at)).cloned().collect()
    }

    /// Whether nothing waits, and nothing would.
    pub(crate) fn is_idle(&self) -> bool {
        self.kept.is_empty() && self.later.is_empty()
    }

    /// What waits.
    pub(crate) fn later(&self) -> impl Iterator<Item = &ProjectPath> {
        self.later.iter()
    }

    /// What waits and need not wait any longer.
    pub(crate) fn due(&self, at: Millis) -> Vec<ProjectPath> {
        self.later.iter().filter(|path| self.is_due(path, at)).cloned().collect()
    }

    /// When the first of what waits is due.
    pub(crate) fn next(&self) -> Option<Millis> {
        let due = |path| self.kept.get(path).map_or(0, |(kept, _)| kept + A_MINUTE);
        self.later.iter().map(due).min()
    }

    fn is_due(&self, path: &ProjectPath, at: Millis) -> bool {
        // A clock that was set back must not make anything wait for long.
        !self.kept.get(path).is_some_and(|(kept, _)| (0..A_MINUTE).contains(&(at - kept)))
    }

    /// A look was committed that made these changes and left these paths out; one at single paths
    /// does nothing about what waits.
    pub(crate) fn note(
        &mut self,
        (waiting, why): (Option<Waiting>, Why),
        changes: &[Change],
        spared: &[ProjectPath],
        at: Millis,
    ) {
        match waiting {
            None => {}
            Some(Waiting::Ends) => self.later.clear(),
            Some(Waiting::GoesOn) => {
                let waits_on = |path: &&ProjectPath| !self.is_due(path, at);
                self.later = self.later.iter().filter(waits_on).cloned().collect();
            }
        }
        self.later.extend(spared.iter().cloned());
        for change in changes {
            match (why, change.actor) {
                (Why::Around, Actor::User | Actor::Agent) if change.after.is_absent() => {}
                (Why::Around, Actor::User | Actor::Agent) => {
                    self.kept.insert(change.path.clone(), (at, change.actor));
                }
                _ => {
                    self.kept.remove(&change.path);
                }
            }
        }
        // A tool ended, say: whatever comes now is not the rest of what an agent was writing.
        let goes_on = |actor| why == Why::Around || actor != Actor::Agent;
        let is_recent = |kept: Millis| (0..A_MINUTE).contains(&(at - kept));
        self.kept.retain(|_, (kept, actor)| is_recent(*kept) && goes_on(*actor));
    }
}
