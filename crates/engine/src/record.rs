//! The way in: an event arrives, the project is looked at, what moved is recorded.
//!
//! Content, changes, manifest and event rows are one transaction: either the
//! event is acknowledged and everything it showed can be restored, or it did not
//! happen and the next look finds the same again. An event that finds the
//! project locked is spooled and taken in, in order, by the next holder.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

use retake_model::{
    CallId, Change, DialogId, Event, EventKind, Gap, Millis, ObjectId, Operation, ProjectPath, Side,
};
use retake_store::{Batch, CallState, Lock, StoreError};

use crate::arrival::{Arrived, Calls, Meaning, conclude, introduce};
use crate::attribute::Scene;
use crate::checkpoint;
use crate::git_evidence::GitEvidence;
use crate::naming::name_call;
use crate::observe::{Observation, Scope, observe};
use crate::occasion::Occasion;
use crate::own_work::OwnWork;
use crate::project::{INITIALISED, Project};
use crate::rename::{Step, pair};
use crate::write::{NewRows, write};

/// An event may still come out of the spool, or go into it, so long after it was recorded.
const KEYS_KEPT: Millis = 60 * 60 * 1000;
/// More gaps than this are only counted in the answer to an event.
const TOLD_GAPS: usize = 5;

/// What came of an event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its place in the project's order; none if it waits in the spool, or says nothing new.
    pub seq: Option<u64>,
    /// The changes that were found on its occasion.
    pub changes: Vec<Change>,
    /// The checkpoint that was made before it, if it asks for one.
    pub checkpoint: Option<ObjectId>,
    /// What the sender should know.
    pub notices: Vec<Notice>,
}

/// Something that the sender of an event should know; the event was taken all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What kind of thing.
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
    /// The event could not be recorded now; it is kept durably and will be taken in.
    Spooled,
    /// Something is not protected.
    Gap,
    /// An operation was interrupted and waits for the person's word.
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
            Self::Interrupted => "interrupted",
        }
    }
}

/// Why an event or a look could not be recorded.
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

/// How far a look has come: files read, files to read.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize);

impl Project {
    /// Records an event and everything that has changed until now.
    ///
    /// Once this returns, all of it survives a kill and power loss. If the project
    /// is locked for too long, the event is kept durably and taken in later.
    pub fn record(&self, event: &Event, at: Millis) -> Result<Recorded, RecordError> {
        self.record_once(&self.keeper().new_key(at), event, at)
    }

    /// Like [`Project::record`], for an event that the host may also give to a [`Keeper`](crate::Keeper) because
    /// it cannot wait any longer: by its key it counts once.
    pub fn record_once(
        &self,
        key: &str,
        event: &Event,
        at: Millis,
    ) -> Result<Recorded, RecordError> {
        if self.says_nothing_new(event)? {
            return Ok(Recorded::default());
        }
        if let Err(error) = self.writable() {
            self.spool().push(key, event, at)?;
            return Err(error);
        }
        let wait = self.settings().wait.event();
        let Some(_lock) = Lock::acquire(self.store().folder(), wait)? else {
            return self.keep_for_later(key, event, at, "the project is in use");
        };
        let arrived =
            Arrived { event: event.clone(), at, key: Some(key.to_owned()), waited: false };
        let recorded = self.catch_up(at).and_then(|()| {
            // It may have come out of the spool just now.
            let taken = self.store().spool_taken(key)?;
            self.record_arrived(if taken { Vec::new() } else { vec![arrived] }, at)
        });
        match recorded {
            Ok(mut results) => Ok(results.pop().unwrap_or_default()),
            Err(error) => self.keep_for_later(key, event, at, &error.to_string()),
        }
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

    /// Whether a call has begun and not ended, as far as that is on record.
    pub fn is_open(&self, dialog: &DialogId, call: &CallId) -> Result<bool, StoreError> {
        let known = self.store().call(dialog, call)?;
        Ok(known.is_some_and(|call| call.state == CallState::Open))
    }

    /// Looks at the whole project and records what has changed, outside of any event.
    pub fn look(&self, at: Millis) -> Result<Looked, RecordError> {
        self.look_with(at, &mut |_, _| {})
    }

    /// Like [`Project::look`], telling how far it has come.
    pub fn look_with(&self, at: Millis, progress: Progress<'_>) -> Result<Looked, RecordError> {
        let _lock = self.hold()?;
        if self.store().meta(INITIALISED)?.is_some() {
            self.take_in_spool(at)?;
            return Ok(self.look_locked(at, progress)?);
        }
        let looked = self.look_locked(at, progress)?;
        self.note_late_baseline(at)?;
        self.take_in_spool(at)?;
        Ok(looked)
    }

    /// Takes the project's lock for a command, which waits longer than an event.
    pub(crate) fn hold(&self) -> Result<Lock, RecordError> {
        self.writable()?;
        let lock = Lock::acquire(self.store().folder(), self.settings().wait.command())?;
        lock.ok_or_else(|| self.locked())
    }

    /// Takes in what waits and looks at everything; the caller holds the lock.
    pub(crate) fn catch_up_and_look(&self, at: Millis) -> Result<Looked, StoreError> {
        self.catch_up(at)?;
        self.look_locked(at, &mut |_, _| {})
    }

    fn look_locked(&self, at: Millis, progress: Progress<'_>) -> Result<Looked, StoreError> {
        self.look_locked_at(None, at, progress)
    }

    /// Looks at these very paths, whatever rules say; at everything if there are none.
    pub(crate) fn look_locked_at(
        &self,
        paths: Option<&[ProjectPath]>,
        at: Millis,
        progress: Progress<'_>,
    ) -> Result<Looked, StoreError> {
        let mut batch = self.store().batch()?;
        let calls = Calls::load(&batch, self.root(), at)?;
        let mut occasion = Occasion::plain(self, &batch, &calls)?;
        if let Some(paths) = paths {
            occasion.request.scope = Scope::Paths(paths.to_vec());
            occasion.request.named = paths.to_vec();
        }
        let observation = observe(&mut batch, &occasion.request, progress)?;
        let (steps, git) = self.attribute(&batch, &observation, &occasion)?;
        let changes = write(&batch, &observation, &steps, &NewRows::new(), &git.actions, at)?;
        if occasion.request.first {
            batch.set_meta(INITIALISED, &at.to_be_bytes())?;
        }
        batch.commit()?;
        Ok(Looked {
            changes,
            ignored: observation.ignored,
            ignored_count: observation.ignored_count,
            scratch: observation.scratch,
            nested_repositories: observation.nested_repositories,
            baseline: observation.baseline.len(),
        })
    }

    /// What must be so before an event counts: there is a baseline, and nothing waits.
    pub(crate) fn catch_up(&self, at: Millis) -> Result<(), StoreError> {
        if self.store().meta(INITIALISED)?.is_none() {
            self.look_locked(at, &mut |_, _| {})?;
            self.note_late_baseline(at)?;
        }
        self.take_in_spool(at)
    }

    pub(crate) fn record_arrived(
        &self,
        mut arrived: Vec<Arrived>,
        at: Millis,
    ) -> Result<Vec<Recorded>, StoreError> {
        if arrived.is_empty() {
            return Ok(Vec::new());
        }
        let mut batch = self.store().batch()?;
        let mut calls = Calls::load(&batch, self.root(), at)?;
        let mut meanings = Vec::new();
        let mut results = Vec::new();
        for arrived in &mut arrived {
            let mut notices = Vec::new();
            name_call(&batch, &calls, &mut arrived.event)?;
            meanings.push(calls.meaning(&batch, self.root(), arrived, &mut notices)?);
            results.push(Recorded { notices, ..Recorded::default() });
        }
        let events: Vec<_> = arrived.iter().zip(meanings.iter().copied()).collect();
        let mut occasion = Occasion::of(self, &batch, &events, &calls)?;
        let mut observation = observe(&mut batch, &occasion.request, &mut |_, _| {})?;
        observation.gaps.append(&mut occasion.gaps);
        let (steps, git) = self.attribute(&batch, &observation, &occasion)?;
        let new_gaps = new_gaps(&batch, &observation)?;
        let mut rows = NewRows::new();
        for (arrived, meaning) in arrived.iter().zip(&meanings) {
            introduce(&batch, arrived, *meaning, &calls, &mut rows)?;
        }
        // What is found now may have come after an event that waited, so its checkpoint is of what
        // was known before.
        let is_late = |meaning: &Meaning| matches!(meaning, Meaning::EndsUnbegun(_));
        let late = arrived.len() > 1
            || arrived.iter().any(|arrived| arrived.waited)
            || meanings.iter().any(is_late);
        let settings = &self.settings().checkpoints;
        let checkpoint = |arrived: &Arrived, result: &mut Recorded| {
            match checkpoint::on_arrival(&batch, arrived, settings, late) {
                Ok(made) => result.checkpoint = made.map(|made| made.id),
                // Damage of what was must not keep anything new from being recorded.
                Err(error @ StoreError::Row(_)) => {
                    let message = format!("no checkpoint was made: {error}; see `retake doctor`");
                    result.notices.push(Notice::new(NoticeCode::Gap, message));
                }
                Err(error) => return Err(error),
            }
            Ok(())
        };
        if late {
            for (arrived, result) in arrived.iter().zip(&mut results) {
                checkpoint(arrived, result)?;
            }
        }
        let changes = write(&batch, &observation, &steps, &rows, &git.actions, at)?;
        for ((arrived, meaning), result) in arrived.iter().zip(&meanings).zip(&mut results) {
            if !late {
                checkpoint(arrived, result)?;
            }
            let (seq, before) = (batch.next_seq(), result.checkpoint);
            conclude(&batch, arrived, *meaning, (&calls, &rows), (seq, before))?;
            result.seq = Some(seq);
            if let Some(key) = &arrived.key {
                batch.take_key(key, at)?;
            }
        }
        batch.forget_keys(at - KEYS_KEPT)?;
        if let Some(last) = results.last_mut() {
            last.changes = changes;
            last.notices.extend(new_gaps);
            let problem = self.settings_problem().map(ToString::to_string);
            last.notices.extend(problem.map(|why| Notice::new(NoticeCode::Settings, why)));
            last.notices.extend(interrupted(&batch)?);
        }
        batch.commit()?;
        for (arrived, result) in arrived.iter().zip(&results) {
            let (event, dialog) = (arrived.event.name(), arrived.event.dialog.0.as_str());
            tracing::debug!(event, dialog, seq = result.seq, changes = result.changes.len());
        }
        Ok(results)
    }

    fn attribute(
        &self,
        batch: &Batch<'_>,
        observation: &Observation,
        occasion: &Occasion<'_>,
    ) -> Result<(Vec<Step>, GitEvidence), StoreError> {
        let own = OwnWork::unfinished(batch)?;
        let (old, new) = (observation.old_git.as_ref(), observation.git.as_ref());
        let git = GitEvidence::gather(self.root(), old, new);
        let before: HashMap<_, _> =
            observation.changes.iter().map(|seen| (&seen.path, seen.before)).collect();
        let state_before = |path: &ProjectPath| match before.get(path) {
            Some(side) => *side,
            // Not among the changes: it is as the manifest says.
            None => match batch.manifest_entry(path) {
                Ok(entry) => entry.map_or(Side::Absent, |entry| entry.stored.into()),
                Err(_) => Side::Unknown,
            },
        };
        let scene = Scene {
            calls: &occasion.calls.live,
            beginning: occasion.beginning,
            limits: &occasion.limits,
            git: &git,
            state_before: &state_before,
        };
        let mut attributed = Vec::with_capacity(observation.changes.len());
        for seen in &observation.changes {
            if own.is_temp(&seen.path) || is_leftover(batch, &seen.path)? {
                continue;
            }
            match own.claims(seen) {
                Some(attribution) => attributed.push((seen.clone(), attribution)),
                None => attributed.extend(scene.steps(batch, seen)?),
            }
        }
        Ok((pair(batch, attributed)?, git))
    }
}

/// Whether a file is a temporary one of an operation that could not remove it.
fn is_leftover(batch: &Batch<'_>, path: &ProjectPath) -> Result<bool, StoreError> {
    Ok(retake_workspace::is_temp_name(path.file_name()) && batch.is_step_temp(path)?)
}

/// Until it is finished or taken back nothing else can be undone, so it is said each time.
fn interrupted(batch: &Batch<'_>) -> Result<Option<Notice>, StoreError> {
    let told = |operation: Operation| {
        let Operation { id, title, .. } = operation;
        let message = format!("operation {id} ({title}) was interrupted; see `retake recover`");
        Notice::new(NoticeCode::Interrupted, message)
    };
    Ok(batch.unfinished()?.map(told))
}

/// What a look at the whole project found.
#[derive(Debug, Serialize, Deserialize)]
pub struct Looked {
    /// The changes that were found.
    pub changes: Vec<Change>,
    /// What rules leave out, with the reason; the first few thousand.
    pub ignored: Vec<retake_workspace::Ignored>,
    /// How many names rules leave out.
    pub ignored_count: u64,
    /// How many files the scratch filter leaves out.
    pub scratch: u64,
    /// Folders that are repositories of their own.
    pub nested_repositories: Vec<ProjectPath>,
    /// How many files came into sight without having changed.
    pub baseline: usize,
}

/// A gap is told of once, when it opens; after that `status` lists it. So it does if they are many.
fn new_gaps(batch: &Batch<'_>, observation: &Observation) -> Result<Vec<Notice>, StoreError> {
    let on_record = batch.gaps()?;
    let known: HashSet<_> = on_record.iter().map(|(gap, _)| (&gap.path, gap.reason)).collect();
    let is_new = |gap: &&Gap| !known.contains(&(&gap.path, gap.reason));
    let new: Vec<_> = observation.gaps.iter().filter(is_new).collect();
    let text = |gap: &&Gap| {
        let (path, reason) = (&gap.path, gap.reason.as_str());
        format!("{path} is not protected ({reason}): {}", gap.detail)
    };
    let more = new.len().saturating_sub(TOLD_GAPS);
    let rest = format!("{more} more are not protected; see `retake status`");
    let told = new.iter().take(TOLD_GAPS).map(text).chain((more > 0).then_some(rest));
    Ok(told.map(|message| Notice::new(NoticeCode::Gap, message)).collect())
}
