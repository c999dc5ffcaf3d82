//! `retake status`: unreviewed changes of agents, and files that are not protected.

mod short;
mod unprotected;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Actor, AgentId, MAIN_AGENT};
use retake_engine::shell::quoted;
use retake_engine::{
    ChangeFilter, DialogStatus, PendingPath, Project, ProjectStatus, RefreshOutcome,
};
use retake_service::request::RescanProject;
use retake_service::{Masking, documents};

use crate::args;
use crate::commands::recording::recording_line;
use crate::commands::recover;
use crate::context::{CommandContext, Exit};
use crate::describe::{dialog_names, display_path, format_count, format_size, plural, short_id};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable, render_paragraph};
use crate::output::TextStyle;
use unprotected::{render_gaps, render_rule_changes};

/// Maximum paths listed for each agent, and of changes that git took back.
const MAX_LISTED_PATHS: usize = 100;

pub(super) fn run(context: &CommandContext, options: &args::StatusArgs) -> Result<Exit> {
    if options.short {
        return short::run(context);
    }
    let (project, refresh) = if options.ignored {
        context.open_and_scan_with(RescanProject {})?
    } else {
        context.open_and_scan_without_warning()?
    };
    if context.json {
        let (refresh, ignored) = (refresh.as_ref(), options.ignored);
        let (at, masking) = (context.now(), Masking::Off);
        context
            .out
            .json(&documents::StatusDocument::read(&project, at, refresh, ignored, masking)?)?;
        return Ok(Exit::Done);
    }
    let status = project.status()?;
    let interrupted = project.interrupted()?;
    let mut text = String::new();
    if options.ignored {
        render_ignored(context, refresh.as_ref(), &mut text);
    } else {
        let root = context.display_folder(project.root());
        let _ = writeln!(text, "{}", context.out.paint(&format!("Project {root}"), TextStyle::Dim));
        text.push_str(&recording_line(context, Some(&project))?);
        text.push('\n');
        if let Some(interrupted) = &interrupted {
            let headline = recover::headline(interrupted);
            text.push_str(&render_paragraph(&headline, "", TextStyle::Bad, context.out));
            text.push_str("Nothing is undone before `retake recover`.\n\n");
        }
        render_agents(context, &project, &status, &mut text)?;
        render_taken_back(context, &status, &mut text);
        render_stale(context, &project, &mut text)?;
        render_rule_changes(context, &project, &mut text)?;
        render_gaps(context, &status, &mut text);
        text.push_str(&describe_facts(&status, refresh.as_ref()));
    }
    context.out.paged(text.as_bytes())?;
    Ok(Exit::Done)
}

fn render_agents(
    context: &CommandContext,
    project: &Project,
    status: &ProjectStatus,
    text: &mut String,
) -> Result<()> {
    if status.dialogs.is_empty() {
        let by_agents =
            ChangeFilter { actors: vec![Actor::Agent], limit: Some(1), ..ChangeFilter::default() };
        let none = project.changes(&by_agents)?.is_empty();
        text.push_str(if none {
            "No agent has changed anything yet.\n\n"
        } else {
            "Nothing waits for your review.\n\n"
        });
        return Ok(());
    }
    let head = waiting_headline(status);
    let _ = writeln!(text, "{}\n", context.out.paint(&format!("{head}:"), TextStyle::Bold));
    for dialog in &status.dialogs {
        text.push_str(&dialog_lines(context, dialog));
        let is_main = |agent: &Option<AgentId>| agent.as_ref().is_some_and(|id| id.0 == MAIN_AGENT);
        let (main, others): (Vec<_>, Vec<_>) =
            dialog.agents.iter().partition(|(agent, _)| is_main(agent));
        for (agent, rows) in main.into_iter().chain(others) {
            let name = match agent {
                None if dialog.dialog.is_none() => None,
                None => Some("several agents".to_owned()),
                Some(id) if id.0 == MAIN_AGENT => None,
                Some(id) => Some(format!("{} (subagent)", short_id(&id.0))),
            };
            let indent = if name.is_some() { "    " } else { "  " };
            if let Some(name) = name {
                let _ = writeln!(text, "  {}", context.out.paint(&name, TextStyle::Warn));
            }
            text.push_str(&paths_table(rows).render(indent, context.out));
            if rows.len() > MAX_LISTED_PATHS {
                let more = format_count((rows.len() - MAX_LISTED_PATHS) as u64);
                let _ = writeln!(text, "{indent}… and {more} more (see `retake diff --stat`)");
            }
        }
        text.push('\n');
    }
    text.push_str(&next_steps(context));
    Ok(())
}

/// `3 files that agents changed wait for your review`.
pub(super) fn waiting_headline(status: &ProjectStatus) -> String {
    let count = waiting_files(status);
    let files = plural(count, "file", "files");
    let wait = if count == 1 { "waits" } else { "wait" };
    format!("{files} that agents changed {wait} for your review")
}

/// Number of files with changes that wait for review.
pub(super) fn waiting_files(status: &ProjectStatus) -> u64 {
    all_rows(status).map(|row| &row.path).collect::<BTreeSet<_>>().len() as u64
}

/// Lists what a person does with changes that wait.
pub(super) fn next_steps(context: &CommandContext) -> String {
    let mut table = TextTable::default();
    for (command, what) in [
        ("retake diff", "see what agents changed"),
        ("retake review", "keep it or take it back place by place"),
        ("retake undo", "take back the last turn; your own edits stay"),
        ("retake approve", "keep it"),
    ] {
        table.row([TableCell::new(command, TextStyle::Mark), TableCell::new(what, TextStyle::Dim)]);
    }
    table.render("  ", context.out) + "\n"
}

/// Lists changes of agents that git took back.
fn render_taken_back(context: &CommandContext, status: &ProjectStatus, text: &mut String) {
    if status.taken_back_by_git.is_empty() {
        return;
    }
    let head = "Taken back by git, and in no file now; it counts again if git brings it back:";
    let _ = writeln!(text, "{}\n", context.out.paint(head, TextStyle::Bold));
    text.push_str(&paths_table(&status.taken_back_by_git).render("  ", context.out));
    if let Some(more) = status.taken_back_by_git.len().checked_sub(MAX_LISTED_PATHS + 1) {
        let _ = writeln!(text, "  … and {} more (all in --json)", more + 1);
    }
    text.push('\n');
}

fn all_rows(status: &ProjectStatus) -> impl Iterator<Item = &PendingPath> {
    status.dialogs.iter().flat_map(|dialog| &dialog.agents).flat_map(|(_, rows)| rows)
}

/// The dialog: its name, its title and its last activity.
fn dialog_lines(context: &CommandContext, status: &DialogStatus) -> String {
    let mut table = TextTable::new([Column::WHOLE, Column::TITLE, Column::WHOLE]);
    match &status.dialog {
        None => table.row([
            TableCell::new("shared", TextStyle::Mark),
            TableCell::new(
                "several dialogs were at work, and any of them can have done it",
                TextStyle::Plain,
            ),
        ]),
        Some(dialog) => table.row([
            TableCell::new(escape(&dialog.name), TextStyle::Mark),
            TableCell::new(quoted_title(dialog.title.as_deref()), TextStyle::Plain),
            TableCell::new(context.times.show(dialog.last_at), TextStyle::Dim),
        ]),
    }
    table.render("", context.out)
}

fn quoted_title(title: Option<&str>) -> String {
    title.map_or_else(String::new, |title| format!("“{}”", escape(title)))
}

fn paths_table(rows: &[PendingPath]) -> TextTable {
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::PATH,
        Column::WHOLE,
        Column::WHOLE,
        Column::WHOLE.dropped(1),
    ]);
    for row in rows.iter().take(MAX_LISTED_PATHS) {
        let (letter, style) = status_letter(row);
        table.row([
            TableCell::new(letter, style),
            TableCell::new(display_path(&row.path), TextStyle::Plain),
            TableCell::right(line_count('+', row.added), TextStyle::Good),
            TableCell::right(line_count('-', row.removed), TextStyle::Bad),
            TableCell::new(describe_ids(row), TextStyle::Dim),
        ]);
    }
    table
}

/// The changes of a path: all of them if they are two, else the first and the last.
fn describe_ids(row: &PendingPath) -> String {
    match row.changes {
        1 => row.first.to_string(),
        2 => format!("{} {}", row.first, row.last),
        count => format!("{} … {} ({})", row.first, row.last, format_count(count)),
    }
}

/// As git has it: added, modified, deleted, renamed.
fn status_letter(row: &PendingPath) -> (&'static str, TextStyle) {
    match documents::net_status(row) {
        None => ("·", TextStyle::Dim),
        Some("deleted") => ("D", TextStyle::Bad),
        Some("renamed") => ("R", TextStyle::Mark),
        Some("added") => ("A", TextStyle::Good),
        Some(_) => ("M", TextStyle::Warn),
    }
}

/// A count of lines, where there are lines.
fn line_count(sign: char, count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| format!("{sign}{}", format_count(count)))
}

/// Lists files that changed after an active agent read them.
fn render_stale(context: &CommandContext, project: &Project, text: &mut String) -> Result<()> {
    let agents = project.stale_agents(context.now().saturating_sub(documents::ACTIVE_WINDOW_MS))?;
    let names = dialog_names(project)?;
    for stale in &agents {
        let dialog = names.dialog(&stale.dialog);
        let agent = names.agent(&stale.dialog, Some(&stale.agent.id));
        let files = plural(stale.files as u64, "changed file", "changed files");
        let command = format!("retake context --stale --dialog {}", quoted(&dialog));
        let line = format!("{agent} has not seen {files}; see `{command}`");
        text.push_str(&render_paragraph(&line, "", TextStyle::Warn, context.out));
    }
    if !agents.is_empty() {
        text.push('\n');
    }
    Ok(())
}

fn describe_facts(status: &ProjectStatus, refresh: Option<&RefreshOutcome>) -> String {
    let mut facts = vec![
        format!("{} tracked", plural(status.files, "file", "files")),
        format!("{} on record", plural(status.changes, "change", "changes")),
        format!("record {}", format_size(status.store_bytes)),
    ];
    let mut add = |count: u64, one: &str, many: &str| {
        if count > 0 {
            facts.push(plural(count, one, many));
        }
    };
    if let Some(refresh) = refresh {
        add(refresh.ignored_count, "name ignored", "names ignored");
        add(refresh.scratch, "scratch file left out", "scratch files left out");
        let nested = refresh.nested_repositories.len() as u64;
        add(nested, "nested repository", "nested repositories");
    }
    add(status.spooled as u64, "event waits", "events wait");
    facts.join(" · ") + "\n"
}

fn render_ignored(context: &CommandContext, refresh: Option<&RefreshOutcome>, text: &mut String) {
    let Some(refresh) = refresh else { return };
    if refresh.ignored.is_empty() {
        text.push_str("Nothing is ignored.\n");
        return;
    }
    let mut table = TextTable::new([Column::PATH, Column::WRAPPED]);
    for ignored in &refresh.ignored {
        let slash = if ignored.is_dir { "/" } else { "" };
        let by = TableCell::new(escape(&ignored.by), TextStyle::Dim);
        table.row([TableCell::new(display_path(&ignored.path) + slash, TextStyle::Plain), by]);
    }
    text.push_str(&table.render("", context.out));
    let more = refresh.ignored_count.saturating_sub(refresh.ignored.len() as u64);
    if more > 0 {
        let _ = writeln!(text, "… and {} more", format_count(more));
    }
}
