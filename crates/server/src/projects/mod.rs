//! The daemon's open projects.
//!
//! Opened on first request (REC-1), evicted least recently used: each has open files, threads,
//! and a watcher.

mod attention;
mod caller_context;
mod handle;
mod health;
mod job_queue;
mod running;
mod signal;
mod watch_loop;
mod worker;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use retake_engine::model::{Caller, ErrorCode, Millis};
use retake_engine::{KnownProject, LocatedProject, Project, Retake, WatchBudget};

pub use crate::daemon::idle::{BusyGuard, IdleTracker};
pub(crate) use caller_context::{current_caller, with_caller};
use handle::ProjectEnv;
pub use handle::ProjectHandle;
use retake_service::ApiError;
pub(crate) use running::{PROGRESS_HINT, RunGuard};
pub use signal::{CommitSignal, EphemeralEvent};
pub(crate) use worker::{ProjectJob, RecordJob};

use crate::stream::StreamHub;

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
    started_at: Millis,
    streams: Arc<StreamHub>,
}

impl ProjectPool {
    /// The projects of this home; `clock` tells the time.
    pub fn new(retake: Retake, clock: fn() -> Millis) -> Self {
        let retake = retake.said_by(Caller::daemon());
        let budget = WatchBudget::half_of_user_limit();
        let streams = StreamHub::new(&retake);
        Self {
            retake,
            clock,
            handles: Mutex::default(),
            idle: Arc::default(),
            budget,
            started_at: clock(),
            streams,
        }
    }

    /// Retake on this machine.
    pub fn retake(&self) -> &Retake {
        &self.retake
    }

    /// The time now.
    pub fn now(&self) -> Millis {
        (self.clock)()
    }

    /// When the pool was made, at the daemon's start.
    pub fn started_at(&self) -> Millis {
        self.started_at
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
        self.handle_of(&self.locate(id)?)
    }

    /// Finds the project with this id without opening it, even if its folder is gone.
    pub(crate) fn locate(&self, id: &str) -> Result<LocatedProject, ApiError> {
        self.retake.locate_by_id(id)?.ok_or_else(|| unknown_project(id))
    }

    /// Reads in a project: with its handle if it is open, else with a reader that is closed again,
    /// without a scan and a watcher.
    pub fn peek<T>(
        &self,
        id: &str,
        job: impl FnOnce(&Project) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let open = self.handles().into_iter().find(|handle| handle.id() == id);
        if let Some(handle) = open {
            return handle.read(job);
        }
        let located = self.locate(id)?;
        job(&self.retake.open_located(&located)?)
    }

    /// The event streams.
    pub fn streams(&self) -> &Arc<StreamHub> {
        &self.streams
    }

    /// Ends all event streams, because the daemon stops.
    pub fn close_streams(&self) {
        self.streams.close();
    }

    fn handle_of(&self, located: &LocatedProject) -> Result<Arc<ProjectHandle>, ApiError> {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = take_most_recent(&mut handles, located.id()) {
            handle.set_root(located.root());
            return Ok(handle);
        }
        self.evict_oldest(&mut handles);
        let env = ProjectEnv {
            retake: self.retake.clone(),
            clock: self.clock,
            idle: Arc::clone(&self.idle),
            budget: self.budget.clone(),
            streams: Arc::clone(&self.streams),
        };
        let handle = Arc::new(ProjectHandle::open(env, located)?);
        handles.push(Arc::clone(&handle));
        Ok(handle)
    }

    /// Evicts the least recently used project that is not in use; one that is followed, or in which
    /// rejections wait, only if all are. Its streams go on with what is recorded.
    fn evict_oldest(&self, handles: &mut Vec<Arc<ProjectHandle>>) {
        if handles.len() < MAX_OPEN_PROJECTS {
            return;
        }
        let is_free = |handle: &Arc<ProjectHandle>| Arc::strong_count(handle) == 1;
        let is_needed = |handle: &Arc<ProjectHandle>| {
            self.streams.is_followed(handle.id()) || handle.has_waiting_rejections()
        };
        let unneeded = handles.iter().position(|handle| is_free(handle) && !is_needed(handle));
        if let Some(at) = unneeded.or_else(|| handles.iter().position(is_free)) {
            handles.remove(at);
        }
    }
}

fn unknown_project(id: &str) -> ApiError {
    let message = format!("there is no project '{id}'");
    ApiError::new(ErrorCode::UnknownProject, message, "GET /api/projects lists them")
}

/// Returns the project with this id and makes it the most recently used.
fn take_most_recent(handles: &mut Vec<Arc<ProjectHandle>>, id: &str) -> Option<Arc<ProjectHandle>> {
    let at = handles.iter().position(|handle| handle.id() == id)?;
    let handle = handles.remove(at);
    handles.push(Arc::clone(&handle));
    Some(handle)
}
