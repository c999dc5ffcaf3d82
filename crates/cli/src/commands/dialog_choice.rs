//! Chooses the dialog of `approve`, `reset` and `session`, if none is named: the one with work
//! that waits for approval. The one that was active last may have done nothing.
//!
//! Invariant: where several dialogs have such work, none is taken without being chosen.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Actor, ChangeId, DialogId, ErrorCode};
use retake_engine::{ChangeFilter, Dialog, Project};
use retake_service::describe::list_names;

use crate::context::{CommandContext, resolve_dialog};
use crate::escape::escape;
use crate::failure::{ApiError, declined_failure};
use crate::layout::{Column, TableCell, TextTable};
use crate::output::{Output, TextStyle, is_interactive, print_to_person};
use crate::question::ask_number;

/// Maximum dialogs listed.
const MAX_LISTED_DIALOGS: usize = 9;

/// The dialog that a person named or chose, else the only one with work that waits; none if no
/// dialog has any.
pub(super) fn dialog_to_approve(
    context: &CommandContext,
    project: &Project,
    named: Option<&str>,
) -> Result<Option<DialogId>> {
    if let Some(named) = named {
        return resolve_dialog(project, named).map(Some);
    }
    // Fails with its own error if no agent has worked here at all.
    project.latest_dialog()?;
    match project.dialogs_to_approve()?.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.id.clone())),
        several => choose_dialog(context, project, several).map(Some),
    }
}

/// Returns the latest dialog that changed something; used where nothing waits for approval.
pub(super) fn latest_dialog_with_changes(project: &Project) -> Result<DialogId> {
    for (dialog, _) in project.dialogs()? {
        let own = ChangeFilter {
            dialogs: vec![dialog.id.clone()],
            actors: vec![Actor::Agent],
            limit: Some(1),
            ..ChangeFilter::default()
        };
        if !project.changes(&own)?.is_empty() {
            return Ok(dialog.id);
        }
    }
    Ok(project.latest_dialog()?.id)
}

fn choose_dialog(
    context: &CommandContext,
    project: &Project,
    dialogs: &[Dialog],
) -> Result<DialogId> {
    let head = format!("{} dialogs have work that waits for approval", dialogs.len());
    if context.json || !is_interactive() {
        let names: Vec<_> = dialogs.iter().map(|dialog| dialog.name.clone()).collect();
        let message = format!("{head}: {}", list_names(&names, MAX_LISTED_DIALOGS));
        let way_out = "name one with --dialog; `retake dialogs` lists all";
        return Err(ApiError::new(ErrorCode::NeedsDialog, message, way_out).into());
    }
    let mut text = format!("{head}:\n");
    text.push_str(&dialog_table(context, dialogs).render("  ", Output::stderr()));
    if let Some(more) = dialogs.len().checked_sub(MAX_LISTED_DIALOGS + 1) {
        let _ = writeln!(text, "  and {} more", more + 1);
    }
    let newest = newest_changes(project, dialogs)?;
    print_to_person(&text);
    let most = dialogs.len().min(MAX_LISTED_DIALOGS);
    let Some(number) = ask_number("Which one?", most)? else {
        return Err(declined_failure("nothing was changed").into());
    };
    let chosen = &dialogs[number - 1];
    if newest_changes(project, std::slice::from_ref(chosen))?.first() != newest.get(number - 1) {
        let message = format!(
            "{} went on meanwhile, so this is no longer what was shown; nothing was changed",
            escape(&chosen.name)
        );
        return Err(ApiError::new(ErrorCode::PlanChanged, message, "run the command again").into());
    }
    Ok(chosen.id.clone())
}

/// The newest change of each dialog.
fn newest_changes(project: &Project, dialogs: &[Dialog]) -> Result<Vec<Option<ChangeId>>> {
    let newest = |dialog: &Dialog| {
        let own = ChangeFilter {
            dialogs: vec![dialog.id.clone()],
            actors: vec![Actor::Agent],
            limit: Some(1),
            ..ChangeFilter::default()
        };
        Ok(project.changes(&own)?.first().map(|change| change.id))
    };
    dialogs.iter().map(newest).collect()
}

fn dialog_table(context: &CommandContext, dialogs: &[Dialog]) -> TextTable {
    let mut table =
        TextTable::new([Column::WHOLE, Column::WHOLE, Column::WHOLE.dropped(1), Column::TITLE]);
    for (number, dialog) in (1..).zip(dialogs.iter().take(MAX_LISTED_DIALOGS)) {
        let title = dialog.title.as_deref().unwrap_or_default();
        table.row([
            TableCell::new(format!("{number}"), TextStyle::Plain),
            TableCell::new(escape(&dialog.name), TextStyle::Mark),
            TableCell::new(context.times.show(dialog.last_at), TextStyle::Dim),
            TableCell::new(format!("“{}”", escape(title)), TextStyle::Plain),
        ]);
    }
    table
}
