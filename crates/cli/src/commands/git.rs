//! `retake git`: a dialog's checkpoints, seen with git.

use std::os::unix::process::CommandExt as _;

use anyhow::Result;
use retake_engine::{ExportError, ExportedRepo, git_command};
use serde_json::json;

use crate::args::GitArgs;
use crate::context::{CommandContext, Exit, resolve_dialog};
use crate::escape::escape;
use crate::layout::{TableCell, TextTable};
use crate::output::TextStyle;
use crate::progress::DelayedProgressBar;

pub(super) fn run(context: &CommandContext, options: &GitArgs) -> Result<Exit> {
    let project = context.open()?;
    let dialog = match (&options.dialog, options.no_dialog) {
        (Some(text), _) => Some(resolve_dialog(&project, text)?),
        (None, true) => None,
        (None, false) => project.latest_dialog_with_checkpoints()?,
    };
    let mut bar = DelayedProgressBar::new("Writing");
    let exported = project.export_git(dialog.as_ref(), &mut |done, all| bar.set(done, all))?;
    drop(bar);
    if options.arguments.is_empty() {
        return show_export(context, dialog.as_ref().map(|id| id.0.as_str()), &exported);
    }
    // git takes this process's place: its output, its signals and its exit code are git's own.
    let error = git_command(&exported, &options.arguments).exec();
    Err(match error.kind() {
        std::io::ErrorKind::NotFound => ExportError::GitMissing.into(),
        _ => anyhow::Error::new(error).context("git cannot be started"),
    })
}

fn show_export(
    context: &CommandContext,
    dialog: Option<&str>,
    exported: &ExportedRepo,
) -> Result<Exit> {
    let folder = &exported.folder;
    if context.json {
        let refs: Vec<_> = exported
            .refs
            .iter()
            .map(|(name, oid)| json!({ "name": name, "commit": oid.to_string() }))
            .collect();
        context.out.json(&json!({
            "folder": folder.to_string_lossy(),
            "dialog": dialog,
            "refs": refs,
            "written": exported.written,
            "purged": exported.purged,
        }))?;
        return Ok(Exit::Done);
    }
    let mut table = TextTable::default();
    for (name, oid) in &exported.refs {
        let name = name.strip_prefix("refs/heads/").unwrap_or(name);
        table.row([
            TableCell::new(name, TextStyle::Mark),
            TableCell::new(oid.to_string(), TextStyle::Dim),
        ]);
    }
    let of =
        dialog.map_or("outside of dialogs".to_owned(), |dialog| format!("of {}", escape(dialog)));
    let folder = context.display_folder(folder);
    let text = format!(
        "Checkpoints {of} in {folder}\n{}\nInspect them with `retake git -- log --graph --all`.\n",
        table.render("  ", context.out)
    );
    context.out.text(&text)?;
    Ok(Exit::Done)
}
