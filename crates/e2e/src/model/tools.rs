//! Maps the calls of a script to the tools that an agent really has.

use std::path::Path;

use serde_json::{Value, json};

use super::talk::Asked;
use crate::agent::Agent;
use crate::script::{Call, marker};

/// A call of a tool.
#[derive(Debug, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) tool: String,
    pub(crate) input: Input,
    /// Where the wire groups tools: the group it is in.
    pub(crate) group: Option<&'static str>,
}

/// The arguments of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input {
    /// Named arguments.
    Named(Value),
    /// Free text, which some tools of Codex take.
    Text(String),
}

/// The context of the mapping, besides the call.
pub(crate) struct Scene<'s> {
    pub(crate) agent: Agent,
    pub(crate) asked: &'s Asked,
    /// The project's folder.
    pub(crate) root: &'s Path,
    /// The whole request, for ids that only an earlier answer tells.
    pub(crate) body: &'s Value,
}

impl ToolCall {
    fn named(tool: &str, input: Value) -> Self {
        Self { tool: tool.to_owned(), input: Input::Named(input), group: None }
    }

    fn text(tool: &str, input: String) -> Self {
        Self { tool: tool.to_owned(), input: Input::Text(input), group: None }
    }

    fn of(self, group: &'static str) -> Self {
        Self { group: Some(group), ..self }
    }
}

impl Scene<'_> {
    fn path(&self, relative: &str) -> String {
        self.root.join(relative).to_string_lossy().into_owned()
    }

    /// Maps a call on the agent's tools.
    pub(crate) fn tool_call(&self, call: &Call) -> ToolCall {
        match call {
            Call::Raw { tool, input: Value::String(text) } => {
                return ToolCall::text(tool, text.clone());
            }
            Call::Raw { tool, input } => return ToolCall::named(tool, input.clone()),
            _ => {}
        }
        match self.agent {
            Agent::ClaudeCode => self.claude(call),
            Agent::Codex => self.codex(call),
            Agent::Gemini => self.gemini(call),
            Agent::Opencode => self.opencode(call),
            Agent::Copilot => self.copilot(call),
            Agent::Cline => self.cline(call),
        }
    }

    fn claude(&self, call: &Call) -> ToolCall {
        let named = ToolCall::named;
        match call {
            Call::Write { path, content } => {
                named("Write", json!({ "file_path": self.path(path), "content": content }))
            }
            Call::Edit { path, old, new } => named(
                "Edit",
                json!({ "file_path": self.path(path), "old_string": old, "new_string": new }),
            ),
            Call::Read { path } => named("Read", json!({ "file_path": self.path(path) })),
            Call::Spawn { name, .. } => named(
                "Agent",
                json!({ "description": name, "prompt": task(name), "subagent_type": "general-purpose" }),
            ),
            Call::Background { command } => named(
                "Bash",
                json!({ "command": command, "description": "Go on", "run_in_background": true }),
            ),
            // It gets a message when a task ends; a pause lets that arrive.
            Call::Wait => self.claude(&Call::Shell { command: "sleep 2".to_owned() }),
            _ => named("Bash", json!({ "command": command(call), "description": "Run" })),
        }
    }

    fn codex(&self, call: &Call) -> ToolCall {
        match call {
            Call::Write { .. } | Call::Edit { .. } | Call::Delete { .. } => {
                ToolCall::text("apply_patch", self.patch(call))
            }
            // A command that does not end within the yield time goes on by itself.
            Call::Background { command } => {
                ToolCall::named("exec_command", json!({ "cmd": command, "yield_time_ms": 250 }))
            }
            Call::Spawn { name, .. } if self.asked.offers("spawn_agent") => {
                let name_there = name.replace('-', "_");
                let input = json!({ "task_name": name_there, "message": task(name) });
                ToolCall::named("spawn_agent", input).of("collaboration")
            }
            Call::Spawn { name, .. } => {
                ToolCall::named("spawn_agent", json!({ "message": task(name) }))
                    .of("multi_agent_v1")
            }
            Call::Wait => self.codex_wait(),
            _ => ToolCall::named("exec_command", json!({ "cmd": command(call) })),
        }
    }

    /// Codex is asked about each thing that it runs by the id it gave it.
    fn codex_wait(&self) -> ToolCall {
        let body = self.body.to_string();
        let session = number_after(&body, "running with session ID ")
            .or_else(|| number_after(&body, r#"\"session_id\":"#));
        if let Some(session) = session {
            let input = json!({ "session_id": session, "chars": "", "yield_time_ms": 5_000 });
            return ToolCall::named("write_stdin", input);
        }
        if self.asked.offers("wait_agent") {
            return ToolCall::named("wait_agent", json!({ "timeout_ms": 30_000 }))
                .of("collaboration");
        }
        let targets = ids_after(&body, r#"agent_id\":\""#);
        let input = json!({ "targets": targets, "timeout_ms": 30_000 });
        ToolCall::named("wait_agent", input).of("multi_agent_v1")
    }

    fn gemini(&self, call: &Call) -> ToolCall {
        let named = ToolCall::named;
        match call {
            Call::Write { path, content } => {
                named("write_file", json!({ "file_path": self.path(path), "content": content }))
            }
            Call::Edit { path, old, new } => named(
                "replace",
                json!({ "file_path": self.path(path), "instruction": "Change it.", "old_string": old, "new_string": new }),
            ),
            Call::Read { path } => named("read_file", json!({ "file_path": self.path(path) })),
            Call::Background { command } => named(
                "run_shell_command",
                json!({ "command": command, "description": "Go on", "is_background": true }),
            ),
            Call::Spawn { name, .. } => {
                named("invoke_agent", json!({ "agent_name": "generalist", "prompt": task(name) }))
            }
            _ => named(
                "run_shell_command",
                json!({ "command": command(call), "description": "Run" }),
            ),
        }
    }

    fn opencode(&self, call: &Call) -> ToolCall {
        let named = ToolCall::named;
        match call {
            Call::Write { .. } | Call::Edit { .. } | Call::Delete { .. }
                if self.asked.offers("apply_patch") =>
            {
                named("apply_patch", json!({ "patchText": self.patch(call) }))
            }
            Call::Write { path, content } => {
                named("write", json!({ "filePath": self.path(path), "content": content }))
            }
            Call::Edit { path, old, new } => named(
                "edit",
                json!({ "filePath": self.path(path), "oldString": old, "newString": new }),
            ),
            Call::Read { path } => named("read", json!({ "filePath": self.path(path) })),
            Call::Spawn { name, .. } => named(
                "task",
                json!({ "description": name, "prompt": task(name), "subagent_type": "general" }),
            ),
            _ => named("bash", json!({ "command": command(call), "description": "Run" })),
        }
    }

    fn copilot(&self, call: &Call) -> ToolCall {
        let named = ToolCall::named;
        match call {
            Call::Write { path, content } => {
                named("create", json!({ "path": self.path(path), "file_text": content }))
            }
            Call::Edit { path, old, new } => {
                named("edit", json!({ "path": self.path(path), "old_str": old, "new_str": new }))
            }
            Call::Read { path } => named("view", json!({ "path": self.path(path) })),
            Call::Spawn { name, .. } => named(
                "task",
                json!({ "name": name, "description": name, "prompt": task(name), "agent_type": "general-purpose" }),
            ),
            Call::Background { command } => named(
                "bash",
                json!({ "command": command, "description": "Go on", "mode": "async" }),
            ),
            _ => named("bash", json!({ "command": command(call), "description": "Run" })),
        }
    }

    fn cline(&self, call: &Call) -> ToolCall {
        let named = ToolCall::named;
        match call {
            Call::Write { path, content } => {
                named("editor", json!({ "path": self.path(path), "new_text": content }))
            }
            Call::Edit { path, old, new } => named(
                "editor",
                json!({ "path": self.path(path), "old_text": old, "new_text": new }),
            ),
            Call::Read { path } => {
                named("read_files", json!({ "files": [{ "path": self.path(path) }] }))
            }
            Call::Spawn { name, .. } => {
                named("spawn_agent", json!({ "systemPrompt": "Do the task.", "task": task(name) }))
            }
            _ => named("run_commands", json!({ "commands": [command(call)] })),
        }
    }

    /// A change as the patch language of OpenAI's models.
    fn patch(&self, call: &Call) -> String {
        let body = match call {
            Call::Write { path, content } => {
                format!("*** Add File: {}\n{}", self.path(path), lines("+", content))
            }
            Call::Edit { path, old, new } => {
                let (old, new) = (lines("-", old), lines("+", new));
                format!("*** Update File: {}\n@@\n{old}{new}", self.path(path))
            }
            Call::Delete { path } => format!("*** Delete File: {}\n", self.path(path)),
            other => unreachable!("no patch for {other:?}"),
        };
        format!("*** Begin Patch\n{body}*** End Patch")
    }
}

/// The prompt of a subagent.
fn task(name: &str) -> String {
    format!("Do your part of the work. {}", marker(name))
}

/// A call as a shell command, for agents that have no tool of its own for it.
fn command(call: &Call) -> String {
    match call {
        Call::Shell { command } | Call::Background { command } => command.clone(),
        Call::Delete { path } => format!("rm '{path}'"),
        Call::Read { path } => format!("cat '{path}'"),
        Call::Wait => "sleep 1".to_owned(),
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

    fn patch(call: &Call) -> String {
        let asked = Asked::default();
        let root = Path::new("/p");
        Scene { agent: Agent::Codex, asked: &asked, root, body: &Value::Null }.patch(call)
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
