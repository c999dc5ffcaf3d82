//! The buffer of paths that may have changed, filled by the watcher's thread, taken by scans.
//!
//! Invariant: a watcher that may have missed an event says `Everything`; one that gets no more
//! events says so for ever ([`HintBuffer::disable`]).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use retake_model::{Millis, ProjectPath};

/// Maximum number of paths in a hint; above it a full walk is cheaper than the memory.
const MAX_HINT_PATHS: usize = 50_000;
/// Maximum number of ignored names that are kept.
const MAX_IGNORED_PATHS: usize = 4_096;

/// The paths that may have changed since the last hint was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeHint {
    /// Any path: only a full walk can tell.
    Everything,
    /// Only at these paths, or beneath those of them that are (or were) folders.
    Paths(BTreeSet<ProjectPath>),
}

/// The times at which a hint got its first and latest event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingSince {
    /// When the first event came in.
    pub first: Instant,
    /// When the latest one did.
    pub latest: Instant,
}

/// The result of reading a batch of events.
#[derive(Debug, Default)]
pub(crate) struct EventBatch {
    pub(crate) everything: bool,
    pub(crate) paths: Vec<ProjectPath>,
    /// Some event was of a path that is never scanned.
    pub(crate) dropped: bool,
    /// Paths that the rules of that moment ignore.
    pub(crate) ignored: Vec<ProjectPath>,
    /// The highest cookie number among the events.
    pub(crate) cookie: u64,
    pub(crate) overflows: u64,
}

/// The pending hint and the watcher's state, shared between its thread and its users.
#[derive(Debug, Default)]
pub(crate) struct HintBuffer {
    state: Mutex<HintState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct HintState {
    everything: bool,
    paths: BTreeSet<ProjectPath>,
    /// Time of the first event of each path; unknown for those that were put back.
    first_seen: HashMap<ProjectPath, Millis>,
    /// The same for the hint that was taken last.
    taken_first_seen: HashMap<ProjectPath, Millis>,
    pending: Option<PendingSince>,
    dropped: bool,
    /// Ignored paths that changed since they were last taken.
    ignored: BTreeSet<ProjectPath>,
    cookie: u64,
    pub(crate) overflows: u64,
    /// Number of watched folders.
    pub(crate) watched: usize,
    /// Subtrees that cannot be watched: they are in every hint.
    pub(crate) polled: BTreeSet<ProjectPath>,
    /// The reason why no change is seen at all.
    pub(crate) unavailable_reason: Option<String>,
    /// The watcher was dropped.
    ended: bool,
}

/// Waits for the changes that a watcher sees, for as long as that lives.
#[derive(Clone, Debug)]
pub struct ChangeWaiter {
    hints: Arc<HintBuffer>,
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// The hint is not empty.
    Changed,
    /// The timeout has elapsed.
    TimedOut,
    /// The watcher is gone.
    Ended,
}

impl ChangeWaiter {
    pub(crate) fn new(hints: Arc<HintBuffer>) -> Self {
        Self { hints }
    }

    /// Blocks until the hint is not empty, the timeout has elapsed, or the watcher is dropped.
    pub fn wait(&self, timeout: Option<Duration>) -> WaitOutcome {
        let waits = |state: &mut HintState| state.pending.is_none() && !state.ended;
        let state = self.hints.lock();
        let state = match timeout {
            None => self.hints.changed.wait_while(state, waits),
            Some(timeout) => {
                let waited = self.hints.changed.wait_timeout_while(state, timeout, waits);
                waited
                    .map(|(state, _)| state)
                    .map_err(|error| PoisonError::new(error.into_inner().0))
            }
        };
        let state = state.unwrap_or_else(PoisonError::into_inner);
        match (state.ended, state.pending) {
            (true, _) => WaitOutcome::Ended,
            (false, Some(_)) => WaitOutcome::Changed,
            (false, None) => WaitOutcome::TimedOut,
        }
    }
}

impl HintBuffer {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HintState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a batch of events.
    pub(crate) fn add(&self, batch: EventBatch) {
        let mut state = self.lock();
        state.overflows += batch.overflows;
        state.dropped |= batch.dropped || !batch.ignored.is_empty();
        let capacity = MAX_IGNORED_PATHS.saturating_sub(state.ignored.len());
        state.ignored.extend(batch.ignored.into_iter().take(capacity));
        state.cookie = state.cookie.max(batch.cookie);
        if batch.everything {
            state.mark_everything();
        }
        let now = now();
        for path in batch.paths {
            state.first_seen.entry(path.clone()).or_insert(now);
            state.mark_path(path);
        }
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn add_everything(&self) {
        self.add(EventBatch { everything: true, ..EventBatch::default() });
    }

    /// After a change of rules: adds `Everything` if they added `new` watches, or if an event
    /// was dropped since the last hint was taken, which may matter by these rules.
    pub(crate) fn add_everything_if(&self, new: bool) {
        let dropped = self.lock().dropped;
        if new || dropped {
            self.add_everything();
        }
    }

    /// Disables the watcher: every hint is `Everything` from now on.
    pub(crate) fn disable(&self, why: String) {
        tracing::warn!(why, "nothing is watched; every scan walks through everything");
        let mut state = self.lock();
        state.mark_everything();
        state.watched = 0;
        state.polled.clear();
        state.unavailable_reason.get_or_insert(why);
        drop(state);
        self.changed.notify_all();
    }

    /// Puts back a hint that was taken before.
    pub(crate) fn put_back(&self, hint: ChangeHint) {
        self.lock().put_back(hint);
        self.changed.notify_all();
    }

    /// Waits for a cookie, or until the hint is `Everything`; `false` on timeout.
    pub(crate) fn wait_for_cookie(&self, number: u64, timeout: Duration) -> bool {
        let waits = |state: &mut HintState| state.cookie < number && !state.covers_everything();
        self.wait_while(timeout, waits)
    }

    /// Ends all waits: the watcher is dropped.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    fn wait_while(&self, timeout: Duration, waits: impl FnMut(&mut HintState) -> bool) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, waits);
        let (_state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        !waited.timed_out()
    }
}

impl HintState {
    /// Returns `true` if the next hint is `Everything`.
    pub(crate) fn covers_everything(&self) -> bool {
        self.everything || self.unavailable_reason.is_some()
    }

    pub(crate) fn pending(&self) -> Option<PendingSince> {
        self.pending
    }

    pub(crate) fn take_hint(&mut self) -> ChangeHint {
        let everything = self.covers_everything();
        self.taken_first_seen = std::mem::take(&mut self.first_seen);
        (self.everything, self.pending, self.dropped) = (false, None, false);
        let mut paths = std::mem::take(&mut self.paths);
        if everything {
            return ChangeHint::Everything;
        }
        paths.extend(self.polled.iter().cloned());
        ChangeHint::Paths(paths)
    }

    fn put_back(&mut self, hint: ChangeHint) {
        match hint {
            ChangeHint::Everything => self.mark_everything(),
            ChangeHint::Paths(paths) => {
                for path in paths {
                    self.first_seen.insert(path.clone(), Millis::MIN);
                    self.mark_path(path);
                }
            }
        }
    }

    /// Takes the ignored paths that changed.
    pub(crate) fn take_ignored(&mut self) -> BTreeSet<ProjectPath> {
        std::mem::take(&mut self.ignored)
    }

    /// Returns the time of the first event of a path in the last taken hint, or of a folder above.
    pub(crate) fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        let above = std::iter::successors(Some(path.clone()), ProjectPath::parent);
        above.filter_map(|path| self.taken_first_seen.get(&path).copied()).min()
    }

    fn mark_path(&mut self, path: ProjectPath) {
        self.update_pending();
        if !self.everything {
            self.paths.insert(path);
        }
        if self.paths.len() > MAX_HINT_PATHS {
            self.mark_everything();
        }
    }

    fn mark_everything(&mut self) {
        self.update_pending();
        self.everything = true;
        self.paths.clear();
        self.first_seen.clear();
    }

    fn update_pending(&mut self) {
        let latest = Instant::now();
        let first = self.pending.map_or(latest, |pending| pending.first);
        self.pending = Some(PendingSince { first, latest });
    }
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> ChangeHint {
        ChangeHint::Paths(names.iter().map(|name| name.parse().unwrap()).collect())
    }

    #[test]
    fn a_hint_that_is_put_back_joins_what_has_come_since() {
        let mut state = HintState::default();
        assert_eq!(state.take_hint(), paths(&[]));
        state.mark_path("a".parse().unwrap());
        let hint = state.take_hint();
        assert_eq!((&hint, state.pending()), (&paths(&["a"]), None));
        state.mark_path("b".parse().unwrap());
        state.put_back(hint);
        assert!(state.pending().is_some());
        assert_eq!(state.take_hint(), paths(&["a", "b"]));
        state.put_back(ChangeHint::Everything);
        state.mark_path("a".parse().unwrap());
        assert_eq!(state.take_hint(), ChangeHint::Everything);
        assert_eq!(state.take_hint(), paths(&[]));
    }

    #[test]
    fn a_taken_hint_tells_when_each_path_was_first_seen() {
        let hints = HintBuffer::default();
        let seen = |name: &str| hints.lock().first_seen(&name.parse().unwrap());
        let before = now();
        let batch =
            |name: &str| EventBatch { paths: vec![name.parse().unwrap()], ..EventBatch::default() };
        hints.add(batch("a"));
        let hint = hints.lock().take_hint();
        assert!(seen("a").is_some_and(|at| at >= before) && seen("a/b") == seen("a"));
        assert_eq!(seen("b"), None);
        hints.put_back(hint);
        hints.add(batch("a"));
        hints.lock().take_hint();
        assert_eq!(seen("a"), Some(Millis::MIN), "how long it waits is not known");
    }

    #[test]
    fn too_many_paths_are_everything() {
        let mut state = HintState::default();
        for number in 0..=MAX_HINT_PATHS {
            assert!(!state.covers_everything());
            state.mark_path(number.to_string().parse().unwrap());
        }
        assert_eq!(state.take_hint(), ChangeHint::Everything);
    }

    #[test]
    fn the_blind_say_everything_for_ever() {
        let hints = HintBuffer::default();
        hints.disable("the lights are out".into());
        for _ in 0..2 {
            assert_eq!(hints.lock().take_hint(), ChangeHint::Everything);
        }
        assert!(hints.wait_for_cookie(7, Duration::from_secs(20)), "there is nothing to wait for");
    }

    #[test]
    fn pending_keeps_the_first_moment() {
        let mut state = HintState::default();
        state.mark_path("a".parse().unwrap());
        let first = state.pending().unwrap();
        state.mark_path("a".parse().unwrap());
        let second = state.pending().unwrap();
        assert_eq!(first.first, second.first);
        assert!(second.latest >= first.latest);
    }
}
