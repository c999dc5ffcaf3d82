//! `retake context`: lists the files that agents have read.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{ContextSource, DialogId, LineSpan, Millis};
use retake_engine::{Audience, ContextEntry, ContextFile, DialogAgent, OperationError, Project};
use retake_service::documents::{self, ContextChoice};

use crate::args::ContextShowArgs;
use crate::context::{CommandContext, Exit, dialog_or_latest};
use crate::describe::{self, display_path, plural, short_id};
use crate::escape::escape;
use crate::output::TextStyle;
use crate::table::{TableCell, TextTable};
use crate::time::format_local;

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
    for agent in agents {
        let mut files = project.context(dialog, &agent.id)?;
        let stale = files.iter().filter(|file| file.stale.is_some()).count();
        let head = agent_heading(dialog, agent, files.len(), stale);
        files.retain(|file| file.stale.is_some() || !options.stale);
        if files.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}", context.out.paint(&head, TextStyle::Bold));
        let table = if options.timeline { timeline_table(&files) } else { latest_table(&files) };
        text.push_str(&table.render("  ", context.out.colour));
        text.push('\n');
    }
    if text.is_empty() {
        let dialog = short_id(&dialog.0);
        let nothing = if options.stale {
            "All files are as its agents last saw them."
        } else {
            "Its agents have seen no files yet."
        };
        let _ = writeln!(text, "Dialog {dialog}: {nothing}");
    }
    Ok(text)
}

fn agent_heading(dialog: &DialogId, agent: &DialogAgent, files: usize, stale: usize) -> String {
    let files = plural(files as u64, "file", "files");
    let stale =
        if stale == 0 { String::new() } else { format!(", {stale} changed since it looked") };
    format!("{} in dialog {}: {files}{stale}", describe::describe_agent(agent), short_id(&dialog.0))
}

/// One line for each file, as it is now.
fn latest_table(files: &[ContextFile]) -> TextTable {
    let mut table = TextTable::default();
    let heads = ["FILE", "CAME IN", "READ", "EDITED", "CHANGED BY OTHERS", ""];
    table.row(heads.map(|text| TableCell::new(text, TextStyle::Bold)));
    for file in files {
        let (Some(first), Some(last)) = (file.entries.first(), file.entries.last()) else {
            continue;
        };
        let date = |date: Option<Millis>| {
            TableCell::new(date.map_or("-".to_owned(), format_local), TextStyle::Dim)
        };
        let stale = file.stale.as_ref().map(|stale| escape(stale.describe(Audience::Person)));
        table.row([
            TableCell::new(display_path(&file.path), TextStyle::Plain),
            TableCell::new(describe_entry(first), TextStyle::Plain),
            date(last.dates.read),
            date(last.dates.edit),
            date(last.dates.user),
            TableCell::new(stale.unwrap_or_default(), TextStyle::Warn),
        ]);
    }
    table
}

/// One line for each event of a file.
fn timeline_table(files: &[ContextFile]) -> TextTable {
    let mut table = TextTable::default();
    for file in files {
        for entry in &file.entries {
            let change = entry.change.map_or_else(String::new, |change| change.to_string());
            table.row([
                TableCell::new(display_path(&file.path), TextStyle::Plain),
                TableCell::new(format_local(entry.at), TextStyle::Dim),
                TableCell::new(describe_entry(entry), TextStyle::Plain),
                TableCell::new(change, TextStyle::Mark),
            ]);
        }
        if let Some(stale) = &file.stale {
            let words = escape(stale.describe(Audience::Person));
            let path = TableCell::new(display_path(&file.path), TextStyle::Plain);
            table.row([
                path,
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
