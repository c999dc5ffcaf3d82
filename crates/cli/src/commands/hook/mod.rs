//! `retake hook`: the command that agents run at each of their steps.
//!
//! Reads one payload, records it through the daemon (in process if none answers), and prints the
//! reply. It never breaks or blocks the agent:
//! - It exits with 0, whatever happens; some agents take any other code for a refusal.
//! - It answers within its budget. Events not recorded by then go to the spool, and a detached
//!   process records them.
//! - A payload that cannot be parsed is one warning on standard error.

mod work;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use retake_agents::{Agent, Moment, Verdict};
use retake_engine::model::EventKind;
use retake_engine::settings::Hook as HookSettings;
use retake_engine::{Keeper, Reaction};
use retake_server::door::Parcel;
use retake_server::hook::{HookCall, HookNews, Told};

use crate::args::Hook;
use crate::context::{Context, Exit};
use crate::output::{Style, tell, warn};

/// Grace period after the budget for writing unrecorded events to the spool: a busy disk must not
/// lose an event.
const GRACE: Duration = Duration::from_secs(2);
/// Grace period at the end of a dialog: agents that shut down wait for less.
const GRACE_AT_THE_END: Duration = Duration::from_millis(500);

/// Notice to an agent whose call begins before the scan has finished.
const NOT_LOOKED: &str = "Retake has not finished looking at the project yet: of files that were saved just \
     before this call and that it changes, the earlier content may not be on record. `retake status` \
     will name them.";

/// Where the hook's work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// A thread of this process.
    Hook,
    /// The daemon.
    Daemon,
}

/// Message from the worker thread.
enum News {
    /// The payload was read; this is the call to run.
    Called(HookCall),
    /// Progress of the worker.
    Came(By, HookNews),
}

pub(super) fn run(context: &Context, options: &Hook) -> Exit {
    let started = Instant::now();
    let agent: Agent = match options.agent.parse() {
        Ok(agent) => agent,
        Err(error) => {
            warn(&error.to_string());
            return Exit::Done;
        }
    };
    if std::io::stdin().is_terminal() {
        let text = "agents call this and send a payload; `retake setup` tells them to";
        tell("note", Style::Mark, text);
        return Exit::Done;
    }
    let Followed { moment, verdict, left } = in_time(context, agent, options, started);
    let reply = retake_agents::reply(agent, moment, &verdict);
    // An agent that closed the pipe needs no reply.
    let _ = context.out.text(&reply);
    if let Some(left) = left {
        keep_within(left.grace(), left);
    }
    // The worker thread may still be running; it ends with this process.
    Exit::Done
}

/// Result of waiting for the worker.
struct Followed {
    /// Which reply the agent waits for.
    moment: Moment,
    /// The reply to the agent.
    verdict: Verdict,
    /// Events that are not recorded.
    left: Option<Left>,
}

/// Runs the worker until all is recorded or the budget is used up.
fn in_time(context: &Context, agent: Agent, options: &Hook, started: Instant) -> Followed {
    let (news, heard) = mpsc::channel();
    let surroundings = work::Surroundings::new(context, agent, options);
    let worker = thread::Builder::new().spawn(move || {
        if let Err(error) = work::work(&surroundings, &news) {
            warn(&format!("not all was recorded for {agent}: {error:#}"));
        }
    });
    match worker {
        Ok(_) => follow(&heard, started, context.retake.folder()),
        Err(error) => {
            warn(&format!("nothing was recorded for {agent}: {error}"));
            Followed { moment: Moment::default(), verdict: Verdict::Proceed, left: None }
        }
    }
}

fn follow(news: &Receiver<News>, started: Instant, home: &Path) -> Followed {
    let (mut moment, mut verdict) = (Moment::default(), Verdict::Proceed);
    let mut budget = HookSettings::default().budget();
    let (mut call, mut begun) = (None, None);
    let why = loop {
        let (by, came) = match news.recv_timeout(budget.saturating_sub(started.elapsed())) {
            Ok(News::Called(called)) => {
                call = Some(called);
                continue;
            }
            Ok(News::Came(by, came)) => (by, came),
            // The worker has ended; if it failed, it has warned.
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => break Some(budget.as_millis()),
        };
        match came {
            HookNews::Heard(heard) => moment = heard,
            HookNews::Opened { folder, budget: set, root, run_ends, parcels } => {
                budget = set;
                let (keeper, recorded) = (Keeper::of(&folder), 0);
                let others = Vec::new();
                begun = Some(Begun { keeper, others, root, run_ends, parcels, recorded, by });
            }
            HookNews::Concerns { folders } => {
                if let Some(begun) = &mut begun {
                    begun.others = folders.iter().map(|folder| Keeper::of(folder)).collect();
                }
            }
            HookNews::Recorded { told } => {
                verdict = told.map_or(verdict, answer);
                if let Some(begun) = &mut begun {
                    begun.recorded += 1;
                    begun.others.clear();
                }
            }
            HookNews::Warned(text) => warn(&text),
        }
    };
    if let (None, Some(ms)) = (&begun, why) {
        warn(&format!("nothing was recorded: there was no payload, or no project, in {ms} ms"));
    }
    let left = call.zip(begun).and_then(|(call, begun)| begun.left(&call, home));
    let is_early = why.is_some() && left.as_ref().is_some_and(Left::begins);
    if is_early && matches!(verdict, Verdict::Proceed) {
        verdict = Verdict::Note(NOT_LOOKED.to_owned());
    }
    Followed { moment, verdict, left }
}

/// Work whose project is open.
struct Begun {
    keeper: Keeper,
    /// The other projects that the next parcel concerns.
    others: Vec<Keeper>,
    root: PathBuf,
    run_ends: bool,
    parcels: usize,
    recorded: usize,
    by: By,
}

impl Begun {
    /// Returns the unrecorded events; none if all are recorded.
    fn left(self, call: &HookCall, home: &Path) -> Option<Left> {
        let Self { keeper, others, root, run_ends, parcels, recorded, by } = self;
        if recorded >= parcels {
            return None;
        }
        // The worker has parsed it before.
        let parcels = call.left(run_ends, recorded).unwrap_or_default();
        Some(Left { keeper, others, root, parcels, by, home: home.into() })
    }
}

fn answer(told: Told) -> Verdict {
    match told.reaction {
        Reaction::None => Verdict::Proceed,
        Reaction::Note => Verdict::Note(told.message),
        Reaction::Deny => Verdict::Deny(told.message),
    }
}

/// Writes unrecorded events to the spool with a timeout: a pipe without a reader, or a disk that
/// hangs, must not block the agent.
fn keep_within(patience: Duration, left: Left) {
    let (done, wait) = mpsc::channel();
    let keep = move || {
        left.keep();
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(keep).is_ok() {
        let _ = wait.recv_timeout(patience);
    }
}

/// Events that are not recorded yet.
struct Left {
    keeper: Keeper,
    /// The other projects that the first of the parcels concerns.
    others: Vec<Keeper>,
    root: PathBuf,
    parcels: Vec<Parcel>,
    by: By,
    home: PathBuf,
}

impl Left {
    fn grace(&self) -> Duration {
        let ends = |parcel: &Parcel| matches!(parcel.event.what, EventKind::DialogEnd {});
        if self.parcels.iter().any(ends) { GRACE_AT_THE_END } else { GRACE }
    }

    /// Returns true if a call begins before the scan has finished.
    fn begins(&self) -> bool {
        let begins = |parcel: &Parcel| matches!(parcel.event.what, EventKind::ToolBegin { .. });
        self.parcels.iter().any(begins)
    }

    /// Writes the events to the spool durably and starts a process that records them.
    fn keep(&self) {
        if let Some(first) = self.parcels.first() {
            for other in &self.others {
                let kept = other.keep(&first.key, &first.event, first.at);
                let _ = kept.inspect_err(|error| warn(&format!("an event is lost: {error}")));
            }
        }
        for parcel in &self.parcels {
            if let Err(error) = self.keeper.keep(&parcel.key, &parcel.event, parcel.at) {
                warn(&format!("an event is lost: {error}"));
                return;
            }
        }
        // A daemon is still working on it.
        if self.by == By::Hook {
            catch_up(&self.home, &self.root);
        }
        warn("what could not be recorded in time is kept for later");
    }
}

/// Starts a process that scans the project and records its spool.
fn catch_up(home: &Path, root: &Path) {
    use std::os::unix::process::CommandExt as _;
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.arg("catch-up").arg("--project").arg(root).arg("--home").arg(home).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // In its own process group, so that a signal to the agent's does not reach it. If it cannot be
    // started, the next command records the spool.
    let _ = command.process_group(0).spawn();
}
