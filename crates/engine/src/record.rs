//! The way in: an event arrives, the project is looked at, what moved is recorded.
//!
//! Content, changes, manifest and event rows are one transaction: either the
//! event is acknowledged and everything it showed can be restored, or it did not
//! happen and the next look finds the same again. An event that finds the
//! project locked is spooled and taken in, in order, by the next holder.

use std::collections::HashMap;

use retake_model::{Change, Event, EventKind, Gap, GapReason, Millis, ProjectPath, Side};
use retake_store::{Batch, Lock, Spool, StoreError};
use retake_workspace::Rules;

use crate::arrival::{Arrived, Calls, Meaning, conclude, introduce};
use crate::attribute::{Limit, Scene};
use crate::git_evidence::GitEvidence;
use crate::memory;
use crate::observe::{HiddenIs, Observation, Request, Scope, observe};
use crate::project::{INITIALISED, Project};
use crate::rename::pair;
use crate::shield::{shield, too_late};
use crate::write::{NewRows, write};

/// What came of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Its place in the project's order; none if it waits in the spool.
    pub seq: Option<u64>,
    /// The changes that were found on its occasion.
    pub changes: Vec<Change>,
    /// What the sender should know.
    pub notices: Vec<Notice>,
}

/// Something that the sender of an event should know; the event was taken all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        if let Err(error) = self.writable() {
            self.spool().push(event, at)?;
            return Err(error);
        }
        let wait = self.settings().wait.event();
        let Some(_lock) = Lock::acquire(self.store().folder(), wait)? else {
            return self.keep_for_later(event, at, "the project is in use");
        };
        let arrived = Arrived { event: event.clone(), at, spool_id: None };
        let recorded = self.catch_up(at).and_then(|()| self.record_arrived(&[arrived], at));
        match recorded {
            Ok(mut results) => Ok(results.pop().unwrap_or_default()),
            Err(error) => self.keep_for_later(event, at, &error.to_string()),
        }
    }

    /// Spools an event that cannot be recorded now.
    fn keep_for_later(
        &self,
        event: &Event,
        at: Millis,
        why: &str,
    ) -> Result<Recorded, RecordError> {
        self.spool().push(event, at)?;
        tracing::warn!(event = event.name(), why, "an event is kept for later");
        let message = format!("the event is kept and will be taken in later: {why}");
        let notices = vec![Notice::new(NoticeCode::Spooled, message)];
        Ok(Recorded { notices, ..Recorded::default() })
    }

    /// Looks at the whole project and records what has changed, outside of any event.
    pub fn look(&self, at: Millis) -> Result<Looked, RecordError> {
        self.look_with(at, &mut |_, _| {})
    }

    /// Like [`Project::look`], telling how far it has come.
    pub fn look_with(&self, at: Millis, progress: Progress<'_>) -> Result<Looked, RecordError> {
        self.writable()?;
        let folder = self.store().folder();
        let Some(_lock) = Lock::acquire(folder, self.settings().wait.command())? else {
            let owner = Lock::owner(folder).map_or("unknown".to_owned(), |pid| pid.to_string());
            return Err(RecordError::Locked(owner));
        };
        if self.store().meta(INITIALISED)?.is_some() {
            self.take_in_spool(at)?;
        }
        Ok(self.look_locked(at, progress)?)
    }

    fn look_locked(&self, at: Millis, progress: Progress<'_>) -> Result<Looked, StoreError> {
        let mut batch = self.store().batch()?;
        let calls = Calls::load(&batch, self.root(), at)?;
        let request = self.request(&batch, Scope::Everything, Vec::new(), HiddenIs::Baseline)?;
        let observation = observe(&mut batch, &request, progress)?;
        let scene = LookScene { calls: &calls, beginning: None, limits: HashMap::new() };
        let (steps, git) = self.attribute(&batch, &observation, &scene)?;
        let changes = write(&batch, &observation, &steps, &NewRows::new(), &git.actions, at)?;
        if request.first {
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
    fn catch_up(&self, at: Millis) -> Result<(), StoreError> {
        if self.store().meta(INITIALISED)?.is_none() {
            self.look_locked(at, &mut |_, _| {})?;
        }
        self.take_in_spool(at)
    }

    /// Takes in what waits in the spool, in order, with one look for all of it.
    ///
    /// The calls in it may all have overlapped, so each is a candidate for what is found.
    fn take_in_spool(&self, at: Millis) -> Result<(), StoreError> {
        let spool = self.spool();
        if spool.is_empty() {
            return Ok(());
        }
        let (entries, bad) = spool.entries()?;
        let mut fresh = Vec::new();
        for entry in &entries {
            if !self.store().spool_taken(&entry.id)? {
                let (event, at) = (entry.event.clone(), entry.at);
                fresh.push(Arrived { event, at, spool_id: Some(entry.id.clone()) });
            }
        }
        self.record_arrived(&fresh, at)?;
        if !bad.is_empty() {
            self.note_lost(&bad, at)?;
        }
        if spool.clear(entries.len(), bad.len())? {
            let batch = self.store().batch()?;
            batch.forget_spooled()?;
            batch.commit()?;
        }
        Ok(())
    }

    /// A line that a kill cut off was never acknowledged, but that it was there is said.
    fn note_lost(&self, lines: &[String], at: Millis) -> Result<(), StoreError> {
        let batch = self.store().batch()?;
        let path: ProjectPath = "spool".parse().map_err(|_| StoreError::Row("path".into()))?;
        let detail = format!("{} spooled lines could not be understood", lines.len());
        batch.put_gap(&Gap { path, reason: GapReason::LostEvent, detail }, at)?;
        batch.commit()
    }

    fn record_arrived(&self, arrived: &[Arrived], at: Millis) -> Result<Vec<Recorded>, StoreError> {
        if arrived.is_empty() {
            return Ok(Vec::new());
        }
        let mut batch = self.store().batch()?;
        let mut calls = Calls::load(&batch, self.root(), at)?;
        let mut meanings = Vec::new();
        let mut results = Vec::new();
        for arrived in arrived {
            let mut notices = Vec::new();
            meanings.push(calls.meaning(&batch, self.root(), arrived, &mut notices)?);
            results.push(Recorded { notices, ..Recorded::default() });
        }
        let events: Vec<_> = arrived.iter().zip(meanings.iter().copied()).collect();
        let plan = self.plan(&batch, &events, &calls)?;
        let mut observation = observe(&mut batch, &plan.request, &mut |_, _| {})?;
        observation.gaps.extend(plan.gaps);
        let (steps, git) = self.attribute(&batch, &observation, &plan.scene)?;
        let mut rows = NewRows::new();
        for (arrived, meaning) in arrived.iter().zip(&meanings) {
            introduce(&batch, arrived, *meaning, &calls, &mut rows)?;
        }
        let changes = write(&batch, &observation, &steps, &rows, &git.actions, at)?;
        for ((arrived, meaning), result) in arrived.iter().zip(&meanings).zip(&mut results) {
            result.seq = Some(conclude(&batch, arrived, *meaning, &calls, &rows)?);
            if let Some(id) = &arrived.spool_id {
                batch.take_spooled(id)?;
            }
        }
        if let Some(last) = results.last_mut() {
            last.changes = changes;
            last.notices.extend(observation.gaps.iter().map(gap_notice));
            let problem = self.settings_problem().map(ToString::to_string);
            last.notices.extend(problem.map(|why| Notice::new(NoticeCode::Settings, why)));
        }
        batch.commit()?;
        for (arrived, result) in arrived.iter().zip(&results) {
            let (event, dialog) = (arrived.event.name(), arrived.event.dialog.0.as_str());
            tracing::debug!(event, dialog, seq = result.seq, changes = result.changes.len());
        }
        Ok(results)
    }

    /// Where to look on the occasion of these events, and who could have done what is found.
    fn plan<'a>(
        &'a self,
        batch: &Batch<'_>,
        events: &[(&Arrived, Meaning)],
        calls: &'a Calls,
    ) -> Result<Plan<'a>, StoreError> {
        let mut scene = LookScene { calls, beginning: None, limits: HashMap::new() };
        let [(arrived, meaning)] = events else {
            return self.plan_for_spooled(batch, events, scene);
        };
        if arrived.spool_id.is_some() {
            return self.plan_for_spooled(batch, events, scene);
        }
        let (row, hidden) = match meaning {
            Meaning::Begins(row) => {
                scene.beginning = Some(*row);
                (*row, HiddenIs::Baseline)
            }
            Meaning::Ends(row) => (*row, HiddenIs::New),
            Meaning::EndsAgain(row) => {
                scene.limits.insert(*row, Limit::AimOnly);
                (*row, HiddenIs::New)
            }
            Meaning::EndsUnbegun(row) => {
                scene.limits.insert(*row, Limit::AimOnly);
                (*row, HiddenIs::UnknownBefore)
            }
            Meaning::Other => {
                let scope = scope_without_call(&arrived.event);
                let request = self.request(batch, scope, Vec::new(), HiddenIs::Baseline)?;
                return Ok(Plan { request, scene, gaps: Vec::new() });
            }
        };
        let Some(live) = calls.get(row) else {
            return Err(StoreError::Row(format!("call {row} went away")));
        };
        let scope = live.scope().map_or(Scope::Everything, Scope::Paths);
        let mut named = live.named.clone();
        let mut gaps = Vec::new();
        if matches!(meaning, Meaning::Begins(_)) && live.may_destroy() {
            let rules = Rules::new(memory::rules(batch)?.unwrap_or_default());
            let settings = &self.settings().shield;
            let taken = shield(batch, self.workspace(), &rules, live, settings)?;
            named.extend(taken.paths);
            gaps = taken.gaps;
        }
        Ok(Plan { request: self.request(batch, scope, named, hidden)?, scene, gaps })
    }

    /// Spooled events are late: what they tell of happened at some time since the last look.
    fn plan_for_spooled<'a>(
        &'a self,
        batch: &Batch<'_>,
        events: &[(&Arrived, Meaning)],
        mut scene: LookScene<'a>,
    ) -> Result<Plan<'a>, StoreError> {
        let mut gaps = Vec::new();
        for (arrived, meaning) in events {
            match meaning {
                Meaning::Begins(row) => {
                    let late = scene.calls.get(*row).filter(|live| live.may_destroy());
                    gaps.extend(late.into_iter().flat_map(|live| too_late(self.root(), live)));
                }
                Meaning::Ends(row) => {
                    let begin = scene.calls.get(*row).map_or(arrived.at, |live| live.call.begin_at);
                    scene.limits.insert(*row, Limit::Between(begin, arrived.at));
                }
                Meaning::EndsAgain(row) | Meaning::EndsUnbegun(row) => {
                    scene.limits.insert(*row, Limit::AimOnly);
                }
                Meaning::Other => {}
            }
        }
        let named = scene.calls.live.iter().flat_map(|live| live.named.clone()).collect();
        let request = self.request(batch, Scope::Everything, named, HiddenIs::UnknownBefore)?;
        Ok(Plan { request, scene, gaps })
    }

    fn attribute(
        &self,
        batch: &Batch<'_>,
        observation: &Observation,
        look: &LookScene<'_>,
    ) -> Result<(Vec<crate::rename::Step>, GitEvidence), StoreError> {
        let (old, new) = (observation.old_git.as_ref(), observation.git.as_ref());
        let git = GitEvidence::gather(self.root(), old, new);
        let before: HashMap<_, _> =
            observation.changes.iter().map(|seen| (&seen.path, seen.before)).collect();
        let state_before = |path: &ProjectPath| match before.get(path) {
            Some(side) => *side,
            // Not among the changes: it is as the manifest says.
            None => batch
                .manifest_entry(path)
                .ok()
                .flatten()
                .map_or(Side::Absent, |entry| entry.stored.into()),
        };
        let scene = Scene {
            calls: &look.calls.live,
            beginning: look.beginning,
            limits: &look.limits,
            git: &git,
            state_before: &state_before,
        };
        let mut attributed = Vec::with_capacity(observation.changes.len());
        for seen in &observation.changes {
            attributed.push((seen.clone(), scene.attribute(batch, seen)?));
        }
        Ok((pair(batch, attributed)?, git))
    }

    fn spool(&self) -> Spool {
        Spool::new(self.store().folder())
    }
}

/// What a look at the whole project found.
#[derive(Debug)]
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

struct Plan<'a> {
    request: Request<'a>,
    scene: LookScene<'a>,
    gaps: Vec<Gap>,
}

struct LookScene<'a> {
    calls: &'a Calls,
    beginning: Option<i64>,
    limits: HashMap<i64, Limit>,
}

/// A repeated begin says nothing new; everything else is an occasion to look at everything.
fn scope_without_call(event: &Event) -> Scope {
    match event.what {
        EventKind::ToolBegin { .. } => Scope::Paths(Vec::new()),
        _ => Scope::Everything,
    }
}

fn gap_notice(gap: &Gap) -> Notice {
    let message =
        format!("{} is not protected ({}): {}", gap.path, gap.reason.as_str(), gap.detail);
    Notice::new(NoticeCode::Gap, message)
}
