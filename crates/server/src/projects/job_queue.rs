//! The job queue of a project's worker, with two lanes: small jobs, and portions of bulk.
//!
//! Invariants: each lane is first in, first out. A small job waits for at most the portion that
//! runs and the small jobs before it; a portion of bulk waits for at most
//! [`MAX_JOBS_BEFORE_BULK`] small jobs. A job that is taken into the queue is run, or dropped with
//! the queue: then its sender's channel closes.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::worker::{ProjectJob, RecordJob};

/// Capacity of each lane; further senders block.
const LANE_CAPACITY: usize = 256;
/// Maximum number of small jobs that run one after the other while a portion of bulk waits.
const MAX_JOBS_BEFORE_BULK: usize = 16;

/// The senders' side of a worker's queue.
#[derive(Clone, Debug)]
pub(super) struct JobSender(Arc<JobQueue>);

/// The worker's side; dropped, it drops the jobs that wait.
#[derive(Debug)]
pub(super) struct JobReceiver(Arc<JobQueue>);

/// What a worker gets of its queue.
#[derive(Debug)]
pub(super) enum NextJob {
    /// A job.
    Job(ProjectJob),
    /// No job came in time.
    TimedOut,
    /// The queue is closed and empty.
    Closed,
}

/// The queue no longer takes jobs.
#[derive(Debug)]
pub(super) struct QueueClosed;

#[derive(Debug, Default)]
struct JobQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    small: VecDeque<ProjectJob>,
    bulk: VecDeque<ProjectJob>,
    /// Number of small jobs that ran since a portion of bulk waits.
    ran_before_bulk: usize,
    is_closed: bool,
}

/// Makes the queue of a worker.
pub(super) fn job_queue() -> (JobSender, JobReceiver) {
    let queue = Arc::<JobQueue>::default();
    (JobSender(Arc::clone(&queue)), JobReceiver(queue))
}

impl JobQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, QueueState>) -> MutexGuard<'a, QueueState> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until<'a>(
        &self,
        state: MutexGuard<'a, QueueState>,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, QueueState> {
        let Some(deadline) = deadline else { return self.wait(state) };
        let left = deadline.saturating_duration_since(Instant::now());
        self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl QueueState {
    fn lane(&mut self, is_bulk: bool) -> &mut VecDeque<ProjectJob> {
        if is_bulk { &mut self.bulk } else { &mut self.small }
    }

    /// Takes the job that is next.
    fn take(&mut self) -> Option<ProjectJob> {
        let is_bulks_turn = self.small.is_empty() || self.ran_before_bulk >= MAX_JOBS_BEFORE_BULK;
        if is_bulks_turn && let Some(job) = self.bulk.pop_front() {
            self.ran_before_bulk = 0;
            return Some(job);
        }
        let job = self.small.pop_front()?;
        self.ran_before_bulk += usize::from(!self.bulk.is_empty());
        Some(job)
    }
}

impl JobSender {
    /// Enqueues a job; blocks while its lane is full.
    pub(super) fn send(&self, job: ProjectJob) -> Result<(), QueueClosed> {
        let is_bulk = job.is_bulk();
        let mut state = self.0.lock();
        while state.lane(is_bulk).len() >= LANE_CAPACITY && !state.is_closed {
            state = self.0.wait(state);
        }
        if state.is_closed {
            return Err(QueueClosed);
        }
        state.lane(is_bulk).push_back(job);
        drop(state);
        self.0.changed.notify_all();
        Ok(())
    }

    /// Closes the queue: the worker ends once it has run what waits.
    pub(super) fn close(&self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }

    /// Returns the number of jobs that wait.
    pub(super) fn waiting(&self) -> usize {
        let state = self.0.lock();
        state.small.len() + state.bulk.len()
    }
}

impl JobReceiver {
    /// Takes the next job, if one waits.
    pub(super) fn try_take(&self) -> Option<ProjectJob> {
        let job = self.0.lock().take();
        self.0.changed.notify_all();
        job
    }

    /// Takes the next job, and waits for one, for at most this time.
    pub(super) fn take(&self, timeout: Option<Duration>) -> NextJob {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.0.lock();
        loop {
            if let Some(job) = state.take() {
                drop(state);
                self.0.changed.notify_all();
                return NextJob::Job(job);
            }
            if state.is_closed {
                return NextJob::Closed;
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return NextJob::TimedOut;
            }
            state = self.0.wait_until(state, deadline);
        }
    }

    /// Takes the next small job if it records events.
    pub(super) fn take_small_record(&self) -> Option<RecordJob> {
        let mut state = self.0.lock();
        if !matches!(state.small.front(), Some(ProjectJob::Record(_))) {
            return None;
        }
        let job = state.small.pop_front();
        drop(state);
        self.0.changed.notify_all();
        match job {
            Some(ProjectJob::Record(recording)) => Some(recording),
            _ => None,
        }
    }

    /// Puts back the rest of a bulk job, behind the bulk of other senders.
    pub(super) fn put_back(&self, rest: RecordJob) {
        self.0.lock().bulk.push_back(ProjectJob::Record(rest));
    }
}

impl Drop for JobReceiver {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        let dropped = (std::mem::take(&mut state.small), std::mem::take(&mut state.bulk));
        drop(state);
        // Their senders' channels close outside of the lock.
        drop(dropped);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use retake_engine::model::{Event, EventKind};
    use retake_service::request::Submission;

    use super::*;

    fn record(count: usize) -> ProjectJob {
        let event = Event::new("d", EventKind::DialogEnd {});
        let submissions = vec![Submission::new("k", event, 1); count];
        ProjectJob::Record(RecordJob::new(submissions, || true, |_| {}))
    }

    fn take(queue: &JobReceiver) -> Option<ProjectJob> {
        match queue.take(None) {
            NextJob::Job(job) => Some(job),
            NextJob::TimedOut | NextJob::Closed => None,
        }
    }

    fn name(job: &ProjectJob) -> &'static str {
        match job {
            ProjectJob::Record(recording) if recording.is_bulk() => "bulk",
            ProjectJob::Record(_) => "record",
            ProjectJob::Call(_) => "call",
        }
    }

    #[test]
    fn small_jobs_go_first_and_bulk_has_its_turn_after_some_of_them() {
        let (jobs, queue) = job_queue();
        jobs.send(record(1000)).unwrap();
        jobs.send(record(1000)).unwrap();
        for _ in 0..2 * MAX_JOBS_BEFORE_BULK + 3 {
            jobs.send(ProjectJob::call(|_| {})).unwrap();
        }
        jobs.close();
        let order: Vec<_> = std::iter::from_fn(|| take(&queue)).map(|job| name(&job)).collect();
        let of_bulk: Vec<_> = (0..order.len()).filter(|at| order[*at] == "bulk").collect();
        assert_eq!(of_bulk, [MAX_JOBS_BEFORE_BULK, 2 * MAX_JOBS_BEFORE_BULK + 1]);
        assert!(jobs.send(record(1)).is_err(), "it is closed");
    }

    #[test]
    fn what_records_is_gathered_up_to_other_work_and_never_with_bulk() {
        let (jobs, queue) = job_queue();
        for job in [record(1000), record(2), record(1), ProjectJob::call(|_| {}), record(1)] {
            jobs.send(job).unwrap();
        }
        assert_eq!(queue.take_small_record().unwrap().waiting(), 2);
        assert_eq!(queue.take_small_record().unwrap().waiting(), 1);
        assert!(queue.take_small_record().is_none(), "a call is next");
        assert_eq!(name(&take(&queue).unwrap()), "call");
        assert_eq!((jobs.waiting(), name(&take(&queue).unwrap())), (2, "record"));
    }

    #[test]
    fn a_sender_of_a_full_lane_waits_and_the_jobs_of_a_worker_that_ends_are_dropped() {
        let (jobs, queue) = job_queue();
        for _ in 0..LANE_CAPACITY {
            jobs.send(ProjectJob::call(|_| {})).unwrap();
        }
        jobs.send(record(1000)).expect("the other lane has room");
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let sender = jobs.clone();
        let blocked =
            std::thread::spawn(move || sender.send(ProjectJob::call(move |_| drop(done))).is_ok());
        assert!(take(&queue).is_some());
        assert!(blocked.join().unwrap());
        drop(queue);
        assert!(wait.recv().is_err(), "the job is dropped with the queue");
        assert!(jobs.send(record(1)).is_err());
    }
}
