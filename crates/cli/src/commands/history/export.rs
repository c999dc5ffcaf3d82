//! `retake history export`: a conversation as an agent would have written it.

use std::path::Path;

use anyhow::Result;
use retake_engine::model::AgentRef;
use retake_service::Masking;
use retake_service::history::{ExportOptions, export};
use serde_json::json;

use super::resolve_conversation;
use crate::args::HistoryExportArgs;
use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::output_file::{OutputFileOutcome, write_output_file};

pub(super) fn run(context: &CommandContext, options: &HistoryExportArgs) -> Result<Exit> {
    let project = context.open()?;
    let (dialog, agent) = resolve_conversation(&project, &options.conversation)?;
    let how = ExportOptions {
        form: options.form,
        whole: options.whole,
        masking: Masking::Off,
        at: context.now(),
    };
    let text = export(&project, AgentRef { dialog: &dialog, agent: &agent }, how)?;
    let Some(path) = &options.output else {
        context.out.bytes(text.as_bytes())?;
        return Ok(Exit::Done);
    };
    let path = context.cwd.join(path);
    // A conversation is readable by its owner only.
    let written = write_output_file(&path, text.as_bytes(), 0o600, options.force)?;
    let name = |path: &Path| escape(path.as_os_str().as_encoded_bytes());
    if context.json {
        let set_aside = match &written {
            OutputFileOutcome::Replaced(aside) => Some(aside.to_string_lossy()),
            OutputFileOutcome::Unchanged | OutputFileOutcome::Created => None,
        };
        context.out.json(&json!({
            "dialog": dialog.0, "agent": agent.0, "form": options.form.as_str(),
            "file": path.to_string_lossy(), "written": !matches!(written, OutputFileOutcome::Unchanged),
            "kept": set_aside,
        }))?;
        return Ok(Exit::Done);
    }
    context.out.text(&match &written {
        OutputFileOutcome::Unchanged => format!("Nothing new for {}\n", name(&path)),
        OutputFileOutcome::Created => format!("Wrote {}\n", name(&path)),
        OutputFileOutcome::Replaced(aside) => {
            format!("Wrote {}; what it said is in {}\n", name(&path), name(aside))
        }
    })?;
    Ok(Exit::Done)
}
