//! The list of comments.

use anyhow::Result;
use retake_engine::LocatedComment;
use retake_engine::model::{CommentKind, CommentState, ReviewComment};
use retake_service::Masking;
use retake_service::documents::{CommentDocument, CommentList};

use crate::context::{CommandContext, Exit};
use crate::describe::{DialogNames, dialog_names, display_path};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;

pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let reader = context.comment_reader();
    let mut comments = project.comments()?;
    comments.retain(|located| reader.sees(&located.comment));
    if context.json {
        let document = |one: &LocatedComment| CommentDocument::located(one, Masking::Off);
        context.out.json(&CommentList { comments: comments.iter().map(document).collect() })?;
        return Ok(Exit::Done);
    }
    if comments.is_empty() {
        let text = "There are no comments. `retake comment add FILE:LINE TEXT` writes one, \
                    `retake review -p` asks at each hunk.\n";
        context.out.text(text)?;
        return Ok(Exit::Done);
    }
    let names = dialog_names(&project)?;
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE,
        Column::WHOLE,
        Column::PATH.at_least(16),
        Column::WRAPPED.at_least(20),
    ])
    .with_head(["N", "STATE", "FOR", "PLACE", "TEXT"]);
    for located in &comments {
        push_comment(&mut table, &names, located);
    }
    context.out.paged(table.render("", context.out).as_bytes())?;
    Ok(Exit::Done)
}

fn push_comment(table: &mut TextTable, names: &DialogNames, located: &LocatedComment) {
    let comment = &located.comment;
    let dialog = comment.dialog.as_ref().map_or_else(|| "-".to_owned(), |id| names.dialog(id));
    let (state, style) = match (comment.state, comment.heard) {
        (CommentState::Draft, _) => ("draft", TextStyle::Warn),
        (CommentState::Sent, None) => ("sent", TextStyle::Plain),
        (CommentState::Sent, Some(_)) => ("heard", TextStyle::Plain),
        (CommentState::Answered, _) => ("answered", TextStyle::Good),
        (CommentState::Resolved, _) => ("settled", TextStyle::Dim),
    };
    table.row([
        TableCell::right(comment.id.to_string(), TextStyle::Mark),
        TableCell::new(state, style),
        TableCell::new(dialog, TextStyle::Plain),
        TableCell::new(located_place(located), TextStyle::Plain),
        TableCell::new(one_line(&comment.text, comment.kind), TextStyle::Plain),
    ]);
    if let Some(answer) = &comment.answer {
        let answer = format!("→ {}", one_line(answer, CommentKind::Order));
        let mut cells: Vec<_> = (0..4).map(|_| TableCell::empty()).collect();
        cells.push(TableCell::new(answer, TextStyle::Good));
        table.row(cells);
    }
}

/// Foreign words on one line.
fn one_line(text: &str, kind: CommentKind) -> String {
    let words: Vec<_> = text.split_whitespace().map(escape).collect();
    let question = if kind == CommentKind::Question { "(question) " } else { "" };
    format!("{question}{}", words.join(" "))
}

/// Where the lines of a comment are now.
fn located_place(located: &LocatedComment) -> String {
    let Some(path) = &located.comment.path else { return "the work".to_owned() };
    let path = display_path(path);
    match (&located.lines, &located.comment.anchor) {
        (Some(lines), _) => format!("{path}:{}", line_range(lines.start as u64 + 1, lines.len())),
        (None, Some(anchor)) if anchor.removed => format!("{path} (removed lines)"),
        (None, Some(_)) => format!("{path} (its lines are gone)"),
        (None, None) => path,
    }
}

/// What a comment is about, as it was made.
pub(super) fn describe_place(comment: &ReviewComment) -> String {
    let Some(path) = &comment.path else { return "the work as a whole".to_owned() };
    let path = display_path(path);
    match &comment.anchor {
        Some(anchor) if anchor.removed => format!("removed lines of {path}"),
        Some(anchor) => {
            format!("{path}:{}", line_range(u64::from(anchor.first_line), anchor.lines.len()))
        }
        None => path,
    }
}

fn line_range(first: u64, count: usize) -> String {
    match count as u64 {
        0 | 1 => first.to_string(),
        count => format!("{first}-{}", first + count - 1),
    }
}
