//! `retake session`: what a dialog did since its last approval.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{DialogId, Side, WorkSession};
use retake_engine::{SessionStatus, VerbError};
use retake_server::Masking;
use retake_server::documents::{self, ChangedFile, WorkSessions};

use crate::args::Session;
use crate::commands::whose::{latest_at_work, waiting};
use crate::context::{Context, Exit};
use crate::describe::{name, plural, short_id};
use crate::escape::escape;
use crate::output::Style;
use crate::table::{Cell, Table};
use crate::time::local;

pub(super) fn run(context: &Context, options: &Session) -> Result<Exit> {
    let (project, _) = context.open_and_look()?;
    let dialog = match waiting(&project, options.dialog.as_deref()) {
        Err(error) if matches!(error.downcast_ref(), Some(VerbError::NoDialog)) => {
            return no_dialog(context, options.all);
        }
        Ok(None) => latest_at_work(&project)?,
        Ok(Some(dialog)) => dialog,
        Err(error) => return Err(error),
    };
    if options.all {
        return sessions(context, &dialog, &project.store().work_sessions(&dialog)?);
    }
    let status = project.session_status(&dialog)?;
    let mut files = Vec::new();
    for file in &status.changed_files {
        files.push(ChangedFile::read(&project, file, Masking::Off)?);
    }
    if context.json {
        context.out.json(&documents::SessionStatus::new(&status, files))?;
    } else {
        context.out.paged(told(context, &status, &files).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn no_dialog(context: &Context, all: bool) -> Result<Exit> {
    if !context.json {
        context.out.text("No agent has worked in this project yet.\n")?;
    } else if all {
        context.out.json(&WorkSessions::default())?;
    } else {
        context.out.json(&documents::SessionStatus::default())?;
    }
    Ok(Exit::Done)
}

fn told(context: &Context, status: &SessionStatus, files: &[ChangedFile]) -> String {
    let dialog = short_id(&status.dialog.0);
    let session = status.active.as_ref().map_or_else(|| "no session".to_owned(), WorkSession::name);
    let approved = status.last_approved_at.map_or_else(
        || "nothing is approved yet".to_owned(),
        |at| format!("last approved {}", local(at)),
    );
    let head = format!("Dialog {dialog}, {session} ({approved})");
    let mut text = context.out.paint(&head, Style::Bold) + "\n";
    if files.is_empty() {
        text.push_str("Nothing that it did waits for approval.\n");
        return text;
    }
    let mut table = Table::default();
    for (file, changed) in files.iter().zip(&status.changed_files) {
        let (letter, style) = match file.status.as_str() {
            "added" => ("A", Style::Good),
            "deleted" => ("D", Style::Bad),
            _ => ("M", Style::Warn),
        };
        table.row([
            Cell::new(letter, style),
            Cell::new(name(&changed.path), Style::Plain),
            Cell::right(format!("+{}", file.additions), Style::Good),
            Cell::right(format!("-{}", file.deletions), Style::Bad),
            Cell::new(remark(file, &changed.base), Style::Dim),
        ]);
    }
    text.push_str(&table.render("  ", context.out.colour));
    let count = plural(files.len() as u64, "file", "files");
    let _ = writeln!(text, "{count}; `retake approve` keeps this, `retake reset` takes it back.");
    text
}

fn remark(file: &ChangedFile, base: &Side) -> &'static str {
    match (file.is_binary, file.is_too_large, base) {
        (_, _, Side::Unknown) => "what it was before is not known",
        (true, _, _) => "binary",
        (_, true, _) => "too large to show",
        _ => "",
    }
}

fn sessions(context: &Context, dialog: &DialogId, sessions: &[WorkSession]) -> Result<Exit> {
    if context.json {
        context.out.json(&WorkSessions::new(dialog, sessions, Masking::Off))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::default();
    for session in sessions {
        let commit = session.approved_commit.map(|id| id.to_string()[..8].to_owned());
        table.row([
            Cell::new(session.name(), Style::Mark),
            Cell::new(session.state.as_str(), Style::Plain),
            Cell::new(local(session.opened_at), Style::Dim),
            Cell::new(session.closed_at.map_or_else(|| "-".to_owned(), local), Style::Dim),
            Cell::new(commit.unwrap_or_else(|| "-".to_owned()), Style::Mark),
            Cell::new(session.message.as_deref().map_or_else(String::new, escape), Style::Plain),
        ]);
    }
    context.out.paged(table.render("", context.out.colour).as_bytes())?;
    Ok(Exit::Done)
}
