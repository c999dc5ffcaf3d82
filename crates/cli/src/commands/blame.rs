//! `retake blame`: who wrote each line of a file.

use anyhow::Result;
use retake_engine::model::{Change, ErrorCode, ProjectPath};
use retake_engine::shell::quoted;
use retake_engine::{BlameBody, BlameLine, ChangeFilter, FileBlame, LineOrigin, Project};
use retake_service::{Masking, documents};

use crate::args::{self, LineRangeArg};
use crate::commands::log::actor_style;
use crate::context::{CommandContext, Exit};
use crate::describe::{DialogNames, dialog_names, plural};
use crate::escape::{escape, escape_line};
use crate::failure::ApiError;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;

pub(super) fn run(context: &CommandContext, options: &args::BlameArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let Some(path) = context.resolve_path(&project, &options.file)? else {
        return Err(ApiError::new(
            ErrorCode::NotAFile,
            format!("{} is the project's folder", options.file.display()),
            "name a file of the project",
        )
        .into());
    };
    let Some(blame) = project.blame(&path)? else {
        let is_folder = context.cwd.join(&options.file).is_dir();
        return Err(untracked_failure(&project, &path, is_folder)?.into());
    };
    let lines = select_lines(&path, all_lines(&blame)?, options.lines)?;
    if context.json {
        let document = documents::BlameDocument::new(&blame, lines, Masking::Off);
        context.out.json(&documents::LocatePaths::located(document, project.root()))?;
    } else {
        context.out.paged(
            blame_table(context, &project, &blame, lines)?.render("", context.out).as_bytes(),
        )?;
    }
    Ok(Exit::Done)
}

fn untracked_failure(project: &Project, path: &ProjectPath, is_folder: bool) -> Result<ApiError> {
    let filter =
        ChangeFilter { path: Some(path.clone()), limit: Some(1), ..ChangeFilter::default() };
    let (message, hint) = if is_folder {
        (format!("{path} is a folder"), "name a file in it".to_owned())
    } else if project.changes(&filter)?.is_empty() {
        let message = format!("{path} is not tracked");
        (message, "see `retake status --ignored` for what is not, and why".to_owned())
    } else {
        let hint = log_hint(path);
        (format!("{path} no longer exists"), hint)
    };
    Ok(ApiError::new(ErrorCode::NotTracked, message, hint))
}

fn all_lines(blame: &FileBlame) -> Result<&[BlameLine], ApiError> {
    let path = &blame.path;
    let (code, why) = match &blame.body {
        BlameBody::Lines(lines) => return Ok(lines),
        BlameBody::Binary => (ErrorCode::Binary, format!("{path} is binary and has no lines")),
        BlameBody::TooLarge => {
            (ErrorCode::TooLarge, format!("{path} is too large to be compared by lines"))
        }
        BlameBody::NotCaptured => {
            (ErrorCode::NotCaptured, format!("the content of {path} was not captured"))
        }
    };
    Err(ApiError::new(code, why, log_hint(path)))
}

fn log_hint(path: &ProjectPath) -> String {
    format!("see its changes with `retake log --file {}`", quoted(&path.to_string()))
}

fn select_lines<'a>(
    path: &ProjectPath,
    lines: &'a [BlameLine],
    wanted: Option<LineRangeArg>,
) -> Result<&'a [BlameLine], ApiError> {
    let Some(LineRangeArg { first, last }) = wanted else { return Ok(lines) };
    let end = last.map_or(lines.len(), |last| lines.len().min(last as usize));
    lines.get(first as usize - 1..end).filter(|lines| !lines.is_empty()).ok_or_else(|| {
        let count = plural(lines.len() as u64, "line", "lines");
        ApiError::new(
            ErrorCode::NoSuchLine,
            format!("{path} has no line {first}, only {count}"),
            "choose other lines with -L START,END",
        )
    })
}

fn blame_table(
    context: &CommandContext,
    project: &Project,
    blame: &FileBlame,
    lines: &[BlameLine],
) -> Result<TextTable> {
    let names = dialog_names(project)?;
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::TITLE,
        Column::WHOLE.dropped(2),
        Column::TITLE.dropped(1),
        Column::WHOLE.dropped(3),
        Column::CODE,
    ]);
    let width = lines.last().map_or(0, |line| line.number.to_string().len());
    for line in lines {
        let blamed = line.origin.change().and_then(|id| blame.changes.get(&id));
        let mut row = blamed.map_or_else(
            || unattributed_cells(line.origin),
            |blamed| attributed_cells(context, &names, &blamed.change),
        );
        let text = escape_line(&line.text);
        let space = if text.is_empty() { "" } else { " " };
        row.push(TableCell::new(
            format!("| {:>width$} |{space}{text}", line.number),
            TextStyle::Plain,
        ));
        table.row(row);
    }
    Ok(table)
}

fn unattributed_cells(origin: LineOrigin) -> Vec<TableCell> {
    let word = match origin {
        LineOrigin::Baseline => "before",
        // A change that cannot be read is shown as unseen.
        LineOrigin::Unseen | LineOrigin::Change(_) => "unseen",
    };
    let id = origin.change().map_or("-".to_owned(), |id| id.to_string());
    vec![
        TableCell::new(id, TextStyle::Dim),
        TableCell::new(word, TextStyle::Dim),
        TableCell::empty(),
        TableCell::empty(),
        TableCell::empty(),
    ]
}

fn attributed_cells(
    context: &CommandContext,
    names: &DialogNames,
    change: &Change,
) -> Vec<TableCell> {
    // Turn 0, before the first message, is not shown.
    let turn = change.turn.filter(|turn| *turn > 0);
    let turn = turn.map_or_else(String::new, |turn| format!("turn {turn}"));
    vec![
        TableCell::new(change.id.to_string(), TextStyle::Mark),
        TableCell::new(names.actor(change), actor_style(change.actor)),
        TableCell::new(turn, TextStyle::Dim),
        TableCell::new(change.tool.as_deref().map_or_else(String::new, escape), TextStyle::Plain),
        TableCell::new(context.times.show(change.at), TextStyle::Dim),
    ]
}
