//! The work of a hook, in a thread that nobody has to wait for.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use retake_agents::{Agent, Heard};
use retake_engine::model::{Event, EventKind, Millis};
use retake_engine::{Keeper, Project, RecordError, Retake};

use super::talk::Talk;
use super::{News, Parcel};
use crate::args::Hook;
use crate::commands::run::around::end_of_the_run_around;
use crate::context::Context;
use crate::output::warn;

/// The most that Claude Code waits for the last hook is 1.5 s, and Codex 3 s.
const AT_THE_END: Duration = Duration::from_millis(900);
/// Larger payloads are not read: a hook tells what a tool was asked for and answered.
const LARGEST_PAYLOAD: u64 = 64 * 1024 * 1024;

/// What the work needs to know, on its own.
pub(super) struct Surroundings {
    retake: Retake,
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
            agent,
            event: options.event.clone(),
            project: context.project.clone(),
            cwd: context.cwd.clone(),
            now: context.now(),
        }
    }

    /// The folder whose project is meant: the agent's own word for its project's folder, because
    /// the working directory moves with every `cd`.
    fn start(&self, heard: &Heard) -> PathBuf {
        if let Some(project) = &self.project {
            return project.clone();
        }
        let told = self.agent.folder_variable().and_then(std::env::var_os).map(PathBuf::from);
        let folder = heard.folder.as_ref().map(PathBuf::from);
        let usable = |path: &PathBuf| path.is_absolute() && path.is_dir();
        [told, folder].into_iter().flatten().find(usable).unwrap_or_else(|| self.cwd.clone())
    }
}

/// Reads the payload, and records what it says.
pub(super) fn work(surroundings: &Surroundings, news: &Sender<News>) -> Result<()> {
    let payload = read_payload()?;
    let agent = surroundings.agent;
    let heard = retake_agents::hear(agent, surroundings.event.as_deref(), &payload)
        .with_context(|| format!("{agent} sent what is no payload of a hook"))?;
    // If nobody follows any more, the rest is done all the same.
    let _ = news.send(News::Heard(heard.moment));
    if heard.events.is_empty() && heard.conversation.is_empty() {
        return Ok(());
    }
    let start = surroundings.start(&heard);
    let project = match surroundings.retake.open_or_create(&start, surroundings.now) {
        Ok(project) => project,
        Err(error) => {
            keep(surroundings, &start, &heard)?;
            return Err(error.into());
        }
    };
    let run = end_of_the_run_around(&project).unwrap_or_else(|error| {
        // The agent's own event is worth more than the end of the run around it.
        warn(&format!("the run around {agent} goes on: {error:#}"));
        None
    });
    let events = run.into_iter().chain(heard.events.iter().cloned());
    let parcels = parcels(&project.keeper(), events, surroundings.now);
    let opened = News::Opened {
        keeper: project.keeper(),
        budget: budget(&project, &heard),
        root: project.root().to_owned(),
        parcels: parcels.clone(),
    };
    let _ = news.send(opened);
    let talk = Talk::new(agent, &project, &heard, surroundings.now);
    for mut parcel in parcels {
        if let EventKind::UserMessage { .. } = parcel.event.what {
            talk.read_before(&mut parcel.event);
        }
        if !completes(&project, agent, &parcel.event)? {
            record(&project, &parcel)?;
        }
        let _ = news.send(News::Recorded);
    }
    if heard.events.iter().any(ends_turn) {
        talk.read_after();
    }
    Ok(())
}

/// Cline tells of a task that starts, and then perhaps what the person said: that is one message.
fn completes(project: &Project, agent: Agent, event: &Event) -> Result<bool> {
    match &event.what {
        EventKind::UserMessage { text } if agent == Agent::Cline && !text.is_empty() => {
            Ok(project.complete_message(&event.dialog, text)?)
        }
        _ => Ok(false),
    }
}

/// Agents wait for little when they are about to end.
fn budget(project: &Project, heard: &Heard) -> Duration {
    let ends = heard.events.iter().any(|event| matches!(event.what, EventKind::DialogEnd {}));
    let set = project.settings().hook.budget();
    if ends { set.min(AT_THE_END) } else { set }
}

fn record(project: &Project, parcel: &Parcel) -> Result<()> {
    let recorded = match project.record_once(&parcel.key, &parcel.event, parcel.at) {
        // These are kept until the person has settled it.
        Err(
            error @ (RecordError::Replaced(_) | RecordError::Gone(_) | RecordError::ReadOnly(_)),
        ) => {
            warn(&format!("the event is kept, not recorded: {error}"));
            return Ok(());
        }
        other => other?,
    };
    for notice in &recorded.notices {
        tracing::info!(code = notice.code.as_str(), "{}", notice.message);
    }
    Ok(())
}

/// Keeps the events of a project that cannot be opened now; there may be none.
fn keep(surroundings: &Surroundings, start: &Path, heard: &Heard) -> Result<()> {
    let Some(keeper) = surroundings.retake.keeper(start)? else { return Ok(()) };
    for parcel in parcels(&keeper, heard.events.iter().cloned(), surroundings.now) {
        keeper.keep(&parcel.key, &parcel.event, parcel.at)?;
    }
    Ok(())
}

fn parcels(keeper: &Keeper, events: impl Iterator<Item = Event>, at: Millis) -> Vec<Parcel> {
    events.map(|event| Parcel { key: keeper.new_key(at), event, at }).collect()
}

/// Whether the conversation may have gone on in the agent's own record.
fn ends_turn(event: &Event) -> bool {
    matches!(event.what, EventKind::TurnEnd { .. } | EventKind::DialogEnd {})
}

fn read_payload() -> Result<Vec<u8>> {
    let mut payload = Vec::new();
    let mut input = io::stdin().lock().take(LARGEST_PAYLOAD + 1);
    input.read_to_end(&mut payload).context("the payload cannot be read")?;
    if payload.len() as u64 > LARGEST_PAYLOAD {
        bail!("the payload is larger than {} MiB", LARGEST_PAYLOAD / 1024 / 1024);
    }
    Ok(payload)
}
