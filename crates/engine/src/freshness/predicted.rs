//! Records an edit's predicted content where a scan at its end finds something else.
//!
//! The change is attributed to the call, as no other actor was reported. But the agent knows what
//! it wrote, not what another actor made of it just before the call's end. So the predicted content
//! is recorded beside the change, as a read of the agent with the change's `seq`.
//!
//! A scan in the middle of an edit may find only what another actor made of the file after the
//! edit had written it. Then no change is the call's, but the agent knows what it wrote: that is
//! recorded beside the other actor's change.
//!
//! A change found after a command that does not target it may be the command's work or the
//! person's. In neither case has the agent read it, so what it had read before is recorded beside
//! the change.

use std::collections::BTreeSet;

use retake_model::{
    CandidateCall, Change, ChangeId, ChangeMethod, Confidence, ContextSource, EventKind, FileState,
    PathState, ProjectPath,
};
use retake_store::{Batch, Call, FileRead, ObjectKind, Store, StoreError, encode};

use crate::attribution::formatter::same_words;
use crate::calls::interpret::{EventEffect, InterpretedEvent};
use crate::calls::live_calls::LiveCalls;
use crate::calls::open_call::LiveCall;
use crate::calls::path_content::PathContent;
use crate::content::comparable::line_changes_between;
use crate::tool::ToolKind;

/// Returns whether a read is what an edit predicted.
pub(super) fn is_predicted(read: &FileRead) -> bool {
    read.source == ContextSource::AgentEdited && read.dates.is_none()
}

/// Records what a successful call predicted, for each change of it that differs.
pub(crate) fn record_predicted(
    batch: &Batch<'_>,
    interpreted: &InterpretedEvent,
    calls: &LiveCalls,
    changes: &[Change],
) -> Result<(), StoreError> {
    let submission = &interpreted.submission;
    let EventKind::ToolEnd { ok, .. } = &submission.event.what else { return Ok(()) };
    let EventEffect::Ends(row) = interpreted.effect else { return Ok(()) };
    let is_edit = |live: &&LiveCall| matches!(live.kind(), ToolKind::Write | ToolKind::Edit);
    let Some(live) = calls.get(row).filter(is_edit).filter(|_| *ok != Some(false)) else {
        return Ok(());
    };
    let is_its = |change: &&Change| {
        change.confidence == Confidence::Window && change.call.as_ref() == Some(&live.call.call)
    };
    let mut differing: Vec<Change> = changes.iter().filter(is_its).cloned().collect();
    for path in &live.call_targets.named {
        differing.extend(overwriting_change(batch, live, path)?);
    }
    for change in &differing {
        let Some(side) = predicted_content(batch, live, change)? else { continue };
        batch.put_file_read(&FileRead {
            seq: change.id.0,
            at: submission.at,
            dialog: live.call.dialog.clone(),
            agent: live.call.agent.clone(),
            path: change.path.clone(),
            source: ContextSource::AgentEdited,
            side,
            lines: None,
            dates: None,
        })?;
    }
    Ok(())
}

/// Returns the newest change of a file since the call began, if all of them are other actors': it
/// replaced what the call wrote before a scan saw that.
fn overwriting_change(
    batch: &Batch<'_>,
    live: &LiveCall,
    path: &ProjectPath,
) -> Result<Option<Change>, StoreError> {
    let Call { dialog, agent, begin_seq, .. } = &live.call;
    let is_its_agents = |change: &Change| {
        let is_author =
            change.dialog.as_ref() == Some(dialog) && change.agent.as_ref() == Some(agent);
        let is_candidate = |call: &CandidateCall| call.dialog == *dialog && call.agent == *agent;
        is_author || change.candidates.iter().any(is_candidate)
    };
    let mut newest = None;
    for seq in batch.change_seqs_of(path, *begin_seq)? {
        let Some(change) = batch.change(ChangeId(seq))? else { continue };
        if change.path != *path || is_its_agents(&change) {
            return Ok(None);
        }
        newest = Some(change);
    }
    Ok(newest)
}

/// Records what agents had read before, for each change made while a command of theirs ran that
/// does not target it; unless only the layout differs.
pub(crate) fn record_untargeted(
    batch: &Batch<'_>,
    calls: &LiveCalls,
    changes: &[Change],
) -> Result<(), StoreError> {
    let is_uncertain = |change: &&Change| {
        matches!(change.confidence, Confidence::Window | Confidence::Shared)
            && change.method == ChangeMethod::Command
            && change.old_path.is_none()
    };
    for change in changes.iter().filter(is_uncertain) {
        let is_candidate = |live: &&LiveCall| {
            let is_this_call = |call: &CandidateCall| {
                call.dialog == live.call.dialog && call.call == live.call.call
            };
            change.candidates.iter().any(is_this_call)
        };
        let targets = |live: &LiveCall| live.targets_path(&change.path);
        if calls.live.iter().filter(is_candidate).any(targets) || is_layout_only(batch, change)? {
            continue;
        }
        let agents = change.candidates.iter().map(|call| (&call.dialog, &call.agent));
        for (dialog, agent) in agents.collect::<BTreeSet<_>>() {
            if batch.file_reads_since_whole(dialog, agent, &change.path, u64::MAX)?.is_empty() {
                continue;
            }
            batch.put_file_read(&FileRead {
                seq: change.id.0,
                at: change.at,
                dialog: dialog.clone(),
                agent: agent.clone(),
                path: change.path.clone(),
                source: ContextSource::AgentEdited,
                side: change.before,
                lines: None,
                dates: None,
            })?;
        }
    }
    Ok(())
}

/// Returns whether only the layout differs: both contents have the same words.
fn is_layout_only(batch: &Batch<'_>, change: &Change) -> Result<bool, StoreError> {
    let (before, after) =
        (PathContent::of(batch, &change.before)?, PathContent::of(batch, &change.after)?);
    Ok(match (before.known_bytes(), after.known_bytes()) {
        (Some(Some(before)), Some(Some(after))) => same_words(before, after),
        _ => false,
    })
}

/// Stores the content that the call predicted and returns it; none if it is what was found, in
/// whatever layout: the tool may have formatted it.
fn predicted_content(
    batch: &Batch<'_>,
    live: &LiveCall,
    change: &Change,
) -> Result<Option<PathState>, StoreError> {
    let PathState::Known(found) = change.after else { return Ok(None) };
    let (before, after) =
        (PathContent::of(batch, &change.before)?, PathContent::of(batch, &change.after)?);
    let (Some(before), Some(Some(after))) = (before.known_bytes(), after.known_bytes()) else {
        return Ok(None);
    };
    let Some(predicted) = live.predicted_content(&change.path, before) else { return Ok(None) };
    if same_words(&predicted, after) {
        return Ok(None);
    }
    let encoded = encode(ObjectKind::Blob, &predicted)?;
    batch.put_object(&encoded)?;
    let size = predicted.len() as u64;
    Ok(Some(PathState::Known(FileState { oid: encoded.oid, size, ..found })))
}

/// Splits a change in two: what its agent predicted, and what others made of it.
pub(super) fn split_at_prediction(
    store: &Store,
    change: &Change,
    predicted: PathState,
) -> Result<[Change; 2], StoreError> {
    let own = line_changes_between(store, &change.before, &predicted)?;
    let rest = line_changes_between(store, &predicted, &change.after)?;
    Ok([
        Change { after: predicted, lines: own, ..change.clone() },
        Change { before: predicted, lines: rest, old_path: None, ..change.clone() },
    ])
}
