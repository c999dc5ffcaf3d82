//! From the record to what an agent knows of a file.

use retake_model::{Actor, AgentId, Change, ChangeId, DialogId, ProjectPath, Side};
use retake_store::{Sighting, Store, StoreError};

use super::announced::{is_announced, parted};
use super::knowledge::Knowledge;

/// Of more steps since the agent's last whole look, only the last ones are followed line by line.
const MOST_STEPS: usize = 500;
/// A file that was moved so often is another one.
const MOST_MOVES: usize = 8;

/// An agent of a dialog.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knower<'a> {
    pub(crate) dialog: &'a DialogId,
    pub(crate) agent: &'a AgentId,
    /// Whether a formatter's rewrite of what it wrote counts as somebody else's.
    pub(crate) minds_formatters: bool,
}

impl Knower<'_> {
    /// Whether this agent made the change, or may have.
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

    /// What it knows of a file now.
    pub(super) fn knows(&self, store: &Store, path: &ProjectPath) -> Result<Knowledge, StoreError> {
        let mut known = self.knew(store, path, u64::MAX, MOST_MOVES)?;
        let entry = store.manifest_entry(path)?;
        let now = entry.map_or(Side::Absent, |entry| entry.stored.into());
        let content = |side: &Side| side.known().map(|state| (state.kind, state.oid));
        // The record has a hole; all that is known is that the file is another one.
        if known.now.is_some_and(|last| content(&last) != content(&now)) && known.is_some() {
            known.unclear.get_or_insert_default();
        }
        known.now = Some(now);
        Ok(known)
    }

    /// What it knew of a file after the steps before this place.
    fn knew(
        &self,
        store: &Store,
        path: &ProjectPath,
        until: u64,
        moves: usize,
    ) -> Result<Knowledge, StoreError> {
        let sights = store.sights_since_whole(self.dialog, self.agent, path, until)?;
        let is_whole = |sight: &Sighting| {
            sight.lines.is_none() && sight.dates.is_none() && !is_announced(sight)
        };
        let from = sights.first().filter(|sight| is_whole(sight)).map_or(0, |sight| sight.seq);
        let mut sights = sights.into_iter().peekable();
        let mut steps = store.steps_of(path, from)?;
        steps.retain(|step| *step < until);
        let skipped = steps.len().saturating_sub(MOST_STEPS);
        let mut known = Knowledge::default();
        if let Some(&last) = steps[..skipped].last() {
            while let Some(sight) = sights.next_if(|sight| sight.seq <= last) {
                known.look(&sight);
            }
            known.lose_track(ChangeId(last));
        }
        for step in steps.into_iter().skip(skipped) {
            while let Some(sight) = sights.next_if(|sight| sight.seq < step) {
                known.look(&sight);
            }
            let Some(change) = store.change(ChangeId(step))? else { continue };
            if !self.made(&change) {
                known.suffer(&change, path);
                continue;
            }
            // What it moves, it knows there as it knew it before.
            if change.path == *path
                && let Some(old) = change.old_path.as_ref().filter(|_| moves > 0)
            {
                known = self.knew(store, old, step, moves - 1)?;
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
