//! The lines of a conflict, as a person sees them before deciding: those of now, and those that
//! would be there instead.
//!
//! The places come from the plan with conflict markers, so what is shown is what the merge sees. Where
//! its markers cannot be told from lines of the file itself, only the lines of now are shown.

use std::fmt::Write as _;
use std::ops::Range;

use anyhow::Result;
use retake_engine::{ConflictLines, DiffBody, DiffLine, Plan, PlanReason, PlannedFile, Project};

use crate::describe::{display_path, plural};
use crate::escape::escape_line;
use crate::layout::shorten_title;
use crate::output::{TextStyle, screen_width, stderr_colour};

/// Maximum places shown; more are counted.
const MAX_SHOWN_PLACES: usize = 3;
/// Lines around a place, if it is the only one and if there are several.
const CONTEXT_LINES: usize = 3;
const CONTEXT_LINES_OF_SEVERAL: usize = 1;
/// Maximum lines shown of each version.
const MAX_SHOWN_LINES: usize = 6;

/// One place in a file where the merge conflicts.
#[derive(Debug, PartialEq, Eq)]
struct ConflictPlace {
    /// The lines of the file now, counted from 0.
    now: Range<usize>,
    /// The lines that would be there instead, if they are known.
    then: Option<Vec<Vec<u8>>>,
}

/// Renders the places of the conflicts in `files`, as `marked` has them between markers.
pub(super) fn render_places(
    project: &Project,
    files: &[&PlannedFile],
    marked: &Plan,
) -> Result<String> {
    let mut found = Vec::new();
    for file in files {
        let Some(planned) = marked.writes().find(|other| other.path == file.path) else { continue };
        let DiffBody::Lines(lines) = project.planned_diff(planned)?.body else { continue };
        let PlanReason::Conflict(_, known) = &file.reason else { continue };
        let now = project.content(&file.now)?.unwrap_or_default();
        let marked = marked_places(&lines);
        let places = if are_plausible(&marked, known, &lines_of(&now)) {
            marked.into_iter().map(ConflictPlace::from).collect()
        } else {
            places_by_lines(known)
        };
        found.extend(places.into_iter().map(|place| (*file, place)));
    }
    let context = if found.len() == 1 { CONTEXT_LINES } else { CONTEXT_LINES_OF_SEVERAL };
    let view = PlaceView { context, width: screen_width(), colour: stderr_colour() };
    let mut text = String::new();
    for (file, place) in found.iter().take(MAX_SHOWN_PLACES) {
        let bytes = project.content(&file.now)?.unwrap_or_default();
        let lines = lines_of(&bytes);
        text.push_str(&view.head(&display_path(&file.path), place));
        text.push_str(&view.body(&lines, place));
    }
    if let Some(more) = found.len().checked_sub(MAX_SHOWN_PLACES).filter(|more| *more > 0) {
        let _ = writeln!(text, "and {}", plural(more as u64, "more place", "more places"));
    }
    Ok(text)
}

/// The places that the merge names, without the lines that would be there instead.
fn places_by_lines(lines: &[ConflictLines]) -> Vec<ConflictPlace> {
    let place = |lines: &ConflictLines| {
        let start = (lines.first as usize).saturating_sub(1);
        ConflictPlace { now: start..start + lines.count as usize, then: None }
    };
    lines.iter().map(place).collect()
}

/// A place between markers in the diff from a file to the same file with conflict markers.
#[derive(Debug, Default, PartialEq, Eq)]
struct MarkedPlace {
    /// Its first line in the file, counted from 0.
    start: usize,
    now: Vec<Vec<u8>>,
    then: Vec<Vec<u8>>,
    /// Number of its markers between the versions, which are two.
    dividers: usize,
}

impl From<MarkedPlace> for ConflictPlace {
    fn from(place: MarkedPlace) -> Self {
        let MarkedPlace { start, now, then, .. } = place;
        Self { now: start..start + now.len(), then: Some(then) }
    }
}

/// Returns whether the marked places are those that the merge names: lines of the file that look like
/// markers, and lines that the diff finds elsewhere, lead to others.
fn are_plausible(marked: &[MarkedPlace], known: &[ConflictLines], file: &[&[u8]]) -> bool {
    let is_it = |(place, known): (&MarkedPlace, &ConflictLines)| {
        let end = place.start + place.now.len();
        let first = (known.first as usize).saturating_sub(1);
        place.dividers == 2
            && first <= place.start
            && end <= first + known.count as usize
            && file.get(place.start..end).is_some_and(|lines| lines.iter().eq(&place.now))
    };
    marked.len() == known.len() && marked.iter().zip(known).all(is_it)
}

fn marked_places(lines: &[DiffLine]) -> Vec<MarkedPlace> {
    let mut places = Vec::new();
    let mut open: Option<(MarkedSection, MarkedPlace)> = None;
    // The next line of the file as it is now.
    let mut at = 0;
    for line in lines {
        if let DiffLine::Header(header) = line {
            at = header.old.start as usize;
        }
        if let DiffLine::Added(text) | DiffLine::Context(text) = line {
            let section = MarkedSection::after_marker(text);
            open = match (section, open.take()) {
                (Some(MarkedSection::Now), _) => {
                    Some((MarkedSection::Now, MarkedPlace { start: at, ..MarkedPlace::default() }))
                }
                (Some(MarkedSection::End), Some((_, place))) => {
                    places.push(place);
                    None
                }
                (Some(section), Some((_, mut place))) => {
                    place.dividers += 1;
                    Some((section, place))
                }
                (None, Some((section, mut place))) => {
                    match section {
                        MarkedSection::Now => place.now.push(text.clone()),
                        MarkedSection::Then => place.then.push(text.clone()),
                        MarkedSection::Base | MarkedSection::End => {}
                    }
                    Some((section, place))
                }
                (Some(_) | None, None) => None,
            };
        }
        if matches!(line, DiffLine::Context(_) | DiffLine::Removed(_)) {
            at += 1;
        }
    }
    places
}

/// The lines of a file without their ends, as diffs have them.
fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    bytes
        .split_inclusive(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .collect()
}

/// Part of a marked conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkedSection {
    Now,
    Base,
    Then,
    End,
}

impl MarkedSection {
    /// The section that a marker line begins. The labels are those of the engine's merge.
    fn after_marker(line: &[u8]) -> Option<Self> {
        match line.trim_ascii_end() {
            b"<<<<<<< now" => Some(Self::Now),
            b"||||||| taken back" => Some(Self::Base),
            b"=======" => Some(Self::Then),
            b">>>>>>> before" => Some(Self::End),
            _ => None,
        }
    }
}

/// How a place is shown.
struct PlaceView {
    context: usize,
    width: usize,
    colour: bool,
}

impl PlaceView {
    /// `prices.txt, lines 3-4 (- is there now, + would be there)`
    fn head(&self, path: &str, place: &ConflictPlace) -> String {
        let lines = match place.now.len() {
            0 => format!("before line {}", place.now.start + 1),
            1 => format!("line {}", place.now.start + 1),
            _ => format!("lines {}-{}", place.now.start + 1, place.now.end),
        };
        let legend = match place.then {
            Some(_) => "(- is there now, + would be there)",
            None => "(- is there now)",
        };
        let legend = TextStyle::Dim.paint(legend, self.colour);
        format!("{}, {lines} {legend}\n", TextStyle::Bold.paint(path, self.colour))
    }

    fn body(&self, lines: &[&[u8]], place: &ConflictPlace) -> String {
        let now = place.now.start.min(lines.len())..place.now.end.min(lines.len());
        let above = now.start.saturating_sub(self.context)..now.start;
        let below = now.end..(now.end + self.context).min(lines.len());
        let mut text = String::new();
        let mut add = |number: Option<usize>, sign: char, line: &[u8], style: TextStyle| {
            let number = number.map_or_else(String::new, |at| (at + 1).to_string());
            let line =
                shorten_title(&escape_line(line.trim_ascii_end()), self.width.saturating_sub(9));
            let shown = format!("{number:>5} {sign} {line}");
            let _ = writeln!(text, "{}", style.paint(shown.trim_end(), self.colour));
        };
        for at in above {
            add(Some(at), ' ', lines[at], TextStyle::Plain);
        }
        for at in now.clone().take(MAX_SHOWN_LINES) {
            add(Some(at), '-', lines[at], TextStyle::Bad);
        }
        if now.len() > MAX_SHOWN_LINES {
            add(None, '-', b"...", TextStyle::Bad);
        }
        for line in place.then.iter().flatten().take(MAX_SHOWN_LINES) {
            add(None, '+', line, TextStyle::Good);
        }
        match place.then.as_ref().map(Vec::len) {
            Some(0) => add(None, '+', b"(nothing)", TextStyle::Good),
            Some(count) if count > MAX_SHOWN_LINES => add(None, '+', b"...", TextStyle::Good),
            _ => {}
        }
        for at in below {
            add(Some(at), ' ', lines[at], TextStyle::Plain);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str) -> DiffLine {
        DiffLine::Added(text.as_bytes().to_vec())
    }

    fn context(text: &str) -> DiffLine {
        DiffLine::Context(text.as_bytes().to_vec())
    }

    const LINES: [ConflictLines; 1] = [ConflictLines { first: 2, count: 1 }];

    #[test]
    fn places_are_found_by_their_markers() {
        let lines = [
            context("1"),
            added("<<<<<<< now"),
            context("mine"),
            added("||||||| taken back"),
            added("two"),
            added("======="),
            added("2"),
            added(">>>>>>> before"),
            context("3"),
        ];
        let places = marked_places(&lines);
        assert!(are_plausible(&places, &LINES, &lines_of(b"1\nmine\n3\n")));
        let places: Vec<_> = places.into_iter().map(ConflictPlace::from).collect();
        assert_eq!(places, [ConflictPlace { now: 1..2, then: Some(vec![b"2".to_vec()]) }]);
    }

    #[test]
    fn lines_that_look_like_markers_and_other_lines_are_noticed() {
        let heading = [
            context("1"),
            added("<<<<<<< now"),
            context("mine"),
            added("||||||| taken back"),
            added("Title"),
            added("======="),
            added("======="),
            added("2"),
            added(">>>>>>> before"),
        ];
        assert!(!are_plausible(&marked_places(&heading), &LINES, &lines_of(b"1\nmine\n")));
        // The diff adds the line without its end anew.
        let unfinished = [
            context("1"),
            DiffLine::Removed(b"mine".to_vec()),
            added("<<<<<<< now"),
            added("mine"),
            added("||||||| taken back"),
            added("======="),
            added("2"),
            added(">>>>>>> before"),
        ];
        assert!(!are_plausible(&marked_places(&unfinished), &LINES, &lines_of(b"1\nmine")));
        assert_eq!(places_by_lines(&LINES), [ConflictPlace { now: 1..2, then: None }]);
    }
}
