//! Parses hooks of Claude Code, and those parts that Codex shares.
//!
//! Every payload has `session_id`, `cwd`, `hook_event_name` and `transcript_path`; inside a
//! subagent also `agent_id`, with the parent's `session_id`. Calls have ids (`tool_use_id`).
//! The end of a call can stay away (denied, interrupted), and a call that fails its validation
//! shows only in `PostToolBatch`.

use retake_model::{AgentId, CallId, SeenFile};
use serde_json::{Value, json};

use super::reads;
use crate::parse::{EventSource, HookAction, HookToolCall, Subagent, ToolOutcome};
use crate::reply::{HookFeedback, HookReplies, added_context};
use crate::wire::{self, HookPayload};
use crate::{AgentKind, HookMessage, HookParseError, HookPhase, TranscriptLocation};

pub(crate) fn parse_hook(name: &str, payload: &HookPayload) -> Result<HookMessage, HookParseError> {
    // `PostToolUse` comes only for calls that did not fail.
    let whole =
        |payload: &HookPayload| Some(payload.flag("/tool_response/interrupted") != Some(true));
    Ok(parse_claude_like(AgentKind::ClaudeCode, name, payload, whole)?
        .with_reads(parse_reads(payload)))
}

/// Returns the files that a prompt mentions, or that `Read` returned.
fn parse_reads(payload: &HookPayload) -> Vec<SeenFile> {
    if let Some(prompt) = payload.text(&["/prompt"]) {
        return reads::mentioned_files(prompt);
    }
    let response =
        payload.at("/tool_response").filter(|_| payload.text(&["/tool_name"]) == Some("Read"));
    response.and_then(reads::read_result).into_iter().collect()
}

/// Parses hooks of an agent whose payloads are like Claude Code's; they differ in how a call's
/// success shows in the payload of `PostToolUse`.
pub(crate) fn parse_claude_like(
    kind: AgentKind,
    name: &str,
    payload: &HookPayload,
    succeeded: fn(&HookPayload) -> Option<bool>,
) -> Result<HookMessage, HookParseError> {
    let cwd = payload.non_empty_text(&["/cwd"]).map(str::to_owned);
    let Some(action) = parse_action(name, payload, succeeded)? else {
        return Ok(HookMessage::empty(cwd));
    };
    let source = EventSource {
        kind,
        dialog: payload.require(&["/session_id"])?.into(),
        subagent: payload.non_empty_text(&["/agent_id"]).map(Subagent::of_main),
        cwd: cwd.clone(),
        // Codex tells it with every hook.
        model: payload.non_empty_text(&["/model"]).map(str::to_owned),
    };
    let mut message = HookMessage::from_action(&source, action, cwd)
        .with_transcript(transcript_location(payload, source.subagent_id()))
        .with_last_words(payload.text(&["/last_assistant_message"]));
    // Only these pass a text on: a call that failed and a turn that broke off do not.
    if ["PostToolUseFailure", "StopFailure", "Interrupt"].contains(&name) {
        message.phase = HookPhase::Other;
    }
    Ok(message)
}

fn parse_action(
    name: &str,
    payload: &HookPayload,
    succeeded: fn(&HookPayload) -> Option<bool>,
) -> Result<Option<HookAction>, HookParseError> {
    Ok(Some(match name {
        // Compaction announces itself as a start in the middle of a turn, which goes on.
        "SessionStart" if payload.text(&["/source"]) == Some("compact") => return Ok(None),
        "SessionStart" => HookAction::DialogStart,
        "UserPromptSubmit" => {
            let prompt = payload.text(&["/prompt"]).ok_or(HookParseError::Missing("prompt"))?;
            HookAction::Prompt(prompt.to_owned())
        }
        "PreToolUse" => HookAction::Begin(parse_call(payload)?),
        "PostToolUse" => {
            HookAction::End(parse_call(payload)?, parse_outcome(payload, succeeded(payload)))
        }
        "PostToolUseFailure" => {
            HookAction::End(parse_call(payload)?, parse_outcome(payload, Some(false)))
        }
        "PostToolBatch" => HookAction::CallsOver(batch_calls(payload)),
        // Without its id, a subagent's event would end what the main agent is doing.
        "SubagentStart" => {
            payload.require(&["/agent_id"])?;
            HookAction::DialogStart
        }
        "SubagentStop" => {
            payload.require(&["/agent_id"])?;
            HookAction::TurnEnd { background: background_tasks(payload) }
        }
        "Stop" | "StopFailure" | "Interrupt" => {
            HookAction::TurnEnd { background: background_tasks(payload) }
        }
        "SessionEnd" => HookAction::DialogEnd,
        _ => return Ok(None),
    }))
}

pub(crate) fn parse_call(payload: &HookPayload) -> Result<HookToolCall, HookParseError> {
    Ok(HookToolCall {
        id: payload.non_empty_text(&["/tool_use_id"]).map(CallId::from),
        tool: payload.require(&["/tool_name"])?.to_owned(),
        input: payload.arguments(&["/tool_input"]),
    })
}

fn parse_outcome(payload: &HookPayload, ok: Option<bool>) -> ToolOutcome {
    // A subagent started by the tool `Agent` is no background task: it reports its own calls.
    let task = payload.non_empty_text(&["/tool_response/backgroundTaskId"]).map(str::to_owned);
    ToolOutcome { ok, exit_code: failed_exit_code(payload), task }
}

/// The exit code of a command that failed, with which the error begins.
fn failed_exit_code(payload: &HookPayload) -> Option<i64> {
    let error = payload.text(&["/error"])?.strip_prefix("Exit code ")?;
    error.lines().next()?.trim().parse().ok()
}

fn batch_calls(payload: &HookPayload) -> Vec<CallId> {
    let calls = payload.at("/tool_calls").and_then(Value::as_array);
    let id = |call| wire::text(call, "/tool_use_id").filter(|id| !id.is_empty());
    calls.into_iter().flatten().filter_map(id).map(CallId::from).collect()
}

/// The shells and subagents that live on. A subagent that stops stands in its own list.
fn background_tasks(payload: &HookPayload) -> Vec<String> {
    let running = |task: &&Value| wire::text(task, "/status") == Some("running");
    let stops = payload.non_empty_text(&["/agent_id"]);
    let tasks = payload.at("/background_tasks").and_then(Value::as_array).into_iter().flatten();
    let ids = tasks.filter(running).filter_map(|task| wire::text(task, "/id"));
    ids.filter(|id| Some(*id) != stops).map(str::to_owned).collect()
}

/// A subagent's hooks name the file of the main agent; only its stop also names its own.
fn transcript_location(
    payload: &HookPayload,
    subagent: Option<&AgentId>,
) -> Option<TranscriptLocation> {
    let key = if subagent.is_some() { "/agent_transcript_path" } else { "/transcript_path" };
    let path = payload.non_empty_text(&[key])?.to_owned();
    Some(TranscriptLocation { path, agent: subagent.cloned() })
}

pub(crate) const REPLIES: HookReplies = HookReplies {
    feedback: HookFeedback::Denials,
    deny,
    note: Some(note),
    has_notes_after_calls: true,
    hand_back: Some(hand_back),
    proceed: None,
};

pub(crate) fn deny(reason: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }})
}

pub(crate) fn note(phase: HookPhase, text: &str) -> Value {
    let event = match phase {
        HookPhase::Begin => "PreToolUse",
        HookPhase::End => "PostToolUse",
        _ => "UserPromptSubmit",
    };
    added_context(event, text)
}

/// A stop that is blocked: the agent goes on, with the reason.
pub(crate) fn hand_back(text: &str) -> Value {
    json!({"decision": "block", "reason": text})
}

#[cfg(test)]
mod tests {
    use retake_model::EventKind;
    use serde_json::json;

    use crate::{AgentKind, HookMessage, HookPhase, parse_hook};

    fn parse(mut payload: serde_json::Value) -> HookMessage {
        payload["session_id"] = "s".into();
        payload["transcript_path"] = "/t.jsonl".into();
        parse_hook(AgentKind::ClaudeCode, None, payload.to_string().as_bytes()).unwrap()
    }

    fn prompt(text: &str) -> HookMessage {
        parse(json!({"hook_event_name": "UserPromptSubmit", "prompt": text}))
    }

    #[test]
    fn the_end_of_a_background_task_is_no_message() {
        let done = prompt("<task-notification>\n<task-id>bwv6</task-id>\n</task-notification>");
        let task = "bwv6".to_owned();
        assert_eq!(done.events[0].what, EventKind::TaskEnd { task });
        assert_eq!((done.phase, done.transcript), (HookPhase::UserMessage, None));
        assert!(prompt("<task-notification>").events.is_empty());
        assert_eq!(prompt("hi").events[0].name(), "user_message");
    }

    #[test]
    fn a_prompt_inside_a_subagent_begins_no_turn() {
        let payload =
            json!({"hook_event_name": "UserPromptSubmit", "prompt": "go", "agent_id": "a"});
        assert!(parse(payload).events.is_empty());
    }

    #[test]
    fn a_shell_in_the_background_leaves_its_task_and_a_subagent_does_not() {
        let end = |response| {
            let payload = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
                "tool_use_id": "c", "tool_input": {}, "tool_response": response});
            match parse(payload).events.remove(0).what {
                EventKind::ToolEnd { background, task, ok, .. } => (background, task, ok),
                other => panic!("{other:?}"),
            }
        };
        let task = Some("b1".to_owned());
        assert_eq!(end(json!({"backgroundTaskId": "b1"})), (true, task, Some(true)));
        assert_eq!(end(json!({"isAsync": true, "agentId": "a"})), (false, None, Some(true)));
        assert_eq!(end(json!({"interrupted": true})), (false, None, Some(false)));
        assert_eq!(end(json!("text")), (false, None, Some(true)));
    }

    #[test]
    fn calls_that_ran_together_are_over_together() {
        let call = |id: &str| json!({"tool_name": "Edit", "tool_use_id": id});
        let calls = json!([call("c1"), call("c2"), call(""), {"tool_name": "Edit"}]);
        let batch = parse(json!({"hook_event_name": "PostToolBatch", "tool_calls": calls}));
        let over = EventKind::ToolsOver { calls: vec!["c1".into(), "c2".into()] };
        assert_eq!(batch.events[0].what, over);
        assert!(parse(json!({"hook_event_name": "PostToolBatch"})).events.is_empty());
    }

    #[test]
    fn compaction_does_not_end_the_turn_that_it_happens_in() {
        let start =
            |source: &str| parse(json!({"hook_event_name": "SessionStart", "source": source}));
        assert!(start("compact").events.is_empty());
        for source in ["startup", "resume", "clear"] {
            assert_eq!(start(source).events[0].name(), "dialog_start");
        }
    }

    #[test]
    fn a_subagent_without_an_id_does_not_speak_for_the_main_agent() {
        let payload = br#"{"hook_event_name":"SubagentStop","session_id":"s"}"#;
        let error = parse_hook(AgentKind::ClaudeCode, None, payload).unwrap_err().to_string();
        assert!(error.contains("agent_id"), "{error}");
    }
}
