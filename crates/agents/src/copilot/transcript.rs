//! Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`, one line per event.
//!
//! A message is one event. Hooks tell no ids of calls, so a call is given with its tool and
//! arguments. Messages that Copilot injects as the user's (skills) name their `source`. Lines of
//! subagents stand among them and name their `agentId`: they are of other conversations.

use retake_model::CalledTool;
use serde_json::Value;

use super::hooks::native_tool_name;
use crate::prompt::Prompt;
use crate::transcript::{Speaker, TranscriptParser};
use crate::wire::{list, parse_embedded, text};

pub(crate) fn read_line(parser: &mut TranscriptParser, line: &Value) {
    if text(line, "/agentId").is_some() {
        return;
    }
    let words = text(line, "/data/content").unwrap_or_default();
    match text(line, "/type") {
        Some("user.message") => {
            let injected = text(line, "/data/source").is_some_and(|source| source != "user");
            if let Some(words) = Prompt::of(words).message().filter(|_| !injected) {
                parser.add_message(Speaker::User, words, vec![]);
            }
        }
        Some("assistant.message") => {
            let calls = list(line, "/data/toolRequests").iter().filter_map(parse_call).collect();
            parser.add_assistant(words, calls, text(line, "/data/model"));
        }
        _ => {}
    }
}

fn parse_call(request: &Value) -> Option<CalledTool> {
    let tool = native_tool_name(text(request, "/name")?).to_owned();
    let input = request.get("arguments").map_or(Value::Null, parse_embedded);
    Some(CalledTool { call: None, tool: Some(tool), input })
}
