//! The glob patterns of one ignore file, of which the last that matches counts.
//!
//! Most patterns end in a literal byte, so patterns are indexed by it and most are skipped without
//! matching: a walk asks for thousands of folders, and git's index may ask for every file.
//! Invariant: a pattern that is skipped could not have matched.

use std::path::Path;

use gix_glob::pattern::Case;
use gix_glob::search::Pattern as _;
use gix_glob::search::pattern::Mapping;
use gix_glob::wildmatch::Mode;
use gix_ignore::Kind;
use gix_ignore::search::{Ignore, Match};

/// Parsed patterns, in the order of the file.
#[derive(Debug)]
pub(crate) struct PatternList {
    patterns: Vec<Mapping<Kind>>,
    /// Indexes of patterns by the last byte of what they match, in lower case; empty if there are
    /// no patterns at all.
    ending_in: Vec<Vec<usize>>,
    /// Indexes of patterns that may match any ending.
    ending_anyhow: Vec<usize>,
}

impl PatternList {
    /// Parses the content of an ignore file.
    pub(crate) fn parse(content: &[u8]) -> Self {
        // Git ends the last line itself, so that a lone `\r` there is no part of the pattern.
        let content = [content, b"\n"].concat();
        let patterns = Ignore::default().bytes_to_patterns(&content, Path::new(""));
        let endings = if patterns.is_empty() { 0 } else { 256 };
        let (mut ending_in, mut ending_anyhow) = (vec![Vec::new(); endings], Vec::new());
        for (place, mapping) in patterns.iter().enumerate() {
            match last_byte(&mapping.pattern.text) {
                Some(byte) => ending_in[usize::from(byte.to_ascii_lowercase())].push(place),
                None => ending_anyhow.push(place),
            }
        }
        Self { patterns, ending_in, ending_anyhow }
    }

    /// Parses patterns that are given one by one.
    pub(crate) fn parse_lines(lines: &[String]) -> Self {
        Self::parse(lines.join("\n").as_bytes())
    }

    pub(crate) fn patterns(&self) -> impl Iterator<Item = &gix_glob::Pattern> {
        self.patterns.iter().map(|mapping| &mapping.pattern)
    }

    /// The last pattern that matches `path`, of which the first `base_len` bytes
    /// name the folder that the patterns are relative to.
    pub(crate) fn last_match(
        &self,
        path: &[u8],
        base_len: usize,
        is_dir: bool,
    ) -> Option<Match<'_>> {
        let path = path.get(base_len..)?;
        let last = usize::from(path.last()?.to_ascii_lowercase());
        let places = descending(self.ending_in.get(last)?, &self.ending_anyhow);
        let name_at = path.iter().rposition(|&b| b == b'/').map(|slash| slash + 1);
        // Git asks `core.ignoreCase`, which it sets by the file system it finds.
        let case = if cfg!(target_os = "macos") { Case::Fold } else { Case::Sensitive };
        let mode = Mode::NO_MATCH_SLASH_LITERAL;
        let matches = |mapping: &&Mapping<Kind>| {
            let pattern = &mapping.pattern;
            pattern.matches_repo_relative_path(path.into(), name_at, Some(is_dir), case, mode)
        };
        let Mapping { pattern, value, sequence_number } =
            places.map(|place| &self.patterns[place]).find(matches)?;
        let (kind, sequence_number) = (*value, *sequence_number);
        Some(Match { pattern, kind, source: None, sequence_number })
    }
}

/// Returns the byte in which every match of the pattern ends, if there is one.
fn last_byte(pattern: &[u8]) -> Option<u8> {
    pattern.last().copied().filter(|byte| !br"*?[]\".contains(byte))
}

/// Merges two ascending lists into one descending iterator.
fn descending<'a>(mut one: &'a [usize], mut other: &'a [usize]) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let higher = if one.last() > other.last() { &mut one } else { &mut other };
        let (place, rest) = higher.split_last()?;
        *higher = rest;
        Some(*place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the shortcut leaves out, the matcher itself does not match.
    #[test]
    fn the_shortcut_changes_nothing() {
        let text = b"*.o\n!keep.o\nbuild/\n/top\na/**\n**/z\n*~\nx[ab]\nx[ab]y\nq?\nq\\*\nlit]\n\
                     TMP\n!*\n*.O\na/b/c\nd/*\n\\!bang\n*.tar.gz\n";
        let list = PatternList::parse(text);
        let all = gix_glob::search::pattern::List {
            patterns: Ignore::default().bytes_to_patterns(text, Path::new("")),
            source: None,
            base: None,
        };
        let names = [
            "m.o", "keep.o", "M.O", "build", "top", "a", "z", "f~", "xa", "xay", "q1", "q*",
            "lit]", "tmp", "TMP", "c", "!bang", "b.tar.gz", "\u{fc}",
        ];
        let case = if cfg!(target_os = "macos") { Case::Fold } else { Case::Sensitive };
        for folder in ["", "a/", "a/b/", "d/", "build/x/"] {
            for path in names.map(|name| format!("{folder}{name}")) {
                for is_dir in [false, true] {
                    let name_at = path.rfind('/').map(|slash| slash + 1);
                    let expected = gix_ignore::search::pattern_matching_relative_path(
                        &all,
                        path.as_str().into(),
                        name_at,
                        Some(is_dir),
                        case,
                    );
                    let found = list.last_match(path.as_bytes(), 0, is_dir);
                    let line = |found: Option<Match<'_>>| found.map(|found| found.sequence_number);
                    assert_eq!(line(found), line(expected), "{path}");
                }
            }
        }
    }
}
