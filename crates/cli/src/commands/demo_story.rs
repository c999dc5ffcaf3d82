//! The story that `retake demo` tells, a screen for each step.
//!
//! Invariants: what is shown was done and recorded just before; a screen has at most twenty lines
//! of eighty columns.

use anyhow::{Context as _, Result};
use retake_engine::model::{Actor, Change, ChangeType};
use retake_engine::{ChangeFilter, DiffBody, DiffLine};

use crate::commands::demo_project::DemoProject;
use crate::commands::undo;
use crate::context::CommandContext;
use crate::describe::{display_path, line_counts};
use crate::escape::{escape, escape_line, escape_text};
use crate::layout::{TableCell, TextTable, wrap_words};
use crate::outcome::PlanOutcome;
use crate::output::{Output, TextStyle};

/// Files of the demo project: name and content.
pub(super) const DEMO_FILES: &[(&str, &str)] = &[
    ("shop.sh", "#!/bin/sh\ngreeting=\"Welcome\"\necho \"$greeting\"\ncat prices.txt\n"),
    ("prices.txt", "bread 3\nmilk 2\n"),
    ("notes.txt", "Ask Anna about the new oven.\n"),
    (".env", "TOKEN=only-copy-of-this\n"),
    (".gitignore", ".env\n"),
];

/// The message of the person that the agent works on.
const REQUEST: &str = "Greet people warmly, sell tea, and clean up.";
const TEA_COMMAND: &str = "echo 'tea 4' >> prices.txt";
const CLEAN_COMMAND: &str = "rm notes.txt .env";

/// Columns of running text, behind the indent.
const TEXT_COLUMNS: usize = 74;
const INDENT: &str = "   ";

/// One step: does its part in the project and tells it.
type PlayScreen = fn(&mut DemoProject, &mut DemoScreen<'_>) -> Result<()>;

/// The steps in their order.
pub(super) const SCREENS: [PlayScreen; 7] =
    [introduce, edit_greeting, sell_tea, raise_price, clean_up, show_record, undo_turn];

/// The agent's turn without a word, for programs.
pub(super) fn play_turn(demo: &mut DemoProject) -> Result<()> {
    ask_agent(demo)?;
    add_tea(demo)?;
    change_price(demo)?;
    delete_files(demo).map(drop)
}

fn ask_agent(demo: &mut DemoProject) -> Result<Vec<Change>> {
    demo.person_asks(REQUEST)?;
    demo.agent_edits("shop.sh", "\"Welcome\"", "\"A warm welcome\"")
}

fn add_tea(demo: &mut DemoProject) -> Result<Vec<Change>> {
    demo.agent_runs(TEA_COMMAND)
}

fn change_price(demo: &DemoProject) -> Result<Vec<Change>> {
    demo.person_edits("prices.txt", "bread 3", "bread 3.50")
}

fn delete_files(demo: &mut DemoProject) -> Result<Vec<Change>> {
    let changes = demo.agent_runs(CLEAN_COMMAND)?;
    demo.end_turn()?;
    Ok(changes)
}

/// Text of one screen.
pub(super) struct DemoScreen<'a> {
    context: &'a CommandContext,
    text: String,
}

impl<'a> DemoScreen<'a> {
    pub(super) fn new(context: &'a CommandContext) -> Self {
        Self { context, text: String::new() }
    }

    /// The lines, with an empty one below.
    pub(super) fn into_text(self) -> String {
        self.text + "\n"
    }

    /// A heading, with the command that it is about.
    fn heading(&mut self, words: &str, command: &str) {
        let words = self.context.out.paint(words, TextStyle::Bold);
        let command = self.context.out.paint(command, TextStyle::Mark);
        self.line("", &format!("{words}{}{command}", if command.is_empty() { "" } else { "  " }));
    }

    /// A paragraph, broken where the line ends.
    fn paragraph(&mut self, words: &str) {
        for line in wrap_words(words, TEXT_COLUMNS) {
            self.line(INDENT, &line);
        }
    }

    fn line(&mut self, indent: &str, line: &str) {
        self.text.push_str(indent);
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn table(&mut self, table: &TextTable) {
        self.text.push_str(&table.render(INDENT, self.context.out));
    }

    /// The lines that changes added and removed.
    fn changed_lines(&mut self, demo: &DemoProject, changes: &[Change]) -> Result<()> {
        for diff in demo.project().net_diff(changes)? {
            let DiffBody::Lines(lines) = diff.body else { continue };
            for line in lines {
                let (sign, text, style) = match line {
                    DiffLine::Removed(text) => ('-', text, TextStyle::Bad),
                    DiffLine::Added(text) => ('+', text, TextStyle::Good),
                    DiffLine::Header(_) | DiffLine::Context(_) | DiffLine::NoNewline => continue,
                };
                let line = format!("{sign}{}", escape_line(text.trim_ascii_end()));
                let painted = self.context.out.paint(&line, style);
                self.line("      ", &painted);
            }
        }
        Ok(())
    }

    /// What the record says of changes, a line for each.
    fn seen(&mut self, changes: &[Change], why: &str) {
        let mut table = TextTable::default();
        for (at, change) in changes.iter().enumerate() {
            let label = if at == 0 { "Retake saw:" } else { "" };
            let words = format!("{} {}", describe_deed(change), display_path(&change.path));
            table.row([
                TableCell::new(label, TextStyle::Dim),
                TableCell::new(words, actor_style(change)),
            ]);
        }
        self.table(&table);
        self.paragraph(why);
    }
}

/// `the agent changed`, `you deleted`.
fn describe_deed(change: &Change) -> String {
    let who = if change.actor == Actor::Agent { "the agent" } else { "you" };
    let did = match change.change_type {
        ChangeType::Create => "made",
        ChangeType::Delete => "deleted",
        _ => "changed",
    };
    format!("{who} {did}")
}

fn actor_style(change: &Change) -> TextStyle {
    if change.actor == Actor::Agent { TextStyle::Warn } else { TextStyle::Good }
}

fn introduce(demo: &mut DemoProject, screen: &mut DemoScreen<'_>) -> Result<()> {
    screen.heading("An agent works in your project, and you undo it.", "");
    screen.paragraph("All of it really happens, in a folder that is removed at the end:");
    let root = escape(demo.project().root().as_os_str().as_encoded_bytes());
    let root = screen.context.out.paint(&root, TextStyle::Dim);
    screen.line(INDENT, &root);
    screen.line("", "");
    screen.paragraph("Your project is a small shop:");
    let prices = demo.read("prices.txt")?.trim_end().replace('\n', ", ");
    let mut table = TextTable::default();
    for (name, what) in [
        ("shop.sh", "greets the customers"),
        ("prices.txt", prices.as_str()),
        ("notes.txt", "a note to yourself"),
        (".env", "a token; git ignores this file and has no copy of it"),
    ] {
        table.row([
            TableCell::new(format!("   {name}"), TextStyle::Plain),
            TableCell::new(what, TextStyle::Dim),
        ]);
    }
    screen.table(&table);
    Ok(())
}

fn edit_greeting(demo: &mut DemoProject, screen: &mut DemoScreen<'_>) -> Result<()> {
    let changes = ask_agent(demo)?;
    screen.heading(&format!("1. You ask the agent: “{REQUEST}”"), "");
    screen.paragraph("It begins with the greeting in shop.sh:");
    screen.changed_lines(demo, &changes)?;
    screen.seen(&changes, "The agent's edit tool told which file it writes, so that is certain.");
    Ok(())
}

fn sell_tea(demo: &mut DemoProject, screen: &mut DemoScreen<'_>) -> Result<()> {
    let changes = add_tea(demo)?;
    screen.heading("2. The agent runs a command:", TEA_COMMAND);
    screen.changed_lines(demo, &changes)?;
    screen.seen(
        &changes,
        "A command does not tell what it writes, so Retake compares the files before and after it.",
    );
    Ok(())
}

fn raise_price(demo: &mut DemoProject, screen: &mut DemoScreen<'_>) -> Result<()> {
    let changes = change_price(demo)?;
    screen.heading("3. Meanwhile you raise the price of bread, in the same file:", "");
    screen.changed_lines(demo, &changes)?;
    screen.seen(&changes, "No command of the agent was running, so this edit is yours.");
    Ok(())
}

fn clean_up(demo: &mut DemoProject, screen: &mut DemoScreen<'_>) -> Result<()> {
    let changes = delete_files(demo)?;
    screen.heading("4. The agent “cleans up”:", CLEAN_COMMAND);
    screen.seen(
        &changes,
        "git cannot bring back .env, which it ignores. Retake kept a copy of it just before the \
         command ran.",
    );
    Ok(())
}

fn show_record(demo: &mut DemoProject, screen: &mut DemoScreen<'_>) -> Result<()> {
    screen.heading("5. Who did what is on record, file by file:", "retake log --files");
    let all = ChangeFilter { oldest_first: true, ..ChangeFilter::default() };
    let mut table = TextTable::default();
    for change in demo.project().changes(&all)? {
        let (added, removed) = line_counts(&change);
        let unless_none =
            |count: String, none: &str| if count == none { String::new() } else { count };
        table.row([
            TableCell::new(describe_deed(&change), actor_style(&change)),
            TableCell::new(display_path(&change.path), TextStyle::Plain),
            TableCell::right(unless_none(added, "+0"), TextStyle::Good),
            TableCell::right(unless_none(removed, "-0"), TextStyle::Bad),
        ]);
    }
    screen.table(&table);
    screen.paragraph("Your line and the agent's, both in prices.txt, are told apart.");
    Ok(())
}

fn undo_turn(demo: &mut DemoProject, screen: &mut DemoScreen<'_>) -> Result<()> {
    let (undone, step) = demo.undo()?;
    let what = escape(step.describe());
    let outcome = PlanOutcome::from(undone);
    // Broken into lines below, behind the indent.
    let out = Output { width: None, ..screen.context.out };
    let said = undo::describe_outcome(out, demo.project(), &outcome, &what)?;
    screen.heading("6. You want none of the agent's work:", "retake undo");
    for line in said.lines() {
        screen.paragraph(line);
    }
    screen.line("", "");
    screen.paragraph("The agent's work is gone, and your price stays:");
    let mut table = TextTable::default();
    for (name, line, what) in [
        ("shop.sh", 1, "as it was"),
        ("notes.txt", 0, "is back"),
        (".env", 0, "is back; git had no copy of it"),
        ("prices.txt", 0, "your price stays"),
        ("prices.txt", 1, "and the tea is gone"),
    ] {
        let text = demo.read(name)?;
        let text = text.lines().nth(line).context("the demo's undo left a file short")?;
        let is_yours = what == "your price stays";
        table.row([
            TableCell::new(name, TextStyle::Plain),
            TableCell::new(escape_text(text), TextStyle::Mark),
            TableCell::new(what, if is_yours { TextStyle::Good } else { TextStyle::Dim }),
        ]);
    }
    screen.table(&table);
    Ok(())
}

/// The three commands that a new user types next.
pub(super) fn next_commands(out: Output) -> String {
    let mut text = out.paint("Now in your own project:", TextStyle::Bold) + "\n";
    let mut table = TextTable::default();
    for (command, what) in [
        ("retake setup", "once: Claude Code, Codex and others tell Retake what they do"),
        ("retake status", "what your agents changed, and what is not protected"),
        ("retake undo", "takes back the last step; `retake redo` brings it again"),
    ] {
        table.row([
            TableCell::new(command, TextStyle::Mark),
            TableCell::new(what, TextStyle::Plain),
        ]);
    }
    text.push_str(&table.render(INDENT, out));
    text
}
