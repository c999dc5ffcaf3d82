//! `retake review`: what agents did, as hunks that a person keeps or takes back.
//!
//! Invariants: listing decides on nothing and does not move "since I looked"; what waits for the end
//! of a turn and is due is carried out before anything is shown, and told.

mod entangled;
mod hunk_lines;
mod hunk_words;
mod list;
mod plain;
mod queue;
mod scope_words;
mod seen;
mod texts;

use anyhow::Result;

use crate::args::ReviewArgs;
use crate::context::{CommandContext, Exit};

pub(in crate::commands) use entangled::EntangledChoice;
pub(crate) use hunk_words::describe_lines;
pub(in crate::commands) use hunk_words::describe_rejected_before;
pub(in crate::commands) use queue::{carry_out_due, describe_queued};
pub(in crate::commands) use scope_words::named_scope;

pub(super) fn run(context: &CommandContext, options: &ReviewArgs) -> Result<Exit> {
    if let Some(id) = options.cancel {
        return queue::cancel(context, id);
    }
    if options.queue {
        return queue::list(context);
    }
    if options.seen {
        return seen::mark_all(context);
    }
    if options.forget {
        return seen::forget(context, options);
    }
    if options.patch || options.report {
        return texts::run(context, options);
    }
    if options.plain {
        return plain::run(context, options);
    }
    list::run(context, options)
}
