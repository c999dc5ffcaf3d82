//! Conversations as the model gets them, and what was done to them.

use std::collections::HashSet;

use retake_engine::model::{AgentId, AgentRef, DialogId, MAIN_AGENT};
use retake_engine::{
    self as engine, CondenseMethod, CondensePlan, HistoryMessage, Project, StoreError, iso_8601,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::history::page_start;
use super::session::session_name;
use crate::history::ParsedConversation;
use crate::request::ImportHistory;
use crate::{Masking, SecretCalls, tokens};

/// A page of what the model gets, the newest page first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelHistory {
    /// The dialog.
    pub dialog: String,
    /// Whose conversation it is.
    pub agent: String,
    /// The messages, the oldest first.
    pub messages: Vec<ModelMessageDocument>,
    /// Tokens of the messages of this page: exact for OpenAI's models, an estimate for others.
    pub tokens: u64,
    /// Whether there is more before it.
    pub has_more: bool,
    /// What to ask for the page before with; null if there is none.
    pub cursor: Option<u64>,
}

/// A message as the model gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ModelMessage)]
pub struct ModelMessageDocument {
    /// Its place in this list, from 0.
    pub idx: u64,
    /// Its place in the log; below 0 if Retake wrote it.
    pub place: i64,
    /// Who speaks.
    #[schema(example = "assistant")]
    pub role: String,
    /// The blocks, as Anthropic has them: `text`, `tool_use`, `tool_result`, …
    #[schema(value_type = Vec<Object>)]
    pub content: Vec<Value>,
    /// When it was sent, in milliseconds since 1970.
    pub ts: Option<i64>,
    /// Whether it stands for messages before it.
    pub is_summary: bool,
    /// Whether it is not shown to the model any more.
    pub hidden: bool,
    /// The checkpoint that was made before a message of the person.
    pub checkpoint: Option<String>,
    /// The work session that a message of the person was sent in.
    #[schema(example = "session_1")]
    pub session: Option<String>,
    /// How many tokens it takes.
    pub tokens: u64,
}

/// Which messages of a conversation are read.
#[derive(Clone, Copy, Debug)]
pub struct ModelPage {
    /// Also those that are hidden.
    pub whole: bool,
    /// Those before this one.
    pub cursor: Option<u64>,
    /// At most so many.
    pub limit: usize,
    /// Maximum bytes of their texts; a page has at least one message.
    pub max_bytes: usize,
}

impl ModelHistory {
    /// A page of an agent's conversation.
    pub fn read(
        project: &Project,
        of: AgentRef<'_>,
        page: ModelPage,
        masking: Masking,
    ) -> Result<Self, StoreError> {
        let AgentRef { dialog, agent } = of;
        let shown = project.model_messages(dialog, agent)?;
        let (all, shown) = if page.whole {
            let places: HashSet<_> = shown.iter().map(|entry| entry.place).collect();
            (project.model_log(dialog, agent)?, Some(places))
        } else {
            (shown, None)
        };
        let secret = SecretCalls::find(all.iter().map(|entry| &entry.message));
        let end = page.cursor.map_or(all.len(), |cursor| all.len().min(cursor as usize));
        let sizes =
            all[..end].iter().map(|entry| entry.message.content.iter().map(text_bytes).sum());
        let start = page_start(sizes, page.limit, page.max_bytes);
        let hidden =
            |entry: &HistoryMessage| shown.as_ref().is_some_and(|all| !all.contains(&entry.place));
        let messages: Vec<_> = (start as u64..)
            .zip(&all[start..end])
            .map(|(idx, entry)| {
                ModelMessageDocument::new(idx, entry, hidden(entry), masking, &secret)
            })
            .collect();
        Ok(Self {
            dialog: dialog.0.clone(),
            agent: agent.0.clone(),
            tokens: messages.iter().map(|message| message.tokens).sum(),
            messages,
            has_more: start > 0,
            cursor: (start > 0).then_some(start as u64),
        })
    }
}

/// The bytes of all texts in a value.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(all) => all.iter().map(text_bytes).sum(),
        Value::Object(all) => all.iter().map(|(key, value)| key.len() + text_bytes(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

impl ModelMessageDocument {
    fn new(
        idx: u64,
        entry: &HistoryMessage,
        hidden: bool,
        masking: Masking,
        secret: &SecretCalls,
    ) -> Self {
        let message = &entry.message;
        Self {
            idx,
            place: entry.place,
            role: message.role.to_string(),
            content: masking.mask_message(&message.content, secret),
            ts: message.ts,
            is_summary: message.is_summary,
            hidden,
            checkpoint: entry.checkpoint.map(|id| id.to_string()),
            session: entry.session.map(session_name),
            tokens: engine::message_tokens(message, &tokens::count_tokens),
        }
    }
}

/// What was done to a conversation, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConversationViews {
    /// The views; the last one that stands is in force.
    pub views: Vec<ConversationView>,
}

/// What was made of a conversation at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConversationView {
    /// Its place in the project's order.
    pub seq: u64,
    /// When it was made.
    #[schema(format = DateTime)]
    pub at: String,
    /// Why: `saved`, `condensed`, `rewound` or `brought_back`.
    #[schema(example = "condensed")]
    pub why: String,
    /// The operation that it was made with.
    pub operation: Option<String>,
    /// Messages that it shows.
    pub shown: u64,
    /// Messages that it hides.
    pub hidden: u64,
    /// Whether it was not taken away again.
    pub stands: bool,
}

impl From<&engine::View> for ConversationView {
    fn from(view: &engine::View) -> Self {
        Self {
            seq: view.seq,
            at: iso_8601(view.at),
            why: view.why.to_string(),
            operation: view.operation.map(|id| id.to_string()),
            shown: view.shown,
            hidden: view.hidden,
            stands: view.stands,
        }
    }
}

impl ConversationViews {
    /// What was done to an agent's conversation.
    pub fn read(project: &Project, dialog: &DialogId, agent: &AgentId) -> Result<Self, StoreError> {
        let views = project.views(dialog, agent)?;
        Ok(Self { views: views.iter().map(ConversationView::from).collect() })
    }
}

/// What came of taking in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportedHistory {
    /// The dialog that has it now.
    pub dialog: String,
    /// The agent whose conversation it is.
    pub agent: String,
    /// The form that it was written in.
    #[schema(example = "claude-code")]
    pub form: String,
    /// Messages that the model gets, in what was read.
    pub messages: u64,
    /// What was added to the record; null if nothing was to be.
    pub added: Option<u64>,
    /// What was on record before.
    pub known: Option<u64>,
    /// Parts that could not be read.
    pub problems: Vec<ImportProblem>,
}

/// A part of a conversation that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportProblem {
    /// Where.
    #[schema(example = "line 12")]
    pub place: String,
    /// Why.
    pub why: String,
}

impl ImportedHistory {
    /// The document of an import; without `added`, of a dry run.
    pub fn new(
        found: &ParsedConversation,
        import: &ImportHistory,
        added: Option<&engine::AddedMessages>,
    ) -> Self {
        let problems = found.conversation.problems.iter();
        Self {
            dialog: import.dialog.0.clone(),
            agent: import.agent.0.clone(),
            form: found.form.to_string(),
            messages: import.messages.len() as u64,
            added: added.map(|added| added.added),
            known: added.map(|added| added.known),
            problems: problems
                .map(|one| ImportProblem { place: one.place.clone(), why: one.why.clone() })
                .collect(),
        }
    }
}

/// A conversation as a file of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExportedHistory {
    /// The form.
    pub form: String,
    /// What such a file is usually called.
    pub file_name: String,
    /// What is in it.
    pub content: String,
}

/// What condensing did, or would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CondensedHistory {
    /// The dialog.
    pub dialog: String,
    /// Whose conversation it is.
    pub agent: String,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Messages that are not shown any more, or would not be.
    pub replaced: u64,
    /// Tokens of all messages before.
    pub tokens_before: u64,
    /// Tokens of all messages after; null of a dry run.
    pub tokens_after: Option<u64>,
    /// `summary`, or `forced` if there is none and the oldest messages were hidden; null of a dry
    /// run.
    pub how: Option<String>,
    /// Why there is no summary.
    pub why: Option<String>,
    /// The summary.
    pub summary: Option<String>,
    /// What is shown now.
    pub view: Option<ConversationView>,
}

impl CondensedHistory {
    /// What condensing would do.
    pub fn planned(plan: &CondensePlan) -> Self {
        Self {
            dialog: plan.dialog.0.clone(),
            agent: plan.agent.0.clone(),
            dry_run: true,
            replaced: plan.replaced.len() as u64,
            tokens_before: plan.tokens_before,
            tokens_after: None,
            how: None,
            why: None,
            summary: None,
            view: None,
        }
    }

    /// What condensing did.
    pub fn done(plan: &CondensePlan, done: &engine::CondenseOutcome, masking: Masking) -> Self {
        let text = |text: &String| Some(masking.mask_text(text).into_owned());
        let (how, why, summary) = match &done.how {
            CondenseMethod::Summary(summary) => ("summary", None, text(summary)),
            CondenseMethod::Forced(why) => ("forced", text(why), None),
        };
        Self {
            dry_run: false,
            replaced: done.replaced.len() as u64,
            tokens_after: Some(done.tokens_after),
            how: Some(how.to_owned()),
            why,
            summary,
            view: Some((&done.view).into()),
            ..Self::planned(plan)
        }
    }
}

/// The agent of a dialog that is meant: the one that the person talks to, unless another is named.
pub fn agent_or_main(agent: Option<&str>) -> AgentId {
    AgentId::from(agent.unwrap_or(MAIN_AGENT))
}
