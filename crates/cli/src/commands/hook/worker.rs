//! The worker of a hook, in a thread that the hook may abandon: through the daemon, or in process.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use anyhow::{Context as _, Result, bail};
use retake_agents::{AgentKind, payload_key, sending_agent};
use retake_engine::Retake;
use retake_engine::model::Millis;
use retake_engine::settings::Settings;
use retake_server::{CallError, ConnectError, DaemonClient, RunFolder};
use retake_service::caller::{agent_process, ancestors_of};
use retake_service::hook::{HookCall, HookProgress, InProcessHost};
use retake_service::request::new_idempotency_key;

use super::{HookWorker, HookWorkerMessage};
use crate::args::HookArgs;
use crate::commands::daemon::start_detached;
use crate::commands::run::RUN_DIALOG_VARIABLE;
use crate::context::CommandContext;
use crate::time;

/// Maximum bytes of a payload, which holds a tool's input and output.
const MAX_PAYLOAD_BYTES: u64 = 64 * 1024 * 1024;

/// Environment variable; `0` prevents the start of a daemon, whatever the settings say.
pub(crate) const AUTOSTART_VARIABLE: &str = "RETAKE_AUTOSTART";

/// Owned inputs of the worker thread.
pub(super) struct HookEnvironment {
    retake: Retake,
    no_daemon: bool,
    agent: AgentKind,
    event: Option<String>,
    project: Option<PathBuf>,
    cwd: PathBuf,
    now: Millis,
}

impl HookEnvironment {
    pub(super) fn new(context: &CommandContext, agent: AgentKind, options: &HookArgs) -> Self {
        Self {
            retake: context.retake.clone(),
            no_daemon: context.skips_daemon(),
            agent,
            event: options.event.clone(),
            project: context.project.clone(),
            cwd: context.cwd.clone(),
            now: context.now(),
        }
    }

    fn build_call(&self, payload: String) -> HookCall {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        // VS Code runs the hooks of other agents.
        let agent = sending_agent(self.agent, payload.as_bytes());
        let key = payload_key(agent, payload.as_bytes());
        HookCall {
            agent,
            event: self.event.clone(),
            payload: payload.into(),
            project: self.project.clone(),
            agent_folder: agent.folder_variable().and_then(folder),
            cwd: self.cwd.clone(),
            run: std::env::var(RUN_DIALOG_VARIABLE).ok(),
            user_home: folder("HOME"),
            process: agent_process(&ancestors_of(std::process::id())),
            key: key.unwrap_or_else(|| new_idempotency_key(self.now)),
            at: self.now,
        }
    }
}

/// Reads the payload and records it.
pub(super) fn run(environment: &HookEnvironment, sender: &Sender<HookWorkerMessage>) -> Result<()> {
    let call = environment.build_call(read_payload()?);
    // If the receiver is gone, the work is done all the same.
    let _ = sender.send(HookWorkerMessage::PayloadRead(call.clone()));
    if !environment.no_daemon && try_daemon(environment.retake.folder(), &call, sender)? {
        return Ok(());
    }
    let (clock, carry_out) = (time::now as fn() -> Millis, super::catch_up_and_wait as _);
    let host = InProcessHost { retake: &environment.retake, at: call.at, clock, carry_out };
    call.run(&host, &mut |progress| {
        let _ = sender.send(HookWorkerMessage::Progress(HookWorker::InProcess, progress));
        Ok(())
    })?;
    Ok(())
}

/// Runs the call in the daemon; `false` if it must run in process.
fn try_daemon(home: &Path, call: &HookCall, sender: &Sender<HookWorkerMessage>) -> Result<bool> {
    let client = match DaemonClient::connect(home) {
        Ok(client) => client,
        Err(missing) => {
            if missing == ConnectError::Absent {
                autostart_daemon(home);
            }
            return Ok(false);
        }
    };
    let mut report = |progress: HookProgress| {
        let _ = sender.send(HookWorkerMessage::Progress(HookWorker::Daemon, progress));
    };
    match client.run_hook(call.clone(), &mut report) {
        Ok(()) => Ok(true),
        Err(CallError::NotDone) => Ok(false),
        // Unrecorded events go to the spool, and the next command records them.
        Err(CallError::Lost(pid)) => bail!("the daemon, process {pid}, no longer answers"),
        Err(CallError::Failed(failure)) => Err(failure.into()),
    }
}

/// Starts a daemon for later hooks, if autostart is on and none is starting.
fn autostart_daemon(home: &Path) {
    let is_declined = std::env::var_os(AUTOSTART_VARIABLE).is_some_and(|value| value == "0");
    let is_set = || Settings::load_home(home).is_ok_and(|settings| settings.daemon.autostart);
    let wanted = !is_declined && is_set();
    if wanted && RunFolder::in_home(home).owner().is_none() {
        // If it cannot be started, hooks work without.
        let _ = start_detached(home, None);
    }
}

fn read_payload() -> Result<String> {
    let mut payload = Vec::new();
    let mut input = io::stdin().lock().take(MAX_PAYLOAD_BYTES + 1);
    input.read_to_end(&mut payload).context("the payload cannot be read")?;
    if payload.len() as u64 > MAX_PAYLOAD_BYTES {
        bail!("the payload is larger than {} MiB", MAX_PAYLOAD_BYTES / 1024 / 1024);
    }
    String::from_utf8(payload).context("the payload is no text")
}
