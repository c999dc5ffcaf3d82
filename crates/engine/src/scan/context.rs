//! Derives from events which paths to scan, and to which calls changes may be attributed.
//!
//! An event that comes in time says exactly which window begins or ends. One that was spooled, or
//! whose begin was missed, says less, and its call owns less.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use retake_model::{Event, EventKind, Gap, Millis, ProjectPath};
use retake_store::{Batch, StoreError};
use retake_workspace::IgnoreRules;

use crate::attribution::observed::EndingCall;
use crate::attribution::rules::OwnershipLimit;
use crate::calls::interpret::{EventEffect, InterpretedEvent};
use crate::calls::live_calls::LiveCalls;
use crate::calls::open_call::LiveCall;
use crate::freshness::shown_files;
use crate::project::Project;
use crate::scan::request::{HiddenPathState, ScanRequest, ScanScope};
use crate::scan::shield::{ShieldSelection, missed_shield_gaps, select_shielded};
use crate::scan::state;

/// Context of one scan: its request, and the calls that may own its findings.
pub(crate) struct ScanContext<'a> {
    pub(crate) request: ScanRequest<'a>,
    pub(crate) calls: &'a LiveCalls,
    /// The call that begins with this scan.
    pub(crate) beginning: Option<i64>,
    pub(crate) limits: HashMap<i64, OwnershipLimit>,
    /// Gaps for files that the shield could not capture.
    pub(crate) gaps: Vec<Gap>,
    /// Calls whose command may have begun before this scan was done.
    pub(crate) late_calls: Vec<i64>,
    /// The call that ends with this scan, and when its end came.
    pub(crate) ending: Option<EndingCall>,
    /// Time until which the agent waits for the call that begins.
    deadline: Option<Millis>,
}

impl<'a> ScanContext<'a> {
    /// Context of a full scan without an event.
    pub(crate) fn without_event(
        project: &'a Project,
        batch: &Batch<'_>,
        calls: &'a LiveCalls,
    ) -> Result<Self, StoreError> {
        let mut request = project.scan_request(
            batch,
            ScanScope::Everything,
            Vec::new(),
            HiddenPathState::Baseline,
        )?;
        // The process that killed a run may have written what is found now, also to its targets.
        let limits =
            calls.orphaned.iter().map(|row| (*row, OwnershipLimit::PredictedOnly)).collect();
        request.has_open_calls = calls.live.iter().any(LiveCall::is_at_work);
        Ok(Self {
            request,
            calls,
            beginning: None,
            limits,
            gaps: Vec::new(),
            late_calls: Vec::new(),
            ending: None,
            deadline: None,
        })
    }

    /// Called after the state was observed. If that took longer than the agent waits, its command
    /// has begun meanwhile: the event then counts as late.
    pub(crate) fn check_deadline(&mut self, now: Option<Millis>) {
        let is_over = self.deadline.zip(now).is_some_and(|(deadline, now)| now > deadline);
        let Some(row) = self.beginning.filter(|_| is_over) else { return };
        let Some(live) = self.calls.get(row) else { return };
        self.beginning = None;
        self.limits.insert(row, OwnershipLimit::Between(live.call.begin_at, Millis::MAX));
        self.late_calls.push(row);
        if live.may_destroy() {
            self.gaps.extend(missed_shield_gaps(self.request.workspace, live));
        }
    }

    /// Returns true if an open call may change anything, and began at an earlier scan.
    pub(crate) fn may_have_changed_files(&self, live: &LiveCall) -> bool {
        self.beginning != Some(live.call.row) && live.is_at_work()
    }

    /// Context of the scan that these events ask for.
    pub(crate) fn for_events(
        project: &'a Project,
        batch: &Batch<'_>,
        events: &[InterpretedEvent],
        calls: &'a LiveCalls,
    ) -> Result<Self, StoreError> {
        match events {
            [event] if !event.submission.was_spooled => {
                Self::for_timely_event(project, batch, event, calls)
            }
            _ => Self::for_late_events(project, batch, events, calls),
        }
    }

    fn for_timely_event(
        project: &'a Project,
        batch: &Batch<'_>,
        interpreted: &InterpretedEvent,
        calls: &'a LiveCalls,
    ) -> Result<Self, StoreError> {
        let InterpretedEvent { submission, effect } = interpreted;
        let mut context = Self::without_event(project, batch, calls)?;
        context.deadline = submission.deadline;
        match *effect {
            EventEffect::Begins(row)
            | EventEffect::Ends(row)
            | EventEffect::EndsAgain(row)
            | EventEffect::EndsUnbegun(row) => {
                let Some(live) = calls.get(row) else {
                    return Err(StoreError::Row(format!("call {row} went away")));
                };
                context.set_call(project, batch, interpreted, live)?;
            }
            EventEffect::Other => {
                // A repeated begin is redundant, and messages change no files; every other event
                // triggers a full scan.
                use EventKind::{AssistantMessage, ToolBegin};
                if matches!(submission.event.what, ToolBegin { .. } | AssistantMessage { .. }) {
                    context.request.scope = ScanScope::Paths(Vec::new());
                }
                context.limit_calls_without_end(&submission.event);
            }
        }
        let is_served = match submission.scan_ticket {
            Some(ticket) => ticket.is_served(batch)?,
            None => false,
        };
        if is_served && context.request.scope == ScanScope::Everything {
            context.request.scope = ScanScope::Paths(Vec::new());
        }
        Ok(context)
    }

    /// Sets scope, ownership and shield by the call that begins or ends.
    fn set_call(
        &mut self,
        project: &'a Project,
        batch: &Batch<'_>,
        interpreted: &InterpretedEvent,
        live: &LiveCall,
    ) -> Result<(), StoreError> {
        let (event, effect) = (&interpreted.submission.event, interpreted.effect);
        let row = live.call.row;
        let (hidden, limit) = match effect {
            EventEffect::Begins(_) => (HiddenPathState::Baseline, None),
            EventEffect::Ends(_) => (HiddenPathState::New, None),
            EventEffect::EndsAgain(_) => (HiddenPathState::New, Some(OwnershipLimit::TargetsOnly)),
            EventEffect::EndsUnbegun(_) | EventEffect::Other => {
                (HiddenPathState::UnknownBefore, Some(OwnershipLimit::TargetsOnly))
            }
        };
        let failed = is_failed_edit(event, live, self.calls);
        let limit = if failed { Some(OwnershipLimit::PredictedOnly) } else { limit };
        self.limits.extend(limit.map(|limit| (row, limit)));
        // A dialog's first event makes its initial checkpoint, which covers everything.
        if batch.dialog(&event.dialog)?.is_some() {
            self.request.scope = call_scope(project, batch, interpreted, live)?;
        }
        self.request.hidden = hidden;
        self.request.always_scanned.clone_from(&live.call_targets.named);
        if matches!(effect, EventEffect::Ends(_)) {
            self.ending = Some(EndingCall { row, at: interpreted.submission.at });
        }
        if matches!(effect, EventEffect::Begins(_)) {
            self.beginning = Some(row);
            let is_other = |live: &LiveCall| live.is_at_work() && live.call.row != row;
            self.request.has_open_calls = self.calls.live.iter().any(is_other);
            let shielded = shield_targets(project, batch, live)?;
            self.request.always_scanned.extend(shielded.paths);
            self.gaps = shielded.gaps;
        }
        Ok(())
    }

    /// Spooled events report something that happened at some time since the last scan.
    fn for_late_events(
        project: &'a Project,
        batch: &Batch<'_>,
        events: &[InterpretedEvent],
        calls: &'a LiveCalls,
    ) -> Result<Self, StoreError> {
        let mut context = Self::without_event(project, batch, calls)?;
        for InterpretedEvent { submission, effect } in events {
            let (event, at) = (&submission.event, submission.at);
            let has_failed =
                |row: &i64| calls.get(*row).is_some_and(|live| is_failed_edit(event, live, calls));
            match effect {
                EventEffect::Ends(row)
                | EventEffect::EndsAgain(row)
                | EventEffect::EndsUnbegun(row)
                    if has_failed(row) =>
                {
                    context.limits.insert(*row, OwnershipLimit::PredictedOnly);
                }
                EventEffect::Begins(row) => {
                    context.limits.insert(*row, OwnershipLimit::Between(at, Millis::MAX));
                    context.late_calls.push(*row);
                    let late = calls.get(*row).filter(|live| live.may_destroy());
                    let gaps = late.map(|live| missed_shield_gaps(project.workspace(), live));
                    context.gaps.extend(gaps.unwrap_or_default());
                }
                EventEffect::Ends(row) => context.limit_ended_call(*row, at),
                EventEffect::EndsAgain(row) | EventEffect::EndsUnbegun(row) => {
                    context.limits.insert(*row, OwnershipLimit::TargetsOnly);
                }
                EventEffect::Other if ends_turn(event) => {
                    context.limit_calls_without_end(event);
                    for live in calls.live.iter().filter(|live| is_ended_by(live, event)) {
                        context.limit_ended_call(live.call.row, at);
                    }
                }
                EventEffect::Other => context.limit_calls_without_end(event),
            }
        }
        context.request.hidden = HiddenPathState::UnknownBefore;
        context.request.always_scanned =
            calls.live.iter().flat_map(|live| live.call_targets.named.clone()).collect();
        Ok(context)
    }

    /// Limits calls of which only this end is reported: they did not run, or failed, and what was
    /// found since they were requested may well be the work of the person who was asked. The same
    /// goes for edits that were left open when the turn ended. A command that was left open by an
    /// agent that is started again may have run.
    fn limit_calls_without_end(&mut self, event: &Event) {
        for live in self.calls.live.iter().filter(|live| is_ended_by(live, event)) {
            let limit = match &event.what {
                EventKind::ToolsOver { calls } if calls.contains(&live.call.call) => {
                    OwnershipLimit::PredictedOnly
                }
                _ if ends_turn(event) && live.is_edit() => OwnershipLimit::PredictedOnly,
                EventKind::DialogStart { .. } => OwnershipLimit::TargetsOnly,
                _ => continue,
            };
            let row = live.call.row;
            // One that has ended with the same events did run.
            let ended =
                |limit: &OwnershipLimit| !matches!(limit, OwnershipLimit::Between(_, Millis::MAX));
            if !self.limits.get(&row).is_some_and(ended) {
                self.limits.insert(row, limit);
            }
        }
    }

    /// Limits a call to the time until its end, if it had begun by then and had not ended before.
    fn limit_ended_call(&mut self, row: i64, at: Millis) {
        let Some(live) = self.calls.get(row).filter(|live| live.call.begin_at <= at) else {
            return;
        };
        let over = OwnershipLimit::Between(live.call.begin_at, at);
        match self.limits.entry(row) {
            Entry::Vacant(entry) => {
                entry.insert(over);
            }
            Entry::Occupied(mut entry) => {
                if matches!(entry.get(), OwnershipLimit::Between(_, Millis::MAX)) {
                    entry.insert(over);
                }
            }
        }
    }
}

/// The paths to scan for a call that begins or ends.
fn call_scope(
    project: &Project,
    batch: &Batch<'_>,
    interpreted: &InterpretedEvent,
    live: &LiveCall,
) -> Result<ScanScope, StoreError> {
    let Some(mut paths) = live.scan_paths() else { return Ok(ScanScope::Everything) };
    let shown = shown_files(project.root(), &interpreted.submission.event, Some(live)).into_iter();
    let shown: Vec<_> = shown.map(|(path, _)| path).collect();
    paths.extend(visible_paths(project, batch, shown)?);
    if matches!(interpreted.effect, EventEffect::Ends(_)) {
        paths.extend(live.scratch_paths(batch)?);
    }
    Ok(ScanScope::Paths(paths))
}

/// Returns true if a call ends without having done its work: an edit tool that fails leaves its
/// files alone, whereas a command that fails may have changed much before that. So may a host that
/// edits files itself, and aborts.
fn is_failed_edit(event: &Event, live: &LiveCall, calls: &LiveCalls) -> bool {
    let has_failed = matches!(event.what, EventKind::ToolEnd { ok: Some(false), .. });
    live.is_edit() && !live.is_by_host() && (has_failed || calls.denied.contains(&live.call.row))
}

/// Returns true if an event closes the open calls of its dialog.
fn ends_turn(event: &Event) -> bool {
    use EventKind::{DialogEnd, DialogStart, TurnEnd, UserMessage};
    matches!(
        event.what,
        DialogStart { .. } | UserMessage { .. } | TurnEnd { .. } | DialogEnd { .. }
    )
}

/// Returns true if an event that ends a turn ends this call.
fn is_ended_by(live: &LiveCall, event: &Event) -> bool {
    let lives_on = match &event.what {
        EventKind::TurnEnd { background } => background.contains(&live.call.agent.0),
        _ => false,
    };
    live.is_open()
        && !lives_on
        && live.call.dialog == event.dialog
        && event.subagent().is_none_or(|agent| live.call.agent == *agent)
}

/// The paths that are tracked, or would be: reading a file is no reason to track it.
pub(crate) fn visible_paths(
    project: &Project,
    batch: &Batch<'_>,
    paths: Vec<ProjectPath>,
) -> Result<Vec<ProjectPath>, StoreError> {
    let (mut tracked, mut others) = (Vec::new(), Vec::new());
    for path in paths {
        let is_tracked = batch.manifest_entry(&path)?.is_some();
        if is_tracked { tracked.push(path) } else { others.push(path) }
    }
    if !others.is_empty() {
        let rules = load_last_rules(project, batch)?;
        tracked.extend(others.into_iter().filter(|path| !rules.is_ignored(path, false)));
    }
    Ok(tracked)
}

/// Loads the rules of the last scan.
pub(crate) fn load_last_rules(
    project: &Project,
    batch: &Batch<'_>,
) -> Result<Arc<IgnoreRules>, StoreError> {
    Ok(match project.full_scan_snapshot(batch)? {
        Some(snapshot) => Arc::clone(&snapshot.rules),
        None => Arc::new(IgnoreRules::new(state::load_rules(batch)?.unwrap_or_default())),
    })
}

fn shield_targets(
    project: &Project,
    batch: &Batch<'_>,
    live: &LiveCall,
) -> Result<ShieldSelection, StoreError> {
    if !live.may_destroy() {
        return Ok(ShieldSelection::default());
    }
    let rules = load_last_rules(project, batch)?;
    Ok(select_shielded(batch, project.workspace(), &rules, live, &project.settings().shield))
}
