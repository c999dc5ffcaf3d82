//! Import and export of conversations in the file formats of agents.
//!
//! [`retake_agents::history`] parses and writes the formats; this module connects them to a
//! project.

mod opencode_db;

use retake_agents::history::{
    self as forms, Conversation, ConversationReadError, DisplayMessage, HistoryFormat,
};
use retake_engine::model::{
    AgentId, AgentRef, DialogId, ErrorCode, MAIN_AGENT, Millis, ModelMessage,
};
use retake_engine::{HistoryMessage, Project};
use serde_json::Value;

pub use opencode_db::{OpencodeSession, is_database, opencode_session, opencode_sessions};

use crate::request::ImportHistory;
use crate::{ApiError, Masking, SecretCalls};

/// A conversation that was read, with the form in which it was written.
#[derive(Clone, Debug)]
pub struct ParsedConversation {
    /// How it was written.
    pub form: HistoryFormat,
    /// What it says.
    pub conversation: Conversation,
}

impl ParsedConversation {
    /// Reads the content of a file. `form` is what the person says it is; without that its
    /// content tells, and then its name.
    pub fn parse(
        name: &str,
        content: &[u8],
        form: Option<HistoryFormat>,
    ) -> Result<Self, ApiError> {
        let unreadable = |why: &dyn std::fmt::Display| {
            let message = format!("{name} cannot be imported: {why}");
            ApiError::new(
                ErrorCode::UnreadableHistory,
                message,
                "it is left as it is, and nothing was added",
            )
        };
        if content.iter().all(u8::is_ascii_whitespace) {
            return Err(unreadable(&ConversationReadError::Empty));
        }
        let form = form.or_else(|| forms::detect_format(name, content)).ok_or_else(|| {
            let names = HistoryFormat::ALL.map(HistoryFormat::as_str).join(", ");
            let message = format!("{name} cannot be imported: it is in no form that is known");
            ApiError::new(
                ErrorCode::UnreadableHistory,
                message,
                format!("name one of these: {names}"),
            )
        })?;
        let conversation = forms::read(form, content).map_err(|error| unreadable(&error))?;
        Ok(Self { form, conversation })
    }

    /// Builds the request that imports it.
    pub fn import_request(
        &self,
        dialog: DialogId,
        agent: Option<&str>,
    ) -> Result<ImportHistory, ApiError> {
        let own = self.conversation.subagent.as_ref().map(|agent| agent.0.as_str());
        let agent = AgentId::from(agent.or(own).unwrap_or(MAIN_AGENT));
        let display = self.conversation.display.iter().map(serde_json::to_value);
        Ok(ImportHistory {
            dialog,
            agent,
            kind: agent_of_form(self.form).map(str::to_owned),
            messages: self
                .conversation
                .messages
                .iter()
                .map(|message| (message.clone(), message.index))
                .collect(),
            display: display.collect::<Result<_, _>>().map_err(|error| unwritable(&error))?,
        })
    }
}

/// Options of an export.
#[derive(Clone, Copy, Debug)]
pub struct ExportOptions {
    /// The form.
    pub form: HistoryFormat,
    /// Also what is hidden.
    pub whole: bool,
    /// Whether secrets are left out.
    pub masking: Masking,
    /// The time of messages that have none.
    pub at: Millis,
}

/// Exports a conversation as an agent would have written it.
pub fn export(
    project: &Project,
    of: AgentRef<'_>,
    options: ExportOptions,
) -> Result<String, ApiError> {
    let AgentRef { dialog, agent } = of;
    let (log, shown) = if options.whole {
        (project.model_log(dialog, agent)?, project.display_log(dialog, agent)?)
    } else {
        (project.model_messages(dialog, agent)?, project.display_messages(dialog, agent)?)
    };
    let secret = SecretCalls::find(log.iter().map(|entry| &entry.message));
    let message = |entry: HistoryMessage| ModelMessage {
        content: options.masking.mask_message(&entry.message.content, &secret),
        ..entry.message
    };
    let messages: Vec<ModelMessage> = log.into_iter().map(message).collect();
    let shown: Vec<_> = shown.iter().map(|entry| options.masking.mask_json(entry)).collect();
    let conversation = Conversation {
        dialog: Some(dialog.0.clone()),
        subagent: (agent.0 != MAIN_AGENT).then(|| agent.clone()),
        cwd: Some(project.root().to_string_lossy().into_owned()),
        display: display_messages(&shown, &messages),
        messages,
        problems: Vec::new(),
    };
    Ok(forms::write(options.form, &conversation, options.at))
}

/// The messages for display: as they were imported, else made from the model's messages.
fn display_messages(shown: &[Value], messages: &[ModelMessage]) -> Vec<DisplayMessage> {
    let entry = |entry: &Value| serde_json::from_value(entry.clone()).ok();
    match shown.iter().map(entry).collect::<Option<Vec<_>>>() {
        Some(entries) if !entries.is_empty() => entries,
        _ => forms::display_messages(messages),
    }
}

/// Returns whether a log begins with these messages, as far as a file holds them.
pub fn begins_with(log: &[HistoryMessage], messages: &[ModelMessage]) -> bool {
    let same = |entry: &HistoryMessage, message: &ModelMessage| {
        let index = entry.message.index;
        entry.message == ModelMessage { index, ..message.clone() }
    };
    let recorded: Vec<_> = log.iter().filter(|entry| entry.place >= 0).collect();
    recorded.len() >= messages.len()
        && recorded.iter().zip(messages).all(|(entry, message)| same(entry, message))
}

/// The agent that writes in a form.
fn agent_of_form(form: HistoryFormat) -> Option<&'static str> {
    match form {
        HistoryFormat::ApiHistory | HistoryFormat::UiMessages => None,
        of_agent => Some(of_agent.as_str()),
    }
}

fn unwritable(error: &serde_json::Error) -> ApiError {
    ApiError::new(
        ErrorCode::Internal,
        format!("a message cannot be written: {error}"),
        "please report it",
    )
}
