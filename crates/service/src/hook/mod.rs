//! Records an agent's hook payload.
//!
//! The same code runs in the hook's own process and in the daemon. So nothing here reads the
//! environment: what matters of it comes with the [`HookCall`]. Progress is reported step by
//! step ([`HookProgress`]), so that a hook whose time budget is used up knows what is left.
//!
//! Invariant: the keys of what is recorded come from the call's key, so that a call that was
//! worked on twice, by a daemon that was late and by the hook itself, counts once.

mod in_process;
mod model_history;
mod transcript;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use retake_agents::{AgentKind, HookFeedback, HookMessage, HookPhase, PersonalFeedback};
use retake_engine::model::{
    CallId, Caller, DialogId, ErrorCode, Event, EventKind, Millis, ProcessKey,
};
use retake_engine::{
    EventRelay, FeedbackChannel, FeedbackMoments, FeedbackTimes, Project, RecordOutcome,
    ReplySupport, SpoolWriter, StaleContext, StaleReaction,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ApiError;
use crate::request::{Submission, mask_feedback};
pub use in_process::InProcessHost;
use transcript::TranscriptReader;

/// Time budget of a dialog's last hook: Claude Code waits 1.5 s for it, and Codex 3 s.
const END_BUDGET: Duration = Duration::from_millis(900);
/// Assumed time between a hook's start and its call.
const HOOK_STARTUP: Duration = Duration::from_millis(50);
/// Interval between looks for a message that another hook records.
const MESSAGE_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Id of the one call of a dialog of `retake run`.
pub const RUN_CALL_ID: &str = "run";

/// What an agent called a hook with, and what matters of the hook's surroundings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HookCall {
    /// The agent.
    pub agent: AgentKind,
    /// Its name for the event, if the payload does not have it.
    pub event: Option<String>,
    /// What it sent. It travels beside the call: text in a text would have to be escaped.
    #[serde(skip)]
    pub payload: Arc<str>,
    /// The folder that the person named.
    pub project: Option<PathBuf>,
    /// The folder that the agent names in its environment.
    #[serde(rename = "told")]
    pub agent_folder: Option<PathBuf>,
    /// The hook's own folder.
    pub cwd: PathBuf,
    /// The dialog of the run that all of this happens in.
    pub run: Option<String>,
    /// The person's home.
    pub user_home: Option<PathBuf>,
    /// The process of the agent, if the hook's ancestors tell.
    #[serde(default)]
    pub process: Option<ProcessKey>,
    /// What the call is known by.
    pub key: String,
    /// When it came.
    pub at: Millis,
}

/// Progress of a hook call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookProgress {
    /// The payload is understood: this is how to answer.
    Heard(HookPhase),
    /// The project is open, and the events are about to be recorded there.
    Opened {
        /// The project's folder in the home, to keep there what is not recorded in time.
        folder: PathBuf,
        /// How long the agent may be kept waiting.
        budget: Duration,
        /// The project's root.
        root: PathBuf,
        /// Whether the end of the run around the agent is recorded before it.
        run_ends: bool,
        /// How many submissions that makes in all.
        #[serde(rename = "parcels")]
        submissions: usize,
    },
    /// The next submission is recorded, and concerns other projects as well: these are their folders in
    /// the home.
    Concerns {
        /// The folders, to keep there what is not recorded in time.
        folders: Vec<PathBuf>,
    },
    /// The next submission is recorded.
    Recorded {
        /// The agent's notice, if there is one.
        #[serde(rename = "told")]
        notice: Option<AgentNotice>,
        /// What the person says about its work.
        #[serde(default)]
        feedback: Option<String>,
    },
    /// The turn has ended, and the person's feedback is work for another one.
    HandedBack {
        /// The feedback.
        feedback: String,
    },
    /// Something that the person should know.
    Warned(String),
}

/// A notice to the agent about files that changed since it saw them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentNotice {
    /// Whether that is a reason not to do what it is about to do.
    pub reaction: StaleReaction,
    /// In words.
    pub message: String,
}

/// Records an event in the project of a hook, or in another one with this root.
pub type RecordFn<'a> =
    &'a mut dyn FnMut(Option<&Path>, &Submission) -> Result<RecordOutcome, ApiError>;

/// The work of a hook call once its project is open; the [`HookHost`] supplies how to record.
pub type HookWork<'a> = &'a mut dyn FnMut(&Project, RecordFn<'_>) -> Result<(), ApiError>;

/// Where a hook call runs: the hook's own process ([`InProcessHost`]), or the daemon.
pub trait HookHost {
    /// Calls `work` with the project at or above a folder; one is created if there is none.
    fn with_project(&self, start: &Path, work: HookWork<'_>) -> Result<(), ApiError>;

    /// Carries out the rejections that waited for the end of a turn in the project of this root. An
    /// operation that has begun is finished even if the hook ends.
    fn carry_out_rejections(&self, root: &Path) -> Result<(), ApiError>;

    /// Returns the spool for the events of a project that could not be opened; `None` if there is
    /// no such project, or if the caller then runs the call elsewhere.
    fn spool_of_unopened(&self, start: &Path) -> Result<Option<SpoolWriter>, ApiError>;
}

/// Progress callback; an error ends the call.
pub type ReportFn<'a> = &'a mut dyn FnMut(HookProgress) -> Result<(), ApiError>;

impl HookCall {
    /// Parses the payload.
    pub fn parse(&self) -> Result<HookMessage, ApiError> {
        let agent = self.agent;
        let parsed =
            retake_agents::parse_hook(agent, self.event.as_deref(), self.payload.as_bytes());
        parsed.map_err(|error| {
            let message = format!("{agent} sent what is no payload of a hook: {error}");
            ApiError::new(
                ErrorCode::BadPayload,
                message,
                "`retake setup` tells agents what to call",
            )
        })
    }

    /// The folder whose project is meant: the agent's own word for its project's folder, because
    /// the working directory moves with every `cd`.
    pub fn project_folder(&self, message: &HookMessage) -> PathBuf {
        if let Some(project) = &self.project {
            return self.cwd.join(project);
        }
        let folder = message.folder.as_ref().map(PathBuf::from);
        let usable = |path: &PathBuf| path.is_absolute() && path.is_dir();
        let named = [self.agent_folder.clone(), folder].into_iter().flatten().find(usable);
        named.unwrap_or_else(|| self.cwd.clone())
    }

    /// Runs the whole call: parses the payload, opens its project, and records the events.
    pub fn run(&self, host: &impl HookHost, report: ReportFn<'_>) -> Result<(), ApiError> {
        let message = self.parse()?;
        report(HookProgress::Heard(message.phase))?;
        if message.events.is_empty() && message.conversation.is_empty() {
            return Ok(());
        }
        let start = self.project_folder(&message);
        let mut message = Some(message);
        let done = host.with_project(&start, &mut |project, record| match message.take() {
            Some(message) => {
                let caller = message.events.first().map(Caller::hook_of);
                let before = caller.map(|caller| project.set_caller(caller));
                let (phase, at_work) = (message.phase, concerns_queue(&message));
                let dialog = message.events.first().map(|event| event.dialog.clone());
                let recorded = self.record_events(project, message, record, report);
                if recorded.is_ok() && at_work {
                    carry_out_rejections(host, project, report);
                }
                if let (Ok(()), HookPhase::TurnEnd, Some(dialog)) = (&recorded, phase, dialog) {
                    self.hand_back(project, &dialog, report);
                }
                // The project may be a reader that the daemon keeps for other requests.
                before.map(|before| project.set_caller(before));
                recorded
            }
            None => Ok(()),
        });
        match message {
            // The project could not be opened.
            Some(message) if done.is_err() => self.spool_events(host, &start, message)?,
            _ => {}
        }
        done
    }

    /// Records the events of a message; `record` does so for one event.
    ///
    /// Events are moved, never cloned: the arguments of one call can take a large part of the
    /// memory that a hook may have.
    fn record_events(
        &self,
        project: &Project,
        mut message: HookMessage,
        record: RecordFn<'_>,
        report: ReportFn<'_>,
    ) -> Result<(), ApiError> {
        let run = match self.run.as_deref().map(|dialog| end_of_run(project, dialog)) {
            None => None,
            Some(Ok(end)) => end,
            // The agent's own event is worth more than the end of the run around it.
            Some(Err(error)) => {
                let agent = self.agent;
                report(HookProgress::Warned(format!("the run around {agent} goes on: {error}")))?;
                None
            }
        };
        let run_ends = run.is_some();
        let budget = time_budget(project, &message);
        let ends_turn = message.events.iter().any(ends_turn);
        let dialog = message.events.first().map(|event| event.dialog.clone());
        let mut submissions = self.submissions(run, std::mem::take(&mut message.events));
        for submission in &mut submissions {
            submission.deadline = Some(self.deadline(budget));
        }
        report(HookProgress::Opened {
            folder: project.folder().to_owned(),
            budget,
            root: project.root().to_owned(),
            run_ends,
            submissions: submissions.len(),
        })?;
        if message.follows_unawaited_message
            && let Some(dialog) = &dialog
        {
            wait_for_message(project, dialog, budget / 2)?;
        }
        let transcript = TranscriptReader::new(self, project, &message);
        for mut submission in submissions {
            if let EventKind::UserMessage { .. } = submission.event.what {
                transcript.read_before(&mut submission.event);
            }
            let told = if self.complete_message(project, &submission.event)? {
                AgentReply::default()
            } else {
                let recorded = record(None, &submission);
                if let Some(relay) = recorded.as_ref().ok().and_then(|it| it.relay.as_ref()) {
                    relay_to_others(relay, &submission, record, report);
                }
                report_recorded(recorded, report)?
            };
            // If the hook has gone, the rest is recorded all the same.
            let AgentReply { notice, feedback } = told;
            let feedback = feedback.map(|text| mask_feedback(project, &text));
            let _ = report(HookProgress::Recorded { notice, feedback });
        }
        // A prompt does not wait for what the model got: that is read when the turn has ended.
        if let Some(dialog) = dialog.filter(|_| ends_turn) {
            transcript.read_after(&dialog);
            model_history::record_new_messages(self, project, &message, &dialog);
        }
        Ok(())
    }

    /// Hands the person's feedback to an agent that has ended its turn, if it still waits for the
    /// reply: what is handed back counts as told.
    fn hand_back(&self, project: &Project, dialog: &DialogId, report: ReportFn<'_>) {
        let is_wanted = project.settings().feedback.at_turn_end
            && retake_agents::personal_feedback_of(self.agent).turn_end;
        if !is_wanted {
            return;
        }
        let deadline = Some(self.deadline(project.settings().hook.budget()));
        let times = FeedbackTimes { at: self.at, deadline };
        match project.take_feedback(dialog, FeedbackChannel::TurnEnd, times) {
            Ok(Some((_, text))) => {
                let feedback = mask_feedback(project, &text);
                let _ = report(HookProgress::HandedBack { feedback });
            }
            Ok(None) => {}
            Err(error) => {
                let text = format!("the person's feedback was not passed on: {error}");
                let _ = report(HookProgress::Warned(text));
            }
        }
    }

    /// Cline tells of a task that starts, and then perhaps what the person said: that is one
    /// message.
    fn complete_message(&self, project: &Project, event: &Event) -> Result<bool, ApiError> {
        match &event.what {
            EventKind::UserMessage { text }
                if self.agent == AgentKind::Cline && !text.is_empty() =>
            {
                Ok(project.complete_message(&event.dialog, text)?)
            }
            _ => Ok(false),
        }
    }

    /// Spools the events for a project that cannot be opened now, if there is one.
    fn spool_events(
        &self,
        host: &impl HookHost,
        start: &Path,
        message: HookMessage,
    ) -> Result<(), ApiError> {
        let Some(spool) = host.spool_of_unopened(start)? else { return Ok(()) };
        for submission in self.submissions(None, message.events) {
            spool.push_submission(&submission)?;
        }
        Ok(())
    }

    /// Returns the submissions that are left when `recorded` of them are recorded; as
    /// [`HookProgress::Opened`] said, the end of the run around it may be the first of them.
    pub fn unrecorded(&self, run_ends: bool, recorded: usize) -> Result<Vec<Submission>, ApiError> {
        let run = self.run.as_deref().filter(|_| run_ends).map(run_end_event);
        Ok(self.submissions(run, self.parse()?.events).into_iter().skip(recorded).collect())
    }

    /// Until when the agent surely waits: its hook began a moment before this call was made.
    fn deadline(&self, budget: Duration) -> Millis {
        let waits = budget.saturating_sub(HOOK_STARTUP).as_millis();
        self.at.saturating_add(Millis::try_from(waits).unwrap_or(Millis::MAX))
    }

    /// The submissions of the call; their keys are the same in the hook and in the daemon.
    fn submissions(&self, run: Option<Event>, events: Vec<Event>) -> Vec<Submission> {
        let said_by = events.first().map(Caller::hook_of);
        let submission = |name: String, event: Event| {
            let key = format!("{}.{name}", self.key);
            let new = Submission::new(key, event, self.at);
            let mut new = new
                .with_reply_support(feedback_of(self.agent))
                .with_feedback_moments(feedback_moments_of(self.agent));
            new.origin.said_by.clone_from(&said_by);
            new.origin.process.clone_from(&self.process);
            new
        };
        let run = run.map(|event| submission("run".to_owned(), event));
        let submissions = events
            .into_iter()
            .enumerate()
            .map(|(number, event)| submission(number.to_string(), event));
        run.into_iter().chain(submissions).collect()
    }
}

fn feedback_of(agent: AgentKind) -> ReplySupport {
    match retake_agents::feedback_of(agent) {
        HookFeedback::Notes => ReplySupport::Notes,
        HookFeedback::Denials => ReplySupport::Denials,
        HookFeedback::DenialsAndLateNotes => ReplySupport::DenialsAndLateNotes,
    }
}

fn feedback_moments_of(agent: AgentKind) -> FeedbackMoments {
    let PersonalFeedback { message, call_end, .. } = retake_agents::personal_feedback_of(agent);
    FeedbackMoments { message, call_end }
}

/// Carries out the rejections whose turns have ended. What goes wrong is told, and they wait on:
/// it must not break the agent.
fn carry_out_rejections(host: &impl HookHost, project: &Project, report: ReportFn<'_>) {
    let waiting = project.has_waiting_rejections();
    let done = match waiting {
        Ok(false) => return,
        Ok(true) => host.carry_out_rejections(project.root()),
        Err(error) => Err(error.into()),
    };
    if let Err(error) = done {
        let text = format!("rejections still wait: {}", error.message);
        let _ = report(HookProgress::Warned(text));
    }
}

/// Returns whether rejections may be due that wait for the end of a turn.
fn concerns_queue(message: &HookMessage) -> bool {
    message.events.iter().any(|event| {
        let begins = matches!(event.what, EventKind::DialogStart { .. });
        begins || ends_turn(event)
    })
}

/// The end of the call of a run, if it is open. Whatever reports itself needs no `retake run`
/// around it, which would claim the person's edits as well.
pub fn end_of_run(project: &Project, dialog: &str) -> Result<Option<Event>, ApiError> {
    let is_open = project.is_open(&DialogId(dialog.to_owned()), &CallId::from(RUN_CALL_ID))?;
    Ok(is_open.then(|| run_end_event(dialog)))
}

fn run_end_event(dialog: &str) -> Event {
    Event::new(dialog, run_end(None, None))
}

/// The end of the call of a run, with the exit code of its program if it is known.
pub fn run_end(ok: Option<bool>, exit_code: Option<i64>) -> EventKind {
    let (call, tool, input) = (Some(CallId::from(RUN_CALL_ID)), None, Value::Null);
    EventKind::ToolEnd { call, ok, exit_code, tool, input, background: false, task: None }
}

/// Agents wait for little when they are about to end.
fn time_budget(project: &Project, message: &HookMessage) -> Duration {
    let ends = message.events.iter().any(|event| matches!(event.what, EventKind::DialogEnd {}));
    let set = project.settings().hook.budget();
    if ends { set.min(END_BUDGET) } else { set }
}

/// Waits until the message that the dialog's work belongs to is recorded. If it does not come in
/// time, the work is that of no message. Where a turn is open already, nothing is waited for.
fn wait_for_message(
    project: &Project,
    dialog: &DialogId,
    timeout: Duration,
) -> Result<(), ApiError> {
    let started = Instant::now();
    while !project.dialog(dialog)?.is_some_and(|dialog| dialog.turn_open)
        && started.elapsed() < timeout
    {
        thread::sleep(MESSAGE_POLL_INTERVAL);
    }
    Ok(())
}

/// Records an event in the other projects that it concerns. The agent is notified by the first
/// project only, and a project that fails does not stop the others.
fn relay_to_others(
    relay: &EventRelay,
    submission: &Submission,
    record: RecordFn<'_>,
    report: ReportFn<'_>,
) {
    let folders = relay.to.iter().map(|other| other.folder.clone()).collect();
    // If the hook has gone, the rest is recorded all the same.
    let _ = report(HookProgress::Concerns { folders });
    let submission = relay.relayed_submission(submission);
    for other in &relay.to {
        if let Err(failure) = record(Some(&other.root), &submission) {
            let (root, message) = (other.root.display(), failure.message);
            let _ = report(HookProgress::Warned(format!("not recorded in {root}: {message}")));
        }
    }
}

/// What an agent is told with the record of an event.
#[derive(Default)]
struct AgentReply {
    notice: Option<AgentNotice>,
    feedback: Option<String>,
}

/// Reports the warnings of a recorded event; returns what the agent is told.
fn report_recorded(
    recorded: Result<RecordOutcome, ApiError>,
    report: ReportFn<'_>,
) -> Result<AgentReply, ApiError> {
    match recorded {
        Ok(recorded) => {
            for notice in &recorded.notices {
                tracing::info!(code = notice.code.as_str(), "{}", notice.message);
            }
            let notice = |stale: StaleContext| AgentNotice {
                reaction: stale.reaction,
                message: stale.message,
            };
            let feedback = recorded.feedback;
            Ok(AgentReply { notice: recorded.stale.map(notice), feedback })
        }
        // These are kept until the person has settled it.
        Err(failure) if failure.code.known().is_some_and(is_spooled_failure) => {
            let _ = report(HookProgress::Warned(format!(
                "the event is kept, not recorded: {}",
                failure.message
            )));
            Ok(AgentReply::default())
        }
        Err(failure) => Err(failure),
    }
}

/// Returns true for a failure to record after which the event is in the spool.
fn is_spooled_failure(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::Replaced | ErrorCode::Gone | ErrorCode::ReadOnly)
}

/// Returns whether the event ends a turn, so that the transcript may have grown.
fn ends_turn(event: &Event) -> bool {
    matches!(event.what, EventKind::TurnEnd { .. } | EventKind::DialogEnd {})
}
