//! Line diffs between two contents: hunks, unified diffs, similarity.

use std::fmt;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use retake_model::{Hunk, LineChanges};

/// Maximum bytes of content that is compared by lines (C-5).
pub const MAX_DIFF_BYTES: u64 = 1024 * 1024;
/// Maximum lines of content that is compared: with few unique lines the diff is quadratic.
const MAX_DIFF_LINES: usize = 100_000;
/// Maximum lines of both sides for a histogram diff; above, Myers is used as for merges. The
/// better hunks of a histogram cost the number of changed places times the number of lines.
const MAX_HISTOGRAM_LINES: usize = 4000;
/// Lines of context around a hunk of a unified diff.
const CONTEXT_LINES: u32 = 3;
/// Bytes at the start of content that are searched for a NUL, as git does.
const BINARY_PROBE_BYTES: usize = 8000;

/// Returns whether content is binary, as git decides: a NUL near its start.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_PROBE_BYTES)].contains(&0)
}

/// Returns whether content has too many bytes or lines to be compared by lines.
pub(crate) fn is_too_large(bytes: &[u8]) -> bool {
    let ends = || bytes.iter().map(|&byte| usize::from(byte == b'\n')).sum::<usize>();
    let may_be_many = bytes.len() > MAX_DIFF_LINES && ends() >= MAX_DIFF_LINES;
    bytes.len() as u64 > MAX_DIFF_BYTES
        || (may_be_many && lines(bytes).nth(MAX_DIFF_LINES).is_some())
}

/// The lines that differ; `None` if one side is binary or too large to compare.
pub(crate) fn line_changes(before: &[u8], after: &[u8]) -> Option<LineChanges> {
    if [before, after].into_iter().any(|bytes| is_binary(bytes) || is_too_large(bytes)) {
        return None;
    }
    let input = InternedInput::new(before, after);
    let diff = compute_diff(&input);
    let hunks = diff.hunks().map(|hunk| to_model_hunk(&hunk)).collect();
    Some(LineChanges { added: diff.count_additions(), removed: diff.count_removals(), hunks })
}

/// The hunks between two lists of lines.
pub(crate) fn hunks_between(before: &[&[u8]], after: &[&[u8]]) -> Vec<Hunk> {
    let mut input = InternedInput::default();
    input.update_before(before.iter().copied());
    input.update_after(after.iter().copied());
    compute_diff(&input).hunks().map(|hunk| to_model_hunk(&hunk)).collect()
}

/// Lines that were replaced by others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineEdit {
    /// The lines before, from 0; none if lines were only added.
    pub(crate) old: Range<usize>,
    /// The lines after; none if lines were only removed.
    pub(crate) new: Range<usize>,
}

/// Computes the edits between two lists of lines with Myers' diff, as merges do.
pub(crate) fn edits_between(before: &[&[u8]], after: &[&[u8]]) -> Vec<LineEdit> {
    let mut input = InternedInput::default();
    input.update_before(before.iter().copied());
    input.update_after(after.iter().copied());
    let lines = |range: Range<u32>| range.start as usize..range.end as usize;
    let edit =
        |hunk: imara_diff::Hunk| LineEdit { old: lines(hunk.before), new: lines(hunk.after) };
    Diff::compute(Algorithm::Myers, &input).hunks().map(edit).collect()
}

fn to_model_hunk(hunk: &imara_diff::Hunk) -> Hunk {
    Hunk {
        old_start: hunk.before.start + 1,
        old_lines: hunk.before.end - hunk.before.start,
        new_start: hunk.after.start + 1,
        new_lines: hunk.after.end - hunk.after.start,
    }
}

/// The lines of a content, each with its end.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n')
}

fn compute_diff(input: &InternedInput<&[u8]>) -> Diff {
    let is_long = input.before.len() + input.after.len() > MAX_HISTOGRAM_LINES;
    let algorithm = if is_long { Algorithm::Myers } else { Algorithm::Histogram };
    let mut diff = Diff::compute(algorithm, input);
    diff.postprocess_lines(input);
    diff
}

/// One line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffLine {
    /// `@@ -a,b +c,d @@`
    Header(HunkHeader),
    /// On both sides.
    Context(Vec<u8>),
    /// Only before.
    Removed(Vec<u8>),
    /// Only after.
    Added(Vec<u8>),
    /// The line above has no newline at its end.
    NoNewline,
}

/// The lines that a hunk of a diff shows, counted from 0; as text, the hunk's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkHeader {
    /// The lines before.
    pub old: Range<u32>,
    /// The lines after.
    pub new: Range<u32>,
}

impl fmt::Display for HunkHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@@ -{} +{} @@", range_text(&self.old), range_text(&self.new))
    }
}

/// The body of a unified diff: hunks with three lines around them.
pub(crate) fn unified_diff(before: &[u8], after: &[u8]) -> Vec<DiffLine> {
    let input = InternedInput::new(before, after);
    let hunks: Vec<_> = compute_diff(&input).hunks().collect();
    let mut lines = Vec::new();
    let mut rest = hunks.as_slice();
    while !rest.is_empty() {
        let group = group_len(rest);
        write_group(&input, &rest[..group], &mut lines);
        rest = &rest[group..];
    }
    lines
}

/// Returns how many leading hunks are shown as one because their context would touch.
fn group_len(hunks: &[imara_diff::Hunk]) -> usize {
    let far =
        |pair: &[imara_diff::Hunk]| pair[1].before.start - pair[0].before.end > 2 * CONTEXT_LINES;
    hunks.windows(2).position(far).map_or(hunks.len(), |at| at + 1)
}

fn write_group(input: &InternedInput<&[u8]>, hunks: &[imara_diff::Hunk], out: &mut Vec<DiffLine>) {
    let (Some(first), Some(last)) = (hunks.first(), hunks.last()) else {
        return;
    };
    let lead = first.before.start.min(CONTEXT_LINES);
    let tail = (input.before.len() as u32 - last.before.end).min(CONTEXT_LINES);
    let old = first.before.start - lead..last.before.end + tail;
    let new = first.after.start - lead..last.after.end + tail;
    let (mut at, end) = (old.start, old.end);
    out.push(DiffLine::Header(HunkHeader { old, new }));
    for hunk in hunks {
        push_lines(input, &input.before, at..hunk.before.start, DiffLine::Context, out);
        push_lines(input, &input.before, hunk.before.clone(), DiffLine::Removed, out);
        push_lines(input, &input.after, hunk.after.clone(), DiffLine::Added, out);
        at = hunk.before.end;
    }
    push_lines(input, &input.before, at..end, DiffLine::Context, out);
}

/// git counts an empty side from the line before it.
fn range_text(range: &Range<u32>) -> String {
    match range.end - range.start {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    }
}

fn push_lines(
    input: &InternedInput<&[u8]>,
    side: &[imara_diff::Token],
    range: Range<u32>,
    kind: fn(Vec<u8>) -> DiffLine,
    out: &mut Vec<DiffLine>,
) {
    for token in &side[range.start as usize..range.end as usize] {
        let line: &[u8] = input.interner[*token];
        let text = line.strip_suffix(b"\n");
        out.push(kind(text.unwrap_or(line).to_vec()));
        if text.is_none() {
            out.push(DiffLine::NoNewline);
        }
    }
}

/// The lines of `after` that `before` does not have, as numbers from 0.
pub(crate) fn added_lines(before: &[u8], after: &[u8]) -> std::collections::HashSet<u32> {
    let input = InternedInput::new(before, after);
    compute_diff(&input).hunks().flat_map(|hunk| hunk.after).collect()
}

/// Returns the lines of `before` that `after` lacks, and the places where `after` inserts
/// lines, both as line numbers of `before` from 0.
pub(crate) fn touched_lines(before: &[u8], after: &[u8]) -> (Vec<u32>, Vec<u32>) {
    let input = InternedInput::new(before, after);
    let diff = compute_diff(&input);
    let removed = diff.hunks().flat_map(|hunk| hunk.before).collect();
    let insertions = diff
        .hunks()
        .filter(imara_diff::Hunk::is_pure_insertion)
        .map(|hunk| hunk.before.start)
        .collect();
    (removed, insertions)
}

/// Returns the similarity of two contents: common lines to all lines, in percent.
pub(crate) fn similarity(before: &[u8], after: &[u8]) -> u32 {
    let input = InternedInput::new(before, after);
    let total = (input.before.len() + input.after.len()) as u32;
    if total == 0 {
        return 0;
    }
    let diff = Diff::compute(Algorithm::Myers, &input);
    let differing = diff.count_additions() + diff.count_removals();
    100 * (total - differing) / total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[DiffLine]) -> String {
        let show = |line: &DiffLine| match line {
            DiffLine::Header(place) => place.to_string(),
            DiffLine::Context(text) => format!(" {}", String::from_utf8_lossy(text)),
            DiffLine::Removed(text) => format!("-{}", String::from_utf8_lossy(text)),
            DiffLine::Added(text) => format!("+{}", String::from_utf8_lossy(text)),
            DiffLine::NoNewline => "\\ No newline at end of file".to_owned(),
        };
        lines.iter().map(|line| show(line) + "\n").collect()
    }

    #[test]
    fn two_small_edits_are_two_hunks_and_not_all_between_w_12() {
        let before: String = (1..=20).flat_map(|n| [n.to_string(), "\n".to_owned()]).collect();
        let after = before.replace("2\n", "two\n").replacen("19\n", "nineteen\n", 1);
        let changes = line_changes(before.as_bytes(), after.as_bytes()).unwrap();
        assert!(changes.hunks.len() >= 2, "{changes:?}");
        assert!(changes.hunks.iter().all(|hunk| hunk.old_lines <= 1));
    }

    #[test]
    fn unified_diff_has_the_form_that_patch_reads() {
        expect_test::expect![[r"
            @@ -1,3 +1,3 @@
             a
            -b
            +B
             c
            \ No newline at end of file
        "]]
        .assert_eq(&text(&unified_diff(b"a\nb\nc", b"a\nB\nc")));
        assert_eq!(text(&unified_diff(b"", b"x\n")), "@@ -0,0 +1 @@\n+x\n");
        assert_eq!(text(&unified_diff(b"x\n", b"")), "@@ -1 +0,0 @@\n-x\n");
    }

    #[test]
    fn binary_content_has_no_lines_and_neither_has_what_has_too_many() {
        assert!(line_changes(b"a\0b", b"c").is_none());
        let most = "\n".repeat(MAX_DIFF_LINES);
        assert!(line_changes(most.as_bytes(), b"c").is_some());
        assert!(line_changes((most + "\n").as_bytes(), b"c").is_none());
    }

    #[test]
    fn a_long_file_has_a_hunk_for_each_place() {
        let text = |changed: &str| -> String {
            (0..MAX_HISTOGRAM_LINES)
                .map(|n| if n % 2 == 0 { format!("{n}\n") } else { format!("{changed}{n}\n") })
                .collect()
        };
        let changes = line_changes(text("").as_bytes(), text("new ").as_bytes()).unwrap();
        assert_eq!(changes.hunks.len(), MAX_HISTOGRAM_LINES / 2);
    }
}
