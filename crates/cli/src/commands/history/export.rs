//! `retake history export`: a conversation as an agent would have written it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Result;
use retake_seam::fs::{Permissions, Staged};
use retake_server::Masking;
use retake_server::history::{Writing, export};
use serde_json::json;

use super::meant;
use crate::args::HistoryExport;
use crate::context::{Context, Exit};
use crate::escape::escape;
use crate::failure::Failure;

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
    let written = write(&path, text.as_bytes(), options.force)?;
    if context.json {
        context.out.json(&json!({
            "dialog": dialog.0, "agent": agent.0, "form": options.form.as_str(),
            "file": path.to_string_lossy(), "written": written,
        }))?;
        return Ok(Exit::Done);
    }
    let name = escape(path.as_os_str().as_encoded_bytes());
    let act = if written { "Wrote" } else { "Nothing new for" };
    context.out.text(&format!("{act} {name}\n"))?;
    Ok(Exit::Done)
}

/// Writes a file as a whole; `false` if it says so already. One that says otherwise stays, unless
/// `force` is set.
fn write(path: &Path, bytes: &[u8], force: bool) -> Result<bool, Failure> {
    let cannot = |error: &std::io::Error| {
        let message = format!("cannot write {}: {error}", path.display());
        Failure::new("not_written", message, "name another file, or see who owns that folder")
    };
    // What a link points at is written, not the link. Anything but a plain file, such as a pipe,
    // could keep us waiting, and would be replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::symlink_metadata(path) {
        Ok(known) if !known.is_file() => {
            return Err(cannot(&std::io::Error::other("it is there and no regular file")));
        }
        _ => {}
    }
    match fs::read(path) {
        Ok(there) if there == bytes => return Ok(false),
        Ok(_) if !force => {
            let message = format!("{} is there already, and says something else", path.display());
            return Err(Failure::new("exists", message, "name another file, or pass --force"));
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(cannot(&error)),
    }
    // What agents and people said is for its owner alone.
    let staged = Staged::new(path, bytes, Permissions::New(0o600));
    staged.and_then(Staged::put).map_err(|error| cannot(&error))?;
    Ok(true)
}
