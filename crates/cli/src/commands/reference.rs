//! `retake help-markdown`: the reference of all commands, from their definitions.
//!
//! `docs/cli.md` is its output; a test fails if the two differ.

use std::fmt::Write as _;

use anyhow::Result;
use clap::{Arg, Command, CommandFactory as _};

use crate::args::Cli;
use crate::args::help::{
    ENVIRONMENT, EXIT_CODES, GLOBAL_HEADING, GROUPS, global_options, option_name, plain,
    visible_commands,
};
use crate::context::{CommandContext, Exit};

/// Names another way in which the program tells this.
const INTRODUCTION: &str = "\
`retake -h` is the short form of this page, `retake COMMAND -h` that of one command. The same text as
man pages is in [docs/man](man); `retake completions --help` has the lines that make your shell
complete commands, options, change ids, hunks, dialogs, checkpoints and agents.
";

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
    let _ = writeln!(text, "{}.\n", plain(cli.get_about()));
    text.push_str(INTRODUCTION);
    push_index(&cli, &mut text);
    text.push_str("\n## Global options\n\n");
    options(global_options(&cli), &mut text);
    let _ =
        writeln!(text, "\n```text\nEnvironment:\n{ENVIRONMENT}\n\nExit codes:\n{EXIT_CODES}\n```");
    for command in visible_commands(&cli) {
        section(command, &format!("## `retake {}`", command.get_name()), &mut text);
        for act in visible_commands(command) {
            let head = format!("### `retake {} {}`", command.get_name(), act.get_name());
            section(act, &head, &mut text);
        }
    }
    text
}

fn push_index(cli: &Command, text: &mut String) {
    for group in GROUPS {
        let _ = writeln!(text, "\n**{}**\n", group.title);
        for command in group.commands.iter().filter_map(|name| cli.find_subcommand(name)) {
            let (name, about) = (command.get_name(), plain(command.get_about()));
            let _ = writeln!(text, "- [`retake {name}`](#retake-{name}): {about}");
        }
    }
}

fn section(command: &Command, head: &str, text: &mut String) {
    let _ = writeln!(text, "\n{head}\n\n{}.\n", plain(command.get_about()));
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
    let after = plain(command.get_after_help());
    if !after.is_empty() {
        let _ = writeln!(text, "\n```text\n{}\n```", after.trim_end());
    }
}

fn options<'a>(arguments: impl Iterator<Item = &'a Arg>, text: &mut String) {
    for argument in arguments {
        let name = option_name(argument);
        let _ = writeln!(text, "- `{name}`: {}", plain(argument.get_help()));
    }
}
