//! Parses hooks of Codex CLI.
//!
//! Its hooks are those of Claude Code, with an `Interrupt` for a turn that the person stopped.
//! `PostToolUse` stays away for a patch that failed, and tells no exit code of a command. In code
//! mode the call ids (`exec-…`) are not the model's; [`crate::transcript`] finds them again.
//! A mention of a file (`@path`) brings only its path along, and files are read by the shell.
//! The program `notify` is not a hook and is passed over.

use crate::claude_code::hooks::parse_claude_like;
use crate::wire::HookPayload;
use crate::{AgentKind, HookMessage, HookParseError};

pub(crate) fn parse_hook(name: &str, payload: &HookPayload) -> Result<HookMessage, HookParseError> {
    parse_claude_like(AgentKind::Codex, name, payload, succeeded)
}

/// A command's output could say anything; only a patch's and a server's answers are structured.
fn succeeded(payload: &HookPayload) -> Option<bool> {
    if let Some(failed) = payload.flag("/tool_response/isError") {
        return Some(!failed);
    }
    let answer = payload.text(&["/tool_response"])?.strip_prefix("Exit code: ")?;
    let patch = payload.text(&["/tool_name"]) == Some("apply_patch");
    patch.then(|| answer.lines().next() == Some("0"))
}

#[cfg(test)]
mod tests {
    use retake_model::EventKind;
    use serde_json::{Value, json};

    use crate::{AgentKind, parse_hook};

    fn ok(tool: &str, response: &Value) -> Option<bool> {
        let payload = json!({"hook_event_name": "PostToolUse", "session_id": "s",
            "tool_name": tool, "tool_input": {}, "tool_response": response});
        let message = parse_hook(AgentKind::Codex, None, payload.to_string().as_bytes()).unwrap();
        match message.events[0].what {
            EventKind::ToolEnd { ok, .. } => ok,
            ref other => panic!("{other:?}"),
        }
    }

    #[test]
    fn success_is_told_only_where_it_shows() {
        assert_eq!(ok("apply_patch", &json!("Exit code: 0\nWall time: 0")), Some(true));
        assert_eq!(ok("apply_patch", &json!("Exit code: 01")), Some(false));
        assert_eq!(ok("Bash", &json!("Exit code: 0\n")), None);
        assert_eq!(ok("mcp__a__b", &json!({"isError": true})), Some(false));
        assert_eq!(ok("Bash", &json!("")), None);
    }

    #[test]
    fn an_interrupt_ends_the_turn_and_notify_is_passed_over() {
        let interrupt = br#"{"hook_event_name":"Interrupt","session_id":"s"}"#;
        let message = parse_hook(AgentKind::Codex, None, interrupt).unwrap();
        assert_eq!(message.events[0].name(), "turn_end");
        let notify = br#"{"type":"agent-turn-complete","thread-id":"t"}"#;
        assert!(parse_hook(AgentKind::Codex, None, notify).unwrap().events.is_empty());
    }
}
