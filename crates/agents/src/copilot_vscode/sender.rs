//! Tells payloads of VS Code apart from those of the agents whose hook settings it runs.
//!
//! Invariant: a payload that Claude Code or Copilot CLI is known to send is theirs; only what has
//! the marks of VS Code is taken for its.

use crate::AgentKind;
use crate::wire::{self, HookPayload};

/// Tools that only VS Code has.
const OWN_TOOLS: [&str; 10] = [
    "create_file",
    "replace_string_in_file",
    "multi_replace_string_in_file",
    "insert_edit_into_file",
    "edit_notebook_file",
    "create_directory",
    "run_in_terminal",
    "get_terminal_output",
    "manage_todo_list",
    "get_errors",
];

/// Returns the agent that sent a payload to the hook that is set up for `configured`.
pub fn sending_agent(configured: AgentKind, payload: &[u8]) -> AgentKind {
    let is_shared = matches!(configured, AgentKind::ClaudeCode | AgentKind::Copilot);
    // Cheap, before the payload is parsed: neither a large one nor that of Claude Code pays.
    let has_mark = || contains(payload, b"\"timestamp\"");
    if !is_shared || !has_mark() {
        return configured;
    }
    match HookPayload::parse(payload) {
        Ok(payload) if is_from_vscode(configured, &payload) => AgentKind::CopilotVscode,
        _ => configured,
    }
}

/// Returns a key that is the same for one event of VS Code, whichever of the hook settings brought
/// it: if both Claude Code and Copilot CLI are set up, VS Code runs both hooks with one payload.
/// `None` for other agents, whose payloads have no such mark.
pub fn payload_key(agent: AgentKind, payload: &[u8]) -> Option<String> {
    if agent != AgentKind::CopilotVscode {
        return None;
    }
    let payload = HookPayload::parse(payload).ok()?;
    let part = |pointers: &[&str]| payload.text(pointers).unwrap_or_default().to_owned();
    let parts = [
        part(&["/session_id", "/sessionId"]),
        part(&["/hook_event_name", "/hookEventName"]),
        part(&["/timestamp"]),
        part(&["/tool_use_id"]),
        part(&["/agent_id"]),
        part(&["/prompt"]),
    ];
    Some(format!("vscode-{:016x}", wire::fingerprint(&parts.join("\0"))))
}

fn is_from_vscode(configured: AgentKind, payload: &HookPayload) -> bool {
    let is_iso = |text: &str| text.len() >= 20 && text.as_bytes().get(10) == Some(&b'T');
    if !payload.text(&["/timestamp"]).is_some_and(is_iso)
        || payload.at("/permission_mode").is_some()
        || payload.at("/prompt_id").is_some()
    {
        return false;
    }
    if payload.non_empty_text(&["/hookEventName"]).is_some() {
        return true;
    }
    let transcript = payload.non_empty_text(&["/transcript_path"]);
    if payload.non_empty_text(&["/hook_event_name"]).is_none()
        || transcript.is_some_and(is_in_other_agents_folder)
    {
        return false;
    }
    match configured {
        // Copilot CLI sends the same keys, but ids of calls and a transcript of another place.
        AgentKind::Copilot => {
            let is_own_tool = |tool: &str| OWN_TOOLS.contains(&tool);
            payload.non_empty_text(&["/tool_use_id"]).is_some()
                || payload.text(&["/tool_name"]).is_some_and(is_own_tool)
                || transcript.is_some()
        }
        _ => true,
    }
}

/// Claude Code and Copilot CLI keep transcripts in their own folders.
fn is_in_other_agents_folder(path: &str) -> bool {
    let parts = path.split(['/', '\\']);
    parts.into_iter().any(|part| matches!(part, ".claude" | ".copilot" | "session-state"))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn sender(configured: AgentKind, payload: &Value) -> AgentKind {
        sending_agent(configured, payload.to_string().as_bytes())
    }

    fn vscode_payload() -> Value {
        json!({
            "timestamp": "2026-02-09T10:30:00.000Z",
            "hook_event_name": "PreToolUse",
            "session_id": "s",
            "transcript_path": "/home/dev/.config/Code/User/workspaceStorage/1/transcripts/s.jsonl",
            "tool_name": "create_file",
            "tool_input": {"filePath": "/p/a", "content": ""},
            "tool_use_id": "t",
        })
    }

    #[test]
    fn a_payload_of_vscode_is_known_under_both_settings_and_no_others() {
        let payload = vscode_payload();
        for configured in [AgentKind::ClaudeCode, AgentKind::Copilot] {
            assert_eq!(sender(configured, &payload), AgentKind::CopilotVscode);
        }
        assert_eq!(sender(AgentKind::Codex, &payload), AgentKind::Codex);
        let mut early = payload.clone();
        early["hookEventName"] = early["hook_event_name"].take();
        early["sessionId"] = early["session_id"].take();
        assert_eq!(sender(AgentKind::Copilot, &early), AgentKind::CopilotVscode);
    }

    #[test]
    fn what_claude_code_sends_stays_its_own() {
        for (key, value) in [
            ("permission_mode", json!("default")),
            ("prompt_id", json!("p")),
            ("transcript_path", json!("/home/dev/.claude/projects/p/s.jsonl")),
            ("timestamp", json!(1_794_768_753_695_u64)),
        ] {
            let mut payload = vscode_payload();
            payload[key] = value;
            assert_eq!(sender(AgentKind::ClaudeCode, &payload), AgentKind::ClaudeCode, "{key}");
        }
    }

    #[test]
    fn one_event_has_one_key_whatever_folder_it_is_told_from() {
        let key = |payload: &Value| {
            payload_key(AgentKind::CopilotVscode, payload.to_string().as_bytes()).unwrap()
        };
        let payload = vscode_payload();
        let mut elsewhere = payload.clone();
        elsewhere["cwd"] = "/p".into();
        assert_eq!(key(&payload), key(&elsewhere));
        let mut later = payload.clone();
        later["timestamp"] = "2026-02-09T10:30:00.001Z".into();
        assert_ne!(key(&payload), key(&later));
        assert_eq!(payload_key(AgentKind::Copilot, b"{}"), None);
    }
}
