//! Warns an agent that is about to edit a file which changed since it read it.
//!
//! Invariants: an agent is notified at most once of the same changes, and of the same content
//! unless it has touched the file since; errors here are logged and never block the event.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use retake_model::{
    AgentId, Change, ChangeId, ContextSource, DialogId, EventKind, MAIN_AGENT, Millis, ProjectPath,
};
use retake_store::{Batch, JournalEvent, Store, StoreError, Told};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fold::Knower;
use super::stale::{StaleFile, name};
use crate::arrival::{Arrived, Calls, Meaning};
use crate::parcel::Hears;
use crate::settings::{Freshness, FreshnessPolicy};
use crate::tool::ToolKind;

/// Agents idle for longer than this are left out of `stale_context` events.
const ACTIVE: Millis = 24 * 60 * 60 * 1000;
/// Maximum changes of one scan for which stale agents are determined.
const MOST_CHANGES: usize = 500;
/// Maximum steps replayed line by line for `stale_context` events.
const FOLLOWED_STEPS: usize = 20;
/// Maximum files listed with their lines; the others are counted.
const TOLD_FILES: usize = 10;

/// What is done about a file that is not as an agent last saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// Nothing; it is only on record.
    None,
    /// The agent's model is notified.
    Note,
    /// The call is denied, with the reason.
    Deny,
}

impl Reaction {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Note => "note",
            Self::Deny => "deny",
        }
    }
}

/// What an agent should know before it goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleContext {
    /// What is to be done about it.
    pub reaction: Reaction,
    /// The files that are not as it last saw them.
    pub files: Vec<StaleFile>,
    /// The same in words, for the agent.
    pub message: String,
}

/// Returns the notice for the sender of an event; none if there is nothing to report.
pub(crate) fn react(
    batch: &Batch<'_>,
    (arrived, meaning): (&Arrived, Meaning),
    calls: &Calls,
    settings: &Freshness,
) -> Option<StaleContext> {
    let told = match (&arrived.event.what, meaning) {
        _ if arrived.hears == Hears::Nothing => return None,
        (EventKind::ToolBegin { .. }, Meaning::Begins(row))
        | (EventKind::ToolEnd { .. }, Meaning::Ends(row)) => {
            about_edit(batch, arrived, calls, row, settings)
        }
        (EventKind::UserMessage { .. }, _) => before_message(batch, arrived, settings),
        _ => return None,
    };
    told.unwrap_or_else(|error| {
        tracing::warn!(%error, "what the agent knows cannot be told");
        None
    })
}

/// Notifies before an edit, or after it if the agent can be notified only then.
fn about_edit(
    batch: &Batch<'_>,
    arrived: &Arrived,
    calls: &Calls,
    row: i64,
    settings: &Freshness,
) -> Result<Option<StaleContext>, StoreError> {
    let Some(live) = calls.get(row) else { return Ok(None) };
    if !matches!(live.kind(), ToolKind::Write | ToolKind::Edit | ToolKind::Delete) {
        return Ok(None);
    }
    let reaction = match (settings.policy, arrived.hears) {
        (Some(FreshnessPolicy::Off), _) => return Ok(None),
        (Some(FreshnessPolicy::Note), _) | (_, Hears::Notes) => Reaction::Note,
        _ => Reaction::Deny,
    };
    let is_late = reaction == Reaction::Note && arrived.hears == Hears::DenialsAndLateNotes;
    if is_late != matches!(arrived.event.what, EventKind::ToolEnd { .. }) {
        return Ok(None);
    }
    let knower = settings.knower(&live.call.dialog, &live.call.agent);
    tell(batch, (&knower, &live.aim.named), reaction, settings, arrived.at)
}

fn before_message(
    batch: &Batch<'_>,
    arrived: &Arrived,
    settings: &Freshness,
) -> Result<Option<StaleContext>, StoreError> {
    if settings.policy == Some(FreshnessPolicy::Off) {
        return Ok(None);
    }
    let (dialog, agent) = (&arrived.event.dialog, AgentId::from(MAIN_AGENT));
    let knower = settings.knower(dialog, &agent);
    let paths = batch.known_paths(dialog, &agent)?;
    tell(batch, (&knower, &paths), Reaction::Note, settings, arrived.at)
}

/// Reports the stale files not reported before, and records that they were.
fn tell(
    batch: &Batch<'_>,
    (knower, paths): (&Knower<'_>, &[ProjectPath]),
    reaction: Reaction,
    settings: &Freshness,
    at: Millis,
) -> Result<Option<StaleContext>, StoreError> {
    let who = (knower.dialog, knower.agent);
    let mut files = Vec::new();
    for path in paths {
        let Some(stale) = knower.stale(batch, path)? else { continue };
        let last = batch.last_told(who, path, reaction.as_str())?;
        if !last.is_some_and(|last| is_told(&stale, &last))
            && counts(batch, knower, &stale, settings)?
        {
            batch.put_told(who, path, reaction.as_str(), &telling(&stale, batch.next_seq()))?;
            files.push(stale);
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    note(batch, who, (&files, files.len()), reaction, at)?;
    let message = message(reaction, &files);
    Ok(Some(StaleContext { reaction, files, message }))
}

/// Returns whether an agent was already notified of the same changes, or of the same content
/// without having touched the file since.
fn is_told(stale: &StaleFile, last: &Told) -> bool {
    let now = stale.now.known().map(|state| state.oid);
    let is_same = now.is_some() && last.oid == now && stale.acted <= last.seq;
    stale.newest <= last.change.0 || is_same
}

fn telling(stale: &StaleFile, seq: u64) -> Told {
    let oid = stale.now.known().map(|state| state.oid);
    Told { seq, change: ChangeId(stale.newest), oid }
}

/// Returns whether a difference is to be reported, by the settings (CTX-20).
fn counts(
    store: &Store,
    knower: &Knower<'_>,
    stale: &StaleFile,
    settings: &Freshness,
) -> Result<bool, StoreError> {
    let sights = store.sights_since_whole(knower.dialog, knower.agent, &stale.path, u64::MAX)?;
    let Some(last) = sights.last() else {
        return Ok(settings.sources.contains(&ContextSource::AgentEdited));
    };
    let threshold = settings.threshold_ms.try_into().unwrap_or(Millis::MAX);
    let soon = stale.since.is_some_and(|since| (0..threshold).contains(&(since - last.at)));
    Ok(settings.sources.contains(&last.source) && !soon)
}

/// Records a `stale_context` event for each agent whose knowledge these changes made stale.
pub(crate) fn tell_followers(
    batch: &Batch<'_>,
    changes: &[Change],
    settings: &Freshness,
    at: Millis,
) -> Result<(), StoreError> {
    if changes.len() > MOST_CHANGES || settings.policy == Some(FreshnessPolicy::Off) {
        return Ok(());
    }
    let mut touched: BTreeMap<(DialogId, AgentId), Vec<&ProjectPath>> = BTreeMap::new();
    for change in changes {
        for path in [Some(&change.path), change.old_path.as_ref()].into_iter().flatten() {
            for who in batch.who_knows(path, at.saturating_sub(ACTIVE))? {
                if !settings.knower(&who.0, &who.1).made(change) {
                    touched.entry(who).or_default().push(path);
                }
            }
        }
    }
    for ((dialog, agent), paths) in touched {
        let knower = Knower { most_steps: FOLLOWED_STEPS, ..settings.knower(&dialog, &agent) };
        let mut files = Vec::new();
        for path in paths.iter().take(TOLD_FILES) {
            files.extend(knower.stale(batch, path)?);
        }
        if !files.is_empty() {
            note(batch, (&dialog, &agent), (&files, paths.len()), Reaction::None, at)?;
        }
    }
    Ok(())
}

fn note(
    batch: &Batch<'_>,
    (dialog, agent): (&DialogId, &AgentId),
    (files, count): (&[StaleFile], usize),
    reaction: Reaction,
    at: Millis,
) -> Result<(), StoreError> {
    let told = &files[..files.len().min(TOLD_FILES)];
    let body = json!({ "reaction": reaction.as_str(), "count": count, "files": told });
    put_note(batch, (dialog, agent), "stale_context", (batch.next_seq(), at), body)
}

/// Records a journal event about an agent's context, for subscribers of the project.
pub(super) fn put_note(
    batch: &Batch<'_>,
    (dialog, agent): (&DialogId, &AgentId),
    kind: &str,
    (seq, at): (u64, Millis),
    body: Value,
) -> Result<(), StoreError> {
    batch.put_event(&JournalEvent {
        seq,
        at,
        kind: kind.to_owned(),
        dialog: Some(dialog.clone()),
        agent: Some(agent.clone()),
        call: None,
        change: None,
        body,
    })
}

/// Describes the stale files for the agent.
fn message(reaction: Reaction, files: &[StaleFile]) -> String {
    let mut text = match (reaction, files) {
        (Reaction::Deny, [_]) => "This file is not as you last saw it:".to_owned(),
        (Reaction::Deny, _) => "These files are not as you last saw them:".to_owned(),
        _ => "Since you last looked, these files have changed:".to_owned(),
    };
    for file in files.iter().take(TOLD_FILES) {
        let _ = write!(text, "\n- {}: {file}", name(&file.path));
    }
    if files.len() > TOLD_FILES {
        let _ = write!(text, "\n- and {} more", files.len() - TOLD_FILES);
    }
    text.push_str(match (reaction, files) {
        (Reaction::Deny, [_]) => {
            "\nNothing was changed. Read it again, then make your change anew."
        }
        (Reaction::Deny, _) => {
            "\nNothing was changed. Read them again, then make your change anew."
        }
        _ => "\nRead them again before you change them.",
    });
    text
}
