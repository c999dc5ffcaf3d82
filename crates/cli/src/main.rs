//! The command `retake`: reads the command line, calls the engine, shows what it says.
//!
//! No rule about changes lives here. Everything that is shown goes through
//! [`output`], and every foreign word in it through [`mod@escape`].

mod args;
mod caller;
mod checkpoint_id;
mod clipboard;
mod commands;
mod completion;
mod context;
mod describe;
mod failure;
mod layout;
mod outcome;
mod output;
mod output_file;
mod paint;
mod patch;
mod progress;
mod question;
mod time;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use retake_engine::model::{ErrorCode, foreign_text as escape};

use crate::args::{Cli, CliCommand, DaemonArgs, DaemonCommand};
use crate::caller::initial_caller;
use crate::context::{CommandContext, Exit};
use crate::escape::{escape, escape_text};
use crate::failure::{ApiError, failure_of};
use crate::output::{Output, TextStyle, print_cancelled, print_hint, print_message};

fn main() -> ExitCode {
    if completion::answer_request() {
        return ExitCode::SUCCESS;
    }
    let cli = match Cli::read() {
        // An agent may take any code but 0 for a refusal.
        Err(error) if args::is_for_hook(std::env::args_os()) && error.use_stderr() => {
            print_message("warning", TextStyle::Warn, error.to_string().trim_end());
            return ExitCode::SUCCESS;
        }
        parsed => parsed.unwrap_or_else(|error| exit_with_usage_error(&error)),
    };
    cli.global.color.apply();
    let json = cli.global.json;
    let command = cli.command.unwrap_or(CliCommand::Overview);
    let for_an_agent = matches!(command, CliCommand::Hook(_));
    let asks_for_dialog =
        matches!(command, CliCommand::Approve(_) | CliCommand::Reset(_) | CliCommand::Session(_));
    let done = CommandContext::new(&cli.global, initial_caller(&command)).and_then(|context| {
        init_logging(&context, &command)?;
        commands::run(&context, command)
    });
    let exit = match done {
        Ok(exit) => exit,
        // The reader closed the pipe: no error.
        Err(error) if is_closed_pipe(&error) => Exit::Done,
        Err(error) => {
            let failure = failure_of(&error);
            print_failure(&failure, json && !for_an_agent);
            if for_an_agent {
                Exit::Done
            } else if is_unanswered(&failure, asks_for_dialog) {
                Exit::Partly
            } else {
                Exit::Problem
            }
        }
    };
    ExitCode::from(exit.code())
}

/// Prints a usage error, escaped: clap repeats the words of the command line as they are.
fn exit_with_usage_error(error: &clap::Error) -> ! {
    let is_plain =
        |word: OsString| escape(word.as_encoded_bytes()).as_bytes() == word.as_encoded_bytes();
    if !error.use_stderr() || std::env::args_os().all(is_plain) {
        error.exit();
    }
    // A closed standard error is no error.
    let _ = std::io::stderr().write_all(escape_text(error.to_string()).as_bytes());
    std::process::exit(error.exit_code())
}

fn print_failure(failure: &ApiError, json: bool) {
    if json {
        // If even this cannot be written, the exit code remains.
        let _ = Output::detect().json(&serde_json::json!({ "error": failure }));
        return;
    }
    if failure.code == ErrorCode::Declined {
        return print_cancelled(&failure.message);
    }
    print_message("error", TextStyle::Bad, &failure.message);
    if let Some(hint) = &failure.hint {
        print_hint(hint);
    }
}

/// Returns true if a question was declined, or could not be asked.
fn is_unanswered(failure: &ApiError, asks_for_dialog: bool) -> bool {
    failure.code == ErrorCode::Declined
        || failure.code == ErrorCode::NeedsYes
        || asks_for_dialog && failure.code == ErrorCode::NeedsDialog
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(closed))
}

/// Logs to standard error; the daemon in the background has none.
fn init_logging(context: &CommandContext, command: &CliCommand) -> anyhow::Result<()> {
    use tracing_subscriber::EnvFilter;
    let set = EnvFilter::try_from_env("RETAKE_LOG");
    if let CliCommand::Daemon(DaemonArgs { command: DaemonCommand::Run(run) }) = command
        && run.detached
    {
        let filter = set.unwrap_or_else(|_| EnvFilter::new("info"));
        return Ok(commands::log_to_file(context.retake.folder(), filter)?);
    }
    let filter = set.unwrap_or_else(|_| EnvFilter::new("warn"));
    commands::log_to_stderr(filter);
    Ok(())
}
