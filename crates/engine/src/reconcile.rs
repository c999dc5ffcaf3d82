//! Reconciles the record with what happened while Retake did not run.
//!
//! Hooks record without a daemon, so nothing of a living agent is missed. But one that was killed,
//! with the whole machine perhaps, leaves calls that never end. A call that was open for so long
//! that its agent may well be gone is closed here; see the rules of attribution.

use std::collections::{BTreeMap, HashSet};

use retake_model::{GapReason, Millis, ProjectPath};
use retake_store::{Batch, CallState, ChangeFilter, Lock, StoreError};
use serde_json::json;

use crate::arrival::Calls;
use crate::attribute::Limit;
use crate::journal::note;
use crate::live::LiveCall;
use crate::look::{Looked, Why};
use crate::occasion::Occasion;
use crate::project::{INITIALISED, Project};
use crate::record::RecordError;

/// Timeout after which agents have given up on a tool.
const LONGEST_UNWATCHED: Millis = 10 * 60 * 1000;

/// State of the record before reconciling.
struct Before {
    seq: u64,
    last_event_at: Option<Millis>,
    gaps: HashSet<(ProjectPath, GapReason)>,
}

impl Project {
    /// Finds what happened while Retake did not run: drains the spool, scans everything, and
    /// records an event `reconciled`, if anything was found.
    pub fn reconcile(&self, at: Millis) -> Result<Looked, RecordError> {
        let _lock = self.hold()?;
        if self.store().meta(INITIALISED)?.is_none() {
            // The current files become the baseline, which is an event of its own.
            return Ok(self.catch_up_and_look(at)?);
        }
        let before = Before {
            seq: self.store().last_seq()?,
            last_event_at: self.store().last_event_at()?,
            gaps: open_gaps(self.store())?,
        };
        self.take_in_spool(at)?;
        let mut batch = self.store().batch()?;
        let calls = Calls::load(self, &batch, at)?;
        let mut occasion = Occasion::plain(self, &batch, &calls)?;
        let lost: Vec<_> = calls.live.iter().filter(|live| is_lost(&batch, live, at)).collect();
        for live in &lost {
            let begin = live.call.begin_at;
            let limit = if live.is_edit() {
                Limit::Announced
            } else {
                Limit::Between(begin, begin + LONGEST_UNWATCHED)
            };
            occasion.limits.entry(live.call.row).or_insert(limit);
        }
        let (why, progress) = (Why::Reconcile, &mut |_, _| {});
        let sight = self.look_into(&mut batch, &mut occasion, why, at, progress)?;
        for live in &lost {
            let seq = batch.next_seq();
            batch.close_call(live.call.row, CallState::Abandoned, None, seq, at)?;
        }
        tell(&batch, &before, (sight.observation.baseline.len(), lost.len()), at)?;
        batch.commit()?;
        Ok(self.conclude(sight, why, at))
    }
}

/// Returns true if a call has been open for so long that its agent may be gone.
fn is_lost(batch: &Batch<'_>, live: &LiveCall, at: Millis) -> bool {
    live.is_open()
        && at.saturating_sub(live.call.begin_at) >= LONGEST_UNWATCHED
        && Lock::run_lives(batch.folder(), &live.call.dialog.0) != Some(true)
}

fn open_gaps(store: &retake_store::Store) -> Result<HashSet<(ProjectPath, GapReason)>, StoreError> {
    Ok(store.gaps()?.into_iter().map(|(gap, _)| (gap.path, gap.reason)).collect())
}

/// Records the event `reconciled`, unless nothing was found.
fn tell(
    batch: &Batch<'_>,
    before: &Before,
    (baseline, lost): (usize, usize),
    at: Millis,
) -> Result<(), StoreError> {
    let filter = ChangeFilter { after: Some(before.seq), ..ChangeFilter::default() };
    let changes = batch.changes(&filter)?;
    let gaps = open_gaps(batch)?.difference(&before.gaps).count();
    if changes.is_empty() && baseline + lost + gaps == 0 {
        return Ok(());
    }
    let mut actors: BTreeMap<String, usize> = BTreeMap::new();
    for change in &changes {
        *actors.entry(change.actor.to_string()).or_default() += 1;
    }
    let dialogs = batch.dialogs()?.into_iter().filter(|dialog| dialog.turn_open);
    let open: Vec<_> = dialogs.map(|dialog| dialog.id.0).collect();
    let body = json!({
        "changes": changes.len(), "actors": actors, "baseline": baseline, "gaps": gaps,
        "calls_closed": lost, "open_dialogs": open, "last_event_at": before.last_event_at,
    });
    note(batch, (batch.next_seq(), at), "reconciled", None, body)
}
