//! `retake accept`: keep what agents changed, by changes or by hunks of a review. Writes no file: the
//! change is in it already.

use anyhow::Result;
use retake_engine::{AcceptedChanges, HunkChoice, HunkRequest, Project, ReviewedHunks};
use retake_service::describe::list_names;
use retake_service::documents;
use retake_service::request::{self, ChangeScope};

use crate::args::{AcceptArgs, format_lines};
use crate::commands::scope::{DecisionTargets, HunkOptions, hunk_scope, review_selection};
use crate::context::{CommandContext, Exit};
use crate::describe::plural;

/// Maximum ids listed; more are only counted.
const MAX_LISTED_IDS: usize = 10;

pub(super) fn run(context: &CommandContext, options: &AcceptArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let targets = DecisionTargets::of(&options.scope);
    let (scope, place, numbers) = (&options.scope, &options.place, &options.hunk[..]);
    let chosen = HunkOptions { scope, place, numbers };
    if let Some(hunks) = targets.hunk_request(context, &project, chosen)? {
        return keep_hunks(context, &project, &hunks);
    }
    let scope = if options.hunk.is_empty() {
        ChangeScope::Changes(review_selection(context, &project, &options.scope)?)
    } else {
        hunk_scope(&targets.changes, &options.hunk)
    };
    let accepted = context.run_request(&project, request::AcceptChanges { scope })?;
    if context.json {
        context.out.json(&documents::AcceptedDocument::new(&accepted, &options.hunk))?;
    } else {
        context.out.text(&(describe_accepted(&accepted, &options.hunk) + "\n"))?;
    }
    Ok(Exit::Done)
}

/// Keeps hunks of a review.
fn keep_hunks(context: &CommandContext, project: &Project, hunks: &HunkRequest) -> Result<Exit> {
    let done = context.run_request(project, request::KeepHunks { hunks: hunks.clone() })?;
    if context.json {
        context.out.json(&documents::ReviewedHunksDocument::from(&done))?;
    } else {
        context.out.text(&(describe_kept(hunks, &done) + "\n"))?;
    }
    Ok(Exit::Done)
}

/// Describes what keeping hunks did.
pub(super) fn describe_kept(request: &HunkRequest, done: &ReviewedHunks) -> String {
    if done.hunks.is_empty() {
        return "There is no hunk to keep.".to_owned();
    }
    if let [HunkChoice { id, lines: Some(lines), .. }] = request.hunks.as_slice() {
        return format!("Kept lines {} of {id}.", format_lines(lines));
    }
    let kept = plural(done.hunks.len() as u64, "hunk", "hunks");
    let changes: Vec<_> = done.accepted.iter().map(ToString::to_string).collect();
    let accepted = match changes.len() {
        0 => String::new(),
        _ => format!("; with it all of {} is accepted", list_names(&changes, MAX_LISTED_IDS)),
    };
    format!("Kept {kept}{}{accepted}.", named(&done.hunks))
}

fn describe_accepted(accepted: &AcceptedChanges, hunks: &[u32]) -> String {
    if let ([change], false) = (accepted.changes.as_slice(), hunks.is_empty()) {
        let numbers: Vec<_> = hunks.iter().map(ToString::to_string).collect();
        return format!("Accepted hunk {} of {change}.", numbers.join(", "));
    }
    let before = match accepted.already.len() as u64 {
        0 => String::new(),
        1 => "; 1 was accepted before".to_owned(),
        count => format!("; {count} were accepted before"),
    };
    match accepted.changes.len() {
        0 if before.is_empty() => "There is no change to accept.".to_owned(),
        0 => format!("Nothing new to accept{before}."),
        count => {
            let names = named(&accepted.changes);
            format!("Accepted {}{names}{before}.", plural(count as u64, "change", "changes"))
        }
    }
}

/// ` (c1, c2)`; nothing where there are too many to list.
fn named(ids: &[impl ToString]) -> String {
    if ids.len() > MAX_LISTED_IDS {
        return String::new();
    }
    format!(" ({})", ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}
