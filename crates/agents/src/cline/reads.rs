//! Files that Cline has read: those a message mentions, and lines that `read_files` showed.

use retake_model::SeenFile;
use serde_json::Value;

use crate::file_reads::{included_file, is_numeral, read_of_lines};
use crate::wire;

/// The files that Cline adds to a message: words after `@`, without brackets and quotes around.
pub(crate) fn mentioned_files(words: &str) -> Vec<SeenFile> {
    let names = words.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let names = names.map(|name| {
        let name = name.trim_start_matches(['(', '`', '\'', '"']);
        name.trim_end_matches([')', ',', '.', ':', ';', '!', '?', '`', '\'', '"'])
    });
    names.filter(|name| !name.is_empty() && !name.contains('@')).map(included_file).collect()
}

/// Parses one part of the output of `read_files`: `{query, result, success}`. The query is
/// the path, with `:10-20` if lines were requested; each line has its number.
pub(crate) fn read_result(part: &Value) -> Option<SeenFile> {
    let query = wire::text(part, "/query")?;
    let result = wire::text(part, "/result")?;
    let number = |line: &str| line.split_once(" | ").and_then(|(n, _)| n.trim().parse().ok());
    let mut numbers = result.lines().map_while(number);
    let first: u32 = numbers.next()?;
    let last = numbers.last().unwrap_or(first);
    let asked = query.rsplit_once(':').filter(|(_, range)| {
        let bounds = range.split_once('-');
        bounds.is_some_and(|(first, last)| is_numeral(first) && (last == "EOF" || is_numeral(last)))
    });
    let path = asked.map_or(query, |(path, _)| path);
    let cut = result.ends_with(" to read other sections.]");
    if first == 1 && asked.is_none() && !cut {
        return Some(SeenFile { path: path.to_owned(), lines: None });
    }
    read_of_lines(path, first, last)
}
