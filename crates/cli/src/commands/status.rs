//! `retake status`: unreviewed changes of agents, and files that are not protected.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Actor, Gap, GapReason};
use retake_engine::{ChangeFilter, DialogStatus, Looked, Project, Status, StatusRow};
use retake_server::door::LookThrough;
use retake_server::{Masking, documents};

use crate::args;
use crate::commands::recover;
use crate::context::{Context, Exit};
use crate::describe::{agent, name, plural, short_id, size};
use crate::escape::escape;
use crate::output::Style;
use crate::table::{Cell, Table};
use crate::time::local;

/// Maximum paths listed for each agent, and of changes that git took back.
const MOST_PATHS: usize = 100;
/// Maximum paths listed for each reason why a path is not protected.
const MOST_GAPS: usize = 10;
/// Maximum names listed of paths that a rule hides.
const MOST_HIDDEN: usize = 5;

pub(super) fn run(context: &Context, options: &args::Status) -> Result<Exit> {
    let (project, looked) =
        if options.ignored { context.look_by(LookThrough {})? } else { context.look()? };
    if context.json {
        let (looked, ignored) = (looked.as_ref(), options.ignored);
        let (at, masking) = (context.now(), Masking::Off);
        context.out.json(&documents::Status::read(&project, at, looked, ignored, masking)?)?;
        return Ok(Exit::Done);
    }
    let status = project.status()?;
    let interrupted = project.interrupted()?;
    let mut text = String::new();
    if options.ignored {
        ignored(context, looked.as_ref(), &mut text);
    } else {
        let root = escape(project.root().as_os_str().as_encoded_bytes());
        let _ = writeln!(text, "{}", context.out.paint(&format!("Project {root}"), Style::Dim));
        if let Some(interrupted) = &interrupted {
            let headline = context.out.paint(&recover::headline(interrupted), Style::Bad);
            let _ = writeln!(text, "{headline}\nNothing is undone before `retake recover`.\n");
        }
        agents(context, &project, &status, &mut text)?;
        taken_back(context, &status, &mut text);
        stale(context, &project, &mut text)?;
        rule_changes(context, &project, &mut text)?;
        gaps(context, &status, &mut text);
        text.push_str(&facts(&status, looked.as_ref()));
    }
    context.out.paged(text.as_bytes())?;
    Ok(Exit::Done)
}

fn agents(context: &Context, project: &Project, status: &Status, text: &mut String) -> Result<()> {
    if status.dialogs.is_empty() {
        let by_agents =
            ChangeFilter { actor: Some(Actor::Agent), limit: Some(1), ..ChangeFilter::default() };
        let none = project.changes(&by_agents)?.is_empty();
        text.push_str(if none {
            "No agent has changed anything.\n\n"
        } else {
            "Nothing that agents changed waits for a decision.\n\n"
        });
        return Ok(());
    }
    let paths: std::collections::BTreeSet<_> = rows(status).map(|row| &row.path).collect();
    let files = plural(paths.len() as u64, "file", "files");
    let head = format!("Agents changed {files}; nobody has decided on them yet:");
    let _ = writeln!(text, "{}\n", context.out.paint(&head, Style::Bold));
    for dialog in &status.dialogs {
        let _ = writeln!(text, "{}", dialog_line(context, dialog));
        for (agent, rows) in &dialog.agents {
            let name = agent.as_ref().map_or("several agents".to_owned(), |id| escape(&id.0));
            let _ = writeln!(text, "  {}", context.out.paint(&name, Style::Warn));
            text.push_str(&paths_table(rows).render("    ", context.out.colour));
            if rows.len() > MOST_PATHS {
                let more = rows.len() - MOST_PATHS;
                let _ = writeln!(text, "    … and {more} more (see `retake diff --stat`)");
            }
        }
        text.push('\n');
    }
    Ok(())
}

/// Lists changes of agents that git took back.
fn taken_back(context: &Context, status: &Status, text: &mut String) {
    if status.taken_back_by_git.is_empty() {
        return;
    }
    let head = "Taken back by git, and in no file now; it counts again if git brings it back:";
    let _ = writeln!(text, "{}\n", context.out.paint(head, Style::Bold));
    text.push_str(&paths_table(&status.taken_back_by_git).render("  ", context.out.colour));
    if let Some(more) = status.taken_back_by_git.len().checked_sub(MOST_PATHS + 1) {
        let _ = writeln!(text, "  … and {} more (all in --json)", more + 1);
    }
    text.push('\n');
}

fn rows(status: &Status) -> impl Iterator<Item = &StatusRow> {
    status.dialogs.iter().flat_map(|dialog| &dialog.agents).flat_map(|(_, rows)| rows)
}

fn dialog_line(context: &Context, status: &DialogStatus) -> String {
    let Some(dialog) = &status.dialog else {
        let why = "several dialogs were at work, any of them can have done it";
        return format!("{} ({why})", context.out.paint("shared", Style::Mark));
    };
    let mut words = vec![context.out.paint(&escape(&dialog.id.0), Style::Mark)];
    words.extend(dialog.kind.as_deref().map(escape));
    words.extend(dialog.title.as_deref().map(|title| format!("“{}”", escape(title))));
    words.push(context.out.paint(&format!("last active {}", local(dialog.last_at)), Style::Dim));
    words.join("  ")
}

fn paths_table(rows: &[StatusRow]) -> Table {
    let mut table = Table::default();
    for row in rows.iter().take(MOST_PATHS) {
        let (letter, style) = letter(row);
        table.row([
            Cell::new(letter, style),
            Cell::new(name(&row.path), Style::Plain),
            Cell::right(lines('+', row.added), Style::Good),
            Cell::right(lines('-', row.removed), Style::Bad),
            Cell::new(plural(row.changes, "change", "changes"), Style::Dim),
            Cell::new(ids(row), Style::Dim),
        ]);
    }
    table
}

fn ids(row: &StatusRow) -> String {
    if row.first == row.last {
        row.first.to_string()
    } else {
        format!("{}…{}", row.first, row.last)
    }
}

/// As git has it: added, modified, deleted, renamed.
fn letter(row: &StatusRow) -> (&'static str, Style) {
    match documents::net_status(row) {
        None => ("·", Style::Dim),
        Some("deleted") => ("D", Style::Bad),
        Some("renamed") => ("R", Style::Mark),
        Some("added") => ("A", Style::Good),
        Some(_) => ("M", Style::Warn),
    }
}

/// A count of lines, where there are lines.
fn lines(sign: char, count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| format!("{sign}{count}"))
}

/// Lists files that changed after an active agent read them.
fn stale(context: &Context, project: &Project, text: &mut String) -> Result<()> {
    let agents = project.stale_agents(context.now().saturating_sub(documents::ACTIVE))?;
    for stale in &agents {
        let (agent, dialog) = (agent(&stale.agent), short_id(&stale.dialog.0));
        let files = plural(stale.files as u64, "changed file", "changed files");
        let line = format!("{agent} (dialog {dialog}) has not seen {files}");
        let line = context.out.paint(&line, Style::Warn);
        let _ = writeln!(text, "{line}; see `retake context --stale --dialog {dialog}`");
    }
    if !agents.is_empty() {
        text.push('\n');
    }
    Ok(())
}

/// Lists ignore rules written by agents: the files they hide are no longer recorded.
fn rule_changes(context: &Context, project: &Project, text: &mut String) -> Result<()> {
    let rules: Vec<_> =
        project.rule_changes()?.into_iter().filter(|rule| !rule.hides.is_empty()).collect();
    if rules.is_empty() {
        return Ok(());
    }
    let head = "Ignore rules that an agent changed, and what they hide:";
    let _ = writeln!(text, "{}\n", context.out.paint(head, Style::Warn));
    let mut table = Table::default();
    for rule in &rules {
        let mut hides: Vec<_> = rule.hides.iter().take(MOST_HIDDEN).map(name).collect();
        if rule.hides.len() > MOST_HIDDEN {
            hides.push(format!("{} more (all in --json)", rule.hides.len() - MOST_HIDDEN));
        }
        table.row([
            Cell::new(name(&rule.path), Style::Plain),
            Cell::new(rule.change.to_string(), Style::Dim),
            Cell::new(hides.join(", "), Style::Plain),
        ]);
    }
    text.push_str(&table.render("  ", context.out.colour));
    text.push('\n');
    Ok(())
}

fn gaps(context: &Context, status: &Status, text: &mut String) {
    if status.gaps.is_empty() {
        return;
    }
    let head = format!("Not protected ({}):", status.gaps.len());
    let _ = writeln!(text, "{}\n", context.out.paint(&head, Style::Warn));
    let mut by_reason: BTreeMap<GapReason, Vec<&Gap>> = BTreeMap::new();
    for (gap, _) in &status.gaps {
        by_reason.entry(gap.reason).or_default().push(gap);
    }
    for (reason, gaps) in by_reason {
        let _ = writeln!(text, "  {} ({})", reason_text(reason), gaps.len());
        let mut table = Table::default();
        for gap in gaps.iter().take(MOST_GAPS) {
            let detail = Cell::new(escape(&gap.detail), Style::Dim);
            table.row([Cell::new(name(&gap.path), Style::Plain), detail]);
        }
        text.push_str(&table.render("    ", context.out.colour));
        if gaps.len() > MOST_GAPS {
            let _ = writeln!(text, "    … and {} more (all in --json)", gaps.len() - MOST_GAPS);
        }
    }
    text.push('\n');
}

fn reason_text(reason: GapReason) -> &'static str {
    match reason {
        GapReason::TooLarge => "larger than the limit in the settings",
        GapReason::Unreadable => "cannot be read",
        GapReason::Special => "pipes, sockets and devices are never opened",
        GapReason::OtherMount => "another file system, not crossed",
        GapReason::Unstable => "changed each time it was read",
        GapReason::NameTooLong => "the name is too long",
        GapReason::NotShielded => "not captured before a command that could destroy it",
        GapReason::LostEvent => "events that could not be kept or understood",
        GapReason::BeforeFirstLook => {
            "written by an agent, perhaps, before the first look was done"
        }
        GapReason::NotLooked => "changed by a command that began before it was looked at",
        GapReason::RulesChanged => "ignore rules changed while a command ran",
        GapReason::Purged => "purged from the record, and not taken again until it changes",
    }
}

fn facts(status: &Status, looked: Option<&Looked>) -> String {
    let mut facts = vec![
        format!("{} tracked", plural(status.files, "file", "files")),
        format!("{} on record", plural(status.changes, "change", "changes")),
        format!("record {}", size(status.store_bytes)),
    ];
    let mut add = |count: u64, one: &str, many: &str| {
        if count > 0 {
            facts.push(plural(count, one, many));
        }
    };
    if let Some(looked) = looked {
        add(looked.ignored_count, "name ignored", "names ignored");
        add(looked.scratch, "scratch file left out", "scratch files left out");
        let nested = looked.nested_repositories.len() as u64;
        add(nested, "nested repository", "nested repositories");
    }
    add(status.spooled as u64, "event waits", "events wait");
    facts.join(" · ") + "\n"
}

fn ignored(context: &Context, looked: Option<&Looked>, text: &mut String) {
    let Some(looked) = looked else { return };
    if looked.ignored.is_empty() {
        text.push_str("Nothing is ignored.\n");
        return;
    }
    let mut table = Table::default();
    for ignored in &looked.ignored {
        let slash = if ignored.is_dir { "/" } else { "" };
        let by = Cell::new(escape(&ignored.by), Style::Dim);
        table.row([Cell::new(name(&ignored.path) + slash, Style::Plain), by]);
    }
    text.push_str(&table.render("", context.out.colour));
    let more = looked.ignored_count.saturating_sub(looked.ignored.len() as u64);
    if more > 0 {
        let _ = writeln!(text, "… and {more} more");
    }
}
