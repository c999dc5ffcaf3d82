//! Adds to and removes from the text of a JSON container; every other byte stays.
//!
//! The text may have comments and trailing commas. Positions come from the parser; nothing is
//! reformatted, so whatever a person wrote stays as they wrote it.

use jsonc_parser::ast::{Array, Object};
use jsonc_parser::common::{Range, Ranged};

use super::literal::{JsonStyle, indent_if_first};

/// An object or a list in a text.
#[derive(Clone, Debug)]
pub(super) struct JsonContainer {
    /// Where its opening bracket is.
    open: usize,
    /// Where its closing bracket is.
    close: usize,
    /// What it holds.
    children: Vec<Range>,
}

impl From<&Object<'_>> for JsonContainer {
    fn from(object: &Object<'_>) -> Self {
        let children = object.properties.iter().map(|property| property.range).collect();
        Self { open: object.range.start, close: object.range.end - 1, children }
    }
}

impl From<&Array<'_>> for JsonContainer {
    fn from(array: &Array<'_>) -> Self {
        let children = array.elements.iter().map(Ranged::range).collect();
        Self { open: array.range.start, close: array.range.end - 1, children }
    }
}

impl JsonContainer {
    /// The text with one more child at the end. `render` writes it, given the indent if it may
    /// go over several lines.
    pub(super) fn append(
        &self,
        text: &str,
        style: &JsonStyle,
        render: &dyn Fn(Option<&str>) -> String,
    ) -> String {
        match self.children.last() {
            Some(last) => self.append_after(text, style, *last, render),
            None => self.append_first(text, style, render),
        }
    }

    fn append_after(
        &self,
        text: &str,
        style: &JsonStyle,
        last: Range,
        render: &dyn Fn(Option<&str>) -> String,
    ) -> String {
        let comma = find_comma_after(text, last.end);
        let from = comma.map_or(last.end, |comma| comma + 1);
        let wide = text[self.open..self.close].contains('\n');
        let (at, child) = if wide {
            let indent = indent_if_first(text, last.start).map(str::to_owned);
            let indent = indent.unwrap_or_else(|| inner_indent(text, self.open, style));
            let at = after_comments_of_line(text, from);
            (at, format!("{}{indent}{}", style.newline, render(Some(&indent))))
        } else {
            (from, format!("{}{}", style.space, render(None)))
        };
        let (first_comma, last_comma) = if comma.is_some() { ("", ",") } else { (",", "") };
        let (head, middle, tail) = (&text[..last.end], &text[last.end..at], &text[at..]);
        format!("{head}{first_comma}{middle}{child}{last_comma}{tail}")
    }

    /// Puts the first child in; there may be comments.
    fn append_first(
        &self,
        text: &str,
        style: &JsonStyle,
        render: &dyn Fn(Option<&str>) -> String,
    ) -> String {
        let inner = &text[self.open + 1..self.close];
        if !style.wide {
            let (head, tail) = text.split_at(self.close);
            return format!("{head}{}{tail}", render(None));
        }
        let indent = inner_indent(text, self.open, style);
        let child = format!("{}{indent}{}", style.newline, render(Some(&indent)));
        if inner.contains('\n') {
            let (head, tail) = text.split_at(self.open + 1 + inner.trim_end().len());
            format!("{head}{child}{tail}")
        } else {
            let (head, tail) = text.split_at(self.close);
            // Blanks between the brackets would be left at the end of a line.
            let head = head.trim_end_matches([' ', '\t']);
            format!("{head}{child}{}{}{tail}", style.newline, line_indent(text, self.open))
        }
    }

    /// The text without a child, its comma and the white space before it.
    pub(super) fn remove(&self, text: &str, index: usize) -> String {
        let child = self.children[index];
        let before = index.checked_sub(1).map_or(self.open + 1, |at| self.children[at].end);
        let start = whitespace_start(text, child, before);
        let mut cuts = vec![(start, child.end)];
        match find_comma_after(text, child.end) {
            Some(comma) => {
                let mut end = comma + 1;
                if index == 0 && !text[start..child.start].contains('\n') {
                    end += text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
                }
                cuts.push((comma, end));
            }
            None if index > 0 => {
                let comma = find_comma_after(text, self.children[index - 1].end);
                cuts.extend(comma.map(|comma| (comma, comma + 1)));
            }
            None => {}
        }
        if self.children.len() == 1 {
            let rest = text[self.open + 1..start].trim().is_empty();
            let end = cuts.last().map_or(child.end, |cut| cut.1);
            if rest && text[end..self.close].trim().is_empty() {
                cuts = vec![(self.open + 1, self.close)];
            }
        }
        cuts.sort_unstable();
        let mut text = text.to_owned();
        for (start, end) in cuts.into_iter().rev() {
            text.replace_range(start..end, "");
        }
        text
    }
}

/// Returns whether a piece of JSON, cut between its parts, has a comment.
pub(super) fn has_comment(text: &str) -> bool {
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => drop(chars.next()),
            '"' => quoted = !quoted,
            // Outside of strings JSON has no other slash.
            '/' if !quoted => return true,
            _ => {}
        }
    }
    false
}

/// The indent of what is in the container that opens here.
fn inner_indent(text: &str, open: usize, style: &JsonStyle) -> String {
    format!("{}{}", line_indent(text, open), style.unit)
}

/// The white space at the start of a position's line.
fn line_indent(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |newline| newline + 1)..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The comma that follows, if nothing but white space and comments is before it.
fn find_comma_after(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text[at..].trim_start();
        at = text.len() - rest.len();
        at += match rest {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => return rest.starts_with(',').then_some(at),
        };
    }
}

/// The end of the comments that stand on the same line.
fn after_comments_of_line(text: &str, from: usize) -> usize {
    let mut after = from;
    loop {
        let rest = text[after..].trim_start_matches([' ', '\t']);
        let start = text.len() - rest.len();
        let line = rest.lines().next().unwrap_or_default();
        match line {
            _ if line.starts_with("//") => return start + line.len(),
            _ if line.starts_with("/*") && line.contains("*/") => {
                after = start + line.find("*/").map_or(0, |end| end + 2);
            }
            _ => return after,
        }
    }
}

/// Returns where the white space before a child begins, including one line end. The end of a line
/// comment stays if something follows the child: that would become part of the comment.
fn whitespace_start(text: &str, child: Range, from: usize) -> usize {
    let blank = text[from..child.start].trim_end_matches([' ', '\t']);
    let after = text[child.end..].trim_start_matches([' ', '\t']);
    let after = after.strip_prefix(',').unwrap_or(after).trim_start_matches([' ', '\t', '\r']);
    let line = blank.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    match line {
        Some(line) if after.starts_with('\n') || !ends_in_line_comment(line) => from + line.len(),
        _ => from + blank.len(),
    }
}

/// Returns whether white space, commas and comments end inside of a comment that a line end closes.
fn ends_in_line_comment(trivia: &str) -> bool {
    let mut rest = trivia;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        rest = match rest {
            "" => return false,
            _ if rest.starts_with("//") => match rest.split_once('\n') {
                Some((_, rest)) => rest,
                None => return true,
            },
            _ => rest.split_once("*/").map_or("", |(_, rest)| rest),
        };
    }
}
