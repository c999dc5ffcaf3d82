//! `retake dialogs`: the conversations with agents.

use anyhow::Result;
use retake_engine::{Dialog, DialogAgent};
use retake_service::Masking;
use retake_service::documents::DialogList;

use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::output::TextStyle;
use crate::table::{TableCell, TextTable};
use crate::time::format_local;

pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    let project = context.open()?;
    if context.json {
        context.out.json(&DialogList::read(&project, Masking::Off)?)?;
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

fn table(dialogs: &[(Dialog, Vec<DialogAgent>)]) -> TextTable {
    let mut table = TextTable::default();
    let head = |text: &str| TableCell::new(text, TextStyle::Bold);
    table.row([
        head("DIALOG"),
        head("KIND"),
        TableCell::right("TURNS", TextStyle::Bold),
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
            TableCell::new(escape(&dialog.id.0), TextStyle::Mark),
            TableCell::new(word(&dialog.kind), TextStyle::Plain),
            TableCell::right(dialog.turns.to_string(), TextStyle::Plain),
            TableCell::new(format_local(dialog.started_at), TextStyle::Dim),
            TableCell::new(format_local(dialog.last_at), TextStyle::Dim),
            TableCell::new(dialog_state(dialog), TextStyle::Plain),
            TableCell::new(names.join(", "), TextStyle::Plain),
            TableCell::new(
                dialog.title.as_deref().map_or_else(String::new, escape),
                TextStyle::Plain,
            ),
        ]);
    }
    table
}

fn dialog_state(dialog: &Dialog) -> &'static str {
    match (dialog.ended_at, dialog.turn_open) {
        (Some(_), _) => "ended",
        (None, true) => "working",
        (None, false) => "open",
    }
}
