//! `retake context export` and `import`: the file `task_metadata.json` of other programs.
//!
//! Invariant: a file that holds something else is replaced only on the person's word, and whole.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Result;
use retake_engine::{Imported, TaskMetadata};
use retake_seam::fs::{Permissions, Staged};
use retake_server::documents::ContextImported;
use retake_server::door::ImportContext;
use serde_json::json;

use crate::args::{ContextExport, ContextImport};
use crate::context::{Context, Exit};
use crate::describe::plural;
use crate::escape::escape;
use crate::failure::Failure;
use crate::output::warn;

pub(super) fn export(context: &Context, options: &ContextExport) -> Result<Exit> {
    let (project, _) = context.open_and_look()?;
    let (dialog, agent) = super::knower(&project, &options.of)?;
    let metadata = project.export_context(&dialog, &agent)?;
    let text = metadata.to_json()?;
    let Some(path) = &options.output else {
        // The form itself, exactly, whether programs or people read it.
        context.out.bytes(text.as_bytes())?;
        return Ok(Exit::Done);
    };
    let path = context.cwd.join(path);
    put(&path, text.as_bytes(), options.force)?;
    let entries = metadata.files_in_context.len();
    if context.json {
        context.out.json(&json!({ "file": path.to_string_lossy(), "entries": entries }))?;
    } else {
        let entries = plural(entries as u64, "entry", "entries");
        let path = escape(path.as_os_str().as_encoded_bytes());
        context.out.text(&format!("Wrote {entries} to {path}\n"))?;
    }
    Ok(Exit::Done)
}

/// Writes a file of the person's, whole or not at all.
fn put(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    let cannot = |error: &std::io::Error| {
        let message = format!("cannot write {}: {error}", path.display());
        Failure::new("not_written", message, "name a file in a folder that you may write to")
    };
    match fs::read(path) {
        Ok(there) if there == bytes => return Ok(()),
        Ok(_) if !force => {
            let message = format!("{} holds something else, and stays", path.display());
            return Err(Failure::new("exists", message, "--force replaces it"));
        }
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot(&error)),
        Ok(_) | Err(_) => {}
    }
    let staged = Staged::new(path, bytes, Permissions::New(0o666));
    staged.and_then(Staged::put).map_err(|error| cannot(&error))
}

pub(super) fn import(context: &Context, options: &ContextImport) -> Result<Exit> {
    let metadata = read(&context.cwd.join(&options.file))?;
    let project = context.open_to_write()?;
    let (dialog, agent) = super::knower(&project, &options.of)?;
    let imported = context.ask(&project, ImportContext { dialog, agent, metadata })?;
    if context.json {
        context.out.json(&ContextImported::from(&imported))?;
    } else {
        context.out.text(&told(&imported))?;
        for (path, why) in &imported.skipped {
            warn(&format!("{path} was left out: {why}"));
        }
    }
    Ok(if imported.skipped.is_empty() { Exit::Done } else { Exit::Partly })
}

fn read(path: &Path) -> Result<TaskMetadata, Failure> {
    let bad = |reason: &dyn std::fmt::Display| {
        let message = format!("nothing was taken in from {}: {reason}", path.display());
        let hint = "the file is as it was; correct it, or export it again";
        Failure::new("bad_metadata", message, hint)
    };
    let bytes = fs::read(path).map_err(|error| bad(&error))?;
    TaskMetadata::from_json(&bytes).map_err(|error| bad(&error))
}

fn told(imported: &Imported) -> String {
    let entries = plural(imported.entries as u64, "entry", "entries");
    match imported.known {
        0 => format!("Took in {entries}.\n"),
        known => format!("Took in {entries}; {known} were on record already.\n"),
    }
}
