//! `retake checkpoint`: a named state of everything, to come back to.

use anyhow::Result;
use retake_server::door::MakeCheckpoint;
use retake_server::{Masking, documents};

use crate::args::Checkpoint;
use crate::checkpoint_id::short;
use crate::context::{Context, Exit, dialog};
use crate::describe::plural;
use crate::escape::escape;
use crate::output::{Style, warn};

pub(super) fn run(context: &Context, options: &Checkpoint) -> Result<Exit> {
    let project = context.open_to_write()?;
    let dialog = options.dialog.as_deref().map(|text| dialog(&project, text)).transpose()?;
    let message = options.message.clone();
    let made = context.ask(&project, MakeCheckpoint { message, dialog })?;
    if context.json {
        context.out.json(&documents::Checkpoint::new(&made, Masking::Off))?;
        return Ok(Exit::Done);
    }
    let id = short(&project, &made.id)?;
    let shown = context.out.paint(&id, Style::Mark);
    let files = plural(made.files, "file", "files");
    let name = escape(&made.message);
    context.out.text(&format!(
        "Checkpoint {shown} ({name}): {files}.\nCome back to it with `retake restore {id}`.\n"
    ))?;
    if made.unstable > 0 {
        let files = plural(made.unstable, "file is", "files are");
        warn(&format!("{files} not in it as they were; see `retake status`"));
    }
    Ok(Exit::Done)
}
