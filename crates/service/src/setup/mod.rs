//! Reads what `retake setup` did: the agents' settings on this machine, and the state of Retake's
//! hooks in them.

pub mod files;
mod hook_status;
mod status;
pub mod symlinks;

use std::path::{Path, PathBuf};

use retake_agents::AgentKind;
use retake_agents::setup::{ConfigFolders, HookCommand, SetupTarget, config_folder, program_names};
use retake_engine::model::ErrorCode;

pub use hook_status::{HookState, HookStatus, codex_approval};
pub use status::{AgentStatus, SetupStatus, read_agents};

use crate::ApiError;

/// Folders and commands of the person's machine that setup needs.
#[derive(Debug)]
pub struct SetupEnvironment {
    /// Where agents have their settings.
    pub folders: ConfigFolders,
    /// The person's home.
    pub home: PathBuf,
    /// The project.
    pub project: PathBuf,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// The command that hooks run, or why it is unknown: only adding hooks needs it.
    pub command: Result<HookCommand, ApiError>,
    /// Retake's own folder, if it is not the usual one.
    pub named_home: Option<PathBuf>,
}

impl SetupEnvironment {
    /// Reads the environment. `start` is in the project, `named_home` Retake's own folder unless it
    /// is the usual one.
    pub fn detect(start: &Path, named_home: Option<PathBuf>) -> Result<Self, ApiError> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
            std::path::absolute(value).ok()
        };
        let home = variable("HOME").ok_or_else(|| {
            ApiError::new(ErrorCode::NoHome, "HOME is not set", "set it to your home folder")
        })?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path: Vec<_> =
            std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
        let command = own_program(std::env::current_exe(), &path).and_then(|program| {
            HookCommand::new(&program, named_home.as_deref()).map_err(|error| {
                ApiError::new(ErrorCode::NotText, error.to_string(), "move it elsewhere")
            })
        });
        let start = std::path::absolute(start).unwrap_or_else(|_| start.to_owned());
        let project = project_folder(&start);
        let folders = ConfigFolders::new(&home, project.clone(), &variable);
        Ok(Self { folders, home, project, path, command, named_home })
    }

    /// Returns the command that hooks run, if known.
    pub fn hook_command(&self) -> Option<&HookCommand> {
        self.command.as_ref().ok()
    }

    /// Returns true if the agent's program is on the path, or its settings exist.
    pub fn has_agent(&self, agent: AgentKind) -> bool {
        let runs = |program: &&str| self.path.iter().any(|folder| folder.join(program).is_file());
        program_names(agent).iter().any(runs)
            || config_folder(agent, &self.folders).is_some_and(|folder| folder.is_dir())
    }

    /// Returns true if a file has hooks that run Retake.
    pub fn calls_us(&self, target: &SetupTarget) -> bool {
        let text = files::read(&target.path).ok().flatten();
        let found = text.and_then(|text| target.form.find(&text, self.hook_command()).ok());
        found.is_some_and(|found| found.present > 0 || !found.calls.is_empty())
    }
}

/// Retake's home, unless it is the one that a program finds without being told.
pub fn named_home(home: &Path) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let usual = usual_home(folder("XDG_DATA_HOME"), folder("HOME").as_deref());
    (usual.as_deref() != Some(home)).then(|| home.to_owned())
}

/// Retake's usual home.
pub fn usual_home(data: Option<PathBuf>, user_home: Option<&Path>) -> Option<PathBuf> {
    if let Some(data) = data.filter(|data| data.is_absolute()) {
        return Some(data.join("retake"));
    }
    let data =
        if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    Some(user_home?.join(data).join("retake"))
}

/// This program, whose file is `own`, by the name under which an upgrade replaces it.
fn own_program(own: std::io::Result<PathBuf>, path: &[PathBuf]) -> Result<PathBuf, ApiError> {
    let gone = |why: String| {
        let message = format!("this program's own file cannot be found: {why}");
        ApiError::new(ErrorCode::NoProgram, message, "run it again from where it is installed")
    };
    let own = own.map_err(|error| gone(error.to_string()))?;
    // Linux adds "(deleted)" to the name of a program that was replaced while it runs.
    let real = own.canonicalize().map_err(|_| gone(own.display().to_string()))?;
    let is_own = |file: &PathBuf| file.canonicalize().is_ok_and(|file| file == real);
    let mut found = path.iter().map(|folder| folder.join("retake"));
    Ok(found.find(|file| file.is_file()).filter(is_own).unwrap_or(own))
}

/// The repository around a folder, else the folder: agents are started there.
fn project_folder(start: &Path) -> PathBuf {
    let repository = start.ancestors().find(|folder| folder.join(".git").exists());
    repository.unwrap_or(start).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_replaced_while_it_runs_is_a_clear_error() {
        let own = PathBuf::from("/nowhere/retake (deleted)");
        let failure = own_program(Ok(own), &[]).unwrap_err();
        assert_eq!(failure.code, ErrorCode::NoProgram);
        assert!(failure.message.contains("/nowhere/retake (deleted)"), "{}", failure.message);
    }
}
