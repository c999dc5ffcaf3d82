//! Scripts of the model: steps, each with a text and the calls that it requests.
//!
//! A script is abstract: `write`, `edit` or `shell` become the tools that the client really
//! offers, when [`crate::ModelServer`] plays it. A step ends when all its calls have been answered;
//! after the last step the model says [`ModelScript::last_words`] and the turn is over.

use serde_json::Value;

/// A turn of the model, from the person's message to the last word.
#[derive(Clone, Debug, Default)]
pub struct ModelScript {
    pub(crate) steps: Vec<ScriptStep>,
    pub(crate) last: String,
}

/// One message of the model that asks for calls.
#[derive(Clone, Debug)]
pub(crate) struct ScriptStep {
    pub(crate) text: String,
    pub(crate) calls: Vec<ScriptCall>,
    /// Barrier: the model waits until this many conversations have reached the place of this name.
    pub(crate) meeting: Option<(String, usize)>,
}

/// A tool call that the model requests. Paths are relative to the project.
#[derive(Clone, Debug)]
pub enum ScriptCall {
    /// A whole new file.
    Write {
        /// The file.
        path: String,
        /// All of it.
        content: String,
    },
    /// A piece of a file replaced.
    Edit {
        /// The file.
        path: String,
        /// What is there once.
        old: String,
        /// What takes its place.
        new: String,
    },
    /// A file removed: by the tool for it, if the agent has one, else by `rm`.
    Delete {
        /// The file.
        path: String,
    },
    /// A shell command that is waited for.
    Shell {
        /// For `sh -c`.
        command: String,
    },
    /// A shell command that goes on while the model does.
    Background {
        /// For `sh -c`.
        command: String,
    },
    /// A file read.
    Read {
        /// The file.
        path: String,
    },
    /// A subagent with a script of its own.
    Spawn {
        /// The script's name, which no other script of the server has.
        name: String,
        /// What the subagent does.
        script: ModelScript,
    },
    /// Waits for what was left running before: subagents or a command in the background.
    Wait,
    /// A tool of one particular agent, as it is.
    Raw {
        /// The tool's name.
        tool: String,
        /// Its arguments, or a string for a tool that takes free text.
        input: Value,
    },
}

impl ModelScript {
    /// A script that says nothing yet.
    pub fn new() -> Self {
        Self { steps: Vec::new(), last: "All done.".to_owned() }
    }

    /// The model says `text` and asks for these calls, all in one message.
    #[must_use]
    pub fn step(mut self, text: &str, calls: impl IntoIterator<Item = ScriptCall>) -> Self {
        let calls = calls.into_iter().collect();
        self.steps.push(ScriptStep { text: text.to_owned(), calls, meeting: None });
        self
    }

    /// Delays the step before until `talks` conversations have reached `place` (a barrier).
    #[must_use]
    pub fn meet_at(mut self, place: &str, talks: usize) -> Self {
        let step = self.steps.last_mut().expect("a meeting belongs to a step");
        step.meeting = Some((place.to_owned(), talks));
        self
    }

    /// Sets the model's last message.
    #[must_use]
    pub fn last_words(mut self, text: &str) -> Self {
        text.clone_into(&mut self.last);
        self
    }

    /// The scripts of the subagents that this one starts.
    pub(crate) fn children(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.steps.iter().flat_map(|step| &step.calls).filter_map(|call| match call {
            ScriptCall::Spawn { name, script } => Some((name.as_str(), script)),
            _ => None,
        })
    }
}

/// A whole new file.
pub fn write(path: &str, content: &str) -> ScriptCall {
    ScriptCall::Write { path: path.to_owned(), content: content.to_owned() }
}

/// A piece of a file replaced.
pub fn edit(path: &str, old: &str, new: &str) -> ScriptCall {
    ScriptCall::Edit { path: path.to_owned(), old: old.to_owned(), new: new.to_owned() }
}

/// A file removed.
pub fn delete(path: &str) -> ScriptCall {
    ScriptCall::Delete { path: path.to_owned() }
}

/// A shell command that is waited for.
pub fn shell(command: &str) -> ScriptCall {
    ScriptCall::Shell { command: command.to_owned() }
}

/// A shell command that goes on while the model does.
pub fn background(command: &str) -> ScriptCall {
    ScriptCall::Background { command: command.to_owned() }
}

/// A file read.
pub fn read(path: &str) -> ScriptCall {
    ScriptCall::Read { path: path.to_owned() }
}

/// A subagent with a script of its own.
pub fn spawn(name: &str, script: ModelScript) -> ScriptCall {
    ScriptCall::Spawn { name: name.to_owned(), script }
}

/// Waits for what was left running before.
pub fn wait() -> ScriptCall {
    ScriptCall::Wait
}

/// A tool of one particular agent.
pub fn raw(tool: &str, input: impl Into<Value>) -> ScriptCall {
    ScriptCall::Raw { tool: tool.to_owned(), input: input.into() }
}

/// The marker in a message that chooses the script.
pub(crate) fn marker(name: &str) -> String {
    assert!(
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'),
        "a script's name is part of call ids: letters, digits and dashes, not '{name}'"
    );
    format!("[script:{name}]")
}

/// The last script that a text chooses.
pub(crate) fn marked_script(text: &str) -> Option<&str> {
    let (_, rest) = text.rsplit_once("[script:")?;
    Some(rest.split_once(']')?.0)
}

/// The id of a call, without the prefix of the wire; it names the step and the script.
pub(crate) fn call_id(script: &str, step: usize, index: usize) -> String {
    format!("s{step}x{index}x{script}")
}

/// The step that a call with this id was asked for in, if it is of this script.
pub(crate) fn step_of_call(id: &str, script: &str) -> Option<usize> {
    let (_, own) = id.split_once("_s")?;
    let (step, rest) = own.split_once('x')?;
    let (_, name) = rest.split_once('x')?;
    (name == script).then(|| step.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_its_step_and_script() {
        let id = format!("toolu_{}", call_id("turn-1", 3, 0));
        assert_eq!(id, "toolu_s3x0xturn-1");
        assert_eq!(step_of_call(&id, "turn-1"), Some(3));
        assert_eq!(step_of_call(&id, "turn-2"), None);
        assert_eq!(step_of_call("call_made_by_others", "turn-1"), None);
    }

    #[test]
    fn the_last_marker_chooses() {
        let text = format!("{} and then {}, please", marker("a"), marker("b"));
        assert_eq!(marked_script(&text), Some("b"));
        assert_eq!(marked_script("nothing [script:"), None);
    }
}
