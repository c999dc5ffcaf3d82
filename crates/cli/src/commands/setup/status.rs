//! `retake setup --status`: which agents are installed and set up, and their latest events.

use std::path::Path;

use anyhow::Result;
use retake_service::documents::SetupDocument;
use retake_service::setup::{AgentStatus, HookState, SetupEnvironment, SetupStatus};

use super::home_path::with_tilde;
use crate::args::SetupArgs;
use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::{TextStyle, warn};

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
        let table = StatusTable { context, here: options.here, home: &machine.home };
        context.out.text(&table.build(&status.agents).render("", context.out))?;
    }
    Ok(Exit::Done)
}

/// Inputs of the table.
struct StatusTable<'a> {
    context: &'a CommandContext,
    /// Only the hooks of this project.
    here: bool,
    home: &'a Path,
}

impl StatusTable<'_> {
    fn build(&self, rows: &[AgentStatus]) -> TextTable {
        let columns = [Column::WHOLE, Column::WHOLE, Column::WHOLE, Column::WRAPPED];
        let mut table =
            TextTable::new(columns).with_head(["AGENT", "INSTALLED", "LAST HEARD", "HOOKS"]);
        for row in rows {
            let installed = if row.installed { "yes" } else { "no" };
            let times = self.context.times;
            let last = row.last.map_or_else(|| "never".to_owned(), |at| times.show(at));
            let mut first = Some([row.agent.to_string(), installed.to_owned(), last]);
            for (words, style) in self.states(row) {
                let [agent, installed, last] = first.take().unwrap_or_default();
                table.row([
                    TableCell::new(agent, TextStyle::Plain),
                    TableCell::new(installed, TextStyle::Plain),
                    TableCell::new(last, TextStyle::Dim),
                    TableCell::new(words, style),
                ]);
            }
        }
        table
    }

    /// The states of an agent's hooks, for all projects and for this one.
    fn states(&self, row: &AgentStatus) -> Vec<(String, TextStyle)> {
        let mut states = Vec::new();
        if !self.here {
            states.push((&row.user, ""));
        }
        if self.here || row.here.state != HookState::Absent {
            states.push((&row.here, " in this project"));
        }
        let untested = if row.agent.is_untested() { " (untested)" } else { "" };
        let mut lines = Vec::new();
        for (status, place) in states {
            let detail = status.detail.as_deref().map(|text| format!(": {}", escape(text)));
            let detail = detail.unwrap_or_default();
            let words = format!("{}{place}{untested}{detail}", status.state.describe());
            lines.push((with_tilde(&words, self.home), style(status.state)));
        }
        lines
    }
}

fn style(state: HookState) -> TextStyle {
    match state {
        HookState::Active => TextStyle::Good,
        HookState::Absent => TextStyle::Dim,
        _ => TextStyle::Warn,
    }
}
