//! `retake log`: what agents did, a line for each turn.
//!
//! What the person, git and Retake itself did is listed only if it is asked for: it would stand
//! between the turns of agents.

mod groups;

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Actor, Change, ChangeType};
use retake_engine::{ChangeFilter, Project};
use retake_service::Masking;
use retake_service::documents::{ChangeList, LoadRepeats as _, LocatePaths as _};

use crate::args::LogArgs;
use crate::commands::scope::changes_at;
use crate::context::{CommandContext, Exit};
use crate::describe::{
    DialogNames, confidence_legend, confidence_mark, describe_path, describe_remarks, dialog_names,
    format_count, line_counts, plural,
};
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;
use crate::time::DayBoundary;

use groups::{ChangeGroup, first_groups, group_changes};

pub(super) fn run(context: &CommandContext, options: &LogArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let filter = resolve_filter(context, &project, options)?;
    if context.json {
        let filter = ChangeFilter { limit: options.limit, ..filter };
        let mut changes = changes_at(context, &project, &filter, &options.paths)?;
        // Each path was read up to the limit.
        changes.truncate(options.limit.unwrap_or(usize::MAX));
        let list = ChangeList::from(changes.as_slice()).with_repeats(&project, Masking::Off)?;
        context.out.json(&list.located(project.root()))?;
        return Ok(Exit::Done);
    }
    let by_agents = options.actor.is_empty() && !options.all;
    let actors = if by_agents { vec![Actor::Agent] } else { filter.actors.clone() };
    let filter = ChangeFilter { actors, ..filter };
    let limit = options.limit.unwrap_or(usize::MAX);
    let groups = if options.paths.is_empty() && options.limit.is_some() {
        first_groups(&project, &filter, limit)?
    } else {
        let changes = changes_at(context, &project, &filter, &options.paths)?;
        group_changes(&project, changes, limit)?
    };
    if groups.is_empty() {
        context.out.text(nothing_text(&project, by_agents)?)?;
        return Ok(Exit::Done);
    }
    let with_files = options.files || !options.paths.is_empty() || options.filter.file.is_some();
    context.out.paged(render(context, &project, &groups, with_files)?.as_bytes())?;
    Ok(Exit::Done)
}

fn resolve_filter(
    context: &CommandContext,
    project: &Project,
    options: &LogArgs,
) -> Result<ChangeFilter> {
    let until = options.until.as_deref().map(|text| context.resolve_time(text, DayBoundary::Last));
    Ok(ChangeFilter {
        actors: options.actor.clone(),
        statuses: options.status.clone(),
        confidences: options.confidence.clone(),
        turn: options.turn,
        call: options.call.as_deref().map(Into::into),
        until: until.transpose()?,
        oldest_first: options.oldest_first,
        ..context.resolve_filter(project, &options.filter)?
    })
}

fn nothing_text(project: &Project, by_agents: bool) -> Result<&'static str> {
    Ok(match (project.change_count()?, by_agents) {
        (0, _) => "Nothing has changed since this project was initialised.\n",
        (_, true) => "No change of an agent fits; `retake log --all` lists those of others, too.\n",
        (_, false) => "No change fits.\n",
    })
}

/// Renders a line for each turn, and its changes below if they are wanted.
fn render(
    context: &CommandContext,
    project: &Project,
    groups: &[ChangeGroup],
    with_files: bool,
) -> Result<String> {
    let mut text = String::new();
    let names = dialog_names(project)?;
    if with_files {
        for group in groups {
            let group_line = group_table(context, &names, std::slice::from_ref(group), true);
            text.push_str(&group_line);
            text.push_str(&changes_table(&group.changes).render("    ", context.out));
        }
        let shown = groups.iter().flat_map(|group| &group.changes);
        let legend = confidence_legend(shown);
        if !legend.is_empty() {
            let _ = write!(text, "\n{}", context.out.paint(legend.trim_end(), TextStyle::Dim));
            text.push('\n');
        }
    } else {
        text.push_str(&group_table(context, &names, groups, false));
    }
    Ok(text)
}

fn group_table(
    context: &CommandContext,
    names: &DialogNames,
    groups: &[ChangeGroup],
    with_files: bool,
) -> String {
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE,
        Column::WHOLE,
        Column::TITLE.at_least(22),
        Column::WHOLE.dropped(3),
        Column::WHOLE.dropped(2),
        Column::WHOLE.dropped(2),
        Column::WHOLE.dropped(4),
        Column::TITLE.dropped(1),
    ]);
    for group in groups {
        let Some(newest) = group.changes.iter().max_by_key(|change| change.id) else { continue };
        let is_taken_back = !group.changes.iter().any(Change::is_effective);
        let style = if is_taken_back { TextStyle::Dim } else { TextStyle::Bold };
        let (added, removed) = group.line_counts();
        let ids: Vec<_> = group.changes.iter().map(|change| change.id.to_string()).collect();
        let ids = if with_files { String::new() } else { ids.join(" ") };
        table.row([
            TableCell::new("●", actor_style(newest.actor)),
            TableCell::new(context.times.show(newest.at), TextStyle::Dim),
            TableCell::new(group.who(names), actor_style(newest.actor)),
            TableCell::new(group.heading(names), style),
            TableCell::new(plural(group.file_count(), "file", "files"), TextStyle::Plain),
            TableCell::right(format!("+{}", format_count(added)), TextStyle::Good),
            TableCell::right(format!("-{}", format_count(removed)), TextStyle::Bad),
            TableCell::new(group.state(), TextStyle::Dim),
            TableCell::new(ids, TextStyle::Mark),
        ]);
    }
    table.render("", context.out)
}

/// The changes of one turn, a line each.
fn changes_table(changes: &[Change]) -> TextTable {
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE,
        Column::PATH,
        Column::WHOLE.dropped(2),
        Column::WHOLE.dropped(2),
        Column::WHOLE,
        Column::TITLE.dropped(1),
    ]);
    for change in changes {
        let (added, removed) = line_counts(change);
        let (letter, style) = type_letter(change.change_type);
        table.row([
            TableCell::new(change.id.to_string(), TextStyle::Mark),
            TableCell::new(letter, style),
            TableCell::new(describe_path(change), TextStyle::Plain),
            TableCell::right(added, TextStyle::Good),
            TableCell::right(removed, TextStyle::Bad),
            TableCell::new(confidence_mark(change.confidence), TextStyle::Warn),
            TableCell::new(describe_remarks(change), TextStyle::Dim),
        ]);
    }
    table
}

/// Style of an actor.
pub(super) fn actor_style(actor: Actor) -> TextStyle {
    match actor {
        Actor::Agent => TextStyle::Warn,
        Actor::User => TextStyle::Bold,
        Actor::Git | Actor::Retake | Actor::Unknown => TextStyle::Dim,
    }
}

/// As git has it: added, modified, deleted, renamed; `P` for permissions.
fn type_letter(change_type: ChangeType) -> (&'static str, TextStyle) {
    match change_type {
        ChangeType::Create => ("A", TextStyle::Good),
        ChangeType::Delete => ("D", TextStyle::Bad),
        ChangeType::Modify => ("M", TextStyle::Warn),
        ChangeType::Rename => ("R", TextStyle::Mark),
        ChangeType::Mode => ("P", TextStyle::Plain),
    }
}
