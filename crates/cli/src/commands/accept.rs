//! `retake accept`: keep what agents changed. Writes no file: the change is in it already.

use anyhow::Result;
use retake_engine::Accepted;
use retake_server::documents;
use retake_server::door::{self, Scope};

use crate::args::Accept;
use crate::commands::scope::{hunks, reviewed};
use crate::context::{Context, Exit};
use crate::describe::plural;

/// Maximum ids listed; more are only counted.
const LISTED: usize = 10;

pub(super) fn run(context: &Context, options: &Accept) -> Result<Exit> {
    let project = context.open_to_write()?;
    let scope = if options.hunk.is_empty() {
        Scope::Changes(reviewed(context, &project, &options.scope)?)
    } else {
        hunks(&options.scope.changes, &options.hunk)
    };
    let accepted = context.ask(&project, door::Accept { scope })?;
    if context.json {
        context.out.json(&documents::Accepted::new(&accepted, &options.hunk))?;
    } else {
        context.out.text(&(told(&accepted, &options.hunk) + "\n"))?;
    }
    Ok(Exit::Done)
}

fn told(accepted: &Accepted, hunks: &[u32]) -> String {
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
            let names =
                if count > LISTED { String::new() } else { format!(" ({})", names.join(", ")) };
            format!("Accepted {}{names}{before}.", plural(count as u64, "change", "changes"))
        }
    }
}
