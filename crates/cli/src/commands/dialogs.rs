//! `retake dialogs`: the conversations with agents, their turns and calls.

use anyhow::Result;
use retake_engine::model::MAIN_AGENT;
use retake_engine::{CallPage, Dialog, DialogAgent, Project};
use retake_service::Masking;
use retake_service::documents::{CallDocument, CallList, DialogList, TurnList};

use crate::args::DialogsArgs;
use crate::context::{CommandContext, Exit, resolve_dialog};
use crate::describe::{first_line, format_count};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;

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
        context.out.text("No agent has worked in this project yet.\n")?;
    } else {
        context.out.paged(table(context, &dialogs).render("", context.out).as_bytes())?;
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
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE,
        Column::WHOLE.dropped(1),
        Column::WHOLE.dropped(2),
        Column::WHOLE.dropped(3),
        Column::WHOLE.dropped(3),
        Column::WHOLE.dropped(4),
        Column::TITLE.at_least(28),
    ])
    .with_head(["TURN", "BEGAN", "CALLS", "CHANGES", "ADDED", "REMOVED", "", "MESSAGE"]);
    for turn in project.turns(&dialog, None, MAX_ROWS)? {
        let message = turn.message.as_ref().map(|message| first_line(&message.text));
        let state = match (turn.is_open, turn.is_undone()) {
            (true, _) => "working",
            (false, true) => "undone",
            (false, false) => "",
        };
        table.row([
            TableCell::right(turn.number.to_string(), TextStyle::Mark),
            TableCell::new(context.times.show_optional(turn.began_at), TextStyle::Dim),
            TableCell::right(turn.calls.to_string(), TextStyle::Plain),
            TableCell::right(turn.totals.changes.to_string(), TextStyle::Plain),
            TableCell::right(format!("+{}", format_count(turn.totals.added)), TextStyle::Good),
            TableCell::right(format!("-{}", format_count(turn.totals.removed)), TextStyle::Bad),
            TableCell::new(state, TextStyle::Dim),
            TableCell::new(escape(message.unwrap_or_default()), TextStyle::Plain),
        ]);
    }
    context.out.paged(table.render("", context.out).as_bytes())?;
    Ok(Exit::Done)
}

fn list_calls(context: &CommandContext, project: &Project, dialog: &str) -> Result<Exit> {
    let id = resolve_dialog(project, dialog)?;
    let page = CallPage { limit: MAX_ROWS, ..CallPage::default() };
    if context.json {
        context.out.json(&CallList::read(project, &id, &page, Masking::Off)?)?;
        return Ok(Exit::Done);
    }
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE.dropped(4),
        Column::TITLE.dropped(3),
        Column::TITLE.dropped(2),
        Column::TITLE,
        Column::TITLE.dropped(1),
        Column::WHOLE,
        Column::WHOLE,
        Column::TITLE.at_least(28),
    ])
    .with_head(["TURN", "BEGAN", "AGENT", "CALL", "TOOL", "MODEL", "RESULT", "CHANGES", "COMMAND"]);
    for record in project.call_records(&id, &page)? {
        let call = CallDocument::new(&record, Masking::Off);
        let command = call.command.as_deref().map(first_line).unwrap_or_default();
        let result = serde_json::to_value(call.result)?;
        table.row([
            TableCell::right(call.turn.to_string(), TextStyle::Mark),
            TableCell::new(context.times.show(record.begin_at), TextStyle::Dim),
            TableCell::new(escape(&call.agent), TextStyle::Plain),
            TableCell::new(escape(&call.call), TextStyle::Plain),
            TableCell::new(escape(&call.tool), TextStyle::Plain),
            TableCell::new(call.model.as_deref().map_or("-".to_owned(), escape), TextStyle::Dim),
            TableCell::new(result.as_str().unwrap_or_default(), TextStyle::Plain),
            TableCell::right(call.changes.to_string(), TextStyle::Plain),
            TableCell::new(escape(&command), TextStyle::Dim),
        ]);
    }
    context.out.paged(table.render("", context.out).as_bytes())?;
    Ok(Exit::Done)
}

fn table(context: &CommandContext, dialogs: &[(Dialog, Vec<DialogAgent>)]) -> TextTable {
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::TITLE.at_least(28),
        Column::WHOLE,
        Column::WHOLE,
        Column::WHOLE.dropped(3),
        Column::TITLE.dropped(2),
        Column::WHOLE.dropped(1),
    ])
    .with_head(["DIALOG", "TITLE", "TURNS", "LAST ACTIVE", "STATE", "AGENTS", "ID"]);
    for (dialog, agents) in dialogs {
        let subagents = agents.iter().filter(|agent| agent.id.0 != MAIN_AGENT);
        let names: Vec<_> = subagents.map(|agent| escape(&agent.id.0)).collect();
        let kind = dialog.kind.as_deref().map_or("-".to_owned(), escape);
        let agents = [&[kind][..], &names].concat().join(", ");
        let id = if dialog.name == dialog.id.0 { String::new() } else { escape(&dialog.id.0) };
        table.row([
            TableCell::new(escape(&dialog.name), TextStyle::Mark),
            TableCell::new(
                dialog.title.as_deref().map(escape).unwrap_or_default(),
                TextStyle::Plain,
            ),
            TableCell::right(format_count(dialog.turns), TextStyle::Plain),
            TableCell::new(context.times.show(dialog.last_at), TextStyle::Dim),
            TableCell::new(dialog_state(dialog), TextStyle::Plain),
            TableCell::new(agents, TextStyle::Plain),
            TableCell::new(id, TextStyle::Dim),
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
