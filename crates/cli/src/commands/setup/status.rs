//! `retake setup --status`: which agents are installed and set up, and their latest events.

use anyhow::Result;
use retake_agents::Agent;
use retake_agents::setup::Level;
use retake_engine::model::Millis;
use serde_json::{Value, json};

use super::Machine;
use super::standing::{Standing, State};
use crate::args::Setup;
use crate::context::{Context, Exit};
use crate::escape::escape;
use crate::output::{Style, warn};
use crate::table::{Cell, Table};
use crate::time::{iso, local};

pub(super) fn run(context: &Context, options: &Setup, machine: &Machine) -> Result<Exit> {
    let seen = context.retake.seen()?;
    for (root, error) in &seen.problems {
        warn(&format!("the record of {root} is left out: {error}"));
    }
    let wanted = |agent: &Agent| options.agents.is_empty() || options.agents.contains(agent);
    let agents = Agent::ALL.into_iter().filter(wanted).map(|agent| Row {
        agent,
        installed: machine.has(agent),
        user: Standing::new(agent, Level::User, machine),
        here: Standing::new(agent, Level::Here, machine),
        last: seen.kinds.get(agent.name()).copied(),
    });
    let rows: Vec<_> = agents.collect();
    if context.json {
        let agents: Vec<_> = rows.iter().map(Row::document).collect();
        context.out.json(&json!({ "agents": agents }))?;
    } else {
        context.out.text(&table(&rows, options.here).render("", context.out.colour))?;
    }
    Ok(Exit::Done)
}

/// Status of one agent.
struct Row {
    agent: Agent,
    installed: bool,
    user: Standing,
    here: Standing,
    last: Option<Millis>,
}

impl Row {
    fn document(&self) -> Value {
        let level = |standing: &Standing| {
            json!({
                "state": standing.state.code(),
                "detail": standing.detail,
                "files": standing.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
            })
        };
        json!({
            "agent": self.agent.name(),
            "title": self.agent.title(),
            "untested": self.agent == Agent::Cursor,
            "installed": self.installed,
            "user": level(&self.user),
            "here": level(&self.here),
            "last_event": self.last.map(iso),
            "last_event_at": self.last,
        })
    }
}

fn table(rows: &[Row], here: bool) -> Table {
    let mut table = Table::default();
    let head = |text: &str| Cell::new(text, Style::Bold);
    table.row([head("AGENT"), head("INSTALLED"), head("LAST EVENT"), head("HOOKS")]);
    for row in rows {
        let installed = if row.installed { "yes" } else { "no" };
        let last = row.last.map_or_else(|| "never".to_owned(), local);
        let untested = if row.agent == Agent::Cursor { " (untested)" } else { "" };
        let mut lines = Vec::new();
        if !here {
            lines.push((&row.user, ""));
        }
        if here || row.here.state != State::Absent {
            lines.push((&row.here, " in this project"));
        }
        for (at, (standing, place)) in lines.into_iter().enumerate() {
            let first = |text: String| if at == 0 { text } else { String::new() };
            let detail = standing.detail.as_deref().map(|text| format!(": {}", escape(text)));
            let words = format!("{}{place}{}", standing.state.words(), detail.unwrap_or_default());
            table.row([
                Cell::new(first(format!("{}{untested}", row.agent)), Style::Plain),
                Cell::new(first(installed.to_owned()), Style::Plain),
                Cell::new(first(last.clone()), Style::Dim),
                Cell::new(words, standing.state.style()),
            ]);
        }
    }
    table
}
