//! Chooses the dialog of `approve`, `reset` and `session`, if none is named: the one with work
//! that waits for approval. The one that was active last may have done nothing.
//!
//! Invariant: where several dialogs have such work, none is taken without being chosen.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Actor, DialogId};
use retake_engine::{ChangeFilter, Dialog, Project};

use crate::context::dialog;
use crate::escape::escape;
use crate::failure::Failure;
use crate::output::{Style, answer, can_ask};
use crate::table::{Cell, Table};
use crate::time::local;

/// Maximum dialogs listed.
const LISTED: usize = 9;

/// The dialog that a person named or chose, else the only one with work that waits; none if no
/// dialog has any.
pub(super) fn waiting(project: &Project, named: Option<&str>) -> Result<Option<DialogId>> {
    if let Some(named) = named {
        return dialog(project, named).map(Some);
    }
    // Fails with its own error if no agent has worked here at all.
    project.latest_dialog()?;
    match project.dialogs_to_approve()?.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.id.clone())),
        several => choose(several).map(Some),
    }
}

/// Returns the latest dialog that changed something; used where nothing waits for approval.
pub(super) fn latest_at_work(project: &Project) -> Result<DialogId> {
    for (dialog, _) in project.dialogs()? {
        let own = ChangeFilter {
            dialog: Some(dialog.id.clone()),
            actor: Some(Actor::Agent),
            limit: Some(1),
            ..ChangeFilter::default()
        };
        if !project.changes(&own)?.is_empty() {
            return Ok(dialog.id);
        }
    }
    Ok(project.latest_dialog()?.id)
}

fn choose(dialogs: &[Dialog]) -> Result<DialogId> {
    let mut rows = listed(dialogs).render("  ", false);
    if let Some(more) = dialogs.len().checked_sub(LISTED + 1) {
        let _ = writeln!(rows, "  and {} more", more + 1);
    }
    let head = format!("{} dialogs have work that waits for approval:\n{rows}", dialogs.len());
    let way_out = "name one with --dialog ID; `retake dialogs` lists all";
    if !can_ask() {
        return Err(Failure::new("needs_dialog", head.trim_end(), way_out).into());
    }
    let most = dialogs.len().min(LISTED);
    let answer = answer(&format!("{head}Which one? [1-{most}] "))?;
    let number: Option<usize> = answer.parse().ok().filter(|number| (1..=most).contains(number));
    match number {
        Some(number) => Ok(dialogs[number - 1].id.clone()),
        None => Err(Failure::new("declined", "nothing was done", way_out).into()),
    }
}

fn listed(dialogs: &[Dialog]) -> Table {
    let mut table = Table::default();
    for (number, dialog) in (1..).zip(dialogs.iter().take(LISTED)) {
        let title = dialog.title.as_deref().unwrap_or_default();
        table.row([
            Cell::new(format!("{number}"), Style::Plain),
            Cell::new(escape(&dialog.id.0), Style::Plain),
            Cell::new(dialog.kind.as_deref().map(escape).unwrap_or_default(), Style::Plain),
            Cell::new(format!("last active {}", local(dialog.last_at)), Style::Plain),
            Cell::new(escape(title), Style::Plain),
        ]);
    }
    table
}
