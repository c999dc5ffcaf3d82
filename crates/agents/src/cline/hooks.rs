//! Parses hooks of Cline CLI.
//!
//! Payloads name their event `hookName` in words of their own (`tool_call`, `agent_start`), the
//! hook's file is named as in Cline's documentation (`PreToolUse`, `TaskStart`); both are
//! understood. The main agent has an id too: a subagent is who has a `parent_agent_id`.
//!
//! Without a terminal no hook carries the person's words. The start of the main agent stands for
//! them, as a message with an empty text; an empty message with one that has words right behind it
//! is the same message. Cline does not wait for that hook, so the hook of the first calls may
//! overtake it.

use retake_model::{CallId, SeenFile};
use serde_json::{Value, json};

use super::reads;
use crate::parse::{EventSource, HookAction, HookToolCall, Subagent, ToolOutcome};
use crate::reply::{HookFeedback, HookReplies};
use crate::wire::{self, HookPayload};
use crate::{AgentKind, HookMessage, HookParseError, HookPhase, TranscriptLocation};

/// JSON pointers of the person's text, if the payload has it.
const PROMPT_POINTERS: &[&str] =
    &["/taskStart/taskMetadata/initialTask", "/userPromptSubmit/prompt", "/prompt"];

pub(crate) fn parse_hook(name: &str, payload: &HookPayload) -> Result<HookMessage, HookParseError> {
    let folder = payload.non_empty_text(&["/workspaceRoots/0", "/workspaceInfo/rootPath", "/cwd"]);
    let folder = folder.map(str::to_owned);
    let has_parent = payload.non_empty_text(&["/parent_agent_id"]).is_some();
    let Some(action) = parse_action(name, payload, has_parent)? else {
        return Ok(HookMessage::empty(folder));
    };
    let subagent =
        if has_parent { Some(Subagent::of_main(payload.require(&["/agent_id"])?)) } else { None };
    let id = payload.require(&["/sessionContext/rootSessionId", "/taskId"])?;
    let cwd = payload.non_empty_text(&["/cwd"]).map(str::to_owned).or_else(|| folder.clone());
    let source =
        EventSource { kind: AgentKind::Cline, dialog: id.into(), subagent, cwd, model: None };
    let location = if source.subagent.is_none() { transcript_location(id) } else { None };
    let is_first_call = source.subagent.is_none()
        && matches!(action, HookAction::Begin(_))
        && payload.at("/iteration").and_then(Value::as_u64) == Some(1);
    let mut message = HookMessage::from_action(&source, action, folder)
        .with_transcript(location)
        .with_last_words(payload.text(&["/turn/outputText"]))
        .with_reads(parse_reads(payload));
    message.follows_unawaited_message = is_first_call;
    Ok(message)
}

/// Returns the files that a message mentions, or that `read_files` returned.
fn parse_reads(payload: &HookPayload) -> Vec<SeenFile> {
    if let Some(prompt) = payload.text(PROMPT_POINTERS) {
        return reads::mentioned_files(prompt);
    }
    let tool = payload.text(&["/tool_result/name"]);
    let parts = payload.at("/tool_result/output").filter(|_| tool == Some("read_files"));
    let parts = parts.and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(reads::read_result).collect()
}

fn parse_action(
    name: &str,
    payload: &HookPayload,
    subagent: bool,
) -> Result<Option<HookAction>, HookParseError> {
    Ok(Some(match name {
        "agent_start" | "agent_resume" | "TaskStart" | "TaskResume" if subagent => {
            HookAction::DialogStart
        }
        "agent_start" | "agent_resume" | "TaskStart" | "TaskResume" | "prompt_submit"
        | "UserPromptSubmit" => {
            HookAction::Prompt(payload.text(PROMPT_POINTERS).unwrap_or_default().to_owned())
        }
        "tool_call" | "PreToolUse" => {
            HookAction::Begin(parse_call(payload, "/tool_call", "/preToolUse")?)
        }
        "tool_result" | "PostToolUse" => HookAction::End(
            parse_call(payload, "/tool_result", "/postToolUse")?,
            parse_outcome(payload),
        ),
        "agent_end" | "agent_abort" | "agent_error" | "TaskComplete" | "TaskCancel"
        | "TaskError" => HookAction::TurnEnd { background: vec![] },
        "session_shutdown" | "SessionShutdown" => HookAction::DialogEnd,
        _ => return Ok(None),
    }))
}

/// The call in Cline's newer form, which has an id and whole arguments, else in the documented
/// one, where every argument is a text.
fn parse_call(
    payload: &HookPayload,
    current: &str,
    documented: &str,
) -> Result<HookToolCall, HookParseError> {
    let at = |parent: &str, key: &str| format!("{parent}/{key}");
    let tool = payload.non_empty_text(&[&at(current, "name"), &at(documented, "toolName")]);
    Ok(HookToolCall {
        id: payload.non_empty_text(&[&at(current, "id")]).map(CallId::from),
        tool: tool.ok_or(HookParseError::Missing("tool_call.name"))?.to_owned(),
        input: payload.arguments(&[&at(current, "input"), &at(documented, "parameters")]),
    })
}

fn parse_outcome(payload: &HookPayload) -> ToolOutcome {
    let output = payload.at("/tool_result/output");
    let error = payload.at("/tool_result/error").filter(|error| !error.is_null());
    let ok = match output {
        _ if error.is_some() => Some(false),
        Some(Value::Array(parts)) if !parts.is_empty() => Some(parts.iter().all(is_success)),
        Some(output @ Value::Object(_)) => output.get("success").and_then(Value::as_bool),
        _ => None,
    };
    ToolOutcome::of(ok.or_else(|| payload.flag("/postToolUse/success")))
}

/// One command of several failed if its part says so.
fn is_success(part: &Value) -> bool {
    part.get("success").and_then(Value::as_bool) != Some(false)
}

fn transcript_location(id: &str) -> Option<TranscriptLocation> {
    let path = format!("~/.cline/data/sessions/{id}/{id}.messages.json");
    wire::is_safe_file_name(id).then_some(TranscriptLocation { path, agent: None })
}

pub(crate) const REPLIES: HookReplies = HookReplies {
    feedback: HookFeedback::Notes,
    // Cline's only refusal cancels the whole run: the model is told, and the call goes on.
    deny: |reason| note(HookPhase::Begin, reason),
    note: Some(note),
    has_notes_after_calls: false,
    hand_back: None,
    proceed: Some(|_| json!({"cancel": false})),
};

fn note(_: HookPhase, text: &str) -> Value {
    json!({"cancel": false, "contextModification": text})
}

#[cfg(test)]
mod tests {
    use retake_model::{EventKind, MAIN_AGENT};
    use serde_json::{Value, json};

    use crate::{AgentKind, HookMessage, parse_hook};

    fn parse(mut payload: Value) -> HookMessage {
        payload["sessionContext"] = json!({"rootSessionId": "r1"});
        payload["agent_id"] = "agent_1".into();
        parse_hook(AgentKind::Cline, None, payload.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn the_start_stands_for_a_message_whose_words_are_in_the_transcript() {
        let start = parse(json!({"hookName": "agent_start", "parent_agent_id": null}));
        assert_eq!(start.events[0].what, EventKind::UserMessage { text: String::new() });
        assert_eq!(start.events[0].agent, None);
        let path = "~/.cline/data/sessions/r1/r1.messages.json";
        assert_eq!(start.transcript.unwrap().path, path);
        let submit = json!({"hookName": "UserPromptSubmit", "userPromptSubmit": {"prompt": "hi"}});
        assert_eq!(parse(submit).events[0].what, EventKind::UserMessage { text: "hi".into() });
    }

    #[test]
    fn who_has_a_parent_is_a_subagent() {
        let start = parse(json!({"hookName": "agent_start", "parent_agent_id": "agent_0"}));
        let event = &start.events[0];
        assert_eq!(event.name(), "dialog_start");
        assert_eq!(event.agent, Some("agent_1".into()));
        assert_eq!(event.parent, Some(MAIN_AGENT.into()));
        assert_eq!(start.transcript, None);
    }

    #[test]
    fn the_first_calls_of_the_main_agent_may_overtake_the_start() {
        let follows = |payload: Value| parse(payload).follows_unawaited_message;
        let call = json!({"id": "c1", "name": "editor", "input": {}});
        assert!(follows(json!({"hookName": "tool_call", "iteration": 1, "tool_call": call})));
        assert!(!follows(json!({"hookName": "tool_call", "iteration": 2, "tool_call": call})));
        assert!(!follows(json!({"hookName": "tool_result", "iteration": 1, "tool_result": call})));
        assert!(!follows(json!({
            "hookName": "tool_call", "iteration": 1, "tool_call": call, "parent_agent_id": "agent_0",
        })));
    }

    #[test]
    fn every_part_of_a_result_must_succeed() {
        let ok = |result: Value| {
            let payload = json!({"hookName": "tool_result", "tool_result": result});
            match parse(payload).events[0].what {
                EventKind::ToolEnd { ok, .. } => ok,
                ref other => panic!("{other:?}"),
            }
        };
        let parts =
            json!({"name": "run_commands", "output": [{"success": true}, {"success": false}]});
        assert_eq!(ok(parts), Some(false));
        assert_eq!(ok(json!({"name": "editor", "output": {"success": true}})), Some(true));
        assert_eq!(ok(json!({"name": "editor", "error": "no", "output": null})), Some(false));
        assert_eq!(ok(json!({"name": "editor", "output": "text"})), None);
    }
}
