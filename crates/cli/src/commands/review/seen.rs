//! `retake review --seen` and `--forget`: where "since I looked" begins, and what may come again.

use anyhow::Result;
use retake_service::documents::{ForgottenDocument, ReviewSeenDocument};
use retake_service::request::{ForgetRejections, MarkAllSeen};

use crate::args::ReviewArgs;
use crate::context::{CommandContext, Exit};
use crate::describe::plural;

/// Says that the person has seen everything.
pub(super) fn mark_all(context: &CommandContext) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let seen = context.run_request(&project, MarkAllSeen { seq: None })?;
    if context.json {
        context.out.json(&ReviewSeenDocument { seen })?;
    } else {
        context.out.text("All is seen: `retake review unseen` begins here.\n")?;
    }
    Ok(Exit::Done)
}

/// Forgets what was rejected, in the files that are named or everywhere.
pub(super) fn forget(context: &CommandContext, options: &ReviewArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let words = options.words.iter().map(std::path::PathBuf::from);
    let mut places = Vec::new();
    for path in words.chain(options.paths.iter().cloned()) {
        places.push(context.resolve_path(&project, &path)?);
    }
    if places.is_empty() || places.contains(&None) {
        places = vec![None];
    }
    let mut forgotten = 0;
    for path in places {
        forgotten += context.run_request(&project, ForgetRejections { path })?;
    }
    if context.json {
        context.out.json(&ForgottenDocument { forgotten })?;
    } else if forgotten == 0 {
        context.out.text("Nothing that was rejected is remembered there.\n")?;
    } else {
        let places = plural(forgotten, "rejected place", "rejected places");
        context
            .out
            .text(&format!("Forgot {places}: the same lines may come again unremarked.\n"))?;
    }
    Ok(Exit::Done)
}
