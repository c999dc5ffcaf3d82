//! The files, and their parts, that a read tool shows, from its arguments.
//!
//! Invariant: no line is claimed that the tool may not have shown. Ambiguous bounds give the lines
//! that both readings show, and bounds that are not understood give nothing.
//!
//! Only the spelling identifies a tool: `Read` with `file_path` is Claude Code's and counts
//! from 1; `read` with `filePath` is opencode's, `read_file` with `filePath` is VS Code's, and
//! `read_file` with `file_path` or `absolute_path` is Gemini CLI's, of which some versions count
//! from 0 and others from 1. These show at most 2,000 lines at once. Other tools have no default
//! limit.

use retake_model::LineSpan;
use serde_json::Value;

use super::arguments::{FILES_KEYS, PATH_KEYS, ToolArguments};
use super::names::{is_from_server, shows_content};
use super::{FilePart, FileReading};

/// Keys of the first line, from 1.
const START_LINE_KEYS: &[&str] = &["startline", "startlineoneindexed", "linestart", "fromline"];
/// Keys of the last line, inclusive.
const END_LINE_KEYS: &[&str] = &["endline", "endlineoneindexedinclusive", "lineend", "toline"];
/// Keys of the first line, from 1 or from 0.
const OFFSET_KEYS: &[&str] = &["offset"];
/// Keys of the number of lines.
const LIMIT_KEYS: &[&str] = &["limit"];
/// Keys of both ends in one list; -1 is the end of the file.
const RANGE_KEYS: &[&str] = &["viewrange"];
/// Keys of a number of lines at the start, and at the end.
const HEAD_KEYS: &[&str] = &["head"];
const TAIL_KEYS: &[&str] = &["tail"];
/// Keys of a part that is not counted in lines.
const PAGES_KEYS: &[&str] = &["pages"];
/// Keys of the read mode; one mode searches.
const MODE_KEYS: &[&str] = &["mode"];

/// The tools, with their key for a file, that have a default line limit.
const LINE_LIMITED_TOOLS: &[(&str, &str)] = &[
    ("Read", "file_path"),
    ("read", "filePath"),
    ("read_file", "file_path"),
    ("read_file", "absolute_path"),
    ("read_file", "filePath"),
    ("read_many_files", "paths"),
    ("read_many_files", "include"),
];
/// Default line limit of these tools.
const DEFAULT_LINE_LIMIT: u32 = 2_000;

/// Returns the files and parts that a read call shows.
pub(super) fn collect(tool: &str, arguments: &ToolArguments<'_>) -> Vec<FileReading> {
    if !shows_content(tool) {
        return Vec::new();
    }
    let habits = ReadConventions::of(tool, arguments);
    let mut readings = Vec::new();
    let mut add = |path: Option<&str>, part: Option<FilePart>| {
        if let (Some(path), Some(part)) = (path.filter(|path| !path.is_empty()), part) {
            readings.push(FileReading { path: path.to_owned(), cwd: None, part });
        }
    };
    add(arguments.text(PATH_KEYS), habits.part(arguments));
    for names in [PATH_KEYS, FILES_KEYS, &["include", "operations"]] {
        for item in arguments.list(names).unwrap_or_default() {
            if let Some(path) = item.as_str() {
                add(Some(path), habits.part(arguments));
            } else {
                let entry = ToolArguments::parse(&item);
                add(entry.text(PATH_KEYS), habits.part(&entry));
            }
        }
    }
    readings
}

/// The conventions of a tool, identified by the spelling of its call.
struct ReadConventions {
    /// Its default line limit.
    limit: Option<u32>,
    /// Its `offset` counts from 1.
    offset_from_one: bool,
    /// Its lines count from 1.
    lines_from_one: bool,
}

/// The start of a part: the number as written, and whether it certainly counts from 1.
struct RangeStart {
    written: u32,
    from_one: bool,
}

impl ReadConventions {
    fn of(tool: &str, arguments: &ToolArguments<'_>) -> Self {
        let limited = LINE_LIMITED_TOOLS
            .iter()
            .find(|(name, key)| *name == tool && arguments.has_exactly(key));
        Self {
            limit: limited.map(|_| DEFAULT_LINE_LIMIT),
            offset_from_one: limited.is_some_and(|(name, _)| *name == "Read"),
            lines_from_one: !is_from_server(tool),
        }
    }

    /// Returns the part that these arguments ask for; `None` if they are not understood.
    fn part(&self, arguments: &ToolArguments<'_>) -> Option<FilePart> {
        let understood = [
            START_LINE_KEYS,
            END_LINE_KEYS,
            OFFSET_KEYS,
            LIMIT_KEYS,
            RANGE_KEYS,
            HEAD_KEYS,
            TAIL_KEYS,
        ]
        .concat();
        let by_lines =
            arguments.text(MODE_KEYS).is_none_or(|mode| mode.eq_ignore_ascii_case("line"));
        if arguments.has_number_besides(&understood)
            || arguments.value(PAGES_KEYS).is_some()
            || !by_lines
        {
            return None;
        }
        if let Some(count) = arguments.value(TAIL_KEYS) {
            let alone = !arguments.has_number_besides(TAIL_KEYS);
            return number(count).filter(|count| alone && *count > 0).map(FilePart::Last);
        }
        let (start, end) = match arguments.value(RANGE_KEYS) {
            Some(range) => self.range(range)?,
            None => (self.start(arguments)?, bound(arguments, END_LINE_KEYS)?),
        };
        let count = bound(arguments, LIMIT_KEYS)?.or(bound(arguments, HEAD_KEYS)?);
        let count = count.or(self.limit.filter(|_| end.is_none()));
        // Counted from 0, a line has the number before; 0 cannot be the first line of a count from
        // 1.
        let unsure = start.written > 0 && !start.from_one;
        let first = start.written.max(1).saturating_add(u32::from(unsure));
        let counted = count.map(|count| start.written.max(1).saturating_add(count) - 1);
        let last = end.unwrap_or(u32::MAX).min(counted.unwrap_or(u32::MAX));
        match (first, last) {
            (1, u32::MAX) => Some(FilePart::Whole),
            _ => (first <= last).then_some(FilePart::Lines(LineSpan { first, last })),
        }
    }

    fn start(&self, arguments: &ToolArguments<'_>) -> Option<RangeStart> {
        let line = bound(arguments, START_LINE_KEYS)?;
        let offset = bound(arguments, OFFSET_KEYS)?;
        Some(match (line, offset) {
            (Some(written), None) => RangeStart { written, from_one: self.lines_from_one },
            (None, Some(written)) => RangeStart { written, from_one: self.offset_from_one },
            (None, None) => RangeStart { written: 1, from_one: true },
            (Some(_), Some(_)) => return None,
        })
    }

    /// `[10, 20]`, `[10, -1]`.
    fn range(&self, range: &Value) -> Option<(RangeStart, Option<u32>)> {
        let [first, last] = range.as_array()?.as_slice() else {
            return None;
        };
        let end = if last.as_i64() == Some(-1) { None } else { Some(number(last)?) };
        Some((RangeStart { written: number(first)?, from_one: self.lines_from_one }, end))
    }
}

/// Reads an optional bound; outer `None` if it is given and not a number.
#[expect(clippy::option_option, reason = "absent and not understood are two answers")]
fn bound(arguments: &ToolArguments<'_>, names: &[&str]) -> Option<Option<u32>> {
    match arguments.value(names) {
        None => Some(None),
        Some(value) => number(value).map(Some),
    }
}

fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => u32::try_from(number.as_u64()?).ok(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}
