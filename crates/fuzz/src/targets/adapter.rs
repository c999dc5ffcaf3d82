//! Payloads of hooks, of every agent.

use retake_agents::{AgentKind, parse_hook};

use super::transcript::promises::check_heard;
use crate::input::choose;

/// Names of events that agents pass beside their payloads, of all agents.
const EVENT_NAMES: &[Option<&str>] = &[
    None,
    Some("PreToolUse"),
    Some("PostToolUse"),
    Some("PostToolUseFailure"),
    Some("PostToolBatch"),
    Some("UserPromptSubmit"),
    Some("SessionStart"),
    Some("SessionEnd"),
    Some("Stop"),
    Some("SubagentStart"),
    Some("SubagentStop"),
    Some("BeforeTool"),
    Some("AfterTool"),
    Some("BeforeAgent"),
    Some("AfterAgent"),
    Some("TaskStart"),
    Some("TaskComplete"),
    Some("preToolUse"),
    Some("postToolUse"),
    Some("userPromptSubmitted"),
    Some("sessionStart"),
    Some("sessionEnd"),
    Some("beforeSubmitPrompt"),
    Some("stop"),
];

/// The head of an input for a payload in a file of this name.
pub fn event_number(file: &str) -> u8 {
    let event = file.split('.').next();
    EVENT_NAMES.iter().position(|known| *known == event).unwrap_or(0) as u8
}

/// Any payload is parsed or refused, and the parsed events are valid.
pub fn adapter(data: &[u8]) {
    let (agent, rest) = choose(&AgentKind::ALL, data);
    let (event, payload) = choose(EVENT_NAMES, rest);
    if let Ok(heard) = parse_hook(agent, event, payload) {
        check_heard(agent, &heard);
        for event in heard.events.iter().chain(&heard.conversation) {
            super::event::check(event);
        }
    }
}
