//! Maps the calls of a script to the tools that an agent really has.

use std::path::Path;

use serde_json::{Value, json};

use super::conversation::ModelRequest;
use crate::agent::AgentCli;
use crate::script::{ScriptCall, marker};

/// A call of a tool.
#[derive(Debug, PartialEq)]
pub(crate) struct AgentToolCall {
    pub(crate) tool: String,
    pub(crate) input: ToolInput,
    /// Where the wire groups tools: the group it is in.
    pub(crate) group: Option<&'static str>,
}

/// The arguments of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToolInput {
    /// Named arguments.
    Named(Value),
    /// Free text, which some tools of Codex take.
    Text(String),
}

/// The context of the mapping, besides the call.
pub(crate) struct ToolContext<'s> {
    pub(crate) agent: AgentCli,
    pub(crate) asked: &'s ModelRequest,
    /// The project's folder.
    pub(crate) root: &'s Path,
    /// The whole request, for ids that only an earlier answer tells.
    pub(crate) body: &'s Value,
}

impl AgentToolCall {
    fn named(tool: &str, input: Value) -> Self {
        Self { tool: tool.to_owned(), input: ToolInput::Named(input), group: None }
    }

    fn text(tool: &str, input: String) -> Self {
        Self { tool: tool.to_owned(), input: ToolInput::Text(input), group: None }
    }

    fn of(self, group: &'static str) -> Self {
        Self { group: Some(group), ..self }
    }
}

impl ToolContext<'_> {
    fn path(&self, relative: &str) -> String {
        self.root.join(relative).to_string_lossy().into_owned()
    }

    /// Maps a call on the agent's tools.
    pub(crate) fn tool_call(&self, call: &ScriptCall) -> AgentToolCall {
        match call {
            ScriptCall::Raw { tool, input: Value::String(text) } => {
                return AgentToolCall::text(tool, text.clone());
            }
            ScriptCall::Raw { tool, input } => return AgentToolCall::named(tool, input.clone()),
            _ => {}
        }
        match self.agent {
            AgentCli::ClaudeCode => self.claude(call),
            AgentCli::Codex => self.codex(call),
            AgentCli::Gemini => self.gemini(call),
            AgentCli::Opencode => self.opencode(call),
            AgentCli::Copilot => self.copilot(call),
            AgentCli::Cline => self.cline(call),
        }
    }

    fn claude(&self, call: &ScriptCall) -> AgentToolCall {
        let named = AgentToolCall::named;
        match call {
            ScriptCall::Write { path, content } => {
                named("Write", json!({ "file_path": self.path(path), "content": content }))
            }
            ScriptCall::Edit { path, old, new } => named(
                "Edit",
                json!({ "file_path": self.path(path), "old_string": old, "new_string": new }),
            ),
            ScriptCall::Read { path } => named("Read", json!({ "file_path": self.path(path) })),
            ScriptCall::Spawn { name, .. } => named(
                "Agent",
                json!({ "description": name, "prompt": subagent_prompt(name), "subagent_type": "general-purpose" }),
            ),
            ScriptCall::Background { command } => named(
                "Bash",
                json!({ "command": command, "description": "Go on", "run_in_background": true }),
            ),
            // It gets a message when a task ends; a pause lets that arrive.
            ScriptCall::Wait => self.claude(&ScriptCall::Shell { command: "sleep 2".to_owned() }),
            _ => named("Bash", json!({ "command": shell_command(call), "description": "Run" })),
        }
    }

    fn codex(&self, call: &ScriptCall) -> AgentToolCall {
        match call {
            ScriptCall::Write { .. } | ScriptCall::Edit { .. } | ScriptCall::Delete { .. } => {
                AgentToolCall::text("apply_patch", self.patch(call))
            }
            // A command that does not end within the yield time goes on by itself.
            ScriptCall::Background { command } => AgentToolCall::named(
                "exec_command",
                json!({ "cmd": command, "yield_time_ms": 250 }),
            ),
            ScriptCall::Spawn { name, .. } if self.asked.offers("spawn_agent") => {
                let name_there = name.replace('-', "_");
                let input = json!({ "task_name": name_there, "message": subagent_prompt(name) });
                AgentToolCall::named("spawn_agent", input).of("collaboration")
            }
            ScriptCall::Spawn { name, .. } => {
                AgentToolCall::named("spawn_agent", json!({ "message": subagent_prompt(name) }))
                    .of("multi_agent_v1")
            }
            ScriptCall::Wait => self.codex_wait(),
            _ => AgentToolCall::named("exec_command", json!({ "cmd": shell_command(call) })),
        }
    }

    /// Codex is asked about each thing that it runs by the id it gave it.
    fn codex_wait(&self) -> AgentToolCall {
        let body = self.body.to_string();
        let session = number_after(&body, "running with session ID ")
            .or_else(|| number_after(&body, r#"\"session_id\":"#));
        if let Some(session) = session {
            let input = json!({ "session_id": session, "chars": "", "yield_time_ms": 5_000 });
            return AgentToolCall::named("write_stdin", input);
        }
        if self.asked.offers("wait_agent") {
            return AgentToolCall::named("wait_agent", json!({ "timeout_ms": 30_000 }))
                .of("collaboration");
        }
        let targets = ids_after(&body, r#"agent_id\":\""#);
        let input = json!({ "targets": targets, "timeout_ms": 30_000 });
        AgentToolCall::named("wait_agent", input).of("multi_agent_v1")
    }

    fn gemini(&self, call: &ScriptCall) -> AgentToolCall {
        let named = AgentToolCall::named;
        match call {
            ScriptCall::Write { path, content } => {
                named("write_file", json!({ "file_path": self.path(path), "content": content }))
            }
            ScriptCall::Edit { path, old, new } => named(
                "replace",
                json!({ "file_path": self.path(path), "instruction": "Change it.", "old_string": old, "new_string": new }),
            ),
            ScriptCall::Read { path } => {
                named("read_file", json!({ "file_path": self.path(path) }))
            }
            ScriptCall::Background { command } => named(
                "run_shell_command",
                json!({ "command": command, "description": "Go on", "is_background": true }),
            ),
            ScriptCall::Spawn { name, .. } => named(
                "invoke_agent",
                json!({ "agent_name": "generalist", "prompt": subagent_prompt(name) }),
            ),
            _ => named(
                "run_shell_command",
                json!({ "command": shell_command(call), "description": "Run" }),
            ),
        }
    }

    fn opencode(&self, call: &ScriptCall) -> AgentToolCall {
        let named = AgentToolCall::named;
        match call {
            ScriptCall::Write { .. } | ScriptCall::Edit { .. } | ScriptCall::Delete { .. }
                if self.asked.offers("apply_patch") =>
            {
                named("apply_patch", json!({ "patchText": self.patch(call) }))
            }
            ScriptCall::Write { path, content } => {
                named("write", json!({ "filePath": self.path(path), "content": content }))
            }
            ScriptCall::Edit { path, old, new } => named(
                "edit",
                json!({ "filePath": self.path(path), "oldString": old, "newString": new }),
            ),
            ScriptCall::Read { path } => named("read", json!({ "filePath": self.path(path) })),
            ScriptCall::Spawn { name, .. } => named(
                "task",
                json!({ "description": name, "prompt": subagent_prompt(name), "subagent_type": "general" }),
            ),
            _ => named("bash", json!({ "command": shell_command(call), "description": "Run" })),
        }
    }

    fn copilot(&self, call: &ScriptCall) -> AgentToolCall {
        let named = AgentToolCall::named;
        match call {
            ScriptCall::Write { path, content } => {
                named("create", json!({ "path": self.path(path), "file_text": content }))
            }
            ScriptCall::Edit { path, old, new } => {
                named("edit", json!({ "path": self.path(path), "old_str": old, "new_str": new }))
            }
            ScriptCall::Read { path } => named("view", json!({ "path": self.path(path) })),
            ScriptCall::Spawn { name, .. } => named(
                "task",
                json!({ "name": name, "description": name, "prompt": subagent_prompt(name), "agent_type": "general-purpose" }),
            ),
            ScriptCall::Background { command } => named(
                "bash",
                json!({ "command": command, "description": "Go on", "mode": "async" }),
            ),
            _ => named("bash", json!({ "command": shell_command(call), "description": "Run" })),
        }
    }

    fn cline(&self, call: &ScriptCall) -> AgentToolCall {
        let named = AgentToolCall::named;
        match call {
            ScriptCall::Write { path, content } => {
                named("editor", json!({ "path": self.path(path), "new_text": content }))
            }
            ScriptCall::Edit { path, old, new } => named(
                "editor",
                json!({ "path": self.path(path), "old_text": old, "new_text": new }),
            ),
            ScriptCall::Read { path } => {
                named("read_files", json!({ "files": [{ "path": self.path(path) }] }))
            }
            ScriptCall::Spawn { name, .. } => named(
                "spawn_agent",
                json!({ "systemPrompt": "Do the task.", "task": subagent_prompt(name) }),
            ),
            _ => named("run_commands", json!({ "commands": [shell_command(call)] })),
        }
    }

    /// A change as the patch language of OpenAI's models.
    fn patch(&self, call: &ScriptCall) -> String {
        let body = match call {
            ScriptCall::Write { path, content } => {
                format!("*** Add File: {}\n{}", self.path(path), lines("+", content))
            }
            ScriptCall::Edit { path, old, new } => {
                let (old, new) = (lines("-", old), lines("+", new));
                format!("*** Update File: {}\n@@\n{old}{new}", self.path(path))
            }
            ScriptCall::Delete { path } => format!("*** Delete File: {}\n", self.path(path)),
            other => unreachable!("no patch for {other:?}"),
        };
        format!("*** Begin Patch\n{body}*** End Patch")
    }
}

/// The prompt of a subagent.
fn subagent_prompt(name: &str) -> String {
    format!("Do your part of the work. {}", marker(name))
}

/// A call as a shell command, for agents that have no tool of its own for it.
fn shell_command(call: &ScriptCall) -> String {
    match call {
        ScriptCall::Shell { command } | ScriptCall::Background { command } => command.clone(),
        ScriptCall::Delete { path } => format!("rm '{path}'"),
        ScriptCall::Read { path } => format!("cat '{path}'"),
        ScriptCall::Wait => "sleep 1".to_owned(),
        other => unreachable!("every agent has a tool for {other:?}"),
    }
}

fn lines(sign: &str, text: &str) -> String {
    text.lines().flat_map(|line| [sign, line, "\n"]).collect()
}

fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(words)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn ids_after(text: &str, words: &str) -> Vec<String> {
    let rests = text.split(words).skip(1);
    rests
        .map(|rest| rest.chars().take_while(|c| c.is_ascii_hexdigit() || *c == '-').collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{delete, edit, write};

    fn patch(call: &ScriptCall) -> String {
        let asked = ModelRequest::default();
        let root = Path::new("/p");
        ToolContext { agent: AgentCli::Codex, asked: &asked, root, body: &Value::Null }.patch(call)
    }

    #[test]
    fn patches_are_well_formed() {
        assert_eq!(
            patch(&write("a", "one\ntwo\n")),
            "*** Begin Patch\n*** Add File: /p/a\n+one\n+two\n*** End Patch"
        );
        assert_eq!(
            patch(&edit("a", "one", "1")),
            "*** Begin Patch\n*** Update File: /p/a\n@@\n-one\n+1\n*** End Patch"
        );
        assert_eq!(patch(&delete("a")), "*** Begin Patch\n*** Delete File: /p/a\n*** End Patch");
    }

    #[test]
    fn ids_are_found_in_earlier_answers() {
        assert_eq!(number_after("session ID 7; session ID 12 runs", "session ID "), Some(12));
        assert_eq!(ids_after("id=ab-1, id=c", "id="), ["ab-1", "c"]);
    }
}
