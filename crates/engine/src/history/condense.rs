//! Condenses a conversation: a summary replaces messages in the view (HIST-7); if none can be
//! written, the oldest messages are hidden (HIST-8).
//!
//! No lock is held while the summary is written: [`Project::plan_condense`] reads,
//! [`CondensePlan::summarise`] requests it, [`Project::condense`] sets the view, if the view is
//! still the planned one. The log keeps every message, and [`Project::bring_back`] shows them
//! again.

use std::ops::Range;

use retake_model::{AgentId, DialogId, Millis, ModelMessage, ViewReason};
use retake_store::StoreError;
use serde::{Deserialize, Serialize};

use super::boundary::{oldest_to_hide, since_last_summary};
use super::summary::{SummaryRequest, summary_message};
use super::tokens::{TokenCounter, message_tokens};
use super::view::{View, ViewChange, ViewItem};
use super::{HistoryError, ModelView};
use crate::project::Project;

/// The messages that condensing would replace.
#[derive(Clone, Debug, PartialEq)]
pub struct CondensePlan {
    /// The conversation.
    pub dialog: DialogId,
    /// The agent whose conversation it is.
    pub agent: AgentId,
    /// The messages that a summary would replace, as places in what is shown.
    pub replaced: Range<usize>,
    /// How many tokens all messages take.
    pub tokens_before: u64,
    view: ModelView,
}

/// A prepared view change with the summary, ready to be applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreparedCondense {
    dialog: DialogId,
    agent: AgentId,
    change: ViewChange,
    replaced: Range<usize>,
    how: CondenseMethod,
    tokens_before: u64,
    tokens_after: u64,
}

/// How a conversation was condensed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CondenseMethod {
    /// By this summary.
    Summary(String),
    /// By hiding the oldest messages, because of this.
    Forced(String),
}

/// What condensing did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CondenseOutcome {
    /// The messages that are now hidden, as places in what was shown before.
    pub replaced: Range<usize>,
    /// By what.
    pub how: CondenseMethod,
    /// How many tokens all messages took.
    pub tokens_before: u64,
    /// How many they take now.
    pub tokens_after: u64,
    /// What is shown now.
    pub view: View,
}

/// Why a conversation could not be condensed.
#[derive(Debug, thiserror::Error)]
pub enum CondenseError {
    /// There is no message that a summary could replace.
    #[error("dialog {0} has nothing to condense: no message since its last summary may go")]
    Nothing(DialogId),
    /// There is no summary, and no message that could be hidden.
    #[error("dialog {dialog} stays as it is: there is no summary ({why}), and too little to hide")]
    TooLittle {
        /// The dialog.
        dialog: DialogId,
        /// Why there is no summary.
        why: String,
    },
    /// The history cannot be read or shown otherwise.
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl From<StoreError> for CondenseError {
    fn from(error: StoreError) -> Self {
        Self::History(error.into())
    }
}

impl Project {
    /// Plans which messages of an agent's conversation a summary would replace: those since the
    /// last summary, without the last `keep_last`, and tool calls only with their results.
    pub fn plan_condense(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        keep_last: usize,
        count: TokenCounter<'_>,
    ) -> Result<CondensePlan, CondenseError> {
        let view = self.model_view(dialog, agent)?;
        let messages: Vec<_> = view.messages.iter().map(|stored| stored.message.clone()).collect();
        let replaced = since_last_summary(&messages, keep_last);
        if replaced.is_empty() {
            return Err(CondenseError::Nothing(dialog.clone()));
        }
        let tokens_before = total_tokens(&messages, count);
        Ok(CondensePlan {
            dialog: dialog.clone(),
            agent: agent.clone(),
            replaced,
            tokens_before,
            view,
        })
    }

    /// Sets the prepared view, unless another caller changed the view meanwhile.
    pub fn condense(
        &self,
        prepared: &PreparedCondense,
        at: Millis,
    ) -> Result<CondenseOutcome, HistoryError> {
        let view = self.set_view(&prepared.dialog, &prepared.agent, &prepared.change, at)?;
        Ok(CondenseOutcome {
            replaced: prepared.replaced.clone(),
            how: prepared.how.clone(),
            tokens_before: prepared.tokens_before,
            tokens_after: prepared.tokens_after,
            view,
        })
    }
}

impl CondensePlan {
    /// Counts the tokens of the messages that a summary would replace.
    pub fn tokens_replaced(&self, count: TokenCounter<'_>) -> u64 {
        total_tokens(&self.messages()[self.replaced.clone()], count)
    }

    /// Requests the summary; without one, the oldest messages are hidden.
    pub fn summarise(
        &self,
        request: &SummaryRequest<'_>,
        at: Millis,
    ) -> Result<PreparedCondense, CondenseError> {
        let messages = self.messages();
        let (replaced, summary, how) = match request.summarise_all(&messages[self.replaced.clone()])
        {
            Ok(summary) => {
                let message = ModelMessage { ts: Some(at), ..summary_message(&summary) };
                (self.replaced.clone(), Some(message), CondenseMethod::Summary(summary))
            }
            Err(error) => (oldest_to_hide(&messages), None, CondenseMethod::Forced(error.why)),
        };
        if let CondenseMethod::Forced(why) = &how
            && replaced.is_empty()
        {
            return Err(CondenseError::TooLittle { dialog: self.dialog.clone(), why: why.clone() });
        }
        let removed_tokens = total_tokens(&messages[replaced.clone()], request.count);
        let summary_tokens =
            summary.as_ref().map_or(0, |message| message_tokens(message, request.count));
        Ok(PreparedCondense {
            dialog: self.dialog.clone(),
            agent: self.agent.clone(),
            change: self.view_change(&replaced, summary),
            replaced,
            how,
            tokens_before: self.tokens_before,
            tokens_after: self.tokens_before - removed_tokens + summary_tokens,
        })
    }

    fn view_change(&self, replaced: &Range<usize>, summary: Option<ModelMessage>) -> ViewChange {
        let items_in = |range: Range<usize>| {
            self.view.messages[range].iter().map(|message| ViewItem::Kept(message.place))
        };
        let items = items_in(0..replaced.start)
            .chain(summary.map(ViewItem::New))
            .chain(items_in(replaced.end..self.view.messages.len()));
        ViewChange {
            why: ViewReason::Condensed,
            items: items.collect(),
            open_from: self.view.next,
            from: self.view.view,
        }
    }

    fn messages(&self) -> Vec<ModelMessage> {
        self.view.messages.iter().map(|stored| stored.message.clone()).collect()
    }
}

fn total_tokens(messages: &[ModelMessage], count: TokenCounter<'_>) -> u64 {
    messages.iter().map(|message| message_tokens(message, count)).sum()
}
