//! `retake log`: who changed what, one line a change.

use anyhow::Result;
use retake_engine::model::{Actor, Change, ChangeType, Confidence};
use retake_engine::{ChangeFilter, Project};
use retake_server::documents::Changes;

use crate::args::Log;
use crate::commands::message::Prompts;
use crate::context::{Context, Exit};
use crate::describe::{actor, counts, path, remarks};
use crate::escape::escape;
use crate::output::Style;
use crate::table::{Cell, Table};
use crate::time::{End, local};

pub(super) fn run(context: &Context, options: &Log) -> Result<Exit> {
    let (project, _) = context.open_and_look()?;
    let until = options.until.as_deref().map(|text| context.time(text, End::Last)).transpose()?;
    let filter = ChangeFilter {
        actor: options.actor,
        status: options.status,
        until,
        limit: options.limit,
        oldest_first: options.oldest_first,
        ..context.filter(&project, &options.filter)?
    };
    let changes = project.changes(&filter)?;
    if context.json {
        context.out.json(&Changes::from(changes.as_slice()))?;
    } else if changes.is_empty() {
        let nothing = match project.store().change_count()? {
            0 => "Nothing has changed since this project was initialised.\n",
            _ => "No change fits.\n",
        };
        context.out.text(nothing)?;
    } else {
        let table = table(&project, &changes)?;
        context.out.paged(table.render("", context.out.colour).as_bytes())?;
    }
    Ok(Exit::Done)
}

/// Changes as a table, each with the message that it was made for.
pub(super) fn table(project: &Project, changes: &[Change]) -> Result<Table> {
    let (mut table, mut prompts) = (Table::default(), Prompts::default());
    for change in changes {
        let (added, removed) = counts(change);
        let prompt = prompts.of(project, change)?;
        let prompt = prompt.map_or_else(String::new, |prompt| format!("“{}”", escape(prompt)));
        table.row([
            Cell::new(change.id.to_string(), Style::Mark),
            Cell::new(local(change.at), Style::Dim),
            Cell::new(actor(change), actor_style(change.actor)),
            Cell::new(change.confidence.to_string(), confidence_style(change.confidence)),
            Cell::new(change.change_type.to_string(), type_style(change.change_type)),
            Cell::right(added, Style::Good),
            Cell::right(removed, Style::Bad),
            Cell::new(path(change), Style::Plain),
            Cell::new(remarks(change), Style::Dim),
            Cell::new(prompt, Style::Dim),
        ]);
    }
    Ok(table)
}

/// Style of an actor.
pub(super) fn actor_style(actor: Actor) -> Style {
    match actor {
        Actor::Agent => Style::Warn,
        Actor::User => Style::Bold,
        Actor::Git | Actor::Retake | Actor::Unknown => Style::Dim,
    }
}

fn confidence_style(confidence: Confidence) -> Style {
    match confidence {
        Confidence::Shared | Confidence::Late => Style::Warn,
        Confidence::Certain | Confidence::Window | Confidence::Assumed => Style::Dim,
    }
}

fn type_style(change_type: ChangeType) -> Style {
    match change_type {
        ChangeType::Create => Style::Good,
        ChangeType::Delete => Style::Bad,
        ChangeType::Modify | ChangeType::Rename | ChangeType::Mode => Style::Plain,
    }
}
