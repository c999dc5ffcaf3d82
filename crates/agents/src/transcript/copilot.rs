//! Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`, one line per event.
//!
//! A message is one event. Hooks tell no ids of calls, so a call is given with its tool and
//! arguments. Messages that Copilot injects as the user's (skills) name their `source`. Lines of
//! subagents stand among them and name their `agentId`: they are of other conversations.

use retake_model::CalledTool;
use serde_json::Value;

use super::{Reader, Speaker};
use crate::copilot::native_tool;
use crate::prompt::Prompt;
use crate::wire::{list, text, unquoted};

pub(super) fn line(reader: &mut Reader, line: &Value) {
    if text(line, "/agentId").is_some() {
        return;
    }
    let words = text(line, "/data/content").unwrap_or_default();
    match text(line, "/type") {
        Some("user.message") => {
            let injected = text(line, "/data/source").is_some_and(|source| source != "user");
            if let Some(words) = Prompt::of(words).message().filter(|_| !injected) {
                reader.say(Speaker::User, words, vec![]);
            }
        }
        Some("assistant.message") => {
            let calls = list(line, "/data/toolRequests").iter().filter_map(call).collect();
            reader.say(Speaker::Assistant, words, calls);
        }
        _ => {}
    }
}

fn call(request: &Value) -> Option<CalledTool> {
    let tool = native_tool(text(request, "/name")?).to_owned();
    let input = request.get("arguments").map_or(Value::Null, unquoted);
    Some(CalledTool { call: None, tool: Some(tool), input })
}
