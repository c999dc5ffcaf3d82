//! A project's eyes: who watches the files can say where to look, so that a look costs what has
//! changed and not what is there.
//!
//! Invariants: a hint is used up only by a look that was committed; after a look at everything the
//! eyes go by its rules, and what they may have missed until then is looked at once more; files
//! that are tracked although rules hide them are told to the eyes then, and what has joined them
//! since is looked at each time, and so are files with several names, of which a watcher hears by the
//! one that was used.

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

/// Tells what may have changed since it was last asked; a hint, never the truth.
pub trait Eyes: Debug + Send {
    /// Makes sure that everything that happened until now is in the hint, or that it says
    /// [`Hint::Everything`].
    fn settle(&self);
    /// Takes the hint; what happens from now on goes into a new one.
    fn take(&self) -> Hint;
    /// Takes the names that rules leave out and that moved since this was last asked.
    fn take_ignored(&self) -> BTreeSet<ProjectPath> {
        BTreeSet::new()
    }
    /// When a path of the hint that was taken last was first seen to move, by the clock of events;
    /// none if that is not known.
    fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        let _ = path;
        None
    }
    /// Gives back a hint that was not used, or adds one.
    fn put_back(&self, hint: Hint);
    /// From now on these rules say what need not be watched. Of the files that they hide, these
    /// are tracked all the same, and must be watched.
    fn rules(&self, sources: &RuleSources, tracked_hidden: &BTreeSet<ProjectPath>);
}

/// A project's eyes, and what is kept in memory from look to look because of them.
#[derive(Debug)]
pub(crate) struct Watching {
    eyes: Box<dyn Eyes>,
    told: RefCell<Told>,
    view: RefCell<Option<Arc<View>>>,
    pace: RefCell<Pace>,
}

/// What the eyes go by.
#[derive(Debug, Default)]
struct Told {
    rules: RuleSources,
    hidden: Arc<BTreeSet<ProjectPath>>,
}

/// What the last look at everything saw that a narrower one needs.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The store's, when it was made: it holds until somebody else writes there.
    pub(crate) generation: i64,
    pub(crate) rules: Arc<Rules>,
    /// Tracked although rules hide it; the eyes are told.
    pub(crate) hidden: Arc<BTreeSet<ProjectPath>>,
    /// What has joined them since.
    pub(crate) unwatched: BTreeSet<ProjectPath>,
    /// Files that have other names: what is written through those the eyes do not tell.
    pub(crate) linked: BTreeSet<ProjectPath>,
    pub(crate) left_out: Arc<LeftOut>,
    /// The stat cache, so that narrower looks need not read it.
    pub(crate) stats: Option<Kept>,
    /// Whether open calls are judged by other rules than these, too.
    pub(crate) has_earlier_rules: bool,
}

/// A hint that is used up by [`Glance::used`], and otherwise goes back.
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

    /// Takes the hint, with what was left for later and need not wait any longer.
    fn glance(&self, why: Why, waiting: Waiting, at: Millis) -> Glance<'_> {
        self.eyes.settle();
        let mut hint = self.eyes.take();
        let pace = self.pace.borrow();
        match (&mut hint, waiting) {
            (Hint::Everything, _) => {}
            // Nobody watched.
            (hint, _) if why == Why::Reconcile => *hint = Hint::Everything,
            (Hint::Paths(paths), Waiting::GoesOn) => paths.extend(pace.due(at)),
            (Hint::Paths(paths), Waiting::Ends) => paths.extend(pace.later().cloned()),
        }
        Glance { eyes: &*self.eyes, hint: Some(hint), waiting }
    }

    /// The eyes go by what a look at everything found. What they went by before may have kept
    /// something from them since that look.
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

    /// Some of these paths may be tracked from now on although rules hide them.
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
    /// Gives the project eyes, which have watched by these rules since they were opened.
    ///
    /// The first look after this is at everything, as is each one that the eyes cannot help.
    pub fn open_eyes(&mut self, eyes: Box<dyn Eyes>, rules: RuleSources) {
        self.watching = Some(Watching::new(eyes, rules));
    }

    /// The rules of the last look at everything, for eyes that are about to be opened.
    pub fn rules_for_eyes(&self) -> Result<RuleSources, StoreError> {
        Ok(memory::rules(self.store())?.unwrap_or_default())
    }

    /// What the last look at everything left in memory, if that is how things are.
    pub(crate) fn view(&self, batch: &Batch<'_>) -> Result<Option<Arc<View>>, StoreError> {
        let Some(view) = self.watching.as_ref().and_then(|it| it.view.borrow().clone()) else {
            return Ok(None);
        };
        Ok((batch.generation()? == view.generation).then_some(view))
    }

    /// Takes the hint for a look at everything.
    pub(crate) fn glance(
        &self,
        scope: &Scope,
        (why, waiting): (Why, Waiting),
        at: Millis,
    ) -> Option<Glance<'_>> {
        let watching = self.watching.as_ref().filter(|_| *scope == Scope::Everything)?;
        Some(watching.glance(why, waiting, at))
    }

    /// Whether what waits goes on waiting. git's record of what it did to a file is used up by this
    /// look, so if it has moved, all that it may tell of is looked at.
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

    /// What rules leave out and moved since the last look.
    pub(crate) fn moved_ignored(&self) -> BTreeSet<ProjectPath> {
        let watching = self.watching.as_ref();
        watching.map(|watching| watching.eyes.take_ignored()).unwrap_or_default()
    }

    /// When a path that a hint named was first seen to move.
    pub(crate) fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        self.watching.as_ref().and_then(|watching| watching.eyes.first_seen(path))
    }

    /// The paths of which a look that nobody asked for keeps no other version yet.
    pub(crate) fn spared(&self, at: Millis) -> BTreeSet<ProjectPath> {
        let pace = self.watching.as_ref().map(|watching| watching.pace.borrow());
        pace.map(|pace| pace.spared(at)).unwrap_or_default()
    }

    /// A look was committed: its hint is used up, and what it saw is kept for the next.
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

    /// What the last looks saw was not recorded after all: the next one is at everything.
    pub(crate) fn look_again(&self) {
        if let Some(watching) = &self.watching {
            watching.eyes.put_back(Hint::Everything);
            watching.view.replace(None);
        }
    }

    /// Retake itself put files at these paths.
    pub(crate) fn put_there<'p>(&self, paths: impl IntoIterator<Item = &'p ProjectPath>) {
        if let Some(watching) = &self.watching {
            watching.learn(paths);
        }
    }

    /// When the next version is due that was left for later.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        self.watching.as_ref().and_then(|watching| watching.pace.borrow().next())
    }
}
