//! SEARCH/REPLACE blocks, as `replace_in_file` and `apply_diff` send them.
//!
//! ```text
//! <<<<<<< SEARCH
//! :start_line:12
//! -------
//! old lines
//! =======
//! new lines
//! >>>>>>> REPLACE
//! ```
//! Marker lengths vary between agents, and `------- SEARCH` / `+++++++ REPLACE` is a variant; a
//! text with a broken block gives nothing rather than half of it.

use super::TextReplacement;

/// The replacements of all blocks, or nothing if `text` holds no well-formed block.
pub(super) fn parse(text: &str) -> Option<Vec<TextReplacement>> {
    let mut lines = text.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if is_marker(line, &['<', '-'], "SEARCH") {
            found.push(block(&mut lines)?);
        }
    }
    (!found.is_empty()).then_some(found)
}

fn block<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Option<TextReplacement> {
    let mut old = Vec::new();
    let mut start = None;
    loop {
        let line = lines.next()?;
        if is_divider(line, '=') {
            break;
        }
        if old.is_empty() && is_header(line) {
            start = start_line(line).or(start);
        } else if !(old.is_empty() && is_divider(line, '-')) {
            old.push(line);
        }
    }
    let mut new = Vec::new();
    loop {
        let line = lines.next()?;
        if is_marker(line, &['>', '+'], "REPLACE") {
            break;
        }
        new.push(line);
    }
    Some(TextReplacement {
        old: whole_lines(&old),
        new: whole_lines(&new),
        line: start,
        ..Default::default()
    })
}

fn whole_lines(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

fn is_marker(line: &str, marks: &[char], word: &str) -> bool {
    let line = line.trim_end_matches(['\r', ' ', '>']);
    let rest = line.trim_start_matches(marks);
    // The trailing `>` of `>>>>>>> REPLACE>` variants was cut above, never the leading run.
    line.len() - rest.len() >= 3 && rest.trim_start() == word
}

fn is_divider(line: &str, mark: char) -> bool {
    let line = line.trim_end();
    line.len() >= 5 && line.chars().all(|c| c == mark)
}

fn is_header(line: &str) -> bool {
    [":start_line:", ":end_line:"].iter().any(|name| line.trim().starts_with(name))
}

fn start_line(line: &str) -> Option<usize> {
    line.trim().strip_prefix(":start_line:")?.trim().parse().ok()
}
