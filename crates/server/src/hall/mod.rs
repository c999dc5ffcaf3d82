//! The daemon's open projects.
//!
//! Opened on first request (REC-1), evicted least recently used: each has open files, threads,
//! and a watcher.

mod life;
mod lookout;
mod news;
mod room;
mod worker;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use retake_engine::model::Millis;
use retake_engine::{Budget, KnownProject, Located, Retake};

pub use life::{Busy, Life};
pub use news::News;
use room::Around;
pub use room::Room;
pub(crate) use worker::{Job, Recording};

use crate::Failure;

/// Maximum open projects, unless all of them are in use. Each takes an instance of inotify,
/// of which a user has 128.
const MOST_ROOMS: usize = 32;

/// All projects of one home.
#[derive(Debug)]
pub struct Hall {
    retake: Retake,
    clock: fn() -> Millis,
    /// In LRU order: the most recently requested comes last.
    rooms: Mutex<Vec<Arc<Room>>>,
    life: Arc<Life>,
    budget: Budget,
}

impl Hall {
    /// The projects of this home; `clock` tells the time.
    pub fn new(retake: Retake, clock: fn() -> Millis) -> Self {
        let budget = Budget::half_of_users();
        Self { retake, clock, rooms: Mutex::default(), life: Arc::default(), budget }
    }

    /// Retake on this machine.
    pub fn retake(&self) -> &Retake {
        &self.retake
    }

    /// The time now.
    pub fn now(&self) -> Millis {
        (self.clock)()
    }

    /// The idle tracker of the daemon.
    pub fn life(&self) -> &Arc<Life> {
        &self.life
    }

    /// Every project on record, open or not.
    pub fn projects(&self) -> Result<Vec<KnownProject>, Failure> {
        Ok(self.retake.projects()?)
    }

    /// The open projects.
    pub fn rooms(&self) -> Vec<Arc<Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The room of the nearest project at or above a path.
    pub fn enter(&self, start: &Path) -> Result<Arc<Room>, Failure> {
        self.room_of(&self.retake.locate(start)?)
    }

    /// Like [`Hall::enter`]; a folder that is in no project becomes one.
    pub fn enter_or_create(&self, start: &Path) -> Result<Arc<Room>, Failure> {
        Ok(self.locate_or_create(start)?.0)
    }

    /// The same, and where the project was found.
    pub(crate) fn locate_or_create(&self, start: &Path) -> Result<(Arc<Room>, Located), Failure> {
        let located = self.retake.locate_or_create(start, self.now())?;
        Ok((self.room_of(&located)?, located))
    }

    /// The room of the project with this id.
    pub fn room(&self, id: &str) -> Result<Arc<Room>, Failure> {
        let found = find(&mut self.rooms.lock().unwrap_or_else(PoisonError::into_inner), id);
        if let Some(room) = found {
            return Ok(room);
        }
        let known = self.projects()?.into_iter().find(|project| project.id == id);
        let Some(known) = known else {
            return Err(Failure::new(
                "unknown_project",
                format!("there is no project '{id}'"),
                "GET /api/projects lists them",
            ));
        };
        self.enter(&known.root)
    }

    /// Ends all event streams, because the daemon stops.
    pub fn end_streams(&self) {
        for room in self.rooms() {
            room.news().end();
        }
    }

    fn room_of(&self, located: &Located) -> Result<Arc<Room>, Failure> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = find(&mut rooms, located.id()) {
            room.moved_to(located.root());
            return Ok(room);
        }
        close_oldest(&mut rooms);
        let around = Around {
            retake: self.retake.clone(),
            clock: self.clock,
            life: Arc::clone(&self.life),
            budget: self.budget.clone(),
        };
        let room = Arc::new(Room::open(around, located)?);
        rooms.push(Arc::clone(&room));
        Ok(room)
    }
}

/// Returns the project with this id and makes it the most recently used.
fn find(rooms: &mut Vec<Arc<Room>>, id: &str) -> Option<Arc<Room>> {
    let at = rooms.iter().position(|room| room.id() == id)?;
    let room = rooms.remove(at);
    rooms.push(Arc::clone(&room));
    Some(room)
}

/// Evicts the least recently used project that is not in use.
fn close_oldest(rooms: &mut Vec<Arc<Room>>) {
    if rooms.len() >= MOST_ROOMS
        && let Some(at) = rooms.iter().position(|room| Arc::strong_count(room) == 1)
    {
        rooms.remove(at);
    }
}
