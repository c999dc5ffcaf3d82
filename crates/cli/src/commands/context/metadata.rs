//! `retake context export` and `import`: the file `task_metadata.json` of other programs.

use std::fs;
use std::path::Path;

use anyhow::Result;
use retake_engine::{Imported, TaskMetadata};
use retake_server::documents::ContextImported;
use retake_server::door::ImportContext;
use serde_json::json;

use crate::args::{ContextExport, ContextImport};
use crate::context::{Context, Exit};
use crate::describe::plural;
use crate::escape::escape;
use crate::failure::Failure;
use crate::output::warn;
use crate::written::{Written, write};

pub(super) fn export(context: &Context, options: &ContextExport) -> Result<Exit> {
    let (project, _) = context.open_and_look()?;
    let (dialog, agent) = super::knower(&project, &options.of)?;
    let metadata = project.export_context(&dialog, &agent)?;
    let text = metadata.to_json()?;
    let Some(path) = &options.output else {
        // The exact file format, with or without --json.
        context.out.bytes(text.as_bytes())?;
        return Ok(Exit::Done);
    };
    let path = context.cwd.join(path);
    let written = write(&path, text.as_bytes(), 0o666, options.force)?;
    let entries = metadata.files_in_context.len();
    if context.json {
        context.out.json(&json!({ "file": path.to_string_lossy(), "entries": entries }))?;
    } else {
        let entries = plural(entries as u64, "entry", "entries");
        let path = escape(path.as_os_str().as_encoded_bytes());
        let kept = match written {
            Written::Replaced(aside) => {
                format!("; what it said is in {}", escape(aside.as_os_str().as_encoded_bytes()))
            }
            Written::Known | Written::New => String::new(),
        };
        context.out.text(&format!("Wrote {entries} to {path}{kept}\n"))?;
    }
    Ok(Exit::Done)
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
