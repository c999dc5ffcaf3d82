//! The lines of a hunk that a person chooses: one spelling for the command line and HTTP.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use retake_engine::HunkLines;
use retake_engine::model::ErrorCode;

use crate::ApiError;

/// Maximum number of lines that one choice names.
const MAX_CHOSEN_LINES: u32 = 100_000;

/// Parses lines of a hunk by their numbers in it, from 1: `+1-3,-2` are the first three lines that
/// it added, and the second one that it removed.
pub fn parse_hunk_lines(text: &str) -> Result<HunkLines, ApiError> {
    let mut chosen = HunkLines::default();
    let mut count = 0;
    for part in text.split(',').map(str::trim) {
        let (side, numbers): (&mut BTreeSet<u32>, _) = match part.split_at_checked(1) {
            Some(("+", numbers)) => (&mut chosen.added, numbers),
            Some(("-", numbers)) => (&mut chosen.removed, numbers),
            _ => return Err(unreadable(text)),
        };
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        let (Some(first), Some(last)) = (line_number(first), line_number(last)) else {
            return Err(unreadable(text));
        };
        if last < first {
            return Err(unreadable(text));
        }
        count += u64::from(last - first) + 1;
        if count > u64::from(MAX_CHOSEN_LINES) {
            let message = format!("'{part}' names more than {MAX_CHOSEN_LINES} lines");
            return Err(ApiError::new(ErrorCode::BadValue, message, "name the whole hunk"));
        }
        side.extend(first..=last);
    }
    Ok(chosen)
}

/// Writes lines of a hunk as [`parse_hunk_lines`] reads them.
pub fn format_hunk_lines(lines: &HunkLines) -> String {
    let sides = [('+', &lines.added), ('-', &lines.removed)];
    let sides = sides.into_iter().flat_map(|(sign, numbers)| {
        runs(numbers).into_iter().map(move |run| match run.clone().count() {
            1 => format!("{sign}{}", run.start()),
            _ => format!("{sign}{}-{}", run.start(), run.end()),
        })
    });
    sides.collect::<Vec<_>>().join(",")
}

/// Joins numbers that follow each other.
fn runs(numbers: &BTreeSet<u32>) -> Vec<RangeInclusive<u32>> {
    let mut runs: Vec<RangeInclusive<u32>> = Vec::new();
    for &number in numbers {
        match runs.last_mut().filter(|run| run.end() + 1 == number) {
            Some(run) => *run = *run.start()..=number,
            None => runs.push(number..=number),
        }
    }
    runs
}

fn line_number(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number > 0)
}

fn unreadable(text: &str) -> ApiError {
    ApiError::new(
        ErrorCode::BadValue,
        format!("'{text}' names no lines of a hunk"),
        "write +1-3,-2: lines that it added (+) and removed (-), from 1",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_named_by_their_side_and_number_and_nothing_else_is() {
        let chosen = parse_hunk_lines("+1-3, -2,+7").unwrap();
        assert_eq!(chosen.added, BTreeSet::from([1, 2, 3, 7]));
        assert_eq!(chosen.removed, BTreeSet::from([2]));
        assert_eq!(format_hunk_lines(&chosen), "+1-3,+7,-2");
        for text in ["", "1", "+", "-", "+0", "+3-1", "+1-", "+-1", "+1,,+2", "+1-2-3", "++1", "+a"]
        {
            assert!(parse_hunk_lines(text).is_err(), "{text}");
        }
        for text in ["+1-4294967295", "+1-60000,-1-60000", "+99999999999999999999"] {
            assert!(parse_hunk_lines(text).is_err(), "{text}");
        }
    }
}
