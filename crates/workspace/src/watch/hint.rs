//! The buffer of paths that may have changed, filled by the watcher's thread, taken by scans.
//!
//! Invariant: a watcher that may have missed an event says `Everything`; one that gets no more
//! events says so for ever ([`Notes::go_blind`]).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use retake_model::{Millis, ProjectPath};

/// Maximum number of paths in a hint; above it a full walk is cheaper than the memory.
const MOST_PATHS: usize = 50_000;
/// Maximum number of ignored names that are kept.
const MOST_IGNORED: usize = 4_096;

/// The paths that may have changed since the last hint was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Any path: only a full walk can tell.
    Everything,
    /// Only at these paths, or beneath those of them that are (or were) folders.
    Paths(BTreeSet<ProjectPath>),
}

/// The times at which a hint got its first and latest event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// When the first event came in.
    pub first: Instant,
    /// When the latest one did.
    pub latest: Instant,
}

/// The result of reading a batch of events.
#[derive(Debug, Default)]
pub(crate) struct News {
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
pub(crate) struct Notes {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    everything: bool,
    paths: BTreeSet<ProjectPath>,
    /// Time of the first event of each path; unknown for those that were put back.
    first_seen: HashMap<ProjectPath, Millis>,
    /// The same for the hint that was taken last.
    taken: HashMap<ProjectPath, Millis>,
    pending: Option<Pending>,
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
    pub(crate) blind: Option<String>,
}

impl Notes {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a batch of events.
    pub(crate) fn add(&self, news: News) {
        let mut state = self.lock();
        state.overflows += news.overflows;
        state.dropped |= news.dropped || !news.ignored.is_empty();
        let room = MOST_IGNORED.saturating_sub(state.ignored.len());
        state.ignored.extend(news.ignored.into_iter().take(room));
        state.cookie = state.cookie.max(news.cookie);
        if news.everything {
            state.mark_everything();
        }
        let now = now();
        for path in news.paths {
            state.first_seen.entry(path.clone()).or_insert(now);
            state.mark(path);
        }
        drop(state);
        self.news.notify_all();
    }

    pub(crate) fn add_everything(&self) {
        self.add(News { everything: true, ..News::default() });
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
    pub(crate) fn go_blind(&self, why: String) {
        tracing::warn!(why, "nothing is watched; every scan walks through everything");
        let mut state = self.lock();
        state.mark_everything();
        state.watched = 0;
        state.polled.clear();
        state.blind.get_or_insert(why);
        drop(state);
        self.news.notify_all();
    }

    /// Puts back a hint that was taken before.
    pub(crate) fn put_back(&self, hint: Hint) {
        self.lock().put_back(hint);
        self.news.notify_all();
    }

    /// Waits for a cookie, or until the hint is `Everything`; `false` on timeout.
    pub(crate) fn await_cookie(&self, number: u64, patience: Duration) -> bool {
        let waits = |state: &mut State| state.cookie < number && !state.tells_everything();
        self.wait_while(patience, waits)
    }

    /// Waits until the hint is not empty; `false` on timeout.
    pub(crate) fn await_pending(&self, patience: Duration) -> bool {
        self.wait_while(patience, |state| state.pending.is_none())
    }

    fn wait_while(&self, patience: Duration, waits: impl FnMut(&mut State) -> bool) -> bool {
        let waited = self.news.wait_timeout_while(self.lock(), patience, waits);
        let (_state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        !waited.timed_out()
    }
}

impl State {
    /// Returns `true` if the next hint is `Everything`.
    pub(crate) fn tells_everything(&self) -> bool {
        self.everything || self.blind.is_some()
    }

    pub(crate) fn pending(&self) -> Option<Pending> {
        self.pending
    }

    pub(crate) fn take(&mut self) -> Hint {
        let everything = self.tells_everything();
        self.taken = std::mem::take(&mut self.first_seen);
        (self.everything, self.pending, self.dropped) = (false, None, false);
        let mut paths = std::mem::take(&mut self.paths);
        if everything {
            return Hint::Everything;
        }
        paths.extend(self.polled.iter().cloned());
        Hint::Paths(paths)
    }

    fn put_back(&mut self, hint: Hint) {
        match hint {
            Hint::Everything => self.mark_everything(),
            Hint::Paths(paths) => {
                for path in paths {
                    self.first_seen.insert(path.clone(), Millis::MIN);
                    self.mark(path);
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
        above.filter_map(|path| self.taken.get(&path).copied()).min()
    }

    fn mark(&mut self, path: ProjectPath) {
        self.touch();
        if !self.everything {
            self.paths.insert(path);
        }
        if self.paths.len() > MOST_PATHS {
            self.mark_everything();
        }
    }

    fn mark_everything(&mut self) {
        self.touch();
        self.everything = true;
        self.paths.clear();
        self.first_seen.clear();
    }

    fn touch(&mut self) {
        let latest = Instant::now();
        let first = self.pending.map_or(latest, |pending| pending.first);
        self.pending = Some(Pending { first, latest });
    }
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Hint {
        Hint::Paths(names.iter().map(|name| name.parse().unwrap()).collect())
    }

    #[test]
    fn a_hint_that_is_put_back_joins_what_has_come_since() {
        let mut state = State::default();
        assert_eq!(state.take(), paths(&[]));
        state.mark("a".parse().unwrap());
        let hint = state.take();
        assert_eq!((&hint, state.pending()), (&paths(&["a"]), None));
        state.mark("b".parse().unwrap());
        state.put_back(hint);
        assert!(state.pending().is_some());
        assert_eq!(state.take(), paths(&["a", "b"]));
        state.put_back(Hint::Everything);
        state.mark("a".parse().unwrap());
        assert_eq!(state.take(), Hint::Everything);
        assert_eq!(state.take(), paths(&[]));
    }

    #[test]
    fn a_taken_hint_tells_when_each_path_was_first_seen() {
        let notes = Notes::default();
        let seen = |name: &str| notes.lock().first_seen(&name.parse().unwrap());
        let before = now();
        let news = |name: &str| News { paths: vec![name.parse().unwrap()], ..News::default() };
        notes.add(news("a"));
        let hint = notes.lock().take();
        assert!(seen("a").is_some_and(|at| at >= before) && seen("a/b") == seen("a"));
        assert_eq!(seen("b"), None);
        notes.put_back(hint);
        notes.add(news("a"));
        notes.lock().take();
        assert_eq!(seen("a"), Some(Millis::MIN), "how long it waits is not known");
    }

    #[test]
    fn too_many_paths_are_everything() {
        let mut state = State::default();
        for number in 0..=MOST_PATHS {
            assert!(!state.tells_everything());
            state.mark(number.to_string().parse().unwrap());
        }
        assert_eq!(state.take(), Hint::Everything);
    }

    #[test]
    fn the_blind_say_everything_for_ever() {
        let notes = Notes::default();
        notes.go_blind("the lights are out".into());
        for _ in 0..2 {
            assert_eq!(notes.lock().take(), Hint::Everything);
        }
        assert!(notes.await_cookie(7, Duration::from_secs(20)), "there is nothing to wait for");
    }

    #[test]
    fn pending_keeps_the_first_moment() {
        let mut state = State::default();
        state.mark("a".parse().unwrap());
        let first = state.pending().unwrap();
        state.mark("a".parse().unwrap());
        let second = state.pending().unwrap();
        assert_eq!(first.first, second.first);
        assert!(second.latest >= first.latest);
    }
}
