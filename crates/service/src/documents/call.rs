//! Calls of tools: what was asked for, by which model, and how it ended.

use retake_engine::model::{CallId, DialogId};
use retake_engine::tool::kind_of;
use retake_engine::{
    CallPage, CallRecord, CallState, ChangeFilter, CutArgument, Project, StoreError, iso_8601,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{ChangeDocument, LoadRepeats as _, LocatePaths as _, MessageDocument};
use crate::Masking;

/// Maximum number of changes that are shown with a call.
const MAX_CHANGES_OF_CALL: usize = 100;

/// One call of an agent's tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Call)]
pub struct CallDocument {
    /// The dialog.
    pub dialog: String,
    /// The agent within the dialog.
    pub agent: String,
    /// The product of the agent.
    #[schema(example = "claude-code")]
    pub kind: Option<String>,
    /// The agent's id of the call; made from the tool and its arguments if the agent gives none.
    #[schema(example = "toolu_01")]
    pub call: String,
    /// The tool's name as the agent gave it.
    pub tool: String,
    /// What tools of that name do: `read`, `write`, `edit`, `delete`, `shell` or `other`.
    #[schema(example = "edit")]
    pub tool_kind: String,
    /// The model that asked for it, as the agent names it; null if that is not known (yet).
    pub model: Option<String>,
    /// The turn of the dialog.
    pub turn: u64,
    /// The place in the agent's message history of the message that carried it.
    pub message_index: Option<u64>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The shell command, if it was one; the first few thousand bytes.
    pub command: Option<String>,
    /// The arguments in short; null if they are not on record.
    #[schema(value_type = Option<Value>)]
    pub arguments: Value,
    /// The places of the arguments that are cut.
    pub cut: Vec<CutArgumentDocument>,
    /// How it ended.
    pub result: CallResult,
    /// The exit code of its command, if the agent tells it.
    pub exit_code: Option<i64>,
    /// Its place in the project's order.
    pub seq: u64,
    /// When it began.
    #[schema(format = DateTime)]
    pub began: String,
    /// When it ended, or was found to be over; null while it is open.
    pub ended: Option<String>,
    /// Whether it may still change files after its end: a task of it goes on in the background.
    pub background: bool,
    /// The agent's name for that task.
    pub task: Option<String>,
    /// How many changes it made, alone or among other calls.
    pub changes: u64,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallResult {
    /// It has not ended.
    Open,
    /// It succeeded.
    Ok,
    /// It failed.
    Failed,
    /// It ended, and the agent does not tell how.
    Ended,
    /// Retake denied it.
    Denied,
    /// It is over without an end: the person or another program denied or stopped it, or it failed
    /// before it ran.
    Interrupted,
}

impl CallResult {
    fn of(call: &CallRecord) -> Self {
        match (call.state, call.ok) {
            (CallState::Open, _) => Self::Open,
            (CallState::Ended, Some(true)) => Self::Ok,
            (CallState::Ended, Some(false)) => Self::Failed,
            (CallState::Ended, None) => Self::Ended,
            (CallState::Denied, _) => Self::Denied,
            (CallState::Abandoned, _) => Self::Interrupted,
        }
    }
}

/// A place of a call's arguments that is cut: what stands there is a beginning of it, or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CutArgument)]
pub struct CutArgumentDocument {
    /// A JSON pointer into `arguments`.
    #[schema(example = "/content")]
    pub at: String,
    /// Bytes of the whole value.
    pub bytes: u64,
}

impl From<&CutArgument> for CutArgumentDocument {
    fn from(cut: &CutArgument) -> Self {
        Self { at: cut.at.clone(), bytes: cut.bytes }
    }
}

impl CallDocument {
    /// A call.
    pub fn new(call: &CallRecord, masking: Masking) -> Self {
        Self {
            dialog: call.dialog.0.clone(),
            agent: call.agent.0.clone(),
            kind: call.kind.clone(),
            call: call.call.0.clone(),
            tool: call.tool.clone(),
            tool_kind: kind_of(&call.tool).as_str().to_owned(),
            model: call.model.clone(),
            turn: call.turn,
            message_index: call.message_index,
            cwd: call.cwd.clone(),
            command: masking.mask_optional(call.command.as_deref()),
            arguments: masking.mask_arguments(&call.arguments.arguments),
            cut: call.arguments.cut.iter().map(CutArgumentDocument::from).collect(),
            result: CallResult::of(call),
            exit_code: call.exit_code,
            seq: call.begin_seq,
            began: iso_8601(call.begin_at),
            ended: call.end_at.map(iso_8601),
            background: call.in_background,
            task: call.task.clone(),
            changes: call.changes,
        }
    }
}

/// A page of calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Calls)]
pub struct CallList {
    /// The calls, oldest first.
    pub calls: Vec<CallDocument>,
    /// What to send as `after` for the next page; null if this was the last.
    pub next: Option<u64>,
}

impl CallList {
    /// A page of the calls of a dialog.
    pub fn read(
        project: &Project,
        dialog: &DialogId,
        page: &CallPage,
        masking: Masking,
    ) -> Result<Self, StoreError> {
        let mut calls =
            project.call_records(dialog, &CallPage { limit: page.limit + 1, ..page.clone() })?;
        let is_last = calls.len() <= page.limit;
        calls.truncate(page.limit);
        let next = calls.last().filter(|_| !is_last).map(|call| call.row as u64);
        let calls = calls.iter().map(|call| CallDocument::new(call, masking)).collect();
        Ok(Self { calls, next })
    }
}

/// A call, what it was made for, and what it changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShownCall {
    /// The call.
    pub call: CallDocument,
    /// The message of the person that it was made for.
    pub message: Option<MessageDocument>,
    /// What the agent said with it.
    pub said: Option<String>,
    /// What it changed, alone or among other calls, the oldest first; the first hundred.
    pub changes: Vec<ChangeDocument>,
}

impl ShownCall {
    /// Everything about a call; none if the dialog has no such call.
    pub fn read(
        project: &Project,
        dialog: &DialogId,
        call: &CallId,
        masking: Masking,
    ) -> Result<Option<Self>, StoreError> {
        let Some(record) = project.call_record(dialog, call)? else { return Ok(None) };
        let filter = ChangeFilter {
            dialogs: vec![dialog.clone()],
            call: Some(call.clone()),
            limit: Some(MAX_CHANGES_OF_CALL),
            oldest_first: true,
            ..ChangeFilter::default()
        };
        let changes = project.changes(&filter)?;
        let message = project.message_of_turn(dialog, record.turn)?;
        let said = project.agent_text_for_call(&record)?;
        let shown = Self {
            call: CallDocument::new(&record, masking),
            message: message.map(|message| MessageDocument::new(&message, masking)),
            said: masking.mask_optional(said.as_deref()),
            changes: changes
                .iter()
                .map(ChangeDocument::from)
                .collect::<Vec<_>>()
                .with_repeats(project, masking)?,
        };
        Ok(Some(shown.located(project.root())))
    }
}
