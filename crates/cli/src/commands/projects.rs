//! `retake projects`: all projects on record, and what of each asks for attention.

use std::path::Path;

use anyhow::Result;
use retake_server::ProjectPool;
use retake_service::documents::{AttentionCounts, AttentionProject};

use crate::args::ProjectsArgs;
use crate::context::{CommandContext, Exit};
use crate::describe::{format_size, plural};
use crate::layout::{Column, TableCell, TextTable};
use crate::output::{TextStyle, print_message, warn};
use crate::time;

pub(super) fn run(context: &CommandContext, options: &ProjectsArgs) -> Result<Exit> {
    let found = ProjectPool::new(context.retake.clone(), time::now).attention(options.limit)?;
    if context.json {
        context.out.json(&found)?;
        return Ok(Exit::Done);
    }
    if found.projects.is_empty() {
        context.out.text("No project is on record yet.\n")?;
        return Ok(Exit::Done);
    }
    let mut table = TextTable::new([
        Column::PATH,
        Column::WRAPPED,
        Column::WHOLE.dropped(2),
        Column::WHOLE.dropped(1),
    ])
    .with_head(["PROJECT", "ATTENTION", "RECORD", "ID"]);
    for project in &found.projects {
        table.row(row(context, project));
    }
    context.out.text(&table.render("", context.out))?;
    if found.more > 0 {
        let more = plural(found.more, "project is", "projects are");
        print_message("note", TextStyle::Mark, &format!("{more} not listed; see -n"));
    }
    for project in &found.projects {
        if let Some(problem) = &project.problem {
            warn(&format!("the record of {} cannot be read: {problem}", project.root));
        }
    }
    Ok(Exit::Done)
}

fn row(context: &CommandContext, project: &AttentionProject) -> [TableCell; 4] {
    let (words, style) = describe(project);
    let size = project.attention.as_ref().map_or_else(String::new, |counts| {
        format!("{} of {}", format_size(counts.store_bytes), format_size(counts.budget_bytes))
    });
    [
        TableCell::new(context.display_folder(Path::new(&project.root)), TextStyle::Plain),
        TableCell::new(words, style),
        TableCell::new(size, TextStyle::Dim),
        TableCell::new(project.id.clone(), TextStyle::Dim),
    ]
}

fn describe(project: &AttentionProject) -> (String, TextStyle) {
    let Some(counts) = &project.attention else {
        return ("cannot be read".to_owned(), TextStyle::Bad);
    };
    let mut words = Vec::new();
    if project.missing {
        words.push("its folder is gone (retake restore --into)".to_owned());
    }
    if project.replaced {
        words.push("another folder is at its path (retake init)".to_owned());
    }
    words.extend(counted(counts));
    let style = if words.is_empty() { TextStyle::Dim } else { TextStyle::Warn };
    (if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }, style)
}

fn counted(counts: &AttentionCounts) -> Vec<String> {
    let mut words = Vec::new();
    for (count, one, many) in [
        (counts.unreviewed_changes, "unreviewed change", "unreviewed changes"),
        (counts.open_calls, "open call", "open calls"),
        (counts.stale_agents, "agent out of date", "agents out of date"),
        (counts.conflicts, "conflict", "conflicts"),
        (counts.gaps, "unprotected path", "unprotected paths"),
        (counts.spooled, "waiting event", "waiting events"),
    ] {
        if count > 0 {
            words.push(plural(count, one, many));
        }
    }
    if let Some(interrupted) = &counts.interrupted {
        words.push(format!("operation {} was interrupted", interrupted.operation));
    }
    if counts.settings_problem.is_some() {
        words.push("its settings cannot be used".to_owned());
    }
    words
}
