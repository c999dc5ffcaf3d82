//! The words in which an agent is told what the person says to its work: Markdown.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use retake_model::foreign_text::{escape_text, quote_name};
use retake_model::{
    Change, ChangeId, CommentKind, DialogId, Hunk, OperationId, ProjectPath, ReviewComment,
};
use retake_store::{ChangeFilter, Store, StoreError};

use crate::content::comparable::comparable_content;
use crate::content::diff::lines;
use crate::content::secret_names::usually_holds_secrets;
use crate::feedback::FeedbackItems;
use crate::feedback::anchor::find_anchor;

/// Maximum lines of a rejection or a comment that are quoted.
const MAX_QUOTED_LINES: usize = 20;
/// Maximum files of a rejection that are named.
const MAX_NAMED_FILES: usize = 10;

/// Describes everything that an agent is to be told, as Markdown.
pub(crate) fn describe_feedback(
    store: &Store,
    dialog: &DialogId,
    items: &FeedbackItems,
) -> Result<String, StoreError> {
    let mut text = String::new();
    if !items.added_again.is_empty() {
        text.push_str("The person had rejected lines that you added again:\n");
        for again in &items.added_again {
            let Some(change) = store.change(again.change)? else { continue };
            let _ = write!(text, "- {} ({})", quote_name(change.path.as_bytes()), again.operation);
            push_reason(&mut text, store.rejection_reason(again.operation)?.as_deref());
        }
        text.push_str("Take them out again, or ask the person first.\n");
    }
    if !items.rejections.is_empty() {
        separate(&mut text);
        text.push_str("The person rejected these changes of yours. They are out of the files:\n");
        for operation in &items.rejections {
            describe_rejection(store, &mut text, dialog, *operation)?;
        }
        text.push_str("Do not make them again unless you are asked to.\n");
    }
    if !items.comments.is_empty() {
        separate(&mut text);
        text.push_str("The person commented on your work:\n");
        for comment in &items.comments {
            describe_comment(store, &mut text, comment)?;
        }
        text.push_str("Do what is asked, and answer the questions.\n");
    }
    Ok(text)
}

fn separate(text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
}

fn push_reason(text: &mut String, reason: Option<&str>) {
    match reason {
        Some(reason) => {
            let _ = writeln!(text, ": {}", escape_text(reason).trim());
        }
        None => text.push('\n'),
    }
}

fn describe_rejection(
    store: &Store,
    text: &mut String,
    dialog: &DialogId,
    operation: OperationId,
) -> Result<(), StoreError> {
    let _ = write!(text, "- {operation}");
    push_reason(text, store.rejection_reason(operation)?.as_deref());
    let made =
        ChangeFilter { made_by: Some(operation), oldest_first: true, ..ChangeFilter::default() };
    let (mut left, mut named) = (MAX_QUOTED_LINES, 0);
    for change in store.changes(&made)? {
        let makers = makers_of_rejected(store, operation, &change)?;
        if !makers.contains(&Some(dialog.clone())) {
            continue;
        }
        if named == MAX_NAMED_FILES {
            text.push_str("  - and more files\n");
            break;
        }
        named += 1;
        let _ = writeln!(text, "  - {}{}", quote_name(change.path.as_bytes()), what_went(&change));
        if makers.len() == 1 && !usually_holds_secrets(&change.path) {
            quote_rejected_lines(store, text, &change, &mut left)?;
        }
    }
    Ok(())
}

/// The dialogs whose work a rejection took out of a file; `None` stands for everybody else. Lines of
/// several are not told apart.
fn makers_of_rejected(
    store: &Store,
    operation: OperationId,
    made: &Change,
) -> Result<BTreeSet<Option<DialogId>>, StoreError> {
    let mut rejected: BTreeSet<ChangeId> =
        store.changes_taken_in_part(operation, &made.path)?.into_iter().collect();
    let names = [&made.path, made.from_path()];
    let mut makers = BTreeSet::new();
    rejected.extend(store.marks(operation, true)?.iter().map(|mark| mark.change));
    for id in rejected {
        let Some(change) = store.change(id)? else { continue };
        if names.contains(&&change.path) || names.contains(&change.from_path()) {
            makers.insert(change.dialog);
        }
    }
    Ok(makers)
}

/// Describes what a rejection did to a file, if that is not seen by its lines.
fn what_went(change: &Change) -> &'static str {
    match (change.before.is_absent(), change.after.is_absent()) {
        (false, true) => ", the whole file",
        (true, false) => ", which is back",
        _ if change.old_path.is_some() => ", moved back",
        _ => "",
    }
}

/// Quotes the lines that a rejection took out, and those that it brought back.
fn quote_rejected_lines(
    store: &Store,
    text: &mut String,
    change: &Change,
    left: &mut usize,
) -> Result<(), StoreError> {
    let sides =
        (comparable_content(store, &change.before)?, comparable_content(store, &change.after)?);
    let ((Some(before), Some(after)), Some(changed)) = (sides, &change.lines) else {
        return Ok(());
    };
    if changed.hunks.is_empty() || change.after.is_absent() || change.before.is_absent() {
        return Ok(());
    }
    let (before, after): (Vec<_>, Vec<_>) = (lines(&before).collect(), lines(&after).collect());
    let slice = |all: &[&[u8]], start: u32, count: u32| -> Vec<String> {
        let start = start.saturating_sub(1) as usize;
        let found = all.get(start..start + count as usize).unwrap_or_default();
        found.iter().map(|line| escape_text(line.strip_suffix(b"\n").unwrap_or(line))).collect()
    };
    let quoted = |hunk: &Hunk| {
        // What was rejected is what the agent had added, so it stands with a plus.
        let removed = slice(&after, hunk.new_start, hunk.new_lines).into_iter();
        let added = slice(&before, hunk.old_start, hunk.old_lines).into_iter();
        removed.map(|line| format!("-{line}")).chain(added.map(|line| format!("+{line}"))).collect()
    };
    let all: Vec<String> =
        changed.hunks.iter().flat_map(|hunk| -> Vec<String> { quoted(hunk) }).collect();
    text.push_str("    ```diff\n");
    for line in all.iter().take(*left) {
        let _ = writeln!(text, "    {line}");
    }
    text.push_str("    ```\n");
    if all.len() > *left {
        let _ = writeln!(text, "    and {} more lines", all.len() - *left);
    }
    *left = left.saturating_sub(all.len());
    Ok(())
}

fn describe_comment(
    store: &Store,
    text: &mut String,
    comment: &ReviewComment,
) -> Result<(), StoreError> {
    let kind = match comment.kind {
        CommentKind::Order => "",
        CommentKind::Question => "question, ",
    };
    let place = match &comment.path {
        Some(path) => place_of(store, path, comment)?,
        None => "in general".to_owned(),
    };
    let words = escape_text(&comment.text);
    let mut words = words.trim().lines();
    let first = words.next().unwrap_or_default();
    let _ = writeln!(text, "- #{} ({kind}{place}): {first}", comment.id);
    for line in words {
        let _ = writeln!(text, "  {line}");
    }
    if comment.path.as_ref().is_some_and(usually_holds_secrets) {
        return Ok(());
    }
    let quoted: Vec<_> = comment.anchor.iter().flat_map(|anchor| &anchor.lines).collect();
    for line in quoted.iter().take(MAX_QUOTED_LINES) {
        let _ = writeln!(text, "  > {}", escape_text(line));
    }
    if quoted.len() > MAX_QUOTED_LINES {
        let _ = writeln!(text, "  and {} more lines", quoted.len() - MAX_QUOTED_LINES);
    }
    Ok(())
}

/// Describes where a comment's lines are now.
fn place_of(
    store: &Store,
    path: &ProjectPath,
    comment: &ReviewComment,
) -> Result<String, StoreError> {
    let name = quote_name(path.as_bytes());
    let Some(anchor) = &comment.anchor else { return Ok(name) };
    if anchor.removed {
        return Ok(format!("{name}, removed lines"));
    }
    let entry = store.manifest_entry(path)?;
    let content = entry.map(|entry| comparable_content(store, &entry.state.into())).transpose()?;
    let found = content.flatten().and_then(|content| find_anchor(&content, anchor));
    Ok(match found {
        Some(lines) if lines.len() == 1 => format!("{name}:{}", lines.end),
        Some(lines) => format!("{name}:{}-{}", lines.start + 1, lines.end),
        None => format!("{name}, lines that are gone"),
    })
}
