//! `retake dialogs`: the conversations with agents.

use anyhow::Result;
use retake_engine::{Dialog, DialogAgent};
use retake_server::Masking;
use retake_server::documents::Dialogs;

use crate::context::{Context, Exit};
use crate::escape::escape;
use crate::output::Style;
use crate::table::{Cell, Table};
use crate::time::local;

pub(super) fn run(context: &Context) -> Result<Exit> {
    let project = context.open()?;
    if context.json {
        context.out.json(&Dialogs::read(&project, Masking::Off)?)?;
        return Ok(Exit::Done);
    }
    let dialogs = project.dialogs()?;
    if dialogs.is_empty() {
        context
            .out
            .text("No agent has told Retake of a dialog yet (see `retake event --help`).\n")?;
    } else {
        context.out.paged(table(&dialogs).render("", context.out.colour).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn table(dialogs: &[(Dialog, Vec<DialogAgent>)]) -> Table {
    let mut table = Table::default();
    let head = |text: &str| Cell::new(text, Style::Bold);
    table.row([
        head("DIALOG"),
        head("KIND"),
        Cell::right("TURNS", Style::Bold),
        head("STARTED"),
        head("LAST ACTIVITY"),
        head("STATE"),
        head("AGENTS"),
        head("TITLE"),
    ]);
    for (dialog, agents) in dialogs {
        let names: Vec<_> = agents.iter().map(|agent| escape(&agent.id.0)).collect();
        let word = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), escape);
        table.row([
            Cell::new(escape(&dialog.id.0), Style::Mark),
            Cell::new(word(&dialog.kind), Style::Plain),
            Cell::right(dialog.turns.to_string(), Style::Plain),
            Cell::new(local(dialog.started_at), Style::Dim),
            Cell::new(local(dialog.last_at), Style::Dim),
            Cell::new(state(dialog), Style::Plain),
            Cell::new(names.join(", "), Style::Plain),
            Cell::new(dialog.title.as_deref().map_or_else(String::new, escape), Style::Plain),
        ]);
    }
    table
}

fn state(dialog: &Dialog) -> &'static str {
    match (dialog.ended_at, dialog.turn_open) {
        (Some(_), _) => "ended",
        (None, true) => "working",
        (None, false) => "open",
    }
}
