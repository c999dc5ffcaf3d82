//! `retake log`: who changed what, one line a change.

use anyhow::Result;
use retake_engine::model::{Actor, Change, ChangeType, Confidence};
use retake_engine::{ChangeFilter, Project};
use retake_service::documents::{ChangeList, LocatePaths as _};

use crate::args::LogArgs;
use crate::commands::message::PromptCache;
use crate::context::{CommandContext, Exit};
use crate::describe::{describe_actor, describe_path, describe_remarks, line_counts};
use crate::escape::escape;
use crate::output::TextStyle;
use crate::table::{TableCell, TextTable};
use crate::time::{DayBoundary, format_local};

pub(super) fn run(context: &CommandContext, options: &LogArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let until = options
        .until
        .as_deref()
        .map(|text| context.resolve_time(text, DayBoundary::Last))
        .transpose()?;
    let filter = ChangeFilter {
        actors: options.actor.clone(),
        statuses: options.status.clone(),
        confidences: options.confidence.clone(),
        turn: options.turn,
        call: options.call.as_deref().map(Into::into),
        until,
        limit: options.limit,
        oldest_first: options.oldest_first,
        ..context.resolve_filter(&project, &options.filter)?
    };
    let changes = project.changes(&filter)?;
    if context.json {
        context.out.json(&ChangeList::from(changes.as_slice()).located(project.root()))?;
    } else if changes.is_empty() {
        let nothing = match project.change_count()? {
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
pub(super) fn table(project: &Project, changes: &[Change]) -> Result<TextTable> {
    let (mut table, mut prompts) = (TextTable::default(), PromptCache::default());
    for change in changes {
        let (added, removed) = line_counts(change);
        let prompt = prompts.first_words_for(project, change)?;
        let prompt = prompt.map_or_else(String::new, |prompt| format!("“{}”", escape(prompt)));
        table.row([
            TableCell::new(change.id.to_string(), TextStyle::Mark),
            TableCell::new(format_local(change.at), TextStyle::Dim),
            TableCell::new(describe_actor(change), actor_style(change.actor)),
            TableCell::new(change.confidence.to_string(), confidence_style(change.confidence)),
            TableCell::new(change.change_type.to_string(), type_style(change.change_type)),
            TableCell::right(added, TextStyle::Good),
            TableCell::right(removed, TextStyle::Bad),
            TableCell::new(describe_path(change), TextStyle::Plain),
            TableCell::new(describe_remarks(change), TextStyle::Dim),
            TableCell::new(prompt, TextStyle::Dim),
        ]);
    }
    Ok(table)
}

/// Style of an actor.
pub(super) fn actor_style(actor: Actor) -> TextStyle {
    match actor {
        Actor::Agent => TextStyle::Warn,
        Actor::User => TextStyle::Bold,
        Actor::Git | Actor::Retake | Actor::Unknown => TextStyle::Dim,
    }
}

fn confidence_style(confidence: Confidence) -> TextStyle {
    match confidence {
        Confidence::Shared | Confidence::Late => TextStyle::Warn,
        Confidence::Certain | Confidence::Window | Confidence::Assumed => TextStyle::Dim,
    }
}

fn type_style(change_type: ChangeType) -> TextStyle {
    match change_type {
        ChangeType::Create => TextStyle::Good,
        ChangeType::Delete => TextStyle::Bad,
        ChangeType::Modify | ChangeType::Rename | ChangeType::Mode => TextStyle::Plain,
    }
}
