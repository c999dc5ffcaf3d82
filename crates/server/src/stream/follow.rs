//! Reads a project's events from a `seq` on.
//!
//! A follower has a connection of its own to the store, and asks it for its data version before it
//! reads: that is cheap while there is no commit, and also sees commits of other processes. It reads
//! when it is told to; signals of [`super::StreamHub`] say when that is worth while.
//!
//! Invariant: the cost of an event does not depend on how many events or changes there are.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use retake_engine::model::ErrorCode;
use retake_engine::{JournalEvent, KnownProject, Project, RecordNameCursor, Retake};
use retake_service::{ApiError, Masking};
use serde_json::json;

use super::event::{EventRenderer, change_of};
use super::{StreamEvent, StreamFilter};

/// Events per read; between reads the client's presence is checked.
const EVENTS_PER_PAGE: usize = 64;

/// Where following starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStart {
    /// With what is recorded from now on.
    Now,
    /// With the first event after this place.
    After(u64),
}

/// What a client gets of each project.
#[derive(Clone, Debug, Default)]
pub struct StreamChoice {
    /// The events that pass.
    pub filter: Arc<StreamFilter>,
    /// Also under the names that older designs gave to them (C-21).
    pub compat: bool,
}

/// A reader that follows a project's events.
#[derive(Debug)]
pub struct EventFollower {
    retake: Retake,
    id: String,
    root: PathBuf,
    choice: StreamChoice,
    reader: Option<Project>,
    /// `None`: where the record ends when it is first read.
    position: Option<u64>,
    /// The store's version when it was last read.
    version: i64,
    /// The last page was full.
    has_more: bool,
    names: RefCell<RecordNameCursor>,
    /// Up to where gc had removed events when the last page was read.
    removed: u64,
}

impl EventFollower {
    /// Follows a project; its record is opened by the first read.
    pub fn new(
        retake: Retake,
        project: KnownProject,
        start: StreamStart,
        choice: StreamChoice,
    ) -> Self {
        let position = match start {
            StreamStart::Now => None,
            StreamStart::After(seq) => Some(seq),
        };
        Self {
            retake,
            id: project.id,
            root: project.root,
            choice,
            reader: None,
            position,
            version: 0,
            has_more: true,
            names: RefCell::default(),
            removed: 0,
        }
    }

    /// Up to where the order has been read; `None` before the first read from now on.
    pub fn position(&self) -> Option<u64> {
        self.position
    }

    /// The project's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The project's root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The project is somewhere else now.
    pub(super) fn set_root(&mut self, root: &Path) {
        if self.root != root {
            self.reader = None;
            root.clone_into(&mut self.root);
        }
    }

    /// Returns true if there is more to read at once.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Returns true if the record is open.
    pub(super) fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Closes the record; the next read opens it again.
    pub(super) fn close_reader(&mut self) {
        self.reader = None;
    }

    /// Reads the next page of events; empty if there is nothing new that passes the filter.
    pub fn next_events(&mut self) -> Result<Vec<StreamEvent>, ApiError> {
        self.open_reader()?;
        let Some(reader) = &self.reader else { return Ok(Vec::new()) };
        let Some(position) = self.position else {
            self.position = Some(reader.last_seq()?);
            return Ok(Vec::new());
        };
        // Asked before reading: what is committed in between is found the next time.
        let version = reader.data_version()?;
        if !self.has_more && version == self.version {
            return Ok(Vec::new());
        }
        self.version = version;
        self.read_page(position)
    }

    /// Opens the record if it is not open, or is not the project's any longer.
    pub(super) fn open_reader(&mut self) -> Result<(), ApiError> {
        if self.reader.as_ref().is_some_and(Project::is_record_in_place) {
            return Ok(());
        }
        self.reader = None;
        // By its id: a project whose folder is gone is followed as well.
        let located = self.retake.locate_by_id(&self.id)?.ok_or_else(|| {
            let message = format!("the project of {} is not on record", self.root.display());
            ApiError::new(
                ErrorCode::UnknownProject,
                message,
                "GET /api/projects lists the projects and their folders",
            )
        })?;
        let reader = self.retake.open_located(&located)?;
        (self.version, self.has_more) = (0, true);
        self.reader = Some(reader);
        Ok(())
    }

    fn read_page(&mut self, position: u64) -> Result<Vec<StreamEvent>, ApiError> {
        let Some(reader) = &self.reader else { return Ok(Vec::new()) };
        let page = reader.event_page(position, EVENTS_PER_PAGE)?;
        if page.removed != self.removed {
            self.names = RefCell::default();
            self.removed = page.removed;
        }
        // A place that is not in this record: it was put back to an earlier state, or is another.
        let ahead = position > page.last;
        if ahead || position < page.removed {
            let oldest = if ahead { page.last } else { page.removed };
            (self.position, self.has_more) = (Some(oldest), true);
            let data = json!({
                "type": "reset", "project": self.id, "after": position, "oldest": oldest + 1,
            });
            return Ok(vec![StreamEvent { seq: oldest, entries: vec![("reset".into(), data)] }]);
        }
        self.has_more = page.has_more;
        let mut rendered = Vec::new();
        let mut last = position;
        for event in page.events {
            rendered.extend(self.render(reader, &event)?);
            last = event.seq;
        }
        self.position = Some(last);
        Ok(rendered)
    }

    fn render(
        &self,
        reader: &Project,
        event: &JournalEvent,
    ) -> Result<Option<StreamEvent>, ApiError> {
        let change = change_of(event).map(|id| reader.change(id)).transpose()?.flatten();
        if !self.choice.filter.wants(event, change.as_ref()) {
            return Ok(None);
        }
        let masking = Masking::from(&reader.settings().api);
        let (compat, names) = (self.choice.compat, &self.names);
        let renderer = EventRenderer { project: reader, compat, masking, names };
        Ok(Some(renderer.render(event, change.as_ref())))
    }
}
