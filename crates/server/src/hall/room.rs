//! One project in the daemon: a thread that does what is asked, in order, and readers beside it.
//!
//! Invariants: one request at a time is carried out for a project in this process, and each takes
//! and gives back the project's lock, so that other processes have their turn. Reading never
//! waits for that.

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

/// More requests than this wait outside.
const WAITING: usize = 256;
/// More readers than this are not kept open.
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

/// What is around a room.
#[derive(Clone, Debug)]
pub(super) struct Around {
    pub(super) retake: Retake,
    pub(super) clock: fn() -> Millis,
    pub(super) life: Arc<Life>,
    pub(super) budget: Budget,
}

/// What a room and its worker both know.
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

    /// Where the project is now, if it is still the same one.
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
    /// Its thread ends when it has done what waits; the lookout has a way to ask, too.
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

    /// Has the project's thread carry out a verb, and waits for the answer.
    pub fn ask<V>(&self, verb: V) -> Result<V::Answer, Failure>
    where
        V: Verb + Send + 'static,
        V::Answer: Send + 'static,
    {
        let clock = self.around.clock;
        self.work(move |project| verb.carry_out(project, clock(), &mut |_, _| {}))?
    }

    /// Has the project's thread do something, and waits for it.
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

    /// Records events together with those that others bring at the same time, and waits for it.
    pub fn record(&self, parcels: Vec<Parcel>) -> Result<Vec<Result<Recorded, Failure>>, Failure> {
        let (done, wait) = mpsc::sync_channel(1);
        let answer = Box::new(move |answer| {
            let _ = done.send(answer);
        });
        self.send(Job::Record(Recording { parcels, begin: Box::new(|| true), answer }))?;
        wait.recv().unwrap_or_else(|_| Err(self.broken()))
    }

    /// Puts a job into the queue; one that comes to nothing drops what it would answer with.
    pub(crate) fn send(&self, job: Job) -> Result<(), Failure> {
        self.jobs.send(job).map_err(|_| self.broken())
    }

    /// What is said of a job that came to nothing.
    pub(crate) fn broken(&self) -> Failure {
        let message = format!("the daemon failed at it, in {}", self.root().display());
        Failure::new("internal", message, "see its log, and report it")
    }

    /// Reads beside whoever writes.
    pub fn read<T>(&self, job: impl FnOnce(&Project) -> Result<T, Failure>) -> Result<T, Failure> {
        self.read_at(self.about.locate(&self.around.retake)?, job)
    }

    /// The same for somebody who has just found the project.
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

    /// The project for somebody who goes on reading, with a connection of their own.
    pub fn reader(&self) -> Result<Project, Failure> {
        Ok(self.around.retake.open(&self.about.locate(&self.around.retake)?.root())?)
    }

    /// Where those sit who follow the project's events.
    pub fn seats(&self) -> &Arc<Seats> {
        &self.seats
    }

    /// The time now.
    pub(crate) fn now(&self) -> Millis {
        (self.around.clock)()
    }

    /// How much of the project is watched; none if it is not.
    pub fn watch_state(&self) -> Option<WatchState> {
        let watch = self.about.watch.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        watch.map(|watch| watch.state())
    }

    /// Tells when something may have been recorded.
    pub fn news(&self) -> &News {
        &self.about.news
    }
}
