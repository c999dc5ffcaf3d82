//! `retake accept`: keep what agents changed. Writes no file: the change is in it already.

use anyhow::Result;
use retake_engine::AcceptedChanges;
use retake_service::documents;
use retake_service::request::{self, ChangeScope};

use crate::args::AcceptArgs;
use crate::commands::scope::{hunk_scope, review_selection};
use crate::context::{CommandContext, Exit};
use crate::describe::plural;

/// Maximum ids listed; more are only counted.
const MAX_LISTED_IDS: usize = 10;

pub(super) fn run(context: &CommandContext, options: &AcceptArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let scope = if options.hunk.is_empty() {
        ChangeScope::Changes(review_selection(context, &project, &options.scope)?)
    } else {
        hunk_scope(&options.scope.changes, &options.hunk)
    };
    let accepted = context.run_request(&project, request::AcceptChanges { scope })?;
    if context.json {
        context.out.json(&documents::AcceptedDocument::new(&accepted, &options.hunk))?;
    } else {
        context.out.text(&(describe_accepted(&accepted, &options.hunk) + "\n"))?;
    }
    Ok(Exit::Done)
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
            let names: Vec<_> = accepted.changes.iter().map(ToString::to_string).collect();
            let names = if count > MAX_LISTED_IDS {
                String::new()
            } else {
                format!(" ({})", names.join(", "))
            };
            format!("Accepted {}{names}{before}.", plural(count as u64, "change", "changes"))
        }
    }
}
