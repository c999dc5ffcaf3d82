//! The part of `retake status` about files that are not protected, and rules that hide files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Gap, GapReason};
use retake_engine::{Project, ProjectStatus};

use crate::context::CommandContext;
use crate::describe::{display_path, format_count};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;

/// Maximum paths listed for each reason why a path is not protected.
const MAX_LISTED_GAPS: usize = 10;
/// Maximum names listed of paths that a rule hides.
const MAX_LISTED_HIDDEN: usize = 5;

/// Lists ignore rules written by agents: the files they hide are no longer recorded.
pub(super) fn render_rule_changes(
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
    let mut table = TextTable::new([Column::PATH, Column::WHOLE, Column::WRAPPED]);
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
    text.push_str(&table.render("  ", context.out));
    text.push('\n');
    Ok(())
}

pub(super) fn render_gaps(context: &CommandContext, status: &ProjectStatus, text: &mut String) {
    if status.gaps.is_empty() {
        return;
    }
    let head = format!("Not protected ({}):", format_count(status.gaps.len() as u64));
    let _ = writeln!(text, "{}\n", context.out.paint(&head, TextStyle::Warn));
    let mut by_reason: BTreeMap<GapReason, Vec<&Gap>> = BTreeMap::new();
    for (gap, _) in &status.gaps {
        by_reason.entry(gap.reason).or_default().push(gap);
    }
    for (reason, gaps) in by_reason {
        let _ = writeln!(text, "  {} ({})", reason_text(reason), gaps.len());
        let mut table = TextTable::new([Column::PATH, Column::WRAPPED]);
        for gap in gaps.iter().take(MAX_LISTED_GAPS) {
            let detail = TableCell::new(escape(&gap.detail), TextStyle::Dim);
            table.row([TableCell::new(display_path(&gap.path), TextStyle::Plain), detail]);
        }
        text.push_str(&table.render("    ", context.out));
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
        GapReason::BeforeFirstLook => "possibly written by an agent before the first scan was done",
        GapReason::NotLooked => "changed by a command that began before it was scanned",
        GapReason::RulesChanged => "ignore rules changed while a command ran",
        GapReason::Purged => "purged from the record, and not taken again until it changes",
    }
}
