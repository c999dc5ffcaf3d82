//! The worker thread of an open project: takes jobs off the queue and runs them.
//!
//! Invariants: before each job the project is located, and reopened if its root, its record
//! or its settings are not those that it was opened with. A job that panics fails alone. Events
//! that wait at the same time are recorded together.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, PoisonError};

use retake_engine::{Located, Project, Recorded};

use super::lookout::Lookout;
use super::room::{About, Around};
use crate::Failure;
use crate::door::{Parcel, Record, Verb as _};

/// Maximum events in one batch: their senders wait for all of them.
const TOGETHER: usize = 64;

/// A job of a project's worker.
pub(crate) enum Job {
    /// Events to record.
    Record(Recording),
    /// Anything else.
    Work(Work),
    /// The handle was dropped: the worker ends.
    End,
}

type Work = Box<dyn FnOnce(Result<&Project, Failure>) + Send>;
type Recordeds = Vec<Result<Recorded, Failure>>;

/// Events of one sender to record.
pub(crate) struct Recording {
    /// The events.
    pub(crate) parcels: Vec<Parcel>,
    /// Reports that recording begins; `false` if the sender has gone.
    pub(crate) begin: Box<dyn FnOnce() -> bool + Send>,
    /// Receives the results.
    pub(crate) answer: Box<dyn FnOnce(Result<Recordeds, Failure>) + Send>,
}

impl Job {
    pub(crate) fn work(work: impl FnOnce(Result<&Project, Failure>) + Send + 'static) -> Self {
        Self::Work(Box::new(work))
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(recording) => write!(f, "Record({})", recording.parcels.len()),
            Self::Work(_) => f.write_str("Work"),
            Self::End => f.write_str("End"),
        }
    }
}

/// Runs the jobs of one project.
pub(super) struct Worker {
    about: Arc<About>,
    around: Around,
    /// For the lookout.
    jobs: SyncSender<Job>,
    open: Option<(Located, Project)>,
    reconciled: bool,
}

impl Worker {
    pub(super) fn new(about: Arc<About>, around: Around, jobs: SyncSender<Job>) -> Self {
        Self { about, around, jobs, open: None, reconciled: false }
    }

    /// Runs jobs until the handle is dropped.
    pub(super) fn work(mut self, queue: &Receiver<Job>) {
        let mut next = None;
        while let Some(job) = next.take().or_else(|| self.next(queue)) {
            let done = match job {
                Job::End => return,
                Job::Work(work) => self.attempt(work),
                Job::Record(first) => {
                    let (group, other) = gather(first, queue);
                    next = other;
                    self.attempt(|project| record(project, group))
                }
            };
            if done.is_none() {
                // The job panicked: the next one reopens the project.
                self.open = None;
            }
            self.about.news.tell();
        }
    }

    /// Returns the next job; tidies the store while the queue is empty.
    fn next(&self, queue: &Receiver<Job>) -> Option<Job> {
        if let Ok(job) = queue.try_recv() {
            return Some(job);
        }
        if let Some((_, project)) = &self.open {
            project.tidy();
        }
        queue.recv().ok()
    }

    /// Runs a job with the project opened as it is now; `None` if it panicked.
    fn attempt(&mut self, job: impl FnOnce(Result<&Project, Failure>)) -> Option<()> {
        let attempt = AssertUnwindSafe(|| job(self.project()));
        catch_unwind(attempt).inspect_err(|_| tracing::error!("a job panicked")).ok()
    }

    fn project(&mut self) -> Result<&Project, Failure> {
        let located = self.about.locate(&self.around.retake)?;
        // One that is opened again is closed first: two watchers would take twice the watches.
        let is_current =
            |open: &(Located, Project)| open.0 == located && open.1.store().is_in_place();
        let kept = self.open.take().filter(is_current);
        let open = if let Some(open) = kept {
            open
        } else {
            let mut project = self.around.retake.open(&located.root())?;
            project.tidy_later();
            project.set_clock(self.around.clock);
            self.watch(&mut project);
            (located, project)
        };
        Ok(&self.open.insert(open).1)
    }

    /// Starts the watcher, and records what changed while no daemon ran.
    fn watch(&mut self, project: &mut Project) {
        // Without a scan there are no ignore rules to watch by.
        let is_new = project.has_baseline().is_ok_and(|has| !has);
        if is_new {
            self.reconcile(project);
        }
        match project.watch(self.around.budget.clone()) {
            Ok(watch) => {
                let weak = Arc::downgrade(&watch);
                *self.about.watch.lock().unwrap_or_else(PoisonError::into_inner) = weak.clone();
                let (clock, life) = (self.around.clock, Arc::clone(&self.around.life));
                Lookout { watch: weak, jobs: self.jobs.clone(), clock, life }.begin();
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
        match project.reconcile((self.around.clock)()) {
            Ok(_) => self.reconciled = true,
            // The next request reports the error.
            Err(error) => tracing::warn!("what happened meanwhile is not known: {error}"),
        }
    }
}

/// Collects the record jobs that wait, up to the first job of another kind.
fn gather(first: Recording, queue: &Receiver<Job>) -> (Vec<Recording>, Option<Job>) {
    let mut count = first.parcels.len();
    let mut group = vec![first];
    while count < TOGETHER {
        match queue.try_recv() {
            Ok(Job::Record(recording)) => {
                count += recording.parcels.len();
                group.push(recording);
            }
            Ok(other) => return (group, Some(other)),
            Err(_) => break,
        }
    }
    (group, None)
}

/// Records a batch of several senders, and answers each with its own results.
fn record(project: Result<&Project, Failure>, group: Vec<Recording>) {
    let project = match project {
        Ok(project) => project,
        Err(failure) => {
            for recording in group {
                (recording.answer)(Err(failure.clone()));
            }
            return;
        }
    };
    let (mut parcels, mut waiting) = (Vec::new(), Vec::new());
    for recording in group {
        if (recording.begin)() {
            waiting.push((recording.parcels.len(), recording.answer));
            parcels.extend(recording.parcels);
        }
    }
    let at = parcels.last().map_or(0, |parcel| parcel.at);
    match (Record { parcels }).carry_out(project, at, &mut |_, _| {}) {
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

    fn parcels(count: usize) -> Job {
        use retake_engine::model::{Event, EventKind};
        let event = Event::new("d", EventKind::DialogEnd {});
        let parcel = Parcel::new("k", event, 1);
        let parcels = vec![parcel; count];
        Job::Record(Recording { parcels, begin: Box::new(|| true), answer: Box::new(|_| {}) })
    }

    #[test]
    fn what_waits_is_gathered_up_to_other_work_or_the_limit() {
        let (jobs, queue) = sync_channel(100);
        let first = |job: Job| match job {
            Job::Record(recording) => recording,
            Job::Work(_) | Job::End => panic!("it records"),
        };
        for job in [parcels(2), parcels(1), Job::work(|_| {}), parcels(1)] {
            jobs.send(job).unwrap();
        }
        let (group, other) = gather(first(parcels(1)), &queue);
        assert_eq!((group.len(), matches!(other, Some(Job::Work(_)))), (3, true));
        let (group, other) = gather(first(parcels(TOGETHER)), &queue);
        assert_eq!((group.len(), other.is_none()), (1, true));
    }
}
