//! A file without some of its hunks.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{FileState, HunkKind, PathState, ProjectPath};
use retake_store::{StoreError, hash_blob};
use serde::{Deserialize, Serialize};

use crate::content::diff::lines;
use crate::plan::draft::DraftFile;
use crate::review::file::ReviewFile;
use crate::review::hunk::ReviewHunk;

/// Lines of a hunk, by their numbers in it, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HunkLines {
    /// Of the lines that were removed.
    pub removed: BTreeSet<u32>,
    /// Of the lines that were added.
    pub added: BTreeSet<u32>,
}

impl HunkLines {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }

    /// Adds other lines.
    pub(super) fn extend(&mut self, other: &Self) {
        self.removed.extend(&other.removed);
        self.added.extend(&other.added);
    }

    /// Returns whether all of these lines are among them.
    pub(super) fn includes(&self, other: &Self) -> bool {
        other.removed.is_subset(&self.removed) && other.added.is_subset(&self.added)
    }
}

/// Where a file is without some hunks, and what it holds then.
#[derive(Clone, Debug)]
pub(super) struct FileTarget {
    pub(super) path: ProjectPath,
    pub(super) file: DraftFile,
}

/// The hunks that are taken out of a file, by their index; of some only these lines.
pub(super) type ChosenHunks<'a> = BTreeMap<usize, Option<&'a HunkLines>>;

impl ReviewFile {
    /// Returns whether these are all hunks, with all of their lines.
    pub(super) fn is_all(&self, chosen: &ChosenHunks<'_>) -> bool {
        chosen.len() == self.hunks.len() && chosen.values().all(Option::is_none)
    }

    /// Works out the file without the chosen hunks.
    pub(super) fn without(&self, chosen: &ChosenHunks<'_>) -> Result<FileTarget, StoreError> {
        let is_chosen = |kind: HunkKind| {
            let mut all = self.hunks.iter().enumerate();
            all.any(|(at, hunk)| hunk.kind == kind && chosen.get(&at).is_some_and(Option::is_none))
        };
        let base = FileTarget { path: self.old_path.clone(), file: self.base_file.clone() };
        if self.is_all(chosen) || is_chosen(HunkKind::Create) || is_chosen(HunkKind::Delete) {
            return Ok(base);
        }
        let path = if is_chosen(HunkKind::Rename) { &self.old_path } else { &self.path };
        let (Some(now), before) = (self.now.known(), self.base.known()) else {
            return Ok(FileTarget { path: path.clone(), file: self.now.into() });
        };
        let mode = match before {
            Some(before) if is_chosen(HunkKind::Mode) => before.mode,
            _ => now.mode,
        };
        let opaque = [HunkKind::Link, HunkKind::Binary, HunkKind::TooLarge];
        if opaque.into_iter().any(is_chosen)
            && let Some(before) = before
        {
            // What becomes another kind of file takes its mode along.
            let mode = if before.kind == now.kind { mode } else { before.mode };
            let side = PathState::Known(FileState { mode, ..*before });
            let file = DraftFile { side, content: self.base_file.content.clone() };
            return Ok(FileTarget { path: path.clone(), file });
        }
        let mut file: DraftFile = PathState::Known(FileState { mode, ..*now }).into();
        if let Some(bytes) = self.text_without(chosen) {
            let (oid, size) = (hash_blob(&bytes)?, bytes.len() as u64);
            if oid != now.oid {
                file.side = PathState::Known(FileState { mode, oid, size, ..*now });
                file.content = Some(bytes);
            }
        }
        Ok(FileTarget { path: path.clone(), file })
    }

    /// The text of the file now without the chosen places; `None` if it is no text.
    fn text_without(&self, chosen: &ChosenHunks<'_>) -> Option<Vec<u8>> {
        let now: Vec<&[u8]> = lines(self.now_text.as_deref()?).collect();
        let (mut result, mut at): (Vec<&[u8]>, _) = (Vec::new(), 0);
        for (index, hunk) in self.hunks.iter().enumerate() {
            let has_lines = matches!(hunk.kind, HunkKind::Lines | HunkKind::Create);
            let Some(chosen) = chosen.get(&index).filter(|_| has_lines) else { continue };
            result.extend(now.get(at..hunk.new.start)?);
            match chosen {
                None => result.extend(hunk.removed.iter().map(Vec::as_slice)),
                Some(lines) => result.extend(hunk_without(hunk, lines)),
            }
            at = hunk.new.end;
        }
        result.extend(now.get(at..)?);
        Some(join_lines(&result))
    }
}

/// A hunk without some of its lines: what was removed comes back before the line that took its
/// place, what was added goes.
fn hunk_without<'h>(hunk: &'h ReviewHunk, chosen: &HunkLines) -> Vec<&'h [u8]> {
    let mut result: Vec<&[u8]> = Vec::new();
    let rows = hunk.removed.len().max(hunk.added.len());
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    for at in 0..rows {
        if let Some(line) = hunk.removed.get(at).filter(|_| chosen.removed.contains(&number(at))) {
            result.push(line);
        }
        if let Some(line) = hunk.added.get(at).filter(|_| !chosen.added.contains(&number(at))) {
            result.push(line);
        }
    }
    result
}

/// Joins lines; one without a newline gets one where another line follows it.
fn join_lines(lines: &[&[u8]]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(lines.iter().map(|line| line.len()).sum());
    for line in lines {
        if joined.last().is_some_and(|last| *last != b'\n') {
            joined.push(b'\n');
        }
        joined.extend(*line);
    }
    joined
}
