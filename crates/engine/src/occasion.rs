//! Derives from events which paths to scan, and to which calls changes may be attributed.
//!
//! An event that comes in time says exactly which window begins or ends. One that was spooled, or
//! whose begin was missed, says less, and its call owns less.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use retake_model::{Event, EventKind, Gap, Millis, ProjectPath};
use retake_store::{Batch, StoreError};
use retake_workspace::Rules;

use crate::arrival::{Arrived, Calls, Meaning};
use crate::attribute::Limit;
use crate::freshness::shown;
use crate::live::LiveCall;
use crate::memory;
use crate::observe::{HiddenIs, Request, Scope};
use crate::project::Project;
use crate::shield::{Shielded, shield, too_late};

/// Context of one scan: its request, and the calls that may own its findings.
pub(crate) struct Occasion<'a> {
    pub(crate) request: Request<'a>,
    pub(crate) calls: &'a Calls,
    /// The call that begins with this scan.
    pub(crate) beginning: Option<i64>,
    pub(crate) limits: HashMap<i64, Limit>,
    /// Gaps for files that the shield could not capture.
    pub(crate) gaps: Vec<Gap>,
    /// Calls whose command may have begun before this scan was done.
    pub(crate) late: Vec<i64>,
    /// The call that ends with this scan, and when its end came.
    pub(crate) ending: Option<Ending>,
    /// Time until which the agent waits for the call that begins.
    deadline: Option<Millis>,
}

/// The end of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    pub(crate) row: i64,
    pub(crate) at: Millis,
}

impl<'a> Occasion<'a> {
    /// Context of a full scan without an event.
    pub(crate) fn plain(
        project: &'a Project,
        batch: &Batch<'_>,
        calls: &'a Calls,
    ) -> Result<Self, StoreError> {
        let mut request =
            project.request(batch, Scope::Everything, Vec::new(), HiddenIs::Baseline)?;
        // The process that killed a run may have written what is found now, also to its targets.
        let limits = calls.orphaned.iter().map(|row| (*row, Limit::Announced)).collect();
        request.has_open_calls = calls.live.iter().any(LiveCall::is_at_work);
        Ok(Self {
            request,
            calls,
            beginning: None,
            limits,
            gaps: Vec::new(),
            late: Vec::new(),
            ending: None,
            deadline: None,
        })
    }

    /// Called after the state was observed. If that took longer than the agent waits, its command
    /// has begun meanwhile: the event then counts as late.
    pub(crate) fn observed(&mut self, now: Option<Millis>) {
        let is_over = self.deadline.zip(now).is_some_and(|(deadline, now)| now > deadline);
        let Some(row) = self.beginning.filter(|_| is_over) else { return };
        let Some(live) = self.calls.get(row) else { return };
        self.beginning = None;
        self.limits.insert(row, Limit::Between(live.call.begin_at, Millis::MAX));
        self.late.push(row);
        if live.may_destroy() {
            self.gaps.extend(too_late(self.request.workspace, live));
        }
    }

    /// Returns true if an open call may change anything, and began at an earlier scan.
    pub(crate) fn may_have_done(&self, live: &LiveCall) -> bool {
        self.beginning != Some(live.call.row) && live.is_at_work()
    }

    /// Context of the scan that these events ask for.
    pub(crate) fn of(
        project: &'a Project,
        batch: &Batch<'_>,
        events: &[(&Arrived, Meaning)],
        calls: &'a Calls,
    ) -> Result<Self, StoreError> {
        match events {
            [(arrived, meaning)] if !arrived.waited => {
                let mut occasion = Self::in_time(project, batch, &arrived.event, *meaning, calls)?;
                occasion.deadline = arrived.deadline;
                if let Meaning::Ends(row) = *meaning {
                    occasion.ending = Some(Ending { row, at: arrived.at });
                }
                let is_served = match arrived.arrival {
                    Some(arrival) => arrival.is_served(batch)?,
                    None => false,
                };
                if is_served && occasion.request.scope == Scope::Everything {
                    occasion.request.scope = Scope::Paths(Vec::new());
                }
                Ok(occasion)
            }
            _ => Self::late(project, batch, events, calls),
        }
    }

    fn in_time(
        project: &'a Project,
        batch: &Batch<'_>,
        event: &Event,
        meaning: Meaning,
        calls: &'a Calls,
    ) -> Result<Self, StoreError> {
        let mut occasion = Self::plain(project, batch, calls)?;
        let (row, hidden, limit) = match meaning {
            Meaning::Begins(row) => (row, HiddenIs::Baseline, None),
            Meaning::Ends(row) => (row, HiddenIs::New, None),
            Meaning::EndsAgain(row) => (row, HiddenIs::New, Some(Limit::AimOnly)),
            Meaning::EndsUnbegun(row) => (row, HiddenIs::UnknownBefore, Some(Limit::AimOnly)),
            Meaning::Other => {
                // A repeated begin is redundant, and messages change no files; every other event
                // triggers a full scan.
                use EventKind::{AssistantMessage, ToolBegin};
                if matches!(event.what, ToolBegin { .. } | AssistantMessage { .. }) {
                    occasion.request.scope = Scope::Paths(Vec::new());
                }
                occasion.over(event);
                return Ok(occasion);
            }
        };
        let Some(live) = calls.get(row) else {
            return Err(StoreError::Row(format!("call {row} went away")));
        };
        let limit = if failed(event, live, calls) { Some(Limit::Announced) } else { limit };
        occasion.limits.extend(limit.map(|limit| (row, limit)));
        // A dialog's first event makes its initial checkpoint, which covers everything.
        if batch.dialog(&event.dialog)?.is_some() {
            occasion.request.scope = match live.scope() {
                None => Scope::Everything,
                Some(mut paths) => {
                    let shown = shown(project.root(), event, Some(live)).into_iter();
                    let shown: Vec<_> = shown.map(|(path, _)| path).collect();
                    paths.extend(in_sight(project, batch, shown)?);
                    if matches!(meaning, Meaning::Ends(_)) {
                        paths.extend(live.scratch(batch)?);
                    }
                    Scope::Paths(paths)
                }
            };
        }
        occasion.request.hidden = hidden;
        occasion.request.named.clone_from(&live.aim.named);
        if matches!(meaning, Meaning::Begins(_)) {
            occasion.beginning = Some(row);
            let is_other = |live: &LiveCall| live.is_at_work() && live.call.row != row;
            occasion.request.has_open_calls = calls.live.iter().any(is_other);
            let taken = shielded(project, batch, live)?;
            occasion.request.named.extend(taken.paths);
            occasion.gaps = taken.gaps;
        }
        Ok(occasion)
    }

    /// Spooled events report something that happened at some time since the last scan.
    fn late(
        project: &'a Project,
        batch: &Batch<'_>,
        events: &[(&Arrived, Meaning)],
        calls: &'a Calls,
    ) -> Result<Self, StoreError> {
        let mut occasion = Self::plain(project, batch, calls)?;
        for (arrived, meaning) in events {
            let has_failed =
                |row: &i64| calls.get(*row).is_some_and(|live| failed(&arrived.event, live, calls));
            match meaning {
                Meaning::Ends(row) | Meaning::EndsAgain(row) | Meaning::EndsUnbegun(row)
                    if has_failed(row) =>
                {
                    occasion.limits.insert(*row, Limit::Announced);
                }
                Meaning::Begins(row) => {
                    occasion.limits.insert(*row, Limit::Between(arrived.at, Millis::MAX));
                    occasion.late.push(*row);
                    let late = calls.get(*row).filter(|live| live.may_destroy());
                    let gaps = late.map(|live| too_late(project.workspace(), live));
                    occasion.gaps.extend(gaps.unwrap_or_default());
                }
                Meaning::Ends(row) => occasion.ended(*row, arrived.at),
                Meaning::EndsAgain(row) | Meaning::EndsUnbegun(row) => {
                    occasion.limits.insert(*row, Limit::AimOnly);
                }
                Meaning::Other if ends_turn(&arrived.event) => {
                    occasion.over(&arrived.event);
                    for live in calls.live.iter().filter(|live| is_of(live, &arrived.event)) {
                        occasion.ended(live.call.row, arrived.at);
                    }
                }
                Meaning::Other => occasion.over(&arrived.event),
            }
        }
        occasion.request.hidden = HiddenIs::UnknownBefore;
        occasion.request.named =
            calls.live.iter().flat_map(|live| live.aim.named.clone()).collect();
        Ok(occasion)
    }

    /// Limits calls of which only this end is reported: they did not run, or failed, and what was
    /// found since they were requested may well be the work of the person who was asked. The same
    /// goes for edits that were left open when the turn ended. A command that was left open by an
    /// agent that is started again may have run.
    fn over(&mut self, event: &Event) {
        for live in self.calls.live.iter().filter(|live| is_of(live, event)) {
            let limit = match &event.what {
                EventKind::ToolsOver { calls } if calls.contains(&live.call.call) => {
                    Limit::Announced
                }
                _ if ends_turn(event) && live.is_edit() => Limit::Announced,
                EventKind::DialogStart { .. } => Limit::AimOnly,
                _ => continue,
            };
            let row = live.call.row;
            // One that has ended with the same events did run.
            let ended = |limit: &Limit| !matches!(limit, Limit::Between(_, Millis::MAX));
            if !self.limits.get(&row).is_some_and(ended) {
                self.limits.insert(row, limit);
            }
        }
    }

    /// Limits a call to the time until its end, if it had begun by then and had not ended before.
    fn ended(&mut self, row: i64, at: Millis) {
        let Some(live) = self.calls.get(row).filter(|live| live.call.begin_at <= at) else {
            return;
        };
        let over = Limit::Between(live.call.begin_at, at);
        match self.limits.entry(row) {
            Entry::Vacant(entry) => {
                entry.insert(over);
            }
            Entry::Occupied(mut entry) => {
                if matches!(entry.get(), Limit::Between(_, Millis::MAX)) {
                    entry.insert(over);
                }
            }
        }
    }
}

/// Returns true if a call ends without having done its work: an edit tool that fails leaves its
/// files alone, whereas a command that fails may have changed much before that. So may a host that
/// edits files itself, and aborts.
fn failed(event: &Event, live: &LiveCall, calls: &Calls) -> bool {
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
fn is_of(live: &LiveCall, event: &Event) -> bool {
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
pub(crate) fn in_sight(
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
        let rules = rules(project, batch)?;
        tracked.extend(others.into_iter().filter(|path| !rules.is_ignored(path, false)));
    }
    Ok(tracked)
}

/// Loads the rules of the last scan.
pub(crate) fn rules(project: &Project, batch: &Batch<'_>) -> Result<Arc<Rules>, StoreError> {
    Ok(match project.view(batch)? {
        Some(view) => Arc::clone(&view.rules),
        None => Arc::new(Rules::new(memory::rules(batch)?.unwrap_or_default())),
    })
}

fn shielded(project: &Project, batch: &Batch<'_>, live: &LiveCall) -> Result<Shielded, StoreError> {
    if !live.may_destroy() {
        return Ok(Shielded::default());
    }
    let rules = rules(project, batch)?;
    Ok(shield(batch, project.workspace(), &rules, live, &project.settings().shield))
}
