//! Retention: plans what a collection may remove to keep age, number and disk budget.
//!
//! Records go oldest first below one place in the order, the *cut*. The state at
//! a checkpoint is worked out from the changes after it, so **no checkpoint may
//! outlive a removed change that is newer than it**: below the cut goes everything,
//! and of what is above it only checkpoints and work sessions of dialogs that are
//! collected.
//!
//! The cut never passes what is protected: dialogs that were active within a day, unapproved
//! work of dialogs that were active lately, unfinished operations and the newest ones. Of other
//! dialogs that are kept, it passes what was approved only if the limit of bytes cannot be kept
//! otherwise. Planning only reads.

use std::collections::{BTreeMap, HashMap, HashSet};

use retake_model::{DialogId, Millis};

use crate::gc::dialog_range::DialogRange;
use crate::gc::reachability::LiveObjects;
use crate::{Dialog, Store, StoreError};

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Dialogs that were last active longer ago than this go.
    pub max_age: Option<Millis>,
    /// So many dialogs are kept, the latest ones.
    pub max_dialogs: usize,
    /// So many bytes are kept.
    pub max_bytes: u64,
    /// Unapproved work of dialogs that were active within this time stays.
    pub protect: Millis,
}

/// Why a dialog goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionReason {
    /// There are too many newer ones.
    TooMany,
    /// It was last active too long ago.
    TooOld,
    /// The record takes too much space.
    TooLarge,
}

impl RetentionReason {
    /// The stable name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooMany => "too_many",
            Self::TooOld => "too_old",
            Self::TooLarge => "too_large",
        }
    }
}

/// A dialog that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialogForecast {
    /// The dialog.
    pub dialog: Dialog,
    /// Why it goes.
    pub reason: RetentionReason,
    /// From when on; what is past goes with the next collection.
    pub from: Millis,
    /// Whether it has unapproved work.
    pub unapproved: bool,
}

/// What the next collection removes, and what goes later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionForecast {
    /// The dialogs that go, now or later, the oldest activity first.
    pub dialogs: Vec<DialogForecast>,
    /// Changes that the next collection removes.
    pub changes: u64,
    /// Checkpoints that the next collection removes.
    pub checkpoints: u64,
    /// Operations that the next collection removes.
    pub operations: u64,
    /// Bytes of content that the next collection removes, if they were counted.
    pub content_bytes: Option<u64>,
    /// Bytes over the limit that must stay, because all that is left is protected.
    pub over_bytes: u64,
}

/// What a collection is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RetentionPlan {
    /// Records below this place go.
    pub(crate) cut: u64,
    /// Dialogs whose checkpoints and work sessions go wherever they are.
    pub(crate) collected: BTreeMap<DialogId, RetentionReason>,
    /// Those of them of which nothing is left.
    pub(crate) gone: Vec<DialogId>,
}

/// A plan, and the objects that are needed after it.
pub(crate) struct MeasuredPlan {
    pub(crate) plan: RetentionPlan,
    pub(crate) live: LiveObjects,
    pub(crate) over_bytes: u64,
}

/// Dialogs active within this time are never collected.
const FRESH_MILLIS: Millis = 24 * 60 * 60 * 1000;

impl Store {
    /// Forecasts what the next collection removes; `measure` also counts bytes, which is slow.
    pub fn retention_forecast(
        &self,
        limits: &RetentionLimits,
        now: Millis,
        measure: bool,
    ) -> Result<RetentionForecast, StoreError> {
        let spans = self.dialog_ranges(now)?;
        let planned = measure.then(|| self.retention_plan(limits, now)).transpose()?;
        let plan = match &planned {
            Some(planned) => planned.plan.clone(),
            None => self.plan_without_bytes(&spans, limits, now)?,
        };
        let content_bytes =
            planned.as_ref().map(|planned| self.bytes_not_in(&planned.live)).transpose()?;
        let below = |table: &str| self.count_below(table, plan.cut);
        Ok(RetentionForecast {
            dialogs: self.forecast_dialogs(&spans, &plan, limits, now)?,
            changes: below("change")?,
            checkpoints: self.doomed_checkpoints(&plan)?.len() as u64,
            operations: below("operation")?,
            content_bytes,
            over_bytes: planned.map_or_else(
                || Ok::<_, StoreError>(self.used_bytes()?.saturating_sub(limits.max_bytes)),
                |planned| Ok(planned.over_bytes),
            )?,
        })
    }

    /// The plan that keeps the limits, with what is needed after it.
    pub(crate) fn retention_plan(
        &self,
        limits: &RetentionLimits,
        now: Millis,
    ) -> Result<MeasuredPlan, StoreError> {
        let spans = self.dialog_ranges(now)?;
        let plan = self.plan_without_bytes(&spans, limits, now)?;
        let live = self.live_objects(&plan, &HashSet::new())?;
        let used = self.used_bytes()?;
        let over = |live: &LiveObjects| -> Result<u64, StoreError> {
            Ok(used.saturating_sub(self.bytes_not_in(live)?).saturating_sub(limits.max_bytes))
        };
        let over_bytes = if used > limits.max_bytes { over(&live)? } else { 0 };
        if over_bytes == 0 {
            return Ok(MeasuredPlan { plan, live, over_bytes });
        }
        // Binary search for the first sufficient plan: each removes more than the one before.
        let plans = self.plans_for_bytes(&spans, &plan, limits, now)?;
        let mut best = MeasuredPlan { plan, live, over_bytes };
        let (mut low, mut high) = (0, plans.len());
        while low < high {
            let middle = low.midpoint(high);
            let live = self.live_objects(&plans[middle], &HashSet::new())?;
            let over_bytes = over(&live)?;
            let enough = over_bytes == 0;
            if enough || best.over_bytes > 0 {
                best = MeasuredPlan { plan: plans[middle].clone(), live, over_bytes };
            }
            (low, high) = if enough { (low, middle) } else { (middle + 1, high) };
        }
        Ok(best)
    }

    fn plan_without_bytes(
        &self,
        spans: &[DialogRange],
        limits: &RetentionLimits,
        now: Millis,
    ) -> Result<RetentionPlan, StoreError> {
        let mut collected = BTreeMap::new();
        for (place, span) in spans.iter().enumerate() {
            let too_old = limits.max_age.is_some_and(|age| now.saturating_sub(span.last_at) > age);
            let reason = match (place >= limits.max_dialogs, too_old) {
                (true, _) => RetentionReason::TooMany,
                (false, true) => RetentionReason::TooOld,
                (false, false) => continue,
            };
            if protected_until(span, limits) <= now {
                collected.insert(span.dialog.clone(), reason);
            }
        }
        let aged = match limits.max_age {
            Some(age) => self.first_seq_since(now.saturating_sub(age))?,
            None => 0,
        };
        self.plan_removing(spans, collected, aged)
    }

    /// The cut that removes these dialogs, and whatever else is older than `aged`.
    fn plan_removing(
        &self,
        spans: &[DialogRange],
        collected: BTreeMap<DialogId, RetentionReason>,
        aged: u64,
    ) -> Result<RetentionPlan, StoreError> {
        let is_collected = |span: &&DialogRange| collected.contains_key(&span.dialog);
        let end = spans.iter().filter(is_collected).map(|span| span.last + 1).max().unwrap_or(0);
        let kept = spans.iter().filter(|span| !is_collected(span)).map(|span| span.first).min();
        // With the dialogs goes what is of no dialog and older than all that is kept.
        let cut = match (collected.is_empty(), kept) {
            (true, Some(kept)) => aged.min(kept),
            (true, None) => aged,
            (false, Some(kept)) => kept,
            (false, None) => end.max(aged),
        };
        let cut = cut.min(self.first_seq_in_use()?);
        Ok(finish_plan(spans, cut, collected))
    }

    /// Ever stronger plans: one dialog more each time, and last the reviewed changes of kept ones.
    fn plans_for_bytes(
        &self,
        spans: &[DialogRange],
        start: &RetentionPlan,
        limits: &RetentionLimits,
        now: Millis,
    ) -> Result<Vec<RetentionPlan>, StoreError> {
        let mut plans = Vec::new();
        let mut collected = start.collected.clone();
        for span in spans.iter().rev() {
            if protected_until(span, limits) <= now && !collected.contains_key(&span.dialog) {
                collected.insert(span.dialog.clone(), RetentionReason::TooLarge);
                plans.push(self.plan_removing(spans, collected.clone(), start.cut)?);
            }
        }
        let kept = spans.iter().filter(|span| !collected.contains_key(&span.dialog));
        let first = |span: &DialogRange| if is_fresh(span, now) { span.first } else { span.needed };
        let needed = kept.map(first).min().unwrap_or(u64::MAX);
        let recent = self.first_seq_since(now.saturating_sub(limits.protect))?;
        let cut = needed.min(recent).min(self.first_seq_in_use()?);
        if plans.last().unwrap_or(start).cut < cut {
            plans.push(finish_plan(spans, cut, collected));
        }
        Ok(plans)
    }

    fn forecast_dialogs(
        &self,
        spans: &[DialogRange],
        plan: &RetentionPlan,
        limits: &RetentionLimits,
        now: Millis,
    ) -> Result<Vec<DialogForecast>, StoreError> {
        let dialogs: HashMap<_, _> =
            self.dialogs()?.into_iter().map(|dialog| (dialog.id.clone(), dialog)).collect();
        let mut found = Vec::new();
        for (place, span) in spans.iter().enumerate().rev() {
            let Some(dialog) = dialogs.get(&span.dialog).cloned() else { continue };
            let safe_until = protected_until(span, limits);
            let (reason, from) = match (plan.collected.get(&span.dialog), limits.max_age) {
                (Some(reason), _) => (*reason, now.min(safe_until)),
                (None, _) if place >= limits.max_dialogs => (RetentionReason::TooMany, safe_until),
                (None, Some(age)) => {
                    (RetentionReason::TooOld, safe_until.max(span.last_at.saturating_add(age)))
                }
                (None, None) => continue,
            };
            let unapproved = span.unapproved.is_some();
            found.push(DialogForecast { dialog, reason, from, unapproved });
        }
        Ok(found)
    }
}

fn finish_plan(
    spans: &[DialogRange],
    cut: u64,
    collected: BTreeMap<DialogId, RetentionReason>,
) -> RetentionPlan {
    let is_gone = |span: &&DialogRange| collected.contains_key(&span.dialog) && span.last < cut;
    let gone = spans.iter().filter(is_gone).map(|span| span.dialog.clone()).collect();
    RetentionPlan { cut, collected, gone }
}

/// Returns whether a dialog was active so lately that all of it stays.
fn is_fresh(span: &DialogRange, now: Millis) -> bool {
    fresh_until(span) > now
}

fn fresh_until(span: &DialogRange) -> Millis {
    span.last_at.saturating_add(FRESH_MILLIS)
}

/// Until when a dialog is not collected.
fn protected_until(span: &DialogRange, limits: &RetentionLimits) -> Millis {
    let fresh = fresh_until(span);
    match span.unapproved {
        Some(_) => fresh.max(span.last_at.saturating_add(limits.protect)),
        None => fresh,
    }
}
