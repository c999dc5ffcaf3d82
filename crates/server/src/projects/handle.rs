//! One open project of the daemon: the job queue of its worker thread, and a pool of readers.
//!
//! Invariants: one request at a time is executed for a project in this process, and each takes
//! and releases the project's lock, so that other processes get it in between. Reads never wait
//! for the lock.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use retake_engine::model::{DialogId, ErrorCode, Millis};
use retake_engine::{
    FileWatcher, LocatedProject, Project, RecordOutcome, Retake, WatchBudget, WatchState,
};
use retake_service::ApiError;
use retake_service::request::{ProjectCommand, Submission};

use super::caller_context::current_caller;
use super::health::WorkerReport;
use super::job_queue::{JobSender, job_queue};
use super::running::{RunGuard, RunList};
use super::worker::{ProjectJob, ProjectWorker, RecordJob};
use super::{CommitSignal, IdleTracker};
use crate::stream::{StreamHub, StreamLimit};

/// Maximum idle readers that are kept open.
const MAX_IDLE_READERS: usize = 8;

/// One project that is served.
#[derive(Debug)]
pub struct ProjectHandle {
    shared: Arc<ProjectShared>,
    env: ProjectEnv,
    jobs: JobSender,
    readers: Mutex<Vec<OpenProject>>,
    stream_limit: Arc<StreamLimit>,
    /// The worker was asked to open the project, which starts the watcher.
    opens: AtomicBool,
}

/// The daemon's environment of a project.
#[derive(Clone, Debug)]
pub(super) struct ProjectEnv {
    pub(super) retake: Retake,
    pub(super) clock: fn() -> Millis,
    pub(super) idle: Arc<IdleTracker>,
    pub(super) budget: WatchBudget,
    pub(super) streams: Arc<StreamHub>,
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
    /// The long verbs that run or wait.
    pub(super) runs: RunList,
    /// The watcher of the project, while it lives.
    pub(super) watch: Mutex<Weak<FileWatcher>>,
    pub(super) report: WorkerReport,
    /// A rejection waits for the end of a turn, as the worker saw last.
    pub(super) has_waiting_rejections: AtomicBool,
}

impl ProjectShared {
    pub(super) fn root(&self) -> PathBuf {
        self.root.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Locates the project now. If its folder is gone, or another project is there, the record is
    /// still found by its id, to be read.
    pub(super) fn locate(&self, retake: &Retake) -> Result<LocatedProject, ApiError> {
        let at_root = retake.locate(&self.root());
        if let Ok(located) = &at_root
            && located.id() == self.id
        {
            return Ok(at_root?);
        }
        if let Ok(Some(located)) = retake.locate_by_id(&self.id) {
            return Ok(located);
        }
        at_root?;
        let message = format!("project {} is no longer on record", self.id);
        Err(ApiError::new(ErrorCode::UnknownProject, message, "GET /api/projects lists them"))
    }
}

impl Drop for ProjectHandle {
    /// Ends the worker once its queue is done; the watch loop holds a sender, too, so
    /// this is explicit.
    fn drop(&mut self) {
        self.jobs.close();
    }
}

impl ProjectHandle {
    pub(super) fn open(env: ProjectEnv, located: &LocatedProject) -> Result<Self, ApiError> {
        let (id, root) = (located.id().to_owned(), located.root());
        let commits = CommitSignal::new(&id, Arc::clone(&env.streams));
        let stream_limit = env.streams.limit_of(&id);
        let shared = Arc::new(ProjectShared {
            id,
            root: Mutex::new(root),
            commits,
            runs: RunList::default(),
            watch: Mutex::default(),
            report: WorkerReport::default(),
            has_waiting_rejections: AtomicBool::new(false),
        });
        let (jobs, queue) = job_queue();
        let worker = ProjectWorker::new(Arc::clone(&shared), env.clone(), jobs.clone());
        thread::Builder::new().spawn(move || worker.run(&queue)).map_err(|error| {
            let root = located.root();
            ApiError::new(
                ErrorCode::Busy,
                format!("no thread for {}: {error}", root.display()),
                "try again",
            )
        })?;
        let (readers, opens) = (Mutex::default(), AtomicBool::new(false));
        Ok(Self { shared, env, jobs, readers, stream_limit, opens })
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

    /// Has the worker open the project, which starts its watcher; waits for nothing.
    pub fn start_watching(&self) {
        // A job that waits opens the project, too.
        if !self.opens.swap(true, Ordering::Relaxed) && self.jobs.waiting() == 0 {
            let _ = self.jobs.send(ProjectJob::call(|_| ()));
        }
    }

    /// Executes a request on the worker thread, and waits for the answer.
    pub fn run<V>(&self, verb: V) -> Result<V::Answer, ApiError>
    where
        V: ProjectCommand + Send + 'static,
        V::Answer: Send + 'static,
    {
        let clock = self.env.clock;
        let run = self.begin_run(verb.long_verb(), verb.dialog());
        self.run_job_on(V::RUNS_BESIDE, move |project| match &run {
            Some(run) => verb.run_with_control(project, clock(), run.control()),
            None => verb.run(project, clock(), &mut |_, _| {}),
        })?
    }

    /// Lists a request that may take long, until the guard is dropped.
    pub(crate) fn begin_run(
        &self,
        verb: Option<&'static str>,
        dialog: Option<&DialogId>,
    ) -> Option<RunGuard> {
        verb.map(|verb| RunGuard::begin(&self.shared, verb, dialog.cloned(), self.now()))
    }

    pub(super) fn run_list(&self) -> &RunList {
        &self.shared.runs
    }

    /// Runs a closure on the worker thread, and waits for its result.
    pub fn run_job<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Project) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        self.run_job_on(false, job)
    }

    fn run_job_on<T: Send + 'static>(
        &self,
        is_beside: bool,
        job: impl FnOnce(&Project) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        if is_beside {
            let project = self.reader()?;
            project.set_caller(current_caller());
            let done = job(&project);
            self.shared.commits.notify();
            return Ok(done);
        }
        let (done, wait) = mpsc::sync_channel(1);
        let caller = current_caller();
        self.send(ProjectJob::call(move |project| {
            let run = |project: &Project| {
                project.set_caller(caller);
                job(project)
            };
            let _ = done.send(project.map(run));
        }))?;
        wait.recv().unwrap_or_else(|_| Err(self.job_failed()))
    }

    /// Records events, and waits for the results, which are in the order of the events. Few events
    /// are batched with those that wait at the same time; many are recorded in portions, and what
    /// else waits is done in between.
    pub fn record(
        &self,
        mut submissions: Vec<Submission>,
    ) -> Result<Vec<Result<RecordOutcome, ApiError>>, ApiError> {
        for submission in &mut submissions {
            submission.origin.said_by.get_or_insert_with(current_caller);
        }
        let (done, wait) = mpsc::sync_channel(1);
        let answer = move |answer| {
            let _ = done.send(answer);
        };
        self.send(ProjectJob::Record(RecordJob::new(submissions, || true, answer)))?;
        wait.recv().unwrap_or_else(|_| Err(self.job_failed()))
    }

    /// Runs a job in a thread of its own with a connection of its own, beside the worker; one that
    /// fails to run drops its answer channel.
    pub(crate) fn send_beside(&self, job: ProjectJob) -> Result<(), ApiError> {
        let ProjectJob::Call(work) = job else { return self.send(job) };
        let (shared, project) = (Arc::clone(&self.shared), self.reader());
        let run = move || {
            work(project.as_ref().map_err(Clone::clone));
            shared.commits.notify();
        };
        let started = thread::Builder::new().spawn(run);
        started.map(drop).map_err(|_| self.job_failed())
    }

    /// Enqueues a job; a job that fails to run drops its answer channel.
    pub(crate) fn send(&self, job: ProjectJob) -> Result<(), ApiError> {
        self.jobs.send(job).map_err(|_| self.job_failed())
    }

    /// What its worker reports of itself.
    pub(super) fn report(&self) -> &WorkerReport {
        &self.shared.report
    }

    /// Returns whether a rejection waits, which the worker carries out when it is due.
    pub(super) fn has_waiting_rejections(&self) -> bool {
        self.shared.has_waiting_rejections.load(Ordering::Relaxed)
    }

    /// Returns the number of jobs that wait for the worker.
    pub fn waiting_jobs(&self) -> usize {
        self.jobs.waiting()
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
            _ => OpenProject { project: self.env.retake.open_located(&located)?, located },
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
        let located = self.shared.locate(&self.env.retake)?;
        let project = self.env.retake.open_located(&located)?;
        project.set_caller(current_caller());
        Ok(project)
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
