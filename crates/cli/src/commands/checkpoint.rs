//! `retake checkpoint`: records the state of all files under a name, to be restored later.

use anyhow::Result;
use retake_service::request::MakeCheckpoint;
use retake_service::{Masking, documents};

use crate::args::CheckpointArgs;
use crate::checkpoint_id::short_new_checkpoint_id;
use crate::context::{CommandContext, Exit, resolve_dialog};
use crate::describe::plural;
use crate::escape::escape;
use crate::output::{TextStyle, warn};

pub(super) fn run(context: &CommandContext, options: &CheckpointArgs) -> Result<Exit> {
    let message = options.message.clone();
    let made = match &options.dialog {
        None => context.run_request_in_cwd(&MakeCheckpoint { message, dialog: None })?,
        Some(text) => {
            let project = context.open_to_write()?;
            let dialog = Some(resolve_dialog(&project, text)?);
            context.run_request(&project, MakeCheckpoint { message, dialog })?
        }
    };
    let id = short_new_checkpoint_id(&made);
    let made = made.checkpoint;
    if context.json {
        context.out.json(&documents::CheckpointDocument::new(&made, Masking::Off))?;
        return Ok(Exit::Done);
    }
    let shown = context.out.paint(&id, TextStyle::Mark);
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
