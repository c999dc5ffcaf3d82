//! Change hints from a file watcher: a scan then costs what changed, not the size of the tree.
//!
//! Invariants: a hint is consumed only by a scan that was committed; after a full scan the watcher
//! uses its rules, and what it may have missed until then is scanned once more. The watcher is told
//! of files that are tracked although rules hide them; those that joined since are scanned each
//! time, and so are files with several names, because a watcher reports only the name that was
//! used.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use retake_model::{Change, Millis, ProjectPath};
use retake_store::{Batch, StoreError};
use retake_workspace::{Hint, RuleSources, Rules};

use crate::look::{LeftOut, Why};
use crate::memory;
use crate::observe::{Observation, Scope};
use crate::pace::{Pace, Waiting};
use crate::project::Project;
use crate::repository::Repository;
use crate::stats::Kept;

/// Source of change hints since it was last asked; a hint, never the truth.
pub trait Eyes: Debug + Send {
    /// Blocks until everything that happened so far is in the hint, or makes it
    /// [`Hint::Everything`].
    fn settle(&self);
    /// Takes the hint; later changes go into a new one.
    fn take(&self) -> Hint;
    /// Takes the ignored names that moved since the last call of this.
    fn take_ignored(&self) -> BTreeSet<ProjectPath> {
        BTreeSet::new()
    }
    /// Time at which a path of the hint that was taken last was first seen to move, by the clock of
    /// events; `None` if not known.
    fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        let _ = path;
        None
    }
    /// Gives back an unused hint, or adds one.
    fn put_back(&self, hint: Hint);
    /// Sets the rules for what need not be watched. The given hidden files are tracked all the
    /// same, and must be watched.
    fn rules(&self, sources: &RuleSources, tracked_hidden: &BTreeSet<ProjectPath>);
}

/// A project's source of hints, and the state kept in memory between scans because of it.
#[derive(Debug)]
pub(crate) struct Watching {
    eyes: Box<dyn Eyes>,
    told: RefCell<Told>,
    view: RefCell<Option<Arc<View>>>,
    pace: RefCell<Pace>,
}

/// The rules that the source of hints currently uses.
#[derive(Debug, Default)]
struct Told {
    rules: RuleSources,
    hidden: Arc<BTreeSet<ProjectPath>>,
}

/// State of the last full scan that a narrower one needs.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The store's generation when it was made: valid until another process writes there.
    pub(crate) generation: i64,
    pub(crate) rules: Arc<Rules>,
    /// Tracked although rules hide it; known to the watcher.
    pub(crate) hidden: Arc<BTreeSet<ProjectPath>>,
    /// Paths that have joined them since.
    pub(crate) unwatched: BTreeSet<ProjectPath>,
    /// Files with other names: the watcher does not report writes through those.
    pub(crate) linked: BTreeSet<ProjectPath>,
    pub(crate) left_out: Arc<LeftOut>,
    /// The stat cache, so that narrower scans need not load it.
    pub(crate) stats: Option<Kept>,
    /// Set if open calls are also judged by other rules than these.
    pub(crate) has_earlier_rules: bool,
}

/// A hint that is consumed by [`Glance::used`], and otherwise given back on drop.
pub(crate) struct Glance<'a> {
    eyes: &'a dyn Eyes,
    hint: Option<Hint>,
    waiting: Waiting,
}

impl Glance<'_> {
    pub(crate) fn hint(&self) -> Option<&Hint> {
        self.hint.as_ref()
    }

    fn used(mut self) -> Waiting {
        self.hint = None;
        self.waiting
    }
}

impl Drop for Glance<'_> {
    fn drop(&mut self) {
        if let Some(hint) = self.hint.take() {
            self.eyes.put_back(hint);
        }
    }
}

impl Watching {
    fn new(eyes: Box<dyn Eyes>, rules: RuleSources) -> Self {
        let told = RefCell::new(Told { rules, hidden: Arc::default() });
        Self { eyes, told, view: RefCell::default(), pace: RefCell::default() }
    }

    /// Takes the hint, with the deferred paths that are due.
    fn glance(&self, why: Why, waiting: Waiting, at: Millis) -> Glance<'_> {
        self.eyes.settle();
        let mut hint = self.eyes.take();
        let pace = self.pace.borrow();
        match (&mut hint, waiting) {
            (Hint::Everything, _) => {}
            // The watcher did not run.
            (hint, _) if why == Why::Reconcile => *hint = Hint::Everything,
            (Hint::Paths(paths), Waiting::GoesOn) => paths.extend(pace.due(at)),
            (Hint::Paths(paths), Waiting::Ends) => paths.extend(pace.later().cloned()),
        }
        Glance { eyes: &*self.eyes, hint: Some(hint), waiting }
    }

    /// Passes the rules of a full scan to the watcher. Its earlier rules may have hidden something
    /// from it since that scan.
    fn tell(&self, view: &View) {
        let mut told = self.told.borrow_mut();
        let hidden = Arc::clone(&view.hidden);
        let (rules, new_rules) = (view.rules.sources(), told.rules != *view.rules.sources());
        if !new_rules && told.hidden == hidden {
            return;
        }
        self.eyes.rules(rules, &hidden);
        let missed = hidden.difference(&told.hidden).cloned().collect();
        self.eyes.put_back(if new_rules { Hint::Everything } else { Hint::Paths(missed) });
        *told = Told { rules: rules.clone(), hidden };
    }

    /// Adds those of these paths that are tracked from now on although rules hide them.
    fn learn<'p>(&self, paths: impl IntoIterator<Item = &'p ProjectPath>) {
        let mut view = self.view.borrow_mut();
        let Some(view) = view.as_mut() else { return };
        let is_new =
            |path: &ProjectPath| !view.hidden.contains(path) && !view.unwatched.contains(path);
        let new: Vec<_> = view.rules.hidden(paths).into_iter().filter(is_new).collect();
        if !new.is_empty() {
            Arc::make_mut(view).unwatched.extend(new);
        }
    }
}

impl Project {
    /// Sets the source of hints, which has watched by these rules since it was opened.
    ///
    /// The first scan after this is a full one, as is each one for which there is no usable hint.
    pub fn open_eyes(&mut self, eyes: Box<dyn Eyes>, rules: RuleSources) {
        self.watching = Some(Watching::new(eyes, rules));
    }

    /// The rules of the last full scan, for a watcher that is about to be started.
    pub fn rules_for_eyes(&self) -> Result<RuleSources, StoreError> {
        Ok(memory::rules(self.store())?.unwrap_or_default())
    }

    /// Returns the state of the last full scan, if it is in memory and current.
    pub(crate) fn view(&self, batch: &Batch<'_>) -> Result<Option<Arc<View>>, StoreError> {
        let Some(view) = self.watching.as_ref().and_then(|it| it.view.borrow().clone()) else {
            return Ok(None);
        };
        Ok((batch.generation()? == view.generation).then_some(view))
    }

    /// Takes the hint for a full scan.
    pub(crate) fn glance(
        &self,
        scope: &Scope,
        (why, waiting): (Why, Waiting),
        at: Millis,
    ) -> Option<Glance<'_>> {
        let watching = self.watching.as_ref().filter(|_| *scope == Scope::Everything)?;
        Some(watching.glance(why, waiting, at))
    }

    /// Decides whether deferred versions stay deferred. git's record of what it did to a file is
    /// consumed by this scan, so if it has changed, everything deferred is scanned.
    pub(crate) fn waiting(&self, batch: &Batch<'_>, why: Why) -> Result<Waiting, StoreError> {
        if why != Why::Around {
            return Ok(Waiting::Ends);
        }
        let is_idle = self.watching.as_ref().is_none_or(|it| it.pace.borrow().is_idle());
        let repository = if is_idle { None } else { Repository::around(self.root()) };
        let Some(now) = repository.and_then(|it| it.look()) else { return Ok(Waiting::GoesOn) };
        let has_moved = memory::git_look(batch)? != Some(now);
        Ok(if has_moved { Waiting::Ends } else { Waiting::GoesOn })
    }

    /// Takes the ignored paths that moved since the last scan.
    pub(crate) fn moved_ignored(&self) -> BTreeSet<ProjectPath> {
        let watching = self.watching.as_ref();
        watching.map(|watching| watching.eyes.take_ignored()).unwrap_or_default()
    }

    /// Time at which a path of the hint was first seen to move.
    pub(crate) fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        self.watching.as_ref().and_then(|watching| watching.eyes.first_seen(path))
    }

    /// The paths of which a watcher-triggered scan records no new version yet.
    pub(crate) fn spared(&self, at: Millis) -> BTreeSet<ProjectPath> {
        let pace = self.watching.as_ref().map(|watching| watching.pace.borrow());
        pace.map(|pace| pace.spared(at)).unwrap_or_default()
    }

    /// Called after a scan is committed: consumes its hint, and keeps its state for the next.
    pub(crate) fn committed(
        &self,
        glance: Option<Glance<'_>>,
        observation: &Observation,
        (changes, why): (&[Change], Why),
        at: Millis,
    ) {
        let Some(watching) = &self.watching else { return };
        let waiting = glance.map(Glance::used);
        watching.pace.borrow_mut().note((waiting, why), changes, &observation.spared, at);
        if let Some(view) = &observation.view {
            *watching.view.borrow_mut() = Some(Arc::clone(view));
            watching.tell(view);
        }
        let baseline = observation.baseline.iter().map(|(path, ..)| path);
        let tracked = observation.tracked_hidden.iter().flat_map(|(paths, _)| paths);
        let moved = changes.iter().map(|change| &change.path);
        watching.learn(moved.chain(baseline).chain(tracked));
    }

    /// Makes the next scan a full one: what the last scans found was not recorded after all.
    pub(crate) fn look_again(&self) {
        if let Some(watching) = &self.watching {
            watching.eyes.put_back(Hint::Everything);
            watching.view.replace(None);
        }
    }

    /// Called when Retake itself wrote files at these paths.
    pub(crate) fn put_there<'p>(&self, paths: impl IntoIterator<Item = &'p ProjectPath>) {
        if let Some(watching) = &self.watching {
            watching.learn(paths);
        }
    }

    /// Time at which the next deferred version is due.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        self.watching.as_ref().and_then(|watching| watching.pace.borrow().next())
    }
}
