//! `retake gc`: keeps the record within its limits.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::Millis;
use retake_engine::{
    DialogForecast, DiskUsage, GcReport, RemovedRecords, RetentionForecast, RetentionReason,
};
use retake_service::documents;
use retake_service::request::CollectGarbage;

use crate::args::GcArgs;
use crate::context::{CommandContext, Exit};
use crate::describe::{format_size, plural};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;
use crate::progress::DelayedProgressBar;

pub(super) fn run(context: &CommandContext, options: &GcArgs) -> Result<Exit> {
    let project = context.open()?;
    let now = context.now();
    if options.dry_run {
        let (forecast, meter) = (project.retention_forecast(now, true)?, project.disk_usage()?);
        if context.json {
            context.out.json(&documents::ForecastDocument::new(&forecast, &meter, now))?;
        } else {
            context.out.text(&render_forecast(context, &forecast, &meter, now))?;
        }
        return Ok(Exit::Done);
    }
    let forecast = project.retention_forecast(now, false)?;
    let mut bar = DelayedProgressBar::new("Collecting");
    let done =
        context.run_request_with_progress(&project, CollectGarbage {}, &mut |done, all| {
            bar.set(done, all);
        })?;
    drop(bar);
    if context.json {
        context.out.json(&documents::CollectedDocument::from(&done))?;
    } else {
        context.out.text(&render_report(context, &done, &forecast, now))?;
    }
    Ok(if done.complete { Exit::Done } else { Exit::Partly })
}

fn render_report(
    context: &CommandContext,
    done: &GcReport,
    forecast: &RetentionForecast,
    now: Millis,
) -> String {
    let mut text = removed_line(&done.removed) + "\n\n";
    let mut table = TextTable::default();
    let head = |text: &str| TableCell::right(text, TextStyle::Bold);
    table.row([TableCell::new("", TextStyle::Plain), head("before"), head("after")]);
    for (name, before, after) in [
        ("content", done.before.content, done.after.content),
        ("records", done.before.records, done.after.records),
        ("on disk", done.before.disk, done.after.disk),
    ] {
        let number = |bytes: u64| TableCell::right(format_size(bytes), TextStyle::Plain);
        table.row([TableCell::new(name, TextStyle::Dim), number(before), number(after)]);
    }
    text.push_str(&table.render("  ", context.out));
    if !done.complete {
        text.push_str("\nNot all was done, because agents were busy; run it again later.\n");
    }
    push_over_limit_line(done.over_bytes, &mut text);
    let later: Vec<_> = forecast.dialogs.iter().filter(|dialog| dialog.from > now).collect();
    if !later.is_empty() {
        text.push_str("\nLater:\n");
        text.push_str(&dialog_table(context, &later, now).render("  ", context.out));
    }
    text
}

fn removed_line(removed: &RemovedRecords) -> String {
    if *removed == RemovedRecords::default() {
        return "Nothing to remove.".to_owned();
    }
    let mut words = Vec::new();
    for (count, one, many) in [
        (removed.dialogs, "dialog", "dialogs"),
        (removed.changes, "change", "changes"),
        (removed.checkpoints, "checkpoint", "checkpoints"),
        (removed.operations, "operation", "operations"),
        (removed.objects, "object", "objects"),
    ] {
        if count > 0 {
            words.push(plural(count, one, many));
        }
    }
    if words.is_empty() {
        words.push(plural(removed.events, "event", "events"));
    }
    format!("Removed {}.", words.join(", "))
}

fn push_over_limit_line(over: u64, text: &mut String) {
    if over > 0 {
        let _ = writeln!(
            text,
            "\nThe record is {} over its limit (retention.max_bytes), and all that is left is \
             protected.",
            format_size(over)
        );
    }
}

fn render_forecast(
    context: &CommandContext,
    forecast: &RetentionForecast,
    meter: &DiskUsage,
    now: Millis,
) -> String {
    let mut text = String::new();
    let total = forecast.changes + forecast.checkpoints + forecast.operations;
    let bytes = forecast.content_bytes.unwrap_or(0);
    if total == 0 && bytes == 0 {
        text.push_str("Nothing would be removed now.\n");
    } else {
        let _ = writeln!(
            text,
            "Would remove {}, {}, {} and {} of content.",
            plural(forecast.changes, "change", "changes"),
            plural(forecast.checkpoints, "checkpoint", "checkpoints"),
            plural(forecast.operations, "operation", "operations"),
            format_size(bytes),
        );
    }
    if !forecast.dialogs.is_empty() {
        let all: Vec<_> = forecast.dialogs.iter().collect();
        let _ = write!(text, "\n{}", dialog_table(context, &all, now).render("  ", context.out));
    }
    let _ = writeln!(
        text,
        "\nThe record takes {} on disk: content {}, records {}.",
        format_size(meter.disk),
        format_size(meter.content),
        format_size(meter.records)
    );
    push_over_limit_line(forecast.over_bytes, &mut text);
    text
}

fn dialog_table(context: &CommandContext, dialogs: &[&DialogForecast], now: Millis) -> TextTable {
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE.dropped(1),
        Column::WHOLE,
        Column::WRAPPED,
        Column::WHOLE,
    ])
    .with_head(["DIALOG", "LAST ACTIVE", "GOES", "WHY", ""]);
    for going in dialogs {
        let when =
            if going.from <= now { "now".to_owned() } else { context.times.show(going.from) };
        let note = if going.unapproved { "has unapproved work" } else { "" };
        table.row([
            TableCell::new(escape(&going.dialog.name), TextStyle::Mark),
            TableCell::new(context.times.show(going.dialog.last_at), TextStyle::Dim),
            TableCell::new(when, TextStyle::Plain),
            TableCell::new(reason_text(going.reason), TextStyle::Plain),
            TableCell::new(note, TextStyle::Warn),
        ]);
    }
    table
}

fn reason_text(reason: RetentionReason) -> &'static str {
    match reason {
        RetentionReason::TooMany => "more dialogs than retention.max_dialogs",
        RetentionReason::TooOld => "older than retention.max_age_days",
        RetentionReason::TooLarge => "the record is larger than retention.max_bytes",
    }
}
