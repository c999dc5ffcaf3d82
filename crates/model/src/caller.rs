//! Who said what is on record, and how that is known.
//!
//! A [`Caller`] stands beside every row of the journal and every operation. Its scope limits what
//! a request may do; it guards against mistakes of agents, not against a hostile process of the
//! same user, which can write the record's files itself.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;
use crate::{AgentId, DialogId, Event};

text_enum! {
    /// The way by which something was said.
    CallerChannel {
        /// An agent's hook.
        Hook = "hook",
        /// The command `retake event`.
        Event = "event",
        /// The command `retake run`.
        Run = "run",
        /// A request to the HTTP interface.
        Http = "http",
        /// A call of an MCP tool.
        Mcp = "mcp",
        /// Another command of `retake`.
        CommandLine = "command_line",
        /// A program that uses the engine as a library.
        Library = "library",
        /// The daemon itself: its watcher, and what it reconciles.
        Daemon = "daemon",
    }
}

text_enum! {
    /// How the scope of a caller is known.
    CallerEvidence {
        /// The payload of the agent's hook for that very event.
        Payload = "payload",
        /// The request's `_meta`, which names an open call or its dialog.
        Meta = "meta",
        /// The environment of a server process that the agent started.
        Environment = "environment",
        /// An ancestor process is the agent, and its shell call is open.
        AncestorProcess = "ancestor_process",
        /// A token of the HTTP interface.
        Token = "token",
        /// The credentials of the peer of the daemon's socket: the same user.
        Peer = "peer",
        /// Nothing but the caller's own word.
        None = "none",
    }
}

/// For whom a caller speaks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum CallerScope {
    /// The person.
    Person,
    /// An agent of one dialog.
    Agent {
        /// The dialog.
        dialog: DialogId,
        /// The agent; none if several agents of the dialog may be meant.
        agent: Option<AgentId>,
    },
    /// A program that is bound to no dialog.
    Program,
}

/// Who said something, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caller {
    /// The way by which it was said.
    pub channel: CallerChannel,
    /// For whom the caller speaks.
    #[serde(flatten)]
    pub scope: CallerScope,
    /// How the scope is known.
    pub evidence: CallerEvidence,
}

impl Default for Caller {
    /// A program that uses the engine as a library and passes no caller.
    fn default() -> Self {
        Self::program(CallerChannel::Library, CallerEvidence::None)
    }
}

impl Caller {
    /// The person.
    pub fn person(channel: CallerChannel, evidence: CallerEvidence) -> Self {
        Self { channel, scope: CallerScope::Person, evidence }
    }

    /// A program that is bound to no dialog.
    pub fn program(channel: CallerChannel, evidence: CallerEvidence) -> Self {
        Self { channel, scope: CallerScope::Program, evidence }
    }

    /// The daemon itself.
    pub fn daemon() -> Self {
        Self::program(CallerChannel::Daemon, CallerEvidence::None)
    }

    /// The agent of an event that its hook reported.
    pub fn hook_of(event: &Event) -> Self {
        let (dialog, agent) = (event.dialog.clone(), Some(event.agent()));
        let scope = CallerScope::Agent { dialog, agent };
        Self { channel: CallerChannel::Hook, scope, evidence: CallerEvidence::Payload }
    }

    /// The dialog that the caller is bound to.
    pub fn dialog(&self) -> Option<&DialogId> {
        match &self.scope {
            CallerScope::Agent { dialog, .. } => Some(dialog),
            CallerScope::Person | CallerScope::Program => None,
        }
    }

    /// Returns true if the caller speaks for the person.
    pub fn is_person(&self) -> bool {
        self.scope == CallerScope::Person
    }
}

/// A process, told apart from later ones with the same pid by its start.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessKey {
    /// The pid.
    pub pid: u32,
    /// When it started, in the system's own form; compared, never parsed.
    pub started: String,
}

impl fmt::Display for ProcessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.started)
    }
}

impl FromStr for ProcessKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (pid, started) = text.split_once(' ').unwrap_or((text, ""));
        let pid = pid.parse().map_err(|_| format!("'{text}' names no process"))?;
        Ok(Self { pid, started: started.to_owned() })
    }
}

/// Where an event comes from, beside the event itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventOrigin {
    /// Who said it; none for the caller of the process that records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_by: Option<Caller>,
    /// The process of the agent that reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessKey>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventKind;

    #[test]
    fn a_caller_is_one_flat_object() {
        let mut event = Event::new("d1", EventKind::DialogEnd {});
        event.agent = Some("a1".into());
        let text =
            r#"{"channel":"hook","scope":"agent","dialog":"d1","agent":"a1","evidence":"payload"}"#;
        assert_eq!(serde_json::to_string(&Caller::hook_of(&event)).unwrap(), text);
        assert_eq!(serde_json::from_str::<Caller>(text).unwrap(), Caller::hook_of(&event));
        let text = r#"{"channel":"library","scope":"program","evidence":"none"}"#;
        assert_eq!(serde_json::to_string(&Caller::default()).unwrap(), text);
        assert_eq!(serde_json::from_str::<Caller>(text).unwrap(), Caller::default());
    }

    #[test]
    fn a_process_is_known_by_pid_and_start() {
        let process = ProcessKey { pid: 12, started: "Mon Nov 16 10:00:00 2026".into() };
        assert_eq!(process.to_string().parse(), Ok(process));
        assert!("x 1".parse::<ProcessKey>().is_err());
    }
}
