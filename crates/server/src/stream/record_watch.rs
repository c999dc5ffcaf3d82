//! Notices what other processes record, without polling.
//!
//! The folders of the records that streams follow are watched. SQLite makes a commit visible in
//! shared memory after it has written and synced the log, so a write to the log alone is too early a
//! signal: it is passed on after a pause, and again when the writer closes the project's lock.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use retake_engine::{FolderEvent, FolderEventHandler, FolderEventKind, FolderWatcher, Retake};

use super::StreamHub;

/// Pause after a write to a record's log: a commit is visible by then, unless the disk is slow.
const COMMIT_PAUSE: Duration = Duration::from_millis(100);

/// The watched folders of records; there is no thread until the first one is watched.
#[derive(Debug)]
pub(super) struct RecordWatch {
    retake: Retake,
    hub: Weak<StreamHub>,
    state: Mutex<WatchedRecords>,
}

#[derive(Debug, Default)]
struct WatchedRecords {
    watcher: Option<FolderWatcher>,
    projects: BTreeSet<String>,
    /// Projects that have just come: their identity may not be written yet, so that no stream follows
    /// them.
    arriving: BTreeSet<String>,
    follows_all: bool,
}

impl RecordWatch {
    pub(super) fn new(retake: Retake, hub: Weak<StreamHub>) -> Self {
        Self { retake, hub, state: Mutex::default() }
    }

    /// Watches the records of these projects, and no others; with `follows_all` also that projects
    /// come.
    pub(super) fn set_watched(&self, projects: BTreeSet<String>, follows_all: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.projects == projects && state.follows_all == follows_all {
            return;
        }
        if state.watcher.is_none() {
            state.watcher = self.start();
        }
        let Some(watcher) = &state.watcher else { return };
        for gone in state.projects.difference(&projects) {
            watcher.unwatch(&self.retake.record_folder(gone));
        }
        for new in projects.difference(&state.projects) {
            watch(watcher, &self.retake.record_folder(new));
        }
        if !follows_all {
            for project in state.arriving.difference(&projects) {
                watcher.unwatch(&self.retake.record_folder(project));
            }
        }
        match (state.follows_all, follows_all) {
            (false, true) => {
                let records = self.retake.records_folder();
                // In a home without any project it is not there yet.
                if let Err(error) = retake_seam::fs::create_private_dir_all(&records) {
                    tracing::warn!("{} cannot be made: {error}", records.display());
                }
                watch(watcher, &records);
            }
            (true, false) => watcher.unwatch(&self.retake.records_folder()),
            _ => {}
        }
        state.arriving.retain(|project| follows_all && !projects.contains(project));
        (state.projects, state.follows_all) = (projects, follows_all);
    }

    /// Watches the folder of a project that has just come: its identity is written after it.
    pub(super) fn watch_new(&self, project: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watcher) = &state.watcher {
            watch(watcher, &self.retake.record_folder(project));
            state.arriving.insert(project.to_owned());
        }
    }

    fn start(&self) -> Option<FolderWatcher> {
        let handler = RecordEvents {
            hub: self.hub.clone(),
            records: self.retake.records_folder(),
            written: BTreeSet::new(),
            written_since: None,
        };
        let started = FolderWatcher::start(handler);
        started
            .inspect_err(|error| {
                tracing::warn!("what other processes record is not noticed: {error}");
            })
            .ok()
    }
}

fn watch(watcher: &FolderWatcher, folder: &Path) {
    if let Err(error) = watcher.watch(folder) {
        tracing::warn!("commits in {} are not noticed: {error}", folder.display());
    }
}

/// Turns events of files into signals.
struct RecordEvents {
    hub: Weak<StreamHub>,
    records: PathBuf,
    /// Projects whose log was written, not signalled yet.
    written: BTreeSet<String>,
    written_since: Option<Instant>,
}

impl RecordEvents {
    fn signal(&self, project: &str) {
        if let Some(hub) = self.hub.upgrade() {
            hub.notify_commit(project);
        }
    }

    fn signal_written(&mut self) {
        self.written_since = None;
        for project in std::mem::take(&mut self.written) {
            self.signal(&project);
        }
    }
}

impl FolderEventHandler for RecordEvents {
    fn on_event(&mut self, event: &FolderEvent) {
        let name = event.name.as_deref();
        let is_identity = name == Some(b"project.json");
        if (event.folder == self.records || is_identity || name.is_none())
            && let Some(hub) = self.hub.upgrade()
        {
            if event.folder == self.records
                && event.kind == FolderEventKind::Added
                && let Some(project) = name
            {
                hub.watch_new_record(&String::from_utf8_lossy(project));
            }
            hub.notify_projects();
        }
        let project = event.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let Some(project) = project.filter(|_| event.folder != self.records) else { return };
        match (name, event.kind) {
            (None, _)
            | (_, FolderEventKind::Unknown)
            | (Some(b"lock"), FolderEventKind::Closed) => self.signal(&project),
            // Opening and closing a record touches its files, too; only this is a commit, or another
            // record in its place.
            (Some(b"retake.db-wal"), FolderEventKind::Written)
            | (
                Some(b"retake.db"),
                FolderEventKind::Written | FolderEventKind::Added | FolderEventKind::Removed,
            ) => {
                self.written.insert(project);
                self.written_since.get_or_insert_with(Instant::now);
            }
            _ => {}
        }
        // A writer that never pauses does not keep the signal back.
        if self.written_since.is_some_and(|since| since.elapsed() >= COMMIT_PAUSE) {
            self.signal_written();
        }
    }

    fn on_pause_over(&mut self) {
        self.signal_written();
    }

    fn pause(&self) -> Option<Duration> {
        let since = self.written_since?;
        Some(COMMIT_PAUSE.saturating_sub(since.elapsed()))
    }
}
