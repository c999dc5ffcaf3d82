//! `retake setup --status`: which agents are installed and set up, and their latest events.

use anyhow::Result;
use retake_agents::AgentKind;
use retake_agents::setup::SetupLevel;
use retake_engine::model::Millis;
use serde_json::{Value, json};

use super::SetupEnvironment;
use super::hook_status::{HookState, HookStatus};
use crate::args::SetupArgs;
use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::output::{TextStyle, warn};
use crate::table::{TableCell, TextTable};
use crate::time::{format_local, iso_8601};

pub(super) fn run(
    context: &CommandContext,
    options: &SetupArgs,
    machine: &SetupEnvironment,
) -> Result<Exit> {
    let activity = context.retake.agent_activity()?;
    for (root, error) in &activity.problems {
        warn(&format!("the record of {root} is left out: {error}"));
    }
    let wanted = |agent: &AgentKind| options.agents.is_empty() || options.agents.contains(agent);
    let agents = AgentKind::ALL.into_iter().filter(wanted).map(|agent| AgentStatusRow {
        agent,
        installed: machine.has_agent(agent),
        user: HookStatus::new(agent, SetupLevel::User, machine),
        here: HookStatus::new(agent, SetupLevel::Here, machine),
        last: activity.kinds.get(agent.name()).copied(),
    });
    let rows: Vec<_> = agents.collect();
    if context.json {
        let agents: Vec<_> = rows.iter().map(AgentStatusRow::document).collect();
        context.out.json(&json!({ "agents": agents }))?;
    } else {
        context.out.text(&table(&rows, options.here).render("", context.out.colour))?;
    }
    Ok(Exit::Done)
}

/// Status of one agent.
struct AgentStatusRow {
    agent: AgentKind,
    installed: bool,
    user: HookStatus,
    here: HookStatus,
    last: Option<Millis>,
}

impl AgentStatusRow {
    fn document(&self) -> Value {
        let level = |status: &HookStatus| {
            json!({
                "state": status.state.code(),
                "detail": status.detail,
                "files": status.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
            })
        };
        json!({
            "agent": self.agent.name(),
            "title": self.agent.title(),
            "untested": self.agent.is_untested(),
            "installed": self.installed,
            "user": level(&self.user),
            "here": level(&self.here),
            "last_event": self.last.map(iso_8601),
            "last_event_at": self.last,
        })
    }
}

fn table(rows: &[AgentStatusRow], here: bool) -> TextTable {
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
                TableCell::new(words, status.state.style()),
            ]);
        }
    }
    table
}
