//! Everything that the daemon serves: a room for each project that somebody asked for.
//!
//! Rooms are opened on first access (REC-1) and stay open.

mod room;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use retake_engine::model::Millis;
use retake_engine::{KnownProject, Project, Retake};

pub use room::{News, Room};

use crate::Failure;

/// All projects of one home.
#[derive(Debug)]
pub struct Hall {
    retake: Retake,
    clock: fn() -> Millis,
    rooms: Mutex<HashMap<String, Arc<Room>>>,
}

impl Hall {
    /// The projects of this home; `clock` tells the time.
    pub fn new(retake: Retake, clock: fn() -> Millis) -> Self {
        Self { retake, clock, rooms: Mutex::default() }
    }

    /// Retake on this machine.
    pub fn retake(&self) -> &Retake {
        &self.retake
    }

    /// The time now.
    pub fn now(&self) -> Millis {
        (self.clock)()
    }

    /// Every project on record, whether somebody asked for it or not.
    pub fn projects(&self) -> Result<Vec<KnownProject>, Failure> {
        Ok(self.retake.projects()?)
    }

    /// The room of the nearest project at or above a path.
    pub fn enter(&self, start: &Path) -> Result<Arc<Room>, Failure> {
        self.room_of(self.retake.open(start)?)
    }

    /// Like [`Hall::enter`]; a folder that is in no project becomes one.
    pub fn enter_or_create(&self, start: &Path) -> Result<Arc<Room>, Failure> {
        self.room_of(self.retake.open_or_create(start, self.now())?)
    }

    /// The room of the project with this id.
    pub fn room(&self, id: &str) -> Result<Arc<Room>, Failure> {
        if let Some(room) = self.rooms.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            return Ok(Arc::clone(room));
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

    fn room_of(&self, project: Project) -> Result<Arc<Room>, Failure> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(project.id()) {
            return Ok(Arc::clone(room));
        }
        let id = project.id().to_owned();
        let room = Arc::new(Room::open(self.retake.clone(), project, self.clock)?);
        rooms.insert(id, Arc::clone(&room));
        Ok(room)
    }
}
