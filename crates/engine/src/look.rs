//! Looks at the project: the one way from files to rows, for events and outside of any event.
//!
//! Outside of events somebody asks (`status`, a verb), the watcher saw something move, or nothing
//! ran for a while and what happened meanwhile is to be found. They differ in what they may leave
//! for later and in whom they trust.

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

/// More gaps than this are not named one by one.
const NAMED_GAPS: usize = 100;
/// So many names that a rule hides are told.
const NAMED_RULES: usize = 5;
const EXCLUDE_FILE: &str = ".git/info/exclude";

/// A lock of git's that is older than this was left by one that was killed.
const LOCK_LIVES: Millis = 60_000;
/// Between two steps of a rebase less time than this goes by, unless it waits for the person.
const REBASE_STEP: Millis = 2_000;

/// Why a look is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Somebody wants to know, or something is about to happen.
    Asked,
    /// Something moved, and nobody asked.
    Around,
    /// Nothing ran for a while.
    Reconcile,
}

/// What a look at the project found.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Looked {
    /// The changes that were found.
    pub changes: Vec<Change>,
    /// What rules leave out, with the reason; the first few thousand.
    pub ignored: Vec<Ignored>,
    /// How many names rules leave out.
    pub ignored_count: u64,
    /// How many files the scratch filter leaves out.
    pub scratch: u64,
    /// Folders that are repositories of their own.
    pub nested_repositories: Vec<ProjectPath>,
    /// How many files came into sight without having changed.
    pub baseline: usize,
    /// Whether everything was walked through. If not, the list of what rules leave out and the
    /// nested repositories are those of the last look that was; the count is of now.
    pub whole: bool,
    /// git is in the middle of something: nothing was looked at, and it should be tried again.
    pub postponed: bool,
    /// When a version should be looked for that was left for later; see [`Project::look_around`].
    pub due: Option<Millis>,
}

/// What rules left out, and what else only a look at everything can tell.
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
    /// Looks at the whole project and records what has changed, outside of any event.
    pub fn look(&self, at: Millis) -> Result<Looked, RecordError> {
        self.look_with(at, &mut |_, _| {})
    }

    /// Like [`Project::look`], telling how far it has come.
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

    /// Like [`Project::look_with`], through everything, whatever a watcher says: what rules leave
    /// out is listed as it is now.
    pub fn look_through(&self, at: Millis, progress: Progress<'_>) -> Result<Looked, RecordError> {
        self.look_again();
        self.look_with(at, progress)
    }

    /// Looks because something moved and nobody asked.
    ///
    /// Of what a person is busy with, at most one version per path and minute is kept this way:
    /// the rest waits until the time that [`Looked::due`] says, until somebody asks, or until git
    /// has done something. While git is in the middle of it the look is postponed, so that a branch
    /// switch is one event.
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
        // A time that has not come yet is as little of now as one that is long over.
        let within = |time: Option<Millis>, limit: Millis| {
            time.is_some_and(|time| at.saturating_sub(time).abs() < limit)
        };
        within(underway.locked_at, LOCK_LIVES) || within(underway.rebased_at, REBASE_STEP)
    }

    /// Takes in what waits and looks at everything; the caller holds the lock.
    pub(crate) fn catch_up_and_look(&self, at: Millis) -> Result<Looked, StoreError> {
        self.catch_up(at)?;
        self.look_locked(Why::Asked, at, &mut |_, _| {})
    }

    /// What must be so before an event counts: there is a baseline, and nothing waits.
    pub(crate) fn catch_up(&self, at: Millis) -> Result<(), StoreError> {
        if self.store().meta(INITIALISED)?.is_none() {
            self.look_locked(Why::Asked, at, &mut |_, _| {})?;
            self.note_late_baseline(at)?;
        }
        self.take_in_spool(at)
    }

    /// Looks at everything; the caller holds the lock.
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

    /// Looks outside of any event, and puts what is found into the batch.
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

    /// Looks at these very paths, whatever rules say; the caller holds the lock.
    pub(crate) fn look_locked_at(
        &self,
        paths: &[ProjectPath],
        at: Millis,
    ) -> Result<Looked, StoreError> {
        let batch = self.store().batch()?;
        self.look_at(batch, paths.to_vec(), paths.to_vec(), at)
    }

    /// Looks at these paths as far as a look at everything would; the caller holds the lock.
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

    /// Observes, attributes, and writes what was found into the batch.
    ///
    /// `before_rows` sees what was observed before any row of it is written, and gives the rows of
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

    /// Ignored names that went away while a call was open, and of which nothing is on record.
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

    /// Notes which hidden files are gone, and which are there again.
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

    /// What a look comes to, once its batch is committed.
    pub(crate) fn conclude(&self, mut sight: Sight<'_>, why: Why, at: Millis) -> Looked {
        self.seen(&mut sight, why, at);
        Looked::new(sight.changes, &sight.observation, self.next_due())
    }

    /// The batch of a look is committed: what it saw is kept for the next.
    pub(crate) fn seen(&self, sight: &mut Sight<'_>, why: Why, at: Millis) {
        let glance = sight.glance.take();
        self.committed(glance, &sight.observation, (&sight.changes, why), at);
    }
}

/// Why and when a scan is made.
#[derive(Clone, Copy)]
pub(crate) struct Scanning {
    pub(crate) why: Why,
    pub(crate) at: Millis,
}

/// Called between what was observed and the rows that are made of it.
pub(crate) type BeforeRows<'a> =
    &'a mut dyn FnMut(&Batch<'_>, &Observation, &Occasion<'_>) -> Result<NewRows, StoreError>;

/// What changed in a call that began before the look at it was done: the person may have saved it
/// just before.
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

/// Rules outside of the tree that changed while a call was open, with what they hide.
fn rules_outside_changed(observation: &Observation, occasion: &Occasion<'_>) -> Option<Gap> {
    let call = occasion.calls.live.iter().find(|live| occasion.may_have_done(live))?;
    let (old, new) = (observation.old_rules.as_ref()?, observation.new_rules.as_ref()?);
    // A rule that hides nothing yet may hide what comes next.
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

/// Rules that do not lie in the tree have no file on record, so their texts are.
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

/// What a look saw; before its batch is committed none of it counts.
pub(crate) struct Sight<'a> {
    glance: Option<Glance<'a>>,
    pub(crate) observation: Observation,
    pub(crate) changes: Vec<Change>,
}
