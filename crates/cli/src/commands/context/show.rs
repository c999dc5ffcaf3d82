//! `retake context`: lists the files that agents have read.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{ContextSource, DialogId, Lines, Millis};
use retake_engine::{ContextEntry, ContextFile, DialogAgent, Project, Reader, VerbError};
use retake_server::documents::{self, ContextChoice};

use crate::args::ContextShow;
use crate::context::{Context, Exit, dialog_or_latest};
use crate::describe::{self, name, plural, short_id};
use crate::escape::escape;
use crate::output::Style;
use crate::table::{Cell, Table};
use crate::time::local;

pub(super) fn run(context: &Context, options: &ContextShow) -> Result<Exit> {
    let (project, _) = context.open_and_look()?;
    let dialog = match dialog_or_latest(&project, options.of.dialog.as_deref()) {
        Err(error) if matches!(error.downcast_ref(), Some(VerbError::NoDialog)) => {
            return no_dialog(context);
        }
        other => other?,
    };
    let mut agents = project.store().agents(&dialog)?;
    if let Some(agent) = &options.of.agent {
        let agent = super::named(&project, &dialog, agent)?;
        agents.retain(|one| one.id == agent);
    }
    if context.json {
        let agents: Vec<_> = agents.into_iter().map(|agent| agent.id).collect();
        let choice = ContextChoice { stale: options.stale, timeline: options.timeline };
        context.out.json(&documents::Context::read(&project, &dialog, &agents, choice)?)?;
        return Ok(Exit::Done);
    }
    let text = told(context, &project, &dialog, &agents, options)?;
    context.out.paged(text.as_bytes())?;
    Ok(Exit::Done)
}

fn no_dialog(context: &Context) -> Result<Exit> {
    if context.json {
        context.out.json(&documents::Context::default())?;
    } else {
        context.out.text("No agent has worked in this project yet.\n")?;
    }
    Ok(Exit::Done)
}

fn told(
    context: &Context,
    project: &Project,
    dialog: &DialogId,
    agents: &[DialogAgent],
    options: &ContextShow,
) -> Result<String> {
    let mut text = String::new();
    for agent in agents {
        let mut files = project.context(dialog, &agent.id)?;
        let stale = files.iter().filter(|file| file.stale.is_some()).count();
        let head = head(dialog, agent, files.len(), stale);
        files.retain(|file| file.stale.is_some() || !options.stale);
        if files.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}", context.out.paint(&head, Style::Bold));
        let table = if options.timeline { timeline(&files) } else { newest(&files) };
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

fn head(dialog: &DialogId, agent: &DialogAgent, files: usize, stale: usize) -> String {
    let files = plural(files as u64, "file", "files");
    let stale =
        if stale == 0 { String::new() } else { format!(", {stale} changed since it looked") };
    format!("{} in dialog {}: {files}{stale}", describe::agent(agent), short_id(&dialog.0))
}

/// One line for each file, as it is now.
fn newest(files: &[ContextFile]) -> Table {
    let mut table = Table::default();
    let heads = ["FILE", "CAME IN", "READ", "EDITED", "CHANGED BY OTHERS", ""];
    table.row(heads.map(|text| Cell::new(text, Style::Bold)));
    for file in files {
        let (Some(first), Some(last)) = (file.entries.first(), file.entries.last()) else {
            continue;
        };
        let date = |date: Option<Millis>| Cell::new(date.map_or("-".to_owned(), local), Style::Dim);
        let stale = file.stale.as_ref().map(|stale| escape(stale.words(Reader::Person)));
        table.row([
            Cell::new(name(&file.path), Style::Plain),
            Cell::new(happened(first), Style::Plain),
            date(last.dates.read),
            date(last.dates.edit),
            date(last.dates.user),
            Cell::new(stale.unwrap_or_default(), Style::Warn),
        ]);
    }
    table
}

/// One line for each event of a file.
fn timeline(files: &[ContextFile]) -> Table {
    let mut table = Table::default();
    for file in files {
        for entry in &file.entries {
            let change = entry.change.map_or_else(String::new, |change| change.to_string());
            table.row([
                Cell::new(name(&file.path), Style::Plain),
                Cell::new(local(entry.at), Style::Dim),
                Cell::new(happened(entry), Style::Plain),
                Cell::new(change, Style::Mark),
            ]);
        }
        if let Some(stale) = &file.stale {
            let words = escape(stale.words(Reader::Person));
            let path = Cell::new(name(&file.path), Style::Plain);
            table.row([path, Cell::new("now", Style::Dim), Cell::new(words, Style::Warn)]);
        }
    }
    table
}

fn happened(entry: &ContextEntry) -> String {
    match entry.source {
        ContextSource::ReadTool => format!("read{}", lines(entry)),
        ContextSource::FileMentioned => format!("mentioned{}", lines(entry)),
        ContextSource::AgentEdited => "edited".to_owned(),
        ContextSource::UserEdited => match &entry.by {
            Some(who) => format!("changed by {}", escape(who.name(Reader::Person))),
            None => "changed by others".to_owned(),
        },
    }
}

fn lines(entry: &ContextEntry) -> String {
    let range = |lines: &Lines| match (lines.first, lines.last) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}–{last}"),
    };
    let seen = entry.lines.iter().flatten().map(range).collect::<Vec<_>>();
    if seen.is_empty() { String::new() } else { format!(" (lines {})", seen.join(", ")) }
}
