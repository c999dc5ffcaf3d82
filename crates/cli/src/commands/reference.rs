//! `retake help-markdown`: the reference of all commands, from their definitions.
//!
//! `docs/cli.md` is its output; a test fails if the two differ.

use std::fmt::Write as _;

use anyhow::Result;
use clap::{Arg, Command, CommandFactory as _};

use crate::args::Cli;
use crate::context::{CommandContext, Exit};

/// Help heading of the global options.
const GLOBAL_HEADING: &str = "Global options";

pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    context.out.text(&markdown())?;
    Ok(Exit::Done)
}

fn markdown() -> String {
    let mut cli = Cli::command().term_width(0);
    cli.build();
    let mut text = String::from("# The command `retake`\n\n");
    text.push_str(
        "<!-- Made by `retake help-markdown`; change crates/cli/src/args.rs instead. -->\n\n",
    );
    let _ = writeln!(text, "{}\n", styled(cli.get_about()));
    for command in visible(&cli) {
        let name = command.get_name();
        let _ =
            writeln!(text, "- [`retake {name}`](#retake-{name}): {}", styled(command.get_about()));
    }
    text.push_str("\n## Global options\n\n");
    options(
        cli.get_arguments().filter(|arg| arg.get_help_heading() == Some(GLOBAL_HEADING)),
        &mut text,
    );
    let _ = writeln!(text, "\n```text\n{}\n```", styled(cli.get_after_help()).trim_end());
    for command in visible(&cli) {
        section(command, &format!("## `retake {}`", command.get_name()), &mut text);
        for act in visible(command) {
            let head = format!("### `retake {} {}`", command.get_name(), act.get_name());
            section(act, &head, &mut text);
        }
    }
    text
}

fn visible(cli: &Command) -> impl Iterator<Item = &Command> {
    cli.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn section(command: &Command, head: &str, text: &mut String) {
    let _ = writeln!(text, "\n{head}\n\n{}.\n", styled(command.get_about()));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    let _ = writeln!(text, "```text\n{usage}\n```");
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| arg.get_help_heading() != Some(GLOBAL_HEADING) && !arg.is_hide_set())
        .filter(|arg| !matches!(arg.get_id().as_str(), "help" | "version"))
        .collect();
    if !own.is_empty() {
        text.push('\n');
        options(own.into_iter(), text);
    }
    let after = styled(command.get_after_help());
    if !after.is_empty() {
        let _ = writeln!(text, "\n```text\n{}\n```", after.trim_end());
    }
}

fn options<'a>(arguments: impl Iterator<Item = &'a Arg>, text: &mut String) {
    for argument in arguments {
        let value = argument
            .get_value_names()
            .filter(|_| argument.get_action().takes_values())
            .map_or_else(String::new, |names| format!(" <{}>", names.join("> <")));
        let name = match (argument.get_short(), argument.get_long()) {
            (Some(short), Some(long)) => format!("-{short}, --{long}{value}"),
            (None, Some(long)) => format!("--{long}{value}"),
            (Some(short), None) => format!("-{short}{value}"),
            (None, None) => value.trim_start().to_owned(),
        };
        let _ = writeln!(text, "- `{name}`: {}", styled(argument.get_help()));
    }
}

fn styled(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}
