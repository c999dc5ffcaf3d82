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
use retake_workspace::{ChangeHint, IgnoreRules, RuleSources};

use crate::attribution::repository::ProjectRepository;
use crate::project::Project;
use crate::scan::observation::Observation;
use crate::scan::request::{IgnoredSummary, ScanScope, ScanStart, ScanTrigger};
use crate::scan::stat_cache::LoadedStatCache;
use crate::scan::state;
use crate::scan::throttle::{DeferralMode, VersionThrottle};

/// Source of change hints since it was last asked; a hint, never the truth.
pub trait HintSource: Debug + Send {
    /// Blocks until everything that happened so far is in the hint, or makes it
    /// [`ChangeHint::Everything`].
    fn sync(&self);
    /// Takes the hint; later changes go into a new one.
    fn take_hint(&self) -> ChangeHint;
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
    fn put_back(&self, hint: ChangeHint);
    /// Sets the rules for what need not be watched. The given hidden files are tracked all the
    /// same, and must be watched.
    fn apply_rules(&self, sources: &RuleSources, tracked_hidden: &BTreeSet<ProjectPath>);
}

/// A project's source of hints, and the state kept in memory between scans because of it.
#[derive(Debug)]
pub(crate) struct HintTracker {
    source: Box<dyn HintSource>,
    source_rules: RefCell<HintSourceRules>,
    snapshot: RefCell<Option<Arc<FullScanSnapshot>>>,
    throttle: RefCell<VersionThrottle>,
}

/// The rules that the source of hints currently uses.
#[derive(Debug, Default)]
struct HintSourceRules {
    rules: RuleSources,
    hidden: Arc<BTreeSet<ProjectPath>>,
}

/// State of the last full scan that a narrower one needs.
#[derive(Clone, Debug)]
pub(crate) struct FullScanSnapshot {
    /// The store's generation when it was made: valid until another process writes there.
    pub(crate) generation: i64,
    pub(crate) rules: Arc<IgnoreRules>,
    /// Tracked although rules hide it; known to the watcher.
    pub(crate) hidden: Arc<BTreeSet<ProjectPath>>,
    /// Paths that have joined them since.
    pub(crate) unwatched: BTreeSet<ProjectPath>,
    /// Files with other names: the watcher does not report writes through those.
    pub(crate) linked: BTreeSet<ProjectPath>,
    pub(crate) ignored_summary: Arc<IgnoredSummary>,
    /// The stat cache, so that narrower scans need not load it.
    pub(crate) stat_cache: Option<LoadedStatCache>,
    /// Set if open calls are also judged by other rules than these.
    pub(crate) has_earlier_rules: bool,
}

/// A hint that is consumed by [`HintGuard::consume`], and otherwise given back on drop.
pub(crate) struct HintGuard<'a> {
    source: &'a dyn HintSource,
    hint: Option<ChangeHint>,
    deferral: DeferralMode,
}

impl HintGuard<'_> {
    pub(crate) fn hint(&self) -> Option<&ChangeHint> {
        self.hint.as_ref()
    }

    fn consume(mut self) -> DeferralMode {
        self.hint = None;
        self.deferral
    }
}

impl Drop for HintGuard<'_> {
    fn drop(&mut self) {
        if let Some(hint) = self.hint.take() {
            self.source.put_back(hint);
        }
    }
}

impl HintTracker {
    fn new(source: Box<dyn HintSource>, rules: RuleSources) -> Self {
        let source_rules = RefCell::new(HintSourceRules { rules, hidden: Arc::default() });
        Self { source, source_rules, snapshot: RefCell::default(), throttle: RefCell::default() }
    }

    /// Takes the hint, with the deferred paths that are due.
    fn take_hint(&self, start: ScanStart, deferral: DeferralMode) -> HintGuard<'_> {
        self.source.sync();
        let mut hint = self.source.take_hint();
        let throttle = self.throttle.borrow();
        match (&mut hint, deferral) {
            (ChangeHint::Everything, _) => {}
            // The watcher did not run.
            (hint, _) if start.trigger == ScanTrigger::Reconcile => *hint = ChangeHint::Everything,
            (ChangeHint::Paths(paths), DeferralMode::DueOnly) => {
                paths.extend(throttle.due(start.at));
            }
            (ChangeHint::Paths(paths), DeferralMode::Flush) => {
                paths.extend(throttle.pending().cloned());
            }
        }
        HintGuard { source: &*self.source, hint: Some(hint), deferral }
    }

    /// Passes the rules of a full scan to the watcher. Its earlier rules may have hidden something
    /// from it since that scan.
    fn update_source_rules(&self, snapshot: &FullScanSnapshot) {
        let mut current = self.source_rules.borrow_mut();
        let hidden = Arc::clone(&snapshot.hidden);
        let (rules, new_rules) =
            (snapshot.rules.sources(), current.rules != *snapshot.rules.sources());
        if !new_rules && current.hidden == hidden {
            return;
        }
        self.source.apply_rules(rules, &hidden);
        let missed = hidden.difference(&current.hidden).cloned().collect();
        self.source.put_back(if new_rules {
            ChangeHint::Everything
        } else {
            ChangeHint::Paths(missed)
        });
        *current = HintSourceRules { rules: rules.clone(), hidden };
    }

    /// Adds those of these paths that are tracked from now on although rules hide them.
    fn add_unwatched<'p>(&self, paths: impl IntoIterator<Item = &'p ProjectPath>) {
        let mut snapshot = self.snapshot.borrow_mut();
        let Some(snapshot) = snapshot.as_mut() else { return };
        let is_new = |path: &ProjectPath| {
            !snapshot.hidden.contains(path) && !snapshot.unwatched.contains(path)
        };
        let new: Vec<_> = snapshot.rules.hidden_files(paths).into_iter().filter(is_new).collect();
        if !new.is_empty() {
            Arc::make_mut(snapshot).unwatched.extend(new);
        }
    }
}

impl Project {
    /// Sets the source of hints, which has watched by these rules since it was opened.
    ///
    /// The first scan after this is a full one, as is each one for which there is no usable hint.
    pub fn set_hint_source(&mut self, source: Box<dyn HintSource>, rules: RuleSources) {
        self.hints = Some(HintTracker::new(source, rules));
    }

    /// The rules of the last full scan, for a watcher that is about to be started.
    pub fn watch_rules(&self) -> Result<RuleSources, StoreError> {
        Ok(state::load_rules(self.store())?.unwrap_or_default())
    }

    /// Returns the state of the last full scan, if it is in memory and current.
    pub(crate) fn full_scan_snapshot(
        &self,
        batch: &Batch<'_>,
    ) -> Result<Option<Arc<FullScanSnapshot>>, StoreError> {
        let Some(snapshot) = self.hints.as_ref().and_then(|it| it.snapshot.borrow().clone()) else {
            return Ok(None);
        };
        Ok((batch.generation()? == snapshot.generation).then_some(snapshot))
    }

    /// Takes the hint for a full scan.
    pub(crate) fn take_hint(
        &self,
        scope: &ScanScope,
        start: ScanStart,
        deferral: DeferralMode,
    ) -> Option<HintGuard<'_>> {
        let hints = self.hints.as_ref().filter(|_| *scope == ScanScope::Everything)?;
        Some(hints.take_hint(start, deferral))
    }

    /// Decides whether deferred versions stay deferred. git's record of what it did to a file is
    /// consumed by this scan, so if it has changed, everything deferred is scanned.
    pub(crate) fn deferral_mode(
        &self,
        batch: &Batch<'_>,
        trigger: ScanTrigger,
    ) -> Result<DeferralMode, StoreError> {
        if trigger != ScanTrigger::Watcher {
            return Ok(DeferralMode::Flush);
        }
        let is_idle = self.hints.as_ref().is_none_or(|it| it.throttle.borrow().is_idle());
        let repository = if is_idle { None } else { ProjectRepository::find_around(self.root()) };
        let Some(now) = repository.and_then(|it| it.git_state()) else {
            return Ok(DeferralMode::DueOnly);
        };
        let has_moved = state::load_git_state(batch)? != Some(now);
        Ok(if has_moved { DeferralMode::Flush } else { DeferralMode::DueOnly })
    }

    /// Takes the ignored paths that moved since the last scan.
    pub(crate) fn moved_ignored(&self) -> BTreeSet<ProjectPath> {
        let hints = self.hints.as_ref();
        hints.map(|hints| hints.source.take_ignored()).unwrap_or_default()
    }

    /// Time at which a path of the hint was first seen to move.
    pub(crate) fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        self.hints.as_ref().and_then(|hints| hints.source.first_seen(path))
    }

    /// The paths of which a watcher-triggered scan records no new version yet.
    pub(crate) fn deferred_paths(&self, at: Millis) -> BTreeSet<ProjectPath> {
        let throttle = self.hints.as_ref().map(|hints| hints.throttle.borrow());
        throttle.map(|throttle| throttle.deferred_paths(at)).unwrap_or_default()
    }

    /// Returns those of the deferred paths that wait for their minute, and not for a call's end.
    pub(crate) fn throttled_paths(&self, deferred: &[ProjectPath], at: Millis) -> Vec<ProjectPath> {
        if deferred.is_empty() {
            return Vec::new();
        }
        let throttled = self.deferred_paths(at);
        deferred.iter().filter(|path| throttled.contains(path)).cloned().collect()
    }

    /// Called after a scan is committed: consumes its hint, and keeps its state for the next.
    pub(crate) fn consume_hint(
        &self,
        hint: Option<HintGuard<'_>>,
        observation: &Observation,
        changes: &[Change],
        start: ScanStart,
    ) {
        let Some(hints) = &self.hints else { return };
        let deferral = hint.map(HintGuard::consume);
        hints.throttle.borrow_mut().update(deferral, start, changes, &observation.deferred);
        if let Some(snapshot) = &observation.snapshot {
            *hints.snapshot.borrow_mut() = Some(Arc::clone(snapshot));
            hints.update_source_rules(snapshot);
        }
        let baseline = observation.baseline.iter().map(|(path, ..)| path);
        let tracked = observation.tracked_hidden.iter().flat_map(|(paths, _)| paths);
        let moved = changes.iter().map(|change| &change.path);
        hints.add_unwatched(moved.chain(baseline).chain(tracked));
    }

    /// Makes the next scan a full one: what the last scans found was not recorded after all.
    pub(crate) fn force_full_scan(&self) {
        if let Some(hints) = &self.hints {
            hints.source.put_back(ChangeHint::Everything);
            hints.snapshot.replace(None);
        }
    }

    /// Called when Retake itself wrote files at these paths.
    pub(crate) fn mark_written_paths<'p>(&self, paths: impl IntoIterator<Item = &'p ProjectPath>) {
        if let Some(hints) = &self.hints {
            hints.add_unwatched(paths);
        }
    }

    /// Time at which the next deferred version is due.
    pub(crate) fn next_deferred_due(&self) -> Option<Millis> {
        self.hints.as_ref().and_then(|hints| hints.throttle.borrow().next_due())
    }
}
