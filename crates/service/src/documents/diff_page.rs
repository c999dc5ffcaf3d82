//! Pages of a difference: a part of its lines, with headers that fit the part.
//!
//! Invariant: pages that follow each other hold every line once, and each header counts the lines
//! of its own page, so that a parser of patches reads any page.

use std::fmt;
use std::str::FromStr;

use retake_engine::model::{ErrorCode, PathState};
use retake_engine::{DiffLine, DiffOptions, HunkHeader, NetFileChange};
use sha2::{Digest as _, Sha256};

use super::path::hex;
use crate::ApiError;

/// Maximum lines of a page, unless the request asks for fewer.
pub const DEFAULT_PAGE_LINES: usize = 2000;
/// Maximum lines of a page.
pub const MAX_PAGE_LINES: usize = 5000;
/// Maximum bytes of the lines of a page; a page has at least one line.
const MAX_PAGE_BYTES: usize = 256 * 1024;
/// Maximum bytes of one line; the rest of it is cut off.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// Which lines of a difference are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffLimits {
    /// The number of the first one, from 0; headers do not count.
    pub first: usize,
    /// Maximum number of them.
    pub max_lines: usize,
}

/// What is left out of a difference, and where it goes on.
#[derive(Clone, Debug)]
pub(super) struct LinesPage {
    /// Whether the page holds the whole difference.
    pub(super) is_whole: bool,
    /// Whether secrets were taken out of its lines.
    pub(super) is_masked: bool,
    /// Whether its first lines belong to a hunk that begins on the page before.
    pub(super) is_continued: bool,
    /// The first line of the next page.
    pub(super) next: Option<usize>,
    /// Bytes that were cut off, by the place of the line in the page; none where no line was cut.
    pub(super) cut: Vec<u64>,
}

impl Default for LinesPage {
    fn default() -> Self {
        let (is_whole, is_masked, is_continued) = (true, false, false);
        Self { is_whole, is_masked, is_continued, next: None, cut: Vec::new() }
    }
}

impl LinesPage {
    /// Returns the bytes that were cut off at the end of a line.
    pub(super) fn cut_at(&self, place: usize) -> u64 {
        self.cut.get(place).copied().unwrap_or(0)
    }
}

impl DiffLimits {
    /// Reduces the lines of a difference to the page.
    pub(super) fn take_page(self, lines: &mut Vec<DiffLine>) -> LinesPage {
        let mut cursor = PageBuilder { limits: self, ..PageBuilder::default() };
        for line in std::mem::take(lines) {
            if matches!(line, DiffLine::NoNewline) {
                cursor.push_no_newline();
            } else if !cursor.push(line) {
                break;
            }
        }
        let (page, kept) = cursor.finish();
        *lines = kept;
        page
    }

    /// Cuts off the ends of long lines.
    pub(super) fn cut_long_lines(lines: &mut [DiffLine], page: &mut LinesPage) {
        for (place, line) in lines.iter_mut().enumerate() {
            let (DiffLine::Context(text) | DiffLine::Removed(text) | DiffLine::Added(text)) = line
            else {
                continue;
            };
            if text.len() > MAX_LINE_BYTES {
                let end = char_boundary(text, MAX_LINE_BYTES);
                page.cut.resize(place + 1, 0);
                page.cut[place] = (text.len() - end) as u64;
                text.truncate(end);
                page.is_whole = false;
            }
        }
    }
}

/// The last place up to `end` that splits no UTF-8 character.
fn char_boundary(text: &[u8], end: usize) -> usize {
    let is_inside = |at: &usize| text[*at] & 0b1100_0000 == 0b1000_0000;
    (end.saturating_sub(3)..=end).rev().find(|at| !is_inside(at)).unwrap_or(end)
}

/// Collects a page, line by line.
#[derive(Default)]
struct PageBuilder {
    limits: DiffLimits,
    kept: Vec<DiffLine>,
    /// Lines so far, before the page and in it.
    seen: usize,
    bytes: usize,
    /// The lines of both sides that come next.
    old: u32,
    new: u32,
    /// The place of the page's last header.
    header: Option<usize>,
    is_continued: bool,
    next: Option<usize>,
    has_skipped: bool,
}

impl Default for DiffLimits {
    fn default() -> Self {
        Self { first: 0, max_lines: DEFAULT_PAGE_LINES }
    }
}

impl PageBuilder {
    /// Takes the next line; false if the page is full.
    fn push(&mut self, line: DiffLine) -> bool {
        let (text, sides) = match &line {
            DiffLine::Header(place) => {
                self.end_hunk();
                (self.old, self.new, self.header) = (place.old.start, place.new.start, None);
                return true;
            }
            DiffLine::Context(text) => (text.len(), (1, 1)),
            DiffLine::Removed(text) => (text.len(), (1, 0)),
            DiffLine::Added(text) => (text.len(), (0, 1)),
            DiffLine::NoNewline => return true,
        };
        let in_page = self.seen.saturating_sub(self.limits.first);
        if self.seen >= self.limits.first {
            let bytes = self.bytes + text.min(MAX_LINE_BYTES);
            if in_page >= self.limits.max_lines || (in_page > 0 && bytes > MAX_PAGE_BYTES) {
                self.next = Some(self.seen);
                return false;
            }
            self.bytes = bytes;
            self.open_hunk();
            self.kept.push(line);
        } else {
            self.has_skipped = true;
        }
        self.seen += 1;
        self.old += sides.0;
        self.new += sides.1;
        true
    }

    /// The marker belongs to the line above it.
    fn push_no_newline(&mut self) {
        if !self.kept.is_empty() {
            self.kept.push(DiffLine::NoNewline);
        }
    }

    /// Opens a hunk with the next line, unless one is open.
    fn open_hunk(&mut self) {
        if self.header.is_none() {
            let place = HunkHeader { old: self.old..self.old, new: self.new..self.new };
            self.is_continued |= self.kept.is_empty() && self.has_skipped;
            self.header = Some(self.kept.len());
            self.kept.push(DiffLine::Header(place));
        }
    }

    /// Ends the page's open hunk with the lines so far.
    fn end_hunk(&mut self) {
        if let Some(DiffLine::Header(place)) = self.header.and_then(|at| self.kept.get_mut(at)) {
            (place.old.end, place.new.end) = (self.old, self.new);
        }
    }

    fn finish(mut self) -> (LinesPage, Vec<DiffLine>) {
        self.end_hunk();
        let page = LinesPage {
            is_whole: self.next.is_none() && !self.has_skipped,
            is_continued: self.is_continued,
            next: self.next,
            ..LinesPage::default()
        };
        (page, self.kept)
    }
}

/// Where a page begins, and of which difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffCursor {
    /// The first line of the page, from 0.
    pub line: usize,
    /// Names the contents and the options of the comparison.
    pub tag: String,
}

impl DiffCursor {
    /// Names a difference by its contents and by how they are compared.
    pub(super) fn tag(before: &PathState, after: &PathState, options: &DiffOptions) -> String {
        let digest = Sha256::digest(format!("{before:?} {after:?} {options:?}"));
        hex(&digest[..6])
    }

    /// Returns the first line, if the cursor is of this difference.
    pub fn check(&self, net: &NetFileChange, options: &DiffOptions) -> Result<usize, ApiError> {
        if self.tag == Self::tag(&net.before, &net.after, options) {
            return Ok(self.line);
        }
        let message = format!(
            "the cursor is of another difference: {} changed since, or is compared otherwise",
            net.path
        );
        Err(ApiError::new(ErrorCode::StaleCursor, message, "ask again without `cursor`"))
    }
}

impl fmt::Display for DiffCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.line, self.tag)
    }
}

impl FromStr for DiffCursor {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Self, ApiError> {
        let parsed = text.split_once('-').and_then(|(line, tag)| {
            let line = line.parse::<u32>().ok()? as usize;
            Some(Self { line, tag: tag.to_owned() })
        });
        parsed.ok_or_else(|| {
            let message = format!("'{text}' is not a cursor of a difference");
            ApiError::new(ErrorCode::BadValue, message, "send the `next` of the page before")
        })
    }
}
