//! `retake completions`: prints a completion script for a shell.

use anyhow::Result;
use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs};
use crate::context::{CommandContext, Exit};

pub(super) fn run(context: &CommandContext, options: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "retake", &mut script);
    context.out.bytes(&script)?;
    Ok(Exit::Done)
}
