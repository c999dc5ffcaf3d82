//! `retake status --short` for shell prompts, and `retake` alone: what waits, in a few words.
//!
//! Invariant: a prompt is never held up. The short form reads the record as it is, starts and asks
//! no daemon, and prints nothing where there is no project or nothing that waits.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::{Project, ProjectStatus};
use serde_json::json;

use super::{next_steps, waiting_files, waiting_headline};
use crate::commands::recording::recording_line;
use crate::context::{CommandContext, Exit};
use crate::describe::format_count;
use crate::escape::escape;
use crate::output::TextStyle;

/// Prints one line, such as `3 unreviewed 1 gap`.
pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    // Without a project, and with a record that cannot be read, a prompt stays empty.
    let counts = match context.retake.open_read_only(context.start_folder()) {
        Ok(project) => ShortCounts::read(&project).ok(),
        Err(_) => None,
    };
    if context.json {
        let document = counts.map(|counts| {
            json!({
                "unreviewed_files": counts.unreviewed,
                "gaps": counts.gaps,
                "interrupted": counts.interrupted,
            })
        });
        context.out.json(&document)?;
    } else if let Some(line) = counts.and_then(|counts| counts.describe()) {
        context.out.text(&(line + "\n"))?;
    }
    Ok(Exit::Done)
}

struct ShortCounts {
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

/// What `retake` alone shows in a project: who is recorded, what waits, and what to do about it.
pub(in crate::commands) fn overview(context: &CommandContext) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let status = project.status()?;
    let root = context.display_folder(project.root());
    let mut text = context.out.paint(&format!("Project {root}"), TextStyle::Dim) + "\n";
    text.push_str(&recording_line(context, Some(&project))?);
    text.push('\n');
    if waiting_files(&status) == 0 {
        text.push_str("Nothing waits for your review.\n");
    } else {
        text.push_str(&describe_waiting(context, &status));
    }
    text.push_str("`retake status` tells more, `retake -h` lists the commands.\n");
    context.out.text(&text)?;
    Ok(Exit::Done)
}

fn describe_waiting(context: &CommandContext, status: &ProjectStatus) -> String {
    let dialogs = status.dialogs.iter().filter_map(|status| status.dialog.as_ref());
    let names: Vec<_> = dialogs.map(|dialog| escape(&dialog.name)).collect();
    let by = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let head = context.out.paint(&waiting_headline(status), TextStyle::Bold);
    let mut text = String::new();
    let _ = writeln!(text, "{head}{by}.\n\n{}", next_steps(context));
    text.pop();
    text
}
