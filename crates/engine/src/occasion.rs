//! Where to look on the occasion of events, and who could have done what is found.
//!
//! An event that comes in time says exactly which window begins or ends. One that waited in the
//! spool, or whose begin was missed, says less, and its call owns less.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use retake_model::{Event, EventKind, Gap, Millis};
use retake_store::{Batch, StoreError};
use retake_workspace::Rules;

use crate::arrival::{Arrived, Calls, Meaning};
use crate::attribute::Limit;
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
}

impl<'a> Occasion<'a> {
    /// A look at everything that no event asked for.
    pub(crate) fn plain(
        project: &'a Project,
        batch: &Batch<'_>,
        calls: &'a Calls,
    ) -> Result<Self, StoreError> {
        let request = project.request(batch, Scope::Everything, Vec::new(), HiddenIs::Baseline)?;
        Ok(Self { request, calls, beginning: None, limits: HashMap::new(), gaps: Vec::new() })
    }

    /// The look that these events ask for.
    pub(crate) fn of(
        project: &'a Project,
        batch: &Batch<'_>,
        events: &[(&Arrived, Meaning)],
        calls: &'a Calls,
    ) -> Result<Self, StoreError> {
        match events {
            [(arrived, meaning)] if arrived.spool_id.is_none() => {
                Self::in_time(project, batch, &arrived.event, *meaning, calls)
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
                // A repeated begin says nothing new; all else is an occasion to look at everything.
                if matches!(event.what, EventKind::ToolBegin { .. }) {
                    occasion.request.scope = Scope::Paths(Vec::new());
                }
                return Ok(occasion);
            }
        };
        let Some(live) = calls.get(row) else {
            return Err(StoreError::Row(format!("call {row} went away")));
        };
        occasion.limits.extend(limit.map(|limit| (row, limit)));
        // A dialog's first event makes its initial checkpoint, which is of everything.
        if batch.dialog(&event.dialog)?.is_some() {
            occasion.request.scope = live.scope().map_or(Scope::Everything, Scope::Paths);
        }
        occasion.request.hidden = hidden;
        occasion.request.named.clone_from(&live.named);
        if matches!(meaning, Meaning::Begins(_)) {
            occasion.beginning = Some(row);
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
            match meaning {
                Meaning::Begins(row) => {
                    occasion.limits.insert(*row, Limit::Between(arrived.at, Millis::MAX));
                    let late = calls.get(*row).filter(|live| live.may_destroy());
                    let gaps = late.map(|live| too_late(project.root(), live));
                    occasion.gaps.extend(gaps.unwrap_or_default());
                }
                Meaning::Ends(row) => occasion.ended(*row, arrived.at),
                Meaning::EndsAgain(row) | Meaning::EndsUnbegun(row) => {
                    occasion.limits.insert(*row, Limit::AimOnly);
                }
                Meaning::Other if ends_turn(&arrived.event) => {
                    for live in calls.live.iter().filter(|live| is_of(live, &arrived.event)) {
                        occasion.ended(live.call.row, arrived.at);
                    }
                }
                Meaning::Other => {}
            }
        }
        occasion.request.hidden = HiddenIs::UnknownBefore;
        occasion.request.named = calls.live.iter().flat_map(|live| live.named.clone()).collect();
        Ok(occasion)
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
    live.is_open()
        && live.call.dialog == event.dialog
        && event.subagent().is_none_or(|agent| live.call.agent == *agent)
}

fn shielded(project: &Project, batch: &Batch<'_>, live: &LiveCall) -> Result<Shielded, StoreError> {
    if !live.may_destroy() {
        return Ok(Shielded::default());
    }
    let rules = Rules::new(memory::rules(batch)?.unwrap_or_default());
    Ok(shield(batch, project.workspace(), &rules, live, &project.settings().shield))
}
