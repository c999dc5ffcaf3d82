//! Parses hooks of Gemini CLI.
//!
//! Calls have no ids and subagents no names: an end belongs to the begin with the same tool and
//! arguments, and a subagent's calls are the main agent's. `AfterTool` comes for failures, too.

use retake_model::Sight;
use serde_json::Value;

use crate::heard::{Act, Call, Outcome, Voice};
use crate::wire::Payload;
use crate::{Agent, Heard, Misheard, TranscriptPlace, sight};

pub(crate) fn hear(name: &str, payload: &Payload) -> Result<Heard, Misheard> {
    let cwd = payload.id(&["/cwd"]).map(str::to_owned);
    let Some(act) = act(name, payload)? else {
        return Ok(Heard::nothing(cwd));
    };
    let dialog = payload.require(&["/session_id"])?.into();
    let voice = Voice { kind: Agent::Gemini, dialog, subagent: None, cwd: cwd.clone() };
    let path = payload.id(&["/transcript_path"]).map(str::to_owned);
    Ok(Heard::told(&voice, act, cwd)
        .with_transcript(path.map(|path| TranscriptPlace { path, agent: None }))
        .with_said(payload.text(&["/prompt_response"]))
        .with_saw(saw(payload)))
}

/// Returns the files inlined in the prompt, or that `read_file` returned.
fn saw(payload: &Payload) -> Vec<Sight> {
    if let Some(prompt) = payload.text(&["/prompt"]) {
        return sight::written_into(prompt);
    }
    if payload.text(&["/tool_name"]) != Some("read_file") {
        return Vec::new();
    }
    let path = payload.id(&["/tool_input/file_path", "/tool_input/absolute_path"]);
    let answer = payload.text(&["/tool_response/llmContent"]);
    path.zip(answer).and_then(|(path, answer)| sight::of_gemini(path, answer)).into_iter().collect()
}

fn act(name: &str, payload: &Payload) -> Result<Option<Act>, Misheard> {
    Ok(Some(match name {
        "SessionStart" => Act::Start,
        "BeforeAgent" => {
            let prompt = payload.text(&["/prompt"]).ok_or(Misheard::Missing("prompt"))?;
            Act::Prompt(prompt.to_owned())
        }
        "BeforeTool" => Act::Begin(call(payload)?),
        "AfterTool" => Act::End(call(payload)?, outcome(payload)),
        "AfterAgent" => Act::TurnEnd { background: vec![] },
        "SessionEnd" => Act::Finish,
        _ => return Ok(None),
    }))
}

fn call(payload: &Payload) -> Result<Call, Misheard> {
    let tool = payload.require(&["/tool_name"])?.to_owned();
    Ok(Call { id: None, tool, input: payload.arguments(&["/tool_input"]) })
}

fn outcome(payload: &Payload) -> Outcome {
    let error = payload.at("/tool_response/error").filter(|error| !error.is_null());
    let ok = payload.at("/tool_response").map(|_: &Value| error.is_none());
    Outcome { ok, task: None }
}

#[cfg(test)]
mod tests {
    use retake_model::EventKind;
    use serde_json::{Value, json};

    use crate::{Agent, hear};

    #[test]
    fn an_error_in_the_response_is_a_failure() {
        let ok = |response: Value| {
            let payload = json!({"hook_event_name": "AfterTool", "session_id": "s",
                "tool_name": "replace", "tool_response": response});
            let heard = hear(Agent::Gemini, None, payload.to_string().as_bytes()).unwrap();
            match heard.events[0].what {
                EventKind::ToolEnd { ok, .. } => ok,
                ref other => panic!("{other:?}"),
            }
        };
        assert_eq!(ok(json!({"llmContent": "done"})), Some(true));
        assert_eq!(ok(json!({"error": null})), Some(true));
        assert_eq!(ok(json!({"error": {"message": "no"}})), Some(false));
    }
}
