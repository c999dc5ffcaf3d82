//! Resolves the changes named on the command line to the engine's selection.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use retake_engine::model::{AgentId, CallId, Change, ChangeId, DialogId, ErrorCode};
use retake_engine::{ChangeFilter, HunkRequest, Project, ReviewScope, Selection};
use retake_service::request::{self, HunkSelection};

use crate::args::{
    ChangeOrHunkArg, Cli, HunkArg, HunkPlaceArgs, ReviewScopeArgs, RollbackScopeArgs,
};
use crate::commands::hunk_choice::hunk_request;
use crate::commands::review::named_scope;
use crate::context::{CommandContext, resolve_dialog};
use crate::describe::plural;
use crate::failure::ApiError;
use crate::output::warn;
use crate::time::DayBoundary;

/// The changes that fit, of these files and folders if any are named, in the filter's order.
pub(super) fn changes_at(
    context: &CommandContext,
    project: &Project,
    filter: &ChangeFilter,
    paths: &[PathBuf],
) -> Result<Vec<Change>> {
    if paths.is_empty() {
        return Ok(project.changes(filter)?);
    }
    let mut found = BTreeMap::new();
    for path in paths {
        let place = context.resolve_path(project, path)?;
        let changes = project.changes(&ChangeFilter { path: place, ..filter.clone() })?;
        if changes.is_empty() && !context.cwd.join(path).exists() {
            warn(&format!("nothing of {} is on record that fits", path.display()));
        }
        found.extend(changes.into_iter().map(|change| (change.id, change)));
    }
    let changes = found.into_values();
    Ok(if filter.oldest_first { changes.collect() } else { changes.rev().collect() })
}

/// The changes and the hunks that are named to be decided on: one of both.
#[derive(Clone, Debug, Default)]
pub(super) struct DecisionTargets {
    pub(super) changes: Vec<ChangeId>,
    pub(super) hunks: Vec<HunkArg>,
}

impl DecisionTargets {
    /// Sorts what is named; exits if both changes and hunks are.
    pub(super) fn of(scope: &ReviewScopeArgs) -> Self {
        let mut targets = Self::default();
        for target in &scope.targets {
            match target {
                ChangeOrHunkArg::Change(id) => targets.changes.push(*id),
                ChangeOrHunkArg::Hunk(hunk) => targets.hunks.push(hunk.clone()),
            }
        }
        if !targets.changes.is_empty() && !targets.hunks.is_empty() {
            exit_with_usage("name changes or hunks, not both");
        }
        targets
    }

    /// Returns the request for hunks; none if no hunk is named. Exits if options are given that fit
    /// hunks only, or changes only.
    pub(super) fn hunk_request(
        &self,
        context: &CommandContext,
        project: &Project,
        options: HunkOptions<'_>,
    ) -> Result<Option<HunkRequest>> {
        let HunkOptions { scope, place, numbers } = options;
        if self.hunks.is_empty() {
            return match &place.hunk_scope {
                Some(name) if scope.all => {
                    let scope = ReviewScope::of(named_scope(project, name)?);
                    Ok(Some(HunkRequest { scope, hunks: Vec::new(), all: true }))
                }
                None if place.digest.is_none() => Ok(None),
                _ => exit_with_usage("--scope and --digest are about hunks of `retake review`"),
            };
        }
        if !numbers.is_empty() {
            exit_with_usage("--hunk is about the places of one change");
        }
        if !context.no_look {
            context.run_request(project, request::RefreshProject {})?;
        }
        hunk_request(project, &self.hunks, place).map(Some)
    }
}

/// The options of `accept` and `reject` that choose hunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct HunkOptions<'a> {
    pub(super) scope: &'a ReviewScopeArgs,
    pub(super) place: &'a HunkPlaceArgs,
    /// Places of one change, by their numbers.
    pub(super) numbers: &'a [u32],
}

/// Returns the selection of `accept` and `reject`.
pub(super) fn review_selection(
    context: &CommandContext,
    project: &Project,
    scope: &ReviewScopeArgs,
) -> Result<Selection> {
    let path = scope.file.as_deref().map(|path| context.resolve_path(project, path)).transpose()?;
    Ok(Selection {
        changes: DecisionTargets::of(scope).changes,
        path: path.flatten(),
        dialog: scope.dialog.as_deref().map(|text| resolve_dialog(project, text)).transpose()?,
        agent: scope.agent.as_deref().map(|text| find_agent(project, text)).transpose()?,
        ..Selection::default()
    })
}

/// Returns the selection of `rollback`.
pub(super) fn rollback_selection(
    context: &CommandContext,
    project: &Project,
    scope: &RollbackScopeArgs,
) -> Result<Selection> {
    let path = scope.file.as_deref().map(|path| context.resolve_path(project, path)).transpose()?;
    let dialog = match (&scope.dialog, scope.message) {
        (None, None) => None,
        (Some(named), _) => Some(resolve_dialog(project, named)?),
        (None, Some(number)) => Some(only_dialog_with_message(project, number)?),
    };
    if let (Some(dialog), Some(number)) = (&dialog, scope.message) {
        check_message(project, dialog, number)?;
    }
    let after = scope
        .after
        .as_deref()
        .map(|text| context.resolve_time(text, DayBoundary::Start))
        .transpose()?;
    Ok(Selection {
        changes: scope.change.clone(),
        path: path.flatten(),
        dialog,
        agent: scope.agent.as_deref().map(|text| find_agent(project, text)).transpose()?,
        call: scope.call.as_deref().map(|text| find_call(project, text)).transpose()?,
        message: scope.message,
        after,
        ..Selection::default()
    })
}

/// The one dialog that has a message of this number; where several have one, none is meant.
pub(super) fn only_dialog_with_message(project: &Project, number: u64) -> Result<DialogId> {
    let dialogs = project.dialogs()?.into_iter().map(|(dialog, _)| dialog);
    let with_message: Vec<_> = dialogs.filter(|dialog| dialog.turns >= number).collect();
    match with_message.as_slice() {
        [] => Ok(project.latest_dialog()?.id),
        [one] => Ok(one.id.clone()),
        several => {
            let names: Vec<_> = several.iter().map(|dialog| dialog.name.as_str()).collect();
            let message = format!("several dialogs have a message {number}: {}", names.join(", "));
            let hint = "name one with --dialog ID";
            Err(ApiError::new(ErrorCode::NeedsDialog, message, hint).into())
        }
    }
}

/// Returns the scope of hunks of one change.
pub(super) fn hunk_scope(changes: &[ChangeId], numbers: &[u32]) -> request::ChangeScope {
    match changes {
        [one] => {
            request::ChangeScope::Hunks(HunkSelection { change: *one, numbers: numbers.to_vec() })
        }
        _ => exit_with_usage("--hunk is about the places of one change"),
    }
}

/// Exits as clap does for a usage error.
pub(super) fn exit_with_usage(message: &str) -> ! {
    Cli::command().error(ErrorKind::ArgumentConflict, message).exit()
}

/// An agent that some dialog knows.
fn find_agent(project: &Project, text: &str) -> Result<AgentId> {
    let mut agents = project.dialogs()?.into_iter().flat_map(|(_, agents)| agents);
    match agents.find(|agent| agent.id.0 == text) {
        Some(agent) => Ok(agent.id),
        None => Err(ApiError::new(
            ErrorCode::UnknownAgent,
            format!("no dialog has an agent '{text}'"),
            "`retake dialogs` lists the agents of each dialog",
        )
        .into()),
    }
}

/// A tool call that some dialog knows.
fn find_call(project: &Project, text: &str) -> Result<CallId> {
    let call = CallId::from(text);
    for (dialog, _) in project.dialogs()? {
        if project.has_call(&dialog.id, &call)? {
            return Ok(call);
        }
    }
    Err(ApiError::new(
        ErrorCode::UnknownCall,
        format!("no dialog has a call '{text}'"),
        "`retake show` names the call that made a change",
    )
    .into())
}

/// A message that the dialog has.
pub(super) fn check_message(project: &Project, dialog: &DialogId, number: u64) -> Result<()> {
    let has = project.dialog(dialog)?.map_or(0, |dialog| dialog.turns);
    if (1..=has).contains(&number) {
        return Ok(());
    }
    let name = project.dialog_name(dialog)?;
    Err(ApiError::new(
        ErrorCode::UnknownMessage,
        format!(
            "{name} has {}, so there is no message {number}",
            plural(has, "message", "messages")
        ),
        "`retake dialogs` counts them as turns; pass --dialog ID for another dialog",
    )
    .into())
}
