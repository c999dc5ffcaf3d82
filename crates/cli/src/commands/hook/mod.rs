//! `retake hook`: the command that agents run at each of their steps.
//!
//! Reads one payload, records it through the daemon (in process if none answers), and prints the
//! reply. It never breaks or blocks the agent:
//! - It exits with 0, whatever happens; some agents take any other code for a refusal.
//! - It answers within its budget. Events not recorded by then go to the spool, and a detached
//!   process records them.
//! - A payload that cannot be parsed is one warning on standard error.

mod worker;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use retake_agents::{AgentKind, HookPhase, HookVerdict};
use retake_engine::model::{ErrorCode, EventKind};
use retake_engine::settings::HookSettings;
use retake_engine::{SpoolWriter, StaleReaction};
use retake_service::ApiError;
use retake_service::hook::{AgentNotice, HookCall, HookProgress};
use retake_service::request::Submission;

pub(crate) use worker::AUTOSTART_VARIABLE;

use crate::args::HookArgs;
use crate::context::{CommandContext, Exit};
use crate::output::{TextStyle, print_message, warn};

/// Grace period after the budget for writing unrecorded events to the spool: a busy disk must not
/// lose an event.
const SPOOL_GRACE: Duration = Duration::from_secs(2);
/// Grace period at the end of a dialog: agents that shut down wait for less.
const SPOOL_GRACE_AT_END: Duration = Duration::from_millis(500);

/// Notice to an agent whose call begins before the scan has finished.
const SCAN_UNFINISHED_NOTICE: &str = "Retake has not finished looking at the project yet: of files that were saved just \
     before this call and that it changes, the earlier content may not be on record. `retake status` \
     will name them.";

/// Where the hook's work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HookWorker {
    /// A thread of this process.
    InProcess,
    /// The daemon.
    Daemon,
}

/// Message from the worker thread.
enum HookWorkerMessage {
    /// The payload was read; this is the call to run.
    PayloadRead(HookCall),
    /// Progress of the worker.
    Progress(HookWorker, HookProgress),
}

pub(super) fn run(context: &CommandContext, options: &HookArgs) -> Exit {
    let started = Instant::now();
    let agent: AgentKind = match options.agent.parse() {
        Ok(agent) => agent,
        Err(error) => {
            warn(&error.to_string());
            return Exit::Done;
        }
    };
    if io::stdin().is_terminal() {
        let text = "agents call this and send a payload; `retake setup` tells them to";
        print_message("note", TextStyle::Mark, text);
        return Exit::Done;
    }
    let HookResult { sender, phase, verdict, feedback, unrecorded } =
        run_within_budget(context, agent, options, started);
    let sender = sender.unwrap_or(agent);
    let reply = retake_agents::render_reply(sender, phase, &verdict, feedback.as_deref());
    // An agent that closed the pipe needs no reply.
    let _ = context.out.text(&reply);
    if let Some(unrecorded) = unrecorded {
        spool_within(unrecorded.spool_grace(), unrecorded);
    }
    // The worker thread may still be running; it ends with this process.
    Exit::Done
}

/// Result of waiting for the worker.
struct HookResult {
    /// The agent that sent the payload, once that is read.
    sender: Option<AgentKind>,
    /// Which reply the agent waits for.
    phase: HookPhase,
    /// The reply to the agent.
    verdict: HookVerdict,
    /// What the person says about its work.
    feedback: Option<String>,
    /// Events that are not recorded.
    unrecorded: Option<UnrecordedEvents>,
}

/// Runs the worker until all is recorded or the budget is used up.
fn run_within_budget(
    context: &CommandContext,
    agent: AgentKind,
    options: &HookArgs,
    started: Instant,
) -> HookResult {
    let (sender, receiver) = mpsc::channel();
    let environment = worker::HookEnvironment::new(context, agent, options);
    let worker = thread::Builder::new().spawn(move || {
        if let Err(error) = worker::run(&environment, &sender) {
            warn(&format!("not all was recorded for {agent}: {error:#}"));
        }
    });
    match worker {
        Ok(_) => follow_worker(&receiver, started, context.retake.folder()),
        Err(error) => {
            warn(&format!("nothing was recorded for {agent}: {error}"));
            HookResult {
                sender: None,
                phase: HookPhase::default(),
                verdict: HookVerdict::Proceed,
                feedback: None,
                unrecorded: None,
            }
        }
    }
}

fn follow_worker(
    receiver: &Receiver<HookWorkerMessage>,
    started: Instant,
    home: &Path,
) -> HookResult {
    let (mut phase, mut verdict) = (HookPhase::default(), HookVerdict::Proceed);
    let mut budget = HookSettings::default().budget();
    let (mut call, mut begun): (Option<HookCall>, _) = (None, None);
    let mut feedback = None;
    let timeout_ms = loop {
        let (worker, progress) =
            match receiver.recv_timeout(budget.saturating_sub(started.elapsed())) {
                Ok(HookWorkerMessage::PayloadRead(called)) => {
                    call = Some(called);
                    continue;
                }
                Ok(HookWorkerMessage::Progress(worker, progress)) => (worker, progress),
                // The worker has ended; if it failed, it has warned.
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) => break Some(budget.as_millis()),
            };
        match progress {
            HookProgress::Heard(heard) => phase = heard,
            HookProgress::Opened { folder, budget: set, root, run_ends, submissions } => {
                budget = set;
                begun = Some(StartedHookWork {
                    spool: SpoolWriter::for_folder(&folder),
                    others: Vec::new(),
                    root,
                    run_ends,
                    submissions,
                    recorded: 0,
                    worker,
                });
            }
            HookProgress::Concerns { folders } => {
                if let Some(begun) = &mut begun {
                    begun.others =
                        folders.iter().map(|folder| SpoolWriter::for_folder(folder)).collect();
                }
            }
            HookProgress::Recorded { notice, feedback: told } => {
                feedback = told.or(feedback);
                verdict = notice.map_or(verdict, verdict_for);
                if let Some(begun) = &mut begun {
                    begun.recorded += 1;
                    begun.others.clear();
                }
            }
            HookProgress::HandedBack { feedback: told } => feedback = Some(told),
            HookProgress::Warned(text) => warn(&text),
        }
    };
    if let (None, Some(ms)) = (&begun, timeout_ms) {
        warn(&format!("nothing was recorded: there was no payload, or no project, in {ms} ms"));
    }
    let sender = call.as_ref().map(|call| call.agent);
    let unrecorded = call.zip(begun).and_then(|(call, begun)| begun.into_unrecorded(&call, home));
    let is_early =
        timeout_ms.is_some() && unrecorded.as_ref().is_some_and(UnrecordedEvents::has_tool_begin);
    if is_early && matches!(verdict, HookVerdict::Proceed) {
        verdict = HookVerdict::Note(SCAN_UNFINISHED_NOTICE.to_owned());
    }
    HookResult { sender, phase, verdict, feedback, unrecorded }
}

/// Work whose project is open.
struct StartedHookWork {
    spool: SpoolWriter,
    /// The other projects that the next submission concerns.
    others: Vec<SpoolWriter>,
    root: PathBuf,
    run_ends: bool,
    submissions: usize,
    recorded: usize,
    worker: HookWorker,
}

impl StartedHookWork {
    /// Returns the unrecorded events; none if all are recorded.
    fn into_unrecorded(self, call: &HookCall, home: &Path) -> Option<UnrecordedEvents> {
        let Self { spool, others, root, run_ends, submissions, recorded, worker } = self;
        if recorded >= submissions {
            return None;
        }
        // The worker has parsed it before.
        let submissions = call.unrecorded(run_ends, recorded).unwrap_or_default();
        Some(UnrecordedEvents { spool, others, root, submissions, worker, home: home.into() })
    }
}

fn verdict_for(notice: AgentNotice) -> HookVerdict {
    match notice.reaction {
        StaleReaction::None => HookVerdict::Proceed,
        StaleReaction::Note => HookVerdict::Note(notice.message),
        StaleReaction::Deny => HookVerdict::Deny(notice.message),
    }
}

/// Writes unrecorded events to the spool with a timeout: a pipe without a reader, or a disk that
/// hangs, must not block the agent.
fn spool_within(timeout: Duration, unrecorded: UnrecordedEvents) {
    let (done, wait) = mpsc::channel();
    let write = move || {
        unrecorded.write_to_spool();
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(write).is_ok() {
        let _ = wait.recv_timeout(timeout);
    }
}

/// Events that are not recorded yet.
struct UnrecordedEvents {
    spool: SpoolWriter,
    /// The other projects that the first of the submissions concerns.
    others: Vec<SpoolWriter>,
    root: PathBuf,
    submissions: Vec<Submission>,
    worker: HookWorker,
    home: PathBuf,
}

impl UnrecordedEvents {
    fn spool_grace(&self) -> Duration {
        let ends =
            |submission: &Submission| matches!(submission.event.what, EventKind::DialogEnd {});
        if self.submissions.iter().any(ends) { SPOOL_GRACE_AT_END } else { SPOOL_GRACE }
    }

    /// Returns true if a call begins before the scan has finished.
    fn has_tool_begin(&self) -> bool {
        let begins =
            |submission: &Submission| matches!(submission.event.what, EventKind::ToolBegin { .. });
        self.submissions.iter().any(begins)
    }

    /// Writes the events to the spool durably and starts a process that records them.
    fn write_to_spool(&self) {
        if let Some(first) = self.submissions.first() {
            for other in &self.others {
                let pushed = other.push_submission(first);
                let _ = pushed.inspect_err(|error| warn(&format!("an event is lost: {error}")));
            }
        }
        for submission in &self.submissions {
            if let Err(error) = self.spool.push_submission(submission) {
                warn(&format!("an event is lost: {error}"));
                return;
            }
        }
        // A daemon is still working on it.
        if self.worker == HookWorker::InProcess {
            spawn_catch_up(&self.home, &self.root);
        }
        warn("what could not be recorded in time is kept for later");
    }
}

/// Starts a process that scans the project and records its spool.
fn spawn_catch_up(home: &Path, root: &Path) {
    // If it cannot be started, the next command records the spool.
    let _ = catch_up_command(home, root).and_then(|mut command| command.spawn());
}

/// Has another process scan the project and carry out the rejections that are due.
fn catch_up_and_wait(home: &Path, root: &Path) -> Result<(), ApiError> {
    let ended = catch_up_command(home, root).and_then(|mut command| command.status());
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(catch_up_failed(&status.to_string())),
        Err(error) => Err(catch_up_failed(&error.to_string())),
    }
}

fn catch_up_failed(reason: &str) -> ApiError {
    let message = format!("`retake catch-up` failed: {reason}");
    ApiError::new(ErrorCode::Internal, message, "run `retake review --queue`")
}

fn catch_up_command(home: &Path, root: &Path) -> io::Result<Command> {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("catch-up").arg("--project").arg(root).arg("--home").arg(home).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // In its own process group, so that a signal to the agent's does not reach it.
    command.process_group(0);
    Ok(command)
}
