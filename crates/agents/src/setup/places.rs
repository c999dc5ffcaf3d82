//! The files that an agent reads its hooks from.

use std::path::PathBuf;

use super::{SetupFileKind, shapes};
use crate::AgentKind;

/// For whom the hooks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupLevel {
    /// For all projects of the person.
    User,
    /// For one project; others call it project level.
    Here,
}

/// The folders that decide where settings are.
#[derive(Clone, Debug)]
pub struct ConfigFolders {
    claude: PathBuf,
    codex: PathBuf,
    gemini: PathBuf,
    opencode: PathBuf,
    copilot: PathBuf,
    cline: PathBuf,
    cursor: PathBuf,
    project: PathBuf,
}

impl ConfigFolders {
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
pub struct SetupTarget {
    /// The file.
    pub path: PathBuf,
    /// What kind of file it is.
    pub form: SetupFileKind,
}

impl SetupTarget {
    /// Returns whether the file is run as a program.
    pub fn is_executable(&self) -> bool {
        matches!(self.form, SetupFileKind::Script(_))
    }
}

/// The names of an agent's programs.
pub fn program_names(agent: AgentKind) -> &'static [&'static str] {
    match agent {
        AgentKind::ClaudeCode => &["claude"],
        AgentKind::Codex => &["codex"],
        AgentKind::Gemini => &["gemini"],
        AgentKind::Opencode => &["opencode"],
        AgentKind::Copilot => &["copilot"],
        AgentKind::Cline => &["cline"],
        AgentKind::Cursor => &["cursor", "cursor-agent"],
    }
}

/// The folder of the person's settings of an agent; it is there if the agent ever ran.
pub fn config_folder(agent: AgentKind, folders: &ConfigFolders) -> PathBuf {
    let folder = match agent {
        AgentKind::ClaudeCode => &folders.claude,
        AgentKind::Codex => &folders.codex,
        AgentKind::Gemini => &folders.gemini,
        AgentKind::Opencode => &folders.opencode,
        AgentKind::Copilot => &folders.copilot,
        AgentKind::Cline => &folders.cline,
        AgentKind::Cursor => &folders.cursor,
    };
    folder.clone()
}

/// Further files of an agent in which all hooks may be turned off, at any level.
pub fn disable_switch_files(agent: AgentKind, folders: &ConfigFolders) -> Vec<SetupTarget> {
    if agent != AgentKind::ClaudeCode {
        return Vec::new();
    }
    let (user, here) = (&folders.claude, folders.project.join(".claude"));
    let files = [(user, "settings.json"), (user, "settings.local.json")];
    let files = files.into_iter().chain([(&here, "settings.json"), (&here, "settings.local.json")]);
    let form = SetupFileKind::Hooks(&shapes::CLAUDE_CODE);
    files.map(|(folder, name)| SetupTarget { path: folder.join(name), form }).collect()
}

/// The files in which an agent's hooks are set up.
pub fn setup_targets(
    agent: AgentKind,
    level: SetupLevel,
    folders: &ConfigFolders,
) -> Vec<SetupTarget> {
    let user = config_folder(agent, folders);
    let here = |path: &str| folders.project.join(path);
    let pick = |name: &str, path: &str| {
        if level == SetupLevel::User { user.join(name) } else { here(path) }
    };
    let (path, form) = match agent {
        AgentKind::ClaudeCode => (
            pick("settings.json", ".claude/settings.local.json"),
            SetupFileKind::Hooks(&shapes::CLAUDE_CODE),
        ),
        AgentKind::Codex => {
            (pick("hooks.json", ".codex/hooks.json"), SetupFileKind::Hooks(&shapes::CODEX))
        }
        AgentKind::Gemini => {
            (pick("settings.json", ".gemini/settings.json"), SetupFileKind::Hooks(&shapes::GEMINI))
        }
        AgentKind::Opencode => {
            (pick("plugins/retake.js", ".opencode/plugins/retake.js"), SetupFileKind::Plugin)
        }
        AgentKind::Copilot => (
            pick("hooks/retake.json", ".github/hooks/retake.json"),
            SetupFileKind::Hooks(&shapes::COPILOT),
        ),
        AgentKind::Cursor => {
            (pick("hooks.json", ".cursor/hooks.json"), SetupFileKind::Hooks(&shapes::CURSOR))
        }
        AgentKind::Cline => {
            let folder = pick("hooks", ".clinerules/hooks");
            let script = |event| SetupTarget {
                path: folder.join(event),
                form: SetupFileKind::Script(event),
            };
            return shapes::CLINE_EVENTS.map(script).into();
        }
    };
    vec![SetupTarget { path, form }]
}
