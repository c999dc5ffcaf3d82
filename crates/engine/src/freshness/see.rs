//! Records the files that an agent has read: by tools, mentions, and as reported by the host.
//!
//! A file may change while a tool reads it. The content when the call began counts as read: one
//! notice too many costs a read, one too late costs someone's work.

use std::path::Path;

use retake_model::{
    AgentId, Change, ChangeId, ContextSource, DialogId, Event, EventKind, FileKind, Lines, Millis,
    ProjectPath, Side,
};
use retake_store::{Batch, Sighting, Store, StoreError};

use crate::arrival::{Arrived, Calls, Meaning};
use crate::content::comparable;
use crate::live::LiveCall;
use crate::place::{Place, link_target, place};
use crate::tool::Part;

/// Files that an event shows, each with the part that is shown.
pub(crate) type Shown = Vec<(ProjectPath, Part)>;

/// Records what an event showed to an agent; `changes` are those that were found with it.
pub(crate) fn see(
    batch: &Batch<'_>,
    root: &Path,
    (arrived, meaning): (&Arrived, Meaning),
    calls: &Calls,
    (changes, late): (&[Change], bool),
    seq: u64,
) -> Result<(), StoreError> {
    let event = &arrived.event;
    let first = changes.first().map_or(u64::MAX, |change| change.id.0 - 1);
    let (agent, source, since, shown) = match (&event.what, meaning) {
        (
            EventKind::ToolEnd { ok, .. },
            Meaning::Ends(row) | Meaning::EndsAgain(row) | Meaning::EndsUnbegun(row),
        ) if *ok != Some(false) => {
            let Some(live) = calls.get(row) else { return Ok(()) };
            let began = live.call.begin_seq;
            let since = if late || began == 0 { first } else { began };
            (
                live.call.agent.clone(),
                ContextSource::ReadTool,
                since,
                shown(root, event, Some(live)),
            )
        }
        (EventKind::UserMessage { .. }, _) => {
            let since = if late { first } else { u64::MAX };
            (event.agent(), ContextSource::FileMentioned, since, shown(root, event, None))
        }
        _ => return Ok(()),
    };
    for (path, part) in shown {
        let Some((side, place)) = seen_state(batch, &path, since)? else { continue };
        let Some(lines) = lines(batch, &side, part)? else { continue };
        batch.put_sight(&Sighting {
            seq: place.unwrap_or(seq),
            at: arrived.at,
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
pub(crate) fn shown(root: &Path, event: &Event, live: Option<&LiveCall>) -> Shown {
    let told = event.saw.iter().filter_map(|sight| {
        let path = placed(root, event.cwd.as_deref(), &sight.path)?;
        Some((path, sight.lines.map_or(Part::Whole, Part::Lines)))
    });
    let told: Shown = told.collect();
    match live {
        Some(live) if told.is_empty() => live.aim.reads.clone(),
        _ => told,
    }
}

/// Resolves a path to a file in the project; a leading `/` may mean the root (CTX-4).
fn placed(root: &Path, cwd: Option<&str>, text: &str) -> Option<ProjectPath> {
    let inside = |text: &str| match place(root, cwd, text) {
        Place::Inside(path) => Some(link_target(root, &path).unwrap_or(path)),
        Place::Root | Place::Outside => None,
    };
    inside(text).or_else(|| inside(text.strip_prefix('/')?))
}

/// Returns the content that was read, and its `seq` if others have changed it since `since`.
fn seen_state(
    store: &Store,
    path: &ProjectPath,
    since: u64,
) -> Result<Option<(Side, Option<u64>)>, StoreError> {
    if let Some(&step) = store.steps_of(path, since)?.first() {
        let change = store.change(ChangeId(step))?;
        let before = change.filter(|change| change.from_path() == path).map(|change| change.before);
        let is_file = |side: &Side| side.known().is_some();
        return Ok(before.filter(is_file).map(|side| (side, Some(step - 1))));
    }
    let entry = store.manifest_entry(path)?;
    Ok(entry.map(|entry| (entry.stored.into(), None)))
}

/// The lines that were seen.
struct SeenLines {
    /// None is all of them.
    known: Option<Vec<Lines>>,
}

/// Resolves a part of a file to lines; none if they cannot be determined.
fn lines(batch: &Batch<'_>, side: &Side, part: Part) -> Result<Option<SeenLines>, StoreError> {
    let Some(state) = side.known().filter(|state| state.kind == FileKind::File) else {
        return Ok(None);
    };
    let all = SeenLines { known: None };
    let some = |first, last| SeenLines { known: Some(vec![Lines { first, last }]) };
    let count = || -> Result<Option<u32>, StoreError> {
        let count = |bytes: Vec<u8>| crate::diff::lines(&bytes).count();
        Ok(comparable(batch, side)?.map(count).and_then(|count| count.try_into().ok()))
    };
    Ok(match part {
        Part::Whole => Some(all),
        // A file has no more lines than bytes.
        Part::Lines(Lines { first: 0 | 1, last }) if u64::from(last) >= state.size => Some(all),
        Part::Lines(Lines { first, last }) => match count()? {
            Some(count) if first <= 1 && last >= count => Some(all),
            Some(count) if first > count => None,
            Some(count) => Some(some(first.max(1), last.min(count))),
            None => Some(some(first.max(1), last)),
        },
        Part::Last(last) => count()?.map(|count| {
            let first = count.saturating_sub(last) + 1;
            if first == 1 { SeenLines { known: None } } else { some(first, count) }
        }),
    })
}

/// Records a read that the host reported; false if the file is not tracked.
pub(super) fn mark(
    batch: &Batch<'_>,
    (dialog, agent): (&DialogId, &AgentId),
    (path, part): (&ProjectPath, Part),
    source: ContextSource,
    (seq, at): (u64, Millis),
) -> Result<bool, StoreError> {
    let Some((side, _)) = seen_state(batch, path, u64::MAX)? else { return Ok(false) };
    let Some(lines) = lines(batch, &side, part)? else { return Ok(false) };
    let (dialog, agent, path) = (dialog.clone(), agent.clone(), path.clone());
    let lines = lines.known;
    batch.put_sight(&Sighting {
        seq,
        at,
        dialog,
        agent,
        path,
        source,
        side,
        lines,
        dates: None,
    })?;
    Ok(true)
}
