//! Signals of one project to the event streams that follow it.

use std::sync::Arc;

use retake_engine::model::{DialogId, Millis, ProjectPath};
use serde_json::Value;

use crate::stream::StreamHub;

/// A hint for followers: an event that is not on record and has no place in the order. A follower
/// that is slow misses some; nothing that a client must know is told by a hint alone.
#[derive(Clone, Debug, PartialEq)]
pub struct EphemeralEvent {
    /// Its name.
    pub name: &'static str,
    /// The dialog that it concerns, if it is one.
    pub dialog: Option<DialogId>,
    /// Its fields.
    pub data: Value,
}

/// Tells the followers of a project what may have happened in it.
#[derive(Clone, Debug)]
pub struct CommitSignal {
    project: String,
    hub: Arc<StreamHub>,
}

impl CommitSignal {
    pub(super) fn new(project: &str, hub: Arc<StreamHub>) -> Self {
        Self { project: project.to_owned(), hub }
    }

    /// Signals that something may have been recorded.
    pub fn notify(&self) {
        self.hub.notify_commit(&self.project);
    }

    /// Publishes a hint.
    pub(super) fn publish(&self, hint: &EphemeralEvent) {
        self.hub.notify_hint(&self.project, hint);
    }

    /// Signals that files were saved whose newest versions are not on record yet.
    pub(super) fn notify_touched(&self, paths: &[ProjectPath], at: Millis) {
        self.hub.notify_touched(&self.project, paths, at);
    }
}
