//! Brings the record up to date with the files: the one way from files to rows, for events and
//! outside of any event.
//!
//! Outside of events a scan is requested (`status`, a verb), triggered by the watcher, or made to
//! reconcile after a time in which Retake did not run. They differ in what they may defer and in
//! which calls they trust.

use std::collections::{BTreeSet, HashSet};

use retake_model::{Change, Confidence, Gap, GapReason, JournalKind, Millis, ProjectPath};
use retake_store::{Batch, StoreError};
use retake_workspace::{IgnoreRules, IgnoredName, git};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::attribution::rules::AttributedStep;
use crate::calls::live_calls::LiveCalls;
use crate::error::RecordError;
use crate::freshness::{ignore_row_damage, record_stale_agents, record_untargeted};
use crate::journal::record_entry;
use crate::project::{INITIALISED_AT_KEY, Project};
use crate::scan::context::{ScanContext, load_last_rules, visible_paths};
use crate::scan::hints::HintGuard;
use crate::scan::observation::{Observation, observe};
use crate::scan::request::{DeferredPaths, ScanScope, ScanStart, ScanTrigger};
use crate::scan::rows::{CallRowMap, record_scan};
use crate::scan::shield::unshielded_paths;
use crate::scan::throttle::DeferralMode;
use crate::scan::{partial_writes, state};

/// Maximum gaps that are named one by one.
const MAX_NAMED_GAPS: usize = 100;
/// Maximum hidden names that are listed for a changed rule.
const MAX_NAMED_HIDDEN: usize = 5;
const EXCLUDE_FILE: &str = ".git/info/exclude";

/// Maximum age of a lock of git's; an older one was left by a process that was killed.
const STALE_GIT_LOCK_AGE: Millis = 60_000;
/// Maximum time between two steps of a rebase, unless it waits for the person.
const REBASE_STEP_TIMEOUT: Millis = 2_000;

/// Progress of a scan: files read, files to read.
pub type ScanProgress<'a> = &'a mut dyn FnMut(usize, usize);

/// Outcome of a scan of the project.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RefreshOutcome {
    /// The changes that were found.
    pub changes: Vec<Change>,
    /// Ignored paths, with the reason; the first few thousand.
    pub ignored: Vec<IgnoredName>,
    /// Number of ignored names.
    pub ignored_count: u64,
    /// Number of files that the scratch filter leaves out.
    pub scratch: u64,
    /// Folders that are repositories of their own.
    pub nested_repositories: Vec<ProjectPath>,
    /// Number of files that became visible without having changed.
    pub baseline: usize,
    /// Set if the whole project was walked. If not, the ignored paths and the nested repositories
    /// are those of the last full scan; the count is current.
    pub whole: bool,
    /// git is in the middle of something: nothing was scanned; the caller should retry.
    pub postponed: bool,
    /// Time at which a deferred version is due; see [`Project::refresh_in_background`].
    pub due: Option<Millis>,
    /// Paths whose newest version this scan saw and deferred.
    #[serde(default)]
    pub deferred: Vec<ProjectPath>,
}

impl RefreshOutcome {
    fn new(changes: Vec<Change>, observation: &Observation, due: Option<Millis>) -> Self {
        let summary = &observation.ignored_summary;
        Self {
            deferred: Vec::new(),
            changes,
            ignored: summary.ignored.clone(),
            ignored_count: summary.ignored_count,
            scratch: summary.scratch,
            nested_repositories: summary.nested_repositories.clone(),
            baseline: observation.baseline.len(),
            whole: observation.is_full,
            postponed: false,
            due,
        }
    }
}

impl Project {
    /// Scans the whole project and records what has changed, outside of any event.
    pub fn refresh(&self, at: Millis) -> Result<RefreshOutcome, RecordError> {
        self.refresh_with_progress(at, &mut |_, _| {})
    }

    /// Like [`Project::refresh`], reporting progress.
    pub fn refresh_with_progress(
        &self,
        at: Millis,
        progress: ScanProgress<'_>,
    ) -> Result<RefreshOutcome, RecordError> {
        let _lock = self.acquire_lock()?;
        if self.store().meta(INITIALISED_AT_KEY)?.is_some() {
            self.drain_spool(at)?;
            return Ok(self.refresh_locked(ScanTrigger::Requested, at, progress)?);
        }
        let outcome = self.refresh_locked(ScanTrigger::Requested, at, progress)?;
        self.record_late_baseline(at)?;
        self.drain_spool(at)?;
        Ok(outcome)
    }

    /// Like [`Project::refresh_with_progress`], but always walks everything, whatever the watcher's hint: the
    /// ignored paths are listed as they are now.
    pub fn refresh_full(
        &self,
        at: Millis,
        progress: ScanProgress<'_>,
    ) -> Result<RefreshOutcome, RecordError> {
        self.force_full_scan();
        self.refresh_with_progress(at, progress)
    }

    /// Scans because the watcher saw a change; no caller waits for it.
    ///
    /// Throttled: of files that a person is editing, at most one version per path and minute is
    /// recorded this way. The rest is deferred until [`RefreshOutcome::due`], until the next requested
    /// scan, or until git has done something. While git is in the middle of it the scan is
    /// postponed, so that a branch switch is one event.
    pub fn refresh_in_background(&self, at: Millis) -> Result<RefreshOutcome, RecordError> {
        if self.git_is_busy(at) {
            return Ok(RefreshOutcome {
                postponed: true,
                due: self.next_deferred_due(),
                ..RefreshOutcome::default()
            });
        }
        let _lock = self.acquire_lock()?;
        self.catch_up(at)?;
        Ok(self.refresh_locked(ScanTrigger::Watcher, at, &mut |_, _| {})?)
    }

    fn git_is_busy(&self, at: Millis) -> bool {
        let Some(top) = git::toplevel(self.root()) else { return false };
        let activity = git::read_activity(&top);
        // A time in the future is as little current as one that is long past.
        let within = |time: Option<Millis>, limit: Millis| {
            time.is_some_and(|time| at.saturating_sub(time).abs() < limit)
        };
        within(activity.locked_at, STALE_GIT_LOCK_AGE)
            || within(activity.rebased_at, REBASE_STEP_TIMEOUT)
    }

    /// Drains the spool and scans everything; the caller holds the lock.
    pub(crate) fn catch_up_and_refresh(&self, at: Millis) -> Result<RefreshOutcome, StoreError> {
        self.catch_up(at)?;
        self.refresh_locked(ScanTrigger::Requested, at, &mut |_, _| {})
    }

    /// Establishes what an event requires: there is a baseline, and the spool is empty.
    pub(crate) fn catch_up(&self, at: Millis) -> Result<(), StoreError> {
        if self.store().meta(INITIALISED_AT_KEY)?.is_none() {
            self.refresh_locked(ScanTrigger::Requested, at, &mut |_, _| {})?;
            self.record_late_baseline(at)?;
        }
        self.drain_spool(at)
    }

    /// Scans everything; the caller holds the lock.
    pub(crate) fn refresh_locked(
        &self,
        trigger: ScanTrigger,
        at: Millis,
        progress: ScanProgress<'_>,
    ) -> Result<RefreshOutcome, StoreError> {
        let start = ScanStart { trigger, at };
        let mut batch = self.store().batch()?;
        let calls = LiveCalls::load(self, &batch, at)?;
        let mut context = ScanContext::without_event(self, &batch, &calls)?;
        let scan = self.refresh_into(&mut batch, &mut context, start, progress)?;
        batch.commit()?;
        Ok(self.finish_refresh(scan, start))
    }

    /// Scans outside of any event, and puts the findings into the batch.
    pub(crate) fn refresh_into(
        &self,
        batch: &mut Batch<'_>,
        context: &mut ScanContext<'_>,
        start: ScanStart,
        progress: ScanProgress<'_>,
    ) -> Result<UncommittedScan<'_>, StoreError> {
        let no_rows =
            &mut |_: &Batch<'_>, _: &Observation, _: &ScanContext<'_>| Ok(CallRowMap::new());
        let scan = self.scan(batch, context, start, progress, no_rows)?;
        if context.request.first {
            batch.set_meta(INITIALISED_AT_KEY, &start.at.to_be_bytes())?;
        }
        Ok(scan)
    }

    /// Scans exactly these paths, even if rules hide them; the caller holds the lock.
    pub(crate) fn refresh_paths_locked(
        &self,
        paths: &[ProjectPath],
        at: Millis,
    ) -> Result<RefreshOutcome, StoreError> {
        let batch = self.store().batch()?;
        self.refresh_paths(batch, paths.to_vec(), paths.to_vec(), at)
    }

    /// Scans those of these paths that a full scan would cover; the caller holds the lock.
    pub(crate) fn refresh_visible_paths_locked(
        &self,
        paths: Vec<ProjectPath>,
        at: Millis,
    ) -> Result<RefreshOutcome, StoreError> {
        let batch = self.store().batch()?;
        let paths = visible_paths(self, &batch, paths)?;
        self.refresh_paths(batch, paths, Vec::new(), at)
    }

    fn refresh_paths(
        &self,
        mut batch: Batch<'_>,
        paths: Vec<ProjectPath>,
        named: Vec<ProjectPath>,
        at: Millis,
    ) -> Result<RefreshOutcome, StoreError> {
        let calls = LiveCalls::load(self, &batch, at)?;
        let mut context = ScanContext::without_event(self, &batch, &calls)?;
        context.request.scope = ScanScope::Paths(paths);
        context.request.always_scanned = named;
        let start = ScanStart { trigger: ScanTrigger::Requested, at };
        let scan = self.refresh_into(&mut batch, &mut context, start, &mut |_, _| {})?;
        batch.commit()?;
        Ok(self.finish_refresh(scan, start))
    }

    /// Observes, attributes, and writes the findings into the batch.
    ///
    /// `before_rows` gets the observation before any row of it is written, and returns the rows of
    /// calls that had none yet.
    pub(crate) fn scan(
        &self,
        batch: &mut Batch<'_>,
        context: &mut ScanContext<'_>,
        start: ScanStart,
        progress: ScanProgress<'_>,
        before_rows: BeforeRowsHook<'_>,
    ) -> Result<UncommittedScan<'_>, StoreError> {
        let ScanStart { trigger, at } = start;
        let deferral = self.deferral_mode(batch, trigger)?;
        if trigger == ScanTrigger::Watcher {
            let mut paths: BTreeSet<_> = context.calls.paths_being_edited(at).collect();
            if deferral == DeferralMode::DueOnly {
                paths.extend(self.deferred_paths(at));
            }
            context.request.deferred =
                DeferredPaths { paths, scratch_of: Some((context.calls, at)) };
        }
        let guard = self.take_hint(&context.request.scope, start, deferral);
        let hint = guard.as_ref().and_then(HintGuard::hint);
        if guard.is_some() {
            context.request.moved_ignored = self.moved_ignored();
        }
        let mut observation = observe(batch, &context.request, hint, progress)?;
        context.check_deadline(self.now());
        partial_writes::defer_partial_writes(batch, &mut observation, context, at)?;
        let (steps, git) = self.attribute(batch, &observation, context)?;
        observation.gaps.append(&mut context.gaps);
        observation.gaps.extend(late_call_gaps(&steps, context));
        observation.gaps.extend(self.deleted_ignored_gaps(&observation, context));
        observation.gaps.extend(outside_rules_gap(&observation, context));
        let rows = before_rows(batch, &observation, context)?;
        let changes = record_scan(batch, &mut observation, &steps, &rows, &git.actions, at)?;
        record_outside_rules(batch, &observation, at)?;
        self.save_deleted_hidden(batch, &observation, &changes)?;
        let freshness = &self.settings().freshness;
        ignore_row_damage(record_untargeted(batch, context.calls, &changes))?;
        ignore_row_damage(record_stale_agents(batch, &changes, freshness, at))?;
        Ok(UncommittedScan { hint: guard, observation, changes })
    }

    /// Gaps for ignored names that disappeared while a call was open, and that are not on record.
    fn deleted_ignored_gaps(
        &self,
        observation: &Observation,
        context: &ScanContext<'_>,
    ) -> Vec<Gap> {
        let open = context.calls.live.iter().filter(|live| context.may_have_changed_files(live));
        let open: Vec<_> = open.collect();
        let Some(call) = open.first() else { return Vec::new() };
        let detail =
            format!("ignored and not captured; it went away while `{}` ran", call.describe());
        let is_on_record =
            |path: &ProjectPath| observation.changes.iter().any(|seen| seen.path.is_beneath(path));
        let gone = unshielded_paths(self.workspace(), &open, observation.gone_ignored.iter());
        let gone = gone.into_iter().filter(|path| !is_on_record(path));
        let gap = |path: &ProjectPath| Gap {
            path: path.clone(),
            reason: GapReason::NotShielded,
            detail: detail.clone(),
        };
        gone.take(MAX_NAMED_GAPS).map(gap).collect()
    }

    /// Stores which hidden files were deleted, and removes those that exist again.
    fn save_deleted_hidden(
        &self,
        batch: &Batch<'_>,
        observation: &Observation,
        changes: &[Change],
    ) -> Result<(), StoreError> {
        let is_gone = |change: &&Change| change.after.is_absent();
        let gone: Vec<_> = changes.iter().filter(is_gone).map(|change| &change.path).collect();
        let before = state::load_deleted_hidden(batch)?;
        if gone.is_empty() && before.is_empty() {
            return Ok(());
        }
        let moved: HashSet<_> = changes.iter().map(|change| &change.path).collect();
        let mut deleted: Vec<_> =
            before.iter().filter(|path| !moved.contains(path)).cloned().collect();
        if !gone.is_empty() {
            deleted.extend(match &observation.new_rules {
                Some(sources) => IgnoreRules::new(sources.clone()).hidden_files(gone),
                None => load_last_rules(self, batch)?.hidden_files(gone),
            });
        }
        if deleted == before { Ok(()) } else { state::save_deleted_hidden(batch, &deleted) }
    }

    /// Returns the outcome of a scan, once its batch is committed.
    pub(crate) fn finish_refresh(
        &self,
        mut scan: UncommittedScan<'_>,
        start: ScanStart,
    ) -> RefreshOutcome {
        self.scan_committed(&mut scan, start);
        let deferred = self.throttled_paths(&scan.observation.deferred, start.at);
        let due = self.next_deferred_due();
        let outcome = RefreshOutcome::new(scan.changes, &scan.observation, due);
        RefreshOutcome { deferred, ..outcome }
    }

    /// Called after the batch of a scan is committed: its findings are kept for the next.
    pub(crate) fn scan_committed(&self, scan: &mut UncommittedScan<'_>, start: ScanStart) {
        let hint = scan.hint.take();
        self.consume_hint(hint, &scan.observation, &scan.changes, start);
    }
}

/// Called between the observation and the writing of its rows.
pub(crate) type BeforeRowsHook<'a> =
    &'a mut dyn FnMut(&Batch<'_>, &Observation, &ScanContext<'_>) -> Result<CallRowMap, StoreError>;

/// Gaps for changes in a call that began before its scan was done: the person may have saved the
/// file just before.
fn late_call_gaps(steps: &[AttributedStep], context: &ScanContext<'_>) -> Vec<Gap> {
    let is_late = |step: &&AttributedStep| {
        step.by.confidence != Confidence::Certain
            && step.by.calls.iter().any(|row| context.late_calls.contains(row))
    };
    let command = |step: &AttributedStep| {
        let row = step.by.calls.iter().find(|row| context.late_calls.contains(row))?;
        Some(context.calls.get(*row)?.describe())
    };
    let late: Vec<_> = steps.iter().filter(is_late).collect();
    let gap = |step: &&AttributedStep| {
        let command = command(step).unwrap_or_default();
        let detail = format!("`{command}` began before it was scanned");
        Gap { path: step.seen.path.clone(), reason: GapReason::NotLooked, detail }
    };
    let mut gaps: Vec<_> = late.iter().take(MAX_NAMED_GAPS).map(gap).collect();
    let more = late.len().saturating_sub(MAX_NAMED_GAPS);
    if let (Some(last), 1..) = (gaps.last_mut(), more) {
        last.detail = format!("{}, and {more} more", last.detail);
    }
    gaps
}

/// Gap for rules outside of the tree that changed while a call was open, with the names they hide.
fn outside_rules_gap(observation: &Observation, context: &ScanContext<'_>) -> Option<Gap> {
    let call = context.calls.live.iter().find(|live| context.may_have_changed_files(live))?;
    let (old, new) = (observation.old_rules.as_ref()?, observation.new_rules.as_ref()?);
    // A rule that hides nothing yet may hide a later file.
    let rules = |text: &[u8]| -> HashSet<Vec<u8>> {
        let lines = text.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
        lines.filter(|line| !line.is_empty() && line[0] != b'#').map(<[u8]>::to_vec).collect()
    };
    let is_same = |old: &[u8], new: &[u8]| rules(new).is_subset(&rules(old));
    if is_same(&old.exclude, &new.exclude) && is_same(&old.global, &new.global) {
        return None;
    }
    let hides = |ignored: &&IgnoredName| ignored.by.starts_with(EXCLUDE_FILE);
    let names = observation.ignored_summary.ignored.iter().filter(hides).take(MAX_NAMED_HIDDEN);
    let names: Vec<_> = names.map(|ignored| ignored.path.to_string()).collect();
    let hides = if names.is_empty() { "nothing yet".to_owned() } else { names.join(", ") };
    let detail = format!("changed while `{}` ran; hides {hides}", call.describe());
    let path = ProjectPath::new(EXCLUDE_FILE).ok()?;
    Some(Gap { path, reason: GapReason::RulesChanged, detail })
}

/// Records the text of rules outside of the tree, as they have no file on record.
fn record_outside_rules(
    batch: &Batch<'_>,
    observation: &Observation,
    at: Millis,
) -> Result<(), StoreError> {
    let (Some(old), Some(new)) = (&observation.old_rules, &observation.new_rules) else {
        return Ok(());
    };
    let outside = [
        (EXCLUDE_FILE, &old.exclude, &new.exclude),
        ("core.excludesFile", &old.global, &new.global),
    ];
    for (file, before, after) in outside.into_iter().filter(|(_, old, new)| old != new) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let body = json!({ "file": file, "before": text(before), "after": text(after) });
        record_entry(batch, batch.next_stamp(at), JournalKind::RulesChanged, None, body)?;
    }
    Ok(())
}

/// A scan whose batch is not committed yet; until then none of it counts.
pub(crate) struct UncommittedScan<'a> {
    hint: Option<HintGuard<'a>>,
    pub(crate) observation: Observation,
    pub(crate) changes: Vec<Change>,
}
