//! `retake status --short` for shell prompts: what waits, in a few words.
//!
//! Invariant: a prompt is never held up. The record is read as it is, no daemon is started or asked,
//! and nothing is printed where there is no project or nothing that waits.

use anyhow::Result;
use retake_engine::Project;
use serde::Serialize;

use super::waiting_files;
use crate::context::{CommandContext, Exit};
use crate::describe::format_count;

/// Prints one line, such as `3 unreviewed 1 unprotected`.
pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    // Without a project, and with a record that cannot be read, a prompt stays empty.
    let counts = match context.retake.open_read_only(context.start_folder()) {
        Ok(project) => ShortCounts::read(&project).ok(),
        Err(_) => None,
    };
    if context.json {
        context.out.json(&counts)?;
    } else if let Some(line) = counts.and_then(|counts| counts.describe()) {
        context.out.text(&(line + "\n"))?;
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct ShortCounts {
    #[serde(rename = "unreviewed_files")]
    unreviewed: u64,
    gaps: u64,
    interrupted: bool,
}

impl ShortCounts {
    fn read(project: &Project) -> Result<Self> {
        let status = project.status()?;
        Ok(Self {
            unreviewed: waiting_files(&status),
            gaps: status.gaps.len() as u64,
            interrupted: project.unfinished_operation()?.is_some(),
        })
    }

    fn describe(&self) -> Option<String> {
        let mut words = Vec::new();
        if self.interrupted {
            words.push("interrupted".to_owned());
        }
        if self.unreviewed > 0 {
            words.push(format!("{} unreviewed", format_count(self.unreviewed)));
        }
        if self.gaps > 0 {
            words.push(format!("{} unprotected", format_count(self.gaps)));
        }
        (!words.is_empty()).then(|| words.join(" "))
    }
}
