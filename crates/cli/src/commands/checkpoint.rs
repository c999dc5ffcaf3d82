//! `retake checkpoint`: records the state of all files under a name, to be restored later.

use anyhow::Result;
use retake_server::door::MakeCheckpoint;
use retake_server::{Masking, documents};

use crate::args::Checkpoint;
use crate::checkpoint_id::short_of_made;
use crate::context::{Context, Exit, dialog};
use crate::describe::plural;
use crate::escape::escape;
use crate::output::{Style, warn};

pub(super) fn run(context: &Context, options: &Checkpoint) -> Result<Exit> {
    let message = options.message.clone();
    let made = match &options.dialog {
        None => context.ask_here(&MakeCheckpoint { message, dialog: None })?,
        Some(text) => {
            let project = context.open_to_write()?;
            let dialog = Some(dialog(&project, text)?);
            context.ask(&project, MakeCheckpoint { message, dialog })?
        }
    };
    let id = short_of_made(&made);
    let made = made.checkpoint;
    if context.json {
        context.out.json(&documents::Checkpoint::new(&made, Masking::Off))?;
        return Ok(Exit::Done);
    }
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
