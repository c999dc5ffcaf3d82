//! `retake bug-report`: gathers what a maintainer needs to know, and nothing private.
//!
//! Invariants:
//! - Nothing is sent anywhere, and nothing is written that was not shown or asked for.
//! - Every text in the report went through the [`scrub::Scrubber`], but for those that Retake makes
//!   itself (`scrub::OWN_FIELDS`).
//! - It works where Retake does not: each part that fails is a line of the report.

mod daemon_log;
mod document;
mod gather;
mod private_names;
mod project_part;
mod render;
mod scrub;

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use retake_engine::model::ErrorCode;
use serde_json::{Value, json};

use crate::args::BugReportArgs;
use crate::context::{CommandContext, Exit};
use crate::escape::{escape, escape_json};
use crate::failure::{ApiError, declined_failure};
use crate::output::is_interactive;
use crate::question::confirm;
use document::BugReport;
use scrub::Scrubber;

/// The name of standard output.
const STDOUT: &str = "-";
/// Parts whose texts are names of systems and versions: only words are taken out of them.
const SYSTEM_PARTS: [&str; 3] = ["at", "retake", "system"];

pub(super) fn run(context: &CommandContext, options: &BugReportArgs) -> Result<Exit> {
    let is_stdout = options.output.as_deref().is_some_and(|file| file == Path::new(STDOUT));
    let path = options.output.clone().unwrap_or_else(|| default_path(context));
    let prints_to_stdout = is_stdout || options.output.is_none() && context.json && !options.yes;
    if !prints_to_stdout {
        check_absent(&path)?;
        if !options.yes && !can_show(context) {
            return Err(ApiError::new(
                ErrorCode::NeedsYes,
                "nothing was written: the report is shown before, and there is no terminal",
                "pass -o FILE and --yes, or -o - for standard output",
            )
            .into());
        }
    }
    let text = make_report(context)?;
    if prints_to_stdout {
        context.out.text(&text)?;
        return Ok(Exit::Done);
    }
    if !options.yes && !show_and_ask(context, &text, &path)? {
        return Err(declined_failure("nothing was written").into());
    }
    write_new(&path, text.as_bytes())?;
    report_written(context, &path)
}

fn can_show(context: &CommandContext) -> bool {
    is_interactive() && context.out.terminal
}

/// A name that says when it was made.
fn default_path(context: &CommandContext) -> PathBuf {
    let time = crate::time::format_local(context.now()).replace(['-', ':'], "").replace(' ', "-");
    let extension = if context.json { "json" } else { "md" };
    PathBuf::from(format!("retake-report-{time}.{extension}"))
}

fn make_report(context: &CommandContext) -> Result<String> {
    let report = gather::gather(context);
    let report = scrub_report(&private_names::collect(context), &report)?;
    if context.json {
        return Ok(escape_json(&serde_json::to_string_pretty(&report)?) + "\n");
    }
    Ok(render::render_report(&report))
}

/// Takes what is the person's own out of every text of the report.
fn scrub_report(scrubber: &Scrubber, report: &BugReport) -> Result<BugReport> {
    let mut document = serde_json::to_value(report)?;
    for (part, value) in document.as_object_mut().context("the report is no object")? {
        *value = if SYSTEM_PARTS.contains(&part.as_str()) {
            scrub_system(scrubber, value)
        } else {
            scrubber.scrub_document(value)
        };
    }
    Ok(serde_json::from_value(document)?)
}

fn scrub_system(scrubber: &Scrubber, value: &Value) -> Value {
    match value {
        Value::String(text) => json!(scrubber.scrub_words(text)),
        Value::Object(all) => {
            let scrub = |(key, one): (&String, &Value)| (key.clone(), scrub_system(scrubber, one));
            Value::Object(all.iter().map(scrub).collect())
        }
        other => other.clone(),
    }
}

/// Shows the report, and asks whether it is written.
fn show_and_ask(context: &CommandContext, text: &str, path: &Path) -> Result<bool> {
    context.out.paged(text.as_bytes())?;
    let name = escape(path.as_os_str().as_encoded_bytes());
    confirm(&format!("\nWrite this to {name}?"), None)
}

/// Fails before anything is shown if the file exists.
fn check_absent(path: &Path) -> Result<(), ApiError> {
    if path.symlink_metadata().is_ok() { Err(exists(path)) } else { Ok(()) }
}

fn exists(path: &Path) -> ApiError {
    let message = format!("{} exists already, and is not overwritten", path.display());
    ApiError::new(ErrorCode::Exists, message, "name another file with -o")
}

/// Writes a file that did not exist, for its owner alone.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), ApiError> {
    let failed = |error: &io::Error| {
        let message = format!("cannot write {}: {error}", path.display());
        ApiError::new(ErrorCode::NotWritten, message, "name another file with -o")
    };
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = created.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => failed(&error),
    })?;
    let written =
        retake_seam::fs::write_all(&file, bytes).and_then(|()| retake_seam::fs::sync_file(&file));
    written.map_err(|error| {
        // Half a report is no report; the error says what is wrong.
        let _ = retake_seam::fs::remove_file(path);
        failed(&error)
    })
}

fn report_written(context: &CommandContext, path: &Path) -> Result<Exit> {
    let shown = path.to_string_lossy();
    if context.json {
        context.out.json(&json!({ "written": shown }))?;
    } else {
        let name = escape(shown.as_bytes());
        context.out.text(&format!(
            "Wrote {name}, which only you can read.\n\
             Nothing was sent anywhere: attach it to an issue yourself.\n"
        ))?;
    }
    Ok(Exit::Done)
}
