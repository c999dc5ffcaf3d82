//! Files that Claude Code has read: those a message mentions, and lines that `Read` showed.

use retake_model::SeenFile;
use serde_json::Value;

use crate::file_reads::{included_file, is_numeral, read_of_lines};
use crate::wire;

/// Returns the files that a person's text mentions by `@path`: `@` at the start of a word,
/// the path up to its last letter or digit, or in quotes; `#L10-20` for lines.
pub(crate) fn mentioned_files(words: &str) -> Vec<SeenFile> {
    let mut files = Vec::new();
    let mut rest = words;
    let mut starts = true;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match (starts && c == '@').then(|| parse_mention(after)).flatten() {
            Some((name, tail)) => {
                files.extend(mentioned_file(name));
                tail
            }
            None => after,
        };
        starts = c.is_whitespace();
    }
    files
}

/// The path after an `@`, and what follows it.
fn parse_mention(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"').filter(|(name, _)| !name.is_empty());
    }
    let (word, tail) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    (!name.is_empty()).then_some((name, tail))
}

/// `a.rs#L10-20`, `a.rs#L10`; any other mark after the path means the whole file.
fn mentioned_file(name: &str) -> Option<SeenFile> {
    let (path, mark) = name.split_once('#').unwrap_or((name, ""));
    if path.is_empty() || mark.contains('#') {
        return Some(included_file(name));
    }
    let range = mark.strip_prefix('L').map(|range| range.split_once('-').unwrap_or((range, range)));
    match range.filter(|(first, last)| is_numeral(first) && is_numeral(last)) {
        Some((first, last)) => read_of_lines(path, first.parse().ok()?, last.parse().ok()?),
        None => Some(included_file(path)),
    }
}

/// Parses the output of `Read`: `{type, file: {filePath, content, startLine, …}}`.
pub(crate) fn read_result(response: &Value) -> Option<SeenFile> {
    let path = wire::text(response, "/file/filePath")?;
    if wire::text(response, "/type")? != "text" {
        return None;
    }
    let number = |key: &str| wire::number(response, &format!("/file/{key}"));
    let (first, count, total) = (number("startLine")?, number("numLines")?, number("totalLines")?);
    let first = first.max(1);
    if first == 1 && count >= total {
        return Some(SeenFile { path: path.to_owned(), lines: None });
    }
    // The empty text behind the last line break counts as a line there.
    let shown = wire::text(response, "/file/content")?.lines().count();
    let count = count.min(u32::try_from(shown).unwrap_or(u32::MAX));
    read_of_lines(path, first, first.saturating_add(count).saturating_sub(1))
}
