//! Replays reads and changes from the record into what an agent knows of a file.

use retake_model::{
    Actor, AgentId, Change, ChangeId, DialogId, FileKind, ObjectId, ProjectPath, Side,
};
use retake_store::{Maker, PathStep, Sighting, Store, StoreError};

use super::announced::{is_announced, parted};
use super::knowledge::Knowledge;

/// Maximum latest changes of a file that are replayed line by line.
pub(crate) const MOST_STEPS: usize = 500;
/// Maximum renames that are followed back; a file moved more often counts as a new one.
const MOST_MOVES: usize = 8;

/// An agent of a dialog.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knower<'a> {
    pub(crate) dialog: &'a DialogId,
    pub(crate) agent: &'a AgentId,
    /// Whether a formatter's rewrite of what it wrote counts as another actor's change.
    pub(crate) minds_formatters: bool,
    /// Maximum steps since its last whole read that are replayed line by line.
    pub(crate) most_steps: usize,
}

impl Knower<'_> {
    /// Returns whether this agent made the change, or may have.
    pub(crate) fn made(&self, change: &Change) -> bool {
        if change.actor != Actor::Agent || (self.minds_formatters && change.joins.is_some()) {
            return false;
        }
        let alone = change.dialog.as_ref() == Some(self.dialog)
            && change.agent.as_ref() == Some(self.agent);
        let among = change.candidates.iter();
        alone
            || among
                .into_iter()
                .any(|call| call.dialog == *self.dialog && call.agent == *self.agent)
    }

    /// Replays what it knows of a file now; none if the content is what it last read or wrote and
    /// no other actor took part: then no replay is needed, however often it changed it.
    pub(super) fn doubts(
        &self,
        store: &Store,
        path: &ProjectPath,
    ) -> Result<Option<Knowledge>, StoreError> {
        let past = self.past(store, path, u64::MAX)?;
        let entry = store.manifest_entry(path)?;
        let now = entry.map_or(Side::Absent, |entry| entry.stored.into());
        if past.is_own() && past.is_last(store, &now)? {
            return Ok(None);
        }
        let mut known = self.follow(store, path, past, MOST_MOVES)?;
        // The record has a gap: the content differs, but not by a recorded change.
        if known.now.is_some_and(|last| content(&last) != content(&now)) && known.is_some() {
            known.unclear.get_or_insert_default();
        }
        known.now = Some(now);
        Ok(Some(known))
    }

    /// Loads the reads and changes of a file that matter to the agent, before `until`.
    fn past(&self, store: &Store, path: &ProjectPath, until: u64) -> Result<Past, StoreError> {
        let (dialog, agent) = (self.dialog, self.agent);
        let sights = store.sights_since_whole(dialog, agent, path, until)?;
        let from = sights.first().filter(|sight| is_whole(sight)).map_or(0, |sight| sight.seq);
        // One more than are replayed: it marks where line tracking begins.
        let most = self.most_steps + 1;
        let mut steps = store.newest_steps_of(path, (from, until), (dialog, agent), most)?;
        let lost = (steps.len() == most).then(|| steps.remove(0).seq);
        // Others' changes before its first read or change do not matter to it.
        let first_look = sights.first().map_or(u64::MAX, |sight| sight.seq);
        let matters = |step: &PathStep| step.maker != Maker::Others || step.seq > first_look;
        let start = steps.iter().position(matters).unwrap_or(steps.len());
        Ok(Past { sights, lost, steps: steps.split_off(start) })
    }

    /// Replays the reads and changes, following renames back up to `moves` times.
    fn follow(
        &self,
        store: &Store,
        path: &ProjectPath,
        past: Past,
        moves: usize,
    ) -> Result<Knowledge, StoreError> {
        let mut sights = past.sights.into_iter().peekable();
        let mut known = Knowledge::default();
        if let Some(lost) = past.lost {
            while let Some(sight) = sights.next_if(|sight| sight.seq <= lost) {
                known.look(&sight);
            }
            known.lose_track(ChangeId(lost));
        }
        for step in past.steps.into_iter().map(|step| step.seq) {
            while let Some(sight) = sights.next_if(|sight| sight.seq < step) {
                known.look(&sight);
            }
            let Some(change) = store.change(ChangeId(step))? else { continue };
            if !self.made(&change) {
                known.suffer(&change, path);
                continue;
            }
            // A file that it moved keeps what it knew under the old path.
            if change.path == *path
                && let Some(old) = change.old_path.as_ref().filter(|_| moves > 0)
            {
                known = self.follow(store, old, self.past(store, old, step)?, moves - 1)?;
            }
            match sights.next_if(|sight| sight.seq == step && is_announced(sight)) {
                None => known.write(&change, path),
                Some(announced) => {
                    let [own, rest] = parted(store, &change, announced.side)?;
                    known.write(&own, path);
                    known.suffer(&rest, path);
                }
            }
        }
        sights.for_each(|sight| known.look(&sight));
        Ok(known)
    }
}

/// Reads and changes of a file that matter to an agent: the input of a replay.
struct Past {
    /// Its reads since it last read the whole file, that one included.
    sights: Vec<Sighting>,
    /// The newest of the changes that are too old to be replayed.
    lost: Option<u64>,
    /// The changes since.
    steps: Vec<PathStep>,
}

impl Past {
    /// Returns whether all of it is the agent's own doing.
    fn is_own(&self) -> bool {
        let is_plain = |sight: &Sighting| sight.dates.is_none() && !is_announced(sight);
        self.sights.iter().all(is_plain) && self.steps.iter().all(|step| step.maker == Maker::Own)
    }

    /// Returns whether the agent's last read or change is the current content; also if there is
    /// none.
    fn is_last(&self, store: &Store, now: &Side) -> Result<bool, StoreError> {
        let last = match (self.steps.last(), self.sights.last()) {
            (None, None) => return Ok(true),
            (Some(step), sight) if sight.is_none_or(|sight| sight.seq < step.seq) => {
                store.change(ChangeId(step.seq))?.map(|change| change.after)
            }
            (_, sight) => sight.map(|sight| sight.side),
        };
        Ok(last.is_some_and(|last| content(&last) == content(now)))
    }
}

/// Returns whether a read covers the whole file.
fn is_whole(sight: &Sighting) -> bool {
    sight.lines.is_none() && sight.dates.is_none() && !is_announced(sight)
}

fn content(side: &Side) -> Option<(FileKind, ObjectId)> {
    side.known().map(|state| (state.kind, state.oid))
}
