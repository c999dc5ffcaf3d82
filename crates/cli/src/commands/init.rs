//! `retake init`: start to track a folder, or catch up with one.

use anyhow::Result;
use retake_engine::{InitOptions, InitOutcome, ProjectStatus, ReplacedBy};
use serde_json::json;

use crate::args::InitArgs;
use crate::checkpoint_id;
use crate::commands::recording::recording_line;
use crate::context::{CommandContext, Exit};
use crate::describe::{format_size, plural};
use crate::layout::{TableCell, TextTable};
use crate::output::TextStyle;
use crate::progress::DelayedProgressBar;

pub(super) fn run(context: &CommandContext, options: &InitArgs) -> Result<Exit> {
    let folder = options.folder.as_deref().unwrap_or(context.start_folder());
    let replaced = match (options.same, options.new) {
        (true, _) => Some(ReplacedBy::Same),
        (_, true) => Some(ReplacedBy::New),
        _ => None,
    };
    let (anywhere, checkpoint) = (options.anywhere, options.checkpoint);
    let choices = InitOptions { anywhere, replaced, checkpoint };
    let mut bar = DelayedProgressBar::new("Reading");
    let done = context
        .retake
        .init(folder, choices, context.now(), &mut |done, all| bar.set(done as u64, all as u64))?;
    drop(bar);
    let status = done.project.status()?;
    if context.json {
        context.out.json(&json!({
            "root": done.project.root().to_string_lossy(),
            "id": done.project.id(),
            "store": done.project.folder().to_string_lossy(),
            "new": done.is_new,
            "moved_from": done.moved_from.as_ref().map(|path| path.to_string_lossy()),
            "files": status.files,
            "changes_found": done.looked.changes.len(),
            "gaps": status.gaps.len(),
            "ignored": done.looked.ignored_count,
            "scratch": done.looked.scratch,
            "checkpoint": done.checkpoint.as_ref().map(|checkpoint| checkpoint.id),
            "before": done.before.as_ref().map(|checkpoint| checkpoint.id),
        }))?;
    } else {
        context.out.text(&render_report(context, &done, &status)?)?;
    }
    Ok(Exit::Done)
}

fn render_report(
    context: &CommandContext,
    done: &InitOutcome,
    status: &ProjectStatus,
) -> Result<String> {
    let scan = &done.looked;
    let root = context.display_folder(done.project.root());
    let head = if done.is_new { "Now tracking" } else { "Already tracking" };
    let mut text = format!("{} {}\n", context.out.paint(head, TextStyle::Bold), root);
    let mut table = TextTable::default();
    let mut fact = |name: &str, value: String| {
        table.row([TableCell::new(name, TextStyle::Dim), TableCell::new(value, TextStyle::Plain)]);
    };
    if let Some(from) = &done.moved_from {
        fact("moved from", context.display_folder(from));
    }
    fact("tracked", plural(status.files, "file", "files"));
    if !scan.changes.is_empty() {
        let changes = plural(scan.changes.len() as u64, "change", "changes");
        fact("caught up", format!("{changes} since the last scan (see `retake log --all`)"));
    }
    if scan.ignored_count > 0 {
        let names = plural(scan.ignored_count, "file or folder", "files and folders");
        fact("ignored", format!("{names} (see `retake status --ignored`)"));
    }
    if scan.scratch > 0 {
        fact("scratch", format!("{} left out", plural(scan.scratch, "file", "files")));
    }
    let gaps = match status.gaps.len() {
        0 => "none: everything tracked is protected".to_owned(),
        count => format!("{count} (see `retake status`)"),
    };
    fact("gaps", gaps);
    if let Some(before) = &done.before {
        let short = checkpoint_id::short_checkpoint_id(&done.project, &before.id)?;
        fact(
            "before",
            format!("{short} (`retake restore {short}` brings back what was on record)"),
        );
    }
    if let Some(checkpoint) = &done.checkpoint {
        let short = checkpoint_id::short_checkpoint_id(&done.project, &checkpoint.id)?;
        fact("checkpoint", format!("{short} (come back to it with `retake restore {short}`)"));
    }
    let store = context.display_folder(done.project.folder());
    fact("record", format!("{store} ({})", format_size(status.store_bytes)));
    text.push_str(&table.render("  ", context.out));
    text.push_str(&recording_line(context, Some(&done.project))?);
    Ok(text)
}
