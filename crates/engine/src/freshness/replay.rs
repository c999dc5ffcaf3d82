//! Replays reads and changes from the record into what an agent knows of a file.

use retake_model::{
    Actor, AgentRef, CandidateCall, Change, ChangeId, FileKind, ObjectId, PathState, ProjectPath,
};
use retake_store::{AgentAuthorship, FileRead, PathStep, SeqRange, Store, StoreError};

use super::knowledge::FileKnowledge;
use super::predicted::{is_predicted, split_at_prediction};

use crate::settings::FreshnessSettings;

/// Maximum latest changes of a file that are replayed line by line.
pub(crate) const MAX_REPLAYED_STEPS: usize = 500;
/// Maximum renames that are followed back; a file moved more often counts as a new one.
const MAX_FOLLOWED_MOVES: usize = 8;

/// Determines what one agent knows of files, from its reads and everyone's changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentKnowledge<'a> {
    pub(super) reader: AgentRef<'a>,
    /// Whether a formatter's rewrite of what it wrote counts as another actor's change.
    pub(crate) formatters_are_foreign: bool,
    /// Maximum steps since its last whole read that are replayed line by line.
    pub(crate) max_steps: usize,
}

impl AgentKnowledge<'_> {
    /// Returns whether this agent made the change, or may have.
    pub(crate) fn is_own_change(&self, change: &Change) -> bool {
        if change.actor != Actor::Agent || (self.formatters_are_foreign && change.joins.is_some()) {
            return false;
        }
        let AgentRef { dialog, agent } = self.reader;
        let is_sole_author =
            change.dialog.as_ref() == Some(dialog) && change.agent.as_ref() == Some(agent);
        let is_its_call = |call: &CandidateCall| call.dialog == *dialog && call.agent == *agent;
        is_sole_author || change.candidates.iter().any(is_its_call)
    }

    /// Replays what it knows of a file now; none if the content is what it last read or wrote and
    /// no other actor took part: then no replay is needed, however often it changed it.
    pub(super) fn replay_if_changed(
        &self,
        store: &Store,
        path: &ProjectPath,
    ) -> Result<Option<FileKnowledge>, StoreError> {
        let input = self.load_replay_input(store, path, u64::MAX)?;
        let entry = store.manifest_entry(path)?;
        let now = entry.map_or(PathState::Absent, |entry| entry.state.into());
        if input.is_own() && input.ends_with(store, &now)? {
            return Ok(None);
        }
        let mut known = self.replay(store, path, input, MAX_FOLLOWED_MOVES)?;
        // The record has a gap: the content differs, but not by a recorded change.
        if known.now.is_some_and(|last| content_id(&last) != content_id(&now)) && known.is_known() {
            known.unclear.get_or_insert_default();
        }
        known.now = Some(now);
        Ok(Some(known))
    }

    /// Loads the reads and changes of a file that matter to the agent, before `until`.
    fn load_replay_input(
        &self,
        store: &Store,
        path: &ProjectPath,
        until: u64,
    ) -> Result<ReplayInput, StoreError> {
        let AgentRef { dialog, agent } = self.reader;
        let reads = store.file_reads_since_whole(dialog, agent, path, until)?;
        let from = reads.first().filter(|read| is_whole_read(read)).map_or(0, |read| read.seq);
        // One more than are replayed: it marks where line tracking begins.
        let limit = self.max_steps + 1;
        let between = SeqRange { after: from, before: until };
        let mut steps = store.newest_path_steps(path, between, self.reader, limit)?;
        let skipped_until = (steps.len() == limit).then(|| steps.remove(0).seq);
        // Others' changes before its first read or change do not matter to it. One at the very
        // `seq` of a read replaced what the agent wrote.
        let first_read = reads.first().map_or(u64::MAX, |read| read.seq);
        let matters =
            |step: &PathStep| step.authorship != AgentAuthorship::Others || step.seq >= first_read;
        let start = steps.iter().position(matters).unwrap_or(steps.len());
        Ok(ReplayInput { reads, skipped_until, steps: steps.split_off(start) })
    }

    /// Replays the reads and changes, following renames back up to `moves` times.
    fn replay(
        &self,
        store: &Store,
        path: &ProjectPath,
        input: ReplayInput,
        moves: usize,
    ) -> Result<FileKnowledge, StoreError> {
        let mut reads = input.reads.into_iter().peekable();
        let mut known = FileKnowledge::default();
        if let Some(skipped_until) = input.skipped_until {
            while let Some(read) = reads.next_if(|read| read.seq <= skipped_until) {
                known.apply_read(&read);
            }
            known.lose_track_at(ChangeId(skipped_until));
        }
        for step in input.steps.into_iter().map(|step| step.seq) {
            while let Some(read) = reads.next_if(|read| read.seq < step) {
                known.apply_read(&read);
            }
            let Some(change) = store.change(ChangeId(step))? else { continue };
            let is_own = self.is_own_change(&change);
            // A file that it moved keeps what it knew under the old path.
            if is_own
                && change.path == *path
                && let Some(old) = change.old_path.as_ref().filter(|_| moves > 0)
            {
                known =
                    self.replay(store, old, self.load_replay_input(store, old, step)?, moves - 1)?;
            }
            match reads.next_if(|read| read.seq == step && is_predicted(read)) {
                None if is_own => known.apply_own_change(&change, path),
                None => known.apply_foreign_change(&change, path),
                Some(predicted) => {
                    let [own, rest] = split_at_prediction(store, &change, predicted.side)?;
                    known.apply_own_change(&own, path);
                    known.apply_foreign_change(&rest, path);
                }
            }
        }
        reads.for_each(|read| known.apply_read(&read));
        Ok(known)
    }
}

/// Reads and changes of a file that matter to an agent: the input of a replay.
struct ReplayInput {
    /// Its reads since it last read the whole file, that one included.
    reads: Vec<FileRead>,
    /// The newest of the changes that are too old to be replayed.
    skipped_until: Option<u64>,
    /// The changes since.
    steps: Vec<PathStep>,
}

impl ReplayInput {
    /// Returns whether all of it is the agent's own doing.
    fn is_own(&self) -> bool {
        let is_plain = |read: &FileRead| read.dates.is_none() && !is_predicted(read);
        self.reads.iter().all(is_plain)
            && self.steps.iter().all(|step| step.authorship == AgentAuthorship::Own)
    }

    /// Returns whether the agent's last read or change is the current content; also if there is
    /// none.
    fn ends_with(&self, store: &Store, now: &PathState) -> Result<bool, StoreError> {
        let last = match (self.steps.last(), self.reads.last()) {
            (None, None) => return Ok(true),
            (Some(step), read) if read.is_none_or(|read| read.seq < step.seq) => {
                store.change(ChangeId(step.seq))?.map(|change| change.after)
            }
            (_, read) => read.map(|read| read.side),
        };
        Ok(last.is_some_and(|last| content_id(&last) == content_id(now)))
    }
}

/// Returns whether a read covers the whole file.
fn is_whole_read(read: &FileRead) -> bool {
    read.lines.is_none() && read.dates.is_none() && !is_predicted(read)
}

fn content_id(side: &PathState) -> Option<(FileKind, ObjectId)> {
    side.known().map(|state| (state.kind, state.oid))
}

impl FreshnessSettings {
    /// Returns the knowledge of an agent, replayed by these settings.
    pub(super) fn knowledge_of<'a>(&self, reader: AgentRef<'a>) -> AgentKnowledge<'a> {
        AgentKnowledge {
            reader,
            formatters_are_foreign: self.formatters,
            max_steps: MAX_REPLAYED_STEPS,
        }
    }
}
