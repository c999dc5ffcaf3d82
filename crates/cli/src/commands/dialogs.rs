//! `retake dialogs`: the conversations with agents, their turns and calls.

use anyhow::Result;
use retake_engine::{CallPage, Dialog, DialogAgent, Project};
use retake_service::Masking;
use retake_service::documents::{CallDocument, CallList, DialogList, TurnList};

use crate::args::DialogsArgs;
use crate::commands::message::first_words;
use crate::context::{CommandContext, Exit, resolve_dialog};
use crate::escape::escape;
use crate::output::TextStyle;
use crate::table::{TableCell, TextTable};
use crate::time::format_local;

/// Maximum turns or calls of a list.
const MAX_ROWS: usize = 10_000;

pub(super) fn run(context: &CommandContext, options: &DialogsArgs) -> Result<Exit> {
    let project = context.open()?;
    if let Some(dialog) = &options.turns {
        return list_turns(context, &project, dialog);
    }
    if let Some(dialog) = &options.calls {
        return list_calls(context, &project, dialog);
    }
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

fn list_turns(context: &CommandContext, project: &Project, dialog: &str) -> Result<Exit> {
    let id = resolve_dialog(project, dialog)?;
    let Some(dialog) = project.dialog(&id)? else { return Ok(Exit::Done) };
    if context.json {
        context.out.json(&TurnList::read(project, &dialog, None, MAX_ROWS, Masking::Off)?)?;
        return Ok(Exit::Done);
    }
    let mut table = head(["TURN", "BEGAN", "CALLS", "CHANGES", "ADDED", "REMOVED", "", "MESSAGE"]);
    for turn in project.turns(&dialog, None, MAX_ROWS)? {
        let message = turn.message.as_ref().map(|message| first_words(&message.text));
        let state = match (turn.is_open, turn.is_undone()) {
            (true, _) => "working",
            (false, true) => "undone",
            (false, false) => "",
        };
        table.row([
            TableCell::right(turn.number.to_string(), TextStyle::Mark),
            TableCell::new(turn.began_at.map_or("-".to_owned(), format_local), TextStyle::Dim),
            TableCell::right(turn.calls.to_string(), TextStyle::Plain),
            TableCell::right(turn.totals.changes.to_string(), TextStyle::Plain),
            TableCell::right(format!("+{}", turn.totals.added), TextStyle::Good),
            TableCell::right(format!("-{}", turn.totals.removed), TextStyle::Bad),
            TableCell::new(state, TextStyle::Dim),
            TableCell::new(escape(message.unwrap_or_default()), TextStyle::Plain),
        ]);
    }
    context.out.paged(table.render("", context.out.colour).as_bytes())?;
    Ok(Exit::Done)
}

fn list_calls(context: &CommandContext, project: &Project, dialog: &str) -> Result<Exit> {
    let id = resolve_dialog(project, dialog)?;
    let page = CallPage { limit: MAX_ROWS, ..CallPage::default() };
    if context.json {
        context.out.json(&CallList::read(project, &id, &page, Masking::Off)?)?;
        return Ok(Exit::Done);
    }
    let mut table =
        head(["TURN", "BEGAN", "AGENT", "CALL", "TOOL", "MODEL", "RESULT", "CHANGES", "COMMAND"]);
    for record in project.call_records(&id, &page)? {
        let call = CallDocument::new(&record, Masking::Off);
        let command = call.command.as_deref().map(first_words).unwrap_or_default();
        let result = serde_json::to_value(call.result)?;
        table.row([
            TableCell::right(call.turn.to_string(), TextStyle::Mark),
            TableCell::new(format_local(record.begin_at), TextStyle::Dim),
            TableCell::new(escape(&call.agent), TextStyle::Plain),
            TableCell::new(escape(&call.call), TextStyle::Plain),
            TableCell::new(escape(&call.tool), TextStyle::Plain),
            TableCell::new(call.model.as_deref().map_or("-".to_owned(), escape), TextStyle::Dim),
            TableCell::new(result.as_str().unwrap_or_default(), TextStyle::Plain),
            TableCell::right(call.changes.to_string(), TextStyle::Plain),
            TableCell::new(escape(&command), TextStyle::Dim),
        ]);
    }
    context.out.paged(table.render("", context.out.colour).as_bytes())?;
    Ok(Exit::Done)
}

/// A table with these column names.
fn head<const N: usize>(names: [&str; N]) -> TextTable {
    let mut table = TextTable::default();
    table.row(names.map(|name| TableCell::new(name, TextStyle::Bold)));
    table
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
