//! Predicts the content of a file after an edit.
//!
//! Used only to prove authorship by equality, so exact matching is enough: an agent that applied
//! its edit with some tolerance is simply not predicted. Texts that are not UTF-8 are not
//! predicted either, since agents cannot edit them faithfully.

use super::{EditKind, PatchDialect, PatchHunk, TextReplacement};

/// The predicted file after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PredictedFile {
    /// A file with these bytes.
    Content(Vec<u8>),
    /// No file.
    Absent,
}

/// Maximum bytes of a prediction: replacing every `a` by a page would make gigabytes.
const MAX_RESULT_BYTES: usize = 64 << 20;

/// Applies `edit` to `before` (`None`: the file did not exist); `None` if it is unpredictable.
pub fn predict(edit: &EditKind, before: Option<&[u8]>) -> Option<PredictedFile> {
    let content = match edit {
        EditKind::Content(content) => content.clone(),
        EditKind::Replace(replacements) => replace(replacements, before)?,
        EditKind::Hunks(hunks) => patched_content(hunks, before?)?,
        EditKind::Insert { line, text } => insert(*line, text, before?)?,
        EditKind::Append(text) => [before.unwrap_or_default(), text.as_bytes()].concat(),
        EditKind::Delete | EditKind::MoveTo { .. } => return Some(PredictedFile::Absent),
    };
    Some(PredictedFile::Content(content))
}

/// Predicts the content at a move's destination from the content at its source.
pub fn predict_moved(edit: &EditKind, source: &[u8]) -> Option<Vec<u8>> {
    match edit {
        EditKind::MoveTo { hunks, .. } if hunks.is_empty() => Some(source.to_vec()),
        EditKind::MoveTo { hunks, .. } => patched_content(hunks, source),
        _ => None,
    }
}

// ---- Replacements --------------------------------------------------------------------------

fn replace(replacements: &[TextReplacement], before: Option<&[u8]>) -> Option<Vec<u8>> {
    let Some(before) = before else {
        return create(replacements);
    };
    let mut text = std::str::from_utf8(before).ok()?.to_owned();
    for replacement in replacements {
        text = replace_any_ending(replacement, &text)?;
    }
    Some(text.into_bytes())
}

/// An empty old text on a missing file creates it; later replacements then work on that.
fn create(replacements: &[TextReplacement]) -> Option<Vec<u8>> {
    let (first, rest) = replacements.split_first()?;
    if !first.old.is_empty() {
        return None;
    }
    replace(rest, Some(first.new.as_bytes()))
}

/// Replaces as given, or with the line endings of the file, which most agents convert to.
fn replace_any_ending(replacement: &TextReplacement, text: &str) -> Option<String> {
    let literal = replace_one(replacement, text);
    if literal.is_some() || !uses_crlf(text) {
        return literal.or_else(|| without_last_newline(replacement, text));
    }
    let old = replacement.old.replace('\n', "\r\n");
    let new = replacement.new.replace('\n', "\r\n");
    replace_one(&TextReplacement { old, new, ..replacement.clone() }, text)
}

/// A block of whole lines at the end of a file that lacks the last newline.
fn without_last_newline(replacement: &TextReplacement, text: &str) -> Option<String> {
    let old = replacement.old.strip_suffix('\n').filter(|old| !old.is_empty())?;
    let rest = text.strip_suffix(old)?;
    let whole_lines = rest.is_empty() || rest.ends_with('\n');
    let new = replacement.new.strip_suffix('\n').unwrap_or(&replacement.new);
    whole_lines.then(|| [rest, new].concat())
}

fn replace_one(replacement: &TextReplacement, text: &str) -> Option<String> {
    let TextReplacement { old, new, all, count, line } = replacement;
    if old.is_empty() {
        // Nothing to find: only an empty file can become `new`.
        return text.is_empty().then(|| new.clone());
    }
    let found = text.match_indices(old.as_str()).count();
    let fits = match (line, count) {
        (Some(line), _) if found > 1 => return replace_at_line(old, new, *line, text),
        (_, Some(count)) => found == *count,
        _ => found == 1 || (*all && found > 0),
    };
    let size = text.len().saturating_add(found.saturating_mul(new.len()));
    (fits && size <= MAX_RESULT_BYTES).then(|| text.replace(old.as_str(), new))
}

fn replace_at_line(old: &str, new: &str, line: usize, text: &str) -> Option<String> {
    let at = line_start(text, line)?;
    let rest = text[at..].strip_prefix(old)?;
    Some([&text[..at], new, rest].concat())
}

/// The offset of line `line` (from 1).
fn line_start(text: &str, line: usize) -> Option<usize> {
    match line {
        0 | 1 => Some(0),
        _ => text.match_indices('\n').nth(line - 2).map(|(at, _)| at + 1),
    }
}

fn insert(line: usize, text: &str, before: &[u8]) -> Option<Vec<u8>> {
    let before = std::str::from_utf8(before).ok()?;
    let at = line_start(before, line.saturating_add(1))
        .or_else(|| (before.lines().count() == line).then_some(before.len()))?;
    let (head, tail) = before.split_at(at);
    let open = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    let close = if text.ends_with('\n') { "" } else { "\n" };
    Some([head, open, text, close, tail].concat().into_bytes())
}

/// Every newline is a CRLF, and there is one.
fn uses_crlf(text: &str) -> bool {
    let newlines = text.bytes().filter(|b| *b == b'\n').count();
    newlines > 0 && text.matches("\r\n").count() == newlines
}

// ---- Patches -------------------------------------------------------------------------------

fn patched_content(hunks: &[PatchHunk], before: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(before).ok()?;
    let patched = apply(hunks, text).or_else(|| {
        let plain = uses_crlf(text).then(|| text.replace("\r\n", "\n"))?;
        apply(hunks, &plain).map(|patched| patched.replace('\n', "\r\n"))
    })?;
    Some(patched.into_bytes())
}

/// Applies hunks in order. The text is framed by newlines, so that a block of whole lines is one
/// substring and the search is the linear one of the standard library.
fn apply(hunks: &[PatchHunk], text: &str) -> Option<String> {
    if hunks.is_empty() {
        return None;
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    let framed = if text.is_empty() { "\n".to_owned() } else { format!("\n{body}\n") };
    let starts: Vec<usize> = framed.match_indices('\n').map(|(at, _)| at).collect();
    let mut result = String::with_capacity(framed.len());
    let mut done = 0;
    let mut newline = text.ends_with('\n') || text.is_empty();
    for hunk in hunks {
        let from = skip_context(&hunk.context, &framed, done)?;
        let at = locate(hunk, &framed, &starts, from)?;
        result.push_str(&framed[done..at]);
        for line in &hunk.new {
            result.push('\n');
            result.push_str(line);
        }
        done = at + block(&hunk.old).len();
        let reaches_end = done + 1 >= framed.len();
        newline = match hunk.dialect {
            PatchDialect::Codex => true,
            PatchDialect::Unified if reaches_end => !hunk.no_newline,
            PatchDialect::Unified => newline,
        };
    }
    result.push_str(&framed[done..framed.len() - 1]);
    if newline && !result.is_empty() {
        result.push('\n');
    }
    Some(result.split_off(usize::from(result.starts_with('\n'))))
}

/// `\nline\nline`, without the newline that ends the last line.
fn block(lines: &[String]) -> String {
    lines.iter().flat_map(|line| ["\n", line]).collect()
}

fn skip_context(context: &[String], framed: &str, mut from: usize) -> Option<usize> {
    for line in context {
        from = find_block(std::slice::from_ref(line), framed, from)? + line.len() + 1;
    }
    Some(from)
}

/// Returns the start of the old block: its newline's offset in `framed`.
fn locate(hunk: &PatchHunk, framed: &str, starts: &[usize], from: usize) -> Option<usize> {
    if hunk.old.is_empty() {
        return match (hunk.dialect, hunk.line) {
            // Git's `-N,0` means "after line N"; Codex adds at the end.
            (PatchDialect::Unified, Some(line)) => {
                starts.get(line).copied().filter(|at| *at >= from)
            }
            _ => Some(framed.len() - 1),
        };
    }
    let needle = block(&hunk.old) + "\n";
    let at_end = framed.len().checked_sub(needle.len()).filter(|at| *at >= from);
    if let Some(at) = at_end.filter(|_| hunk.at_end && framed.ends_with(&needle)) {
        return Some(at);
    }
    let hinted = hunk.line.and_then(|line| starts.get(line.checked_sub(1)?)).copied();
    match hinted.filter(|at| *at >= from && framed[*at..].starts_with(&needle)) {
        Some(at) => Some(at),
        None => find_block(&hunk.old, framed, from),
    }
}

fn find_block(lines: &[String], framed: &str, from: usize) -> Option<usize> {
    let needle = block(lines) + "\n";
    framed.get(from..)?.find(&needle).map(|at| at + from)
}
