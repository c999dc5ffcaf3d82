//! `retake context`: lists the files that agents have read.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{ContextSource, DialogId, LineSpan, MAIN_AGENT};
use retake_engine::{Audience, ContextEntry, ContextFile, DialogAgent, OperationError, Project};
use retake_service::documents::{self, ContextChoice};

use crate::args::ContextShowArgs;
use crate::context::{CommandContext, Exit, dialog_or_latest};
use crate::describe::{display_path, plural, short_id};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;

pub(super) fn run(context: &CommandContext, options: &ContextShowArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let dialog = match dialog_or_latest(&project, options.agent_args.dialog.as_deref()) {
        Err(error) if matches!(error.downcast_ref(), Some(OperationError::NoDialog)) => {
            return report_no_dialog(context);
        }
        other => other?,
    };
    let mut agents = project.agents(&dialog)?;
    if let Some(agent) = &options.agent_args.agent {
        let agent = super::find_agent(&project, &dialog, agent)?;
        agents.retain(|one| one.id == agent);
    }
    if context.json {
        let agents: Vec<_> = agents.into_iter().map(|agent| agent.id).collect();
        let choice = ContextChoice { stale: options.stale, timeline: options.timeline };
        context.out.json(&documents::ContextDocument::read(&project, &dialog, &agents, choice)?)?;
        return Ok(Exit::Done);
    }
    let text = describe_context(context, &project, &dialog, &agents, options)?;
    context.out.paged(text.as_bytes())?;
    Ok(Exit::Done)
}

fn report_no_dialog(context: &CommandContext) -> Result<Exit> {
    if context.json {
        context.out.json(&documents::ContextDocument::default())?;
    } else {
        context.out.text("No agent has worked in this project yet.\n")?;
    }
    Ok(Exit::Done)
}

fn describe_context(
    context: &CommandContext,
    project: &Project,
    dialog: &DialogId,
    agents: &[DialogAgent],
    options: &ContextShowArgs,
) -> Result<String> {
    let mut text = String::new();
    let name = escape(project.dialog_name(dialog)?);
    for agent in agents {
        let mut files = project.context(dialog, &agent.id)?;
        let stale = files.iter().filter(|file| file.stale.is_some()).count();
        let head = agent_heading(&name, agent, files.len(), stale);
        files.retain(|file| file.stale.is_some() || !options.stale);
        if files.is_empty() {
            continue;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{}", context.out.paint(&head, TextStyle::Bold));
        let table = if options.timeline {
            timeline_table(context, &files)
        } else {
            latest_table(context, &files)
        };
        text.push_str(&table.render("  ", context.out));
    }
    if text.is_empty() {
        let nothing = if options.stale {
            "All files are as its agents last saw them."
        } else {
            "Its agents have seen no files yet."
        };
        let _ = writeln!(text, "{name}: {nothing}");
    }
    Ok(text)
}

fn agent_heading(dialog: &str, agent: &DialogAgent, files: usize, stale: usize) -> String {
    let files = plural(files as u64, "file", "files");
    let stale =
        if stale == 0 { String::new() } else { format!(", {stale} changed since it saw them") };
    let subagent = match agent.id.0.as_str() {
        MAIN_AGENT => String::new(),
        id => format!("/{}", short_id(id)),
    };
    format!("{dialog}{subagent}: {files}{stale}")
}

/// One line for each file, as it is now.
fn latest_table(context: &CommandContext, files: &[ContextFile]) -> TextTable {
    let mut table =
        TextTable::new([Column::PATH, Column::TITLE.at_least(24).dropped(1), Column::WRAPPED])
            .with_head(["FILE", "LAST SEEN", "SINCE THEN"]);
    for file in files {
        let by_agent = |entry: &&ContextEntry| entry.source != ContextSource::UserEdited;
        let seen = file.entries.iter().rfind(by_agent);
        let seen =
            seen.map(|entry| format!("{} {}", describe_entry(entry), context.times.show(entry.at)));
        let (since, style) = match &file.stale {
            None => ("unchanged".to_owned(), TextStyle::Dim),
            Some(stale) => (escape(stale.describe(Audience::Person)), TextStyle::Warn),
        };
        let changed = file.entries.last().and_then(|entry| entry.dates.user);
        let when = changed.filter(|_| file.stale.is_some()).map(|at| context.times.show(at));
        let when = when.map_or_else(String::new, |when| format!(", {when}"));
        table.row([
            TableCell::new(display_path(&file.path), TextStyle::Plain),
            TableCell::new(seen.unwrap_or_default(), TextStyle::Plain),
            TableCell::new(since + &when, style),
        ]);
    }
    table
}

/// One line for each event of a file, after its path.
fn timeline_table(context: &CommandContext, files: &[ContextFile]) -> TextTable {
    let mut table =
        TextTable::new([Column::PATH, Column::WHOLE, Column::WRAPPED, Column::WHOLE.dropped(1)])
            .with_head(["FILE", "WHEN", "WHAT", "CHANGE"]);
    for file in files {
        let mut path = display_path(&file.path);
        for entry in &file.entries {
            let change = entry.change.map_or_else(String::new, |change| change.to_string());
            table.row([
                TableCell::new(std::mem::take(&mut path), TextStyle::Plain),
                TableCell::new(context.times.show(entry.at), TextStyle::Dim),
                TableCell::new(describe_entry(entry), TextStyle::Plain),
                TableCell::new(change, TextStyle::Mark),
            ]);
        }
        if let Some(stale) = &file.stale {
            let words = escape(stale.describe(Audience::Person));
            table.row([
                TableCell::new(path, TextStyle::Plain),
                TableCell::new("now", TextStyle::Dim),
                TableCell::new(words, TextStyle::Warn),
            ]);
        }
    }
    table
}

fn describe_entry(entry: &ContextEntry) -> String {
    match entry.source {
        ContextSource::ReadTool => format!("read{}", describe_lines(entry)),
        ContextSource::FileMentioned => format!("mentioned{}", describe_lines(entry)),
        ContextSource::AgentEdited => "edited".to_owned(),
        ContextSource::UserEdited => match &entry.by {
            Some(who) => format!("changed by {}", escape(who.display_name(Audience::Person))),
            None => "changed by others".to_owned(),
        },
    }
}

fn describe_lines(entry: &ContextEntry) -> String {
    let range = |lines: &LineSpan| match (lines.first, lines.last) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}–{last}"),
    };
    let seen = entry.lines.iter().flatten().map(range).collect::<Vec<_>>();
    if seen.is_empty() { String::new() } else { format!(" (lines {})", seen.join(", ")) }
}
