//! One open project of the daemon: the job queue of its worker thread, and a pool of readers.
//!
//! Invariants: one request at a time is executed for a project in this process, and each takes
//! and releases the project's lock, so that other processes get it in between. Reads never wait
//! for the lock.

use std::path::PathBuf;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use retake_engine::model::Millis;
use retake_engine::{Budget, Located, Project, Recorded, Retake, Watch, WatchState};

use super::worker::{Job, Recording, Worker};
use super::{Life, News};
use crate::Failure;
use crate::door::{Parcel, Verb};
use crate::stream::Seats;

/// Capacity of the job queue; further senders block.
const WAITING: usize = 256;
/// Maximum idle readers that are kept open.
const READERS: usize = 8;

/// One project that is served.
#[derive(Debug)]
pub struct Room {
    about: Arc<About>,
    around: Around,
    jobs: SyncSender<Job>,
    readers: Mutex<Vec<(Located, Project)>>,
    seats: Arc<Seats>,
}

/// The daemon's environment of a project.
#[derive(Clone, Debug)]
pub(super) struct Around {
    pub(super) retake: Retake,
    pub(super) clock: fn() -> Millis,
    pub(super) life: Arc<Life>,
    pub(super) budget: Budget,
}

/// State shared by a project's handle and its worker.
#[derive(Debug)]
pub(super) struct About {
    pub(super) id: String,
    root: Mutex<PathBuf>,
    pub(super) news: News,
    /// The watcher of the project, while it lives.
    pub(super) watch: Mutex<Weak<Watch>>,
}

impl About {
    pub(super) fn root(&self) -> PathBuf {
        self.root.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Locates the project's root now; fails if another project is there.
    pub(super) fn locate(&self, retake: &Retake) -> Result<Located, Failure> {
        let located = retake.locate(&self.root())?;
        if located.id() == self.id {
            return Ok(located);
        }
        let root = located.root();
        let message = format!("{} is another project now", root.display());
        Err(Failure::new("unknown_project", message, "ask for it by its folder"))
    }
}

impl Drop for Room {
    /// Ends the worker once its queue is done; the lookout holds a sender, too, so this is
    /// explicit.
    fn drop(&mut self) {
        let jobs = self.jobs.clone();
        if let Err(TrySendError::Full(end)) = jobs.try_send(Job::End) {
            thread::spawn(move || jobs.send(end));
        }
    }
}

impl Room {
    pub(super) fn open(around: Around, located: &Located) -> Result<Self, Failure> {
        let (id, root) = (located.id().to_owned(), located.root());
        let (root, news, watch) = (Mutex::new(root), News::default(), Mutex::default());
        let about = Arc::new(About { id, root, news, watch });
        let (jobs, queue) = mpsc::sync_channel(WAITING);
        let worker = Worker::new(Arc::clone(&about), around.clone(), jobs.clone());
        thread::Builder::new().spawn(move || worker.work(&queue)).map_err(|error| {
            let root = located.root();
            Failure::new("busy", format!("no thread for {}: {error}", root.display()), "try again")
        })?;
        let (readers, seats) = (Mutex::default(), Arc::default());
        Ok(Self { about, around, jobs, readers, seats })
    }

    /// The project's id.
    pub fn id(&self) -> &str {
        &self.about.id
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        self.about.root()
    }

    pub(super) fn moved_to(&self, root: PathBuf) {
        *self.about.root.lock().unwrap_or_else(PoisonError::into_inner) = root;
    }

    /// Executes a request on the worker thread, and waits for the answer.
    pub fn ask<V>(&self, verb: V) -> Result<V::Answer, Failure>
    where
        V: Verb + Send + 'static,
        V::Answer: Send + 'static,
    {
        let clock = self.around.clock;
        self.work(move |project| verb.carry_out(project, clock(), &mut |_, _| {}))?
    }

    /// Runs a closure on the worker thread, and waits for its result.
    pub fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Project) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (done, wait) = mpsc::sync_channel(1);
        self.send(Job::work(move |project| {
            let _ = done.send(project.map(job));
        }))?;
        wait.recv().unwrap_or_else(|_| Err(self.broken()))
    }

    /// Records events, batched with those that wait at the same time, and waits for the results.
    pub fn record(&self, parcels: Vec<Parcel>) -> Result<Vec<Result<Recorded, Failure>>, Failure> {
        let (done, wait) = mpsc::sync_channel(1);
        let answer = Box::new(move |answer| {
            let _ = done.send(answer);
        });
        self.send(Job::Record(Recording { parcels, begin: Box::new(|| true), answer }))?;
        wait.recv().unwrap_or_else(|_| Err(self.broken()))
    }

    /// Enqueues a job; a job that fails to run drops its answer channel.
    pub(crate) fn send(&self, job: Job) -> Result<(), Failure> {
        self.jobs.send(job).map_err(|_| self.broken())
    }

    /// The error of a job that panicked or was dropped.
    pub(crate) fn broken(&self) -> Failure {
        let message = format!("the daemon failed at it, in {}", self.root().display());
        Failure::new("internal", message, "see its log, and report it")
    }

    /// Runs a read with a pooled reader, beside the worker's writes.
    pub fn read<T>(&self, job: impl FnOnce(&Project) -> Result<T, Failure>) -> Result<T, Failure> {
        self.read_at(self.about.locate(&self.around.retake)?, job)
    }

    /// Like [`Room::read`], for a caller that has just located the project.
    pub(crate) fn read_at<T>(
        &self,
        located: Located,
        job: impl FnOnce(&Project) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let free = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let project = match free {
            Some((known, project)) if known == located => project,
            _ => self.around.retake.open(&located.root())?,
        };
        let answer = job(&project);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < READERS {
            readers.push((located, project));
        }
        drop(readers);
        answer
    }

    /// Opens a reader with its own connection, for a caller that reads for long.
    pub fn reader(&self) -> Result<Project, Failure> {
        Ok(self.around.retake.open(&self.about.locate(&self.around.retake)?.root())?)
    }

    /// The limit of the project's event streams.
    pub fn seats(&self) -> &Arc<Seats> {
        &self.seats
    }

    /// The time now.
    pub(crate) fn now(&self) -> Millis {
        (self.around.clock)()
    }

    /// The watcher's state; `None` if the project is not watched.
    pub fn watch_state(&self) -> Option<WatchState> {
        let watch = self.about.watch.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        watch.map(|watch| watch.state())
    }

    /// Signals possible commits.
    pub fn news(&self) -> &News {
        &self.about.news
    }
}
