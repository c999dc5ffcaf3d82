//! Rejection memory: lines that the person rejected are known again when an agent adds them again.
//!
//! White space does not count, nor do lines without anything else. A run counts only as a whole,
//! and only if it says something: closing brackets come back in any edit.

use std::ops::Range;

use retake_model::{Actor, Change, ChangeId, OperationId, ProjectPath};
use retake_store::{AddedAgain, Batch, ChangeFilter, RejectedRun, Store, StoreError};

use crate::content::comparable::comparable_content;
use crate::content::diff::lines;
use crate::content::line_hash::hash_texts;

/// Minimum letters, digits and underscores of lines that are known by themselves.
pub(super) const MIN_WORD_CHARS: usize = 20;
/// Maximum earlier names of a file whose rejections are looked up.
const MAX_OLD_NAMES: usize = 16;

/// Remembers the runs of lines that a rejection took out of files.
pub(crate) fn remember_rejected_runs(
    batch: &Batch<'_>,
    operation: OperationId,
) -> Result<(), StoreError> {
    let made = ChangeFilter { made_by: Some(operation), ..ChangeFilter::default() };
    for change in batch.changes(&made)? {
        for run in removed_runs(batch, &change)? {
            let Some(key) = RunKey::of(&run) else { continue };
            batch.put_rejected_run(&RejectedRun {
                operation,
                path: change.path.clone(),
                digest: key.digest,
                first: key.first,
                lines: key.lines,
            })?;
        }
    }
    Ok(())
}

/// Records which rejected runs an agent's change added again; returns the rejections, newest first.
pub(crate) fn record_added_again(
    batch: &Batch<'_>,
    change: &Change,
) -> Result<Vec<OperationId>, StoreError> {
    if change.actor != Actor::Agent || !batch.has_rejected_runs()? {
        return Ok(Vec::new());
    }
    let mut known = Vec::new();
    for path in names_of(batch, change)? {
        known.extend(batch.rejected_runs(&path)?);
    }
    if known.is_empty() {
        return Ok(Vec::new());
    }
    let before = BareText::of(comparable_content(batch, &change.before)?);
    let after = BareText::of(comparable_content(batch, &change.after)?);
    let mut found: Vec<OperationId> = Vec::new();
    for run in &known {
        // What was there before, indented otherwise say, is not added.
        if !found.contains(&run.operation) && after.count(run) > before.count(run) {
            found.push(run.operation);
        }
    }
    for &operation in &found {
        batch.put_added_again(AddedAgain { change: change.id, operation })?;
    }
    Ok(found)
}

/// The key of a run of lines.
struct RunKey {
    digest: u64,
    first: u64,
    lines: u32,
}

impl RunKey {
    /// `None` for a run that says too little to be known again.
    fn of(texts: &[Vec<u8>]) -> Option<Self> {
        let words: usize = texts.iter().map(|text| word_chars(text)).sum();
        let first = texts.first().filter(|_| words >= MIN_WORD_CHARS)?;
        Some(Self {
            digest: hash_texts(texts.iter().map(Vec::as_slice)),
            first: hash_texts([first.as_slice()]),
            lines: u32::try_from(texts.len()).ok()?,
        })
    }
}

/// A line without white space; `None` if nothing is left.
fn bare_text(line: &[u8]) -> Option<Vec<u8>> {
    let bare: Vec<u8> = line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    (!bare.is_empty()).then_some(bare)
}

/// Letters of other scripts are several bytes, each of which counts.
pub(super) fn word_chars(text: &[u8]) -> usize {
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || !byte.is_ascii();
    text.iter().filter(is_word).count()
}

/// The path of a file after a change, and its earlier names.
fn names_of(store: &Store, change: &Change) -> Result<Vec<ProjectPath>, StoreError> {
    let mut names = vec![change.path.clone()];
    match &change.old_path {
        Some(old) => {
            names.push(old.clone());
            names.extend(earlier_names(store, old, Some(change.id))?);
        }
        None => names.extend(earlier_names(store, &change.path, Some(change.id))?),
    }
    Ok(names)
}

/// The names that a file had before it was moved to a path, the latest first.
pub(crate) fn earlier_names(
    store: &Store,
    path: &ProjectPath,
    before: Option<ChangeId>,
) -> Result<Vec<ProjectPath>, StoreError> {
    let mut names: Vec<ProjectPath> = Vec::new();
    let mut at = (path.clone(), before.unwrap_or(ChangeId(i64::MAX as u64)));
    while names.len() < MAX_OLD_NAMES
        && let Some((old, moved)) = store.last_move_to(&at.0, at.1)?
        && old != *path
        && !names.contains(&old)
    {
        names.push(old.clone());
        at = (old, moved);
    }
    Ok(names)
}

/// The runs of lines that a change removed, each line without white space.
fn removed_runs(store: &Store, change: &Change) -> Result<Vec<Vec<Vec<u8>>>, StoreError> {
    let Some(content) = comparable_content(store, &change.before)? else { return Ok(Vec::new()) };
    let all: Vec<_> = lines(&content).collect();
    let hunks = change.lines.iter().flat_map(|lines| &lines.hunks);
    let places = hunks.filter_map(|hunk| all.get(place(hunk.old_start, hunk.old_lines)));
    Ok(places.map(|run| run.iter().filter_map(|line| bare_text(line)).collect()).collect())
}

/// A content without white space.
struct BareText {
    /// Its lines, but for those of which nothing is left.
    lines: Vec<Vec<u8>>,
    /// The hash of each.
    hashes: Vec<u64>,
}

impl BareText {
    fn of(content: Option<Vec<u8>>) -> Self {
        let lines: Vec<_> = lines(&content.unwrap_or_default()).filter_map(bare_text).collect();
        let hashes = lines.iter().map(|line| hash_texts([line.as_slice()])).collect();
        Self { lines, hashes }
    }

    /// Returns how often a run stands in it.
    fn count(&self, run: &RejectedRun) -> usize {
        let first = self.hashes.iter().enumerate().filter(|(_, hash)| **hash == run.first);
        first
            .filter_map(|(at, _)| self.lines.get(at..at + run.lines as usize))
            .filter(|lines| hash_texts(lines.iter().map(Vec::as_slice)) == run.digest)
            .count()
    }
}

fn place(start: u32, count: u32) -> Range<usize> {
    let start = start.saturating_sub(1) as usize;
    start..start + count as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Option<u64> {
        let texts: Vec<_> =
            text.split('\n').filter_map(|line| bare_text(line.as_bytes())).collect();
        RunKey::of(&texts).map(|key| key.digest)
    }

    #[test]
    fn white_space_does_not_count_and_short_runs_are_not_remembered() {
        let run = "if name == stored {\n    return true;\n}";
        assert_eq!(key(run), key("\tif name==stored {\r\n\n return  true ;\r\n}"));
        assert_ne!(key(run), key("if name == stored {\n    return false;\n}"));
        assert_eq!(key("}\n}\n    )?;\nelse {"), None);
        assert_eq!(key("a_name_of_19_chars_"), None);
        assert!(key("a_name_of_20_chars__").is_some());
        assert!(key("价格表里加上茶和蜂蜜").is_some(), "words of other scripts count");
        assert_eq!(key(""), None);
    }
}
