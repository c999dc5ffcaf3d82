//! Help by task: the groups of commands, and the help texts that are made from them.
//!
//! Invariants:
//! - every visible command is in exactly one group; descriptions come from clap's definitions;
//! - `retake -h` fits a terminal of 80 by 24, `retake --help` is complete;
//! - `-h` of a command has its examples, `--help` also what is explained before them.

use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Arg, Command};

/// Help heading of the global options.
pub(crate) const GLOBAL_HEADING: &str = "Global options";

/// Commands for one kind of task.
#[derive(Debug)]
pub(crate) struct CommandGroup {
    /// Title for people.
    pub(crate) title: &'static str,
    /// Names of the commands, in the order in which they are shown.
    pub(crate) commands: &'static [&'static str],
}

/// All groups, in the order in which they are shown.
pub(crate) const GROUPS: &[CommandGroup] = &[
    CommandGroup { title: "Look", commands: &["status", "log", "diff", "show", "blame"] },
    CommandGroup {
        title: "Take back",
        commands: &["undo", "redo", "reject", "rollback", "restore"],
    },
    CommandGroup {
        title: "Decide",
        commands: &["review", "accept", "comment", "feedback", "approve", "reset", "session"],
    },
    CommandGroup { title: "Checkpoints", commands: &["checkpoint", "checkpoints"] },
    CommandGroup { title: "Agents", commands: &["setup", "run", "dialogs", "history", "context"] },
    CommandGroup {
        title: "Upkeep",
        commands: &[
            "init",
            "projects",
            "config",
            "ops",
            "recover",
            "doctor",
            "gc",
            "purge",
            "export",
            "git",
            "daemon",
            "bug-report",
            "demo",
        ],
    },
    CommandGroup { title: "For programs", commands: &["event", "hook", "completions"] },
];

/// Examples of `retake -h`.
const EXAMPLES: &str = "  retake setup        Connect your agents, once
  retake status       See what agents changed and you have not reviewed
  retake review -p    Keep or reject it, place by place
  retake undo         Take back the latest turn of an agent";

/// Where `retake -h` points to.
const MORE: &str = "\
`retake COMMAND -h` shows the options of a command, `retake --help` describes
all commands, global options, environment and exit codes.";

/// The environment variables that Retake reads.
pub(crate) const ENVIRONMENT: &str = "  RETAKE_HOME       Folder of the records (see --home)
  RETAKE_NO_DAEMON  If 1, no daemon is used or started (see --no-daemon)
  RETAKE_AUTOSTART  If 0, hooks start no daemon (see `retake setup --daemon=no`)
  RETAKE_LOG        What is logged to standard error, for example `debug`
  RETAKE_DATE       If iso, times are shown as dates (see --date)
  PAGER             Program that shows long output
  COLUMNS           Width of output that goes to no terminal
  NO_COLOR          No colour, unless --color says otherwise";

/// The exit codes of all commands.
pub(crate) const EXIT_CODES: &str = "  0  Done
  1  Error, or `doctor` found a problem
  2  Wrong usage
  3  Done in part or not at all: files were left as they are, confirmation was
     needed, an operation was interrupted, or some events had errors
`retake run` exits as the program that it runs (127: not found, 126: cannot be
run); `retake hook` always exits with 0.";

/// Width of the texts that are laid out here.
const WIDTH: usize = 80;
/// Indentation of names below a heading.
const INDENT: usize = 2;
/// Blanks between two columns.
const GAP: usize = 2;

/// Adds the help by task to the whole command line, and splits the help of each command.
pub(crate) fn with_help(cli: Command) -> Command {
    let cli = cli.mut_subcommands(split_after_help);
    let (short, long) = (render_short(), render_long(&cli));
    cli.help_template("{about-with-newline}\n{usage-heading} {usage}{after-help}\n")
        .after_help(short)
        .after_long_help(long)
}

/// Leaves only the examples to `-h`; `--help` keeps the whole text.
fn split_after_help(command: Command) -> Command {
    let whole = plain(command.get_after_help());
    let (explained, examples) = split_examples(&whole);
    let command = command.mut_subcommands(split_after_help);
    if explained.is_empty() {
        return command;
    }
    command.after_help(examples.to_owned()).after_long_help(whole)
}

/// Splits the text below a command's help into what it explains and its examples with their heading.
pub(crate) fn split_examples(after_help: &str) -> (&str, &str) {
    match after_help.find("\n\nExample") {
        Some(end) => (&after_help[..end], &after_help[end + 2..]),
        None => ("", after_help),
    }
}

/// The commands that are listed.
pub(crate) fn visible_commands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help")
}

fn render_short() -> String {
    let mut text = String::new();
    let column = GROUPS.iter().map(|group| group.title.len()).max().unwrap_or_default() + GAP;
    for group in GROUPS {
        let names = hang(&group.commands.join(" "), column);
        let _ = writeln!(text, "{:column$}{names}", group.title);
    }
    let _ = write!(text, "\nExamples:\n{EXAMPLES}\n\n{MORE}");
    text
}

// Without styles: clap counts them when it wraps a text.
fn render_long(cli: &Command) -> String {
    let mut text = String::new();
    let names = GROUPS.iter().flat_map(|group| group.commands);
    let column = INDENT + names.map(|name| name.len()).max().unwrap_or_default() + GAP;
    for group in GROUPS {
        let _ = writeln!(text, "{}:", group.title);
        for command in group.commands.iter().filter_map(|name| cli.find_subcommand(name)) {
            push_row(&mut text, command.get_name(), &plain(command.get_about()), column);
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{GLOBAL_HEADING}:");
    for option in global_options(cli) {
        push_row(&mut text, &option_name(option), &plain(option.get_help()), 20);
    }
    push_row(&mut text, "-h, --help", "Print help: -h for a summary, --help for all", 20);
    push_row(&mut text, "-V, --version", "Print version", 20);
    let _ = write!(text, "\nEnvironment:\n{ENVIRONMENT}\n\nExit codes:\n{EXIT_CODES}");
    text
}

/// The options that every command has.
pub(crate) fn global_options(cli: &Command) -> impl Iterator<Item = &Arg> {
    cli.get_arguments().filter(|option| option.get_help_heading() == Some(GLOBAL_HEADING))
}

/// An option or argument as it is written: `-n, --limit <N>`.
pub(crate) fn option_name(argument: &Arg) -> String {
    let value = argument
        .get_value_names()
        .filter(|_| argument.get_action().takes_values())
        .map_or_else(String::new, |names| format!(" <{}>", names.join("> <")));
    match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}{value}"),
        (None, Some(long)) => format!("--{long}{value}"),
        (Some(short), None) => format!("-{short}{value}"),
        (None, None) => value.trim_start().to_owned(),
    }
}

/// A text of clap without its styles.
pub(crate) fn plain(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

fn push_row(text: &mut String, name: &str, description: &str, column: usize) {
    let blanks = column.saturating_sub(INDENT + name.len());
    let _ = writeln!(text, "{:INDENT$}{name}{:blanks$}{}", "", "", hang(description, column));
}

/// Wraps a text whose first line begins at a column; further lines are indented to it.
fn hang(text: &str, column: usize) -> String {
    let (mut lines, mut used) = (String::new(), column);
    for word in text.split(' ') {
        let width = word.chars().count();
        if used > column && used + 1 + width > WIDTH {
            let _ = write!(lines, "\n{:column$}", "");
            used = column;
        } else if used > column {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += width;
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::args::Cli;

    fn help(words: &[&str]) -> String {
        let line = std::iter::once("retake").chain(words.iter().copied());
        Cli::full_command().term_width(WIDTH).try_get_matches_from(line).unwrap_err().to_string()
    }

    #[test]
    fn every_visible_command_is_in_one_group_and_every_name_is_a_command() {
        let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
        for name in GROUPS.iter().flat_map(|group| group.commands) {
            *groups.entry(name).or_default() += 1;
        }
        let cli = Cli::command();
        let commands: BTreeMap<_, _> =
            visible_commands(&cli).map(|one| (one.get_name(), 1)).collect();
        assert_eq!(groups, commands);
    }

    #[test]
    fn the_short_help_fits_a_terminal_of_80_by_24() {
        let text = help(&["-h"]);
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("  retake ")).count(), 4, "{text}");
        for example in EXAMPLES.lines() {
            let words: Vec<_> = example
                .split("  ")
                .find(|part| !part.is_empty())
                .into_iter()
                .flat_map(|words| words.split(' '))
                .collect();
            assert!(Cli::try_parse_from(words).is_ok(), "{example}");
        }
    }

    #[test]
    fn the_long_help_has_every_command_option_variable_and_exit_code() {
        let (text, cli) = (help(&["--help"]), Cli::command());
        for command in visible_commands(&cli) {
            let (name, about) = (command.get_name(), plain(command.get_about()));
            let start = about.split(' ').next().unwrap_or_default();
            let row = |line: &str| line.trim_start().starts_with(name) && line.contains(start);
            assert!(text.lines().any(row), "{name}: {text}");
        }
        for option in global_options(&cli) {
            assert!(text.contains(&option_name(option)), "{option}: {text}");
        }
        for part in [ENVIRONMENT, EXIT_CODES] {
            assert!(text.contains(part), "{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn every_command_has_an_example_in_both_helps_and_its_short_help_fits_a_screen() {
        fn check(command: &Command, path: &[&str]) {
            let path = [path, &[command.get_name()]].concat();
            for flag in ["-h", "--help"] {
                let text = help(&[&path[..], &[flag]].concat());
                assert!(text.contains("\nExample"), "{path:?} {flag}: {text}");
                assert!(text.lines().count() <= 44 || flag == "--help", "{path:?}: {text}");
            }
            visible_commands(command).for_each(|inner| check(inner, &path));
        }
        visible_commands(&Cli::command()).for_each(|command| check(command, &[]));
    }

    #[test]
    fn the_short_help_of_a_command_leaves_out_what_the_long_one_explains() {
        let (short, long) = (help(&["undo", "-h"]), help(&["undo", "--help"]));
        assert!(!short.contains("A step is") && long.contains("A step is"), "{short}\n{long}");
        assert!(short.contains("--json") && short.contains("--project"), "{short}");
        for rare in ["--home", "--no-look", "--no-daemon", "--color"] {
            assert!(!short.contains(rare) && long.contains(rare), "{rare}: {short}\n{long}");
        }
        assert_eq!(help(&["help", "undo"]), long);
    }
}
