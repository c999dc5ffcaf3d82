//! How hunks and their lines are written: `h3f9a2c81d0e4`, `h3f9a2c81d0e4:+1-3,-2`.

use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;
use retake_engine::HunkLines;
use retake_engine::model::{ChangeId, HunkId};
pub(crate) use retake_service::review::format_hunk_lines as format_lines;
use retake_service::review::parse_hunk_lines;

/// Maximum number of a line; no hunk has more.
const MAX_LINE_NUMBER: u32 = 10_000_000;

/// A hunk, or some of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HunkArg {
    pub(crate) id: HunkId,
    pub(crate) lines: Option<HunkLines>,
}

impl FromStr for HunkArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (id, lines) = match text.split_once(':') {
            Some((id, lines)) => (id, Some(parse_lines(lines)?)),
            None => (text, None),
        };
        Ok(Self { id: id.parse()?, lines })
    }
}

/// What is decided on: a change, or a hunk of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangeOrHunkArg {
    /// A change.
    Change(ChangeId),
    /// A hunk.
    Hunk(HunkArg),
}

impl FromStr for ChangeOrHunkArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with('h') {
            return text.parse().map(Self::Hunk);
        }
        text.parse().map(Self::Change).map_err(|_| {
            format!(
                "'{text}' is neither a change nor a hunk; they look like c12 (see `retake log`) \
                 and h3f9a2c81d0e4 (see `retake review`)"
            )
        })
    }
}

/// Where the hunks are that are decided on.
#[derive(Debug, Args)]
pub(crate) struct HunkPlaceArgs {
    /// Scope of the hunks, as in `retake review` [default: all, then everything]
    #[arg(long = "scope", value_name = "SCOPE", hide_short_help = true)]
    pub(crate) hunk_scope: Option<String>,
    /// Digest of the hunk's file, for one of several equal hunks (see `retake review --json`)
    #[arg(long, value_name = "DIGEST", hide_short_help = true)]
    pub(crate) digest: Option<String>,
}

/// Reads lines of a hunk: `+1-3,-2`.
pub(crate) fn parse_lines(text: &str) -> Result<HunkLines, String> {
    parse_hunk_lines(text).map_err(|error| match error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message,
    })
}

/// Reads `3` or `1-3`.
pub(crate) fn parse_range(text: &str) -> Option<RangeInclusive<u32>> {
    let number = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_number && (1..=MAX_LINE_NUMBER).contains(number))
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some(first..=last)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let lines = parse_lines("+1-3,-2,+7").unwrap();
        assert_eq!(lines.added, BTreeSet::from([1, 2, 3, 7]));
        assert_eq!(lines.removed, BTreeSet::from([2]));
        assert_eq!(parse_lines("-2-4").unwrap().removed, BTreeSet::from([2, 3, 4]));
        for text in ["", "+", "1", "+0", "+3-1", "+1,", "+1--2", "+ 1", "*1", "+99999999999", "+é"]
        {
            assert!(parse_lines(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_hunk_has_lines_behind_a_colon() {
        let hunk: HunkArg = "h3f9a2c81d0e4.2:+1".parse().unwrap();
        assert_eq!(hunk.id.to_string(), "h3f9a2c81d0e4.2");
        assert_eq!(hunk.lines.unwrap().added, BTreeSet::from([1]));
        for text in ["h3f9a2c81d0e4:", "h3f:+1", "c12:+1", ":+1"] {
            assert!(text.parse::<HunkArg>().is_err(), "{text}");
        }
        assert_eq!("c12".parse(), Ok(ChangeOrHunkArg::Change(ChangeId(12))));
    }
}
