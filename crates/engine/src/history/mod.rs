//! Both histories of a conversation: the model's and the one displayed to people (HIST-1).
//!
//! Both logs are append-only. Rewinding, condensing or saving a list adds a [`View`]: an order of
//! messages, all of which stay in the log. So every view can be taken back.
//!
//! Messages are identified by their *place*: from 0 on for received messages, below 0 for those
//! that Retake wrote itself, which only views show.

mod boundary;
mod condense;
pub(crate) mod dialog_name;
mod ingest;
mod log_merge;
mod planned_rewind;
mod rewind;
mod shorten;
mod summary;
mod tokens;
mod view;
mod visible;

use std::collections::HashMap;

use retake_model::{
    AgentId, DialogId, HistoryKind, JournalKind, MAIN_AGENT, MessageRole, Millis, ModelMessage,
    ObjectId, Stamp,
};
use retake_store::{
    Batch, ConversationMessage, HistoryKey, JournalEvent, MessageEntry, StoreError, StoredView,
    UserMessage,
};
use serde_json::{Value, json};

use crate::error::RecordError;
use crate::project::Project;
pub use condense::{
    CondenseError, CondenseMethod, CondenseOutcome, CondensePlan, PreparedCondense,
};
pub use ingest::{AddedMessages, ImportedMessages};
pub use planned_rewind::{PlannedRewind, RewindAction};
pub use rewind::{RewindOutcome, RewindTarget};
pub use summary::{Summariser, SummaryError, SummaryRequest, SummaryRetry};
pub use tokens::{TokenCounter, message_tokens};
pub use view::{View, ViewChange, ViewItem};
use visible::VisibleMessages;

/// A message of the model's history, as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryMessage {
    /// Its place in the history; below 0 if Retake wrote it.
    pub place: i64,
    /// Its place in the project's order.
    pub seq: u64,
    /// When it was recorded.
    pub at: Millis,
    /// The message.
    pub message: ModelMessage,
    /// The checkpoint that was made before a message of the person (HIST-9).
    pub checkpoint: Option<ObjectId>,
    /// The work session that a message of the person was sent in (HIST-9).
    pub session: Option<u64>,
}

/// The model's history as it is shown at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelView {
    /// The messages.
    pub messages: Vec<HistoryMessage>,
    /// The view in force, by its place in the order; none if everything is shown.
    pub view: Option<u64>,
    /// The place that the next message gets.
    pub next: i64,
}

/// Why a history could not be read, extended or given another view.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The messages belong to another conversation than the one on record.
    #[error(
        "message {place} is not the one that dialog {dialog} has there: these are two conversations"
    )]
    Diverges {
        /// The dialog.
        dialog: DialogId,
        /// The first message that differs, counted from 0.
        place: u64,
    },
    /// No view hides messages.
    #[error("nothing of dialog {0} is hidden")]
    NothingHidden(DialogId),
    /// The view was changed by another caller meanwhile.
    #[error("the conversation of dialog {0} was changed meanwhile, and is left as it is")]
    Moved(DialogId),
    /// There is no such message.
    #[error("dialog {dialog} has no message {place}")]
    UnknownPlace {
        /// The dialog.
        dialog: DialogId,
        /// The requested place.
        place: i64,
    },
    /// No message of the person belongs to the target.
    #[error("no message of dialog {dialog} belongs to {what}, so its conversation stays as it is")]
    NoMessage {
        /// The dialog.
        dialog: DialogId,
        /// The target, in words.
        what: String,
    },
    /// The project cannot be written now.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Project {
    /// Returns the model's history of an agent, as the current view shows it.
    pub fn model_messages(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Vec<HistoryMessage>, StoreError> {
        Ok(self.model_view(dialog, agent)?.messages)
    }

    /// Returns the same with the current view and the next place, which a new view needs.
    pub fn model_view(&self, dialog: &DialogId, agent: &AgentId) -> Result<ModelView, StoreError> {
        let of = HistoryKey { dialog, agent, history: HistoryKind::Model };
        let (views, log) = self.load_history(of)?;
        let shown = VisibleMessages::current(&views);
        let entries = shown.visible_entries(&log);
        Ok(ModelView {
            messages: self.load_messages(dialog, agent, entries.into_iter().map(|at| &log[at]))?,
            view: view::active_views(&views).last().map(|view| view.seq),
            next: next_place(&log, &shown),
        })
    }

    /// Returns the whole log of an agent's model history, in the order in which it was recorded.
    pub fn model_log(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Vec<HistoryMessage>, StoreError> {
        let of = HistoryKey { dialog, agent, history: HistoryKind::Model };
        let log = self.store().message_log(of)?;
        self.load_messages(dialog, agent, &log)
    }

    /// Returns the display history of an agent, as it was saved or imported (LIB-4).
    pub fn display_messages(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Vec<Value>, StoreError> {
        self.load_display(dialog, agent, false)
    }

    /// Returns the whole display history of an agent, without any view.
    pub fn display_log(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Vec<Value>, StoreError> {
        self.load_display(dialog, agent, true)
    }

    fn load_display(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        whole: bool,
    ) -> Result<Vec<Value>, StoreError> {
        let of = HistoryKey { dialog, agent, history: HistoryKind::Display };
        let (views, log) = self.load_history(of)?;
        let shown = if whole { VisibleMessages::all() } else { VisibleMessages::current(&views) };
        shown
            .visible_entries(&log)
            .into_iter()
            .map(|at| self.readable_body(&log[at], Value::from))
            .collect()
    }

    /// Returns the messages of a dialog, and whether the display view hides each, the oldest first.
    pub fn spoken_messages(
        &self,
        dialog: &DialogId,
    ) -> Result<Vec<(ConversationMessage, bool)>, StoreError> {
        let agent = AgentId::from(MAIN_AGENT);
        let of = HistoryKey { dialog, agent: &agent, history: HistoryKind::Display };
        let shown = VisibleMessages::current(&self.store().views(of)?);
        let with_hidden = |message: ConversationMessage| {
            let is_hidden = !shown.shows(message.seq() as i64);
            (message, is_hidden)
        };
        Ok(self.store().conversation(dialog)?.into_iter().map(with_hidden).collect())
    }

    /// Loads the views and the log of a history. The log is read last: views name earlier messages,
    /// so that a newer log fits older views.
    fn load_history(
        &self,
        of: HistoryKey<'_>,
    ) -> Result<(Vec<StoredView>, Vec<MessageEntry>), StoreError> {
        Ok((self.store().views(of)?, self.store().message_log(of)?))
    }

    fn load_messages<'l>(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        entries: impl IntoIterator<Item = &'l MessageEntry>,
    ) -> Result<Vec<HistoryMessage>, StoreError> {
        // A subagent's messages are not the person's.
        let user_messages =
            if agent.0 == MAIN_AGENT { self.person_messages(dialog)? } else { HashMap::new() };
        let load = |entry: &MessageEntry| {
            let role = entry.role.unwrap_or(MessageRole::User);
            let index = entry.index.filter(|_| role == MessageRole::User);
            let user_message = index.and_then(|index| user_messages.get(&index));
            let checkpoint = user_message.and_then(|message| message.checkpoint.as_ref());
            let unreadable = |text: String| json!([{ "type": "text", "text": text }]);
            Ok(HistoryMessage {
                place: entry.place,
                seq: entry.seq,
                at: entry.at,
                message: ModelMessage {
                    role,
                    content: blocks(self.readable_body(entry, unreadable)?),
                    ts: entry.ts,
                    is_summary: entry.is_summary,
                    index: entry.index,
                },
                checkpoint: checkpoint.and_then(|id| id.parse().ok()),
                session: user_message.and_then(|message| message.session),
            })
        };
        entries.into_iter().map(load).collect()
    }

    /// Returns the messages of the person, by their index.
    fn person_messages(&self, dialog: &DialogId) -> Result<HashMap<u64, UserMessage>, StoreError> {
        let by_index = |message| match message {
            ConversationMessage::Person(message) => message.index.map(|index| (index, message)),
            ConversationMessage::Agent { .. } => None,
        };
        Ok(self.store().conversation(dialog)?.into_iter().filter_map(by_index).collect())
    }

    /// Returns the body of a message; one that cannot be read is replaced by a note.
    fn readable_body(
        &self,
        entry: &MessageEntry,
        unreadable: impl FnOnce(String) -> Value,
    ) -> Result<Value, StoreError> {
        match self.store().message_body(entry.row) {
            Err(StoreError::Row(why)) => {
                tracing::warn!("a message cannot be read: {why}");
                Ok(unreadable(format!("[can no longer be read: {why}; see `retake doctor`]")))
            }
            body => body,
        }
    }
}

/// The blocks of a message's body.
fn blocks(body: Value) -> Vec<Value> {
    match body {
        Value::Array(blocks) => blocks,
        other => vec![other],
    }
}

/// Returns the place of the next received message; none is reused, even after a collection.
fn next_place(log: &[MessageEntry], shown: &VisibleMessages) -> i64 {
    let after_log = log.iter().map(|entry| entry.place + 1).max().unwrap_or(0);
    after_log.max(shown.open_from).max(0)
}

/// Records a journal event about a history.
fn record_history_event(
    batch: &Batch<'_>,
    of: HistoryKey<'_>,
    stamp: Stamp,
    kind: JournalKind,
    body: Value,
) -> Result<(), StoreError> {
    batch.put_event(&JournalEvent {
        seq: stamp.seq,
        at: stamp.at,
        kind,
        dialog: Some(of.dialog.clone()),
        agent: Some(of.agent.clone()),
        call: None,
        change: None,
        body,
        said_by: None,
    })?;
    batch.set_dialog_seq(of.dialog, stamp.seq)
}
