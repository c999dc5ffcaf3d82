//! Writes the rows of a scan: changes, manifest, events, gaps.
//!
//! Everything here goes into the batch of the caller and is durable with its commit.

use std::collections::{HashMap, HashSet};

use retake_model::{Actor, Change, Gap, GapReason, JournalKind, Millis};
use retake_store::{Batch, StoreError};
use retake_workspace::git::GitState;
use serde_json::json;

use crate::attribution::rules::{AttributedStep, Attribution};
use crate::content::comparable::line_changes_between;
use crate::feedback::rejected_lines::record_added_again;
use crate::journal::record_entry;
use crate::scan::change_row::{FileStep, record_change_event, record_file_step};
use crate::scan::observation::Observation;
use crate::scan::{stat_cache, state};

/// Time for which a gap that reports a past incident is shown.
const LASTING_GAP_TTL: Millis = 24 * 60 * 60 * 1000;

/// Maps temporary rows of calls, used for attribution, to the rows that they got since.
pub(crate) type CallRowMap = HashMap<i64, i64>;

/// Records the steps and everything else that the scan found; returns the changes.
pub(crate) fn record_scan(
    batch: &Batch<'_>,
    observation: &mut Observation,
    steps: &[AttributedStep],
    rows: &CallRowMap,
    git_actions: &[String],
    at: Millis,
) -> Result<Vec<Change>, StoreError> {
    let found = observation.len();
    let new_stats =
        observation.recalled.as_ref().is_some_and(|recalled| recalled.needs_renewal(found));
    if new_stats {
        batch.begin_stat_cache()?;
    }
    let mut changes = Vec::with_capacity(steps.len());
    for step in steps {
        changes.push(record_step(batch, observation, step, rows, at)?);
    }
    record_git_event(batch, observation, &changes, git_actions, at)?;
    record_baseline(batch, observation, at)?;
    for (path, stat) in &observation.unchanged {
        if let Some(stat) = observation.trusted_stat(stat) {
            batch.set_stat(path, &stat)?;
        }
    }
    if new_stats {
        stat_cache::renew_stat_cache(batch, observation)?;
    }
    record_gaps(batch, observation, at)?;
    if let Some(rules) = &observation.new_rules {
        state::save_rules(batch, rules)?;
    }
    if observation.is_full && state::load_earlier_rules(batch)? != observation.earlier_rules {
        state::save_earlier_rules(batch, observation.earlier_rules.as_ref())?;
    }
    if let Some(names) = &observation.ignored_names {
        state::save_ignored_names(batch, names)?;
    }
    if let Some((paths, digest)) = &observation.tracked_hidden {
        state::save_tracked_hidden(batch, paths)?;
        state::save_index_digest(batch, *digest)?;
    }
    if let Some(state) = &observation.git
        && observation.old_git.as_ref() != Some(state)
    {
        state::save_git_state(batch, state)?;
    }
    Ok(changes)
}

fn record_step(
    batch: &Batch<'_>,
    observation: &Observation,
    step: &AttributedStep,
    rows: &CallRowMap,
    at: Millis,
) -> Result<Change, StoreError> {
    let seen = &step.seen;
    let on_record = |row: &i64| rows.get(row).copied().unwrap_or(*row);
    let by =
        Attribution { calls: step.by.calls.iter().map(on_record).collect(), ..step.by.clone() };
    let file_step = FileStep {
        path: &seen.path,
        old_path: step.from.as_ref().map(|from| &from.path),
        change_type: step.change_type(),
        before: step.before(),
        after: seen.after,
        lines: line_changes_between(batch, &step.before(), &seen.after)?,
        stat: seen.stat.and_then(|stat| observation.trusted_stat(&stat)),
    };
    let change = record_file_step(batch, file_step, &by, at)?;
    // Read back, so that the returned change equals the recorded one.
    let change = batch
        .change(change.id)?
        .ok_or_else(|| StoreError::Row(format!("change {} cannot be read back", change.id)))?;
    if change.actor != Actor::Git {
        record_change_event(batch, &change)?;
    }
    match record_added_again(batch, &change) {
        // Damage of older records must not prevent the recording of new ones.
        Err(StoreError::Row(why)) => tracing::warn!(why, "rejected lines are not known again"),
        known => drop(known?),
    }
    Ok(change)
}

/// Records one event for all changes that git made.
fn record_git_event(
    batch: &Batch<'_>,
    observation: &Observation,
    changes: &[Change],
    actions: &[String],
    at: Millis,
) -> Result<(), StoreError> {
    let of_git: Vec<_> = changes.iter().filter(|change| change.actor == Actor::Git).collect();
    let (Some(first), Some(last)) = (of_git.first(), of_git.last()) else { return Ok(()) };
    let body = json!({
        "changes": of_git.len(), "first": first.id.to_string(), "last": last.id.to_string(),
        "actions": actions, "from": describe_git_position(observation.old_git.as_ref()),
        "to": describe_git_position(observation.git.as_ref()),
    });
    record_entry(batch, batch.next_stamp(at), JournalKind::Git, None, body)
}

/// Describes git's position: the branch, else the commit.
fn describe_git_position(state: Option<&GitState>) -> Option<String> {
    let state = state?;
    let branch = state.branch().map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    branch.map(ToOwned::to_owned).or_else(|| state.commit().map(|commit| commit.to_string()))
}

fn record_baseline(
    batch: &Batch<'_>,
    observation: &Observation,
    at: Millis,
) -> Result<(), StoreError> {
    if observation.baseline.is_empty() {
        return Ok(());
    }
    for (path, stored, stat) in &observation.baseline {
        let stat = stat.and_then(|stat| observation.trusted_stat(&stat));
        batch.set_manifest(path, stored, stat.as_ref())?;
    }
    let body = json!({ "files": observation.baseline.len() });
    record_entry(batch, batch.next_stamp(at), JournalKind::Baseline, None, body)
}

/// Returns true if a gap reports a past incident; such gaps are shown for a day.
pub(crate) fn is_lasting(reason: GapReason) -> bool {
    use GapReason::{BeforeFirstLook, LostEvent, NotLooked, NotShielded, RulesChanged};
    matches!(reason, NotShielded | LostEvent | BeforeFirstLook | NotLooked | RulesChanged)
}

/// Closes gaps that a scan did not meet again, if it would have met them, and opens new ones.
fn record_gaps(batch: &Batch<'_>, observation: &Observation, at: Millis) -> Result<(), StoreError> {
    let is_shown = |gap: &Gap, since: Millis| {
        is_lasting(gap.reason) && at.saturating_sub(since) < LASTING_GAP_TTL
    };
    let mut closed = 0;
    if observation.all_gaps {
        let found_again: HashSet<_> =
            observation.gaps.iter().map(|gap| (&gap.path, gap.reason)).collect();
        for (gap, since) in batch.gaps()? {
            if !found_again.contains(&(&gap.path, gap.reason)) && !is_shown(&gap, since) {
                batch.remove_gap(&gap)?;
                closed += 1;
            }
        }
    }
    let mut opened = 0;
    for gap in &observation.gaps {
        opened += u64::from(batch.put_gap(gap, at)?);
    }
    record_gap_event(batch, opened, closed, at)
}

/// Records one event for all gaps that opened or closed.
pub(crate) fn record_gap_event(
    batch: &Batch<'_>,
    opened: u64,
    closed: u64,
    at: Millis,
) -> Result<(), StoreError> {
    if (opened, closed) == (0, 0) {
        return Ok(());
    }
    let body = json!({ "opened": opened, "closed": closed });
    record_entry(batch, batch.next_stamp(at), JournalKind::Gaps, None, body)
}
