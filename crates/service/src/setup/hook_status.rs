//! Status of an agent's hooks at one level, as the agent itself would find them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use retake_agents::AgentKind;
use retake_agents::setup::codex_trust::{self, CodexTrust, hook_trust};
use retake_agents::setup::{
    FoundHooks, HookCommand, SetupLevel, SetupTarget, config_folder, disable_switch_files,
    setup_targets,
};

use super::{SetupEnvironment, files, symlinks};

/// Status of an agent's hooks at one level.
#[derive(Clone, Debug)]
pub struct HookStatus {
    /// The state.
    pub state: HookState,
    /// Further explanation.
    pub detail: Option<String>,
    /// The files of the agent's settings.
    pub files: Vec<PathBuf>,
}

/// The state of an agent's hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookState {
    /// All are there, and can run.
    Active,
    /// Some hooks are missing.
    Partly,
    /// No hook of ours is there.
    Absent,
    /// The person turned all hooks off.
    Off,
    /// Codex: not approved yet.
    Waiting,
    /// Codex: approved, but changed since.
    Changed,
    /// The program of the hooks cannot be run.
    Broken,
    /// The file cannot be read.
    Unreadable,
}

impl HookState {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Partly => "partly",
            Self::Absent => "absent",
            Self::Off => "off",
            Self::Waiting => "waiting",
            Self::Changed => "changed",
            Self::Broken => "broken",
            Self::Unreadable => "unreadable",
        }
    }

    /// Describes the state, with the way out.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Partly => "some hooks are missing; run `retake setup`",
            Self::Absent => "not set up",
            Self::Off => "its hooks are turned off",
            Self::Waiting => "waits for your approval in /hooks",
            Self::Changed => "approved, but changed since; approve it in /hooks",
            Self::Broken => "broken; run `retake setup`",
            Self::Unreadable => "its settings cannot be read",
        }
    }
}

impl HookStatus {
    /// Inspects the files of an agent at one level.
    pub fn new(agent: AgentKind, level: SetupLevel, machine: &SetupEnvironment) -> Self {
        let targets = setup_targets(agent, level, &machine.folders);
        let inspection = HookInspection { agent, level, machine, targets: &targets };
        let (state, detail) =
            inspection.inspect().unwrap_or_else(|why| (HookState::Unreadable, Some(why)));
        Self { state, detail, files: targets.into_iter().map(|target| target.path).collect() }
    }
}

struct HookInspection<'a> {
    agent: AgentKind,
    level: SetupLevel,
    machine: &'a SetupEnvironment,
    targets: &'a [SetupTarget],
}

impl HookInspection<'_> {
    fn inspect(&self) -> Result<(HookState, Option<String>), String> {
        if self.level == SetupLevel::Here && self.is_user_level() {
            return Ok((HookState::Absent, None));
        }
        let mut all = FoundHooks::default();
        let mut broken = None;
        for target in self.targets {
            symlinks::check_inside_project(self.agent, &target.path, self.level, self.machine)
                .map_err(|failure| failure.message)?;
            let found = self.find_hooks(target)?;
            if found.present > 0 && target.is_executable() && files::is_not_executable(&target.path)
            {
                broken = Some(format!("{} is not executable", target.path.display()));
            }
            all.present += found.present;
            all.missing += found.missing;
            all.calls.extend(found.calls);
            all.switched_off = all.switched_off.or(found.switched_off);
        }
        if all.present == 0 {
            return Ok((HookState::Absent, None));
        }
        let gone = all.calls.iter().find(|call| !is_runnable(call.program(), &self.machine.path));
        let gone = gone.map(|call| format!("calls {}, which is not there", call.program()));
        if let Some(why) = gone.or(broken) {
            return Ok((HookState::Broken, Some(why)));
        }
        if let Some(why) = all.switched_off.or_else(|| self.switched_off_elsewhere()) {
            return Ok((HookState::Off, Some(why)));
        }
        let approval = (self.agent == AgentKind::Codex && all.missing == 0)
            .then(|| codex_approval(&self.targets[0], self.machine))
            .flatten();
        let state = if all.missing == 0 { HookState::Active } else { HookState::Partly };
        let detail = all.calls.iter().find_map(|call| self.describe_difference(call));
        Ok((approval.unwrap_or(state), detail))
    }

    /// Returns true if the project is the person's home, or its files link there.
    fn is_user_level(&self) -> bool {
        let of_user = setup_targets(self.agent, SetupLevel::User, &self.machine.folders);
        let real = |target: &SetupTarget| symlinks::real_path(&target.path).ok();
        self.targets.iter().all(|target| of_user.iter().any(|user| real(user) == real(target)))
    }

    fn find_hooks(&self, target: &SetupTarget) -> Result<FoundHooks, String> {
        let text = files::read(&target.path).map_err(|failure| failure.message)?;
        let found =
            target.form.find(text.as_deref().unwrap_or_default(), self.machine.hook_command());
        found.map_err(|error| format!("{}: {error}", target.path.display()))
    }

    /// Returns the setting in another file that turns the hooks off.
    fn switched_off_elsewhere(&self) -> Option<String> {
        let others = disable_switch_files(self.agent, &self.machine.folders);
        let in_settings = others.iter().find_map(|target| {
            let why = self.find_hooks(target).ok()?.switched_off?;
            Some(format!("{why} in {}", target.path.display()))
        });
        in_settings.or_else(|| {
            let config = (self.agent == AgentKind::Codex).then(|| codex_config(self.machine))?;
            codex_trust::switched_off(&config)
        })
    }

    /// Describes how a call differs from the one that setup would write now.
    fn describe_difference(&self, call: &HookCommand) -> Option<String> {
        let named = self.machine.named_home.as_deref();
        if self.machine.hook_command().is_some_and(|own| own.program() != call.program()) {
            return Some(format!("calls another program: {}", call.program()));
        }
        (call.home().map(Path::new) != named).then(|| {
            let home = call.home().unwrap_or("its usual folder");
            format!("calls Retake with another folder of its own: {home}")
        })
    }
}

/// Returns true if a program can be executed by the name in a hook.
fn is_runnable(program: &str, path: &[PathBuf]) -> bool {
    let can_run = |file: &Path| {
        file.metadata()
            .is_ok_and(|known| known.is_file() && known.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return can_run(Path::new(program));
    }
    path.iter().any(|folder| can_run(&folder.join(program)))
}

fn codex_config(machine: &SetupEnvironment) -> String {
    let folder = config_folder(AgentKind::Codex, &machine.folders);
    let config = folder.and_then(|folder| files::read(&folder.join("config.toml")).ok()?);
    config.unwrap_or_default()
}

/// Returns the state that Codex gives our hooks, unless they are approved.
pub fn codex_approval(target: &SetupTarget, machine: &SetupEnvironment) -> Option<HookState> {
    let hooks = files::read(&target.path).ok()??;
    let real = target.path.canonicalize().ok();
    let names: Vec<_> = [Some(target.path.clone()), real].into_iter().flatten().collect();
    let names: Vec<_> = names.iter().map(|path| path.display().to_string()).collect();
    match hook_trust(&hooks, &codex_config(machine), &names, machine.hook_command()).ok()?? {
        CodexTrust::Approved => None,
        CodexTrust::Waiting => Some(HookState::Waiting),
        CodexTrust::Changed => Some(HookState::Changed),
        CodexTrust::Off => Some(HookState::Off),
    }
}
