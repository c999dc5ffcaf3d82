//! Line diffs between two contents: hunks, unified diffs, similarity.

use std::fmt;
use std::hash::Hash;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use retake_model::{Hunk, LineChanges};

use crate::content::line_rules::{DiffOptions, is_blank};

/// Maximum bytes of content that is compared by lines (C-5).
pub const MAX_DIFF_BYTES: u64 = 1024 * 1024;
/// Maximum lines of content that is compared: with few unique lines the diff is quadratic.
const MAX_DIFF_LINES: usize = 100_000;
/// Maximum lines of both sides for a histogram diff; above, Myers is used as for merges. The
/// better hunks of a histogram cost the number of changed places times the number of lines.
const MAX_HISTOGRAM_LINES: usize = 4000;
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

fn compute_diff<T: AsRef<[u8]> + Eq + Hash>(input: &InternedInput<T>) -> Diff {
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

/// The body of a unified diff: hunks with lines around them.
pub(crate) fn unified_diff(before: &[u8], after: &[u8], options: &DiffOptions) -> Vec<DiffLine> {
    let comparison = LineComparison::new(before, after, options);
    let mut out = Vec::new();
    let mut rest = comparison.hunks.as_slice();
    while !rest.is_empty() {
        let (group, tail) = rest.split_at(group_len(rest, options.context));
        if !(options.ignore_blank_lines && group.iter().all(|hunk| comparison.is_blank(hunk))) {
            comparison.write_group(group, options.context, &mut out);
        }
        rest = tail;
    }
    out
}

/// Returns how many leading hunks are shown as one because their context would touch.
fn group_len(hunks: &[imara_diff::Hunk], context: Option<u32>) -> usize {
    let Some(context) = context else { return hunks.len() };
    let far = |pair: &[imara_diff::Hunk]| {
        pair[1].before.start - pair[0].before.end > context.saturating_mul(2)
    };
    hunks.windows(2).position(far).map_or(hunks.len(), |at| at + 1)
}

/// The lines of both sides, and where they differ by the rules of the comparison.
struct LineComparison<'a> {
    before: Vec<&'a [u8]>,
    after: Vec<&'a [u8]>,
    hunks: Vec<imara_diff::Hunk>,
}

impl<'a> LineComparison<'a> {
    fn new(before: &'a [u8], after: &'a [u8], options: &DiffOptions) -> Self {
        let (before, after): (Vec<_>, Vec<_>) = (lines(before).collect(), lines(after).collect());
        let mut input = InternedInput::default();
        input.update_before(before.iter().map(|line| options.key_of(line)));
        input.update_after(after.iter().map(|line| options.key_of(line)));
        let hunks = compute_diff(&input).hunks().collect();
        Self { before, after, hunks }
    }

    fn is_blank(&self, hunk: &imara_diff::Hunk) -> bool {
        let old = slice(&self.before, &hunk.before).iter();
        old.chain(slice(&self.after, &hunk.after)).all(|line| is_blank(line))
    }

    /// Where lines count as the same without being it, those of the side after are shown.
    fn write_group(
        &self,
        hunks: &[imara_diff::Hunk],
        context: Option<u32>,
        out: &mut Vec<DiffLine>,
    ) {
        let (Some(first), Some(last)) = (hunks.first(), hunks.last()) else {
            return;
        };
        let shown = |lines: u32| context.map_or(lines, |context| lines.min(context));
        let lead = shown(first.before.start);
        let tail = shown(self.before.len() as u32 - last.before.end);
        let old = first.before.start - lead..last.before.end + tail;
        let new = first.after.start - lead..last.after.end + tail;
        let (mut at, end) = (new.start, new.end);
        out.push(DiffLine::Header(HunkHeader { old, new }));
        for hunk in hunks {
            push_lines(slice(&self.after, &(at..hunk.after.start)), DiffLine::Context, out);
            push_lines(slice(&self.before, &hunk.before), DiffLine::Removed, out);
            push_lines(slice(&self.after, &hunk.after), DiffLine::Added, out);
            at = hunk.after.end;
        }
        push_lines(slice(&self.after, &(at..end)), DiffLine::Context, out);
    }
}

fn slice<'l, 'a>(lines: &'l [&'a [u8]], range: &Range<u32>) -> &'l [&'a [u8]] {
    &lines[range.start as usize..range.end as usize]
}

/// git counts an empty side from the line before it.
fn range_text(range: &Range<u32>) -> String {
    match range.end - range.start {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    }
}

fn push_lines(lines: &[&[u8]], kind: fn(Vec<u8>) -> DiffLine, out: &mut Vec<DiffLine>) {
    for line in lines {
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

    fn diff(before: &str, after: &str) -> Vec<DiffLine> {
        unified_diff(before.as_bytes(), after.as_bytes(), &DiffOptions::default())
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
        .assert_eq(&text(&diff("a\nb\nc", "a\nB\nc")));
        assert_eq!(text(&diff("", "x\n")), "@@ -0,0 +1 @@\n+x\n");
        assert_eq!(text(&diff("x\n", "")), "@@ -1 +0,0 @@\n-x\n");
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

    #[test]
    fn context_is_as_long_as_asked_for() {
        let before: String = (1..=30).flat_map(|n| [n.to_string(), "\n".to_owned()]).collect();
        let after = before.replace("10\n", "ten\n").replace("20\n", "twenty\n");
        let shown = |context| {
            let options = DiffOptions { context, ..DiffOptions::default() };
            unified_diff(before.as_bytes(), after.as_bytes(), &options)
        };
        let count = |lines: &[DiffLine], what: fn(&DiffLine) -> bool| {
            lines.iter().filter(|line| what(line)).count()
        };
        let is_header = |line: &DiffLine| matches!(line, DiffLine::Header(_));
        let is_context = |line: &DiffLine| matches!(line, DiffLine::Context(_));
        for (context, hunks, around) in [
            (Some(0), 2, 0),
            (Some(1), 2, 4),
            (Some(4), 2, 16),
            (Some(5), 1, 9 + 5 + 5),
            (Some(u32::MAX), 1, 28),
            (None, 1, 28),
        ] {
            let lines = shown(context);
            let seen = (count(&lines, is_header), count(&lines, is_context));
            assert_eq!(seen, (hunks, around), "{context:?}: {}", text(&lines));
        }
        assert_eq!(
            unified_diff(b"a\n", b"a\n", &DiffOptions { context: None, ..DiffOptions::default() }),
            []
        );
    }

    #[test]
    fn a_rewrite_of_line_endings_shows_what_else_changed() {
        let options = DiffOptions { ignore_line_endings: true, ..DiffOptions::default() };
        let (before, after) = ("a\nb\nc\n", "a\r\nB\r\nc\r\n");
        let lines = unified_diff(before.as_bytes(), after.as_bytes(), &options);
        assert_eq!(text(&lines), "@@ -1,3 +1,3 @@\n a\r\n-b\n+B\r\n c\r\n");
        assert_eq!(unified_diff(b"a\nb\n", b"a\r\nb\r\n", &options), []);
    }

    #[test]
    fn blank_lines_are_left_out_unless_they_are_in_the_context_of_others() {
        let options = DiffOptions { ignore_blank_lines: true, ..DiffOptions::default() };
        let before: String = (1..=30).flat_map(|n| [n.to_string(), "\n".to_owned()]).collect();
        let diff = |after: &str| text(&unified_diff(before.as_bytes(), after.as_bytes(), &options));
        assert_eq!(diff(&before.replace("5\n", "5\n\n")), "", "three places, all blank");
        let far = before.replacen("5\n", "5\n\n", 1).replace("27\n", "x\n");
        assert!(diff(&far).starts_with("@@ -24,7 +25,7 @@\n"), "{}", diff(&far));
        let near = before.replacen("5\n", "5\n\n", 1).replacen("8\n", "x\n", 1);
        assert!(diff(&near).contains(" 5\n+\n 6\n"), "{}", diff(&near));
    }
}
