//! The commands, a file each.

mod accept;
mod approve;
mod blame;
mod catch_up;
mod checkpoint;
mod checkpoints;
mod completions;
mod context;
mod daemon;
mod demo;
mod dialogs;
mod diff;
mod doctor;
mod event;
mod export;
mod gc;
mod git;
mod history;
mod hook;
mod init;
mod log;
pub(crate) mod message;
mod openapi;
mod ops;
mod purge;
mod recover;
mod redo;
mod reference;
mod reject;
mod reset;
mod restore;
mod rollback;
mod run;
mod scope;
mod session;
mod setup;
mod show;
mod status;
mod story;
mod undo;
mod whose;

use anyhow::Result;

pub(crate) use daemon::{log_to_file, log_to_stderr};

use crate::args::Command;
use crate::context::{Context, Exit};

/// Runs the command.
pub(crate) fn run(context: &Context, command: Command) -> Result<Exit> {
    match command {
        Command::Setup(options) => setup::run(context, &options),
        Command::Init(options) => init::run(context, &options),
        Command::Status(options) => status::run(context, &options),
        Command::Log(options) => log::run(context, &options),
        Command::Show(options) => show::run(context, &options),
        Command::Diff(options) => diff::run(context, &options),
        Command::Blame(options) => blame::run(context, &options),
        Command::Undo(options) => undo::run(context, &options),
        Command::Redo(options) => redo::run(context, &options),
        Command::Accept(options) => accept::run(context, &options),
        Command::Reject(options) => reject::run(context, &options),
        Command::Rollback(options) => rollback::run(context, &options),
        Command::Checkpoint(options) => checkpoint::run(context, &options),
        Command::Checkpoints(options) => checkpoints::run(context, &options),
        Command::Restore(options) => restore::run(context, &options),
        Command::Session(options) => session::run(context, &options),
        Command::Approve(options) => approve::run(context, &options),
        Command::Reset(options) => reset::run(context, &options),
        Command::Ops(options) => ops::run(context, &options),
        Command::Recover(options) => recover::run(context, &options),
        Command::Dialogs => dialogs::run(context),
        Command::History(options) => history::run(context, &options),
        Command::Context(options) => context::run(context, &options),
        Command::Run(options) => run::run(context, &options),
        Command::Hook(options) => Ok(hook::run(context, &options)),
        Command::CatchUp => catch_up::run(context),
        Command::Event(options) => event::run(context, options),
        Command::Daemon(options) => daemon::run(context, &options),
        Command::Doctor(options) => doctor::run(context, &options),
        Command::Git(options) => git::run(context, &options),
        Command::Export(options) => export::run(context, &options),
        Command::Gc(options) => gc::run(context, &options),
        Command::Purge(options) => purge::run(context, &options),
        Command::Demo(options) => demo::run(context, &options),
        Command::Completions(options) => completions::run(context, &options),
        Command::HelpMarkdown => reference::run(context),
        Command::Openapi => openapi::run(context),
    }
}
