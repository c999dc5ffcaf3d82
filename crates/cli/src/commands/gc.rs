//! `retake gc`: keeps the record within its limits.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::Millis;
use retake_engine::{Collected, DialogForecast, Forecast, Meter, Removed, RetentionReason};
use retake_server::documents;
use retake_server::door::Collect;

use crate::args::Gc;
use crate::context::{Context, Exit};
use crate::describe::{plural, size};
use crate::escape::escape;
use crate::output::Style;
use crate::progress::Bar;
use crate::table::{Cell, Table};
use crate::time::local;

pub(super) fn run(context: &Context, options: &Gc) -> Result<Exit> {
    let project = context.open()?;
    let now = context.now();
    if options.dry_run {
        let (forecast, meter) = (project.retention_forecast(now, true)?, project.meter()?);
        if context.json {
            context.out.json(&documents::Forecast::new(&forecast, &meter, now))?;
        } else {
            context.out.text(&forecast_report(context, &forecast, &meter, now))?;
        }
        return Ok(Exit::Done);
    }
    let forecast = project.retention_forecast(now, false)?;
    let mut bar = Bar::new("Collecting");
    let done = context.ask_showing(&project, Collect {}, &mut |done, all| bar.set(done, all))?;
    drop(bar);
    if context.json {
        context.out.json(&documents::Collected::from(&done))?;
    } else {
        context.out.text(&report(context, &done, &forecast, now))?;
    }
    Ok(if done.complete { Exit::Done } else { Exit::Partly })
}

fn report(context: &Context, done: &Collected, forecast: &Forecast, now: Millis) -> String {
    let mut text = removed_line(&done.removed) + "\n\n";
    let mut table = Table::default();
    let head = |text: &str| Cell::right(text, Style::Bold);
    table.row([Cell::new("", Style::Plain), head("before"), head("after")]);
    for (name, before, after) in [
        ("content", done.before.content, done.after.content),
        ("records", done.before.records, done.after.records),
        ("on disk", done.before.disk, done.after.disk),
    ] {
        let number = |bytes: u64| Cell::right(size(bytes), Style::Plain);
        table.row([Cell::new(name, Style::Dim), number(before), number(after)]);
    }
    text.push_str(&table.render("  ", context.out.colour));
    if !done.complete {
        text.push_str("\nNot all was done, because agents were busy; run it again later.\n");
    }
    over_line(done.over_bytes, &mut text);
    let later: Vec<_> = forecast.dialogs.iter().filter(|dialog| dialog.from > now).collect();
    if !later.is_empty() {
        text.push_str("\nLater:\n");
        text.push_str(&dialog_table(&later, now).render("  ", context.out.colour));
    }
    text
}

fn removed_line(removed: &Removed) -> String {
    if *removed == Removed::default() {
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

fn over_line(over: u64, text: &mut String) {
    if over > 0 {
        let _ = writeln!(
            text,
            "\nThe record is {} over its limit (retention.max_bytes), and all that is left is \
             protected.",
            size(over)
        );
    }
}

fn forecast_report(context: &Context, forecast: &Forecast, meter: &Meter, now: Millis) -> String {
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
            size(bytes),
        );
    }
    if !forecast.dialogs.is_empty() {
        let all: Vec<_> = forecast.dialogs.iter().collect();
        let _ = write!(text, "\n{}", dialog_table(&all, now).render("  ", context.out.colour));
    }
    let _ = writeln!(
        text,
        "\nThe record takes {} on disk: content {}, records {}.",
        size(meter.disk),
        size(meter.content),
        size(meter.records)
    );
    over_line(forecast.over_bytes, &mut text);
    text
}

fn dialog_table(dialogs: &[&DialogForecast], now: Millis) -> Table {
    let mut table = Table::default();
    let head = |text: &str| Cell::new(text, Style::Bold);
    table.row([head("DIALOG"), head("LAST ACTIVITY"), head("GOES"), head("WHY"), head("")]);
    for going in dialogs {
        let when = if going.from <= now { "now".to_owned() } else { local(going.from) };
        let note = if going.unapproved { "has unapproved work" } else { "" };
        table.row([
            Cell::new(escape(&going.dialog.id.0), Style::Mark),
            Cell::new(local(going.dialog.last_at), Style::Dim),
            Cell::new(when, Style::Plain),
            Cell::new(reason_text(going.reason), Style::Plain),
            Cell::new(note, Style::Warn),
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
