//! `retake history export`: a conversation as an agent would have written it.

use std::path::Path;

use anyhow::Result;
use retake_server::Masking;
use retake_server::history::{Writing, export};
use serde_json::json;

use super::meant;
use crate::args::HistoryExport;
use crate::context::{Context, Exit};
use crate::escape::escape;
use crate::written::{Written, write};

pub(super) fn run(context: &Context, options: &HistoryExport) -> Result<Exit> {
    let project = context.open()?;
    let (dialog, agent) = meant(&project, &options.talk)?;
    let how = Writing {
        form: options.form,
        whole: options.whole,
        masking: Masking::Off,
        at: context.now(),
    };
    let text = export(&project, (&dialog, &agent), how)?;
    let Some(path) = &options.output else {
        context.out.bytes(text.as_bytes())?;
        return Ok(Exit::Done);
    };
    let path = context.cwd.join(path);
    // A conversation is readable by its owner only.
    let written = write(&path, text.as_bytes(), 0o600, options.force)?;
    let name = |path: &Path| escape(path.as_os_str().as_encoded_bytes());
    if context.json {
        let kept = match &written {
            Written::Replaced(aside) => Some(aside.to_string_lossy()),
            Written::Known | Written::New => None,
        };
        context.out.json(&json!({
            "dialog": dialog.0, "agent": agent.0, "form": options.form.as_str(),
            "file": path.to_string_lossy(), "written": !matches!(written, Written::Known),
            "kept": kept,
        }))?;
        return Ok(Exit::Done);
    }
    context.out.text(&match &written {
        Written::Known => format!("Nothing new for {}\n", name(&path)),
        Written::New => format!("Wrote {}\n", name(&path)),
        Written::Replaced(aside) => {
            format!("Wrote {}; what it said is in {}\n", name(&path), name(aside))
        }
    })?;
    Ok(Exit::Done)
}
