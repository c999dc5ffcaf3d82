//! `retake status`: unreviewed changes of agents, and files that are not protected.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Actor, Gap, GapReason};
use retake_engine::{
    ChangeFilter, DialogStatus, PendingPath, Project, ProjectStatus, RefreshOutcome,
};
use retake_service::request::RescanProject;
use retake_service::{Masking, documents};

use crate::args;
use crate::commands::recover;
use crate::context::{CommandContext, Exit};
use crate::describe::{describe_agent, display_path, format_size, plural, short_id};
use crate::escape::escape;
use crate::output::TextStyle;
use crate::table::{TableCell, TextTable};
use crate::time::format_local;

/// Maximum paths listed for each agent, and of changes that git took back.
const MAX_LISTED_PATHS: usize = 100;
/// Maximum paths listed for each reason why a path is not protected.
const MAX_LISTED_GAPS: usize = 10;
/// Maximum names listed of paths that a rule hides.
const MAX_LISTED_HIDDEN: usize = 5;

pub(super) fn run(context: &CommandContext, options: &args::StatusArgs) -> Result<Exit> {
    let (project, refresh) = if options.ignored {
        context.open_and_scan_with(RescanProject {})?
    } else {
        context.open_and_scan_without_warning()?
    };
    if context.json {
        let (refresh, ignored) = (refresh.as_ref(), options.ignored);
        let (at, masking) = (context.now(), Masking::Off);
        context
            .out
            .json(&documents::StatusDocument::read(&project, at, refresh, ignored, masking)?)?;
        return Ok(Exit::Done);
    }
    let status = project.status()?;
    let interrupted = project.interrupted()?;
    let mut text = String::new();
    if options.ignored {
        render_ignored(context, refresh.as_ref(), &mut text);
    } else {
        let root = escape(project.root().as_os_str().as_encoded_bytes());
        let _ = writeln!(text, "{}", context.out.paint(&format!("Project {root}"), TextStyle::Dim));
        if let Some(interrupted) = &interrupted {
            let headline = context.out.paint(&recover::headline(interrupted), TextStyle::Bad);
            let _ = writeln!(text, "{headline}\nNothing is undone before `retake recover`.\n");
        }
        render_agents(context, &project, &status, &mut text)?;
        render_taken_back(context, &status, &mut text);
        render_stale(context, &project, &mut text)?;
        render_rule_changes(context, &project, &mut text)?;
        render_gaps(context, &status, &mut text);
        text.push_str(&describe_facts(&status, refresh.as_ref()));
    }
    context.out.paged(text.as_bytes())?;
    Ok(Exit::Done)
}

fn render_agents(
    context: &CommandContext,
    project: &Project,
    status: &ProjectStatus,
    text: &mut String,
) -> Result<()> {
    if status.dialogs.is_empty() {
        let by_agents =
            ChangeFilter { actors: vec![Actor::Agent], limit: Some(1), ..ChangeFilter::default() };
        let none = project.changes(&by_agents)?.is_empty();
        text.push_str(if none {
            "No agent has changed anything.\n\n"
        } else {
            "Nothing that agents changed waits for a decision.\n\n"
        });
        return Ok(());
    }
    let paths: std::collections::BTreeSet<_> = all_rows(status).map(|row| &row.path).collect();
    let files = plural(paths.len() as u64, "file", "files");
    let head = format!("Agents changed {files}; nobody has decided on them yet:");
    let _ = writeln!(text, "{}\n", context.out.paint(&head, TextStyle::Bold));
    for dialog in &status.dialogs {
        let _ = writeln!(text, "{}", dialog_line(context, dialog));
        for (agent, rows) in &dialog.agents {
            let name = agent.as_ref().map_or("several agents".to_owned(), |id| escape(&id.0));
            let _ = writeln!(text, "  {}", context.out.paint(&name, TextStyle::Warn));
            text.push_str(&paths_table(rows).render("    ", context.out.colour));
            if rows.len() > MAX_LISTED_PATHS {
                let more = rows.len() - MAX_LISTED_PATHS;
                let _ = writeln!(text, "    … and {more} more (see `retake diff --stat`)");
            }
        }
        text.push('\n');
    }
    Ok(())
}

/// Lists changes of agents that git took back.
fn render_taken_back(context: &CommandContext, status: &ProjectStatus, text: &mut String) {
    if status.taken_back_by_git.is_empty() {
        return;
    }
    let head = "Taken back by git, and in no file now; it counts again if git brings it back:";
    let _ = writeln!(text, "{}\n", context.out.paint(head, TextStyle::Bold));
    text.push_str(&paths_table(&status.taken_back_by_git).render("  ", context.out.colour));
    if let Some(more) = status.taken_back_by_git.len().checked_sub(MAX_LISTED_PATHS + 1) {
        let _ = writeln!(text, "  … and {} more (all in --json)", more + 1);
    }
    text.push('\n');
}

fn all_rows(status: &ProjectStatus) -> impl Iterator<Item = &PendingPath> {
    status.dialogs.iter().flat_map(|dialog| &dialog.agents).flat_map(|(_, rows)| rows)
}

fn dialog_line(context: &CommandContext, status: &DialogStatus) -> String {
    let Some(dialog) = &status.dialog else {
        let why = "several dialogs were at work, any of them can have done it";
        return format!("{} ({why})", context.out.paint("shared", TextStyle::Mark));
    };
    let mut words = vec![context.out.paint(&escape(&dialog.id.0), TextStyle::Mark)];
    words.extend(dialog.kind.as_deref().map(escape));
    words.extend(dialog.title.as_deref().map(|title| format!("“{}”", escape(title))));
    words.push(
        context.out.paint(&format!("last active {}", format_local(dialog.last_at)), TextStyle::Dim),
    );
    words.join("  ")
}

fn paths_table(rows: &[PendingPath]) -> TextTable {
    let mut table = TextTable::default();
    for row in rows.iter().take(MAX_LISTED_PATHS) {
        let (letter, style) = status_letter(row);
        table.row([
            TableCell::new(letter, style),
            TableCell::new(display_path(&row.path), TextStyle::Plain),
            TableCell::right(line_count('+', row.added), TextStyle::Good),
            TableCell::right(line_count('-', row.removed), TextStyle::Bad),
            TableCell::new(plural(row.changes, "change", "changes"), TextStyle::Dim),
            TableCell::new(describe_ids(row), TextStyle::Dim),
        ]);
    }
    table
}

fn describe_ids(row: &PendingPath) -> String {
    if row.first == row.last {
        row.first.to_string()
    } else {
        format!("{}…{}", row.first, row.last)
    }
}

/// As git has it: added, modified, deleted, renamed.
fn status_letter(row: &PendingPath) -> (&'static str, TextStyle) {
    match documents::net_status(row) {
        None => ("·", TextStyle::Dim),
        Some("deleted") => ("D", TextStyle::Bad),
        Some("renamed") => ("R", TextStyle::Mark),
        Some("added") => ("A", TextStyle::Good),
        Some(_) => ("M", TextStyle::Warn),
    }
}

/// A count of lines, where there are lines.
fn line_count(sign: char, count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| format!("{sign}{count}"))
}

/// Lists files that changed after an active agent read them.
fn render_stale(context: &CommandContext, project: &Project, text: &mut String) -> Result<()> {
    let agents = project.stale_agents(context.now().saturating_sub(documents::ACTIVE_WINDOW_MS))?;
    for stale in &agents {
        let (agent, dialog) = (describe_agent(&stale.agent), short_id(&stale.dialog.0));
        let files = plural(stale.files as u64, "changed file", "changed files");
        let line = format!("{agent} (dialog {dialog}) has not seen {files}");
        let line = context.out.paint(&line, TextStyle::Warn);
        let _ = writeln!(text, "{line}; see `retake context --stale --dialog {dialog}`");
    }
    if !agents.is_empty() {
        text.push('\n');
    }
    Ok(())
}

/// Lists ignore rules written by agents: the files they hide are no longer recorded.
fn render_rule_changes(
    context: &CommandContext,
    project: &Project,
    text: &mut String,
) -> Result<()> {
    let rules: Vec<_> =
        project.rule_changes()?.into_iter().filter(|rule| !rule.hides.is_empty()).collect();
    if rules.is_empty() {
        return Ok(());
    }
    let head = "Ignore rules that an agent changed, and what they hide:";
    let _ = writeln!(text, "{}\n", context.out.paint(head, TextStyle::Warn));
    let mut table = TextTable::default();
    for rule in &rules {
        let mut hides: Vec<_> =
            rule.hides.iter().take(MAX_LISTED_HIDDEN).map(display_path).collect();
        if rule.hides.len() > MAX_LISTED_HIDDEN {
            hides.push(format!("{} more (all in --json)", rule.hides.len() - MAX_LISTED_HIDDEN));
        }
        table.row([
            TableCell::new(display_path(&rule.path), TextStyle::Plain),
            TableCell::new(rule.change.to_string(), TextStyle::Dim),
            TableCell::new(hides.join(", "), TextStyle::Plain),
        ]);
    }
    text.push_str(&table.render("  ", context.out.colour));
    text.push('\n');
    Ok(())
}

fn render_gaps(context: &CommandContext, status: &ProjectStatus, text: &mut String) {
    if status.gaps.is_empty() {
        return;
    }
    let head = format!("Not protected ({}):", status.gaps.len());
    let _ = writeln!(text, "{}\n", context.out.paint(&head, TextStyle::Warn));
    let mut by_reason: BTreeMap<GapReason, Vec<&Gap>> = BTreeMap::new();
    for (gap, _) in &status.gaps {
        by_reason.entry(gap.reason).or_default().push(gap);
    }
    for (reason, gaps) in by_reason {
        let _ = writeln!(text, "  {} ({})", reason_text(reason), gaps.len());
        let mut table = TextTable::default();
        for gap in gaps.iter().take(MAX_LISTED_GAPS) {
            let detail = TableCell::new(escape(&gap.detail), TextStyle::Dim);
            table.row([TableCell::new(display_path(&gap.path), TextStyle::Plain), detail]);
        }
        text.push_str(&table.render("    ", context.out.colour));
        if gaps.len() > MAX_LISTED_GAPS {
            let _ =
                writeln!(text, "    … and {} more (all in --json)", gaps.len() - MAX_LISTED_GAPS);
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

fn describe_facts(status: &ProjectStatus, refresh: Option<&RefreshOutcome>) -> String {
    let mut facts = vec![
        format!("{} tracked", plural(status.files, "file", "files")),
        format!("{} on record", plural(status.changes, "change", "changes")),
        format!("record {}", format_size(status.store_bytes)),
    ];
    let mut add = |count: u64, one: &str, many: &str| {
        if count > 0 {
            facts.push(plural(count, one, many));
        }
    };
    if let Some(refresh) = refresh {
        add(refresh.ignored_count, "name ignored", "names ignored");
        add(refresh.scratch, "scratch file left out", "scratch files left out");
        let nested = refresh.nested_repositories.len() as u64;
        add(nested, "nested repository", "nested repositories");
    }
    add(status.spooled as u64, "event waits", "events wait");
    facts.join(" · ") + "\n"
}

fn render_ignored(context: &CommandContext, refresh: Option<&RefreshOutcome>, text: &mut String) {
    let Some(refresh) = refresh else { return };
    if refresh.ignored.is_empty() {
        text.push_str("Nothing is ignored.\n");
        return;
    }
    let mut table = TextTable::default();
    for ignored in &refresh.ignored {
        let slash = if ignored.is_dir { "/" } else { "" };
        let by = TableCell::new(escape(&ignored.by), TextStyle::Dim);
        table.row([TableCell::new(display_path(&ignored.path) + slash, TextStyle::Plain), by]);
    }
    text.push_str(&table.render("", context.out.colour));
    let more = refresh.ignored_count.saturating_sub(refresh.ignored.len() as u64);
    if more > 0 {
        let _ = writeln!(text, "… and {more} more");
    }
}
