//! `retake restore --into`: the files of a state in a new folder, also if the project's own folder
//! is gone.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use retake_engine::model::ProjectPath;
use retake_engine::{Project, ProjectError, RecordError, RescueOptions, RescueReport};
use retake_service::documents::RescueDocument;

use crate::args::RestoreArgs;
use crate::context::{CommandContext, Exit};
use crate::describe::{display_path, format_size, plural};
use crate::escape::escape;
use crate::progress::DelayedProgressBar;

/// Maximum files listed that were not written.
const MAX_LISTED_LEFT: usize = 50;

pub(super) fn run(context: &CommandContext, options: &RestoreArgs, into: &Path) -> Result<Exit> {
    let project = open(context)?;
    let digits = options.checkpoint.as_ref().map(|digits| digits.to_string_lossy());
    let checkpoint = digits.map(|digits| project.find_checkpoint(&digits)).transpose()?;
    let id = checkpoint.as_ref().map(|checkpoint| checkpoint.id.to_string());
    let choices = RescueOptions { checkpoint, paths: resolve_paths(context, &project, options)? };
    let folder = context.cwd.join(into);
    let mut bar = DelayedProgressBar::new("Writing");
    let done = project.rescue(&folder, &choices, &mut |done, all| bar.set(done, all))?;
    drop(bar);
    if context.json {
        context.out.json(&RescueDocument::new(&folder, id, &done))?;
    } else {
        context.out.text(&describe(&folder, &done))?;
    }
    Ok(if done.left_count == 0 { Exit::Done } else { Exit::Partly })
}

/// Opens the project, or the record alone if its folder is gone.
fn open(context: &CommandContext) -> Result<Project> {
    let start = context.cwd.join(context.start_folder());
    let opened = match context.retake.open(&start) {
        Err(ProjectError::Record(RecordError::Gone(_)) | ProjectError::Folder { .. }) => {
            context.retake.open_record(&start)
        }
        opened => opened,
    };
    Ok(opened?)
}

fn resolve_paths(
    context: &CommandContext,
    project: &Project,
    options: &RestoreArgs,
) -> Result<Vec<ProjectPath>> {
    let mut paths = Vec::new();
    for path in &options.paths {
        // Of a project elsewhere, paths are those in it.
        match project.resolve_path(project.root(), &path.to_string_lossy()) {
            Some(path) => paths.push(path),
            None => paths.extend(context.resolve_path(project, path)?),
        }
    }
    Ok(paths)
}

fn describe(folder: &Path, done: &RescueReport) -> String {
    let mut text = format!(
        "Wrote {} ({}) to {}\n",
        plural(done.files, "file", "files"),
        format_size(done.bytes),
        escape(folder.as_os_str().as_encoded_bytes()),
    );
    if done.left_count > 0 {
        let _ = writeln!(text, "Left out {}:", plural(done.left_count, "file", "files"));
    }
    for file in done.left.iter().take(MAX_LISTED_LEFT) {
        let _ = writeln!(text, "  {}: {}", display_path(&file.path), escape(&file.reason));
    }
    if done.left_count > MAX_LISTED_LEFT as u64 {
        let _ = writeln!(text, "  … and {} more", done.left_count - MAX_LISTED_LEFT as u64);
    }
    text
}
