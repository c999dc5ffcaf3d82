//! The commands, a file each.

mod completions;
mod demo;
mod dialogs;
mod diff;
mod doctor;
mod event;
mod init;
mod log;
mod reference;
mod show;
mod status;
mod story;

use anyhow::Result;

use crate::args::Command;
use crate::context::{Context, Exit};

/// Does what the command line asks for.
pub(crate) fn run(context: &Context, command: Command) -> Result<Exit> {
    match command {
        Command::Init(options) => init::run(context, &options),
        Command::Status(options) => status::run(context, &options),
        Command::Log(options) => log::run(context, &options),
        Command::Show(options) => show::run(context, &options),
        Command::Diff(options) => diff::run(context, &options),
        Command::Dialogs => dialogs::run(context),
        Command::Event => event::run(context),
        Command::Doctor(options) => doctor::run(context, &options),
        Command::Demo(options) => demo::run(context, &options),
        Command::Completions(options) => completions::run(context, &options),
        Command::HelpMarkdown => reference::run(context),
    }
}
