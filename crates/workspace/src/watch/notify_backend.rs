//! The watcher where the system watches whole trees (macOS), on the crate notify.
//!
//! On Linux it is compiled for tests only.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::{CreateKind, EventKind, RemoveKind};
use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use retake_model::ProjectPath;

use super::filter::EventFilter;
use super::hint::{EventBatch, HintBuffer};
use super::{BackendSetup, WatchBackend, WatchUnavailable, cookie};
use crate::walk::IGNORE_FILE;
use crate::{RuleSources, Workspace};

/// The running watcher; dropping it ends the reports.
struct NotifyWatcher {
    handler: Arc<NotifyHandler>,
    _watcher: RecommendedWatcher,
}

impl std::fmt::Debug for NotifyWatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NotifyWatcher").field("handler", &self.handler).finish_non_exhaustive()
    }
}

/// The event handler of the watcher.
#[derive(Debug)]
struct NotifyHandler {
    workspace: Workspace,
    cookies: PathBuf,
    filter: Mutex<EventFilter>,
    hints: Arc<HintBuffer>,
}

/// Starts to watch the whole tree.
pub(super) fn open(setup: BackendSetup<'_>) -> Result<Box<dyn WatchBackend>, WatchUnavailable> {
    let BackendSetup { workspace, rules, cookies, budget: _, hints } = setup;
    let root = workspace.root().to_owned();
    let filter = Mutex::new(EventFilter::new(rules));
    let handler = Arc::new(NotifyHandler { workspace, cookies: cookies.to_owned(), filter, hints });
    let receiver = Arc::clone(&handler);
    let mut watcher = notify::recommended_watcher(move |report| receiver.handle_event(report))
        .map_err(backend_error)?;
    watcher.watch(&handler.cookies, RecursiveMode::NonRecursive).map_err(backend_error)?;
    watcher.watch(&root, RecursiveMode::Recursive).map_err(backend_error)?;
    Ok(Box::new(NotifyWatcher { handler, _watcher: watcher }))
}

fn backend_error(error: notify::Error) -> WatchUnavailable {
    match error.kind {
        ErrorKind::MaxFilesWatch => WatchUnavailable::NotReported(
            "the system does not let this user watch so many folders".to_owned(),
        ),
        ErrorKind::Io(error) => WatchUnavailable::Failed(error),
        kind => WatchUnavailable::Failed(io::Error::other(notify::Error::new(kind))),
    }
}

impl WatchBackend for NotifyWatcher {
    fn set_rules(&self, rules: &RuleSources) {
        // No watch is added, since everything is reported; but events may have been dropped.
        if self.handler.lock().set_rules(rules) {
            self.handler.hints.add_everything_if(false);
        }
    }

    fn set_always_tracked(&self, paths: BTreeSet<ProjectPath>) {
        if self.handler.lock().set_always_tracked(paths) {
            self.handler.hints.add_everything_if(false);
        }
    }
}

impl NotifyHandler {
    fn lock(&self) -> MutexGuard<'_, EventFilter> {
        self.filter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle_event(&self, report: notify::Result<notify::Event>) {
        // Locked until the hints have it, so that a change of rules comes before or after.
        let filter = self.lock();
        let mut batch = EventBatch::default();
        match report {
            Ok(event) if event.need_rescan() => {
                (batch.everything, batch.overflows) = (true, 1);
            }
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            Ok(event) => {
                for path in &event.paths {
                    self.handle_path(&filter, path, event.kind, &mut batch);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the watcher missed something");
                batch.everything = true;
            }
        }
        self.hints.add(batch);
    }

    fn handle_path(
        &self,
        filter: &EventFilter,
        path: &Path,
        kind: EventKind,
        batch: &mut EventBatch,
    ) {
        if let Ok(name) = path.strip_prefix(&self.cookies) {
            let number = cookie::cookie_number(name.as_os_str().as_bytes());
            batch.cookie = batch.cookie.max(number.unwrap_or_default());
            return;
        }
        let relative = path.strip_prefix(self.workspace.root());
        let path = relative.ok().map(|path| ProjectPath::new(path.as_os_str().as_bytes()));
        // The root itself, or a path of which nothing is known.
        let Some(Ok(path)) = path else {
            batch.everything = true;
            return;
        };
        if self.workspace.is_off_limits(&path) {
            batch.dropped = true;
        } else if path.file_name() == IGNORE_FILE {
            batch.everything = true;
        } else if possible_kinds(kind).iter().any(|&is_dir| filter.accepts_path(&path, is_dir)) {
            batch.paths.push(path);
        } else {
            batch.ignored.push(path);
        }
    }
}

/// Returns the possible values of `is_dir` for a report.
fn possible_kinds(kind: EventKind) -> &'static [bool] {
    match kind {
        EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => &[true],
        EventKind::Create(CreateKind::File) | EventKind::Remove(RemoveKind::File) => &[false],
        _ => &[true, false],
    }
}
