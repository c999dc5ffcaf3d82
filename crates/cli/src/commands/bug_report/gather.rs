//! Gathers the parts of the report that need no project: program, machine, agents, settings, daemon.
//!
//! Each part that fails is an entry of [`BugReport::failures`]; the others go on. Nothing waits for
//! long: programs are run with a timeout, a daemon that hangs is given up by its client.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use retake_agents::AgentKind;
use retake_agents::setup::program_names;
use retake_engine::iso_8601;
use retake_server::{CallError, ConnectError, DaemonClient, DaemonStatus, RunFolder};
use retake_service::documents::{SettingDocument, SettingSource};
use retake_service::settings::SettingsFiles;
use retake_service::setup::{AgentStatus, SetupEnvironment, SetupStatus};
use serde_json::{Value, json};

use super::document::{
    BugReport, ReportAgent, ReportBuild, ReportDaemon, ReportFailure, ReportSetting, ReportSystem,
};
use super::{daemon_log, project_part};
use crate::context::CommandContext;
use crate::describe::plural;
use crate::failure::{ApiError, failure_of};

/// Timeout of a program that tells its version.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval at which such a program is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum bytes read of what such a program prints.
const MAX_PRINTED_BYTES: u64 = 1024;
/// Folders above an agent's program in which its package may say its version.
const MAX_PACKAGE_DEPTH: usize = 3;

/// Parts that failed so far.
#[derive(Debug, Default)]
pub(super) struct FailedParts(Vec<ReportFailure>);

impl FailedParts {
    /// Returns the value of a part; of one that failed nothing, and keeps the reason.
    pub(super) fn keep<T>(&mut self, part: &str, result: anyhow::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(part, failure_of(&error))).ok()
    }

    /// Keeps the reason why a part failed.
    pub(super) fn add(&mut self, part: &str, failure: ApiError) {
        let code = failure.code.to_string();
        self.0.push(ReportFailure { part: part.to_owned(), code, error: failure.message });
    }
}

/// Gathers the whole report, not scrubbed yet.
pub(super) fn gather(context: &CommandContext) -> BugReport {
    let mut failed = FailedParts::default();
    let log_path = RunFolder::in_home(context.retake.folder()).log_path();
    let log = failed.keep("log", daemon_log::read_log(&log_path).map_err(Into::into));
    BugReport {
        at: iso_8601(context.now()),
        retake: describe_build(),
        system: describe_system(context),
        agents: gather_agents(context, &mut failed),
        settings: gather_settings(context, &mut failed),
        daemon: gather_daemon(context, &mut failed),
        log: log.unwrap_or_default(),
        project: project_part::gather(context, &mut failed),
        failures: failed.0,
    }
}

fn describe_build() -> ReportBuild {
    let env = if cfg!(target_env = "gnu") {
        "-gnu"
    } else if cfg!(target_env = "musl") {
        "-musl"
    } else {
        ""
    };
    ReportBuild {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        target: format!("{}-{}{env}", std::env::consts::ARCH, std::env::consts::OS),
        debug: cfg!(debug_assertions),
    }
}

fn describe_system(context: &CommandContext) -> ReportSystem {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let shell = variable("SHELL").map(PathBuf::from);
    let shell = shell.as_deref().and_then(Path::file_name);
    ReportSystem {
        os: os_name(),
        kernel: first_line_of("uname", &["-srm"]),
        shell: shell.map(|name| name.to_string_lossy().into_owned()),
        term: variable("TERM"),
        width: terminal_size::terminal_size().map(|(width, _)| width.0),
        git: first_line_of("git", &["--version"]),
        usual_home: context.is_default_home(),
    }
}

/// The name and version of the operating system, where it says them.
fn os_name() -> Option<String> {
    if cfg!(target_os = "macos") {
        let version = first_line_of("sw_vers", &["-productVersion"])?;
        return Some(format!("macOS {version}"));
    }
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

/// The machine's name.
pub(super) fn host_name() -> Option<String> {
    first_line_of("uname", &["-n"])
}

/// The first line that a program prints; none if it is not there, fails or takes too long.
fn first_line_of(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    wait_for(&mut child)?;
    let mut text = String::new();
    child.stdout?.take(MAX_PRINTED_BYTES).read_to_string(&mut text).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// Waits until a process ends well; one that takes too long is killed.
fn wait_for(child: &mut Child) -> Option<()> {
    let until = Instant::now() + PROGRAM_TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success().then_some(()),
            Ok(None) if Instant::now() < until => thread::sleep(POLL_INTERVAL),
            Ok(None) | Err(_) => {
                // It may have ended just now.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

fn gather_agents(context: &CommandContext, failed: &mut FailedParts) -> Vec<ReportAgent> {
    let read = || -> anyhow::Result<(SetupEnvironment, SetupStatus)> {
        let named_home = context.named_home.clone();
        let machine = SetupEnvironment::detect(context.start_folder(), named_home)?;
        let status = SetupStatus::read(&context.retake, &machine, &[])?;
        Ok((machine, status))
    };
    let Some((machine, status)) = failed.keep("agents", read()) else { return Vec::new() };
    for (_, error) in status.problems {
        failed.add("agents", error);
    }
    let describe = |row: &AgentStatus| ReportAgent {
        agent: row.agent.name().to_owned(),
        installed: row.installed,
        version: agent_version(row.agent, &machine.path),
        hooks: row.user.state.code().to_owned(),
        hooks_here: row.here.state.code().to_owned(),
        last_event: row.last.map(iso_8601),
    };
    status.agents.iter().map(describe).collect()
}

/// The version of an agent as its files say it: agents take seconds to start, and some update
/// themselves then.
fn agent_version(agent: AgentKind, path: &[PathBuf]) -> Option<String> {
    let files = path
        .iter()
        .flat_map(|folder| program_names(agent).iter().map(move |program| folder.join(program)));
    let program = files.filter_map(|file| file.canonicalize().ok()).find(|file| file.is_file())?;
    let packages = program.ancestors().skip(1).take(MAX_PACKAGE_DEPTH);
    let in_package = packages.map(|folder| folder.join("package.json")).find_map(|package| {
        let package: Value = serde_json::from_slice(&std::fs::read(package).ok()?).ok()?;
        Some(package["version"].as_str()?.to_owned())
    });
    in_package.or_else(|| version_in_name(&program))
}

/// The name of the file itself, as of `…/claude/versions/2.1.0`.
fn version_in_name(program: &Path) -> Option<String> {
    let name = program.file_name()?.to_str()?;
    let is_version = name.contains('.') && name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    is_version.then(|| name.to_owned())
}

fn gather_settings(context: &CommandContext, failed: &mut FailedParts) -> Vec<ReportSetting> {
    let home = context.retake.folder();
    let files = match context.retake.locate(context.start_folder()) {
        Ok(located) => SettingsFiles::of_project(home, located.folder()),
        // The part about the project tells why.
        Err(_) => SettingsFiles::of_home(home),
    };
    let read = files.read();
    for file in read.files {
        for problem in file.problem.iter().flat_map(|problem| problem.lines()) {
            // What it quotes is the person's.
            let place = problem.split_once(": ").map_or("", |(line, _)| line);
            let message = format!("a settings file cannot be used, {place}");
            let message = message.trim_end_matches([' ', ',']).to_owned();
            let code = retake_engine::model::ErrorCode::Settings;
            failed.add("settings", ApiError::without_hint(code, message));
        }
    }
    let changed = read.values.iter().filter(|setting| setting.source != SettingSource::Default);
    changed.map(describe_setting).collect()
}

fn describe_setting(setting: &SettingDocument) -> ReportSetting {
    let value = match &setting.value {
        // Patterns name files; an address, a model and the name of a key name a company.
        Value::Array(items) => json!(plural(items.len() as u64, "entry", "entries")),
        Value::String(_) if setting.key.starts_with("summary.") => json!("set"),
        other => other.clone(),
    };
    let source = match setting.source {
        SettingSource::Project => "project",
        SettingSource::Home | SettingSource::Default => "home",
    };
    ReportSetting { key: setting.key.clone(), value, source: source.to_owned() }
}

fn gather_daemon(context: &CommandContext, failed: &mut FailedParts) -> ReportDaemon {
    let home = context.retake.folder();
    let running = RunFolder::in_home(home).owner().is_some();
    let mut daemon = ReportDaemon { running, ..ReportDaemon::default() };
    let mut fail = |why: &str| {
        let code = retake_engine::model::ErrorCode::Daemon;
        failed.add("daemon", ApiError::without_hint(code, why));
    };
    match DaemonClient::connect(home).map(DaemonClient::status) {
        Ok(Ok(status)) => describe_daemon(&mut daemon, &status),
        Ok(Err(CallError::Failed(failure))) => failed.add("daemon", failure),
        Ok(Err(CallError::NotDone | CallError::Lost(_))) => fail("it does not answer"),
        Err(ConnectError::Absent) if !running => {}
        Err(ConnectError::Absent) => fail("it runs and does not listen"),
        Err(ConnectError::TimedOut) => fail("it does not say hello"),
        Err(ConnectError::Older(hello)) => {
            daemon.version = Some(hello.version);
            fail("it was older than this program, and was asked to stop");
        }
        Err(ConnectError::Newer(hello)) => {
            daemon.version = Some(hello.version);
            fail("it is newer than this program");
        }
    }
    daemon
}

fn describe_daemon(daemon: &mut ReportDaemon, status: &DaemonStatus) {
    daemon.version = Some(status.version.clone());
    daemon.since = Some(iso_8601(status.since));
    daemon.http = status.http.is_some();
    let health = status.health.as_ref();
    for project in health.iter().flat_map(|health| &health.projects).flatten() {
        *daemon.watching.entry(project.watching.describe().to_owned()).or_default() += 1;
    }
    daemon.spooled = health.map(|health| health.spooled);
    daemon.queued = health.map(|health| health.queued);
}
