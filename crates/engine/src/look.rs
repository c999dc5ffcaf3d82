//! Looks at the whole project outside of any event.
//!
//! Somebody asks (`status`, a verb), the watcher saw something move, or nothing ran for a while
//! and what happened meanwhile is to be found. They differ in what they may leave for later and
//! in whom they trust; what they record, they record the same way as events do.

use retake_model::{Change, Millis, ProjectPath};
use retake_store::{Batch, StoreError};
use retake_workspace::{Ignored, git};
use serde::{Deserialize, Serialize};

use crate::arrival::Calls;
use crate::eyes::Glance;
use crate::freshness::{despite_damage, keep_unaimed, tell_followers};
use crate::observe::{Observation, Scope, Spared, observe};
use crate::occasion::{Occasion, in_sight};
use crate::project::{INITIALISED, Project};
use crate::record::{Progress, RecordError};
use crate::write::{NewRows, write};

/// A lock of git's that is older than this was left by one that was killed.
const LOCK_LIVES: Millis = 60_000;
/// Between two steps of a rebase less time than this goes by, unless it waits for the person.
const REBASE_STEP: Millis = 2_000;

/// Why a look is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Somebody wants to know, or something is about to happen.
    Asked,
    /// Something moved, and nobody asked.
    Around,
    /// Nothing ran for a while.
    Reconcile,
}

/// What a look at the project found.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Looked {
    /// The changes that were found.
    pub changes: Vec<Change>,
    /// What rules leave out, with the reason; the first few thousand.
    pub ignored: Vec<Ignored>,
    /// How many names rules leave out.
    pub ignored_count: u64,
    /// How many files the scratch filter leaves out.
    pub scratch: u64,
    /// Folders that are repositories of their own.
    pub nested_repositories: Vec<ProjectPath>,
    /// How many files came into sight without having changed.
    pub baseline: usize,
    /// Whether everything was walked through. If not, what rules leave out and the nested
    /// repositories are those of the last look that was.
    pub whole: bool,
    /// git is in the middle of something: nothing was looked at, and it should be tried again.
    pub postponed: bool,
    /// When a version should be looked for that was left for later; see [`Project::look_around`].
    pub due: Option<Millis>,
}

/// What rules left out, and what else only a look at everything can tell.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    pub(crate) ignored: Vec<Ignored>,
    pub(crate) ignored_count: u64,
    pub(crate) scratch: u64,
    pub(crate) nested_repositories: Vec<ProjectPath>,
}

impl Looked {
    fn new(changes: Vec<Change>, observation: &Observation, due: Option<Millis>) -> Self {
        let left_out = &observation.left_out;
        Self {
            changes,
            ignored: left_out.ignored.clone(),
            ignored_count: left_out.ignored_count,
            scratch: left_out.scratch,
            nested_repositories: left_out.nested_repositories.clone(),
            baseline: observation.baseline.len(),
            whole: observation.whole,
            postponed: false,
            due,
        }
    }
}

impl Project {
    /// Looks at the whole project and records what has changed, outside of any event.
    pub fn look(&self, at: Millis) -> Result<Looked, RecordError> {
        self.look_with(at, &mut |_, _| {})
    }

    /// Like [`Project::look`], telling how far it has come.
    pub fn look_with(&self, at: Millis, progress: Progress<'_>) -> Result<Looked, RecordError> {
        let _lock = self.hold()?;
        if self.store().meta(INITIALISED)?.is_some() {
            self.take_in_spool(at)?;
            return Ok(self.look_locked(Why::Asked, at, progress)?);
        }
        let looked = self.look_locked(Why::Asked, at, progress)?;
        self.note_late_baseline(at)?;
        self.take_in_spool(at)?;
        Ok(looked)
    }

    /// Looks because something moved and nobody asked.
    ///
    /// Of what a person is busy with, at most one version per path and minute is kept this way:
    /// the rest waits until the time that [`Looked::due`] says, or until somebody asks. While git
    /// is in the middle of something the look is postponed, so that a branch switch is one event.
    pub fn look_around(&self, at: Millis) -> Result<Looked, RecordError> {
        if self.git_is_busy(at) {
            return Ok(Looked { postponed: true, due: self.next_due(), ..Looked::default() });
        }
        let _lock = self.hold()?;
        self.catch_up(at)?;
        Ok(self.look_locked(Why::Around, at, &mut |_, _| {})?)
    }

    fn git_is_busy(&self, at: Millis) -> bool {
        let Some(top) = git::toplevel(self.root()) else { return false };
        let underway = git::underway(&top);
        // A time that has not come yet is as little of now as one that is long over.
        let within = |time: Option<Millis>, limit: Millis| {
            time.is_some_and(|time| at.saturating_sub(time).abs() < limit)
        };
        within(underway.locked_at, LOCK_LIVES) || within(underway.rebased_at, REBASE_STEP)
    }

    /// Takes in what waits and looks at everything; the caller holds the lock.
    pub(crate) fn catch_up_and_look(&self, at: Millis) -> Result<Looked, StoreError> {
        self.catch_up(at)?;
        self.look_locked(Why::Asked, at, &mut |_, _| {})
    }

    /// What must be so before an event counts: there is a baseline, and nothing waits.
    pub(crate) fn catch_up(&self, at: Millis) -> Result<(), StoreError> {
        if self.store().meta(INITIALISED)?.is_none() {
            self.look_locked(Why::Asked, at, &mut |_, _| {})?;
            self.note_late_baseline(at)?;
        }
        self.take_in_spool(at)
    }

    /// Looks at everything; the caller holds the lock.
    pub(crate) fn look_locked(
        &self,
        why: Why,
        at: Millis,
        progress: Progress<'_>,
    ) -> Result<Looked, StoreError> {
        let mut batch = self.store().batch()?;
        let calls = Calls::load(self, &batch, at)?;
        let mut occasion = Occasion::plain(self, &batch, &calls)?;
        let sight = self.look_into(&mut batch, &mut occasion, why, at, progress)?;
        batch.commit()?;
        Ok(self.conclude(sight, why, at))
    }

    /// Looks at these very paths, whatever rules say; the caller holds the lock.
    pub(crate) fn look_locked_at(
        &self,
        paths: &[ProjectPath],
        at: Millis,
    ) -> Result<Looked, StoreError> {
        let batch = self.store().batch()?;
        self.look_at(batch, paths.to_vec(), paths.to_vec(), at)
    }

    /// Looks at these paths as far as a look at everything would; the caller holds the lock.
    pub(crate) fn look_locked_among(
        &self,
        paths: Vec<ProjectPath>,
        at: Millis,
    ) -> Result<Looked, StoreError> {
        let batch = self.store().batch()?;
        let paths = in_sight(self, &batch, paths)?;
        self.look_at(batch, paths, Vec::new(), at)
    }

    fn look_at(
        &self,
        mut batch: Batch<'_>,
        paths: Vec<ProjectPath>,
        named: Vec<ProjectPath>,
        at: Millis,
    ) -> Result<Looked, StoreError> {
        let calls = Calls::load(self, &batch, at)?;
        let mut occasion = Occasion::plain(self, &batch, &calls)?;
        (occasion.request.scope, occasion.request.named) = (Scope::Paths(paths), named);
        let sight = self.look_into(&mut batch, &mut occasion, Why::Asked, at, &mut |_, _| {})?;
        batch.commit()?;
        Ok(self.conclude(sight, Why::Asked, at))
    }

    /// Looks, and puts what is found into the batch.
    pub(crate) fn look_into(
        &self,
        batch: &mut Batch<'_>,
        occasion: &mut Occasion<'_>,
        why: Why,
        at: Millis,
        progress: Progress<'_>,
    ) -> Result<Sight<'_>, StoreError> {
        if why == Why::Around {
            let mut paths = self.spared(at);
            paths.extend(occasion.calls.being_edited(at));
            occasion.request.spared = Spared { paths, scratch_of: Some((occasion.calls, at)) };
        }
        let glance = self.glance(&occasion.request.scope, why, at);
        let hint = glance.as_ref().and_then(Glance::hint);
        let mut observation = observe(batch, &occasion.request, hint, progress)?;
        let (steps, git) = self.attribute(batch, &observation, occasion)?;
        let changes = write(batch, &mut observation, &steps, &NewRows::new(), &git.actions, at)?;
        let freshness = &self.settings().freshness;
        despite_damage(keep_unaimed(batch, occasion.calls, &changes))?;
        despite_damage(tell_followers(batch, &changes, freshness, at))?;
        if occasion.request.first {
            batch.set_meta(INITIALISED, &at.to_be_bytes())?;
        }
        Ok(Sight { glance, observation, changes })
    }

    /// What a look comes to, once its batch is committed.
    pub(crate) fn conclude(&self, sight: Sight<'_>, why: Why, at: Millis) -> Looked {
        let Sight { glance, observation, changes } = sight;
        self.committed(glance, &observation, (&changes, why), at);
        Looked::new(changes, &observation, self.next_due())
    }
}

/// What a look saw; before its batch is committed none of it counts.
pub(crate) struct Sight<'a> {
    glance: Option<Glance<'a>>,
    pub(crate) observation: Observation,
    pub(crate) changes: Vec<Change>,
}
