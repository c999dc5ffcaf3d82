//! The worker of a hook, in a thread that the hook may abandon: through the daemon, or in process.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use anyhow::{Context as _, Result, bail};
use retake_agents::Agent;
use retake_engine::Retake;
use retake_engine::model::Millis;
use retake_engine::settings::Settings;
use retake_server::door::new_key;
use retake_server::hook::{HookCall, HookNews};
use retake_server::{Client, NoDaemon, RunFolder, Unanswered};

use super::{By, News};
use crate::args::Hook;
use crate::commands::daemon::start_detached;
use crate::commands::run::VARIABLE;
use crate::context::Context;
use crate::time;

/// Maximum bytes of a payload, which holds a tool's input and output.
const LARGEST_PAYLOAD: u64 = 64 * 1024 * 1024;

/// Environment variable; `0` prevents the start of a daemon, whatever the settings say.
const AUTOSTART: &str = "RETAKE_AUTOSTART";

/// Owned inputs of the worker thread.
pub(super) struct Surroundings {
    retake: Retake,
    alone: bool,
    agent: Agent,
    event: Option<String>,
    project: Option<PathBuf>,
    cwd: PathBuf,
    now: Millis,
}

impl Surroundings {
    pub(super) fn new(context: &Context, agent: Agent, options: &Hook) -> Self {
        Self {
            retake: context.retake.clone(),
            alone: context.is_alone(),
            agent,
            event: options.event.clone(),
            project: context.project.clone(),
            cwd: context.cwd.clone(),
            now: context.now(),
        }
    }

    fn call(&self, payload: String) -> HookCall {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        HookCall {
            agent: self.agent,
            event: self.event.clone(),
            payload: payload.into(),
            project: self.project.clone(),
            told: self.agent.folder_variable().and_then(folder),
            cwd: self.cwd.clone(),
            run: std::env::var(VARIABLE).ok(),
            user_home: folder("HOME"),
            key: new_key(self.now),
            at: self.now,
        }
    }
}

/// Reads the payload and records it.
pub(super) fn work(surroundings: &Surroundings, news: &Sender<News>) -> Result<()> {
    let call = surroundings.call(read_payload()?);
    // If the receiver is gone, the work is done all the same.
    let _ = news.send(News::Called(call.clone()));
    if !surroundings.alone && by_daemon(surroundings.retake.folder(), &call, news)? {
        return Ok(());
    }
    call.carry_out(&surroundings.retake, time::now, &mut |told| {
        let _ = news.send(News::Came(By::Hook, told));
        Ok(())
    })?;
    Ok(())
}

/// Runs the call in the daemon; `false` if it must run in process.
fn by_daemon(home: &Path, call: &HookCall, news: &Sender<News>) -> Result<bool> {
    let client = match Client::connect(home) {
        Ok(client) => client,
        Err(missing) => {
            if missing == NoDaemon::Absent {
                start_if_wanted(home);
            }
            return Ok(false);
        }
    };
    let mut tell = |told: HookNews| {
        let _ = news.send(News::Came(By::Daemon, told));
    };
    match client.hook(call.clone(), &mut tell) {
        Ok(()) => Ok(true),
        Err(Unanswered::NotDone) => Ok(false),
        // Unrecorded events go to the spool, and the next command records them.
        Err(Unanswered::Lost(pid)) => bail!("the daemon, process {pid}, does not answer any more"),
        Err(Unanswered::Failed(failure)) => Err(failure.into()),
    }
}

/// Starts a daemon for later hooks, if autostart is on and none is starting.
fn start_if_wanted(home: &Path) {
    let is_declined = std::env::var_os(AUTOSTART).is_some_and(|value| value == "0");
    let is_set = || Settings::of_home(home).is_ok_and(|settings| settings.daemon.autostart);
    let wanted = !is_declined && is_set();
    if wanted && RunFolder::of(home).owner().is_none() {
        // If it cannot be started, hooks work without.
        let _ = start_detached(home, None);
    }
}

fn read_payload() -> Result<String> {
    let mut payload = Vec::new();
    let mut input = io::stdin().lock().take(LARGEST_PAYLOAD + 1);
    input.read_to_end(&mut payload).context("the payload cannot be read")?;
    if payload.len() as u64 > LARGEST_PAYLOAD {
        bail!("the payload is larger than {} MiB", LARGEST_PAYLOAD / 1024 / 1024);
    }
    String::from_utf8(payload).context("the payload is no text")
}
