//! The files that an agent reads its hooks from.

use std::path::PathBuf;

use super::{Form, shapes};
use crate::Agent;

/// For whom the hooks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For all projects of the person.
    User,
    /// For one project; others call it project level.
    Here,
}

/// The folders that decide where settings are.
#[derive(Clone, Debug)]
pub struct Folders {
    claude: PathBuf,
    codex: PathBuf,
    gemini: PathBuf,
    opencode: PathBuf,
    copilot: PathBuf,
    cline: PathBuf,
    cursor: PathBuf,
    project: PathBuf,
}

impl Folders {
    /// The folders of a person with this home; `variable` reads the environment.
    pub fn new(
        home: &std::path::Path,
        project: PathBuf,
        variable: &dyn Fn(&str) -> Option<PathBuf>,
    ) -> Self {
        let or = |name: &str, folder: &str| variable(name).unwrap_or_else(|| home.join(folder));
        Self {
            claude: or("CLAUDE_CONFIG_DIR", ".claude"),
            codex: or("CODEX_HOME", ".codex"),
            gemini: or("GEMINI_CLI_HOME", "").join(".gemini"),
            // opencode reads it even if OPENCODE_CONFIG_DIR names a further folder.
            opencode: or("XDG_CONFIG_HOME", ".config").join("opencode"),
            copilot: or("COPILOT_HOME", ".copilot"),
            cline: or("CLINE_DIR", ".cline"),
            cursor: home.join(".cursor"),
            project,
        }
    }
}

/// One file that gets hooks.
#[derive(Clone, Debug)]
pub struct Target {
    /// The file.
    pub path: PathBuf,
    /// What kind of file it is.
    pub form: Form,
}

impl Target {
    /// Returns whether the file is run as a program.
    pub fn is_executable(&self) -> bool {
        matches!(self.form, Form::Script(_))
    }
}

/// The names of an agent's programs.
pub fn programs(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::ClaudeCode => &["claude"],
        Agent::Codex => &["codex"],
        Agent::Gemini => &["gemini"],
        Agent::Opencode => &["opencode"],
        Agent::Copilot => &["copilot"],
        Agent::Cline => &["cline"],
        Agent::Cursor => &["cursor", "cursor-agent"],
    }
}

/// The folder of the person's settings of an agent; it is there if the agent ever ran.
pub fn config_folder(agent: Agent, folders: &Folders) -> PathBuf {
    let folder = match agent {
        Agent::ClaudeCode => &folders.claude,
        Agent::Codex => &folders.codex,
        Agent::Gemini => &folders.gemini,
        Agent::Opencode => &folders.opencode,
        Agent::Copilot => &folders.copilot,
        Agent::Cline => &folders.cline,
        Agent::Cursor => &folders.cursor,
    };
    folder.clone()
}

/// Further files of an agent in which all hooks may be turned off, at any level.
pub fn switch_files(agent: Agent, folders: &Folders) -> Vec<Target> {
    if agent != Agent::ClaudeCode {
        return Vec::new();
    }
    let (user, here) = (&folders.claude, folders.project.join(".claude"));
    let files = [(user, "settings.json"), (user, "settings.local.json")];
    let files = files.into_iter().chain([(&here, "settings.json"), (&here, "settings.local.json")]);
    let form = Form::Hooks(&shapes::CLAUDE_CODE);
    files.map(|(folder, name)| Target { path: folder.join(name), form }).collect()
}

/// The files in which an agent's hooks are set up.
pub fn targets(agent: Agent, level: Level, folders: &Folders) -> Vec<Target> {
    let user = config_folder(agent, folders);
    let here = |path: &str| folders.project.join(path);
    let pick =
        |name: &str, path: &str| if level == Level::User { user.join(name) } else { here(path) };
    let (path, form) = match agent {
        Agent::ClaudeCode => (
            pick("settings.json", ".claude/settings.local.json"),
            Form::Hooks(&shapes::CLAUDE_CODE),
        ),
        Agent::Codex => (pick("hooks.json", ".codex/hooks.json"), Form::Hooks(&shapes::CODEX)),
        Agent::Gemini => {
            (pick("settings.json", ".gemini/settings.json"), Form::Hooks(&shapes::GEMINI))
        }
        Agent::Opencode => (pick("plugins/retake.js", ".opencode/plugins/retake.js"), Form::Plugin),
        Agent::Copilot => {
            (pick("hooks/retake.json", ".github/hooks/retake.json"), Form::Hooks(&shapes::COPILOT))
        }
        Agent::Cursor => (pick("hooks.json", ".cursor/hooks.json"), Form::Hooks(&shapes::CURSOR)),
        Agent::Cline => {
            let folder = pick("hooks", ".clinerules/hooks");
            let script = |event| Target { path: folder.join(event), form: Form::Script(event) };
            return shapes::CLINE.map(script).into();
        }
    };
    vec![Target { path, form }]
}
