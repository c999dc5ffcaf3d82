//! Files that opencode has read: lines that its `read` showed, for the model or a message.

use retake_model::SeenFile;

use crate::file_reads::{range_after, read_of_lines};

/// Parses the output of `read`, or its frame: the file, the lines with their numbers,
/// and in brackets how it ended.
pub(crate) fn read_result(shown: &str) -> Option<SeenFile> {
    let mut lines = shown.lines();
    let path = lines.next()?.strip_prefix("<path>")?.strip_suffix("</path>")?;
    if lines.next()? != "<type>file</type>" {
        return None;
    }
    // Lines of the file begin with their number.
    let number = |line: &str| line.split_once(": ").and_then(|(number, _)| number.parse().ok());
    let first = lines.nth(1).and_then(number);
    let end = shown.lines().find(|line| line.starts_with('('))?;
    if let Some((first, last)) = range_after(end, "Showing lines ") {
        return read_of_lines(path, first, last);
    }
    let total = end.strip_prefix("(End of file - total ")?.strip_suffix(" lines)")?.parse().ok()?;
    match first {
        Some(1) => Some(SeenFile { path: path.to_owned(), lines: None }),
        Some(first) => read_of_lines(path, first, total),
        None => (total == 0).then(|| SeenFile { path: path.to_owned(), lines: None }),
    }
}
