//! The commands, a file each.

mod accept;
mod approve;
mod blame;
mod bug_report;
mod catch_up;
mod checkpoint;
mod checkpoints;
mod comment;
mod completions;
mod config;
mod context;
mod daemon;
mod demo;
mod demo_pace;
mod demo_project;
mod demo_story;
mod dialog_choice;
mod dialogs;
mod diff;
mod doctor;
mod event;
mod export;
mod feedback;
mod gc;
mod git;
mod history;
mod hook;
mod hunk_choice;
mod init;
mod log;
mod man_pages;
mod openapi;
mod ops;
mod overview;
mod projects;
mod purge;
mod recording;
mod recover;
mod redo;
mod reference;
mod reject;
mod reset;
mod restore;
mod restore_into;
mod review;
mod rollback;
mod run;
mod scope;
mod session;
mod setup;
mod show;
mod status;
mod undo;

use anyhow::Result;
use retake_engine::ProjectError;

pub(crate) use daemon::{log_to_file, log_to_stderr};
pub(crate) use review::describe_lines;

use crate::args::{CliCommand, CommentArgs, ReviewArgs};
use crate::commands::recording::nothing_recorded_text;
use crate::context::{CommandContext, Exit};
use crate::output::print_to_person;

/// Runs the command. In a folder of which nothing is on record, a listing says so, and that is no
/// error for a person.
pub(crate) fn run(context: &CommandContext, command: CliCommand) -> Result<Exit> {
    context.check_caller(&command)?;
    let is_listing = is_listing(&command);
    let is_patch = matches!(&command, CliCommand::Review(ReviewArgs { patch: true, .. }));
    match dispatch(context, command) {
        Err(error) if is_listing && !context.json && is_not_a_project(&error) => {
            let text = nothing_recorded_text(context)?;
            // Another program reads the patch, and words are none.
            if is_patch {
                print_to_person(&text);
            } else {
                context.out.text(&text)?;
            }
            Ok(Exit::Done)
        }
        done => done,
    }
}

fn is_not_a_project(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(ProjectError::NotAProject(_))))
}

/// Returns true for commands that list what is on record, of which there can be nothing.
fn is_listing(command: &CliCommand) -> bool {
    matches!(
        command,
        CliCommand::Status(_)
            | CliCommand::Log(_)
            | CliCommand::Diff(_)
            | CliCommand::Session(_)
            | CliCommand::Checkpoints(_)
            | CliCommand::Dialogs(_)
            | CliCommand::Ops(_)
            | CliCommand::Context(_)
            | CliCommand::Feedback(_)
            | CliCommand::Review(ReviewArgs { cancel: None, seen: false, forget: false, .. })
            | CliCommand::Comment(CommentArgs { command: None })
    )
}

fn dispatch(context: &CommandContext, command: CliCommand) -> Result<Exit> {
    match command {
        CliCommand::Setup(options) => setup::run(context, &options),
        CliCommand::Init(options) => init::run(context, &options),
        CliCommand::Status(options) => status::run(context, &options),
        CliCommand::Projects(options) => projects::run(context, &options),
        CliCommand::Log(options) => log::run(context, &options),
        CliCommand::Show(options) => show::run(context, &options),
        CliCommand::Diff(options) => diff::run(context, &options),
        CliCommand::Blame(options) => blame::run(context, &options),
        CliCommand::Undo(options) => undo::run(context, &options),
        CliCommand::Redo(options) => redo::run(context, &options),
        CliCommand::Review(options) => review::run(context, &options),
        CliCommand::Accept(options) => accept::run(context, &options),
        CliCommand::Reject(options) => reject::run(context, &options),
        CliCommand::Comment(options) => comment::run(context, &options),
        CliCommand::Feedback(options) => feedback::run(context, &options),
        CliCommand::Rollback(options) => rollback::run(context, &options),
        CliCommand::Checkpoint(options) => checkpoint::run(context, &options),
        CliCommand::Checkpoints(options) => checkpoints::run(context, &options),
        CliCommand::Restore(options) => restore::run(context, &options),
        CliCommand::Session(options) => session::run(context, &options),
        CliCommand::Approve(options) => approve::run(context, &options),
        CliCommand::Reset(options) => reset::run(context, &options),
        CliCommand::Ops(options) => ops::run(context, &options),
        CliCommand::Recover(options) => recover::run(context, &options),
        CliCommand::Dialogs(options) => dialogs::run(context, &options),
        CliCommand::History(options) => history::run(context, &options),
        CliCommand::Context(options) => context::run(context, &options),
        CliCommand::Run(options) => run::run(context, &options),
        CliCommand::Hook(options) => Ok(hook::run(context, &options)),
        CliCommand::Overview => overview::run(context),
        CliCommand::CatchUp => catch_up::run(context),
        CliCommand::Event(options) => event::run(context, options),
        CliCommand::Daemon(options) => daemon::run(context, &options),
        CliCommand::Config(options) => config::run(context, &options),
        CliCommand::Doctor(options) => doctor::run(context, &options),
        CliCommand::BugReport(options) => bug_report::run(context, &options),
        CliCommand::Git(options) => git::run(context, &options),
        CliCommand::Export(options) => export::run(context, &options),
        CliCommand::Gc(options) => gc::run(context, &options),
        CliCommand::Purge(options) => purge::run(context, &options),
        CliCommand::Demo(options) => demo::run(context, &options),
        CliCommand::Completions(options) => completions::run(context, &options),
        CliCommand::HelpMarkdown => reference::run(context),
        CliCommand::ManPages(options) => man_pages::run(&options),
        CliCommand::Openapi => openapi::run(context),
    }
}
