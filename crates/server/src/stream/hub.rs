//! Signals for event streams: in which project something may have been recorded, which files were
//! saved, and that projects came or went.
//!
//! A commit of this process is signalled by the code that made it; one of another process by the
//! watched folder of the record. Invariants: a signal wakes only streams that follow its project; a
//! stream that follows nothing costs nothing; what a stream has not taken yet is bounded.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use retake_engine::Retake;
use retake_engine::model::{Millis, ProjectPath};

use super::record_watch::RecordWatch;
use super::{QueueWaker, StreamLimit};
use crate::EphemeralEvent;

/// Maximum saved files that wait for one stream; of more, only the number is kept.
const MAX_TOUCHED_FILES: usize = 100;

/// Maximum other hints that wait for one stream; of more, the oldest are dropped.
const MAX_HINTS: usize = 256;

/// All event streams of the daemon, and what wakes them.
#[derive(Debug)]
pub struct StreamHub {
    streams: Mutex<Vec<Arc<StreamInbox>>>,
    limits: Mutex<HashMap<String, Weak<StreamLimit>>>,
    /// The limit of streams that follow several projects.
    common_limit: Arc<StreamLimit>,
    records: RecordWatch,
    closed: AtomicBool,
}

/// The signals of one stream.
#[derive(Debug)]
struct StreamInbox {
    /// Set if projects that it does not know matter to it, too.
    follows_all: bool,
    state: Mutex<InboxState>,
    waker: QueueWaker,
}

#[derive(Debug, Default)]
struct InboxState {
    followed: BTreeSet<String>,
    news: StreamNews,
}

/// What was signalled to a stream since it last asked.
#[derive(Debug, Default)]
pub struct StreamNews {
    /// Projects in which something may have been recorded.
    pub committed: BTreeSet<String>,
    /// Projects may have come or gone.
    pub projects_changed: bool,
    /// Files that were saved, and are not on record yet.
    pub touched: BTreeMap<TouchedFile, Millis>,
    /// How many more such files there were, by project.
    pub untold: BTreeMap<String, u64>,
    /// Other hints; of too many, the newest.
    pub hints: VecDeque<EphemeralEvent>,
}

/// A file that was saved and whose newest version is not on record yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TouchedFile {
    /// The project.
    pub project: String,
    /// The file.
    pub path: ProjectPath,
}

impl InboxState {
    fn add_hint(&mut self, hint: EphemeralEvent) {
        if self.news.hints.len() == MAX_HINTS {
            self.news.hints.pop_front();
        }
        self.news.hints.push_back(hint);
    }

    fn touch(&mut self, file: TouchedFile, at: Millis) {
        let has_room = self.news.touched.len() < MAX_TOUCHED_FILES;
        if has_room || self.news.touched.contains_key(&file) {
            self.news.touched.insert(file, at);
        } else {
            *self.news.untold.entry(file.project).or_default() += 1;
        }
    }
}

impl StreamInbox {
    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a signal about a project on, if the stream follows it.
    fn signal(&self, project: &str, note: impl FnOnce(&mut InboxState)) {
        let mut state = self.lock();
        if self.follows_all || state.followed.contains(project) {
            note(&mut state);
            drop(state);
            self.waker.wake();
        }
    }
}

impl StreamHub {
    /// The hub of a home's projects.
    pub fn new(retake: &Retake) -> Arc<Self> {
        Arc::new_cyclic(|hub| Self {
            streams: Mutex::default(),
            limits: Mutex::default(),
            common_limit: Arc::default(),
            records: RecordWatch::new(retake.clone(), hub.clone()),
            closed: AtomicBool::new(false),
        })
    }

    /// Signals that something may have been recorded in a project.
    pub fn notify_commit(&self, project: &str) {
        for stream in self.streams() {
            stream.signal(project, |state| {
                state.news.committed.insert(project.to_owned());
            });
        }
    }

    /// Passes a hint on.
    pub fn notify_hint(&self, project: &str, hint: &EphemeralEvent) {
        for stream in self.streams() {
            stream.signal(project, |state| state.add_hint(hint.clone()));
        }
    }

    /// Signals that files were saved whose newest versions are not on record yet.
    pub fn notify_touched(&self, project: &str, paths: &[ProjectPath], at: Millis) {
        if paths.is_empty() {
            return;
        }
        for stream in self.streams() {
            stream.signal(project, |state| {
                for path in paths {
                    let file = TouchedFile { project: project.to_owned(), path: path.clone() };
                    state.touch(file, at);
                }
            });
        }
    }

    /// Signals that projects may have come or gone.
    pub fn notify_projects(&self) {
        for stream in self.streams().into_iter().filter(|stream| stream.follows_all) {
            stream.lock().news.projects_changed = true;
            stream.waker.wake();
        }
    }

    /// Watches the record of a project that has just come.
    pub(super) fn watch_new_record(&self, project: &str) {
        self.records.watch_new(project);
    }

    /// Has every stream that is quiet send a heartbeat.
    pub fn beat(&self) {
        for stream in self.streams() {
            stream.waker.beat();
        }
    }

    /// Ends all streams.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for stream in self.streams() {
            stream.waker.wake();
        }
    }

    /// Returns true if a stream follows just this project, or it among some.
    pub fn is_followed(&self, project: &str) -> bool {
        let follows = |stream: &Arc<StreamInbox>| {
            !stream.follows_all && stream.lock().followed.contains(project)
        };
        self.streams().iter().any(follows)
    }

    /// The limit of the streams of one project.
    pub fn limit_of(&self, project: &str) -> Arc<StreamLimit> {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.retain(|_, limit| limit.strong_count() > 0);
        if let Some(limit) = limits.get(project).and_then(Weak::upgrade) {
            return limit;
        }
        let limit = Arc::<StreamLimit>::default();
        limits.insert(project.to_owned(), Arc::downgrade(&limit));
        limit
    }

    /// The limit of streams that follow several projects.
    pub fn common_limit(&self) -> &Arc<StreamLimit> {
        &self.common_limit
    }

    /// Registers a stream that follows nothing yet; one that `follows_all` also gets signals of
    /// projects that it does not follow.
    pub fn subscribe(self: &Arc<Self>, waker: QueueWaker, follows_all: bool) -> StreamSubscription {
        let inbox = Arc::new(StreamInbox { follows_all, state: Mutex::default(), waker });
        self.lock().push(Arc::clone(&inbox));
        let subscription = StreamSubscription { hub: Arc::clone(self), inbox };
        self.update_watched();
        subscription
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<StreamInbox>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> Vec<Arc<StreamInbox>> {
        self.lock().clone()
    }

    /// Watches the records that streams follow, and no others.
    fn update_watched(&self) {
        let streams = self.streams();
        let mut followed = BTreeSet::new();
        for stream in &streams {
            followed.extend(stream.lock().followed.iter().cloned());
        }
        let follows_all = streams.iter().any(|stream| stream.follows_all);
        self.records.set_watched(followed, follows_all);
    }
}

/// A stream's place in the hub; given back when dropped.
#[derive(Debug)]
pub struct StreamSubscription {
    hub: Arc<StreamHub>,
    inbox: Arc<StreamInbox>,
}

impl StreamSubscription {
    /// Follows these projects, and no others.
    pub fn follow(&self, projects: BTreeSet<String>) {
        self.inbox.lock().followed = projects;
        self.hub.update_watched();
    }

    /// Takes what was signalled since the last call.
    pub fn take_news(&self) -> StreamNews {
        std::mem::take(&mut self.inbox.lock().news)
    }

    /// Returns true if all streams are to end.
    pub fn is_closed(&self) -> bool {
        self.hub.closed.load(Ordering::Acquire)
    }
}

impl Drop for StreamSubscription {
    fn drop(&mut self) {
        self.hub.lock().retain(|stream| !Arc::ptr_eq(stream, &self.inbox));
        self.hub.update_watched();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_files_are_told_once_each_and_many_are_only_counted() {
        let mut state = InboxState::default();
        let file = |number: usize| TouchedFile {
            project: "p".to_owned(),
            path: format!("{number}.txt").parse().unwrap(),
        };
        for round in 0..3 {
            state.touch(file(0), round);
        }
        assert_eq!((state.news.touched.len(), state.news.touched[&file(0)]), (1, 2));
        for number in 0..MAX_TOUCHED_FILES + 7 {
            state.touch(file(number), 9);
        }
        assert_eq!(state.news.touched.len(), MAX_TOUCHED_FILES);
        assert_eq!(state.news.untold["p"], 7);
    }

    #[test]
    fn a_stream_that_is_slow_misses_the_oldest_hints() {
        let mut state = InboxState::default();
        let hint = |number: usize| EphemeralEvent {
            name: "operation_progress",
            dialog: None,
            data: number.into(),
        };
        for number in 0..2 * MAX_HINTS {
            state.add_hint(hint(number));
        }
        assert_eq!((state.news.hints.len(), &state.news.hints[0]), (MAX_HINTS, &hint(MAX_HINTS)));
    }
}
