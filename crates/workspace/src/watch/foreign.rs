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

use super::hint::{News, Notes};
use super::sieve::Sieve;
use super::{Eyes, NoEyes, Sight, cookie};
use crate::walk::IGNORE_FILE;
use crate::{RuleSources, Workspace};

/// The running watcher; dropping it ends the reports.
struct Reports {
    desk: Arc<Desk>,
    _watcher: RecommendedWatcher,
}

impl std::fmt::Debug for Reports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reports").field("desk", &self.desk).finish_non_exhaustive()
    }
}

/// The event handler of the watcher.
#[derive(Debug)]
struct Desk {
    workspace: Workspace,
    cookies: PathBuf,
    sieve: Mutex<Sieve>,
    notes: Arc<Notes>,
}

/// Starts to watch the whole tree.
pub(super) fn open(sight: Sight<'_>) -> Result<Box<dyn Eyes>, NoEyes> {
    let Sight { workspace, rules, cookies, budget: _, notes } = sight;
    let root = workspace.root().to_owned();
    let sieve = Mutex::new(Sieve::new(rules));
    let desk = Arc::new(Desk { workspace, cookies: cookies.to_owned(), sieve, notes });
    let inbox = Arc::clone(&desk);
    let mut watcher =
        notify::recommended_watcher(move |report| inbox.take_in(report)).map_err(no_eyes)?;
    watcher.watch(&desk.cookies, RecursiveMode::NonRecursive).map_err(no_eyes)?;
    watcher.watch(&root, RecursiveMode::Recursive).map_err(no_eyes)?;
    Ok(Box::new(Reports { desk, _watcher: watcher }))
}

fn no_eyes(error: notify::Error) -> NoEyes {
    match error.kind {
        ErrorKind::MaxFilesWatch => {
            NoEyes::Blind("the system does not let this user watch so many folders".to_owned())
        }
        ErrorKind::Io(error) => NoEyes::Failed(error),
        kind => NoEyes::Failed(io::Error::other(notify::Error::new(kind))),
    }
}

impl Eyes for Reports {
    fn set_rules(&self, rules: &RuleSources) {
        // No watch is added, since everything is reported; but events may have been dropped.
        if self.desk.lock().set_rules(rules) {
            self.desk.notes.add_everything_if(false);
        }
    }

    fn set_always(&self, paths: BTreeSet<ProjectPath>) {
        if self.desk.lock().set_always(paths) {
            self.desk.notes.add_everything_if(false);
        }
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Sieve> {
        self.sieve.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_in(&self, report: notify::Result<notify::Event>) {
        // Locked until the notes have it, so that a change of rules comes before or after.
        let sieve = self.lock();
        let mut news = News::default();
        match report {
            Ok(event) if event.need_rescan() => {
                (news.everything, news.overflows) = (true, 1);
            }
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            Ok(event) => {
                for path in &event.paths {
                    self.sort(&sieve, path, event.kind, &mut news);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the watcher missed something");
                news.everything = true;
            }
        }
        self.notes.add(news);
    }

    fn sort(&self, sieve: &Sieve, path: &Path, kind: EventKind, news: &mut News) {
        if let Ok(name) = path.strip_prefix(&self.cookies) {
            let number = cookie::number(name.as_os_str().as_bytes());
            news.cookie = news.cookie.max(number.unwrap_or_default());
            return;
        }
        let relative = path.strip_prefix(self.workspace.root());
        let path = relative.ok().map(|path| ProjectPath::new(path.as_os_str().as_bytes()));
        // The root itself, or a path of which nothing is known.
        let Some(Ok(path)) = path else {
            news.everything = true;
            return;
        };
        if self.workspace.is_off_limits(&path) {
            news.dropped = true;
        } else if path.file_name() == IGNORE_FILE {
            news.everything = true;
        } else if kinds(kind).iter().any(|&is_dir| sieve.wants_anywhere(&path, is_dir)) {
            news.paths.push(path);
        } else {
            news.ignored.push(path);
        }
    }
}

/// Returns the possible values of `is_dir` for a report.
fn kinds(kind: EventKind) -> &'static [bool] {
    match kind {
        EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => &[true],
        EventKind::Create(CreateKind::File) | EventKind::Remove(RemoveKind::File) => &[false],
        _ => &[true, false],
    }
}
