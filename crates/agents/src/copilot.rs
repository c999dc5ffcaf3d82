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

use crate::heard::{Act, Call, Outcome, Subagent, Voice};
use crate::wire::{self, Payload};
use crate::{Agent, Heard, Misheard, TranscriptPlace};

pub(crate) fn hear(name: &str, payload: &Payload) -> Result<Heard, Misheard> {
    let cwd = payload.id(&["/cwd"]).map(str::to_owned);
    let Some(act) = act(name, payload)? else {
        return Ok(Heard::nothing(cwd));
    };
    let session = payload.require(&["/session_id", "/sessionId"])?;
    let (dialog, subagent) = match payload.id(&["/agent_id"]) {
        None => (session, None),
        Some(agent) => {
            let parent = payload.require(&["/parent_agent_id"])?;
            (parent, Some(Subagent::of_main(agent)))
        }
    };
    // What subagents say stands in the transcript of the dialog, which is read with its own turns.
    let place = if subagent.is_none() { transcript(payload, dialog) } else { None };
    let voice = Voice { kind: Agent::Copilot, dialog: dialog.into(), subagent, cwd: cwd.clone() };
    Ok(Heard::told(&voice, act, cwd).with_transcript(place))
}

/// The name that the transcript has for a tool which a hook may call otherwise.
pub(crate) fn native_tool(name: &str) -> &str {
    match name {
        "Write" => "create",
        "Edit" => "edit",
        "Bash" => "bash",
        "Read" => "view",
        "Agent" => "task",
        other => other,
    }
}

fn act(name: &str, payload: &Payload) -> Result<Option<Act>, Misheard> {
    Ok(Some(match name {
        "userPromptSubmitted" | "UserPromptSubmitted" | "UserPromptSubmit" => {
            let prompt = payload.text(&["/prompt"]).ok_or(Misheard::Missing("prompt"))?;
            Act::Prompt(prompt.to_owned())
        }
        "preToolUse" | "PreToolUse" => Act::Begin(call(payload)?),
        "postToolUse" | "PostToolUse" => Act::End(call(payload)?, outcome(payload)),
        "postToolUseFailure" | "PostToolUseFailure" => {
            Act::End(call(payload)?, Outcome { ok: Some(false), task: None })
        }
        "subagentStart" | "SubagentStart" => {
            payload.require(&["/agent_id"])?;
            Act::Start
        }
        "subagentStop" | "SubagentStop" => {
            payload.require(&["/agent_id"])?;
            Act::TurnEnd { background: vec![] }
        }
        "agentStop" | "AgentStop" | "Stop" => Act::TurnEnd { background: vec![] },
        "sessionEnd" | "SessionEnd" => Act::Finish,
        // The start of a session may arrive after its first message, and would end that turn.
        _ => return Ok(None),
    }))
}

fn call(payload: &Payload) -> Result<Call, Misheard> {
    let tool = payload.require(&["/tool_name", "/toolName"])?;
    let input = payload.arguments(&["/tool_input", "/toolArgs", "/toolInput"]);
    Ok(Call { id: None, tool: native_tool(tool).to_owned(), input })
}

fn outcome(payload: &Payload) -> Outcome {
    let kind = payload.id(&[
        "/toolResult/resultType",
        "/tool_result/resultType",
        "/tool_result/result_type",
        "/tool_response/resultType",
    ]);
    let shown = payload.text(&["/toolResult/textResultForLlm", "/tool_result/text_result_for_llm"]);
    // A file that is too large is refused with success.
    let refused = shown.is_some_and(|text| text.starts_with("File too large to read at once"));
    Outcome { ok: kind.map(|kind| kind == "success" && !refused), task: None }
}

fn transcript(payload: &Payload, id: &str) -> Option<TranscriptPlace> {
    let told = payload.id(&["/transcript_path", "/transcriptPath"]).map(str::to_owned);
    let usual =
        || wire::names_a_file(id).then(|| format!("~/.copilot/session-state/{id}/events.jsonl"));
    told.or_else(usual).map(|path| TranscriptPlace { path, agent: None })
}

#[cfg(test)]
mod tests {
    use retake_model::EventKind;

    use crate::{Agent, hear};

    #[test]
    fn both_spellings_are_one_call() {
        let camel =
            br#"{"sessionId":"s","cwd":"/p","toolName":"create","toolArgs":"{\"path\":\"a\"}"}"#;
        let pascal = br#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/p","tool_name":"Write","tool_input":{"path":"a"}}"#;
        let camel = hear(Agent::Copilot, Some("preToolUse"), camel).unwrap();
        let pascal = hear(Agent::Copilot, None, pascal).unwrap();
        assert_eq!(camel, pascal);
        assert!(matches!(&camel.events[0].what,
            EventKind::ToolBegin { tool, input, .. } if tool == "create" && input["path"] == "a"));
    }

    #[test]
    fn a_start_that_comes_late_ends_nothing() {
        let payload = br#"{"sessionId":"s","cwd":"/p","source":"new","initialPrompt":"x"}"#;
        for name in ["sessionStart", "SessionStart"] {
            assert!(hear(Agent::Copilot, Some(name), payload).unwrap().events.is_empty());
        }
        // Without the subagent's name it would end the main agent's turn.
        assert!(hear(Agent::Copilot, Some("SubagentStop"), payload).is_err());
    }

    #[test]
    fn a_subagent_acts_in_the_dialog_that_started_it() {
        let payload = br#"{"hook_event_name":"PreToolUse","session_id":"a1","cwd":"/p",
            "agent_id":"a1","agent_type":"general-purpose","parent_agent_id":"s1",
            "tool_name":"Bash","tool_input":{"command":"make"}}"#;
        let event = hear(Agent::Copilot, None, payload).unwrap().events.remove(0);
        assert_eq!((event.dialog.0.as_str(), event.name()), ("s1", "tool_begin"));
        assert_eq!(event.agent, Some("a1".into()));
        assert_eq!(event.parent, Some("main".into()));
        let stop = br#"{"sessionId":"s1","cwd":"/p","agent_id":"a1","parent_agent_id":"s1"}"#;
        let event = hear(Agent::Copilot, Some("SubagentStop"), stop).unwrap().events.remove(0);
        assert_eq!((event.agent, event.what.clone()), (Some("a1".into()), TURN_END));
    }

    const TURN_END: EventKind = EventKind::TurnEnd { background: Vec::new() };

    #[test]
    fn a_path_is_built_only_from_a_plain_id() {
        let path = |id: &str| {
            let payload = serde_json::json!({"sessionId": id, "prompt": "hi"}).to_string();
            let heard = hear(Agent::Copilot, Some("userPromptSubmitted"), payload.as_bytes());
            heard.unwrap().transcript.map(|place| place.path)
        };
        let usual = "~/.copilot/session-state/3c66/events.jsonl";
        assert_eq!(path("3c66").as_deref(), Some(usual));
        assert_eq!(path("../../etc"), None);
    }
}
