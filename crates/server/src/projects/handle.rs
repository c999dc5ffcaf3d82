//! One open project of the daemon: the job queue of its worker thread, and a pool of readers.
//!
//! Invariants: one request at a time is executed for a project in this process, and each takes
//! and releases the project's lock, so that other processes get it in between. Reads never wait
//! for the lock.

use std::path::PathBuf;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use retake_engine::model::{ErrorCode, Millis};
use retake_engine::{
    FileWatcher, LocatedProject, Project, RecordOutcome, Retake, WatchBudget, WatchState,
};
use retake_service::ApiError;
use retake_service::request::{ProjectCommand, Submission};

use super::worker::{ProjectJob, ProjectWorker, RecordJob};
use super::{CommitSignal, IdleTracker};
use crate::stream::StreamLimit;

/// Capacity of the job queue; further senders block.
const QUEUE_CAPACITY: usize = 256;
/// Maximum idle readers that are kept open.
const MAX_IDLE_READERS: usize = 8;

/// One project that is served.
#[derive(Debug)]
pub struct ProjectHandle {
    shared: Arc<ProjectShared>,
    env: ProjectEnv,
    jobs: SyncSender<ProjectJob>,
    readers: Mutex<Vec<OpenProject>>,
    stream_limit: Arc<StreamLimit>,
}

/// The daemon's environment of a project.
#[derive(Clone, Debug)]
pub(super) struct ProjectEnv {
    pub(super) retake: Retake,
    pub(super) clock: fn() -> Millis,
    pub(super) idle: Arc<IdleTracker>,
    pub(super) budget: WatchBudget,
}

/// A project as it was found and opened; if it is found otherwise later, it is opened again.
#[derive(Debug)]
pub(super) struct OpenProject {
    pub(super) located: LocatedProject,
    pub(super) project: Project,
}

/// State shared by a project's handle and its worker.
#[derive(Debug)]
pub(super) struct ProjectShared {
    pub(super) id: String,
    root: Mutex<PathBuf>,
    pub(super) commits: CommitSignal,
    /// The watcher of the project, while it lives.
    pub(super) watch: Mutex<Weak<FileWatcher>>,
}

impl ProjectShared {
    pub(super) fn root(&self) -> PathBuf {
        self.root.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Locates the project's root now; fails if another project is there.
    pub(super) fn locate(&self, retake: &Retake) -> Result<LocatedProject, ApiError> {
        let located = retake.locate(&self.root())?;
        if located.id() == self.id {
            return Ok(located);
        }
        let root = located.root();
        let message = format!("{} is another project now", root.display());
        Err(ApiError::new(ErrorCode::UnknownProject, message, "ask for it by its folder"))
    }
}

impl Drop for ProjectHandle {
    /// Ends the worker once its queue is done; the watch loop holds a sender, too, so
    /// this is explicit.
    fn drop(&mut self) {
        let jobs = self.jobs.clone();
        if let Err(TrySendError::Full(end)) = jobs.try_send(ProjectJob::Stop) {
            thread::spawn(move || jobs.send(end));
        }
    }
}

impl ProjectHandle {
    pub(super) fn open(env: ProjectEnv, located: &LocatedProject) -> Result<Self, ApiError> {
        let (id, root) = (located.id().to_owned(), located.root());
        let (root, commits, watch) = (Mutex::new(root), CommitSignal::default(), Mutex::default());
        let shared = Arc::new(ProjectShared { id, root, commits, watch });
        let (jobs, queue) = mpsc::sync_channel(QUEUE_CAPACITY);
        let worker = ProjectWorker::new(Arc::clone(&shared), env.clone(), jobs.clone());
        thread::Builder::new().spawn(move || worker.run(&queue)).map_err(|error| {
            let root = located.root();
            ApiError::new(
                ErrorCode::Busy,
                format!("no thread for {}: {error}", root.display()),
                "try again",
            )
        })?;
        let (readers, stream_limit) = (Mutex::default(), Arc::default());
        Ok(Self { shared, env, jobs, readers, stream_limit })
    }

    /// The project's id.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        self.shared.root()
    }

    pub(super) fn set_root(&self, root: PathBuf) {
        *self.shared.root.lock().unwrap_or_else(PoisonError::into_inner) = root;
    }

    /// Executes a request on the worker thread, and waits for the answer.
    pub fn run<V>(&self, verb: V) -> Result<V::Answer, ApiError>
    where
        V: ProjectCommand + Send + 'static,
        V::Answer: Send + 'static,
    {
        let clock = self.env.clock;
        self.run_job(move |project| verb.run(project, clock(), &mut |_, _| {}))?
    }

    /// Runs a closure on the worker thread, and waits for its result.
    pub fn run_job<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Project) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let (done, wait) = mpsc::sync_channel(1);
        self.send(ProjectJob::call(move |project| {
            let _ = done.send(project.map(job));
        }))?;
        wait.recv().unwrap_or_else(|_| Err(self.job_failed()))
    }

    /// Records events, batched with those that wait at the same time, and waits for the results.
    pub fn record(
        &self,
        submissions: Vec<Submission>,
    ) -> Result<Vec<Result<RecordOutcome, ApiError>>, ApiError> {
        let (done, wait) = mpsc::sync_channel(1);
        let answer = Box::new(move |answer| {
            let _ = done.send(answer);
        });
        self.send(ProjectJob::Record(RecordJob { submissions, begin: Box::new(|| true), answer }))?;
        wait.recv().unwrap_or_else(|_| Err(self.job_failed()))
    }

    /// Enqueues a job; a job that fails to run drops its answer channel.
    pub(crate) fn send(&self, job: ProjectJob) -> Result<(), ApiError> {
        self.jobs.send(job).map_err(|_| self.job_failed())
    }

    /// The error of a job that panicked or was dropped.
    pub(crate) fn job_failed(&self) -> ApiError {
        let message = format!("the daemon failed at it, in {}", self.root().display());
        ApiError::new(ErrorCode::Internal, message, "see its log, and report it")
    }

    /// Runs a read with a pooled reader, beside the worker's writes.
    pub fn read<T>(
        &self,
        job: impl FnOnce(&Project) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        self.read_at(self.shared.locate(&self.env.retake)?, job)
    }

    /// Like [`ProjectHandle::read`], for a caller that has just located the project.
    pub(crate) fn read_at<T>(
        &self,
        located: LocatedProject,
        job: impl FnOnce(&Project) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let free = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let reader = match free {
            Some(reader) if reader.located == located => reader,
            _ => OpenProject { project: self.env.retake.open(&located.root())?, located },
        };
        let answer = job(&reader.project);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < MAX_IDLE_READERS {
            readers.push(reader);
        }
        drop(readers);
        answer
    }

    /// Opens a reader with its own connection, for a caller that reads for long.
    pub fn reader(&self) -> Result<Project, ApiError> {
        Ok(self.env.retake.open(&self.shared.locate(&self.env.retake)?.root())?)
    }

    /// The limit of the project's event streams.
    pub fn stream_limit(&self) -> &Arc<StreamLimit> {
        &self.stream_limit
    }

    /// The time now.
    pub(crate) fn now(&self) -> Millis {
        (self.env.clock)()
    }

    /// The watcher's state; `None` if the project is not watched.
    pub fn watch_state(&self) -> Option<WatchState> {
        let watch = self.shared.watch.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        watch.map(|watch| watch.state())
    }

    /// Signals possible commits.
    pub fn commits(&self) -> &CommitSignal {
        &self.shared.commits
    }
}
