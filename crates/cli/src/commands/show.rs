//! `retake show`: everything about one change, or the exact content of one side.

use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use retake_engine::model::{Change, ErrorCode, Hunk, PathState};
use retake_engine::{ChangeFilter, Project};
use retake_service::Masking;
use retake_service::documents::{ContentDocument, DiffForm, ShownChange, SideContent, octal};

use crate::args::{ChangeOrPathArg, ShowArgs};
use crate::commands::review::describe_rejected_before;
use crate::context::{CommandContext, Exit};
use crate::describe::{self, describe_confidence, dialog_names, first_line, plural};
use crate::escape::{escape, escape_text};
use crate::failure::ApiError;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::{Output, TextStyle};
use crate::patch::{DiffPrinter, DiffStyle};
use crate::time::format_local;

/// Bytes searched for binary content.
const BINARY_PROBE_BYTES: usize = 8000;

pub(super) fn run(context: &CommandContext, options: &ShowArgs) -> Result<Exit> {
    let (project, change) = match &options.what {
        ChangeOrPathArg::Change(id) => {
            let project = context.open()?;
            let change = find_change(&project, *id)?;
            (project, change)
        }
        ChangeOrPathArg::Path(path) => {
            let (project, _) = context.open_and_scan()?;
            let change = newest_change(context, &project, path)?;
            (project, change)
        }
    };
    if options.before || options.after {
        let side = if options.before { &change.before } else { &change.after };
        let when = if options.before { "before" } else { "after" };
        return print_content(context, &project, &change, side, when, options.raw);
    }
    if context.json {
        let shown = ShownChange::read(&project, &change, DiffForm::Unified, Masking::Off)?;
        context.out.json(&shown)?;
        return Ok(Exit::Done);
    }
    let diff = project.diff(&change)?;
    let style = DiffStyle { readable: !options.raw, colour: context.out.colour };
    let mut text = facts_table(context, &project, &change)?.render("", context.out).into_bytes();
    text.push(b'\n');
    text.extend(DiffPrinter::new(&project, style).render_file(&diff)?);
    context.out.paged(&text)?;
    Ok(Exit::Done)
}

/// The newest change of a file.
fn newest_change(context: &CommandContext, project: &Project, path: &Path) -> Result<Change> {
    let place = context.resolve_path(project, path)?;
    let newest = ChangeFilter { path: place, limit: Some(1), ..ChangeFilter::default() };
    let unknown = || {
        let message = format!("no change of {} is on record", path.display());
        ApiError::new(ErrorCode::UnknownChange, message, "see `retake log --all`")
    };
    Ok(project.changes(&newest)?.pop().ok_or_else(unknown)?)
}

/// The change with this id.
pub(super) fn find_change(project: &Project, id: retake_engine::model::ChangeId) -> Result<Change> {
    let unknown = || {
        ApiError::new(
            ErrorCode::UnknownChange,
            format!("there is no change {id} in this project"),
            "see `retake log`",
        )
    };
    Ok(project.change(id)?.ok_or_else(unknown)?)
}

fn facts_table(context: &CommandContext, project: &Project, change: &Change) -> Result<TextTable> {
    let mut table = TextTable::new([Column::WHOLE, Column::WRAPPED]);
    let names = dialog_names(project)?;
    let mut fact = |name: &str, value: String| {
        table.row([TableCell::new(name, TextStyle::Dim), TableCell::new(value, TextStyle::Plain)]);
    };
    fact("change", change.id.to_string());
    fact("path", describe::describe_path(change));
    fact("what", format!("{} by {}", change.change_type, change.method));
    let (when, date) = (context.times.show(change.at), format_local(change.at));
    fact("when", if when == date { date } else { format!("{when} ({date})") });
    let why = describe_confidence(change.confidence);
    fact("actor", format!("{} ({}: {why})", names.actor(change), change.confidence));
    if let Some(dialog) = &change.dialog {
        let name = names.dialog(dialog);
        let id = escape(&dialog.0);
        fact("dialog", if name == id { id } else { format!("{name} ({id})") });
    }
    if let Some(agent) = &change.agent {
        fact("agent", escape(&agent.0));
    }
    if let Some(call) = &change.call {
        let tool =
            change.tool.as_deref().map_or_else(String::new, |tool| format!(" ({})", escape(tool)));
        fact("call", escape(&call.0) + &tool);
    }
    if let Some(model) = &change.model {
        fact("model", escape(model));
    }
    if change.candidates.len() > 1 {
        for call in &change.candidates {
            let agent = names.agent(&call.dialog, Some(&call.agent));
            fact("candidate", format!("{agent} {} ({})", escape(&call.call.0), escape(&call.tool)));
        }
    }
    fact("before", describe_side(&change.before));
    fact("after", describe_side(&change.after));
    if let Some(lines) = &change.lines {
        let places = plural(lines.hunks.len() as u64, "place", "places");
        let (added, removed) = describe::line_counts(change);
        fact("lines", format!("{added} {removed} in {places}"));
        for (at, line) in describe_hunks(&lines.hunks).lines().enumerate() {
            fact(if at == 0 { "hunks" } else { "" }, line.to_owned());
        }
    }
    if let Some(joins) = change.joins {
        fact("belongs to", joins.to_string());
    }
    // Only agents' changes are reviewed; that another was taken back is worth showing.
    if change.review_status().is_some() || !change.is_effective() {
        fact("status", change.status.to_string());
    }
    for operation in project.rejections_repeated_by(change.id)? {
        fact("again", describe_rejected_before(project, operation)?);
    }
    if let Some(message) = project.message_for_change(change)? {
        fact("message", escape(first_line(&message.text)));
    }
    if let Some(said) = project.agent_text_for_change(change)? {
        fact("said", escape(first_line(&said)));
    }
    Ok(table)
}

/// The numbers by which other commands name the places of a change; needless for a single one.
fn describe_hunks(hunks: &[Hunk]) -> String {
    let mut table = TextTable::default();
    for (at, hunk) in hunks.iter().enumerate().filter(|_| hunks.len() > 1) {
        table.row([
            TableCell::right((at + 1).to_string(), TextStyle::Plain),
            TableCell::new(format!("at line {}", hunk.new_start), TextStyle::Plain),
            TableCell::right(format!("+{}", hunk.new_lines), TextStyle::Plain),
            TableCell::right(format!("-{}", hunk.old_lines), TextStyle::Plain),
        ]);
    }
    table.render("", Output::PLAIN)
}

fn describe_side(side: &PathState) -> String {
    match side {
        PathState::Absent => "did not exist".to_owned(),
        PathState::Unknown => "was not captured".to_owned(),
        PathState::Known(state) => {
            let mode = octal(state.mode);
            let kind =
                if state.kind == retake_engine::model::FileKind::Link { "link" } else { "file" };
            format!("{} {kind} {mode} {}", state.oid, plural(state.size, "byte", "bytes"))
        }
    }
}

fn print_content(
    context: &CommandContext,
    project: &Project,
    change: &Change,
    side: &PathState,
    when: &str,
    raw: bool,
) -> Result<Exit> {
    let PathState::Known(state) = side else {
        let (code, what) = match side {
            PathState::Absent => (ErrorCode::DidNotExist, "did not exist"),
            _ => (ErrorCode::NotCaptured, "was not captured"),
        };
        let message = format!("{} {what} {when} {}", change.path, change.id);
        return Err(
            ApiError::new(code, message, "see `retake show` without --before and --after").into()
        );
    };
    if context.json {
        let bytes = project.read_object(&state.oid)?;
        context.out.json(&SideContent {
            change: change.id.to_string(),
            side: when.to_owned(),
            content: ContentDocument::new(&change.path, state, &bytes, Masking::Off),
        })?;
    } else if context.out.terminal && !raw {
        let bytes = project.read_object(&state.oid)?;
        if bytes[..bytes.len().min(BINARY_PROBE_BYTES)].contains(&0) {
            let message = format!("{} is binary and would disturb the terminal", change.path);
            return Err(ApiError::new(
                ErrorCode::Binary,
                message,
                "send it to a file, or pass --raw",
            )
            .into());
        }
        context.out.paged(escape_text(&bytes).as_bytes())?;
    } else {
        // Streamed: a stored file may be larger than the memory.
        let mut stdout = context.out.raw();
        project.read_object_into(&state.oid, &mut stdout)?;
        stdout.flush()?;
    }
    Ok(Exit::Done)
}
