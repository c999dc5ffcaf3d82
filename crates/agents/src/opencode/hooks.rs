//! Parses events of opencode, sent by Retake's own plugin.
//!
//! # The wire
//! opencode has no command hooks; a plugin inside its process sends one JSON object per event.
//! The form is ours:
//!
//! | key | what | in |
//! |---|---|---|
//! | `hook_event_name` | see below | all |
//! | `session_id` | the **root** session: the conversation | all |
//! | `agent_id` | the session of the subagent | events of a subagent |
//! | `parent_id` | the session that started it; the root if absent | events of a subagent |
//! | `directory`, `worktree` | opencode's folders | all |
//! | `prompt` | the person's words | `chat.message` |
//! | `call_id`, `tool_name`, `tool_input` | the call | `tool.*` |
//! | `model` | the model's id | `tool.execute.before` |
//! | `ok`, `exit_code`, `error` | how it ended | `tool.execute.after`, `tool.error` |
//! | `shown` | what the read tool showed, without most of the lines | `chat.message`, `tool.execute.after` |
//! | `messages` | what `client.session.messages` returns | `session.idle` |
//!
//! Events: `session.created`, `chat.message`, `tool.execute.before`, `tool.execute.after`,
//! `tool.error` (opencode calls no `after` for a call that failed), `session.idle` (a turn ended)
//! and `session.deleted`. The replies are [`REPLIES`].
//!
//! The arguments of a plugin's hooks as they are (`input`, `output`, `event.properties`) are
//! understood as well; there a subagent's session stands alone, with no root.

use retake_model::{CallId, MAIN_AGENT, SeenFile};
use serde_json::{Value, json};

use super::{reads, transcript};
use crate::parse::{EventSource, HookAction, HookToolCall, Subagent, ToolOutcome};
use crate::reply::{HookFeedback, HookReplies};
use crate::wire::{self, HookPayload};
use crate::{AgentKind, HookMessage, HookParseError, HookPhase};

pub(crate) fn parse_hook(name: &str, payload: &HookPayload) -> Result<HookMessage, HookParseError> {
    let name = if name == "event" { payload.text(&["/type"]).unwrap_or(name) } else { name };
    let directory = payload.non_empty_text(&["/directory"]).map(str::to_owned);
    // Outside of a repository, opencode's worktree is the root of the file system.
    let worktree =
        payload.non_empty_text(&["/worktree"]).filter(|path| *path != "/").map(str::to_owned);
    let folder = worktree.or_else(|| directory.clone());
    let Some(action) = parse_action(name, payload)? else {
        return Ok(HookMessage::empty(folder));
    };
    let (dialog, subagent) = dialog_and_subagent(payload)?;
    let source = EventSource {
        kind: AgentKind::Opencode,
        dialog: dialog.into(),
        subagent,
        cwd: directory,
        model: payload.non_empty_text(&["/model"]).map(str::to_owned),
    };
    let mut message =
        HookMessage::from_action(&source, action, folder).with_reads(parse_reads(payload));
    if let Some(messages) = payload.at("/messages") {
        let parsed = transcript::parse_messages(messages);
        message.conversation = parsed.iter().map(|message| message.event_from(&source)).collect();
    }
    Ok(message)
}

/// Returns the files that opencode's read tool showed, for the model or a message.
fn parse_reads(payload: &HookPayload) -> Vec<SeenFile> {
    let list = |pointer| payload.at(pointer).and_then(Value::as_array).into_iter().flatten();
    let shown = list("/shown").filter_map(Value::as_str);
    let parts = list("/output/parts").filter(|part| wire::is_true(part, "/synthetic"));
    let parts = parts.filter_map(|part| wire::text(part, "/text"));
    let read = payload.text(&["/input/tool"]) == Some("read");
    let answer = payload.text(&["/output/output"]).filter(|_| read);
    shown.chain(parts).chain(answer).filter_map(reads::read_result).collect()
}

fn parse_action(name: &str, payload: &HookPayload) -> Result<Option<HookAction>, HookParseError> {
    Ok(Some(match name {
        "session.created" => HookAction::DialogStart,
        "chat.message" => {
            let sent = payload.text(&["/prompt"]).map(str::to_owned);
            let parts = || payload.at("/output/parts").map(transcript::spoken_text);
            HookAction::Prompt(sent.or_else(parts).ok_or(HookParseError::Missing("prompt"))?)
        }
        "tool.execute.before" => HookAction::Begin(parse_call(payload)?),
        "tool.execute.after" => {
            let ok = payload.flag("/ok").or_else(|| succeeded(payload));
            let exit = payload.at("/exit_code").or_else(|| payload.at("/output/metadata/exit"));
            let exit_code = exit.and_then(Value::as_i64);
            HookAction::End(parse_call(payload)?, ToolOutcome { ok, exit_code, task: None })
        }
        "tool.error" => HookAction::End(parse_call(payload)?, ToolOutcome::of(Some(false))),
        "session.idle" => HookAction::TurnEnd { background: vec![] },
        "session.deleted" => HookAction::DialogEnd,
        _ => return Ok(None),
    }))
}

/// The conversation, and the subagent with its parent.
fn dialog_and_subagent(payload: &HookPayload) -> Result<(&str, Option<Subagent>), HookParseError> {
    const SESSION_POINTERS: &[&str] =
        &["/session_id", "/event/properties/sessionID", "/input/sessionID"];
    let session = payload.require(SESSION_POINTERS)?;
    if let Some(parent) = payload.non_empty_text(&["/event/properties/info/parentID"]) {
        return Ok((parent, Some(Subagent::of_main(session))));
    }
    let Some(child) = payload.non_empty_text(&["/agent_id"]).filter(|child| *child != session)
    else {
        return Ok((session, None));
    };
    let parent = payload.non_empty_text(&["/parent_id"]).filter(|parent| *parent != session);
    let parent = parent.unwrap_or(MAIN_AGENT).into();
    Ok((session, Some(Subagent { id: child.into(), parent })))
}

fn parse_call(payload: &HookPayload) -> Result<HookToolCall, HookParseError> {
    Ok(HookToolCall {
        id: payload.non_empty_text(&["/call_id", "/input/callID"]).map(CallId::from),
        tool: payload.require(&["/tool_name", "/input/tool"])?.to_owned(),
        input: payload.arguments(&["/tool_input", "/input/args", "/output/args"]),
    })
}

/// `after` is called only for calls that did not throw; a server's tool and a shell say more.
fn succeeded(payload: &HookPayload) -> Option<bool> {
    let output = payload.at("/output")?;
    let exit = output.pointer("/metadata/exit").and_then(Value::as_i64).unwrap_or(0);
    Some(exit == 0 && !wire::is_true(output, "/isError"))
}

/// The form is ours: the plugin carries it out.
pub(crate) const REPLIES: HookReplies = HookReplies {
    feedback: HookFeedback::Denials,
    deny,
    note: Some(note),
    has_notes_after_calls: false,
    hand_back: None,
    proceed: None,
};

fn deny(reason: &str) -> Value {
    json!({"deny": reason})
}

fn note(_: HookPhase, text: &str) -> Value {
    json!({"note": text})
}

#[cfg(test)]
mod tests {
    use retake_model::EventKind;
    use serde_json::{Value, json};

    use crate::{AgentKind, HookMessage, parse_hook};

    fn parse(payload: &Value) -> HookMessage {
        parse_hook(AgentKind::Opencode, None, payload.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_child_session_is_a_subagent_of_who_started_it() {
        let begin = |agent: Value, parent: Value| {
            let payload = json!({"hook_event_name": "tool.execute.before", "session_id": "root",
                "agent_id": agent, "parent_id": parent, "call_id": "c", "tool_name": "bash"});
            let event = parse(&payload).events.remove(0);
            (event.dialog.0, event.agent.map(|id| id.0), event.parent.map(|id| id.0))
        };
        let expected = |agent: Option<&str>, parent: Option<&str>| {
            ("root".to_owned(), agent.map(str::to_owned), parent.map(str::to_owned))
        };
        assert_eq!(begin(Value::Null, Value::Null), expected(None, None));
        assert_eq!(begin(json!("root"), Value::Null), expected(None, None));
        assert_eq!(begin(json!("a"), json!("root")), expected(Some("a"), Some("main")));
        assert_eq!(begin(json!("b"), json!("a")), expected(Some("b"), Some("a")));
    }

    #[test]
    fn a_deleted_child_does_not_end_the_dialog() {
        let deleted = |agent: Value| {
            let payload = json!({"hook_event_name": "session.deleted", "session_id": "root",
                "agent_id": agent});
            parse(&payload).events[0].name()
        };
        assert_eq!(deleted(Value::Null), "dialog_end");
        assert_eq!(deleted(json!("a")), "turn_end");
    }

    #[test]
    fn outside_of_a_repository_the_folder_is_the_directory() {
        let folder = |worktree: &str| {
            let payload = json!({"hook_event_name": "session.created", "session_id": "s",
                "directory": "/home/dev/notes", "worktree": worktree});
            parse(&payload).folder.unwrap()
        };
        assert_eq!(folder("/"), "/home/dev/notes");
        assert_eq!(folder("/home/dev"), "/home/dev");
    }

    #[test]
    fn an_idle_session_brings_its_conversation() {
        let payload = json!({"hook_event_name": "session.idle", "session_id": "s", "messages": [
            {"info": {"role": "user"}, "parts": [{"type": "text", "text": "go"}]},
            {"info": {"role": "assistant"}, "parts": [
                {"type": "step-start"}, {"type": "text", "text": "yes"},
                {"type": "tool", "callID": "c1", "tool": "bash", "state": {"input": {}}}]},
        ]});
        let message = parse(&payload);
        assert_eq!(message.events[0].name(), "turn_end");
        let indices: Vec<_> =
            message.conversation.iter().map(|event| event.message_index).collect();
        assert_eq!(indices, [Some(0), Some(1)]);
        assert!(matches!(&message.conversation[1].what,
            EventKind::AssistantMessage { text, calls }
                if text == "yes" && calls[0].call == Some("c1".into())));
    }
}
