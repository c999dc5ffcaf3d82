//! Parses hook payloads into events: the rules that hold for every agent.
//!
//! Each agent's module returns the source ([`EventSource`]) and the action ([`HookAction`]); here
//! they become events. Invariants:
//! - an unknown event yields no events, never an error;
//! - a prompt inside a subagent and a task's notification begin no turn;
//! - the end of a subagent's conversation is only its turn's end: the dialog goes on.

use retake_model::{AgentId, CallId, DialogId, Event, EventKind, MAIN_AGENT, SeenFile};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::AgentKind;
use crate::prompt::Prompt;
use crate::wire::HookPayload;

/// The parsed content of one hook call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookMessage {
    /// Which reply the agent waits for.
    pub phase: HookPhase,
    /// What happened, in order; empty if there is nothing to record.
    ///
    /// A [`EventKind::UserMessage`] with an empty text is a message whose words the hook does not
    /// carry: they are in the transcript.
    pub events: Vec<Event>,
    /// The project's folder, as the payload tells it.
    pub folder: Option<String>,
    /// Where the agent keeps the conversation that this is part of. Given when there is something
    /// new to read: at a person's message, at a turn's end and at the end.
    pub transcript: Option<TranscriptLocation>,
    /// The last words of the assistant, if the payload has them: for when there is no transcript.
    pub last_words: Option<String>,
    /// A whole conversation that the payload carries itself: messages of both sides, with their
    /// `message_index` from 0 on, to be set (not added) by that index.
    pub conversation: Vec<Event>,
    /// The call is the first since a person's message that the agent reports by a hook for which it
    /// does not wait: that hook may still be running.
    pub follows_unawaited_message: bool,
}

/// Which reply an agent waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookPhase {
    /// A tool is about to run, and can be denied.
    Begin,
    /// A tool has run.
    End,
    /// A message is about to reach the model.
    UserMessage,
    /// The main agent has ended its turn.
    TurnEnd,
    /// The agent only lets know.
    #[default]
    Other,
}

/// Where a transcript is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptLocation {
    /// The file; it may begin with `~/`, which is the home of the person.
    pub path: String,
    /// Whose conversation it is; the main agent's if absent.
    pub agent: Option<AgentId>,
}

/// Why a payload could not be understood.
#[derive(Debug, thiserror::Error)]
pub enum HookParseError {
    /// Not JSON at all.
    #[error("the payload is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// JSON, but another form of it.
    #[error("the payload is no JSON object")]
    NotAnObject,
    /// Without this, the event belongs nowhere.
    #[error("the payload has no '{0}'")]
    Missing(&'static str),
}

/// Parses the payload of one hook call.
///
/// `event` is the name of the event as the hook's command line gives it; it counts if the payload
/// does not name its event itself.
pub fn parse_hook(
    agent: AgentKind,
    event: Option<&str>,
    payload: &[u8],
) -> Result<HookMessage, HookParseError> {
    let payload = HookPayload::parse(payload)?;
    // `type` is how Codex's `notify` names itself, and opencode's bus; `hookEventName` is of early
    // versions of VS Code.
    let named = payload.non_empty_text(&["/hook_event_name", "/hookName", "/hookEventName"]);
    let name = named.or(event).or_else(|| payload.non_empty_text(&["/type"]));
    let name = name.ok_or(HookParseError::Missing("hook_event_name"))?;
    (agent.spec().parse_hook)(name, &payload)
}

/// Parses the payload of the hook with this name.
pub(crate) type HookParser = fn(&str, &HookPayload) -> Result<HookMessage, HookParseError>;

/// The source of a payload: product, conversation, subagent.
pub(crate) struct EventSource {
    /// The product.
    pub(crate) kind: AgentKind,
    /// The conversation.
    pub(crate) dialog: DialogId,
    /// The subagent, if it is one.
    pub(crate) subagent: Option<Subagent>,
    /// The working directory.
    pub(crate) cwd: Option<String>,
    /// The model, as the payload names it.
    pub(crate) model: Option<String>,
}

/// An agent that another one started.
pub(crate) struct Subagent {
    pub(crate) id: AgentId,
    pub(crate) parent: AgentId,
}

/// What the agent did.
pub(crate) enum HookAction {
    DialogStart,
    Prompt(String),
    Begin(HookToolCall),
    End(HookToolCall, ToolOutcome),
    CallsOver(Vec<CallId>),
    TurnEnd { background: Vec<String> },
    DialogEnd,
}

/// A tool call as a payload has it.
pub(crate) struct HookToolCall {
    pub(crate) id: Option<CallId>,
    pub(crate) tool: String,
    pub(crate) input: Value,
}

/// How a call ended.
#[derive(Default)]
pub(crate) struct ToolOutcome {
    pub(crate) ok: Option<bool>,
    /// The exit code of the command that it ran.
    pub(crate) exit_code: Option<i64>,
    /// The name of the task that goes on in the background.
    pub(crate) task: Option<String>,
}

impl EventSource {
    pub(crate) fn event(&self, what: EventKind) -> Event {
        Event {
            dialog: self.dialog.clone(),
            agent: self.subagent_id().cloned(),
            parent: self.subagent.as_ref().map(|subagent| subagent.parent.clone()),
            kind: Some(self.kind.name().to_owned()),
            model: self.model.clone(),
            cwd: self.cwd.clone(),
            message_index: None,
            reads: Vec::new(),
            what,
        }
    }

    pub(crate) fn subagent_id(&self) -> Option<&AgentId> {
        self.subagent.as_ref().map(|subagent| &subagent.id)
    }
}

impl ToolOutcome {
    /// An end of which nothing but its success is known.
    pub(crate) fn of(ok: Option<bool>) -> Self {
        Self { ok, ..Self::default() }
    }
}

impl Subagent {
    /// One that the main agent started.
    pub(crate) fn of_main(id: &str) -> Self {
        Self { id: id.into(), parent: MAIN_AGENT.into() }
    }
}

impl HookMessage {
    /// A payload without events for Retake.
    pub(crate) fn empty(folder: Option<String>) -> Self {
        Self { folder, ..Self::default() }
    }

    /// Builds the message from an action of a source.
    pub(crate) fn from_action(
        source: &EventSource,
        action: HookAction,
        folder: Option<String>,
    ) -> Self {
        let phase = match action {
            HookAction::Begin(_) => HookPhase::Begin,
            HookAction::End(..) => HookPhase::End,
            HookAction::Prompt(_) => HookPhase::UserMessage,
            HookAction::TurnEnd { .. } if source.subagent.is_none() => HookPhase::TurnEnd,
            _ => HookPhase::Other,
        };
        let events =
            action.into_event_kind(source).into_iter().map(|what| source.event(what)).collect();
        Self { phase, events, folder, ..Self::default() }
    }

    /// Adds the location of the transcript, if it may have new messages.
    pub(crate) fn with_transcript(mut self, location: Option<TranscriptLocation>) -> Self {
        let has_messages = |event: &Event| {
            use EventKind::{DialogEnd, TurnEnd, UserMessage};
            matches!(event.what, UserMessage { .. } | TurnEnd { .. } | DialogEnd {})
        };
        self.transcript = location.filter(|_| self.events.iter().any(has_messages));
        self
    }

    /// Adds the files that the agent has read: with a person's message, or by a call that did not
    /// fail.
    pub(crate) fn with_reads(mut self, reads: impl IntoIterator<Item = SeenFile>) -> Self {
        let shows = |event: &&mut Event| match event.what {
            EventKind::UserMessage { .. } => true,
            EventKind::ToolEnd { ok, .. } => ok != Some(false),
            _ => false,
        };
        if let Some(event) = self.events.iter_mut().find(shows) {
            event.reads = reads.into_iter().collect();
        }
        self
    }

    /// Adds the last words of a turn.
    pub(crate) fn with_last_words(mut self, words: Option<&str>) -> Self {
        let ends = |event: &Event| matches!(event.what, EventKind::TurnEnd { .. });
        let words = words.filter(|words| !words.is_empty() && self.events.iter().any(ends));
        self.last_words = words.map(str::to_owned);
        self
    }
}

impl HookAction {
    fn into_event_kind(self, source: &EventSource) -> Option<EventKind> {
        Some(match self {
            Self::DialogStart => EventKind::DialogStart { title: None },
            Self::Prompt(_) if source.subagent.is_some() => return None,
            Self::Prompt(text) => match Prompt::of(&text) {
                Prompt::Message(_) => EventKind::UserMessage { text },
                Prompt::TaskEnd(task) => EventKind::TaskEnd { task: task?.to_owned() },
            },
            Self::Begin(call) => {
                EventKind::ToolBegin { call: call.id, tool: call.tool, input: call.input }
            }
            Self::End(call, outcome) => EventKind::ToolEnd {
                call: call.id,
                ok: outcome.ok,
                exit_code: outcome.exit_code,
                tool: Some(call.tool),
                input: call.input,
                background: outcome.task.is_some(),
                task: outcome.task,
            },
            Self::CallsOver(calls) if calls.is_empty() => return None,
            Self::CallsOver(calls) => EventKind::ToolsOver { calls },
            Self::TurnEnd { background } => EventKind::TurnEnd { background },
            Self::DialogEnd if source.subagent.is_some() => {
                EventKind::TurnEnd { background: vec![] }
            }
            Self::DialogEnd => EventKind::DialogEnd {},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_error(agent: AgentKind, payload: &str) -> String {
        parse_hook(agent, None, payload.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(parse_error(AgentKind::Codex, "").contains("not JSON"));
        assert!(parse_error(AgentKind::Codex, "[]").contains("no JSON object"));
        assert!(parse_error(AgentKind::Gemini, "{}").contains("hook_event_name"));
        let stop = r#"{"hook_event_name":"Stop","session_id":""}"#;
        assert!(parse_error(AgentKind::ClaudeCode, stop).contains("session_id"));
        let begin = r#"{"hook_event_name":"BeforeTool","session_id":"s"}"#;
        assert!(parse_error(AgentKind::Gemini, begin).contains("tool_name"));
    }

    #[test]
    fn unknown_events_are_heard_as_nothing_by_every_agent() {
        let payload = br#"{"hook_event_name":"SomethingNew","cwd":"/p"}"#;
        for agent in AgentKind::ALL {
            let message = parse_hook(agent, Some("PreToolUse"), payload).unwrap();
            assert_eq!((message.events, message.phase), (vec![], HookPhase::Other), "{agent}");
        }
    }

    #[test]
    fn the_name_on_the_command_line_counts_where_the_payload_has_none() {
        let payload = br#"{"sessionId":"s","cwd":"/p","toolName":"bash","toolArgs":"{}"}"#;
        let message = parse_hook(AgentKind::Copilot, Some("preToolUse"), payload).unwrap();
        assert_eq!(message.phase, HookPhase::Begin);
        let message = parse_hook(AgentKind::Copilot, Some("postToolUse"), payload).unwrap();
        assert_eq!(message.events[0].name(), "tool_end");
    }
}
