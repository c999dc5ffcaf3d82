//! `retake checkpoints`: the states that can be restored.

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::Checkpoint;
use retake_server::{Masking, documents};

use crate::args::Checkpoints;
use crate::checkpoint_id::short;
use crate::context::{Context, Exit, dialog};
use crate::describe::{plural, short_id};
use crate::escape::escape;
use crate::output::Style;
use crate::table::{Cell, Table};
use crate::time::local;

pub(super) fn run(context: &Context, options: &Checkpoints) -> Result<Exit> {
    let project = context.open()?;
    let dialog = options.dialog.as_deref().map(|text| dialog(&project, text)).transpose()?;
    let limit = options.limit.unwrap_or(i64::MAX as usize).min(i64::MAX as usize);
    let checkpoints = project.checkpoints(dialog.as_ref(), limit)?;
    if context.json {
        context.out.json(&documents::Checkpoints::new(&checkpoints, Masking::Off))?;
    } else if checkpoints.is_empty() {
        context.out.text("There is no checkpoint yet; `retake checkpoint` makes one.\n")?;
    } else {
        let table = table(&project, &checkpoints)?;
        context.out.paged(table.render("", context.out.colour).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn table(project: &Project, checkpoints: &[Checkpoint]) -> Result<Table> {
    let mut table = Table::default();
    for one in checkpoints {
        let session =
            one.session.map_or_else(|| "-".to_owned(), |number| format!("session_{number}"));
        let dialog = one.dialog.as_ref().map_or_else(|| "-".to_owned(), |id| short_id(&id.0));
        table.row([
            Cell::new(short(project, &one.id)?, Style::Mark),
            Cell::new(local(one.at), Style::Dim),
            Cell::new(one.kind.as_str(), Style::Plain),
            Cell::new(dialog, Style::Plain),
            Cell::new(session, Style::Plain),
            Cell::new(named(one), Style::Plain),
        ]);
    }
    Ok(table)
}

fn named(checkpoint: &Checkpoint) -> String {
    let name = escape(&checkpoint.message);
    match checkpoint.unstable {
        0 => name,
        count => format!("{name} (unstable: {} not captured)", plural(count, "file", "files")),
    }
}
