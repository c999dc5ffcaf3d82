//! Parses hooks of Gemini CLI.
//!
//! Calls have no ids and subagents no names: an end belongs to the begin with the same tool and
//! arguments, and a subagent's calls are the main agent's. `AfterTool` comes for failures, too.

use retake_model::SeenFile;
use serde_json::{Value, json};

use super::reads;
use crate::parse::{EventSource, HookAction, HookToolCall, ToolOutcome};
use crate::reply::{HookFeedback, HookReplies, added_context};
use crate::wire::HookPayload;
use crate::{AgentKind, HookMessage, HookParseError, HookPhase, TranscriptLocation};

pub(crate) fn parse_hook(name: &str, payload: &HookPayload) -> Result<HookMessage, HookParseError> {
    let cwd = payload.non_empty_text(&["/cwd"]).map(str::to_owned);
    let Some(action) = parse_action(name, payload)? else {
        return Ok(HookMessage::empty(cwd));
    };
    let dialog = payload.require(&["/session_id"])?.into();
    let source = EventSource {
        kind: AgentKind::Gemini,
        dialog,
        subagent: None,
        cwd: cwd.clone(),
        model: None,
    };
    let path = payload.non_empty_text(&["/transcript_path"]).map(str::to_owned);
    Ok(HookMessage::from_action(&source, action, cwd)
        .with_transcript(path.map(|path| TranscriptLocation { path, agent: None }))
        .with_last_words(payload.text(&["/prompt_response"]))
        .with_reads(parse_reads(payload)))
}

/// Returns the files inlined in the prompt, or that `read_file` returned.
fn parse_reads(payload: &HookPayload) -> Vec<SeenFile> {
    if let Some(prompt) = payload.text(&["/prompt"]) {
        return reads::inlined_files(prompt);
    }
    if payload.text(&["/tool_name"]) != Some("read_file") {
        return Vec::new();
    }
    let path = payload.non_empty_text(&["/tool_input/file_path", "/tool_input/absolute_path"]);
    let answer = payload.text(&["/tool_response/llmContent"]);
    path.zip(answer)
        .and_then(|(path, answer)| reads::read_result(path, answer))
        .into_iter()
        .collect()
}

fn parse_action(name: &str, payload: &HookPayload) -> Result<Option<HookAction>, HookParseError> {
    Ok(Some(match name {
        "SessionStart" => HookAction::DialogStart,
        "BeforeAgent" => {
            let prompt = payload.text(&["/prompt"]).ok_or(HookParseError::Missing("prompt"))?;
            HookAction::Prompt(prompt.to_owned())
        }
        "BeforeTool" => HookAction::Begin(parse_call(payload)?),
        "AfterTool" => HookAction::End(parse_call(payload)?, parse_outcome(payload)),
        "AfterAgent" => HookAction::TurnEnd { background: vec![] },
        "SessionEnd" => HookAction::DialogEnd,
        _ => return Ok(None),
    }))
}

fn parse_call(payload: &HookPayload) -> Result<HookToolCall, HookParseError> {
    let tool = payload.require(&["/tool_name"])?.to_owned();
    Ok(HookToolCall { id: None, tool, input: payload.arguments(&["/tool_input"]) })
}

fn parse_outcome(payload: &HookPayload) -> ToolOutcome {
    let error = payload.at("/tool_response/error").filter(|error| !error.is_null());
    let ok = payload.at("/tool_response").map(|_: &Value| error.is_none());
    ToolOutcome::of(ok)
}

pub(crate) const REPLIES: HookReplies = HookReplies {
    // It ignores what `BeforeTool` adds.
    feedback: HookFeedback::DenialsAndLateNotes,
    deny,
    note: Some(note),
    has_notes_after_calls: true,
    hand_back: None,
    proceed: None,
};

fn deny(reason: &str) -> Value {
    json!({"decision": "deny", "reason": reason})
}

fn note(phase: HookPhase, text: &str) -> Value {
    let event = if phase == HookPhase::End { "AfterTool" } else { "BeforeAgent" };
    added_context(event, text)
}

#[cfg(test)]
mod tests {
    use retake_model::EventKind;
    use serde_json::{Value, json};

    use crate::{AgentKind, parse_hook};

    #[test]
    fn an_error_in_the_response_is_a_failure() {
        let ok = |response: Value| {
            let payload = json!({"hook_event_name": "AfterTool", "session_id": "s",
                "tool_name": "replace", "tool_response": response});
            let message =
                parse_hook(AgentKind::Gemini, None, payload.to_string().as_bytes()).unwrap();
            match message.events[0].what {
                EventKind::ToolEnd { ok, .. } => ok,
                ref other => panic!("{other:?}"),
            }
        };
        assert_eq!(ok(json!({"llmContent": "done"})), Some(true));
        assert_eq!(ok(json!({"error": null})), Some(true));
        assert_eq!(ok(json!({"error": {"message": "no"}})), Some(false));
    }
}
