//! One project in the daemon: a thread that does what is asked, in order, and readers beside it.
//!
//! Invariants: one request at a time is carried out for a project in this process, and each takes
//! and gives back the project's lock, so that other processes have their turn. Reading never
//! waits for that.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use retake_engine::model::Millis;
use retake_engine::{Project, Retake};

use crate::Failure;
use crate::door::Verb;

/// More requests than this wait outside.
const WAITING: usize = 256;

type Job = Box<dyn FnOnce(&Project) + Send>;

/// One project that is served.
#[derive(Debug)]
pub struct Room {
    id: String,
    root: PathBuf,
    retake: Retake,
    clock: fn() -> Millis,
    jobs: SyncSender<Job>,
    readers: Mutex<Vec<Project>>,
    news: News,
}

impl Room {
    pub(super) fn open(
        retake: Retake,
        project: Project,
        clock: fn() -> Millis,
    ) -> Result<Self, Failure> {
        let (id, root) = (project.id().to_owned(), project.root().to_owned());
        let (jobs, queue) = mpsc::sync_channel(WAITING);
        thread::Builder::new().spawn(move || work(&project, &queue)).map_err(|error| {
            Failure::new("busy", format!("no thread for {}: {error}", root.display()), "try again")
        })?;
        Ok(Self { id, root, retake, clock, jobs, readers: Mutex::default(), news: News::default() })
    }

    /// The project's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The project's root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Has the project's thread carry out a verb, and waits for the answer.
    pub fn ask<V>(&self, verb: V) -> Result<V::Answer, Failure>
    where
        V: Verb + Send + 'static,
        V::Answer: Send + 'static,
    {
        let clock = self.clock;
        let done = self.work(move |project| verb.carry_out(project, clock(), &mut |_, _| {}))?;
        self.news.tell();
        done
    }

    /// Has the project's thread do something, and waits for it.
    pub fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Project) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (done, wait) = mpsc::sync_channel(1);
        let job = move |project: &Project| {
            let _ = done.send(job(project));
        };
        let gone = || {
            let message = format!("the worker of {} has ended", self.root.display());
            Failure::new("busy", message, "try again, or restart the daemon")
        };
        self.jobs.send(Box::new(job)).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())
    }

    /// Reads beside whoever writes.
    pub fn read<T>(&self, job: impl FnOnce(&Project) -> Result<T, Failure>) -> Result<T, Failure> {
        let free = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let project = match free {
            Some(project) => project,
            None => self.retake.open(&self.root)?,
        };
        let answer = job(&project);
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).push(project);
        answer
    }

    /// Tells when something may have been recorded.
    pub fn news(&self) -> &News {
        &self.news
    }
}

fn work(project: &Project, queue: &Receiver<Job>) {
    while let Ok(job) = queue.recv() {
        job(project);
    }
}

/// Wakes whoever follows a project's events.
#[derive(Debug, Default)]
pub struct News {
    count: Mutex<u64>,
    woken: Condvar,
}

impl News {
    /// Something may have been recorded.
    pub fn tell(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.woken.notify_all();
    }

    /// Waits for more news than these, but no longer than `patience`; gives their number.
    pub fn wait(&self, seen: u64, patience: Duration) -> u64 {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, _) = self
            .woken
            .wait_timeout_while(count, patience, |count| *count == seen)
            .unwrap_or_else(PoisonError::into_inner);
        *count
    }
}
