//! Events that agents report to Retake, in a format independent of the agent's product.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{JournalKind, SeenFile};

macro_rules! foreign_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

foreign_id! {
    /// The id that an agent gave to a conversation. Data only, never a file name (W-26).
    DialogId
}
foreign_id! {
    /// The id of an agent within a dialog.
    AgentId
}
foreign_id! {
    /// The id that an agent gave to a tool call; unique within its dialog.
    CallId
}

/// One agent of one dialog: ids of agents are unique only within their dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentRef<'a> {
    /// The conversation.
    pub dialog: &'a DialogId,
    /// Who acts in it.
    pub agent: &'a AgentId,
}

/// The agent that acts where an event names none.
pub const MAIN_AGENT: &str = "main";

/// One event of one dialog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The conversation. `session_id` and `task_id` are what others call it (C-1).
    #[serde(alias = "dialog_id", alias = "session_id", alias = "task_id")]
    pub dialog: DialogId,
    /// Who acts; the main agent if absent.
    #[serde(default, alias = "agent_id", skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The agent that started this one, for subagents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
    /// The product, for example `claude-code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The model that asked for the call, or wrote the message, as the agent names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's working directory; relative paths in tool arguments start there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The place in the agent's message history (DM-4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_index: Option<u64>,
    /// What the agent got to see with it: files whose content a message carries, or what the end
    /// of a call showed. Without this, a call's arguments say what it reads.
    #[serde(default, alias = "saw", skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<SeenFile>,
    /// What happened.
    #[serde(flatten)]
    pub what: EventKind,
}

/// What happened in the dialog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The conversation began or was resumed.
    DialogStart {
        /// A title for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// The person sent a message; a turn begins.
    UserMessage {
        /// The message.
        text: String,
    },
    /// The agent said something, or asked for tools.
    AssistantMessage {
        /// What it said; empty if it only called tools.
        #[serde(default)]
        text: String,
        /// The calls that the message carried (DM-4).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<CalledTool>,
    },
    /// A tool is about to run.
    ToolBegin {
        /// The call; none if the agent gives its calls no ids. Then tool and arguments tell which
        /// end belongs to it.
        #[serde(default, alias = "call_id", alias = "tool_call_id")]
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The tool's name as the agent knows it.
        tool: String,
        /// The tool's arguments: an object, or a text that holds one (DET-3).
        #[serde(default)]
        input: serde_json::Value,
    },
    /// A tool has ended.
    ToolEnd {
        /// The call; none if the agent gives its calls no ids.
        #[serde(default, alias = "call_id", alias = "tool_call_id")]
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// Whether it succeeded, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ok: Option<bool>,
        /// The exit code of its command, if it ran one and the agent tells it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// The tool's name, for when the begin was missed (W-40).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// The tool's arguments, for when the begin was missed.
        #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
        input: serde_json::Value,
        /// The call left a task that goes on in the background.
        #[serde(default)]
        background: bool,
        /// The agent's name for that task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
    },
    /// These calls are over, if they are still open: denied, failed, or ended unheard.
    ToolsOver {
        /// The calls.
        calls: Vec<CallId>,
    },
    /// A background task has ended.
    TaskEnd {
        /// The agent's name for it, as its call's end gave it.
        task: String,
    },
    /// The agent has finished its answer; open calls of the agent are over.
    TurnEnd {
        /// What is known to live on in the background: calls, the names of their tasks, subagents.
        #[serde(default)]
        background: Vec<String>,
    },
    /// The conversation is over.
    DialogEnd {},
}

/// A call as the agent's own record of the conversation has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalledTool {
    /// The call, if the agent gives its calls ids.
    #[serde(default, alias = "call_id", alias = "tool_call_id")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The tool, for calls without ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The arguments, for calls without ids.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub input: serde_json::Value,
}

impl Event {
    /// An event of the main agent, with nothing but its essence.
    pub fn new(dialog: impl Into<DialogId>, what: EventKind) -> Self {
        Self {
            dialog: dialog.into(),
            agent: None,
            parent: None,
            kind: None,
            model: None,
            cwd: None,
            message_index: None,
            reads: Vec::new(),
            what,
        }
    }

    /// Who acts.
    pub fn agent(&self) -> AgentId {
        self.agent.clone().unwrap_or_else(|| MAIN_AGENT.into())
    }

    /// The agent that the event names, if it is not the main one.
    pub fn subagent(&self) -> Option<&AgentId> {
        self.agent.as_ref().filter(|agent| agent.0 != MAIN_AGENT)
    }

    /// The name of the event as it stands in JSON.
    pub fn name(&self) -> &'static str {
        self.journal_kind().as_str()
    }

    /// The kind of its journal entry, which has the same name.
    pub fn journal_kind(&self) -> JournalKind {
        match self.what {
            EventKind::DialogStart { .. } => JournalKind::DialogStart,
            EventKind::UserMessage { .. } => JournalKind::UserMessage,
            EventKind::AssistantMessage { .. } => JournalKind::AssistantMessage,
            EventKind::ToolBegin { .. } => JournalKind::ToolBegin,
            EventKind::ToolEnd { .. } => JournalKind::ToolEnd,
            EventKind::ToolsOver { .. } => JournalKind::ToolsOver,
            EventKind::TaskEnd { .. } => JournalKind::TaskEnd,
            EventKind::TurnEnd { .. } => JournalKind::TurnEnd,
            EventKind::DialogEnd {} => JournalKind::DialogEnd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_lines_parse() {
        for line in [
            r#"{"event":"tool_begin","dialog":"d1","agent":"a1","kind":"my-agent","call":"c1","tool":"Write","input":{"file_path":"a"},"cwd":"/x"}"#,
            r#"{"event":"tool_end","dialog":"d1","call":"c1","ok":true}"#,
            r#"{"event":"user_message","session_id":"d1","text":"hello"}"#,
            r#"{"event":"user_message","dialog":"d1","text":"see @a","reads":[{"path":"a"}]}"#,
            r#"{"event":"tool_end","dialog":"d1","call":"c1","reads":[{"path":"a","lines":[1,40]}]}"#,
            r#"{"event":"assistant_message","dialog":"d1","text":"hi","calls":[{"call":"c1"}]}"#,
            r#"{"event":"tool_begin","dialog":"d1","tool":"bash","input":{"command":"ls"}}"#,
            r#"{"event":"tools_over","dialog":"d1","calls":["c1"]}"#,
            r#"{"event":"tool_begin","dialog":"d1","call":"c1","tool":"bash","model":"m-1"}"#,
            r#"{"event":"tool_end","dialog":"d1","call":"c1","ok":false,"exit_code":3}"#,
            r#"{"event":"task_end","dialog":"d1","task":"t1"}"#,
            r#"{"event":"dialog_end","task_id":"d1"}"#,
        ] {
            let event: Event = serde_json::from_str(line).unwrap();
            assert!(line.starts_with(&format!(r#"{{"event":"{}""#, event.name())), "{line}");
            let again: Event =
                serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
            assert_eq!(event, again);
        }
        assert!(serde_json::from_str::<Event>(r#"{"event":"dance","dialog":"d"}"#).is_err());
    }

    /// Spools and programs of earlier versions have events with `saw`.
    #[test]
    fn reads_are_accepted_by_their_old_name_and_written_by_the_new_one() {
        let old =
            r#"{"event":"tool_end","dialog":"d1","call":"c1","saw":[{"path":"a","lines":[1,40]}]}"#;
        let event: Event = serde_json::from_str(old).unwrap();
        assert_eq!(event.reads.len(), 1);
        let new = serde_json::to_value(&event).unwrap();
        assert_eq!(new["reads"], serde_json::json!([{ "path": "a", "lines": [1, 40] }]));
        assert!(new.get("saw").is_none());
    }
}
