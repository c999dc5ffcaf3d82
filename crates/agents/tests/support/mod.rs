//! Captured payloads, and events in one line each.

#![expect(dead_code, reason = "each test binary uses a part")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use retake_agents::AgentKind;
use retake_agents::transcript::{self, TranscriptCursor, TranscriptMessage};
use retake_model::{CallId, CalledTool, Event, EventKind, SeenFile};
use serde_json::Value;

/// A file that an agent wrote.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl Fixture {
    /// The event's name, for payloads that do not carry it.
    pub(crate) fn event(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }
}

/// The payloads of an agent, by name.
pub(crate) fn payloads(agent: AgentKind) -> Vec<Fixture> {
    fixtures(agent, |name| !name.starts_with("transcript."))
}

/// The transcripts of an agent, by name.
pub(crate) fn transcripts(agent: AgentKind) -> Vec<Fixture> {
    fixtures(agent, |name| name.starts_with("transcript."))
}

fn fixtures(agent: AgentKind, wanted: fn(&str) -> bool) -> Vec<Fixture> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/payloads");
    let entries = fs::read_dir(folder.join(agent.name())).expect("every agent has a folder");
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    let read = |path: PathBuf| Fixture {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        bytes: fs::read(&path).expect("the fixture can be read"),
    };
    let mut fixtures: Vec<Fixture> =
        paths.map(read).filter(|fixture| wanted(&fixture.name)).collect();
    fixtures.sort_by(|one, other| one.name.cmp(&other.name));
    fixtures
}

/// Reads a transcript that is all there.
pub(crate) fn read_at_once(agent: AgentKind, bytes: &[u8]) -> Vec<TranscriptMessage> {
    transcript::read(agent, &TranscriptCursor::default(), bytes).0
}

/// An event in one line; ids are cut to what tells them apart.
pub(crate) fn line(event: &Event) -> String {
    let mut line = format!("{} {}", event.name(), short(&event.dialog.0));
    if let Some(agent) = &event.agent {
        write!(line, " agent={}", short(&agent.0)).expect("a text takes all");
    }
    if let Some(parent) = &event.parent {
        write!(line, " parent={}", short(&parent.0)).expect("a text takes all");
    }
    if let Some(model) = &event.model {
        write!(line, " model={model}").expect("a text takes all");
    }
    if let Some(index) = event.message_index {
        write!(line, " index={index}").expect("a text takes all");
    }
    line + &details(&event.what) + &saw(event)
}

fn saw(event: &Event) -> String {
    let sight = |sight: &SeenFile| match sight.lines {
        Some(lines) => format!(" saw {}:{}-{}", sight.path, lines.first, lines.last),
        None => format!(" saw {}", sight.path),
    };
    event.reads.iter().map(sight).collect()
}

fn details(what: &EventKind) -> String {
    match what {
        EventKind::DialogStart { .. } | EventKind::DialogEnd {} => String::new(),
        EventKind::UserMessage { text } => format!(" {text:?}"),
        EventKind::AssistantMessage { text, calls } => format!(" {text:?}{}", all(calls)),
        EventKind::ToolBegin { call, tool, input } => {
            format!(" {tool}{} {}", id(call.as_ref()), keys(input))
        }
        EventKind::ToolEnd { call, ok, exit_code, tool, input, background, task } => {
            let tool = tool.as_deref().unwrap_or("?");
            let exit = exit_code.map_or_else(String::new, |code| format!(" exit={code}"));
            let rest = if *background { format!(" task={task:?}") } else { String::new() };
            format!(" {tool}{} {} ok={ok:?}{exit}{rest}", id(call.as_ref()), keys(input))
        }
        EventKind::ToolsOver { calls } => {
            calls.iter().map(|call| id(Some(call))).collect::<String>()
        }
        EventKind::TaskEnd { task } => format!(" {task}"),
        EventKind::TurnEnd { background } => format!(" background={background:?}"),
    }
}

/// Calls of a message: ids, or tools with the keys of their arguments.
pub(crate) fn all(calls: &[CalledTool]) -> String {
    let call = |call: &CalledTool| match (&call.call, &call.tool) {
        (Some(id), _) => format!(" #{}", short(&id.0)),
        (None, tool) => format!(" {}{}", tool.as_deref().unwrap_or("?"), keys(&call.input)),
    };
    calls.iter().map(call).collect()
}

fn id(call: Option<&CallId>) -> String {
    call.map(|id| format!(" #{}", short(&id.0))).unwrap_or_default()
}

fn keys(input: &Value) -> String {
    match input {
        Value::Object(object) => {
            let keys: Vec<&str> = object.keys().map(String::as_str).collect();
            format!("({})", keys.join(","))
        }
        other => other.to_string(),
    }
}

fn short(id: &str) -> &str {
    id.get(..16).unwrap_or(id)
}
