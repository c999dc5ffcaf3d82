//! Reconciles the record with what happened while Retake did not run.
//!
//! Hooks record without a daemon, so nothing of a living agent is missed. But one that was killed,
//! with the whole machine perhaps, leaves calls that never end. A call that was open for so long
//! that its agent may well be gone is closed here; see the rules of attribution.

use std::collections::{BTreeMap, HashSet};

use retake_model::{GapReason, JournalKind, Millis, ProjectPath, Stamp};
use retake_store::{Batch, CallEnd, CallState, ChangeFilter, FileLock, StoreError};
use serde_json::json;

use crate::attribution::rules::OwnershipLimit;
use crate::calls::live_calls::LiveCalls;
use crate::calls::open_call::LiveCall;
use crate::error::RecordError;
use crate::journal::record_entry;
use crate::project::{INITIALISED_AT_KEY, Project};
use crate::scan::context::ScanContext;
use crate::scan::refresh::RefreshOutcome;
use crate::scan::request::{ScanStart, ScanTrigger};

/// Timeout after which agents have given up on a tool.
const AGENT_TOOL_TIMEOUT: Millis = 10 * 60 * 1000;

/// State of the record before reconciling.
struct StateBeforeReconcile {
    seq: u64,
    last_event_at: Option<Millis>,
    gaps: HashSet<(ProjectPath, GapReason)>,
}

/// What reconciling found, beside changes and gaps.
#[derive(Clone, Copy)]
struct ReconcileCounts {
    /// Files that became visible.
    baseline: usize,
    closed_calls: usize,
}

impl Project {
    /// Finds what happened while Retake did not run: drains the spool, scans everything, and
    /// records an event `reconciled`, if anything was found.
    pub fn reconcile(&self, at: Millis) -> Result<RefreshOutcome, RecordError> {
        let _lock = self.acquire_lock()?;
        if self.store().meta(INITIALISED_AT_KEY)?.is_none() {
            // The current files become the baseline, which is an event of its own.
            return Ok(self.catch_up_and_refresh(at)?);
        }
        let before = StateBeforeReconcile {
            seq: self.store().last_seq()?,
            last_event_at: self.store().last_event_at()?,
            gaps: open_gaps(self.store())?,
        };
        self.drain_spool(at)?;
        let mut batch = self.store().batch()?;
        let calls = LiveCalls::load(self, &batch, at)?;
        let mut context = ScanContext::without_event(self, &batch, &calls)?;
        let lost: Vec<_> =
            calls.live.iter().filter(|live| is_abandoned(&batch, live, at)).collect();
        for live in &lost {
            let begin = live.call.begin_at;
            let limit = if live.is_edit() {
                OwnershipLimit::PredictedOnly
            } else {
                OwnershipLimit::Between(begin, begin + AGENT_TOOL_TIMEOUT)
            };
            context.limits.entry(live.call.row).or_insert(limit);
        }
        let start = ScanStart { trigger: ScanTrigger::Reconcile, at };
        let scan = self.refresh_into(&mut batch, &mut context, start, &mut |_, _| {})?;
        for live in &lost {
            let seq = batch.next_seq();
            batch.close_call(
                live.call.row,
                CallEnd::unreported(CallState::Abandoned),
                Stamp { seq, at },
            )?;
        }
        let counts =
            ReconcileCounts { baseline: scan.observation.baseline.len(), closed_calls: lost.len() };
        record_reconciled(&batch, &before, counts, at)?;
        batch.commit()?;
        Ok(self.finish_refresh(scan, start))
    }
}

/// Returns true if a call has been open for so long that its agent may be gone.
fn is_abandoned(batch: &Batch<'_>, live: &LiveCall, at: Millis) -> bool {
    live.is_open()
        && at.saturating_sub(live.call.begin_at) >= AGENT_TOOL_TIMEOUT
        && FileLock::is_run_alive(batch.folder(), &live.call.dialog.0) != Some(true)
}

fn open_gaps(store: &retake_store::Store) -> Result<HashSet<(ProjectPath, GapReason)>, StoreError> {
    Ok(store.gaps()?.into_iter().map(|(gap, _)| (gap.path, gap.reason)).collect())
}

/// Records the event `reconciled`, unless nothing was found.
fn record_reconciled(
    batch: &Batch<'_>,
    before: &StateBeforeReconcile,
    counts: ReconcileCounts,
    at: Millis,
) -> Result<(), StoreError> {
    let ReconcileCounts { baseline, closed_calls } = counts;
    let filter = ChangeFilter { after: Some(before.seq), ..ChangeFilter::default() };
    let changes = batch.changes(&filter)?;
    let gaps = open_gaps(batch)?.difference(&before.gaps).count();
    if changes.is_empty() && baseline + closed_calls + gaps == 0 {
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
        "calls_closed": closed_calls, "open_dialogs": open, "last_event_at": before.last_event_at,
    });
    record_entry(batch, batch.next_stamp(at), JournalKind::Reconciled, None, body)
}
