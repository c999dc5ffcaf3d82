//! `retake purge`: removes bytes from the record for good.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{ErrorCode, ObjectId};
use retake_engine::{Project, PurgeError, PurgeReport, PurgeScope, PurgeTarget};
use retake_service::documents::{PurgeDocument, PurgeForecast};
use retake_service::request;

use crate::args;
use crate::context::{CommandContext, Exit};
use crate::describe::{display_path, format_size, plural};
use crate::failure::{ApiError, declined_failure};
use crate::layout::{Column, TableCell, TextTable};
use crate::output::{TextStyle, is_interactive};
use crate::question::confirm;

/// Maximum paths listed.
const MAX_LISTED_PATHS: usize = 50;

pub(super) fn run(context: &CommandContext, options: &args::PurgeArgs) -> Result<Exit> {
    // The current content counts as a version, so scan first.
    let (project, _) = context.open_and_scan()?;
    let target = resolve_target(context, &project, options)?;
    let scope = project.purge_scope(&target)?;
    if options.dry_run {
        if scope.contents.is_empty() {
            return Err(PurgeError::Nothing(options.what.display().to_string()).into());
        }
        if context.json {
            context.out.json(&PurgeForecast::from(&scope))?;
        } else {
            context.out.text(&render_scope(context, "Would purge", &scope))?;
        }
        return Ok(Exit::Done);
    }
    let is_shown = !options.yes && !scope.contents.is_empty();
    if is_shown {
        if !context.json {
            context.out.text(&render_scope(context, "About to purge", &scope))?;
        }
        confirm_purge()?;
    }
    let seen = is_shown.then(|| scope.content_ids());
    let purge = context.run_request(&project, request::PurgeContent { target, seen })?;
    if context.json {
        context.out.json(&PurgeDocument::from(&purge))?;
    } else {
        context.out.text(&render_report(context, &purge))?;
    }
    let all = purge.is_complete && purge.quoted_by_checkpoints == 0 && purge.shared == 0;
    Ok(if all { Exit::Done } else { Exit::Partly })
}

/// Asks the person for a yes. Without a terminal it is an error: silence is no consent.
fn confirm_purge() -> Result<()> {
    if !is_interactive() {
        return Err(ApiError::new(
            ErrorCode::NeedsYes,
            "this cannot be taken back, and there is no terminal to ask on",
            "look at it with --dry-run, then pass --yes",
        )
        .into());
    }
    if confirm("These bytes cannot be restored afterwards. Purge them?", None)? {
        return Ok(());
    }
    Err(declined_failure("nothing was purged").into())
}

fn resolve_target(
    context: &CommandContext,
    project: &Project,
    options: &args::PurgeArgs,
) -> Result<PurgeTarget> {
    let text = options.what.to_string_lossy();
    if let Ok(oid) = text.parse::<ObjectId>()
        && project.knows_content(&oid)?
    {
        return Ok(PurgeTarget::Content(oid));
    }
    match context.resolve_path(project, &options.what)? {
        Some(path) => Ok(PurgeTarget::Path(path)),
        None => Err(ApiError::new(
            ErrorCode::TooBroad,
            "that is the whole project",
            "name a file or folder of it, or an object id",
        )
        .into()),
    }
}

fn render_scope(context: &CommandContext, act: &str, scope: &PurgeScope) -> String {
    let bytes = scope.contents.iter().map(|(_, size)| size).sum();
    let contents = plural(scope.contents.len() as u64, "content", "contents");
    let mut text = format!(
        "{act} {contents} ({}), named by {}:\n",
        format_size(bytes),
        plural(scope.changes, "change", "changes")
    );
    let mut table = TextTable::new([Column::PATH, Column::WRAPPED]);
    for path in scope.paths.iter().take(MAX_LISTED_PATHS) {
        let note = if scope.current.contains(path) {
            "the file itself stays; it is not captured until it changes"
        } else {
            ""
        };
        table.row([
            TableCell::new(display_path(path), TextStyle::Plain),
            TableCell::new(note, TextStyle::Dim),
        ]);
    }
    text.push_str(&table.render("  ", context.out));
    if scope.paths.len() > MAX_LISTED_PATHS {
        let _ = writeln!(text, "  … and {} more", scope.paths.len() - MAX_LISTED_PATHS);
    }
    text
}

fn render_report(context: &CommandContext, purge: &PurgeReport) -> String {
    let mut text = render_scope(context, "Purged", &purge.scope);
    if purge.calls > 0 {
        let calls = plural(purge.calls, "call", "calls");
        let _ = writeln!(text, "Dropped the arguments of {calls} that touched or quoted it.");
    }
    if purge.events > 0 {
        let messages = plural(purge.events, "message", "messages");
        let _ = writeln!(text, "Dropped {messages} that quoted it.");
    }
    let mut caution = |what: String| {
        let _ = writeln!(text, "{}", context.out.paint(&what, TextStyle::Warn));
    };
    if purge.shared > 0 {
        let contents = plural(purge.shared, "content stays", "contents stay");
        caution(format!("Parts of {contents}, because other content has the same parts."));
    }
    if purge.quoted_by_checkpoints > 0 {
        let points = plural(purge.quoted_by_checkpoints, "checkpoint quotes", "checkpoints quote");
        caution(format!("The message of {points} it and cannot be changed."));
    }
    if !purge.is_complete {
        caution(
            "Old bytes may still be in the database's free space: it was being read, or the \
             disk is full. Run it again, or `retake gc`."
                .to_owned(),
        );
    }
    text.push_str("Backups, swap and the disk's own spare blocks are beyond Retake's reach.\n");
    text
}
