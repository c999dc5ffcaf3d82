//! Parses hooks of GitHub Copilot CLI.
//!
//! Hooks that are configured in camelCase get payloads without the event's name (`sessionId`,
//! `toolName`, `toolArgs`); in PascalCase they get `hook_event_name`, `session_id`, `tool_name`
//! and `tool_input`, and some tools under other names. Both are understood. Calls have no ids, so
//! a tool has one name here and in the transcript: Copilot's own.
//!
//! A mention of a file (`@path`) brings only its path along.
//!
//! A subagent has a session of its own, and names the session that started it: that one is the
//! dialog.

use serde_json::{Value, json};

use crate::parse::{EventSource, HookAction, HookToolCall, Subagent, ToolOutcome};
use crate::reply::{HookFeedback, HookReplies};
use crate::wire::{self, HookPayload};
use crate::{AgentKind, HookMessage, HookParseError, HookPhase, TranscriptLocation};

pub(crate) fn parse_hook(name: &str, payload: &HookPayload) -> Result<HookMessage, HookParseError> {
    let cwd = payload.non_empty_text(&["/cwd"]).map(str::to_owned);
    let Some(action) = parse_action(name, payload)? else {
        return Ok(HookMessage::empty(cwd));
    };
    let session = payload.require(&["/session_id", "/sessionId"])?;
    let (dialog, subagent) = match payload.non_empty_text(&["/agent_id"]) {
        None => (session, None),
        Some(agent) => {
            let parent = payload.require(&["/parent_agent_id"])?;
            (parent, Some(Subagent::of_main(agent)))
        }
    };
    // What subagents say stands in the transcript of the dialog, which is read with its own turns.
    let location = if subagent.is_none() { transcript_location(payload, dialog) } else { None };
    let source = EventSource {
        kind: AgentKind::Copilot,
        dialog: dialog.into(),
        subagent,
        cwd: cwd.clone(),
        model: None,
    };
    Ok(HookMessage::from_action(&source, action, cwd).with_transcript(location))
}

/// The name that the transcript has for a tool which a hook may call otherwise.
pub(crate) fn native_tool_name(name: &str) -> &str {
    match name {
        "Write" => "create",
        "Edit" => "edit",
        "Bash" => "bash",
        "Read" => "view",
        "Agent" => "task",
        other => other,
    }
}

fn parse_action(name: &str, payload: &HookPayload) -> Result<Option<HookAction>, HookParseError> {
    Ok(Some(match name {
        "userPromptSubmitted" | "UserPromptSubmitted" | "UserPromptSubmit" => {
            let prompt = payload.text(&["/prompt"]).ok_or(HookParseError::Missing("prompt"))?;
            HookAction::Prompt(prompt.to_owned())
        }
        "preToolUse" | "PreToolUse" => HookAction::Begin(parse_call(payload)?),
        "postToolUse" | "PostToolUse" => {
            HookAction::End(parse_call(payload)?, parse_outcome(payload))
        }
        "postToolUseFailure" | "PostToolUseFailure" => {
            HookAction::End(parse_call(payload)?, ToolOutcome::of(Some(false)))
        }
        "subagentStart" | "SubagentStart" => {
            payload.require(&["/agent_id"])?;
            HookAction::DialogStart
        }
        "subagentStop" | "SubagentStop" => {
            payload.require(&["/agent_id"])?;
            HookAction::TurnEnd { background: vec![] }
        }
        "agentStop" | "AgentStop" | "Stop" => HookAction::TurnEnd { background: vec![] },
        "sessionEnd" | "SessionEnd" => HookAction::DialogEnd,
        // The start of a session may arrive after its first message, and would end that turn.
        _ => return Ok(None),
    }))
}

fn parse_call(payload: &HookPayload) -> Result<HookToolCall, HookParseError> {
    let tool = payload.require(&["/tool_name", "/toolName"])?;
    let input = payload.arguments(&["/tool_input", "/toolArgs", "/toolInput"]);
    Ok(HookToolCall { id: None, tool: native_tool_name(tool).to_owned(), input })
}

fn parse_outcome(payload: &HookPayload) -> ToolOutcome {
    let kind = payload.non_empty_text(&[
        "/toolResult/resultType",
        "/tool_result/resultType",
        "/tool_result/result_type",
        "/tool_response/resultType",
    ]);
    let shown = payload.text(&["/toolResult/textResultForLlm", "/tool_result/text_result_for_llm"]);
    // A file that is too large is refused with success.
    let refused = shown.is_some_and(|text| text.starts_with("File too large to read at once"));
    let ok = kind.map(|kind| kind == "success" && !refused);
    ToolOutcome { ok, exit_code: shown.and_then(parse_exit_code), task: None }
}

/// The exit code of a command, with which Copilot ends its output.
fn parse_exit_code(shown: &str) -> Option<i64> {
    let last = shown.trim_end().lines().next_back()?.strip_prefix("<shellId: ")?;
    let (_, code) = last.strip_suffix('>')?.rsplit_once(" completed with exit code ")?;
    code.parse().ok()
}

fn transcript_location(payload: &HookPayload, id: &str) -> Option<TranscriptLocation> {
    let named = payload.non_empty_text(&["/transcript_path", "/transcriptPath"]).map(str::to_owned);
    let usual = || {
        wire::is_safe_file_name(id).then(|| format!("~/.copilot/session-state/{id}/events.jsonl"))
    };
    named.or_else(usual).map(|path| TranscriptLocation { path, agent: None })
}

pub(crate) const REPLIES: HookReplies = HookReplies {
    feedback: HookFeedback::Denials,
    deny,
    note: Some(note),
    has_notes_after_calls: false,
    hand_back: None,
    proceed: None,
};

fn deny(reason: &str) -> Value {
    json!({"permissionDecision": "deny", "permissionDecisionReason": reason})
}

fn note(_: HookPhase, text: &str) -> Value {
    json!({"additionalContext": text})
}

#[cfg(test)]
mod tests {
    use retake_model::EventKind;

    use crate::{AgentKind, parse_hook};

    #[test]
    fn both_spellings_are_one_call() {
        let camel =
            br#"{"sessionId":"s","cwd":"/p","toolName":"create","toolArgs":"{\"path\":\"a\"}"}"#;
        let pascal = br#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/p","tool_name":"Write","tool_input":{"path":"a"}}"#;
        let camel = parse_hook(AgentKind::Copilot, Some("preToolUse"), camel).unwrap();
        let pascal = parse_hook(AgentKind::Copilot, None, pascal).unwrap();
        assert_eq!(camel, pascal);
        assert!(matches!(&camel.events[0].what,
            EventKind::ToolBegin { tool, input, .. } if tool == "create" && input["path"] == "a"));
    }

    #[test]
    fn a_start_that_comes_late_ends_nothing() {
        let payload = br#"{"sessionId":"s","cwd":"/p","source":"new","initialPrompt":"x"}"#;
        for name in ["sessionStart", "SessionStart"] {
            assert!(parse_hook(AgentKind::Copilot, Some(name), payload).unwrap().events.is_empty());
        }
        // Without the subagent's name it would end the main agent's turn.
        assert!(parse_hook(AgentKind::Copilot, Some("SubagentStop"), payload).is_err());
    }

    #[test]
    fn a_subagent_acts_in_the_dialog_that_started_it() {
        let payload = br#"{"hook_event_name":"PreToolUse","session_id":"a1","cwd":"/p",
            "agent_id":"a1","agent_type":"general-purpose","parent_agent_id":"s1",
            "tool_name":"Bash","tool_input":{"command":"make"}}"#;
        let event = parse_hook(AgentKind::Copilot, None, payload).unwrap().events.remove(0);
        assert_eq!((event.dialog.0.as_str(), event.name()), ("s1", "tool_begin"));
        assert_eq!(event.agent, Some("a1".into()));
        assert_eq!(event.parent, Some("main".into()));
        let stop = br#"{"sessionId":"s1","cwd":"/p","agent_id":"a1","parent_agent_id":"s1"}"#;
        let event =
            parse_hook(AgentKind::Copilot, Some("SubagentStop"), stop).unwrap().events.remove(0);
        assert_eq!((event.agent, event.what.clone()), (Some("a1".into()), TURN_END));
    }

    const TURN_END: EventKind = EventKind::TurnEnd { background: Vec::new() };

    #[test]
    fn a_path_is_built_only_from_a_plain_id() {
        let path = |id: &str| {
            let payload = serde_json::json!({"sessionId": id, "prompt": "hi"}).to_string();
            let message =
                parse_hook(AgentKind::Copilot, Some("userPromptSubmitted"), payload.as_bytes());
            message.unwrap().transcript.map(|location| location.path)
        };
        let usual = "~/.copilot/session-state/3c66/events.jsonl";
        assert_eq!(path("3c66").as_deref(), Some(usual));
        assert_eq!(path("../../etc"), None);
    }
}
