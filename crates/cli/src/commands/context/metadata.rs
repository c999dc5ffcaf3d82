//! `retake context export` and `import`: the file `task_metadata.json` of other programs.

use std::fs;
use std::path::Path;

use anyhow::Result;
use retake_engine::model::ErrorCode;
use retake_engine::{MetadataImport, TaskMetadata};
use retake_service::documents::ContextImported;
use retake_service::request::ImportContext;
use serde_json::json;

use crate::args::{ContextExportArgs, ContextImportArgs};
use crate::context::{CommandContext, Exit};
use crate::describe::plural;
use crate::escape::escape;
use crate::failure::ApiError;
use crate::output::warn;
use crate::output_file::{OutputFileOutcome, write_output_file};

pub(super) fn export(context: &CommandContext, options: &ContextExportArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let (dialog, agent) = super::resolve_agent(&project, &options.agent_args)?;
    let metadata = project.export_context(&dialog, &agent)?;
    let text = metadata.to_json()?;
    let Some(path) = &options.output else {
        // The exact file format, with or without --json.
        context.out.bytes(text.as_bytes())?;
        return Ok(Exit::Done);
    };
    let path = context.cwd.join(path);
    let written = write_output_file(&path, text.as_bytes(), 0o666, options.force)?;
    let entries = metadata.files_in_context.len();
    if context.json {
        context.out.json(&json!({ "file": path.to_string_lossy(), "entries": entries }))?;
    } else {
        let entries = plural(entries as u64, "entry", "entries");
        let path = escape(path.as_os_str().as_encoded_bytes());
        let set_aside = match written {
            OutputFileOutcome::Replaced(aside) => {
                format!("; what it said is in {}", escape(aside.as_os_str().as_encoded_bytes()))
            }
            OutputFileOutcome::Unchanged | OutputFileOutcome::Created => String::new(),
        };
        context.out.text(&format!("Wrote {entries} to {path}{set_aside}\n"))?;
    }
    Ok(Exit::Done)
}

pub(super) fn import(context: &CommandContext, options: &ContextImportArgs) -> Result<Exit> {
    let metadata = read_metadata(&context.cwd.join(&options.file))?;
    let project = context.open_to_write()?;
    let (dialog, agent) = super::resolve_agent(&project, &options.agent_args)?;
    let imported = context.run_request(&project, ImportContext { dialog, agent, metadata })?;
    if context.json {
        context.out.json(&ContextImported::from(&imported))?;
    } else {
        context.out.text(&describe_imported(&imported))?;
        for (path, why) in &imported.skipped {
            warn(&format!("{path} was left out: {why}"));
        }
    }
    Ok(if imported.skipped.is_empty() { Exit::Done } else { Exit::Partly })
}

fn read_metadata(path: &Path) -> Result<TaskMetadata, ApiError> {
    let bad = |reason: &dyn std::fmt::Display| {
        let message = format!("nothing was imported from {}: {reason}", path.display());
        let hint = "the file is as it was; correct it, or export it again";
        ApiError::new(ErrorCode::BadMetadata, message, hint)
    };
    let bytes = fs::read(path).map_err(|error| bad(&error))?;
    TaskMetadata::from_json(&bytes).map_err(|error| bad(&error))
}

fn describe_imported(imported: &MetadataImport) -> String {
    let entries = plural(imported.entries as u64, "entry", "entries");
    match imported.known {
        0 => format!("Imported {entries}.\n"),
        known => format!("Imported {entries}; {known} were on record already.\n"),
    }
}
