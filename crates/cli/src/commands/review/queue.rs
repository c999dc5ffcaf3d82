//! `retake review --queue` and `--cancel`: rejections that wait for the end of a turn.

use anyhow::Result;
use retake_engine::model::{QueueState, QueuedRejection};
use retake_engine::{Project, SettledRejection};
use retake_service::Masking;
use retake_service::describe::list_names;
use retake_service::documents::{QueuedRejectionDocument, RejectionQueue};
use retake_service::request::{CancelRejection, CarryOutRejections, QueuedHunks};

use crate::context::{CommandContext, Exit};
use crate::describe::{DialogNames, dialog_names, display_path, first_line};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable, render_paragraph};
use crate::output::{Output, TextStyle, print_message, warn};

/// Maximum settled rejections that are listed beside those that wait, and maximum names in a sentence.
const MAX_SETTLED: usize = 10;

/// Carries out the rejections whose agents have ended their turns, as a daemon would have done, and
/// tells what became of them.
pub(in crate::commands) fn carry_out_due(
    context: &CommandContext,
    project: &Project,
) -> Result<()> {
    if context.no_look || !project.has_waiting_rejections()? {
        return Ok(());
    }
    let settled = match context.run_request(project, CarryOutRejections {}) {
        Ok(settled) => settled,
        // What is asked for is shown all the same: an interrupted operation, say, can be settled later.
        Err(error) => {
            warn(&format!("rejections still wait: {error:#}"));
            return Ok(());
        }
    };
    for settled in settled {
        if !context.json {
            print_message("note", TextStyle::Mark, &describe_settled(project, &settled)?);
        }
    }
    Ok(())
}

fn describe_settled(project: &Project, settled: &SettledRejection) -> Result<String> {
    let entry = project.queued_rejection(settled.id)?;
    let place = entry.as_ref().map_or_else(String::new, |entry| {
        format!(" of {} in {}", entry.hunk, display_path(&entry.path))
    });
    let by = entry.and_then(|entry| entry.operation);
    Ok(match (&settled.outcome, by) {
        (Some(why), _) => {
            format!("rejection {}{place} was dropped: {}", settled.id, escape(why))
        }
        (None, Some(operation)) => {
            format!("rejection {}{place} was carried out as {operation}", settled.id)
        }
        (None, None) => format!("rejection {}{place} was carried out", settled.id),
    })
}

/// Describes rejections that were just queued: what they wait for, and the way out.
pub(in crate::commands) fn describe_queued(
    project: &Project,
    queued: &QueuedHunks,
    out: Output,
) -> Result<String> {
    let names = dialog_names(project)?;
    let working: Vec<_> = queued.working.iter().map(|id| names.dialog(id)).collect();
    let working = list_names(&working, MAX_SETTLED);
    let ids: Vec<_> = queued.entries.iter().map(|entry| entry.id.to_string()).collect();
    let text = match ids.as_slice() {
        [one] => format!(
            "Rejection {one} waits until {working} has ended its turn; \
             `retake review --cancel {one}` takes it out of the queue."
        ),
        _ => format!(
            "Rejections {} wait until {working} has ended its turn; \
             `retake review --queue` lists them.",
            list_names(&ids, MAX_SETTLED)
        ),
    };
    Ok(render_paragraph(&text, "", TextStyle::Plain, out))
}

/// Takes a rejection out of the queue.
pub(super) fn cancel(context: &CommandContext, id: u64) -> Result<Exit> {
    let project = context.open_to_write()?;
    let entry = context.run_request(&project, CancelRejection { id })?;
    if context.json {
        context.out.json(&QueuedRejectionDocument::new(&entry, Masking::Off))?;
    } else {
        let (hunk, path) = (entry.hunk, display_path(&entry.path));
        let text = format!("Cancelled rejection {id}: {hunk} in {path} stays, undecided.\n");
        context.out.text(&text)?;
    }
    Ok(Exit::Done)
}

/// Lists the queue.
pub(super) fn list(context: &CommandContext) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    carry_out_due(context, &project)?;
    let entries = project.queued_rejections(usize::MAX)?;
    if context.json {
        context.out.json(&RejectionQueue::new(&entries, Masking::Off))?;
        return Ok(Exit::Done);
    }
    let is_waiting = |entry: &&QueuedRejection| entry.state == QueueState::Waiting;
    let settled = entries.iter().filter(|entry| !is_waiting(entry)).take(MAX_SETTLED);
    let listed: Vec<_> = entries.iter().filter(is_waiting).chain(settled).collect();
    if listed.is_empty() {
        let text = "No rejection waits. `retake reject --wait` queues one while an agent works.\n";
        context.out.text(text)?;
        return Ok(Exit::Done);
    }
    let names = dialog_names(&project)?;
    let mut table = queue_table();
    for entry in listed {
        table.row(queue_row(context, &names, entry));
    }
    context.out.paged(table.render("", context.out).as_bytes())?;
    Ok(Exit::Done)
}

fn queue_table() -> TextTable {
    TextTable::new([
        Column::WHOLE,
        Column::WRAPPED.at_least(20),
        Column::WHOLE,
        Column::PATH.at_least(16),
        Column::WHOLE.dropped(1),
        Column::TITLE.dropped(2),
    ])
    .with_head(["N", "STATE", "HUNK", "FILE", "QUEUED", "REASON"])
}

fn queue_row(
    context: &CommandContext,
    names: &DialogNames,
    entry: &QueuedRejection,
) -> [TableCell; 6] {
    let dialogs: Vec<_> = entry.dialogs.iter().map(|id| names.dialog(id)).collect();
    let (state, style) = match (entry.state, entry.operation) {
        (QueueState::Waiting, _) => (format!("waits for {}", dialogs.join(", ")), TextStyle::Warn),
        (QueueState::Done, Some(by)) => (format!("done ({by})"), TextStyle::Good),
        (QueueState::Dropped, _) => {
            let why = escape(entry.outcome.as_deref().unwrap_or_default());
            (format!("dropped: {why}"), TextStyle::Bad)
        }
        (state, _) => (state.to_string(), TextStyle::Dim),
    };
    let reason = entry.reason.as_deref().map(first_line).unwrap_or_default();
    [
        TableCell::right(entry.id.to_string(), TextStyle::Plain),
        TableCell::new(state, style),
        TableCell::new(entry.hunk.to_string(), TextStyle::Mark),
        TableCell::new(display_path(&entry.path), TextStyle::Plain),
        TableCell::new(context.times.show(entry.at), TextStyle::Dim),
        TableCell::new(escape(reason), TextStyle::Plain),
    ]
}
