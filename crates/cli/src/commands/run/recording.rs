//! The dialog of a program that is run: one message, one call, and the resulting changes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use retake_engine::model::{
    Actor, CallId, Change, DialogId, Event, EventKind, Millis, ProjectPath,
};
use retake_engine::shell::quoted;
use retake_engine::{ChangeFilter, FileLock, Project};
use retake_service::hook::{RUN_CALL_ID, end_of_run, run_end};
use retake_service::request::{RecordEvents, Submission, new_idempotency_key};
use serde_json::json;

use crate::args::RunArgs;
use crate::commands::run::RUN_DIALOG_VARIABLE;
use crate::context::CommandContext;
use crate::describe::{display_path, plural};
use crate::output::{TextStyle, print_json_message, print_message};

/// Tool name of the call, so that the engine parses the words as a shell command.
const SHELL_TOOL: &str = "shell";
/// Maximum files listed; more are only counted.
const MAX_LISTED_FILES: usize = 10;

/// A run that is being recorded.
pub(super) struct RunRecording {
    project: Project,
    dialog: DialogId,
    kind: String,
    cwd: Option<String>,
    /// The last event before it.
    before: u64,
    /// Held while the run goes on, so that other processes see it is alive.
    _alive_lock: Option<FileLock>,
}

impl RunRecording {
    /// Opens the dialog and the call's window.
    pub(super) fn begin(context: &CommandContext, options: &RunArgs) -> Result<Self> {
        let now = context.now();
        let project = context.retake.open_or_create(context.start_folder(), now)?;
        context.resolve_caller(&project);
        let kind = options.agent.clone().unwrap_or_else(|| program_name(&options.command));
        let dialog = new_dialog(now);
        let recording = Self {
            _alive_lock: project.lock_run(&dialog)?,
            dialog,
            kind,
            cwd: context.cwd.to_str().map(ToOwned::to_owned),
            before: project.last_seq()?,
            project,
        };
        if let Ok(around) = std::env::var(RUN_DIALOG_VARIABLE)
            && let Some(end) = end_of_run(&recording.project, &around)?
        {
            recording.send(context, end)?;
        }
        if let Some(title) = options.dialog.clone() {
            recording.record(context, EventKind::DialogStart { title: Some(title) })?;
        }
        let words: Vec<_> =
            options.command.iter().map(|word| quoted(&word.to_string_lossy())).collect();
        let line = words.join(" ");
        recording.record(context, EventKind::UserMessage { text: line.clone() })?;
        let input = json!({ "command": line });
        let (call, tool) = (Some(CallId::from(RUN_CALL_ID)), SHELL_TOOL.to_owned());
        recording.record(context, EventKind::ToolBegin { call, tool, input })?;
        Ok(recording)
    }

    pub(super) fn dialog(&self) -> &DialogId {
        &self.dialog
    }

    /// Closes the window and the dialog, and prints what changed. A program that a signal killed has
    /// no exit code.
    pub(super) fn end(&self, context: &CommandContext, exit_code: Option<u8>) -> Result<()> {
        self.record(context, run_end(Some(exit_code == Some(0)), exit_code.map(i64::from)))?;
        self.record(context, EventKind::DialogEnd {})?;
        self.project.forget_run(&self.dialog);
        context.carry_out_due_rejections(&self.project);
        self.print_summary(context)
    }

    fn record(&self, context: &CommandContext, what: EventKind) -> Result<()> {
        let mut event = Event::new(self.dialog.clone(), what);
        event.kind = Some(self.kind.clone());
        event.cwd.clone_from(&self.cwd);
        self.send(context, event)
    }

    fn send(&self, context: &CommandContext, event: Event) -> Result<()> {
        let at = context.now();
        let submission = Submission::new(new_idempotency_key(at), event, at);
        for recorded in context
            .run_request(&self.project, RecordEvents { submissions: vec![submission.clone()] })?
        {
            context.relay_to_other_projects(&recorded?, &submission);
        }
        Ok(())
    }

    /// Prints what changed on standard error: standard output is the program's.
    fn print_summary(&self, context: &CommandContext) -> Result<()> {
        let (actors, after) = (vec![Actor::Agent], Some(self.before));
        let changes =
            self.project.changes(&ChangeFilter { actors, after, ..ChangeFilter::default() })?;
        let is_own = |change: &Change| change.dialog.as_ref() == Some(&self.dialog);
        let (own, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(is_own);
        let (own, others) = (RunSummary::of(&own), RunSummary::of(&others));
        if context.json {
            let document = json!({
                "dialog": self.dialog, "agent": self.kind, "files": own.files.len(),
                "added": own.added, "removed": own.removed, "paths": own.names(),
                "files_of_others": others.files.len(),
            });
            print_json_message(&document);
            return Ok(());
        }
        if own.files.is_empty() && others.files.is_empty() {
            print_message("retake", TextStyle::Mark, "no file was changed");
        }
        if !own.files.is_empty() {
            print_message("retake", TextStyle::Mark, &own.describe());
            let name = self.project.dialog_name(&self.dialog);
            let name = name.unwrap_or_else(|_| self.dialog.0.clone());
            print_message(
                "undo",
                TextStyle::Mark,
                &format!("retake rollback --dialog {}", quoted(&name)),
            );
        }
        if !others.files.is_empty() {
            print_message(
                "retake",
                TextStyle::Mark,
                &format!("by agents that report themselves: {}", others.describe()),
            );
            print_message("undo", TextStyle::Mark, "retake undo");
        }
        Ok(())
    }
}

/// Totals of changes.
struct RunSummary {
    files: BTreeSet<ProjectPath>,
    added: u64,
    removed: u64,
}

impl RunSummary {
    fn of(changes: &[Change]) -> Self {
        let lines = || changes.iter().filter_map(|change| change.lines.as_ref());
        Self {
            files: changes.iter().map(|change| change.path.clone()).collect(),
            added: lines().map(|lines| u64::from(lines.added)).sum(),
            removed: lines().map(|lines| u64::from(lines.removed)).sum(),
        }
    }

    fn names(&self) -> Vec<String> {
        self.files.iter().map(display_path).collect()
    }

    /// `2 files changed, +3 -1: a.txt, b.txt`.
    fn describe(&self) -> String {
        let count = plural(self.files.len() as u64, "file", "files");
        let mut names = self.names();
        if names.len() > MAX_LISTED_FILES {
            names.truncate(MAX_LISTED_FILES);
            names.push("…".to_owned());
        }
        format!("{count} changed, +{} -{}: {}", self.added, self.removed, names.join(", "))
    }
}

/// A short id that no other run has: the time, and the process for runs at the same moment.
fn new_dialog(now: Millis) -> DialogId {
    let time = base_36(now.unsigned_abs());
    let process = base_36(u64::from(std::process::id()) % (36 * 36));
    DialogId(format!("run-{time}{process:0>2}"))
}

fn base_36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

/// The program's name without its folder.
fn program_name(command: &[OsString]) -> String {
    let name = command.first().and_then(|program| Path::new(program).file_name());
    name.map_or_else(|| "program".to_owned(), |name| name.to_string_lossy().into_owned())
}
