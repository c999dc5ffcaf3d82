//! The daemon's open projects.
//!
//! Opened on first request (REC-1), evicted least recently used: each has open files, threads,
//! and a watcher.

mod handle;
mod signal;
mod watch_loop;
mod worker;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use retake_engine::model::{ErrorCode, Millis};
use retake_engine::{KnownProject, LocatedProject, Retake, WatchBudget};

pub use crate::daemon::idle::{BusyGuard, IdleTracker};
use handle::ProjectEnv;
pub use handle::ProjectHandle;
use retake_service::ApiError;
pub use signal::CommitSignal;
pub(crate) use worker::{ProjectJob, RecordJob};

/// Maximum open projects, unless all of them are in use. Each takes an instance of inotify,
/// of which a user has 128.
const MAX_OPEN_PROJECTS: usize = 32;

/// All projects of one home.
#[derive(Debug)]
pub struct ProjectPool {
    retake: Retake,
    clock: fn() -> Millis,
    /// In LRU order: the most recently requested comes last.
    handles: Mutex<Vec<Arc<ProjectHandle>>>,
    idle: Arc<IdleTracker>,
    budget: WatchBudget,
}

impl ProjectPool {
    /// The projects of this home; `clock` tells the time.
    pub fn new(retake: Retake, clock: fn() -> Millis) -> Self {
        let budget = WatchBudget::half_of_user_limit();
        Self { retake, clock, handles: Mutex::default(), idle: Arc::default(), budget }
    }

    /// Retake on this machine.
    pub fn retake(&self) -> &Retake {
        &self.retake
    }

    /// The time now.
    pub fn now(&self) -> Millis {
        (self.clock)()
    }

    /// The idle tracker of the daemon.
    pub fn idle(&self) -> &Arc<IdleTracker> {
        &self.idle
    }

    /// Every project on record, open or not.
    pub fn known_projects(&self) -> Result<Vec<KnownProject>, ApiError> {
        Ok(self.retake.projects()?)
    }

    /// The open projects.
    pub fn handles(&self) -> Vec<Arc<ProjectHandle>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The handle of the nearest project at or above a path.
    pub fn open(&self, start: &Path) -> Result<Arc<ProjectHandle>, ApiError> {
        self.handle_of(&self.retake.locate(start)?)
    }

    /// Like [`ProjectPool::open`]; a folder that is in no project becomes one.
    pub fn open_or_create(&self, start: &Path) -> Result<Arc<ProjectHandle>, ApiError> {
        Ok(self.locate_or_create(start)?.0)
    }

    /// The same, and where the project was found.
    pub(crate) fn locate_or_create(
        &self,
        start: &Path,
    ) -> Result<(Arc<ProjectHandle>, LocatedProject), ApiError> {
        let located = self.retake.locate_or_create(start, self.now())?;
        Ok((self.handle_of(&located)?, located))
    }

    /// The handle of the project with this id.
    pub fn handle(&self, id: &str) -> Result<Arc<ProjectHandle>, ApiError> {
        let found =
            take_most_recent(&mut self.handles.lock().unwrap_or_else(PoisonError::into_inner), id);
        if let Some(handle) = found {
            return Ok(handle);
        }
        let known = self.known_projects()?.into_iter().find(|project| project.id == id);
        let Some(known) = known else {
            return Err(ApiError::new(
                ErrorCode::UnknownProject,
                format!("there is no project '{id}'"),
                "GET /api/projects lists them",
            ));
        };
        self.open(&known.root)
    }

    /// Ends all event streams, because the daemon stops.
    pub fn close_streams(&self) {
        for handle in self.handles() {
            handle.commits().close();
        }
    }

    fn handle_of(&self, located: &LocatedProject) -> Result<Arc<ProjectHandle>, ApiError> {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = take_most_recent(&mut handles, located.id()) {
            handle.set_root(located.root());
            return Ok(handle);
        }
        evict_oldest(&mut handles);
        let env = ProjectEnv {
            retake: self.retake.clone(),
            clock: self.clock,
            idle: Arc::clone(&self.idle),
            budget: self.budget.clone(),
        };
        let handle = Arc::new(ProjectHandle::open(env, located)?);
        handles.push(Arc::clone(&handle));
        Ok(handle)
    }
}

/// Returns the project with this id and makes it the most recently used.
fn take_most_recent(handles: &mut Vec<Arc<ProjectHandle>>, id: &str) -> Option<Arc<ProjectHandle>> {
    let at = handles.iter().position(|handle| handle.id() == id)?;
    let handle = handles.remove(at);
    handles.push(Arc::clone(&handle));
    Some(handle)
}

/// Evicts the least recently used project that is not in use.
fn evict_oldest(handles: &mut Vec<Arc<ProjectHandle>>) {
    if handles.len() >= MAX_OPEN_PROJECTS
        && let Some(at) = handles.iter().position(|handle| Arc::strong_count(handle) == 1)
    {
        handles.remove(at);
    }
}
