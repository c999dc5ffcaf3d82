//! The user's include patterns: matching files are tracked even if other rules ignore them.
//!
//! They are written as in a `.gitignore`, but a match means "track". A match
//! of a folder covers all that is beneath it. A pattern with a slash also
//! opens ignored folders on its way (`build/keep/*.txt` looks into `build`);
//! one without a slash does not, else `*.env` would send every scan through
//! all of `node_modules`.

use gix_glob::pattern::Mode;

use crate::pattern_list::PatternList;

/// Parsed include patterns.
#[derive(Debug)]
pub(crate) struct IncludePatterns {
    list: PatternList,
    /// The components of each positive pattern that is anchored at the root.
    rooted_patterns: Vec<Vec<Vec<u8>>>,
}

impl IncludePatterns {
    pub(crate) fn new(lines: &[String]) -> Self {
        let list = PatternList::parse_lines(lines);
        let is_way = |pattern: &&gix_glob::Pattern| {
            !pattern.is_negative() && !pattern.mode.contains(Mode::NO_SUB_DIR)
        };
        let rooted_patterns = list
            .patterns()
            .filter(is_way)
            .map(|pattern| pattern.text.split(|&b| b == b'/').map(<[u8]>::to_vec).collect())
            .collect();
        Self { list, rooted_patterns }
    }

    /// `Some(true)`: included, `Some(false)`: taken out again by a `!` pattern.
    pub(crate) fn decide(&self, path: &[u8], is_dir: bool) -> Option<bool> {
        self.list.last_match(path, 0, is_dir).map(|found| !found.pattern.is_negative())
    }

    /// Returns `true` if something beneath `folder` may match, so that it must be walked.
    pub(crate) fn may_match_beneath(&self, folder: &[u8]) -> bool {
        self.rooted_patterns.iter().any(|way| may_match_into(way, folder))
    }
}

fn may_match_into(way: &[Vec<u8>], folder: &[u8]) -> bool {
    let mut parts = way.iter();
    for name in folder.split(|&b| b == b'/') {
        match parts.next() {
            None => return false,
            Some(part) if part == b"**" => return true,
            Some(part) if !part_matches(part, name) => return false,
            Some(_) => {}
        }
    }
    parts.next().is_some()
}

fn part_matches(part: &[u8], name: &[u8]) -> bool {
    let mode = gix_glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
    gix_glob::wildmatch(part.into(), name.into(), mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_with_a_slash_open_the_folders_on_their_way() {
        let lines = ["build/keep/*.txt", "a*/**/z", "*.env", "/top"].map(str::to_owned);
        let includes = IncludePatterns::new(&lines);
        for open in ["build", "build/keep", "ab", "ab/c/d"] {
            assert!(includes.may_match_beneath(open.as_bytes()), "{open}");
        }
        for closed in ["build/other", "build/keep/x", "node_modules", "top"] {
            assert!(!includes.may_match_beneath(closed.as_bytes()), "{closed}");
        }
    }
}
