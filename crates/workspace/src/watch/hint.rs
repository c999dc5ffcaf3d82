//! What may have changed, gathered by one thread and taken by others.
//!
//! Invariant: a watcher that may have missed something says `Everything`; one that can no longer
//! see says so for ever ([`Notes::go_blind`]).

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use retake_model::ProjectPath;

/// More paths than this are not worth their memory: a walk is quick.
const MOST_PATHS: usize = 50_000;

/// What may have changed since it was last asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Anything: only a walk through everything tells.
    Everything,
    /// Only at these paths, or beneath those of them that are (or were) folders.
    Paths(BTreeSet<ProjectPath>),
}

/// Since when a hint waits to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// When the first event came in.
    pub first: Instant,
    /// When the latest one did.
    pub latest: Instant,
}

/// What a look at some events brought.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) everything: bool,
    pub(crate) paths: Vec<ProjectPath>,
    /// Some event did not matter by the rules of its time.
    pub(crate) dropped: bool,
    /// The highest cookie among the events.
    pub(crate) cookie: u64,
    pub(crate) overflows: u64,
}

/// Everything that is known about the changes, shared between the watcher's thread and its users.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    everything: bool,
    paths: BTreeSet<ProjectPath>,
    pending: Option<Pending>,
    dropped: bool,
    cookie: u64,
    pub(crate) overflows: u64,
    /// How many folders are watched.
    pub(crate) watched: usize,
    /// Subtrees that cannot be watched: they are in every hint.
    pub(crate) polled: BTreeSet<ProjectPath>,
    /// Why nothing is seen at all.
    pub(crate) blind: Option<String>,
}

impl Notes {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what was seen.
    pub(crate) fn add(&self, news: News) {
        let mut state = self.lock();
        state.overflows += news.overflows;
        state.dropped |= news.dropped;
        state.cookie = state.cookie.max(news.cookie);
        if news.everything {
            state.mark_everything();
        }
        for path in news.paths {
            state.mark(path);
        }
        drop(state);
        self.news.notify_all();
    }

    pub(crate) fn add_everything(&self) {
        self.add(News { everything: true, ..News::default() });
    }

    /// Other rules have come: `Everything` if they brought something `new` into sight, or if
    /// something was passed over since the last hint was taken, which may be what matters now.
    pub(crate) fn add_everything_if(&self, new: bool) {
        let dropped = self.lock().dropped;
        if new || dropped {
            self.add_everything();
        }
    }

    /// Says `Everything` from now on, whenever it is asked.
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

    /// Takes in a hint that was taken before.
    pub(crate) fn put_back(&self, hint: Hint) {
        self.lock().put_back(hint);
        self.news.notify_all();
    }

    /// Waits for a cookie, or for anything that makes it needless; `false` if neither came.
    pub(crate) fn await_cookie(&self, number: u64, patience: Duration) -> bool {
        let waits = |state: &mut State| state.cookie < number && !state.tells_everything();
        self.wait_while(patience, waits)
    }

    /// Waits for anything; `false` if nothing came.
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
    /// Whether the next hint is `Everything` anyway.
    pub(crate) fn tells_everything(&self) -> bool {
        self.everything || self.blind.is_some()
    }

    pub(crate) fn pending(&self) -> Option<Pending> {
        self.pending
    }

    pub(crate) fn take(&mut self) -> Hint {
        let everything = self.tells_everything();
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
            Hint::Paths(paths) => paths.into_iter().for_each(|path| self.mark(path)),
        }
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
    }

    fn touch(&mut self) {
        let latest = Instant::now();
        let first = self.pending.map_or(latest, |pending| pending.first);
        self.pending = Some(Pending { first, latest });
    }
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
