//! Views: which messages of a history are visible; the log itself never changes.
//!
//! Views form a stack; bringing back pops the topmost, recorded as a row of its own. So the rows
//! alone determine the active views, and one can go back to the first.

use std::collections::HashSet;

use retake_model::{
    AgentId, AgentRef, DialogId, HistoryKind, JournalKind, Millis, ModelMessage, OperationId,
    Stamp, ViewReason,
};
use retake_store::{Batch, HistoryKey, MessageEntry, NewView, StoreError, StoredView};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ingest::ensure_dialog;
use super::log_merge::new_message;
use super::visible::VisibleMessages;
use super::{HistoryError, record_history_event};
use crate::project::Project;

/// One entry of the view stack of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Its place in the project's order.
    pub seq: u64,
    /// When it was made.
    pub at: Millis,
    /// Why.
    pub why: ViewReason,
    /// The operation that it was made with.
    pub operation: Option<OperationId>,
    /// Messages of the model's history that it shows now.
    pub shown: u64,
    /// Messages of the model's history that it hides.
    pub hidden: u64,
    /// Whether it is still active, so that [`Project::bring_back`] can pop it.
    pub stands: bool,
}

/// A message of a new view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ViewItem {
    /// One that is on record, by its place.
    Kept(i64),
    /// One that stands for others.
    New(ModelMessage),
}

/// How a history is to be shown from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViewChange {
    /// Why.
    pub why: ViewReason,
    /// The messages, in order.
    pub items: Vec<ViewItem>,
    /// Messages received from this place on follow: [`ModelView::next`](super::ModelView::next).
    pub open_from: i64,
    /// The view that this was worked out from: [`ModelView::view`](super::ModelView::view).
    pub from: Option<u64>,
}

/// Returns the active views, the topmost last.
pub(super) fn active_views(views: &[StoredView]) -> Vec<&StoredView> {
    let mut active = Vec::new();
    for view in views {
        match view.why {
            ViewReason::BroughtBack => drop(active.pop()),
            _ => active.push(view),
        }
    }
    active
}

impl Project {
    /// Returns all views of an agent's model history, the oldest first.
    pub fn views(&self, dialog: &DialogId, agent: &AgentId) -> Result<Vec<View>, StoreError> {
        let of = HistoryKey { dialog, agent, history: HistoryKind::Model };
        let (views, log) = self.load_history(of)?;
        let active: Vec<u64> = active_views(&views).iter().map(|view| view.seq).collect();
        let view = |view: &StoredView| {
            let (shown, hidden) = count_messages(&VisibleMessages::of(view), &log);
            let StoredView { seq, at, why, operation, .. } = *view;
            View { seq, at, why, operation, shown, hidden, stands: active.contains(&seq) }
        };
        Ok(views.iter().map(view).collect())
    }

    /// Sets a new view of an agent's model history, unless another caller did so meanwhile.
    pub fn set_view(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        change: &ViewChange,
        at: Millis,
    ) -> Result<View, HistoryError> {
        let of = HistoryKey { dialog, agent, history: HistoryKind::Model };
        let _lock = self.acquire_lock()?;
        let (views, log) = self.load_history(of)?;
        if active_views(&views).last().map(|view| view.seq) != change.from {
            return Err(HistoryError::Moved(dialog.clone()));
        }
        let known_places: HashSet<i64> = log.iter().map(|entry| entry.place).collect();
        let batch = self.store().batch()?;
        ensure_dialog(&batch, of, None, at)?;
        let stamp = batch.next_stamp(at);
        let mut own_place = log.iter().map(|entry| entry.place).min().unwrap_or(0).min(0);
        let mut places = Vec::with_capacity(change.items.len());
        for item in &change.items {
            match item {
                ViewItem::Kept(place) if known_places.contains(place) => places.push(*place),
                ViewItem::Kept(place) => {
                    return Err(HistoryError::UnknownPlace {
                        dialog: dialog.clone(),
                        place: *place,
                    });
                }
                ViewItem::New(message) => {
                    own_place -= 1;
                    batch.put_message(of, stamp, &new_message(own_place, None, message, None)?)?;
                    places.push(own_place);
                }
            }
        }
        let shown = VisibleMessages::listed(places, change.open_from);
        let view = record_view(&batch, of, stamp, &shown.new_view(change.why, None))?;
        batch.commit()?;
        Ok(view)
    }

    /// Pops the newest view of an agent's conversation, so that the previous one is current.
    pub fn bring_back(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        at: Millis,
    ) -> Result<View, HistoryError> {
        let _lock = self.acquire_lock()?;
        let batch = self.store().batch()?;
        let view = pop_view(&batch, AgentRef { dialog, agent }, None, at)?;
        batch.commit()?;
        Ok(view)
    }
}

/// Counts the visible messages, and the received ones that are hidden.
fn count_messages(shown: &VisibleMessages, log: &[MessageEntry]) -> (u64, u64) {
    let hidden = log.iter().filter(|entry| entry.place >= 0 && !shown.shows(entry.place));
    (shown.visible_entries(log).len() as u64, hidden.count() as u64)
}

/// Pops the newest view of a conversation, in both of its histories if it is of both.
pub(super) fn pop_view(
    batch: &Batch<'_>,
    AgentRef { dialog, agent }: AgentRef<'_>,
    operation: Option<OperationId>,
    at: Millis,
) -> Result<View, HistoryError> {
    let threads = HistoryKind::ALL.iter().map(|&history| HistoryKey { dialog, agent, history });
    let mut tops = Vec::new();
    for of in threads {
        let views = batch.views(of)?;
        let active = active_views(&views);
        if let Some(top) = active.last() {
            let below = active
                .len()
                .checked_sub(2)
                .map_or_else(VisibleMessages::all, |at| VisibleMessages::of(active[at]));
            tops.push((top.seq, of, below));
        }
    }
    let newest = tops.iter().map(|(seq, ..)| *seq).max();
    let Some(newest) = newest else { return Err(HistoryError::NothingHidden(dialog.clone())) };
    let stamp = batch.next_stamp(at);
    for (_, of, below) in tops.iter().filter(|(seq, ..)| *seq == newest) {
        batch.put_view(*of, stamp, &below.new_view(ViewReason::BroughtBack, operation))?;
    }
    let of = HistoryKey { dialog, agent, history: HistoryKind::Model };
    record_view_event(batch, of, stamp, ViewReason::BroughtBack, operation)
}

/// Records a view of one history and its journal event.
pub(super) fn record_view(
    batch: &Batch<'_>,
    of: HistoryKey<'_>,
    stamp: Stamp,
    view: &NewView<'_>,
) -> Result<View, HistoryError> {
    batch.put_view(of, stamp, view)?;
    record_view_event(batch, of, stamp, view.why, view.operation)
}

/// Records the journal event of a view that was just stored.
pub(super) fn record_view_event(
    batch: &Batch<'_>,
    of: HistoryKey<'_>,
    stamp: Stamp,
    why: ViewReason,
    operation: Option<OperationId>,
) -> Result<View, HistoryError> {
    let of = HistoryKey { history: HistoryKind::Model, ..of };
    let (shown, hidden) =
        count_messages(&VisibleMessages::current(&batch.views(of)?), &batch.message_log(of)?);
    let body = json!({ "why": why, "kept": shown, "hidden": hidden, "operation": operation });
    record_history_event(batch, of, stamp, JournalKind::ConversationView, body)?;
    let Stamp { seq, at } = stamp;
    Ok(View { seq, at, why, operation, shown, hidden, stands: why != ViewReason::BroughtBack })
}
