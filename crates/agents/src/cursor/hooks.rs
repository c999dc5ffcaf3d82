//! Parses hooks of Cursor. **Untested: from its documentation.**
//!
//! Events are in camelCase; every payload has `conversation_id`, `hook_event_name` and
//! `workspace_roots`. The general `preToolUse` and `postToolUse` cover what the special events
//! (shell, MCP) also tell: register one kind or the other, not both. `afterFileEdit` has no begin.
//! The form of the file at `transcript_path` is not documented, so it is not read.

use retake_model::{CallId, SeenFile};
use serde_json::{Map, Value, json};

use crate::parse::{EventSource, HookAction, HookToolCall, ToolOutcome};
use crate::reply::{HookFeedback, HookReplies};
use crate::wire::{self, HookPayload};
use crate::{AgentKind, HookMessage, HookParseError, HookPhase, file_reads};

pub(crate) fn parse_hook(name: &str, payload: &HookPayload) -> Result<HookMessage, HookParseError> {
    let folder = payload.non_empty_text(&["/workspace_roots/0", "/cwd"]).map(str::to_owned);
    let Some(action) = parse_action(name, payload)? else {
        return Ok(HookMessage::empty(folder));
    };
    let source = EventSource {
        kind: AgentKind::Cursor,
        dialog: payload.require(&["/conversation_id", "/session_id"])?.into(),
        subagent: None,
        cwd: payload.non_empty_text(&["/cwd", "/workspace_roots/0"]).map(str::to_owned),
        model: payload.non_empty_text(&["/model"]).map(str::to_owned),
    };
    Ok(HookMessage::from_action(&source, action, folder).with_reads(attached_files(payload)))
}

/// The files that a message carries; rules are not files of the project that it is about.
fn attached_files(payload: &HookPayload) -> Vec<SeenFile> {
    let attachments = payload.at("/attachments").and_then(Value::as_array).into_iter().flatten();
    let files = attachments.filter(|one| wire::text(one, "/type") == Some("file"));
    let path = |one| wire::text(one, "/file_path").or_else(|| wire::text(one, "/filePath"));
    files.filter_map(path).map(file_reads::included_file).collect()
}

fn parse_action(name: &str, payload: &HookPayload) -> Result<Option<HookAction>, HookParseError> {
    let ended = |call, ok| HookAction::End(call, ToolOutcome::of(ok));
    Ok(Some(match name {
        "sessionStart" => HookAction::DialogStart,
        "beforeSubmitPrompt" => {
            let prompt = payload.text(&["/prompt"]).ok_or(HookParseError::Missing("prompt"))?;
            HookAction::Prompt(prompt.to_owned())
        }
        "preToolUse" | "beforeMCPExecution" => HookAction::Begin(parse_call(payload)?),
        "postToolUse" => ended(parse_call(payload)?, Some(true)),
        "postToolUseFailure" => ended(parse_call(payload)?, Some(false)),
        "afterMCPExecution" => ended(parse_call(payload)?, None),
        "beforeShellExecution" => {
            HookAction::Begin(call_from_keys(payload, "Shell", &["command", "cwd"]))
        }
        "afterShellExecution" => ended(call_from_keys(payload, "Shell", &["command", "cwd"]), None),
        "afterFileEdit" => {
            ended(call_from_keys(payload, "edit_file", &["file_path", "edits"]), Some(true))
        }
        "stop" => HookAction::TurnEnd { background: vec![] },
        "sessionEnd" => HookAction::DialogEnd,
        _ => return Ok(None),
    }))
}

fn parse_call(payload: &HookPayload) -> Result<HookToolCall, HookParseError> {
    Ok(HookToolCall {
        id: payload.non_empty_text(&["/tool_use_id"]).map(CallId::from),
        tool: payload.require(&["/tool_name"])?.to_owned(),
        input: payload.arguments(&["/tool_input"]),
    })
}

/// A special event is a call whose arguments lie in the payload itself.
fn call_from_keys(payload: &HookPayload, tool: &str, keys: &[&str]) -> HookToolCall {
    let value = |key: &&str| Some(((*key).to_owned(), payload.at(&format!("/{key}"))?.clone()));
    let input: Map<String, Value> = keys.iter().filter_map(value).collect();
    HookToolCall { id: None, tool: tool.to_owned(), input: Value::Object(input) }
}

pub(crate) const REPLIES: HookReplies = HookReplies {
    feedback: HookFeedback::Denials,
    deny,
    // Cursor passes a message on only with a decision, and `allow` would answer for the person.
    note: None,
    has_notes_after_calls: false,
    hand_back: None,
    proceed: Some(proceed),
};

fn deny(reason: &str) -> Value {
    json!({"permission": "deny", "agent_message": reason, "user_message": reason})
}

fn proceed(phase: HookPhase) -> Value {
    let is_message = phase == HookPhase::UserMessage;
    if is_message { json!({"continue": true}) } else { json!({}) }
}
