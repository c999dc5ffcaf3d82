//! `retake restore`: put the files into the state of a checkpoint.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use retake_engine::model::{Checkpoint, DialogId, ErrorCode};
use retake_engine::{GoToOptions, Project};
use retake_service::request::PlanRestore;

use crate::args::RestoreArgs;
use crate::checkpoint_id::short_checkpoint_id;
use crate::commands::restore_into;
use crate::commands::scope::{check_message, only_dialog_with_message};
use crate::context::{CommandContext, Exit, resolve_dialog};
use crate::describe::first_words;
use crate::failure::ApiError;
use crate::outcome::{PlanOutcome, apply_plan, describe_consequences, render_summary};

pub(super) fn run(context: &CommandContext, options: &RestoreArgs) -> Result<Exit> {
    if let Some(into) = &options.into {
        return restore_into::run(context, options, into);
    }
    let project = context.open_to_write()?;
    let target = resolve_target(&project, options)?;
    let go_to = GoToOptions {
        paths: resolve_paths(context, &project, options)?,
        dialog: dialog_restriction(&project, options)?,
        exact: options.exact,
        across_git: options.across_git,
    };
    let RestoreTarget { checkpoint, title } = target;
    let what = options.rewind.rewind_target();
    let plan =
        context.run_request(&project, PlanRestore { checkpoint, options: go_to, title, what })?;
    let outcome = apply_plan(context, &project, plan, &options.apply)?;
    outcome.print(context, &project, &options.apply, &|outcome| {
        describe_restored(context, &project, outcome)
    })
}

/// The dialog whose files a restore is limited to; a message implies its dialog.
fn dialog_restriction(project: &Project, options: &RestoreArgs) -> Result<Option<DialogId>> {
    let named = options.dialog.as_deref().filter(|_| options.before_message.is_none());
    named.map(|text| resolve_dialog(project, text)).transpose()
}

/// A checkpoint, and the words by which the person named it.
struct RestoreTarget {
    checkpoint: Checkpoint,
    title: Option<String>,
}

fn resolve_target(project: &Project, options: &RestoreArgs) -> Result<RestoreTarget> {
    let Some(number) = options.before_message else {
        let digits = options.checkpoint.clone().unwrap_or_default();
        let checkpoint = project.find_checkpoint(&digits.to_string_lossy())?;
        return Ok(RestoreTarget { checkpoint, title: None });
    };
    let dialog = match options.dialog.as_deref() {
        Some(named) => resolve_dialog(project, named)?,
        None => only_dialog_with_message(project, number)?,
    };
    check_message(project, &dialog, number)?;
    let message = project.message_of_turn(&dialog, number)?;
    let id = message.as_ref().and_then(|message| message.checkpoint.clone());
    let text = first_words(&message.map(|message| message.text).unwrap_or_default());
    // C-16: the person names the message whose answer is to go.
    let name = project.dialog_name(&dialog)?;
    let id = id.ok_or_else(|| no_checkpoint(&name, number))?;
    let title = format!("restore to before message {number} of {name} (“{text}”)");
    Ok(RestoreTarget { checkpoint: project.find_checkpoint(&id)?, title: Some(title) })
}

fn no_checkpoint(dialog: &str, number: u64) -> ApiError {
    ApiError::new(
        ErrorCode::NoCheckpoint,
        format!("no checkpoint was made before message {number} of {dialog}"),
        "the setting checkpoints.policy asks for them; `retake rollback --message` needs none",
    )
}

/// With `--before-message` the first word is no checkpoint, but a path too.
fn resolve_paths(
    context: &CommandContext,
    project: &Project,
    options: &RestoreArgs,
) -> Result<Vec<retake_engine::model::ProjectPath>> {
    let first: Option<&OsString> =
        options.checkpoint.as_ref().filter(|_| options.before_message.is_some());
    let words = first.map(PathBuf::from).into_iter().chain(options.paths.iter().cloned());
    let mut paths = Vec::new();
    for word in words {
        match context.resolve_path(project, &word)? {
            Some(path) => paths.push(path),
            // The root itself is everything.
            None => return Ok(Vec::new()),
        }
    }
    Ok(paths)
}

fn describe_restored(
    context: &CommandContext,
    project: &Project,
    outcome: &PlanOutcome,
) -> Result<String> {
    let mut text = render_summary(context, project, outcome)?;
    if let Some(id) = &outcome.checkpoint {
        let _ = writeln!(
            text,
            "The restored state is checkpoint {}.",
            short_checkpoint_id(project, id)?
        );
    }
    text.push_str(&describe_consequences(project, &outcome.plan)?);
    Ok(text)
}
