//! The end of the daemon's log, entry by entry.
//!
//! Values of fields that name something of the person's are left out here, whatever they hold, and so
//! is all that stands between quotes: the log tells of other projects, whose names the scrubber does
//! not know. What the message itself says is scrubbed with the rest of the report.

use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::document::ReportLog;

/// Maximum entries in a report.
const MAX_LINES: usize = 50;
/// Maximum warnings and errors in a report.
const MAX_PROBLEMS: usize = 10;
/// Maximum bytes read from the end of the log.
const MAX_BYTES: u64 = 512 * 1024;
/// Maximum characters of an entry.
const MAX_ENTRY_CHARS: usize = 300;
/// Fields whose values Retake makes itself.
const OPEN_FIELDS: [&str; 8] = ["pid", "code", "event", "verb", "seq", "changes", "error", "why"];

/// Reads the end of the log; an absent one is empty.
pub(super) fn read_log(path: &Path) -> io::Result<ReportLog> {
    match read_end(path) {
        Ok(text) => Ok(parse_log(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(ReportLog::default()),
        Err(error) => Err(error),
    }
}

fn read_end(path: &Path) -> io::Result<String> {
    let mut file = retake_seam::fs::open_private_to_read(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The first line is not whole.
    let whole = length <= MAX_BYTES;
    Ok(if whole { text } else { text.split_once('\n').map_or("", |(_, rest)| rest).to_owned() })
}

fn parse_log(text: &str) -> ReportLog {
    let (mut entries, mut left_out) = (Vec::new(), 0);
    for line in text.lines() {
        match LogEntry::parse(line) {
            Some(entry) => entries.push(entry),
            None => left_out += 1,
        }
    }
    let last = |entries: Vec<&LogEntry<'_>>, count: usize| -> Vec<String> {
        let from = entries.len().saturating_sub(count);
        entries[from..].iter().map(|entry| entry.render()).collect()
    };
    let problems = entries.iter().filter(|entry| entry.is_problem()).collect();
    ReportLog {
        problems: last(problems, MAX_PROBLEMS),
        lines: last(entries.iter().collect(), MAX_LINES),
        left_out,
    }
}

/// One entry: `TIME LEVEL TARGET: MESSAGE FIELD=VALUE…`.
struct LogEntry<'a> {
    time: &'a str,
    level: &'a str,
    target: &'a str,
    rest: &'a str,
}

impl<'a> LogEntry<'a> {
    /// Parses a line; none if it goes on with the entry before, whose text had a line end in it.
    fn parse(line: &'a str) -> Option<Self> {
        let (time, rest) = line.split_once(' ')?;
        let is_time = time.len() >= "2026-02-16T10:00:00Z".len()
            && time.ends_with('Z')
            && time.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TZ".contains(&byte));
        let (level, rest) = rest.trim_start().split_once(' ')?;
        let is_level = matches!(level, "ERROR" | "WARN" | "INFO" | "DEBUG" | "TRACE");
        let (target, rest) = rest.trim_start().split_once(": ").unwrap_or((rest.trim_start(), ""));
        let is_target = target.starts_with("retake") && !target.contains(char::is_whitespace);
        (is_time && is_level && is_target).then_some(Self { time, level, target, rest })
    }

    fn is_problem(&self) -> bool {
        matches!(self.level, "ERROR" | "WARN")
    }

    fn render(&self) -> String {
        let Self { time, level, target, .. } = self;
        let rest: String =
            without_quotations(&self.open_part()).chars().take(MAX_ENTRY_CHARS).collect();
        format!("{time} {level} {target}: {rest}").trim_end().to_owned()
    }

    /// The message, with the values of open fields only.
    fn open_part(&self) -> String {
        let mut words = Vec::new();
        let mut is_open = true;
        for word in self.rest.split(' ') {
            let field = word.split_once('=').filter(|(name, _)| is_field_name(name));
            match field {
                Some((name, _)) if !OPEN_FIELDS.contains(&name) => {
                    is_open = false;
                    words.push(format!("{name}=…"));
                }
                Some(_) => {
                    is_open = true;
                    words.push(word.to_owned());
                }
                None if is_open => words.push(word.to_owned()),
                None => {}
            }
        }
        words.join(" ")
    }
}

/// Quotes, and the backticks around commands and settings.
const QUOTES: [char; 6] = ['\'', '"', '`', '‘', '“', '”'];

/// The text with `…` for all from the first quote to the last one: what is quoted may have quotes
/// itself. A quote that nothing closes hides the rest.
fn without_quotations(text: &str) -> String {
    let is_apostrophe = |at: usize, sign: char| {
        let is_letter = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
        let after = text[at + sign.len_utf8()..].chars().next();
        sign == '\'' && is_letter(text[..at].chars().next_back()) && is_letter(after)
    };
    let mut quotes = text
        .char_indices()
        .filter(|(at, sign)| QUOTES.contains(sign) && !is_apostrophe(*at, *sign));
    let Some((start, first)) = quotes.next() else { return text.to_owned() };
    let begin = &text[..start + first.len_utf8()];
    match quotes.next_back() {
        Some((end, _)) => format!("{begin}…{}", &text[end..]),
        None => format!("{begin}…"),
    }
}

fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_fields_that_name_files_are_left_out() {
        let log = parse_log(
            "2026-02-16T10:00:00.000001Z  INFO retake::daemon: the daemon serves pid=7\n\
             2026-02-16T10:00:01.000001Z  WARN retake_engine::apply::run: a step could not be \
             taken back path=my plan.txt error=denied\n\
             and a second line\n",
        );
        assert_eq!(log.lines.len(), 2, "{log:?}");
        assert_eq!(log.left_out, 1);
        assert_eq!(log.problems.len(), 1);
        assert!(log.lines[0].ends_with("the daemon serves pid=7"), "{log:?}");
        assert!(log.problems[0].ends_with("taken back path=… error=denied"), "{log:?}");
    }

    #[test]
    fn what_stands_between_quotes_is_left_out() {
        for (text, shown) in [
            ("cannot write 'Merger Plan': denied", "cannot write '…': denied"),
            ("Retake's record of 'Bob's notes' is gone", "Retake's record of '…' is gone"),
            ("no \"My \\\"big\\\" plan\", no “x”", "no \"…”"),
            ("undo (“Rename “A” to B”) was interrupted", "undo (“…”) was interrupted"),
            (
                "not recorded, although `sell --to Bob > x` made it",
                "not recorded, although `…` made it",
            ),
            ("cut off in 'a very long na", "cut off in '…"),
        ] {
            assert_eq!(without_quotations(text), shown);
        }
    }

    #[test]
    fn the_last_entries_are_kept() {
        let entry = |n: usize| format!("2026-02-16T10:00:00.000001Z DEBUG retake_server: n {n}\n");
        let log = parse_log(&(0..200).map(entry).collect::<String>());
        assert_eq!(log.lines.len(), MAX_LINES);
        assert!(log.lines[MAX_LINES - 1].ends_with("n 199"), "{log:?}");
    }
}
