//! `retake purge`: removes bytes from the record for good.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::ObjectId;
use retake_engine::{Project, Purge, PurgeError, PurgeScope, PurgeTarget};
use retake_server::documents::{PurgeForecast, Purged};
use retake_server::door;

use crate::args;
use crate::confirm::confirm;
use crate::context::{Context, Exit};
use crate::describe::{name, plural, size};
use crate::failure::Failure;
use crate::output::{Style, warn};
use crate::table::{Cell, Table};

/// Maximum paths listed.
const MOST_PATHS: usize = 50;

pub(super) fn run(context: &Context, options: &args::Purge) -> Result<Exit> {
    // The current content counts as a version, so scan first.
    let (project, _) = context.open_and_look()?;
    let target = target(context, &project, options)?;
    let scope = project.purge_scope(&target)?;
    if options.dry_run {
        if scope.contents.is_empty() {
            return Err(PurgeError::Nothing(options.what.display().to_string()).into());
        }
        if context.json {
            context.out.json(&PurgeForecast::from(&scope))?;
        } else {
            context.out.text(&scope_report(context, "Would purge", &scope))?;
        }
        return Ok(Exit::Done);
    }
    if !options.yes && !scope.contents.is_empty() {
        if !context.json {
            context.out.text(&scope_report(context, "About to purge", &scope))?;
        }
        if !confirm("These bytes cannot be restored afterwards. Purge them?")? {
            warn("nothing was purged");
            return Ok(Exit::Problem);
        }
    }
    let purge = context.ask(&project, door::Purge { target })?;
    if context.json {
        context.out.json(&Purged::from(&purge))?;
    } else {
        context.out.text(&report(context, &purge))?;
    }
    let all = purge.is_complete && purge.quoted_by_checkpoints == 0 && purge.shared == 0;
    Ok(if all { Exit::Done } else { Exit::Partly })
}

fn target(context: &Context, project: &Project, options: &args::Purge) -> Result<PurgeTarget> {
    let text = options.what.to_string_lossy();
    if let Ok(oid) = text.parse::<ObjectId>()
        && project.knows_content(&oid)?
    {
        return Ok(PurgeTarget::Content(oid));
    }
    match context.path(project, &options.what)? {
        Some(path) => Ok(PurgeTarget::Path(path)),
        None => Err(Failure::new(
            "too_broad",
            "that is the whole project",
            "name a file or folder of it, or an object id",
        )
        .into()),
    }
}

fn scope_report(context: &Context, act: &str, scope: &PurgeScope) -> String {
    let bytes = scope.contents.iter().map(|(_, size)| size).sum();
    let contents = plural(scope.contents.len() as u64, "content", "contents");
    let mut text = format!(
        "{act} {contents} ({}), named by {}:\n",
        size(bytes),
        plural(scope.changes, "change", "changes")
    );
    let mut table = Table::default();
    for path in scope.paths.iter().take(MOST_PATHS) {
        let note = if scope.current.contains(path) {
            "the file itself stays; it is not captured until it changes"
        } else {
            ""
        };
        table.row([Cell::new(name(path), Style::Plain), Cell::new(note, Style::Dim)]);
    }
    text.push_str(&table.render("  ", context.out.colour));
    if scope.paths.len() > MOST_PATHS {
        let _ = writeln!(text, "  … and {} more", scope.paths.len() - MOST_PATHS);
    }
    text
}

fn report(context: &Context, purge: &Purge) -> String {
    let mut text = scope_report(context, "Purged", &purge.scope);
    if purge.calls > 0 {
        let calls = plural(purge.calls, "call", "calls");
        let _ = writeln!(text, "Dropped the arguments of {calls} that touched or quoted it.");
    }
    if purge.events > 0 {
        let messages = plural(purge.events, "message", "messages");
        let _ = writeln!(text, "Dropped {messages} that quoted it.");
    }
    let mut caution = |what: String| {
        let _ = writeln!(text, "{}", context.out.paint(&what, Style::Warn));
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
            "Old bytes may still be in the database's free space: somebody was reading, or the \
             disk is full. Run it again, or `retake gc`."
                .to_owned(),
        );
    }
    text.push_str("Backups, swap and the disk's own spare blocks are beyond Retake's reach.\n");
    text
}
