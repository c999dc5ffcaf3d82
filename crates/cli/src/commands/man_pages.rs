//! `retake man-pages`: writes a man page for each visible command, from their definitions.
//!
//! `docs/man` is its output; a test fails if the two differ.

use std::io::Write as _;

use anyhow::Result;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::help::{ENVIRONMENT, EXIT_CODES, GROUPS, plain, split_examples, visible_commands};
use crate::args::{Cli, ManPagesArgs};
use crate::context::Exit;
use crate::output_file::write_output_file;

/// Mode of a man page, which everybody may read.
const PAGE_MODE: u32 = 0o644;

pub(super) fn run(options: &ManPagesArgs) -> Result<Exit> {
    // Else clap leaves out the help of options that `-h` does not show.
    let mut cli = Cli::command()
        .disable_help_subcommand(true)
        .mut_args(|option| option.hide_short_help(false));
    cli.build();
    write_pages(&cli, options)?;
    Ok(Exit::Done)
}

fn write_pages(command: &Command, options: &ManPagesArgs) -> Result<()> {
    let man = Man::new(command.clone());
    let path = options.folder.join(man.get_filename());
    write_output_file(&path, &render_page(command, &man)?, PAGE_MODE, false)?;
    visible_commands(command).try_for_each(|inner| write_pages(inner, options))
}

fn render_page(command: &Command, man: &Man) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    // By hand, since an empty date must be written; a true one would differ from build to build.
    let version = env!("CARGO_PKG_VERSION");
    writeln!(page, ".TH {name} 1 \"\" \"retake {version}\" \"Retake\"")?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    let mut rest = Roff::new();
    push_description(command, &mut rest);
    let is_main = command.get_name() == "retake";
    if is_main {
        push_groups(command, &mut rest);
    } else if visible_commands(command).next().is_some() {
        rest.control("SH", ["COMMANDS"]);
        visible_commands(command).for_each(|inner| push_command(inner, &mut rest));
    }
    rest.to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut rest = Roff::new();
    if is_main {
        push_lines("ENVIRONMENT", ENVIRONMENT, &mut rest);
        push_lines("EXIT STATUS", EXIT_CODES, &mut rest);
    } else {
        let text = plain(command.get_after_help());
        let (_, examples) = split_examples(&text);
        // Without their own heading.
        let examples = examples.split_once('\n').map_or("", |(_, lines)| lines);
        push_lines("EXAMPLES", examples.trim_end(), &mut rest);
        rest.control("SH", ["SEE ALSO"]);
        rest.text([bold("retake"), roman("(1)")]);
    }
    rest.to_writer(&mut page)?;
    Ok(spell_out_non_ascii(&page))
}

/// Readers of man pages disagree on their encoding; these escapes they all know.
fn spell_out_non_ascii(page: &[u8]) -> Vec<u8> {
    let spell = |char: char| match char {
        _ if char.is_ascii() => char.to_string(),
        _ => format!("\\[u{:04X}]", u32::from(char)),
    };
    String::from_utf8_lossy(page).chars().map(spell).collect::<String>().into_bytes()
}

fn push_description(command: &Command, page: &mut Roff) {
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(format!("{}.", plain(command.get_about())))]);
    let text = plain(command.get_after_help());
    let (explained, _) = split_examples(&text);
    for paragraph in explained.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        page.control("PP", []);
        push_paragraph(paragraph, page);
    }
}

/// Lists keep their lines, prose is filled.
fn push_paragraph(paragraph: &str, page: &mut Roff) {
    for line in paragraph.lines() {
        if line.starts_with(' ') {
            page.control("nf", []);
            page.text([roman(line)]);
            page.control("fi", []);
        } else {
            page.text([roman(line)]);
        }
    }
}

fn push_groups(cli: &Command, page: &mut Roff) {
    page.control("SH", ["COMMANDS"]);
    for group in GROUPS {
        page.control("SS", [group.title]);
        let commands = group.commands.iter().filter_map(|name| cli.find_subcommand(name));
        commands.for_each(|command| push_command(command, page));
    }
}

fn push_command(command: &Command, page: &mut Roff) {
    let page_name = command.get_display_name().unwrap_or_else(|| command.get_name());
    page.control("TP", []);
    page.text([bold(page_name), roman("(1)")]);
    page.text([roman(plain(command.get_about()))]);
}

fn push_lines(title: &str, lines: &str, page: &mut Roff) {
    page.control("SH", [title]);
    page.control("nf", []);
    for line in lines.lines() {
        page.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
    }
    page.control("fi", []);
}
