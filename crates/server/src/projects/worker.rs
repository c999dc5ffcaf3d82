//! The worker thread of an open project: takes jobs off the queue and runs them.
//!
//! Invariants: before each job the project is located, and reopened if its root, its record
//! or its settings are not those that it was opened with. A job that panics fails alone. Events
//! that wait at the same time are recorded together. Bulk is recorded in portions, and small jobs
//! that wait run in between; the events of one sender stay in their order. Rejections that wait for
//! the end of a turn are carried out after the job that made them due, whatever it was, and those
//! that only time makes due without any job.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use retake_engine::model::{Caller, ErrorCode};
use retake_engine::{Project, RecordOutcome, RootPresence};
use retake_service::ApiError;
use retake_service::caller::is_process_alive;
use retake_service::request::{CarryOutRejections, ProjectCommand as _, RecordEvents, Submission};

use super::handle::{OpenProject, ProjectEnv, ProjectShared};
use super::job_queue::{JobReceiver, JobSender, NextJob};
use super::watch_loop::WatchLoop;
use crate::daemon::idle::until_next_tick;

/// Maximum events in one batch, and in a portion of bulk: their senders wait for all of them.
const MAX_BATCH_EVENTS: usize = 64;
/// Maximum bytes of the events in a portion of bulk; one event may have more.
const MAX_PORTION_BYTES: usize = 512 * 1024;
/// Interval of the check whether a rejection that waits is due.
const DUE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Interval of the check whether another process has queued one.
const QUEUE_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum events of a sender whose job is small; one with more is bulk.
const MAX_SMALL_EVENTS: usize = 8;

/// A job of a project's worker.
pub(crate) enum ProjectJob {
    /// Events to record.
    Record(RecordJob),
    /// Anything else.
    Call(JobFn),
}

type JobFn = Box<dyn FnOnce(Result<&Project, ApiError>) + Send>;
type RecordResults = Vec<Result<RecordOutcome, ApiError>>;

/// Events of one sender to record, as many as are left of them.
pub(crate) struct RecordJob {
    submissions: std::vec::IntoIter<Submission>,
    /// The results of the portions before.
    recorded: RecordResults,
    is_bulk: bool,
    /// Reports that recording begins, before the first portion; `false` if the sender has gone.
    begin: Option<Box<dyn FnOnce() -> bool + Send>>,
    /// Receives the results.
    answer: Box<dyn FnOnce(Result<RecordResults, ApiError>) + Send>,
}

impl RecordJob {
    /// A job that reports to `begin` and `answer`.
    pub(crate) fn new(
        submissions: Vec<Submission>,
        begin: impl FnOnce() -> bool + Send + 'static,
        answer: impl FnOnce(Result<RecordResults, ApiError>) + Send + 'static,
    ) -> Self {
        Self {
            recorded: Vec::with_capacity(submissions.len()),
            is_bulk: submissions.len() > MAX_SMALL_EVENTS,
            submissions: submissions.into_iter(),
            begin: Some(Box::new(begin)),
            answer: Box::new(answer),
        }
    }

    /// Returns whether it has more events than a small job.
    pub(super) fn is_bulk(&self) -> bool {
        self.is_bulk
    }

    /// Returns the number of events that are left.
    pub(super) fn waiting(&self) -> usize {
        self.submissions.len()
    }

    /// Reports that it begins, once; returns `false` if the sender has gone.
    fn begin(&mut self) -> bool {
        self.begin.take().is_none_or(|begin| begin())
    }

    /// Takes the next portion.
    fn take_portion(&mut self) -> Vec<Submission> {
        let count = portion_length(self.submissions.as_slice());
        self.submissions.by_ref().take(count).collect()
    }

    /// Answers with what was recorded; events that are left failed with this error.
    fn fail(mut self, failure: &ApiError) {
        if self.recorded.is_empty() {
            return (self.answer)(Err(failure.clone()));
        }
        let left = self.submissions.map(|_| Err(failure.clone()));
        self.recorded.extend(left);
        (self.answer)(Ok(self.recorded));
    }
}

/// Returns the number of events at the beginning that make a portion; at least one.
fn portion_length(submissions: &[Submission]) -> usize {
    let mut bytes = 0;
    let fits = |submission: &&Submission| {
        bytes += byte_length(submission);
        bytes <= MAX_PORTION_BYTES
    };
    submissions.iter().take(MAX_BATCH_EVENTS).take_while(fits).count().max(1)
}

fn byte_length(submission: &Submission) -> usize {
    struct ByteCount(usize);
    impl io::Write for ByteCount {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCount(0);
    // An event that cannot be written counts as a portion of its own.
    match serde_json::to_writer(&mut count, &submission.event) {
        Ok(()) => count.0,
        Err(_) => MAX_PORTION_BYTES,
    }
}

impl ProjectJob {
    pub(crate) fn call(work: impl FnOnce(Result<&Project, ApiError>) + Send + 'static) -> Self {
        Self::Call(Box::new(work))
    }

    /// Returns whether it waits while small jobs run.
    pub(super) fn is_bulk(&self) -> bool {
        match self {
            Self::Record(recording) => recording.is_bulk(),
            Self::Call(_) => false,
        }
    }
}

impl fmt::Debug for ProjectJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(recording) => write!(f, "Record({})", recording.waiting()),
            Self::Call(_) => f.write_str("Call"),
        }
    }
}

/// Runs the jobs of one project.
pub(super) struct ProjectWorker {
    shared: Arc<ProjectShared>,
    env: ProjectEnv,
    /// For the watch loop.
    jobs: JobSender,
    open: Option<OpenProject>,
    reconciled: bool,
}

impl ProjectWorker {
    pub(super) fn new(shared: Arc<ProjectShared>, env: ProjectEnv, jobs: JobSender) -> Self {
        Self { shared, env, jobs, open: None, reconciled: false }
    }

    /// Runs jobs until the handle is dropped.
    pub(super) fn run(mut self, queue: &JobReceiver) {
        loop {
            match self.next_job(queue) {
                NextJob::Job(job) => {
                    self.run_next(job, queue);
                    self.shared.commits.notify();
                }
                NextJob::TimedOut => {}
                NextJob::Closed => return,
            }
            self.carry_out_due_rejections();
        }
    }

    fn run_next(&mut self, job: ProjectJob, queue: &JobReceiver) {
        let done = match job {
            ProjectJob::Call(work) => self.run_job(work),
            ProjectJob::Record(bulk) if bulk.is_bulk() => self.record_portion(bulk, queue),
            ProjectJob::Record(first) => {
                let group = batch_waiting(first, queue);
                self.run_job(|project| record_batch(project, group))
            }
        };
        if done.is_none() {
            // The job panicked: the next one reopens the project.
            self.open = None;
        }
    }

    /// Carries out the rejections whose agents are no longer at work.
    fn carry_out_due_rejections(&mut self) {
        let Some(open) = &self.open else { return };
        let waits = open.project.has_waiting_rejections().unwrap_or(false);
        self.shared.has_waiting_rejections.store(waits, Ordering::Relaxed);
        let at = (self.env.clock)();
        let is_due = || open.project.has_due_rejections(at, &is_process_alive).unwrap_or(false);
        if !waits || !is_due() {
            return;
        }
        // A daemon that ends leaves them to the process that handles the next event.
        let Some(_busy) = self.env.idle.start_work() else { return };
        let shared = Arc::clone(&self.shared);
        let done = self.run_job(move |project| {
            let carry_out = |project| (CarryOutRejections {}).run(project, at, &mut |_, _| {});
            if let Err(failure) = project.and_then(carry_out) {
                tracing::debug!(code = %failure.code, "rejections still wait");
                shared.report.fail(&failure, at);
            }
        });
        if done.is_none() {
            self.open = None;
        }
        self.shared.commits.notify();
    }

    /// Records a portion of bulk, and puts the rest back into the queue; `None` if it panicked.
    fn record_portion(&mut self, mut bulk: RecordJob, queue: &JobReceiver) -> Option<()> {
        if self.env.idle.is_shutting_down() && bulk.begin.is_none() {
            bulk.fail(&stopping());
            return Some(());
        }
        self.run_job(|project| {
            if !bulk.begin() {
                return;
            }
            let submissions = bulk.take_portion();
            let at = submissions.last().map_or(0, |submission| submission.at);
            let recorded = project.and_then(|project| {
                (RecordEvents { submissions }).run(project, at, &mut |_, _| {})
            });
            match recorded {
                Ok(recorded) => bulk.recorded.extend(recorded),
                Err(failure) => return bulk.fail(&failure),
            }
            if bulk.waiting() > 0 {
                queue.put_back(bulk);
            } else {
                (bulk.answer)(Ok(bulk.recorded));
            }
        })
    }

    /// Returns the next job; tidies the store while the queue is empty.
    fn next_job(&self, queue: &JobReceiver) -> NextJob {
        if let Some(job) = queue.try_take() {
            return NextJob::Job(job);
        }
        let Some(open) = &self.open else { return queue.take(None) };
        open.project.run_maintenance();
        let waits = self.shared.has_waiting_rejections.load(Ordering::Relaxed);
        let interval = if waits { DUE_CHECK_INTERVAL } else { QUEUE_CHECK_INTERVAL };
        queue.take(Some(until_next_tick(interval)))
    }

    /// Runs a job with the project opened as it is now; `None` if it panicked.
    fn run_job(&mut self, job: impl FnOnce(Result<&Project, ApiError>)) -> Option<()> {
        let (shared, clock) = (Arc::clone(&self.shared), self.env.clock);
        let attempt = AssertUnwindSafe(|| {
            let project = self.open_project();
            if let Err(failure) = &project {
                shared.report.fail(failure, clock());
            }
            job(project);
        });
        let done = catch_unwind(attempt);
        if done.is_err() {
            tracing::error!("a job panicked");
            self.note_failure(&ApiError::new(
                ErrorCode::Internal,
                "a job ended in a fault of Retake",
                "see the daemon's log, and report it",
            ));
        }
        done.ok()
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
            let mut project = self.env.retake.open_located(&located)?;
            project.defer_maintenance();
            project.set_clock(self.env.clock);
            // Of another folder, or none, nothing is recorded.
            if located.presence() == RootPresence::Present {
                self.watch(&mut project);
            }
            OpenProject { located, project }
        };
        let project = &self.open.insert(open).project;
        // A job of a request names its own caller.
        project.set_caller(Caller::daemon());
        Ok(project)
    }

    fn note_failure(&self, failure: &ApiError) {
        self.shared.report.fail(failure, (self.env.clock)());
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
                self.shared.report.set_watch_failure(None);
                *self.shared.watch.lock().unwrap_or_else(PoisonError::into_inner) = weak.clone();
                let (clock, idle) = (self.env.clock, Arc::clone(&self.env.idle));
                let (jobs, commits) = (self.jobs.clone(), self.shared.commits.clone());
                let waiter = watch.waiter();
                WatchLoop { watch: weak, waiter, jobs, clock, idle, commits }.spawn();
            }
            Err(error) => {
                tracing::warn!("nothing is watched: {error}");
                self.shared.report.set_watch_failure(Some(error.to_string()));
            }
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
            Err(error) => {
                tracing::warn!("what happened meanwhile is not known: {error}");
                self.note_failure(&error.into());
            }
        }
    }
}

/// The error of events that a daemon which shuts down does not record.
fn stopping() -> ApiError {
    let message = "the daemon ends before it has recorded this event";
    ApiError::new(ErrorCode::Stopping, message, "send it again with the same key: it counts once")
}

/// Collects the small record jobs that wait, up to the first job of another kind.
fn batch_waiting(first: RecordJob, queue: &JobReceiver) -> Vec<RecordJob> {
    let mut count = first.waiting();
    let mut group = vec![first];
    while count < MAX_BATCH_EVENTS
        && let Some(recording) = queue.take_small_record()
    {
        count += recording.waiting();
        group.push(recording);
    }
    group
}

/// Records a batch of several senders, and answers each with its own results.
fn record_batch(project: Result<&Project, ApiError>, group: Vec<RecordJob>) {
    let project = match project {
        Ok(project) => project,
        Err(failure) => {
            for recording in group {
                recording.fail(&failure);
            }
            return;
        }
    };
    let (mut submissions, mut waiting) = (Vec::new(), Vec::new());
    for mut recording in group {
        if recording.begin() {
            waiting.push((recording.waiting(), recording.answer));
            submissions.extend(recording.submissions);
        }
    }
    let at = submissions.last().map_or(0, |submission: &Submission| submission.at);
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
    use std::sync::mpsc::{Receiver, channel};

    use retake_engine::model::{Event, EventKind};
    use retake_engine::{InitOptions, Retake};

    use super::*;
    use crate::ProjectPool;

    fn messages(dialog: &str, count: usize) -> Vec<Submission> {
        let message = |number| {
            let text = format!("{dialog} {number}");
            let event = Event::new(dialog, EventKind::AssistantMessage { text, calls: Vec::new() });
            Submission::new(format!("{dialog}.{number}"), event, 3)
        };
        (0..count).map(message).collect()
    }

    fn recorded_seqs(results: &Receiver<Result<RecordResults, ApiError>>) -> Vec<u64> {
        let results = results.recv().unwrap().unwrap();
        results.into_iter().map(|one| one.unwrap().seq.unwrap()).collect()
    }

    /// The gate is in the bulk's begin: the hook comes when the first portion is under way.
    #[test]
    fn an_event_that_comes_while_bulk_is_recorded_goes_before_the_rest_of_it() {
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let retake = Retake::new(home.path());
        retake.init(folder.path(), InitOptions::default(), 1, &mut |_, _| {}).unwrap();
        let handle = ProjectPool::new(retake, || 2).open(folder.path()).unwrap();
        let ((begun, is_begun), (open, gate)) = (channel(), channel());
        let ((bulk_answer, bulk_results), (hook_answer, hook_results)) = (channel(), channel());
        let wait_for_gate = move || begun.send(()).is_ok() && gate.recv().is_ok();
        let answer = move |results| bulk_answer.send(results).unwrap();
        let bulk =
            RecordJob::new(messages("bulk", 20 * MAX_BATCH_EVENTS + 1), wait_for_gate, answer);
        handle.send(ProjectJob::Record(bulk)).unwrap();
        is_begun.recv().unwrap();
        let answer = move |results| hook_answer.send(results).unwrap();
        let hook = RecordJob::new(messages("hook", 1), || true, answer);
        handle.send(ProjectJob::Record(hook)).unwrap();
        open.send(()).unwrap();
        let (hook, bulk) = (recorded_seqs(&hook_results), recorded_seqs(&bulk_results));
        assert!(bulk.is_sorted(), "in their order");
        let before = bulk.iter().filter(|seq| **seq < hook[0]).count();
        assert_eq!((before, bulk.len()), (MAX_BATCH_EVENTS, 20 * MAX_BATCH_EVENTS + 1));
    }

    #[test]
    fn a_portion_has_few_events_and_few_bytes_and_at_least_one() {
        let mut large = messages("d", 3);
        large[1].event.what = EventKind::UserMessage { text: "x".repeat(MAX_PORTION_BYTES) };
        assert_eq!(portion_length(&messages("d", 1000)), MAX_BATCH_EVENTS);
        assert_eq!((portion_length(&large), portion_length(&large[1..])), (1, 1));
    }
}
