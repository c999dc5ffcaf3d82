//! `retake setup --status`: which agents are installed and set up, and their latest events.

use anyhow::Result;
use retake_service::documents::SetupDocument;
use retake_service::setup::{AgentStatus, HookState, SetupEnvironment, SetupStatus};

use crate::args::SetupArgs;
use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::output::{TextStyle, warn};
use crate::table::{TableCell, TextTable};
use crate::time::format_local;

pub(super) fn run(
    context: &CommandContext,
    options: &SetupArgs,
    machine: &SetupEnvironment,
) -> Result<Exit> {
    let status = SetupStatus::read(&context.retake, machine, &options.agents)?;
    for (root, error) in &status.problems {
        warn(&format!("the record of {root} is left out: {error}"));
    }
    if context.json {
        context.out.json(&SetupDocument::new(&status, true))?;
    } else {
        context.out.text(&table(&status.agents, options.here).render("", context.out.colour))?;
    }
    Ok(Exit::Done)
}

fn table(rows: &[AgentStatus], here: bool) -> TextTable {
    let mut table = TextTable::default();
    let head = |text: &str| TableCell::new(text, TextStyle::Bold);
    table.row([head("AGENT"), head("INSTALLED"), head("LAST EVENT"), head("HOOKS")]);
    for row in rows {
        let installed = if row.installed { "yes" } else { "no" };
        let last = row.last.map_or_else(|| "never".to_owned(), format_local);
        let untested = if row.agent.is_untested() { " (untested)" } else { "" };
        let mut lines = Vec::new();
        if !here {
            lines.push((&row.user, ""));
        }
        if here || row.here.state != HookState::Absent {
            lines.push((&row.here, " in this project"));
        }
        for (at, (status, place)) in lines.into_iter().enumerate() {
            let first = |text: String| if at == 0 { text } else { String::new() };
            let detail = status.detail.as_deref().map(|text| format!(": {}", escape(text)));
            let words = format!("{}{place}{}", status.state.describe(), detail.unwrap_or_default());
            table.row([
                TableCell::new(first(format!("{}{untested}", row.agent)), TextStyle::Plain),
                TableCell::new(first(installed.to_owned()), TextStyle::Plain),
                TableCell::new(first(last.clone()), TextStyle::Dim),
                TableCell::new(words, style(status.state)),
            ]);
        }
    }
    table
}

fn style(state: HookState) -> TextStyle {
    match state {
        HookState::Active => TextStyle::Good,
        HookState::Absent => TextStyle::Dim,
        _ => TextStyle::Warn,
    }
}
