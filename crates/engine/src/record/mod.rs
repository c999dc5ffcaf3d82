//! Records events: an event arrives, the project is scanned, the changes are recorded.
//!
//! Content, changes, manifest and event rows are one transaction: either the event is acknowledged
//! and everything it showed can be restored, or it did not happen and the next scan finds the same
//! again. An event that finds the project locked is spooled and recorded, in order, by the next
//! holder of the lock.

pub(crate) mod checkpoint;
pub(crate) mod neighbours;
pub(crate) mod spool;
pub(crate) mod submit;
pub(crate) mod transcript;

use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use retake_model::{
    Actor, CallId, Change, DialogId, Gap, Millis, ObjectId, Operation, PathState, ProjectPath,
};
use retake_store::{Batch, CallState, FileLock, StoreError};

use crate::attribution::git_evidence::GitEvidence;
use crate::attribution::own_operation::OwnOperation;
use crate::attribution::rename::{AttributedStep, pair_renames};
use crate::attribution::repository::ProjectRepository;
use crate::attribution::rules::{Attribution, AttributionContext};
use crate::calls::call_id::assign_call_id;
use crate::calls::interpret::{
    EventEffect, LiveCalls, ReceivedEvent, ensure_event_rows, record_event_effect,
};
use crate::freshness::{
    StaleContext, StaleReaction, ignore_row_damage, notify_sender, record_predicted, record_reads,
};
use crate::project::Project;
use crate::record::neighbours::{EventRelay, NeighbourClaim, NeighbourJournals};
use crate::scan::context::ScanContext;
use crate::scan::observation::{Observation, ObservedChange, ScanScope};
use crate::scan::refresh::{ScanStart, ScanTrigger};
use crate::scan::rows::CallRowMap;
use crate::scan::stat_cache;
use crate::scan::state;
use crate::settings::CheckpointSettings;

/// TTL of the idempotency keys of recorded events: for this long an event may still enter or leave
/// the spool.
const EVENT_KEY_TTL: Millis = 60 * 60 * 1000;
/// Maximum gaps named in the reply to an event; more are only counted.
const MAX_GAP_NOTICES: usize = 5;

/// Outcome of recording an event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordOutcome {
    /// Its sequence number in the journal; none if it is spooled, or redundant.
    pub seq: Option<u64>,
    /// The changes that its scan found.
    pub changes: Vec<Change>,
    /// The checkpoint that was made before it, if it asks for one.
    pub checkpoint: Option<ObjectId>,
    /// Notices for the sender.
    pub notices: Vec<Notice>,
    /// Files that changed since the agent read them. If the reaction is to deny, the call must not
    /// happen, and counts as one that did not.
    #[serde(default)]
    pub stale: Option<StaleContext>,
    /// The other projects that the event concerns; the caller submits it there as well.
    #[serde(default)]
    pub relay: Option<EventRelay>,
}

impl RecordOutcome {
    /// Returns the reaction to files that changed since the agent read them.
    pub fn reaction(&self) -> Option<StaleReaction> {
        self.stale.as_ref().map(|stale| stale.reaction)
    }
}

/// A notice for the sender of an event; the event was recorded all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Kind of notice.
    pub code: NoticeCode,
    /// For people.
    pub message: String,
}

impl Notice {
    pub(crate) fn new(code: NoticeCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Kinds of [`Notice`]s, stable in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoticeCode {
    /// A tool names a path outside of the project.
    OutsideProject,
    /// An end without a begin that also does not say what it ends.
    UnknownCall,
    /// A begin of a call that is open.
    DuplicateBegin,
    /// An end of a call that has ended.
    DuplicateEnd,
    /// The settings cannot be used; the defaults are in force.
    Settings,
    /// The event could not be recorded now; it is spooled and will be recorded later.
    Spooled,
    /// Something is not protected.
    Gap,
    /// A command made files that rules leave out: they are not recorded.
    Ignored,
    /// An operation was interrupted and waits for the person's decision.
    Interrupted,
}

impl NoticeCode {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutsideProject => "outside_project",
            Self::UnknownCall => "unknown_call",
            Self::DuplicateBegin => "duplicate_begin",
            Self::DuplicateEnd => "duplicate_end",
            Self::Settings => "settings",
            Self::Spooled => "spooled",
            Self::Gap => "gap",
            Self::Ignored => "ignored",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Reason why an event or a scan could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Another folder stands at the project's path.
    #[error("{0} is another folder than the one that was recorded here")]
    Replaced(String),
    /// The project's folder is gone.
    #[error("the folder {0} is not there any more")]
    Gone(String),
    /// The store cannot be written.
    #[error("the store {0} cannot be written, so nothing is recorded")]
    ReadOnly(String),
    /// Another process holds the project.
    #[error("the project is in use by process {0} and did not become free in time")]
    Locked(String),
    /// The settings cannot be used, and nothing is removed by guesswork.
    #[error("nothing was removed: {0}")]
    Settings(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Progress of a scan: files read, files to read.
pub type ScanProgress<'a> = &'a mut dyn FnMut(usize, usize);

impl Project {
    /// Returns true if a call has begun and not ended, according to the record.
    pub fn is_open(&self, dialog: &DialogId, call: &CallId) -> Result<bool, StoreError> {
        let known = self.store().call(dialog, call)?;
        Ok(known.is_some_and(|call| call.state == CallState::Open))
    }

    /// Acquires the project's lock for a command, which waits longer than an event.
    pub(crate) fn acquire_lock(&self) -> Result<FileLock, RecordError> {
        self.check_writable()?;
        let lock =
            FileLock::acquire(self.store().folder(), self.settings().wait.command_timeout())?;
        lock.ok_or_else(|| self.locked_error())
    }

    pub(crate) fn record_received(
        &self,
        mut arrived: Vec<ReceivedEvent>,
        at: Millis,
    ) -> Result<Vec<RecordOutcome>, StoreError> {
        if arrived.is_empty() {
            return Ok(Vec::new());
        }
        let mut batch = self.store().batch()?;
        let mut calls = LiveCalls::load(self, &batch, at)?;
        let mut meanings = Vec::new();
        let mut results = Vec::new();
        for arrived in &mut arrived {
            let mut notices = Vec::new();
            assign_call_id(&batch, &calls, &mut arrived.event)?;
            meanings.push(calls.interpret(&batch, self.path_base(), arrived, &mut notices)?);
            results.push(RecordOutcome { notices, ..RecordOutcome::default() });
        }
        let events: Vec<_> = arrived.iter().zip(meanings.iter().copied()).collect();
        let mut occasion = ScanContext::for_events(self, &batch, &events, &calls)?;
        let settings = &self.settings().checkpoints;
        let (mut new_gaps, mut rows, mut late) = (Vec::new(), CallRowMap::new(), false);
        let before_rows = &mut |batch: &Batch<'_>, seen: &Observation, now: &ScanContext<'_>| {
            new_gaps = new_gap_notices(batch, seen)?;
            for (arrived, meaning) in arrived.iter().zip(&meanings) {
                ensure_event_rows(batch, arrived, *meaning, &calls, &mut rows)?;
            }
            // Changes found now may be later than an event that was spooled, so its checkpoint is
            // of the state that was known before.
            let is_late = |meaning: &EventEffect| matches!(meaning, EventEffect::EndsUnbegun(_));
            late = arrived.len() > 1
                || arrived.iter().any(|arrived| arrived.was_spooled)
                || meanings.iter().any(is_late)
                || !now.late_calls.is_empty();
            if late {
                for (arrived, result) in arrived.iter().zip(&mut results) {
                    make_checkpoint(batch, arrived, settings, late, result)?;
                }
            }
            Ok(rows.clone())
        };
        let scanning = ScanStart { why: ScanTrigger::Requested, at };
        let mut sight =
            self.scan(&mut batch, &mut occasion, scanning, &mut |_, _| {}, before_rows)?;
        let changes = std::mem::take(&mut sight.changes);
        if let Some(number) = sight.observation.scan_number {
            state::save_last_scan_number(&batch, number)?;
        }
        let freshness = &self.settings().freshness;
        for ((arrived, meaning), result) in arrived.iter().zip(&meanings).zip(&mut results) {
            if !late {
                make_checkpoint(&batch, arrived, settings, late, result)?;
            }
            let (seq, before) = (batch.next_seq(), result.checkpoint);
            record_event_effect(&batch, arrived, *meaning, (&calls, &rows), (seq, before))?;
            result.seq = Some(seq);
            let what = (arrived, *meaning);
            ignore_row_damage(record_predicted(&batch, what, &calls, &changes))?;
            ignore_row_damage(record_reads(
                &batch,
                self.root(),
                what,
                &calls,
                (&changes, late),
                seq,
            ))?;
            result.stale = notify_sender(&batch, (arrived, *meaning), &calls, freshness);
            if let (EventEffect::Begins(row), Some(StaleReaction::Deny)) =
                (*meaning, result.reaction())
            {
                // The call does not happen, so no later change is its work.
                let row = rows.get(&row).copied().unwrap_or(row);
                batch.close_call(row, CallState::Denied, None, seq, at)?;
            }
            if let Some(key) = &arrived.key {
                batch.record_key(key, at)?;
            }
        }
        batch.expire_keys(at - EVENT_KEY_TTL)?;
        if let Some(last) = results.last_mut() {
            last.changes.clone_from(&changes);
            last.notices.extend(new_gaps);
            last.notices.extend(ignored_files_notice(&sight.observation, &occasion));
            let problem = self.settings_problem().map(ToString::to_string);
            last.notices.extend(problem.map(|why| Notice::new(NoticeCode::Settings, why)));
            last.notices.extend(interrupted_notice(&batch)?);
        }
        batch.commit()?;
        sight.changes = changes;
        self.scan_committed(&mut sight, ScanTrigger::Requested, at);
        for (arrived, result) in arrived.iter().zip(&results) {
            let (event, dialog) = (arrived.event.name(), arrived.event.dialog.0.as_str());
            tracing::debug!(event, dialog, seq = result.seq, changes = result.changes.len());
        }
        Ok(results)
    }

    pub(crate) fn attribute(
        &self,
        batch: &Batch<'_>,
        observation: &Observation,
        occasion: &ScanContext<'_>,
    ) -> Result<(Vec<AttributedStep>, GitEvidence), StoreError> {
        if observation.changes.is_empty() {
            return Ok((Vec::new(), GitEvidence::default()));
        }
        let own = OwnOperation::load_unfinished(batch)?;
        let known_git = state::load_git_state(batch)?;
        let gather = || match &occasion.request.scope {
            // Such a scan does not save git's state, because more of what git did is still to be
            // found; but what it finds may be a part of that.
            ScanScope::Paths(_) => {
                let now = ProjectRepository::find_around(self.root())
                    .and_then(|around| around.git_state());
                GitEvidence::gather(self.root(), known_git.as_ref(), now.as_ref(), None)
            }
            ScanScope::Everything => {
                let (old, new) = (observation.old_git.as_ref(), observation.git.as_ref());
                GitEvidence::gather(self.root(), old, new, observation.index.clone())
            }
        };
        // Where calls predict every change, git's record is not read.
        let git = OnceCell::new();
        let before: HashMap<_, _> =
            observation.changes.iter().map(|seen| (&seen.path, seen.before)).collect();
        let state_before = |path: &ProjectPath| match before.get(path) {
            Some(side) => *side,
            // Not among the changes: it matches the manifest.
            None => match batch.manifest_entry(path) {
                Ok(entry) => entry.map_or(PathState::Absent, |entry| entry.state.into()),
                Err(_) => PathState::Unknown,
            },
        };
        // Read only where an edit tool works on a file whose mode has changed.
        let inode_before =
            |path: &ProjectPath| stat_cache::last_read_inode(batch, path).ok().flatten();
        let folder_changed_ns =
            |path: &ProjectPath| self.workspace().folder_changed_ns(path.parent().as_ref());
        let scene = AttributionContext {
            folder_changed_ns: &folder_changed_ns,
            calls: &occasion.calls.live,
            beginning: occasion.beginning,
            ending: occasion.ending,
            first_seen: &|path| self.first_seen(path),
            limits: &occasion.limits,
            git: &|| git.get_or_init(gather),
            state_before: &state_before,
            inode_before: &inode_before,
        };
        let mut attributed = Vec::with_capacity(observation.changes.len());
        for seen in &observation.changes {
            if own.is_temp(&seen.path) || is_leftover_temp(batch, &seen.path)? {
                continue;
            }
            match own.attribute(seen) {
                Some(attribution) => attributed.push((seen.clone(), attribution)),
                None => attributed.extend(scene.attribute_steps(batch, seen)?),
            }
        }
        self.apply_neighbour_claims(&mut attributed);
        Ok((pair_renames(batch, attributed)?, git.into_inner().unwrap_or_default()))
    }

    /// Attributes unclaimed changes to operations of Retake in projects that contain this one or
    /// lie in it.
    fn apply_neighbour_claims(&self, attributed: &mut Vec<(ObservedChange, Attribution)>) {
        let mut others = NeighbourJournals::new(self);
        let mut temporary = HashSet::new();
        for (seen, by) in attributed.iter_mut().filter(|(_, by)| by.actor == Actor::User) {
            match others.claim(seen) {
                NeighbourClaim::None => {}
                NeighbourClaim::Written => *by = Attribution::by_neighbour_operation(),
                NeighbourClaim::Temporary => {
                    temporary.insert(seen.path.clone());
                }
            }
        }
        attributed.retain(|(seen, _)| !temporary.contains(&seen.path));
    }
}

/// Makes the checkpoint that an event asks for.
fn make_checkpoint(
    batch: &Batch<'_>,
    arrived: &ReceivedEvent,
    settings: &CheckpointSettings,
    late: bool,
    result: &mut RecordOutcome,
) -> Result<(), StoreError> {
    match checkpoint::checkpoint_for_event(batch, arrived, settings, late) {
        Ok(made) => result.checkpoint = made.map(|made| made.id),
        // Damage of older records must not prevent the recording of new ones.
        Err(error @ StoreError::Row(_)) => {
            let message = format!("no checkpoint was made: {error}; see `retake doctor`");
            result.notices.push(Notice::new(NoticeCode::Gap, message));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Notice of ignored files that were created while a call was open: they are in no change and no
/// checkpoint.
fn ignored_files_notice(observation: &Observation, occasion: &ScanContext<'_>) -> Option<Notice> {
    let call = occasion.calls.live.iter().find(|live| occasion.may_have_changed_files(live))?;
    // A folder that contains recorded files is not ignored.
    let is_left_out =
        |path: &&ProjectPath| !observation.changes.iter().any(|seen| seen.path.is_beneath(path));
    let made: Vec<_> = observation.new_ignored.iter().filter(is_left_out).collect();
    let names: Vec<_> = made.iter().take(MAX_GAP_NOTICES).map(ToString::to_string).collect();
    let more = made.len().saturating_sub(MAX_GAP_NOTICES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (command, names) = (call.describe(), names.join(", "));
    let message = format!("ignored, so not recorded, although `{command}` made it: {names}{rest}");
    (!made.is_empty()).then(|| Notice::new(NoticeCode::Ignored, message))
}

/// Returns true if a file is a temporary one of an operation that could not remove it.
fn is_leftover_temp(batch: &Batch<'_>, path: &ProjectPath) -> Result<bool, StoreError> {
    Ok(retake_workspace::is_temp_name(path.file_name()) && batch.is_step_temp(path)?)
}

/// Until it is finished or taken back nothing else can be undone, so each reply has the notice.
fn interrupted_notice(batch: &Batch<'_>) -> Result<Option<Notice>, StoreError> {
    let told = |operation: Operation| {
        let Operation { id, title, .. } = operation;
        let message = format!("operation {id} ({title}) was interrupted; see `retake recover`");
        Notice::new(NoticeCode::Interrupted, message)
    };
    Ok(batch.unfinished_operation()?.map(told))
}

/// A gap is reported once, when it opens; after that `status` lists it, as it does if there are
/// many.
fn new_gap_notices(
    batch: &Batch<'_>,
    observation: &Observation,
) -> Result<Vec<Notice>, StoreError> {
    if observation.gaps.is_empty() {
        return Ok(Vec::new());
    }
    let on_record = batch.gaps()?;
    let known: HashSet<_> = on_record.iter().map(|(gap, _)| (&gap.path, gap.reason)).collect();
    let is_new = |gap: &&Gap| !known.contains(&(&gap.path, gap.reason));
    let new: Vec<_> = observation.gaps.iter().filter(is_new).collect();
    let text = |gap: &&Gap| {
        let (path, reason) = (&gap.path, gap.reason.as_str());
        format!("{path} is not protected ({reason}): {}", gap.detail)
    };
    let more = new.len().saturating_sub(MAX_GAP_NOTICES);
    let rest = format!("{more} more are not protected; see `retake status`");
    let told = new.iter().take(MAX_GAP_NOTICES).map(text).chain((more > 0).then_some(rest));
    Ok(told.map(|message| Notice::new(NoticeCode::Gap, message)).collect())
}
