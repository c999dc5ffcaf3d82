//! Rewinds a conversation: hides everything from a message of the person on.

use std::collections::HashSet;

use retake_model::{
    AgentId, AgentRef, DialogId, HistoryKind, MAIN_AGENT, Millis, ObjectId, OperationId, ViewReason,
};
use retake_store::{
    Batch, ConversationMessage, HistoryKey, MessageEntry, StoreError, StoredView, UserMessage,
};
use serde::{Deserialize, Serialize};

use super::HistoryError;
use super::view::{active_views, pop_view, record_view_event};
use super::visible::VisibleMessages;
use crate::project::Project;

/// Where a conversation is cut: right before a message of the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewindTarget {
    /// The first one after this checkpoint.
    Checkpoint(ObjectId),
    /// The one that began this turn; turns count from 1.
    Turn(u64),
    /// The one with this `message_index`.
    Message(u64),
}

/// What rewinding a conversation hid, or would hide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindOutcome {
    /// The message before which it was cut, in the person's words; empty if nothing was hidden.
    pub before: String,
    /// Messages of the model's history that are hidden by it.
    pub hidden: u64,
    /// Messages of the model's history that are shown after it.
    pub kept: u64,
    /// What was said and is hidden by it, of the display history.
    pub unsaid: u64,
}

/// The views that a rewind sets, and its counts.
struct RewindCut {
    rewound: RewindOutcome,
    model: Option<VisibleMessages>,
    display: Option<VisibleMessages>,
}

impl Project {
    /// Plans a rewind: returns what it would hide.
    pub fn plan_rewind(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        to: RewindTarget,
    ) -> Result<RewindOutcome, HistoryError> {
        Ok(self.plan_cut(AgentRef { dialog, agent }, to, self.store().last_seq()? + 1)?.rewound)
    }

    /// Hides a conversation from a message of the person on; [`Project::bring_back`] shows the rest
    /// again. Files and changes stay as they are.
    pub fn rewind_conversation(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        to: RewindTarget,
        operation: Option<OperationId>,
        at: Millis,
    ) -> Result<RewindOutcome, HistoryError> {
        let _lock = self.acquire_lock()?;
        self.rewind_locked(AgentRef { dialog, agent }, to, operation, at)
    }

    /// [`Project::rewind_conversation`] for a caller that holds the lock.
    pub(crate) fn rewind_locked(
        &self,
        thread: AgentRef<'_>,
        to: RewindTarget,
        operation: Option<OperationId>,
        at: Millis,
    ) -> Result<RewindOutcome, HistoryError> {
        let batch = self.store().batch()?;
        let stamp = batch.next_stamp(at);
        let cut = self.plan_cut(thread, to, stamp.seq)?;
        let views = [(HistoryKind::Model, &cut.model), (HistoryKind::Display, &cut.display)];
        if views.iter().all(|(_, shown)| shown.is_none()) {
            return Ok(cut.rewound);
        }
        let AgentRef { dialog, agent } = thread;
        let (of, why) =
            (HistoryKey { dialog, agent, history: HistoryKind::Model }, ViewReason::Rewound);
        for (history, shown) in views {
            if let Some(shown) = shown {
                let of = HistoryKey { history, ..of };
                batch.put_view(of, stamp, &shown.new_view(why, operation))?;
            }
        }
        record_view_event(&batch, of, stamp, why, operation)?;
        batch.commit()?;
        Ok(cut.rewound)
    }

    /// Undoes what an operation did to conversations: restores those that it rewound, and rewinds
    /// those that it had brought back; returns how many. One that was changed since stays. The
    /// caller holds the lock.
    pub(crate) fn undo_rewind_locked(
        &self,
        undone: OperationId,
        by: Option<OperationId>,
        at: Millis,
    ) -> Result<u64, HistoryError> {
        let batch = self.store().batch()?;
        let mut count = 0;
        for (dialog, agent) in batch.threads_changed_by(undone)? {
            let thread = AgentRef { dialog: &dialog, agent: &agent };
            count += u64::from(undo_rewind_of(&batch, thread, undone, by, at)?);
        }
        batch.commit()?;
        Ok(count)
    }

    /// Works out what a cut hides; `seq` is the place of the view in the order.
    fn plan_cut(
        &self,
        AgentRef { dialog, agent }: AgentRef<'_>,
        to: RewindTarget,
        seq: u64,
    ) -> Result<RewindCut, HistoryError> {
        let of = HistoryKey { dialog, agent, history: HistoryKind::Model };
        let spoken = self.store().conversation(dialog)?;
        let message = self.message_at_target(dialog, &spoken, to)?;
        let (views, log) = self.load_history(of)?;
        let shown = VisibleMessages::current(&views);
        let now = shown.visible_entries(&log);
        let index = match (&message, to) {
            (Some(message), _) => message.index,
            (None, RewindTarget::Message(index)) => Some(index),
            (None, _) => return Ok(RewindCut::unchanged(now.len())),
        };
        let is_behind = |at: &usize| match (index, &message) {
            (Some(index), _) => log[*at].index.is_some_and(|at| at >= index),
            // Without a place in the agent's history: what was read after it.
            (None, Some(message)) => log[*at].seq > message.seq,
            (None, None) => false,
        };
        let behind = (0..log.len()).filter(|at| log[*at].place >= 0).filter(is_behind);
        let first = behind.min_by_key(|&at| (index.and(log[at].index), log[at].seq));
        let is_first = |at: usize| {
            first.is_some_and(|first| match index {
                Some(_) => log[at].index == log[first].index,
                None => at == first,
            })
        };
        let order = order_before_condensing(&views, &log, is_first).unwrap_or_else(|| now.clone());
        let start = order.iter().position(is_behind).unwrap_or(order.len());
        if message.is_none() && start == order.len() {
            let what = format!("index {}", index.unwrap_or_default());
            return Err(HistoryError::NoMessage { dialog: dialog.clone(), what });
        }
        let next = super::next_place(&log, &shown);
        let remaining = &order[..start];
        let places = remaining.iter().map(|&at| log[at].place);
        let model = (remaining != now).then(|| VisibleMessages::listed(places, next));
        let (display, unsaid) = match &message {
            Some(message) if agent.0 == MAIN_AGENT => {
                self.cut_spoken_display(of, &spoken, message.seq, seq)?
            }
            _ => self.cut_imported_display(of, order.get(start).and_then(|&at| log[at].ts))?,
        };
        let stays: HashSet<_> = remaining.iter().collect();
        let rewound = RewindOutcome {
            before: message.map(|message| message.text.clone()).unwrap_or_default(),
            hidden: now.iter().filter(|at| !stays.contains(at)).count() as u64,
            kept: start as u64,
            unsaid,
        };
        Ok(RewindCut { rewound, model, display })
    }

    /// The message of the person before which to cut; none if nothing was said since a checkpoint,
    /// or the dialog's messages are not events.
    fn message_at_target<'s>(
        &self,
        dialog: &DialogId,
        spoken: &'s [ConversationMessage],
        to: RewindTarget,
    ) -> Result<Option<&'s UserMessage>, HistoryError> {
        let mut user_messages = spoken.iter().filter_map(|spoken| match spoken {
            ConversationMessage::Person(message) => Some(message),
            ConversationMessage::Agent { .. } => None,
        });
        let unknown = |what: String| HistoryError::NoMessage { dialog: dialog.clone(), what };
        match to {
            RewindTarget::Checkpoint(id) => {
                let checkpoint = self.store().checkpoint(&id)?;
                let seq = checkpoint.ok_or_else(|| unknown(format!("checkpoint {id}")))?.seq;
                Ok(user_messages.find(|message| message.seq > seq))
            }
            RewindTarget::Turn(turn) => {
                let found =
                    turn.checked_sub(1).and_then(|earlier| user_messages.nth(earlier as usize));
                found.map(Some).ok_or_else(|| unknown(format!("turn {turn}")))
            }
            RewindTarget::Message(index) => {
                Ok(user_messages.find(|message| message.index == Some(index)))
            }
        }
    }

    /// Cuts the display history of a dialog with events; its places are journal `seq`s. What was
    /// said from `before` on is hidden, up to the view's own `seq`.
    fn cut_spoken_display(
        &self,
        of: HistoryKey<'_>,
        spoken: &[ConversationMessage],
        before: u64,
        view_seq: u64,
    ) -> Result<(Option<VisibleMessages>, u64), StoreError> {
        let of = HistoryKey { history: HistoryKind::Display, ..of };
        let shown = VisibleMessages::current(&self.store().views(of)?);
        let behind = spoken.iter().filter(|spoken| spoken.seq() >= before);
        let unsaid = behind.filter(|spoken| shown.shows(spoken.seq() as i64)).count() as u64;
        Ok(((unsaid > 0).then(|| shown.cut_before(before as i64, view_seq as i64)), unsaid))
    }

    /// Cuts an imported display history: messages before that time stay.
    fn cut_imported_display(
        &self,
        of: HistoryKey<'_>,
        ts: Option<Millis>,
    ) -> Result<(Option<VisibleMessages>, u64), StoreError> {
        let of = HistoryKey { history: HistoryKind::Display, ..of };
        let (views, log) = self.load_history(of)?;
        let shown = VisibleMessages::current(&views);
        let order = shown.visible_entries(&log);
        let is_behind = |at: &usize| ts.is_some_and(|ts| log[*at].ts.is_some_and(|at| at >= ts));
        let Some(start) = order.iter().position(is_behind) else { return Ok((None, 0)) };
        let remaining = order[..start].iter().map(|&at| log[at].place);
        let next = super::next_place(&log, &shown);
        Ok((Some(VisibleMessages::listed(remaining, next)), (order.len() - start) as u64))
    }
}

/// Returns the order shown before a message was condensed: a summary must not outlive what it
/// summarises. None if the message is visible, or another view hides it.
fn order_before_condensing(
    views: &[StoredView],
    log: &[MessageEntry],
    is_it: impl Fn(usize) -> bool,
) -> Option<Vec<usize>> {
    let active = active_views(views);
    let shows = |order: &Vec<usize>| order.iter().any(|&at| is_it(at));
    let orders = active.iter().map(|view| VisibleMessages::of(view).visible_entries(log));
    let all: Vec<_> =
        std::iter::once(VisibleMessages::all().visible_entries(log)).chain(orders).collect();
    let below = all.iter().rposition(shows)?;
    // The one right above it hides the message.
    let hides = active.get(below)?;
    (hides.why == ViewReason::Condensed).then(|| all[below].clone())
}

impl RewindCut {
    fn unchanged(remaining: usize) -> Self {
        let rewound = RewindOutcome { kept: remaining as u64, ..RewindOutcome::default() };
        Self { rewound, model: None, display: None }
    }
}

/// Undoes what an operation did to one conversation, if it was not changed since.
fn undo_rewind_of(
    batch: &Batch<'_>,
    thread: AgentRef<'_>,
    undone: OperationId,
    by: Option<OperationId>,
    at: Millis,
) -> Result<bool, HistoryError> {
    let AgentRef { dialog, agent } = thread;
    let views_of = |history| {
        let views = batch.views(HistoryKey { dialog, agent, history })?;
        let last = views.last().filter(|view| view.operation == Some(undone)).cloned();
        Ok::<_, StoreError>((views, last))
    };
    let mut rewound_again = Vec::new();
    let mut pops = false;
    for &history in HistoryKind::ALL {
        let (views, last) = views_of(history)?;
        match last {
            Some(last) if last.why == ViewReason::BroughtBack => {
                // The view that was current before it was brought back.
                let before = &views[..views.len() - 1];
                rewound_again.extend(
                    active_views(before).last().map(|view| (history, VisibleMessages::of(view))),
                );
            }
            Some(_) => pops = true,
            None => {}
        }
    }
    if pops {
        pop_view(batch, thread, by, at)?;
    }
    let of = HistoryKey { dialog, agent, history: HistoryKind::Model };
    if !rewound_again.is_empty() {
        let (stamp, why) = (batch.next_stamp(at), ViewReason::Rewound);
        for (history, shown) in &rewound_again {
            let of = HistoryKey { history: *history, ..of };
            batch.put_view(of, stamp, &shown.new_view(why, by))?;
        }
        record_view_event(batch, of, stamp, why, by)?;
    }
    Ok(pops || !rewound_again.is_empty())
}
