//! `retake session`: what a dialog did since its last approval.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{DialogId, PathState, WorkSession};
use retake_engine::{OperationError, Project, SessionStatus};
use retake_service::Masking;
use retake_service::documents::{self, ChangedFile, WorkSessionList};

use crate::args::SessionArgs;
use crate::commands::dialog_choice::{dialog_to_approve, latest_dialog_with_changes};
use crate::context::{CommandContext, Exit};
use crate::describe::{display_path, format_count, plural};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;

pub(super) fn run(context: &CommandContext, options: &SessionArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let dialog = match dialog_to_approve(context, &project, options.dialog.as_deref()) {
        Err(error) if matches!(error.downcast_ref(), Some(OperationError::NoDialog)) => {
            return report_no_dialog(context, options.all);
        }
        Ok(None) => latest_dialog_with_changes(&project)?,
        Ok(Some(dialog)) => dialog,
        Err(error) => return Err(error),
    };
    if options.all {
        return show_sessions(context, &dialog, &project.work_sessions(&dialog)?);
    }
    let status = project.session_status(&dialog)?;
    let mut files = Vec::new();
    for file in &status.changed_files {
        files.push(ChangedFile::read(&project, file, Masking::Off)?);
    }
    if context.json {
        context.out.json(&documents::SessionStatusDocument::new(&status, files))?;
    } else {
        context.out.paged(describe_session(context, &project, &status, &files)?.as_bytes())?;
    }
    Ok(Exit::Done)
}

fn report_no_dialog(context: &CommandContext, all: bool) -> Result<Exit> {
    if !context.json {
        context.out.text("No agent has worked in this project yet.\n")?;
    } else if all {
        context.out.json(&WorkSessionList::default())?;
    } else {
        context.out.json(&documents::SessionStatusDocument::default())?;
    }
    Ok(Exit::Done)
}

fn describe_session(
    context: &CommandContext,
    project: &Project,
    status: &SessionStatus,
    files: &[ChangedFile],
) -> Result<String> {
    let dialog = escape(project.dialog_name(&status.dialog)?);
    let session = status.active.as_ref().map_or_else(|| "no session".to_owned(), WorkSession::name);
    let approved = status.last_approved_at.map_or_else(
        || "nothing is approved yet".to_owned(),
        |at| format!("last approved {}", context.times.show(at)),
    );
    let head = format!("{dialog}, {session} ({approved})");
    let mut text = context.out.paint(&head, TextStyle::Bold) + "\n";
    if files.is_empty() {
        text.push_str("Nothing that it did waits for approval.\n");
        return Ok(text);
    }
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::PATH,
        Column::WHOLE,
        Column::WHOLE,
        Column::TITLE.dropped(1),
    ]);
    for (file, changed) in files.iter().zip(&status.changed_files) {
        let (letter, style) = match file.status.as_str() {
            "added" => ("A", TextStyle::Good),
            "deleted" => ("D", TextStyle::Bad),
            _ => ("M", TextStyle::Warn),
        };
        table.row([
            TableCell::new(letter, style),
            TableCell::new(display_path(&changed.path), TextStyle::Plain),
            TableCell::right(format!("+{}", format_count(file.additions)), TextStyle::Good),
            TableCell::right(format!("-{}", format_count(file.deletions)), TextStyle::Bad),
            TableCell::new(remark(file, &changed.base), TextStyle::Dim),
        ]);
    }
    text.push_str(&table.render("  ", context.out));
    let count = plural(files.len() as u64, "file", "files");
    let _ = writeln!(text, "{count}; `retake approve` keeps this, `retake reset` takes it back.");
    Ok(text)
}

fn remark(file: &ChangedFile, base: &PathState) -> &'static str {
    match (file.is_binary, file.is_too_large, base) {
        (_, _, PathState::Unknown) => "what it was before is not known",
        (true, _, _) => "binary",
        (_, true, _) => "too large to show",
        _ => "",
    }
}

fn show_sessions(
    context: &CommandContext,
    dialog: &DialogId,
    sessions: &[WorkSession],
) -> Result<Exit> {
    if context.json {
        context.out.json(&WorkSessionList::new(dialog, sessions, Masking::Off))?;
        return Ok(Exit::Done);
    }
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE,
        Column::WHOLE.dropped(1),
        Column::WHOLE.dropped(2),
        Column::WHOLE,
        Column::TITLE,
    ])
    .with_head(["SESSION", "STATE", "OPENED", "CLOSED", "COMMIT", "MESSAGE"]);
    for session in sessions {
        let commit = session.approved_commit.map(|id| id.to_string()[..8].to_owned());
        table.row([
            TableCell::new(session.name(), TextStyle::Mark),
            TableCell::new(session.state.as_str(), TextStyle::Plain),
            TableCell::new(context.times.show(session.opened_at), TextStyle::Dim),
            TableCell::new(context.times.show_optional(session.closed_at), TextStyle::Dim),
            TableCell::new(commit.unwrap_or_else(|| "-".to_owned()), TextStyle::Mark),
            TableCell::new(
                session.message.as_deref().map_or_else(String::new, escape),
                TextStyle::Plain,
            ),
        ]);
    }
    context.out.paged(table.render("", context.out).as_bytes())?;
    Ok(Exit::Done)
}
