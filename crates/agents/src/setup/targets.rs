//! The files that an agent reads its hooks from.

use std::path::{Path, PathBuf};

use super::SetupFileKind;
use crate::AgentKind;

/// For whom the hooks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupLevel {
    /// For all projects of the person.
    User,
    /// For one project; others call it project level.
    Here,
}

/// How hooks get into the settings of an agent.
pub(crate) struct SetupSpec {
    /// The names of the agent's programs.
    pub(crate) programs: &'static [&'static str],
    pub(crate) config_folder: ConfigFolder,
    /// The file, or the folder of scripts, in the folder of the person's settings.
    pub(crate) user_path: &'static str,
    /// The same for one project, in its folder.
    pub(crate) project_path: &'static str,
    pub(crate) files: SetupFiles,
    /// Further files in which all hooks may be turned off, in the folder of the person's settings.
    pub(crate) user_switch_files: &'static [&'static str],
    /// The same, in the project's folder.
    pub(crate) project_switch_files: &'static [&'static str],
}

/// The files that get hooks.
#[derive(Clone, Copy)]
pub(crate) enum SetupFiles {
    /// One file.
    One(SetupFileKind),
    /// A folder with a script for each of these events.
    Scripts(&'static [&'static str]),
}

/// Where the person's settings of an agent are.
pub(crate) struct ConfigFolder {
    /// The environment variable that names the folder.
    pub(crate) variable: Option<&'static str>,
    /// The folder in the person's home without that variable.
    pub(crate) default: &'static str,
    /// The agent's own folder in there.
    pub(crate) inside: Option<&'static str>,
}

impl ConfigFolder {
    fn resolve(&self, home: &Path, variable: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
        let named = self.variable.and_then(variable);
        let folder = named.unwrap_or_else(|| home.join(self.default));
        self.inside.map_or_else(|| folder.clone(), |inside| folder.join(inside))
    }
}

/// The folders that decide where settings are.
#[derive(Clone, Debug)]
pub struct ConfigFolders {
    /// The person's, in the order of [`AgentKind::ALL`].
    user: [Option<PathBuf>; AgentKind::ALL.len()],
    project: PathBuf,
}

impl ConfigFolders {
    /// The folders of a person with this home; `variable` reads the environment.
    pub fn new(home: &Path, project: PathBuf, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Self {
        let resolve = |agent: AgentKind| {
            let setup = agent.spec().setup.as_ref()?;
            Some(setup.config_folder.resolve(home, variable))
        };
        Self { user: AgentKind::ALL.map(resolve), project }
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

/// Returns true if the agent has hook settings of its own; else it reads those of other agents.
pub fn has_own_setup(agent: AgentKind) -> bool {
    agent.spec().setup.is_some()
}

/// The names of an agent's programs.
pub fn program_names(agent: AgentKind) -> &'static [&'static str] {
    agent.spec().setup.as_ref().map_or(&[], |setup| setup.programs)
}

/// The folder of the person's settings of an agent; it is there if the agent ever ran.
pub fn config_folder(agent: AgentKind, folders: &ConfigFolders) -> Option<PathBuf> {
    folders.user[agent as usize].clone()
}

/// Further files of an agent in which all hooks may be turned off, at any level.
pub fn disable_switch_files(agent: AgentKind, folders: &ConfigFolders) -> Vec<SetupTarget> {
    let (Some(setup), Some(user)) = (&agent.spec().setup, config_folder(agent, folders)) else {
        return Vec::new();
    };
    let SetupSpec { files, user_switch_files, project_switch_files, .. } = setup;
    let SetupFiles::One(form) = *files else { return Vec::new() };
    let user = user_switch_files.iter().map(|name| user.join(name));
    let here = project_switch_files.iter().map(|path| folders.project.join(path));
    user.chain(here).map(|path| SetupTarget { path, form }).collect()
}

/// The files in which an agent's hooks are set up; none if it reads those of others.
pub fn setup_targets(
    agent: AgentKind,
    level: SetupLevel,
    folders: &ConfigFolders,
) -> Vec<SetupTarget> {
    let (Some(setup), Some(user)) = (&agent.spec().setup, config_folder(agent, folders)) else {
        return Vec::new();
    };
    let SetupSpec { user_path, project_path, files, .. } = setup;
    let path = match level {
        SetupLevel::User => user.join(user_path),
        SetupLevel::Here => folders.project.join(project_path),
    };
    match *files {
        SetupFiles::One(form) => vec![SetupTarget { path, form }],
        SetupFiles::Scripts(events) => {
            let script = |event: &&'static str| SetupTarget {
                path: path.join(event),
                form: SetupFileKind::Script(event),
            };
            events.iter().map(script).collect()
        }
    }
}
