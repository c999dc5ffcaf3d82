//! Parses hooks of Copilot in VS Code. **Untested: from its documentation.**
//!
//! Payloads have the event names and keys of Claude Code, with an ISO 8601 `timestamp`; early
//! versions write `hookEventName` and `sessionId`. Tools are VS Code's own (`create_file`,
//! `replace_string_in_file`, `run_in_terminal`), with arguments in camelCase. Matchers are
//! ignored, so every tool is reported. `PostToolUse` comes only for calls that succeeded, and
//! `Stop` after each execution, which is a turn.

use crate::claude_code::hooks::{deny, note, parse_call};
use crate::parse::{EventSource, HookAction, Subagent, ToolOutcome};
use crate::reply::{HookFeedback, HookReplies};
use crate::wire::HookPayload;
use crate::{AgentKind, HookMessage, HookParseError};

pub(crate) fn parse_hook(name: &str, payload: &HookPayload) -> Result<HookMessage, HookParseError> {
    let cwd = payload.non_empty_text(&["/cwd"]).map(str::to_owned);
    let Some(action) = parse_action(name, payload)? else {
        return Ok(HookMessage::empty(cwd));
    };
    let source = EventSource {
        kind: AgentKind::CopilotVscode,
        dialog: payload.require(&["/session_id", "/sessionId"])?.into(),
        subagent: payload.non_empty_text(&["/agent_id"]).map(Subagent::of_main),
        cwd: cwd.clone(),
        // The payload does not name it.
        model: None,
    };
    Ok(HookMessage::from_action(&source, action, cwd))
}

fn parse_action(name: &str, payload: &HookPayload) -> Result<Option<HookAction>, HookParseError> {
    Ok(Some(match name {
        "UserPromptSubmit" => {
            let prompt = payload.text(&["/prompt"]).ok_or(HookParseError::Missing("prompt"))?;
            HookAction::Prompt(prompt.to_owned())
        }
        "PreToolUse" => HookAction::Begin(parse_call(payload)?),
        "PostToolUse" => HookAction::End(
            parse_call(payload)?,
            ToolOutcome { ok: Some(true), task: None, exit_code: None },
        ),
        "SubagentStart" => {
            payload.require(&["/agent_id"])?;
            HookAction::DialogStart
        }
        "SubagentStop" => {
            payload.require(&["/agent_id"])?;
            HookAction::TurnEnd { background: vec![] }
        }
        "Stop" => HookAction::TurnEnd { background: vec![] },
        // `SessionStart` belongs to the first prompt, and its order against that one is not
        // documented: a start after the message would end its turn.
        _ => return Ok(None),
    }))
}

/// VS Code reads a denial and a note in the form of Claude Code.
pub(crate) const REPLIES: HookReplies = HookReplies {
    feedback: HookFeedback::Denials,
    deny,
    note: Some(note),
    has_notes_after_calls: false,
    hand_back: None,
    proceed: None,
};
