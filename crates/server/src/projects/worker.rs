//! The worker thread of an open project: takes jobs off the queue and runs them.
//!
//! Invariants: before each job the project is located, and reopened if its root, its record
//! or its settings are not those that it was opened with. A job that panics fails alone. Events
//! that wait at the same time are recorded together.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, PoisonError};

use retake_engine::{Project, RecordOutcome};
use retake_service::ApiError;
use retake_service::request::{ProjectCommand as _, RecordEvents, Submission};

use super::handle::{OpenProject, ProjectEnv, ProjectShared};
use super::watch_loop::WatchLoop;

/// Maximum events in one batch: their senders wait for all of them.
const MAX_BATCH_EVENTS: usize = 64;

/// A job of a project's worker.
pub(crate) enum ProjectJob {
    /// Events to record.
    Record(RecordJob),
    /// Anything else.
    Call(JobFn),
    /// The handle was dropped: the worker ends.
    Stop,
}

type JobFn = Box<dyn FnOnce(Result<&Project, ApiError>) + Send>;
type RecordResults = Vec<Result<RecordOutcome, ApiError>>;

/// Events of one sender to record.
pub(crate) struct RecordJob {
    /// The events.
    pub(crate) submissions: Vec<Submission>,
    /// Reports that recording begins; `false` if the sender has gone.
    pub(crate) begin: Box<dyn FnOnce() -> bool + Send>,
    /// Receives the results.
    pub(crate) answer: Box<dyn FnOnce(Result<RecordResults, ApiError>) + Send>,
}

impl ProjectJob {
    pub(crate) fn call(work: impl FnOnce(Result<&Project, ApiError>) + Send + 'static) -> Self {
        Self::Call(Box::new(work))
    }
}

impl fmt::Debug for ProjectJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(recording) => write!(f, "Record({})", recording.submissions.len()),
            Self::Call(_) => f.write_str("Work"),
            Self::Stop => f.write_str("End"),
        }
    }
}

/// Runs the jobs of one project.
pub(super) struct ProjectWorker {
    shared: Arc<ProjectShared>,
    env: ProjectEnv,
    /// For the watch loop.
    jobs: SyncSender<ProjectJob>,
    open: Option<OpenProject>,
    reconciled: bool,
}

impl ProjectWorker {
    pub(super) fn new(
        shared: Arc<ProjectShared>,
        env: ProjectEnv,
        jobs: SyncSender<ProjectJob>,
    ) -> Self {
        Self { shared, env, jobs, open: None, reconciled: false }
    }

    /// Runs jobs until the handle is dropped.
    pub(super) fn run(mut self, queue: &Receiver<ProjectJob>) {
        let mut next = None;
        while let Some(job) = next.take().or_else(|| self.next_job(queue)) {
            let done = match job {
                ProjectJob::Stop => return,
                ProjectJob::Call(work) => self.run_job(work),
                ProjectJob::Record(first) => {
                    let (group, other) = batch_waiting(first, queue);
                    next = other;
                    self.run_job(|project| record_batch(project, group))
                }
            };
            if done.is_none() {
                // The job panicked: the next one reopens the project.
                self.open = None;
            }
            self.shared.commits.notify();
        }
    }

    /// Returns the next job; tidies the store while the queue is empty.
    fn next_job(&self, queue: &Receiver<ProjectJob>) -> Option<ProjectJob> {
        if let Ok(job) = queue.try_recv() {
            return Some(job);
        }
        if let Some(open) = &self.open {
            open.project.run_maintenance();
        }
        queue.recv().ok()
    }

    /// Runs a job with the project opened as it is now; `None` if it panicked.
    fn run_job(&mut self, job: impl FnOnce(Result<&Project, ApiError>)) -> Option<()> {
        let attempt = AssertUnwindSafe(|| job(self.open_project()));
        catch_unwind(attempt).inspect_err(|_| tracing::error!("a job panicked")).ok()
    }

    fn open_project(&mut self) -> Result<&Project, ApiError> {
        let located = self.shared.locate(&self.env.retake)?;
        // One that is opened again is closed first: two watchers would take twice the watches.
        let is_current =
            |open: &OpenProject| open.located == located && open.project.is_record_in_place();
        let current = self.open.take().filter(is_current);
        let open = if let Some(open) = current {
            open
        } else {
            let mut project = self.env.retake.open(&located.root())?;
            project.defer_maintenance();
            project.set_clock(self.env.clock);
            self.watch(&mut project);
            OpenProject { located, project }
        };
        Ok(&self.open.insert(open).project)
    }

    /// Starts the watcher, and records what changed while no daemon ran.
    fn watch(&mut self, project: &mut Project) {
        // Without a scan there are no ignore rules to watch by.
        let is_new = project.has_baseline().is_ok_and(|has| !has);
        if is_new {
            self.reconcile(project);
        }
        match project.watch(self.env.budget.clone()) {
            Ok(watch) => {
                let weak = Arc::downgrade(&watch);
                *self.shared.watch.lock().unwrap_or_else(PoisonError::into_inner) = weak.clone();
                let (clock, idle) = (self.env.clock, Arc::clone(&self.env.idle));
                WatchLoop { watch: weak, jobs: self.jobs.clone(), clock, idle }.spawn();
            }
            Err(error) => tracing::warn!("nothing is watched: {error}"),
        }
        self.reconcile(project);
    }

    /// Once: a project that is opened again for its new settings was watched until now.
    fn reconcile(&mut self, project: &Project) {
        if self.reconciled {
            return;
        }
        match project.reconcile((self.env.clock)()) {
            Ok(_) => self.reconciled = true,
            // The next request reports the error.
            Err(error) => tracing::warn!("what happened meanwhile is not known: {error}"),
        }
    }
}

/// Collects the record jobs that wait, up to the first job of another kind.
fn batch_waiting(
    first: RecordJob,
    queue: &Receiver<ProjectJob>,
) -> (Vec<RecordJob>, Option<ProjectJob>) {
    let mut count = first.submissions.len();
    let mut group = vec![first];
    while count < MAX_BATCH_EVENTS {
        match queue.try_recv() {
            Ok(ProjectJob::Record(recording)) => {
                count += recording.submissions.len();
                group.push(recording);
            }
            Ok(other) => return (group, Some(other)),
            Err(_) => break,
        }
    }
    (group, None)
}

/// Records a batch of several senders, and answers each with its own results.
fn record_batch(project: Result<&Project, ApiError>, group: Vec<RecordJob>) {
    let project = match project {
        Ok(project) => project,
        Err(failure) => {
            for recording in group {
                (recording.answer)(Err(failure.clone()));
            }
            return;
        }
    };
    let (mut submissions, mut waiting) = (Vec::new(), Vec::new());
    for recording in group {
        if (recording.begin)() {
            waiting.push((recording.submissions.len(), recording.answer));
            submissions.extend(recording.submissions);
        }
    }
    let at = submissions.last().map_or(0, |submission| submission.at);
    match (RecordEvents { submissions }).run(project, at, &mut |_, _| {}) {
        Ok(mut recorded) => {
            for (count, answer) in waiting {
                let rest = recorded.split_off(count.min(recorded.len()));
                answer(Ok(std::mem::replace(&mut recorded, rest)));
            }
        }
        Err(failure) => {
            for (_, answer) in waiting {
                answer(Err(failure.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    fn submissions(count: usize) -> ProjectJob {
        use retake_engine::model::{Event, EventKind};
        let event = Event::new("d", EventKind::DialogEnd {});
        let submission = Submission::new("k", event, 1);
        let submissions = vec![submission; count];
        ProjectJob::Record(RecordJob {
            submissions,
            begin: Box::new(|| true),
            answer: Box::new(|_| {}),
        })
    }

    #[test]
    fn what_waits_is_gathered_up_to_other_work_or_the_limit() {
        let (jobs, queue) = sync_channel(100);
        let first = |job: ProjectJob| match job {
            ProjectJob::Record(recording) => recording,
            ProjectJob::Call(_) | ProjectJob::Stop => panic!("it records"),
        };
        for job in [submissions(2), submissions(1), ProjectJob::call(|_| {}), submissions(1)] {
            jobs.send(job).unwrap();
        }
        let (group, other) = batch_waiting(first(submissions(1)), &queue);
        assert_eq!((group.len(), matches!(other, Some(ProjectJob::Call(_)))), (3, true));
        let (group, other) = batch_waiting(first(submissions(MAX_BATCH_EVENTS)), &queue);
        assert_eq!((group.len(), other.is_none()), (1, true));
    }
}
