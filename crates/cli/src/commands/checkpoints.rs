//! `retake checkpoints`: the states that can be restored.

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::Checkpoint;
use retake_service::{Masking, documents};

use crate::args::CheckpointsArgs;
use crate::checkpoint_id::short_checkpoint_id;
use crate::context::{CommandContext, Exit, resolve_dialog};
use crate::describe::{plural, short_id};
use crate::escape::escape;
use crate::output::TextStyle;
use crate::table::{TableCell, TextTable};
use crate::time::format_local;

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
        let table = table(&project, &checkpoints)?;
        context.out.paged(table.render("", context.out.colour).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn table(project: &Project, checkpoints: &[Checkpoint]) -> Result<TextTable> {
    let mut table = TextTable::default();
    for one in checkpoints {
        let session =
            one.session.map_or_else(|| "-".to_owned(), |number| format!("session_{number}"));
        let dialog = one.dialog.as_ref().map_or_else(|| "-".to_owned(), |id| short_id(&id.0));
        table.row([
            TableCell::new(short_checkpoint_id(project, &one.id)?, TextStyle::Mark),
            TableCell::new(format_local(one.at), TextStyle::Dim),
            TableCell::new(one.kind.as_str(), TextStyle::Plain),
            TableCell::new(dialog, TextStyle::Plain),
            TableCell::new(session, TextStyle::Plain),
            TableCell::new(describe_name(one), TextStyle::Plain),
        ]);
    }
    Ok(table)
}

fn describe_name(checkpoint: &Checkpoint) -> String {
    let name = escape(&checkpoint.message);
    match checkpoint.unstable {
        0 => name,
        count => format!("{name} (unstable: {} not captured)", plural(count, "file", "files")),
    }
}
