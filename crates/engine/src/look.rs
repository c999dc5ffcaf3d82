//! Brings the record up to date with the files: the one way from files to rows, for events and
//! outside of any event.
//!
//! Outside of events a scan is requested (`status`, a verb), triggered by the watcher, or made to
//! reconcile after a time in which Retake did not run. They differ in what they may defer and in
//! which calls they trust.

use std::collections::{BTreeSet, HashSet};

use retake_model::{Change, Confidence, Gap, GapReason, Millis, ProjectPath};
use retake_store::{Batch, StoreError};
use retake_workspace::{Ignored, Rules, git};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::arrival::Calls;
use crate::eyes::Glance;
use crate::freshness::{despite_damage, keep_unaimed, tell_followers};
use crate::journal::note;
use crate::memory;
use crate::observe::{Observation, Scope, Spared, observe};
use crate::occasion::{Occasion, in_sight, rules};
use crate::pace::Waiting;
use crate::partial_writes;
use crate::project::{INITIALISED, Project};
use crate::record::{Progress, RecordError};
use crate::rename::Step;
use crate::shield::not_considered;
use crate::write::{NewRows, write};

/// Maximum gaps that are named one by one.
const NAMED_GAPS: usize = 100;
/// Maximum hidden names that are listed for a changed rule.
const NAMED_RULES: usize = 5;
const EXCLUDE_FILE: &str = ".git/info/exclude";

/// Maximum age of a lock of git's; an older one was left by a process that was killed.
const LOCK_LIVES: Millis = 60_000;
/// Maximum time between two steps of a rebase, unless it waits for the person.
const REBASE_STEP: Millis = 2_000;

/// Trigger of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// A command or an event requires the current state.
    Asked,
    /// The watcher saw a change; no caller waits.
    Around,
    /// Retake did not run for a while.
    Reconcile,
}

/// Outcome of a scan of the project.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Looked {
    /// The changes that were found.
    pub changes: Vec<Change>,
    /// Ignored paths, with the reason; the first few thousand.
    pub ignored: Vec<Ignored>,
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
    /// Time at which a deferred version is due; see [`Project::look_around`].
    pub due: Option<Millis>,
}

/// Ignored paths, and other findings that only a full scan has.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftOut {
    pub(crate) ignored: Vec<Ignored>,
    pub(crate) ignored_count: u64,
    pub(crate) scratch: u64,
    pub(crate) nested_repositories: Vec<ProjectPath>,
}

impl Looked {
    fn new(changes: Vec<Change>, observation: &Observation, due: Option<Millis>) -> Self {
        let left_out = &observation.left_out;
        Self {
            changes,
            ignored: left_out.ignored.clone(),
            ignored_count: left_out.ignored_count,
            scratch: left_out.scratch,
            nested_repositories: left_out.nested_repositories.clone(),
            baseline: observation.baseline.len(),
            whole: observation.whole,
            postponed: false,
            due,
        }
    }
}

impl Project {
    /// Scans the whole project and records what has changed, outside of any event.
    pub fn look(&self, at: Millis) -> Result<Looked, RecordError> {
        self.look_with(at, &mut |_, _| {})
    }

    /// Like [`Project::look`], reporting progress.
    pub fn look_with(&self, at: Millis, progress: Progress<'_>) -> Result<Looked, RecordError> {
        let _lock = self.hold()?;
        if self.store().meta(INITIALISED)?.is_some() {
            self.take_in_spool(at)?;
            return Ok(self.look_locked(Why::Asked, at, progress)?);
        }
        let looked = self.look_locked(Why::Asked, at, progress)?;
        self.note_late_baseline(at)?;
        self.take_in_spool(at)?;
        Ok(looked)
    }

    /// Like [`Project::look_with`], but always walks everything, whatever the watcher's hint: the
    /// ignored paths are listed as they are now.
    pub fn look_through(&self, at: Millis, progress: Progress<'_>) -> Result<Looked, RecordError> {
        self.look_again();
        self.look_with(at, progress)
    }

    /// Scans because the watcher saw a change; no caller waits for it.
    ///
    /// Throttled: of files that a person is editing, at most one version per path and minute is
    /// recorded this way. The rest is deferred until [`Looked::due`], until the next requested
    /// scan, or until git has done something. While git is in the middle of it the scan is
    /// postponed, so that a branch switch is one event.
    pub fn look_around(&self, at: Millis) -> Result<Looked, RecordError> {
        if self.git_is_busy(at) {
            return Ok(Looked { postponed: true, due: self.next_due(), ..Looked::default() });
        }
        let _lock = self.hold()?;
        self.catch_up(at)?;
        Ok(self.look_locked(Why::Around, at, &mut |_, _| {})?)
    }

    fn git_is_busy(&self, at: Millis) -> bool {
        let Some(top) = git::toplevel(self.root()) else { return false };
        let underway = git::underway(&top);
        // A time in the future is as little current as one that is long past.
        let within = |time: Option<Millis>, limit: Millis| {
            time.is_some_and(|time| at.saturating_sub(time).abs() < limit)
        };
        within(underway.locked_at, LOCK_LIVES) || within(underway.rebased_at, REBASE_STEP)
    }

    /// Drains the spool and scans everything; the caller holds the lock.
    pub(crate) fn catch_up_and_look(&self, at: Millis) -> Result<Looked, StoreError> {
        self.catch_up(at)?;
        self.look_locked(Why::Asked, at, &mut |_, _| {})
    }

    /// Establishes what an event requires: there is a baseline, and the spool is empty.
    pub(crate) fn catch_up(&self, at: Millis) -> Result<(), StoreError> {
        if self.store().meta(INITIALISED)?.is_none() {
            self.look_locked(Why::Asked, at, &mut |_, _| {})?;
            self.note_late_baseline(at)?;
        }
        self.take_in_spool(at)
    }

    /// Scans everything; the caller holds the lock.
    pub(crate) fn look_locked(
        &self,
        why: Why,
        at: Millis,
        progress: Progress<'_>,
    ) -> Result<Looked, StoreError> {
        let mut batch = self.store().batch()?;
        let calls = Calls::load(self, &batch, at)?;
        let mut occasion = Occasion::plain(self, &batch, &calls)?;
        let sight = self.look_into(&mut batch, &mut occasion, why, at, progress)?;
        batch.commit()?;
        Ok(self.conclude(sight, why, at))
    }

    /// Scans outside of any event, and puts the findings into the batch.
    pub(crate) fn look_into(
        &self,
        batch: &mut Batch<'_>,
        occasion: &mut Occasion<'_>,
        why: Why,
        at: Millis,
        progress: Progress<'_>,
    ) -> Result<Sight<'_>, StoreError> {
        let no_rows = &mut |_: &Batch<'_>, _: &Observation, _: &Occasion<'_>| Ok(NewRows::new());
        let sight = self.scan(batch, occasion, Scanning { why, at }, progress, no_rows)?;
        if occasion.request.first {
            batch.set_meta(INITIALISED, &at.to_be_bytes())?;
        }
        Ok(sight)
    }

    /// Scans exactly these paths, even if rules hide them; the caller holds the lock.
    pub(crate) fn look_locked_at(
        &self,
        paths: &[ProjectPath],
        at: Millis,
    ) -> Result<Looked, StoreError> {
        let batch = self.store().batch()?;
        self.look_at(batch, paths.to_vec(), paths.to_vec(), at)
    }

    /// Scans those of these paths that a full scan would cover; the caller holds the lock.
    pub(crate) fn look_locked_among(
        &self,
        paths: Vec<ProjectPath>,
        at: Millis,
    ) -> Result<Looked, StoreError> {
        let batch = self.store().batch()?;
        let paths = in_sight(self, &batch, paths)?;
        self.look_at(batch, paths, Vec::new(), at)
    }

    fn look_at(
        &self,
        mut batch: Batch<'_>,
        paths: Vec<ProjectPath>,
        named: Vec<ProjectPath>,
        at: Millis,
    ) -> Result<Looked, StoreError> {
        let calls = Calls::load(self, &batch, at)?;
        let mut occasion = Occasion::plain(self, &batch, &calls)?;
        (occasion.request.scope, occasion.request.named) = (Scope::Paths(paths), named);
        let sight = self.look_into(&mut batch, &mut occasion, Why::Asked, at, &mut |_, _| {})?;
        batch.commit()?;
        Ok(self.conclude(sight, Why::Asked, at))
    }

    /// Observes, attributes, and writes the findings into the batch.
    ///
    /// `before_rows` gets the observation before any row of it is written, and returns the rows of
    /// calls that had none yet.
    pub(crate) fn scan(
        &self,
        batch: &mut Batch<'_>,
        occasion: &mut Occasion<'_>,
        Scanning { why, at }: Scanning,
        progress: Progress<'_>,
        before_rows: BeforeRows<'_>,
    ) -> Result<Sight<'_>, StoreError> {
        let waiting = self.waiting(batch, why)?;
        if why == Why::Around {
            let mut paths: BTreeSet<_> = occasion.calls.being_edited(at).collect();
            if waiting == Waiting::GoesOn {
                paths.extend(self.spared(at));
            }
            occasion.request.spared = Spared { paths, scratch_of: Some((occasion.calls, at)) };
        }
        let glance = self.glance(&occasion.request.scope, (why, waiting), at);
        let hint = glance.as_ref().and_then(Glance::hint);
        if glance.is_some() {
            occasion.request.moved_ignored = self.moved_ignored();
        }
        let mut observation = observe(batch, &occasion.request, hint, progress)?;
        occasion.observed(self.now());
        partial_writes::put_off(batch, &mut observation, occasion, at)?;
        let (steps, git) = self.attribute(batch, &observation, occasion)?;
        observation.gaps.append(&mut occasion.gaps);
        observation.gaps.extend(unseen_before(&steps, occasion));
        observation.gaps.extend(self.hidden_unseen(&observation, occasion));
        observation.gaps.extend(rules_outside_changed(&observation, occasion));
        let rows = before_rows(batch, &observation, occasion)?;
        let changes = write(batch, &mut observation, &steps, &rows, &git.actions, at)?;
        note_rules(batch, &observation, at)?;
        self.note_taken(batch, &observation, &changes)?;
        let freshness = &self.settings().freshness;
        despite_damage(keep_unaimed(batch, occasion.calls, &changes))?;
        despite_damage(tell_followers(batch, &changes, freshness, at))?;
        Ok(Sight { glance, observation, changes })
    }

    /// Gaps for ignored names that disappeared while a call was open, and that are not on record.
    fn hidden_unseen(&self, observation: &Observation, occasion: &Occasion<'_>) -> Vec<Gap> {
        let open = occasion.calls.live.iter().filter(|live| occasion.may_have_done(live));
        let open: Vec<_> = open.collect();
        let Some(call) = open.first() else { return Vec::new() };
        let detail =
            format!("ignored and not captured; it went away while `{}` ran", call.described());
        let is_on_record =
            |path: &ProjectPath| observation.changes.iter().any(|seen| seen.path.is_beneath(path));
        let gone = not_considered(self.workspace(), &open, observation.gone_ignored.iter());
        let gone = gone.into_iter().filter(|path| !is_on_record(path));
        let gap = |path: &ProjectPath| Gap {
            path: path.clone(),
            reason: GapReason::NotShielded,
            detail: detail.clone(),
        };
        gone.take(NAMED_GAPS).map(gap).collect()
    }

    /// Stores which hidden files were deleted, and removes those that exist again.
    fn note_taken(
        &self,
        batch: &Batch<'_>,
        observation: &Observation,
        changes: &[Change],
    ) -> Result<(), StoreError> {
        let is_gone = |change: &&Change| change.after.is_absent();
        let gone: Vec<_> = changes.iter().filter(is_gone).map(|change| &change.path).collect();
        let before = memory::taken_hidden(batch)?;
        if gone.is_empty() && before.is_empty() {
            return Ok(());
        }
        let moved: HashSet<_> = changes.iter().map(|change| &change.path).collect();
        let mut taken: Vec<_> =
            before.iter().filter(|path| !moved.contains(path)).cloned().collect();
        if !gone.is_empty() {
            taken.extend(match &observation.new_rules {
                Some(sources) => Rules::new(sources.clone()).hidden(gone),
                None => rules(self, batch)?.hidden(gone),
            });
        }
        if taken == before { Ok(()) } else { memory::keep_taken_hidden(batch, &taken) }
    }

    /// Returns the outcome of a scan, once its batch is committed.
    pub(crate) fn conclude(&self, mut sight: Sight<'_>, why: Why, at: Millis) -> Looked {
        self.seen(&mut sight, why, at);
        Looked::new(sight.changes, &sight.observation, self.next_due())
    }

    /// Called after the batch of a scan is committed: its findings are kept for the next.
    pub(crate) fn seen(&self, sight: &mut Sight<'_>, why: Why, at: Millis) {
        let glance = sight.glance.take();
        self.committed(glance, &sight.observation, (&sight.changes, why), at);
    }
}

/// Trigger and time of a scan.
#[derive(Clone, Copy)]
pub(crate) struct Scanning {
    pub(crate) why: Why,
    pub(crate) at: Millis,
}

/// Called between the observation and the writing of its rows.
pub(crate) type BeforeRows<'a> =
    &'a mut dyn FnMut(&Batch<'_>, &Observation, &Occasion<'_>) -> Result<NewRows, StoreError>;

/// Gaps for changes in a call that began before its scan was done: the person may have saved the
/// file just before.
fn unseen_before(steps: &[Step], occasion: &Occasion<'_>) -> Vec<Gap> {
    let is_late = |step: &&Step| {
        step.by.confidence != Confidence::Certain
            && step.by.calls.iter().any(|row| occasion.late.contains(row))
    };
    let command = |step: &Step| {
        let row = step.by.calls.iter().find(|row| occasion.late.contains(row))?;
        Some(occasion.calls.get(*row)?.described())
    };
    let late: Vec<_> = steps.iter().filter(is_late).collect();
    let gap = |step: &&Step| {
        let command = command(step).unwrap_or_default();
        let detail = format!("`{command}` began before it was looked at");
        Gap { path: step.seen.path.clone(), reason: GapReason::NotLooked, detail }
    };
    let mut gaps: Vec<_> = late.iter().take(NAMED_GAPS).map(gap).collect();
    let more = late.len().saturating_sub(NAMED_GAPS);
    if let (Some(last), 1..) = (gaps.last_mut(), more) {
        last.detail = format!("{}, and {more} more", last.detail);
    }
    gaps
}

/// Gap for rules outside of the tree that changed while a call was open, with the names they hide.
fn rules_outside_changed(observation: &Observation, occasion: &Occasion<'_>) -> Option<Gap> {
    let call = occasion.calls.live.iter().find(|live| occasion.may_have_done(live))?;
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
    let hides = |ignored: &&Ignored| ignored.by.starts_with(EXCLUDE_FILE);
    let names = observation.left_out.ignored.iter().filter(hides).take(NAMED_RULES);
    let names: Vec<_> = names.map(|ignored| ignored.path.to_string()).collect();
    let hides = if names.is_empty() { "nothing yet".to_owned() } else { names.join(", ") };
    let detail = format!("changed while `{}` ran; hides {hides}", call.described());
    let path = ProjectPath::new(EXCLUDE_FILE).ok()?;
    Some(Gap { path, reason: GapReason::RulesChanged, detail })
}

/// Records the text of rules outside of the tree, as they have no file on record.
fn note_rules(batch: &Batch<'_>, observation: &Observation, at: Millis) -> Result<(), StoreError> {
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
        note(batch, (batch.next_seq(), at), "rules_changed", None, body)?;
    }
    Ok(())
}

/// A scan whose batch is not committed yet; until then none of it counts.
pub(crate) struct Sight<'a> {
    glance: Option<Glance<'a>>,
    pub(crate) observation: Observation,
    pub(crate) changes: Vec<Change>,
}
