//! Where to look on the occasion of events, and who could have done what is found.
//!
//! An event that comes in time says exactly which window begins or ends. One that waited in the
//! spool, or whose begin was missed, says less, and its call owns less.

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

/// One look: what for, and in whose presence.
pub(crate) struct Occasion<'a> {
    pub(crate) request: Request<'a>,
    pub(crate) calls: &'a Calls,
    /// The call that begins with this look.
    pub(crate) beginning: Option<i64>,
    pub(crate) limits: HashMap<i64, Limit>,
    /// What the shield could not take.
    pub(crate) gaps: Vec<Gap>,
    /// Calls whose command may have begun before this look was done.
    pub(crate) late: Vec<i64>,
    /// The call that ends with this look, and when its end came.
    pub(crate) ending: Option<Ending>,
    /// Until when the agent waits for the call that begins.
    deadline: Option<Millis>,
}

/// The end of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    pub(crate) row: i64,
    pub(crate) at: Millis,
}

impl<'a> Occasion<'a> {
    /// A look at everything that no event asked for.
    pub(crate) fn plain(
        project: &'a Project,
        batch: &Batch<'_>,
        calls: &'a Calls,
    ) -> Result<Self, StoreError> {
        let mut request =
            project.request(batch, Scope::Everything, Vec::new(), HiddenIs::Baseline)?;
        // Whoever killed a run may have written what is found now, also to what it aimed at.
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

    /// What was there is observed. If that took longer than the agent waits, its command has begun
    /// meanwhile: then it is as if the event had waited.
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

    /// Whether an open call reaches everything, and began at an earlier look.
    pub(crate) fn may_have_done(&self, live: &LiveCall) -> bool {
        self.beginning != Some(live.call.row) && live.is_at_work()
    }

    /// The look that these events ask for.
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
                // A repeated begin says nothing new, and words change no files; all else is an
                // occasion to look at everything.
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
        // A dialog's first event makes its initial checkpoint, which is of everything.
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

    /// Spooled events tell of something that happened at some time since the last look.
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

    /// Calls of which nothing but this is heard did not run, or failed: what was found since they
    /// were asked for may well be the work of the person who was asked. The same goes for edits that
    /// were left open when the turn ended. A command that was left open by an agent that is started
    /// again may have run.
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

    /// A call was over at this time, if it had begun by then and was not over before.
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

/// Whether a call ends without having done what it was to do: an edit tool that fails leaves its
/// files alone, whereas a command that fails may have done much before that. So may a host that
/// edits files itself, and aborts.
fn failed(event: &Event, live: &LiveCall, calls: &Calls) -> bool {
    let has_failed = matches!(event.what, EventKind::ToolEnd { ok: Some(false), .. });
    live.is_edit() && !live.is_by_host() && (has_failed || calls.denied.contains(&live.call.row))
}

/// Whether an event ends what was open in its dialog.
fn ends_turn(event: &Event) -> bool {
    use EventKind::{DialogEnd, DialogStart, TurnEnd, UserMessage};
    matches!(
        event.what,
        DialogStart { .. } | UserMessage { .. } | TurnEnd { .. } | DialogEnd { .. }
    )
}

/// Whether an event that ends a turn ends this call.
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

/// The paths that are tracked, or would be: to read a file is no reason to keep it.
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

/// The rules of the last look.
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
