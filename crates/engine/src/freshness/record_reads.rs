//! Records the files that an agent has read: by tools, mentions, and as reported by the host.
//!
//! A file may change while a tool reads it. The content when the call began counts as read: one
//! notice too many costs a read, one too late costs another actor's work.

use std::path::Path;

use retake_model::{
    AgentRef, Change, ChangeId, ContextSource, Event, EventKind, FileKind, LineSpan, PathState,
    ProjectPath, Stamp,
};
use retake_store::{Batch, FileRead, Store, StoreError};

use crate::calls::interpret::{EventEffect, InterpretedEvent};
use crate::calls::live_calls::LiveCalls;
use crate::calls::open_call::LiveCall;
use crate::calls::targets::ShownFiles;
use crate::content::comparable::comparable_content;
use crate::resolve_path::{PathResolution, link_target, resolve_path};
use crate::tool::FilePart;

/// The findings of the scan for an event.
pub(crate) struct FoundWithEvent<'a> {
    pub(crate) calls: &'a LiveCalls,
    pub(crate) changes: &'a [Change],
    /// The changes may be later than the event.
    pub(crate) is_late: bool,
    /// `seq` of the event.
    pub(crate) seq: u64,
}

/// Records what an event showed to an agent.
pub(crate) fn record_reads(
    batch: &Batch<'_>,
    root: &Path,
    interpreted: &InterpretedEvent,
    found: &FoundWithEvent<'_>,
) -> Result<(), StoreError> {
    let event = &interpreted.submission.event;
    let FoundWithEvent { calls, is_late, .. } = *found;
    let before_changes = found.changes.first().map_or(u64::MAX, |change| change.id.0 - 1);
    let (agent, source, since, shown) = match (&event.what, interpreted.effect) {
        (
            EventKind::ToolEnd { ok, .. },
            EventEffect::Ends(row) | EventEffect::EndsAgain(row) | EventEffect::EndsUnbegun(row),
        ) if *ok != Some(false) => {
            let Some(live) = calls.get(row) else { return Ok(()) };
            let begin_seq = live.call.begin_seq;
            let since = if is_late || begin_seq == 0 { before_changes } else { begin_seq };
            (
                live.call.agent.clone(),
                ContextSource::ReadTool,
                since,
                shown_files(root, event, Some(live)),
            )
        }
        (EventKind::UserMessage { .. }, _) => {
            let since = if is_late { before_changes } else { u64::MAX };
            (event.agent(), ContextSource::FileMentioned, since, shown_files(root, event, None))
        }
        _ => return Ok(()),
    };
    for (path, part) in shown {
        let Some((side, seq_before_change)) = state_when_read(batch, &path, since)? else {
            continue;
        };
        let Some(lines) = lines_of_part(batch, &side, part)? else { continue };
        batch.put_file_read(&FileRead {
            seq: seq_before_change.unwrap_or(found.seq),
            at: interpreted.submission.at,
            dialog: event.dialog.clone(),
            agent: agent.clone(),
            path,
            source,
            side,
            lines: lines.known,
            dates: None,
        })?;
    }
    Ok(())
}

/// Returns the files an event shows: those it names, else those in its call's arguments.
pub(crate) fn shown_files(root: &Path, event: &Event, live: Option<&LiveCall>) -> ShownFiles {
    let named = event.reads.iter().filter_map(|read| {
        let path = resolve_shown_path(root, event.cwd.as_deref(), &read.path)?;
        Some((path, read.lines.map_or(FilePart::Whole, FilePart::Lines)))
    });
    let named: ShownFiles = named.collect();
    match live {
        Some(live) if named.is_empty() => live.call_targets.reads.clone(),
        _ => named,
    }
}

/// Resolves a path to a file in the project; a leading `/` may mean the root (CTX-4).
fn resolve_shown_path(root: &Path, cwd: Option<&str>, text: &str) -> Option<ProjectPath> {
    let inside = |text: &str| match resolve_path(root, cwd, text) {
        PathResolution::Inside(path) => Some(link_target(root, &path).unwrap_or(path)),
        PathResolution::Root | PathResolution::Outside => None,
    };
    inside(text).or_else(|| inside(text.strip_prefix('/')?))
}

/// Returns the content that was read, with the `seq` of the read if the file changed after
/// `since`: then it lies right before that change.
fn state_when_read(
    store: &Store,
    path: &ProjectPath,
    since: u64,
) -> Result<Option<(PathState, Option<u64>)>, StoreError> {
    if let Some(&step) = store.change_seqs_of(path, since)?.first() {
        let change = store.change(ChangeId(step))?;
        let before = change.filter(|change| change.from_path() == path).map(|change| change.before);
        let is_file = |side: &PathState| side.known().is_some();
        return Ok(before.filter(is_file).map(|side| (side, Some(step - 1))));
    }
    let entry = store.manifest_entry(path)?;
    Ok(entry.map(|entry| (entry.state.into(), None)))
}

/// The lines of a read.
struct ReadLines {
    /// None is all of them.
    known: Option<Vec<LineSpan>>,
}

/// Resolves a part of a file to lines; none if they cannot be determined.
fn lines_of_part(
    batch: &Batch<'_>,
    side: &PathState,
    part: FilePart,
) -> Result<Option<ReadLines>, StoreError> {
    let Some(state) = side.known().filter(|state| state.kind == FileKind::File) else {
        return Ok(None);
    };
    let all = ReadLines { known: None };
    let some = |first, last| ReadLines { known: Some(vec![LineSpan { first, last }]) };
    let count = || -> Result<Option<u32>, StoreError> {
        let count = |bytes: Vec<u8>| crate::content::diff::lines(&bytes).count();
        Ok(comparable_content(batch, side)?.map(count).and_then(|count| count.try_into().ok()))
    };
    Ok(match part {
        FilePart::Whole => Some(all),
        // A file has no more lines than bytes.
        FilePart::Lines(LineSpan { first: 0 | 1, last }) if u64::from(last) >= state.size => {
            Some(all)
        }
        FilePart::Lines(LineSpan { first, last }) => match count()? {
            Some(count) if first <= 1 && last >= count => Some(all),
            Some(count) if first > count => None,
            Some(count) => Some(some(first.max(1), last.min(count))),
            None => Some(some(first.max(1), last)),
        },
        FilePart::Last(last) => count()?.map(|count| {
            let first = count.saturating_sub(last) + 1;
            if first == 1 { ReadLines { known: None } } else { some(first, count) }
        }),
    })
}

/// A read that the host reports.
pub(super) struct TrackedRead<'a> {
    pub(super) path: &'a ProjectPath,
    pub(super) part: FilePart,
    pub(super) source: ContextSource,
}

/// Records a read that the host reported; false if the file is not tracked.
pub(super) fn record_tracked_read(
    batch: &Batch<'_>,
    reader: AgentRef<'_>,
    read: &TrackedRead<'_>,
    stamp: Stamp,
) -> Result<bool, StoreError> {
    let Some((side, _)) = state_when_read(batch, read.path, u64::MAX)? else { return Ok(false) };
    let Some(lines) = lines_of_part(batch, &side, read.part)? else { return Ok(false) };
    batch.put_file_read(&FileRead {
        seq: stamp.seq,
        at: stamp.at,
        dialog: reader.dialog.clone(),
        agent: reader.agent.clone(),
        path: read.path.clone(),
        source: read.source,
        side,
        lines: lines.known,
        dates: None,
    })?;
    Ok(true)
}
