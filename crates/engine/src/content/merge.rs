//! Three-way merge of contents: takes a change back while later changes stay.
//!
//! Pure functions. Lines are merged as `git merge-file` does with Myers' diff (`merge_tests.rs`
//! compares them). Adjacent edits of both sides are a conflict there; here they are one only
//! where the result is ambiguous ([`crate::content::adjacent`]). The style of the line endings is merged
//! separately from the lines: one side may have converted the whole file from LF to CRLF without
//! a conflict with the other. Content that is not text, or is too large to be compared by lines,
//! is left to rules for whole files.

use std::collections::BTreeSet;
use std::num::NonZeroU8;

use gix_merge::blob::Resolution;
use gix_merge::blob::builtin_driver::text;
use retake_model::Hunk;

use crate::content::adjacent::{ConflictLines, contested_lines, merge_adjacent};
use crate::content::diff::{is_binary, is_too_large, lines};

/// Length of conflict markers: git's default.
const MARKER_SIZE: NonZeroU8 =
    NonZeroU8::new(text::Conflict::DEFAULT_MARKER_SIZE).expect("not zero");

/// The result of a three-way merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergeResult {
    /// Both sides' edits are in it.
    Clean(Vec<u8>),
    /// Both sides changed the same lines, or lines that touch, and not in the same way.
    Conflict {
        /// The merge with the conflicts marked, as git marks them with `zdiff3`.
        markers: Vec<u8>,
        /// Number of conflicts that are marked.
        places: usize,
        /// The lines of our side that they are about.
        lines: Vec<ConflictLines>,
    },
    /// A side is binary or too large to be compared by lines.
    NotText,
}

/// The names of the three sides in conflict markers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConflictLabels<'a> {
    /// The common ancestor.
    pub(crate) base: &'a str,
    /// One side.
    pub(crate) ours: &'a str,
    /// The other side.
    pub(crate) theirs: &'a str,
}

/// Merges the changes of `ours` and `theirs` since `base`.
///
/// If a side left `base` as it is, the other side is the result, whatever its content.
pub(crate) fn merge(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    labels: &ConflictLabels<'_>,
) -> MergeResult {
    if ours == base {
        return MergeResult::Clean(theirs.to_vec());
    }
    if theirs == base || ours == theirs {
        return MergeResult::Clean(ours.to_vec());
    }
    if [base, ours, theirs].into_iter().any(|bytes| is_binary(bytes) || is_too_large(bytes)) {
        return MergeResult::NotText;
    }
    match LineEndings::of_merge(base, ours, theirs) {
        None => merge_lines(base, ours, theirs, labels),
        Some(endings) => {
            let [base, ours, theirs] = [base, ours, theirs].map(with_lf);
            match merge_lines(&base, &ours, &theirs, labels) {
                MergeResult::Clean(merged) => MergeResult::Clean(endings.apply_to(merged)),
                MergeResult::Conflict { markers, places, lines } => {
                    MergeResult::Conflict { markers: endings.apply_to(markers), places, lines }
                }
                MergeResult::NotText => MergeResult::NotText,
            }
        }
    }
}

fn merge_lines(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    labels: &ConflictLabels<'_>,
) -> MergeResult {
    let labels = text::Labels {
        ancestor: Some(labels.base.into()),
        current: Some(labels.ours.into()),
        other: Some(labels.theirs.into()),
    };
    let options = text::Options::default();
    // A fresh one for each merge: lines interned by an earlier merge would stay in it.
    #[expect(clippy::default_trait_access, reason = "gix-merge does not export the type")]
    let mut input = Default::default();
    let merge = text::Merge::new(&mut input, ours, base, theirs, options.diff_algorithm);
    let marked =
        |size| text::Conflict::Keep { style: text::ConflictStyle::ZealousDiff3, marker_size: size };
    let mut merged = Vec::new();
    if merge.run(&mut merged, labels, marked(MARKER_SIZE)) != Resolution::Conflict {
        return MergeResult::Clean(merged);
    }
    if let Some(merged) = merge_adjacent(base, ours, theirs) {
        return MergeResult::Clean(merged);
    }
    // Counted with markers longer than any line of the sides that looks like one.
    let size = unambiguous_marker_size(&[base, ours, theirs]);
    let mut counted = Vec::new();
    merge.run(&mut counted, labels, marked(size));
    let places = lines(&counted).filter(|line| leading_run(b'<', line) == usize::from(size.get()));
    let (places, lines) = (places.count().max(1), contested_lines(base, ours, theirs));
    MergeResult::Conflict { places, lines, markers: merged }
}

fn unambiguous_marker_size(sides: &[&[u8]]) -> NonZeroU8 {
    let longest =
        sides.iter().flat_map(|side| lines(side)).map(|line| leading_run(b'<', line)).max();
    let longer = u8::try_from(longest.unwrap_or(0) + 1).unwrap_or(u8::MAX);
    NonZeroU8::new(longer).map_or(MARKER_SIZE, |longer| longer.max(MARKER_SIZE))
}

fn leading_run(sign: u8, line: &[u8]) -> usize {
    line.iter().take_while(|&&byte| byte == sign).count()
}

/// The line endings of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEndings {
    Lf,
    CrLf,
}

/// The content has both LF and CRLF line endings.
struct MixedLineEndings;

impl LineEndings {
    /// Returns the line endings of a content; `None` if it has no newline.
    fn of(bytes: &[u8]) -> Result<Option<Self>, MixedLineEndings> {
        let mut found = None;
        for line in lines(bytes).filter(|line| line.ends_with(b"\n")) {
            let this = if line.ends_with(b"\r\n") { Self::CrLf } else { Self::Lf };
            // With LF, `\r\r\n` would look like CRLF.
            let twice = line.ends_with(b"\r\r\n");
            if twice || *found.get_or_insert(this) != this {
                return Err(MixedLineEndings);
            }
        }
        Ok(found)
    }

    /// Returns the line endings of a merge in which CRLF occurs and every side is consistent: the
    /// side that changed them wins. Otherwise endings are merged with the lines, byte by byte.
    fn of_merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Self> {
        let [Ok(base), Ok(ours), Ok(theirs)] = [base, ours, theirs].map(Self::of) else {
            return None;
        };
        if ![base, ours, theirs].contains(&Some(Self::CrLf)) {
            return None;
        }
        // A side without a newline counts as unchanged.
        let (ours, theirs) = (ours.or(base), theirs.or(base));
        if ours == base { theirs } else { ours.or(theirs) }
    }

    fn apply_to(self, with_lf: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Lf => with_lf,
            Self::CrLf => {
                let end = |line: &[u8]| match line.strip_suffix(b"\n") {
                    Some(text) => [text, b"\r\n"].concat(),
                    None => line.to_vec(),
                };
                lines(&with_lf).flat_map(end).collect()
            }
        }
    }
}

fn with_lf(bytes: &[u8]) -> Vec<u8> {
    let end = |line| match <[u8]>::strip_suffix(line, b"\r\n") {
        Some(text) => [text, b"\n"].concat(),
        None => line.to_vec(),
    };
    lines(bytes).flat_map(end).collect()
}

/// The reason why hunks cannot be reverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RevertHunksError {
    /// There is no such hunk.
    #[error("there is no hunk {}; the change has {count}", index + 1)]
    NoSuchHunk {
        /// Its index, from 0.
        index: usize,
        /// Number of hunks of the change.
        count: usize,
    },
    /// The hunks are not those of these contents.
    #[error("the recorded hunks do not fit the recorded content")]
    DoesNotFit,
}

/// Returns `after` with only the hunks `which` (indices from 0) reverted to `before`.
///
/// `hunks` are all that lie between the two contents, in order: the change's `LineChanges::hunks`.
pub(crate) fn revert_hunks(
    before: &[u8],
    after: &[u8],
    hunks: &[Hunk],
    which: &[usize],
) -> Result<Vec<u8>, RevertHunksError> {
    let count = hunks.len();
    if let Some(&index) = which.iter().find(|&&index| index >= count) {
        return Err(RevertHunksError::NoSuchHunk { index, count });
    }
    let which: BTreeSet<usize> = which.iter().copied().collect();
    let (before, after): (Vec<_>, Vec<_>) = (lines(before).collect(), lines(after).collect());
    let mut result: Vec<u8> = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for (index, hunk) in hunks.iter().enumerate() {
        let old = line_range(hunk.old_start, hunk.old_lines)?;
        let new = line_range(hunk.new_start, hunk.new_lines)?;
        // What lies between two hunks is the same on both sides.
        let kept = after.get(new_at..new.start).ok_or(RevertHunksError::DoesNotFit)?;
        if before.get(old_at..old.start) != Some(kept) {
            return Err(RevertHunksError::DoesNotFit);
        }
        let (removed, added) = (before.get(old.clone()), after.get(new.clone()));
        let (removed, added) = removed.zip(added).ok_or(RevertHunksError::DoesNotFit)?;
        result.extend(kept.concat());
        result.extend(if which.contains(&index) { removed } else { added }.concat());
        (old_at, new_at) = (old.end, new.end);
    }
    let rest = after.get(new_at..).ok_or(RevertHunksError::DoesNotFit)?;
    if before.get(old_at..) != Some(rest) {
        return Err(RevertHunksError::DoesNotFit);
    }
    result.extend(rest.concat());
    Ok(result)
}

fn line_range(start: u32, lines: u32) -> Result<std::ops::Range<usize>, RevertHunksError> {
    let start = start.checked_sub(1).ok_or(RevertHunksError::DoesNotFit)? as usize;
    Ok(start..start + lines as usize)
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
