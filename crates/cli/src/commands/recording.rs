//! Which agents are recorded: the line that `status`, `init` and the empty states show.

use std::collections::BTreeMap;

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::Millis;
use retake_service::setup::{AgentStatus, HookState, SetupEnvironment, read_agents};

use crate::context::CommandContext;
use crate::escape::escape;
use crate::layout::render_paragraph;
use crate::output::TextStyle;

/// One line, wrapped if need be: each agent of this machine, and whether it is recorded here.
pub(super) fn recording_line(
    context: &CommandContext,
    project: Option<&Project>,
) -> Result<String> {
    let machine = SetupEnvironment::detect(context.start_folder(), context.named_home.clone());
    let machine = match machine {
        Ok(machine) => machine,
        // What the record says is worth showing without the agents' settings.
        Err(error) => {
            let line = format!("Recording: unknown, since {}", escape(&error.message));
            return Ok(render_paragraph(&line, "", TextStyle::Warn, context.out));
        }
    };
    let heard = project.map(last_heard).transpose()?.unwrap_or_default();
    let agents = read_agents(&machine, &[], &heard);
    let known: Vec<_> =
        agents.iter().filter(|agent| agent.installed || agent.last.is_some()).collect();
    let is_absent = |agent: &&&AgentStatus| state_here(agent) == HookState::Absent;
    let absent: Vec<_> = known.iter().filter(is_absent).map(|agent| agent.agent.title()).collect();
    let mut parts: Vec<_> = known
        .iter()
        .filter(|agent| !is_absent(agent))
        .map(|agent| describe_agent(context, agent))
        .collect();
    if !absent.is_empty() {
        parts.push(format!("not set up: {} (run `retake setup`)", absent.join(", ")));
    }
    if parts.is_empty() {
        parts.push("no agent that Retake knows is installed (see `retake setup --status`)".into());
    }
    let is_recorded = known.iter().any(|agent| state_here(agent) == HookState::Active);
    let style = if is_recorded { TextStyle::Dim } else { TextStyle::Warn };
    let line = format!("Recording: {}", parts.join(" · "));
    Ok(render_paragraph(&line, "", style, context.out))
}

/// The state of an agent's hooks in this project: those for all projects, or those of its own.
fn state_here(agent: &AgentStatus) -> HookState {
    match agent.here.state {
        HookState::Absent => agent.user.state,
        own => own,
    }
}

fn describe_agent(context: &CommandContext, agent: &AgentStatus) -> String {
    let title = agent.agent.title();
    match (state_here(agent), agent.last) {
        (HookState::Active, Some(at)) => format!("{title} (last heard {})", context.times.show(at)),
        (HookState::Active, None) => format!("{title} (ready)"),
        (state @ (HookState::Waiting | HookState::Changed), _) => {
            format!("{title} {}", state.describe())
        }
        (state, _) => format!("{title}: {}", state.describe()),
    }
}

/// When each product was last heard in a project.
fn last_heard(project: &Project) -> Result<BTreeMap<String, Millis>> {
    let mut heard: BTreeMap<String, Millis> = BTreeMap::new();
    for (dialog, _) in project.dialogs()? {
        if let Some(kind) = dialog.kind {
            let last = heard.entry(kind).or_insert(dialog.last_at);
            *last = dialog.last_at.max(*last);
        }
    }
    Ok(heard)
}

/// Renders what is said where nothing is recorded yet: when it begins, and how to begin now.
pub(super) fn nothing_recorded_text(context: &CommandContext) -> Result<String> {
    let place = context.cwd.join(context.start_folder());
    let place = place.canonicalize().unwrap_or(place);
    let begins = match context.retake.too_broad(&place) {
        Some(what) => {
            format!("It is {what}, where agents are recorded only after `retake init --anywhere`.")
        }
        None => "It begins with your agent's first message here, or now with `retake init`.".into(),
    };
    let text = format!("Nothing is recorded in {} yet. {begins}", context.display_folder(&place));
    let text = render_paragraph(&text, "", TextStyle::Plain, context.out);
    Ok(text + &recording_line(context, None)?)
}
