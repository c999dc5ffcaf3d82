//! `retake export`: the record as plain JSON files.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::SnapshotOptions;
use retake_service::documents::ExportedSnapshots;

use crate::args::ExportArgs;
use crate::context::{CommandContext, Exit, resolve_dialog};
use crate::describe::plural;
use crate::progress::DelayedProgressBar;

pub(super) fn run(context: &CommandContext, options: &ExportArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let choices = SnapshotOptions {
        dialog: options.dialog.as_deref().map(|text| resolve_dialog(&project, text)).transpose()?,
        force: options.force,
        with_secrets: options.with_secrets,
    };
    let folder = context.cwd.join(&options.folder);
    let mut bar = DelayedProgressBar::new("Writing");
    let done = project.export_snapshots(&folder, &choices, &mut |done, all| bar.set(done, all))?;
    drop(bar);
    if context.json {
        context.out.json(&ExportedSnapshots::new(&folder, &done))?;
        return Ok(Exit::Done);
    }
    let mut text = format!(
        "Wrote {} of {} to {}\n",
        plural(done.changes, "change", "changes"),
        plural(done.dialogs, "dialog", "dialogs"),
        context.display_folder(&folder.canonicalize().unwrap_or(folder)),
    );
    if done.masked > 0 {
        let contents = plural(done.masked, "content", "contents");
        let secret = "files that usually hold secrets (--with-secrets)";
        let _ = writeln!(text, "Left out {contents} of {secret}");
    }
    if done.missing > 0 {
        let contents = plural(done.missing, "content was", "contents were");
        let _ = writeln!(text, "{contents} not captured, or cannot be read");
    }
    context.out.text(&text)?;
    Ok(Exit::Done)
}
