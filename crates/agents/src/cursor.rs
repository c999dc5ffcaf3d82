//! Parses hooks of Cursor. **Untested: from its documentation.**
//!
//! Events are in camelCase; every payload has `conversation_id`, `hook_event_name` and
//! `workspace_roots`. The general `preToolUse` and `postToolUse` cover what the special events
//! (shell, MCP) also tell: register one kind or the other, not both. `afterFileEdit` has no begin.
//! The form of the file at `transcript_path` is not documented, so it is not read.

use retake_model::{CallId, Sight};
use serde_json::{Map, Value};

use crate::heard::{Act, Call, Outcome, Voice};
use crate::wire::{self, Payload};
use crate::{Agent, Heard, Misheard, sight};

pub(crate) fn hear(name: &str, payload: &Payload) -> Result<Heard, Misheard> {
    let folder = payload.id(&["/workspace_roots/0", "/cwd"]).map(str::to_owned);
    let Some(act) = act(name, payload)? else {
        return Ok(Heard::nothing(folder));
    };
    let voice = Voice {
        kind: Agent::Cursor,
        dialog: payload.require(&["/conversation_id", "/session_id"])?.into(),
        subagent: None,
        cwd: payload.id(&["/cwd", "/workspace_roots/0"]).map(str::to_owned),
    };
    Ok(Heard::told(&voice, act, folder).with_saw(attached(payload)))
}

/// The files that a message carries; rules are not files of the project that it is about.
fn attached(payload: &Payload) -> Vec<Sight> {
    let attachments = payload.at("/attachments").and_then(Value::as_array).into_iter().flatten();
    let files = attachments.filter(|one| wire::text(one, "/type") == Some("file"));
    let path = |one| wire::text(one, "/file_path").or_else(|| wire::text(one, "/filePath"));
    files.filter_map(path).map(sight::included).collect()
}

fn act(name: &str, payload: &Payload) -> Result<Option<Act>, Misheard> {
    let ended = |call, ok| Act::End(call, Outcome { ok, task: None });
    Ok(Some(match name {
        "sessionStart" => Act::Start,
        "beforeSubmitPrompt" => {
            let prompt = payload.text(&["/prompt"]).ok_or(Misheard::Missing("prompt"))?;
            Act::Prompt(prompt.to_owned())
        }
        "preToolUse" | "beforeMCPExecution" => Act::Begin(call(payload)?),
        "postToolUse" => ended(call(payload)?, Some(true)),
        "postToolUseFailure" => ended(call(payload)?, Some(false)),
        "afterMCPExecution" => ended(call(payload)?, None),
        "beforeShellExecution" => Act::Begin(of_keys(payload, "Shell", &["command", "cwd"])),
        "afterShellExecution" => ended(of_keys(payload, "Shell", &["command", "cwd"]), None),
        "afterFileEdit" => {
            ended(of_keys(payload, "edit_file", &["file_path", "edits"]), Some(true))
        }
        "stop" => Act::TurnEnd { background: vec![] },
        "sessionEnd" => Act::Finish,
        _ => return Ok(None),
    }))
}

fn call(payload: &Payload) -> Result<Call, Misheard> {
    Ok(Call {
        id: payload.id(&["/tool_use_id"]).map(CallId::from),
        tool: payload.require(&["/tool_name"])?.to_owned(),
        input: payload.arguments(&["/tool_input"]),
    })
}

/// A special event is a call whose arguments lie in the payload itself.
fn of_keys(payload: &Payload, tool: &str, keys: &[&str]) -> Call {
    let value = |key: &&str| Some(((*key).to_owned(), payload.at(&format!("/{key}"))?.clone()));
    let input: Map<String, Value> = keys.iter().filter_map(value).collect();
    Call { id: None, tool: tool.to_owned(), input: Value::Object(input) }
}
