//! Warns an agent that is about to edit a file which changed since it read it.
//!
//! Invariants: an agent is notified at most once of the same changes, and of the same content
//! unless it has touched the file since; errors here are logged and never block the event.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use retake_model::foreign_text::quote_name;
use retake_model::{
    AgentId, AgentRef, Change, ChangeId, ContextSource, DialogId, EventKind, JournalKind,
    MAIN_AGENT, Millis, ProjectPath, Stamp,
};
use retake_store::{Batch, JournalEvent, NoticeRow, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::replay::AgentKnowledge;
use super::stale::StaleFile;
use crate::calls::interpret::{EventEffect, InterpretedEvent};
use crate::calls::live_calls::LiveCalls;
use crate::settings::{FreshnessPolicy, FreshnessSettings};
use crate::submission::{ReplySupport, Submission};
use crate::tool::ToolKind;

/// Agents idle for longer than this are left out of `stale_context` events.
const MAX_AGENT_IDLE: Millis = 24 * 60 * 60 * 1000;
/// Maximum changes of one scan for which stale agents are determined.
const MAX_NOTIFIED_CHANGES: usize = 500;
/// Maximum steps replayed line by line for `stale_context` events.
const MAX_FOLLOWER_STEPS: usize = 20;
/// Maximum files listed with their lines; the others are counted.
const MAX_LISTED_FILES: usize = 10;

/// The reaction to a file that changed since an agent last read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StaleReaction {
    /// Nothing; it is only on record.
    None,
    /// The agent's model is notified.
    Note,
    /// The call is denied, with the reason.
    Deny,
}

impl StaleReaction {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Note => "note",
            Self::Deny => "deny",
        }
    }
}

/// Stale files that an agent should know of before it goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleContext {
    /// How the sender should react.
    pub reaction: StaleReaction,
    /// The files that changed since it last read them.
    pub files: Vec<StaleFile>,
    /// The same in words, for the agent.
    pub message: String,
}

/// Returns the notice for the sender of an event; none if there is nothing to report.
pub(crate) fn notify_sender(
    batch: &Batch<'_>,
    interpreted: &InterpretedEvent,
    calls: &LiveCalls,
    settings: &FreshnessSettings,
) -> Option<StaleContext> {
    let submission = &interpreted.submission;
    let notice = match (&submission.event.what, interpreted.effect) {
        _ if submission.reply_support == ReplySupport::Nothing => return None,
        (EventKind::ToolBegin { .. }, EventEffect::Begins(row))
        | (EventKind::ToolEnd { .. }, EventEffect::Ends(row)) => {
            notify_about_edit(batch, submission, calls, row, settings)
        }
        (EventKind::UserMessage { .. }, _) => notify_before_message(batch, submission, settings),
        _ => return None,
    };
    notice.unwrap_or_else(|error| {
        tracing::warn!(%error, "what the agent knows cannot be told");
        None
    })
}

/// Notifies before an edit, or after it if the agent can be notified only then.
fn notify_about_edit(
    batch: &Batch<'_>,
    submission: &Submission,
    calls: &LiveCalls,
    row: i64,
    settings: &FreshnessSettings,
) -> Result<Option<StaleContext>, StoreError> {
    let Some(live) = calls.get(row) else { return Ok(None) };
    if !matches!(live.kind(), ToolKind::Write | ToolKind::Edit | ToolKind::Delete) {
        return Ok(None);
    }
    let reaction = match (settings.policy, submission.reply_support) {
        (Some(FreshnessPolicy::Off), _) => return Ok(None),
        (Some(FreshnessPolicy::Note), _) | (_, ReplySupport::Notes) => StaleReaction::Note,
        _ => StaleReaction::Deny,
    };
    let is_late = reaction == StaleReaction::Note
        && submission.reply_support == ReplySupport::DenialsAndLateNotes;
    if is_late != matches!(submission.event.what, EventKind::ToolEnd { .. }) {
        return Ok(None);
    }
    let reader = AgentRef { dialog: &live.call.dialog, agent: &live.call.agent };
    let files = WatchedFiles { reader, paths: &live.call_targets.named };
    notify_once(batch, files, reaction, settings, submission.at)
}

fn notify_before_message(
    batch: &Batch<'_>,
    submission: &Submission,
    settings: &FreshnessSettings,
) -> Result<Option<StaleContext>, StoreError> {
    if settings.policy == Some(FreshnessPolicy::Off) {
        return Ok(None);
    }
    let (dialog, agent) = (&submission.event.dialog, AgentId::from(MAIN_AGENT));
    let paths = batch.known_paths(dialog, &agent)?;
    let files = WatchedFiles { reader: AgentRef { dialog, agent: &agent }, paths: &paths };
    notify_once(batch, files, StaleReaction::Note, settings, submission.at)
}

/// Files of which an agent is notified if they are stale.
#[derive(Clone, Copy)]
struct WatchedFiles<'a> {
    reader: AgentRef<'a>,
    paths: &'a [ProjectPath],
}

/// Reports the stale files not reported before, and records that they were.
fn notify_once(
    batch: &Batch<'_>,
    WatchedFiles { reader, paths }: WatchedFiles<'_>,
    reaction: StaleReaction,
    settings: &FreshnessSettings,
    at: Millis,
) -> Result<Option<StaleContext>, StoreError> {
    let knowledge = settings.knowledge_of(reader);
    let mut files = Vec::new();
    for path in paths {
        let Some(stale) = knowledge.stale_file(batch, path)? else { continue };
        let last = batch.last_notice(reader, path, reaction.as_str())?;
        if !last.is_some_and(|last| was_notified(&stale, &last))
            && is_reportable(batch, reader, &stale, settings)?
        {
            let notice = notice_row(&stale, batch.next_seq());
            batch.put_notice(reader, path, reaction.as_str(), &notice)?;
            files.push(stale);
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    record_stale_context(batch, reader, &StaleReport::all(reaction, &files), at)?;
    let message = describe_stale_files(reaction, &files);
    Ok(Some(StaleContext { reaction, files, message }))
}

/// Returns whether an agent was already notified of the same changes, or of the same content
/// without having touched the file since.
fn was_notified(stale: &StaleFile, last: &NoticeRow) -> bool {
    let now = stale.now.known().map(|state| state.oid);
    let is_same = now.is_some() && last.oid == now && stale.last_acted_seq <= last.seq;
    stale.newest_change <= last.change.0 || is_same
}

fn notice_row(stale: &StaleFile, seq: u64) -> NoticeRow {
    let oid = stale.now.known().map(|state| state.oid);
    NoticeRow { seq, change: ChangeId(stale.newest_change), oid }
}

/// Returns whether a difference is to be reported, by the settings (CTX-20).
fn is_reportable(
    store: &Store,
    reader: AgentRef<'_>,
    stale: &StaleFile,
    settings: &FreshnessSettings,
) -> Result<bool, StoreError> {
    let AgentRef { dialog, agent } = reader;
    let reads = store.file_reads_since_whole(dialog, agent, &stale.path, u64::MAX)?;
    let Some(last_read) = reads.last() else {
        return Ok(settings.sources.contains(&ContextSource::AgentEdited));
    };
    let threshold = settings.threshold_ms.try_into().unwrap_or(Millis::MAX);
    let is_within_threshold =
        stale.since.is_some_and(|since| (0..threshold).contains(&(since - last_read.at)));
    Ok(settings.sources.contains(&last_read.source) && !is_within_threshold)
}

/// Records a `stale_context` event for each agent whose knowledge these changes made stale.
pub(crate) fn record_stale_agents(
    batch: &Batch<'_>,
    changes: &[Change],
    settings: &FreshnessSettings,
    at: Millis,
) -> Result<(), StoreError> {
    if changes.len() > MAX_NOTIFIED_CHANGES || settings.policy == Some(FreshnessPolicy::Off) {
        return Ok(());
    }
    let mut stale_paths: BTreeMap<(DialogId, AgentId), Vec<&ProjectPath>> = BTreeMap::new();
    for change in changes {
        for path in [Some(&change.path), change.old_path.as_ref()].into_iter().flatten() {
            for (dialog, agent) in batch.agents_knowing(path, at.saturating_sub(MAX_AGENT_IDLE))? {
                let reader = AgentRef { dialog: &dialog, agent: &agent };
                if !settings.knowledge_of(reader).is_own_change(change) {
                    stale_paths.entry((dialog, agent)).or_default().push(path);
                }
            }
        }
    }
    for ((dialog, agent), paths) in stale_paths {
        let reader = AgentRef { dialog: &dialog, agent: &agent };
        let knowledge =
            AgentKnowledge { max_steps: MAX_FOLLOWER_STEPS, ..settings.knowledge_of(reader) };
        let mut files = Vec::new();
        for path in paths.iter().take(MAX_LISTED_FILES) {
            files.extend(knowledge.stale_file(batch, path)?);
        }
        if !files.is_empty() {
            let report =
                StaleReport { reaction: StaleReaction::None, count: paths.len(), files: &files };
            record_stale_context(batch, reader, &report, at)?;
        }
    }
    Ok(())
}

/// Body of a `stale_context` event.
struct StaleReport<'a> {
    reaction: StaleReaction,
    /// How many files are stale, or may be.
    count: usize,
    files: &'a [StaleFile],
}

impl<'a> StaleReport<'a> {
    fn all(reaction: StaleReaction, files: &'a [StaleFile]) -> Self {
        Self { reaction, count: files.len(), files }
    }
}

fn record_stale_context(
    batch: &Batch<'_>,
    reader: AgentRef<'_>,
    report: &StaleReport<'_>,
    at: Millis,
) -> Result<(), StoreError> {
    let listed = &report.files[..report.files.len().min(MAX_LISTED_FILES)];
    let body = json!({
        "reaction": report.reaction.as_str(), "count": report.count, "files": listed,
    });
    record_context_event(batch, reader, JournalKind::StaleContext, batch.next_stamp(at), body)
}

/// Records a journal event about an agent's context, for subscribers of the project.
pub(super) fn record_context_event(
    batch: &Batch<'_>,
    reader: AgentRef<'_>,
    kind: JournalKind,
    stamp: Stamp,
    body: Value,
) -> Result<(), StoreError> {
    batch.put_event(&JournalEvent {
        seq: stamp.seq,
        at: stamp.at,
        kind,
        dialog: Some(reader.dialog.clone()),
        agent: Some(reader.agent.clone()),
        call: None,
        change: None,
        body,
        said_by: None,
    })
}

/// Describes the stale files for the agent.
fn describe_stale_files(reaction: StaleReaction, files: &[StaleFile]) -> String {
    let mut text = match (reaction, files) {
        (StaleReaction::Deny, [_]) => "This file is not as you last saw it:".to_owned(),
        (StaleReaction::Deny, _) => "These files are not as you last saw them:".to_owned(),
        _ => "Since you last looked, these files have changed:".to_owned(),
    };
    for file in files.iter().take(MAX_LISTED_FILES) {
        let _ = write!(text, "\n- {}: {file}", quote_name(file.path.as_bytes()));
    }
    if files.len() > MAX_LISTED_FILES {
        let _ = write!(text, "\n- and {} more", files.len() - MAX_LISTED_FILES);
    }
    text.push_str(match (reaction, files) {
        (StaleReaction::Deny, [_]) => {
            "\nNothing was changed. Read it again, then make your change anew."
        }
        (StaleReaction::Deny, _) => {
            "\nNothing was changed. Read them again, then make your change anew."
        }
        _ => "\nRead them again before you change them.",
    });
    text
}
