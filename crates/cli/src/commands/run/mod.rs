//! `retake run`: any program at all, recorded as the work of an agent.
//!
//! The program comes first: if Retake cannot record, it says so and runs it all the same, and
//! nothing but the program's own output goes to standard output.

mod child;
mod recording;

use anyhow::Result;

pub(super) use child::exit_by_signal;

use crate::args::RunArgs;
use crate::commands::run::child::ChildExit;
use crate::commands::run::recording::RunRecording;
use crate::context::{CommandContext, Exit};
use crate::output::warn;

/// Environment variable that tells the program the dialog of its run.
pub(super) const RUN_DIALOG_VARIABLE: &str = "RETAKE_RUN";

pub(super) fn run(context: &CommandContext, options: &RunArgs) -> Result<Exit> {
    // Without a program there is nothing to record.
    if let Err(code) = child::check_program(&options.command) {
        return Ok(Exit::Code(code));
    }
    let recording = match RunRecording::begin(context, options) {
        Ok(recording) => Some(recording),
        Err(error) => {
            warn(&format!("what the program changes is not recorded: {error:#}"));
            None
        }
    };
    let dialog = recording.as_ref().map(RunRecording::dialog);
    let ended = child::run(&options.command, dialog);
    if let Some(recording) = recording {
        let exit_code = match ended {
            Ok(ChildExit::Code(code)) => Some(code),
            _ => None,
        };
        if let Err(error) = recording.end(context, exit_code) {
            warn(&format!("the end of the program is not recorded: {error:#}"));
        }
    }
    Ok(match ended? {
        ChildExit::Code(code) => Exit::Code(code),
        ChildExit::Signal(signal) => exit_by_signal(signal),
    })
}
