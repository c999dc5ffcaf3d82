//! `retake completions`: prints a completion script for a shell, or how to install it.

use anyhow::Result;
use clap::CommandFactory as _;
use clap_complete::Shell;
use retake_engine::model::ErrorCode;

use crate::args::{Cli, CompletionsArgs};
use crate::completion::{CompletionShell, called_program, startup_line};
use crate::context::{CommandContext, Exit};
use crate::failure::ApiError;

pub(super) fn run(context: &CommandContext, options: &CompletionsArgs) -> Result<Exit> {
    let detected = || Shell::from_env().ok_or_else(unknown_shell);
    match options.shell {
        Some(shell) => context.out.text(&script(shell))?,
        None if context.out.terminal => context.out.text(&describe_installation(detected()?))?,
        None => context.out.text(&script(detected()?))?,
    }
    Ok(Exit::Done)
}

fn script(shell: Shell) -> String {
    if let Some(shell) = CompletionShell::from_shell(shell) {
        return shell.script(&called_program());
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "retake", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

fn describe_installation(shell: Shell) -> String {
    match CompletionShell::from_shell(shell) {
        Some(known) => {
            let (line, file) = startup_line(known);
            format!("To complete retake in {shell}, add this line to {file}:\n\n  {line}\n")
        }
        None => format!("`retake completions {shell}` prints the script for {shell}.\n"),
    }
}

fn unknown_shell() -> ApiError {
    ApiError::new(
        ErrorCode::BadValue,
        "the shell cannot be told from $SHELL",
        "name it: retake completions bash (or zsh, fish, elvish, powershell)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_the_line_and_its_file() {
        for (shell, line, file) in [
            (Shell::Bash, "\n  eval \"$(retake completions bash)\"\n", "~/.bashrc:"),
            (Shell::Zsh, "\n  eval \"$(retake completions zsh)\"\n", "~/.zshrc"),
            (Shell::Fish, "\n  retake completions fish | source\n", "config.fish:"),
            (Shell::Elvish, "`retake completions elvish`", "elvish"),
        ] {
            let text = describe_installation(shell);
            assert!(text.contains(line) && text.contains(file), "{text}");
        }
    }
}
