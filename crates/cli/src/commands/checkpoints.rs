//! `retake checkpoints`: the states that can be restored.

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::{Checkpoint, CheckpointKind, title_of};
use retake_service::{Masking, documents};

use crate::args::CheckpointsArgs;
use crate::checkpoint_id::short_checkpoint_id;
use crate::context::{CommandContext, Exit, resolve_dialog};
use crate::describe::{dialog_names, plural};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;

/// Maximum characters of the name of a checkpoint before a message.
const MAX_NAME_CHARS: usize = 70;

pub(super) fn run(context: &CommandContext, options: &CheckpointsArgs) -> Result<Exit> {
    let project = context.open()?;
    let dialog =
        options.dialog.as_deref().map(|text| resolve_dialog(&project, text)).transpose()?;
    let limit = options.limit.unwrap_or(i64::MAX as usize).min(i64::MAX as usize);
    let checkpoints = project.checkpoints(dialog.as_ref(), limit)?;
    if context.json {
        context.out.json(&documents::CheckpointList::new(&checkpoints, Masking::Off))?;
    } else if checkpoints.is_empty() {
        context.out.text("There is no checkpoint yet; `retake checkpoint` makes one.\n")?;
    } else {
        let table = table(context, &project, &checkpoints)?;
        context.out.paged(table.render("", context.out).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn table(
    context: &CommandContext,
    project: &Project,
    checkpoints: &[Checkpoint],
) -> Result<TextTable> {
    let names = dialog_names(project)?;
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE,
        Column::WHOLE.dropped(3),
        Column::WHOLE.dropped(4),
        Column::WHOLE.dropped(1),
        Column::TITLE.at_least(36),
        Column::WHOLE.dropped(2),
    ])
    .with_head(["CHECKPOINT", "MADE", "KIND", "DIALOG", "SESSION", "NAME", "NOT CAPTURED"]);
    for one in checkpoints {
        let session =
            one.session.map_or_else(|| "-".to_owned(), |number| format!("session_{number}"));
        let dialog = one.dialog.as_ref().map_or_else(|| "-".to_owned(), |id| names.dialog(id));
        table.row([
            TableCell::new(short_checkpoint_id(project, &one.id)?, TextStyle::Mark),
            TableCell::new(context.times.show(one.at), TextStyle::Dim),
            TableCell::new(one.kind.as_str().replace('_', " "), TextStyle::Plain),
            TableCell::new(dialog, TextStyle::Plain),
            TableCell::new(session, TextStyle::Plain),
            TableCell::new(describe_name(one), TextStyle::Plain),
            TableCell::new(describe_unstable(one), TextStyle::Warn),
        ]);
    }
    Ok(table)
}

fn describe_name(checkpoint: &Checkpoint) -> String {
    match checkpoint.kind {
        // It has the beginning of a message, which can end in a word.
        CheckpointKind::BeforeMessage => escape(title_of(&checkpoint.message, MAX_NAME_CHARS)),
        _ => escape(&checkpoint.message),
    }
}

/// The files that could not be captured.
fn describe_unstable(checkpoint: &Checkpoint) -> String {
    match checkpoint.unstable {
        0 => String::new(),
        count => plural(count, "file", "files"),
    }
}
