//! Shortens text to a width on the terminal, whatever script it is in.

use retake_engine::model::cut_at_word;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::output::{Output, TextStyle};

/// Stands for what was left out.
const ELLIPSIS: &str = "…";
/// Minimum columns of a title that keeps the marks at its end.
const MIN_QUOTED_WIDTH: usize = 8;
/// Between the old and the new path of a rename, and between a link and where it leads.
const ARROWS: [&str; 2] = [" → ", " -> "];

/// A path of at most `max` columns, shortened in the middle: `src/…/checkout_page.tsx`. The name of
/// the file is kept before its folders. Both paths of a rename or a link are shortened.
pub(crate) fn shorten_path(path: &str, max: usize) -> String {
    if path.width() <= max {
        return path.to_owned();
    }
    let both = ARROWS.iter().find_map(|arrow| Some((arrow, path.split_once(arrow)?)));
    if let Some((arrow, (old, new))) = both {
        let room = max.saturating_sub(arrow.width());
        let (old_width, new_width) = (old.width(), new.width());
        // The one that is short leaves its room to the other.
        let old_room = (room / 2).max(room.saturating_sub(new_width)).min(old_width);
        let new_room = room.saturating_sub(old_room);
        return [shorten_path(old, old_room), shorten_path(new, new_room)].join(arrow);
    }
    if let Some(folder) = path.strip_suffix('/').filter(|_| max > 1) {
        return shorten_path(folder, max - 1) + "/";
    }
    let parts: Vec<&str> = path.split('/').collect();
    let (name, folders) = parts.split_last().unwrap_or((&"", &[]));
    shorten_folders(folders, name, max).unwrap_or_else(|| shorten_middle(name, max))
}

/// The path with as many folders as fit, the first one before the others, then from the end.
fn shorten_folders(folders: &[&str], name: &str, max: usize) -> Option<String> {
    let mut best = None;
    for first in 0..=folders.len().min(1) {
        for last in 0..folders.len() - first {
            let mut parts = folders[..first].to_vec();
            parts.push(ELLIPSIS);
            parts.extend(&folders[folders.len() - last..]);
            parts.push(name);
            let path = parts.join("/");
            if path.width() <= max {
                best = Some(path);
            }
        }
    }
    best
}

/// A name without its middle: `a_very_lo…_name.rs`.
fn shorten_middle(name: &str, max: usize) -> String {
    if name.width() <= max {
        return name.to_owned();
    }
    let room = max.saturating_sub(1);
    let start = prefix_within(name, room / 2);
    let end = suffix_within(name, room - start.width());
    if max == 0 { String::new() } else { format!("{start}{ELLIPSIS}{end}") }
}

/// A title of at most `max` columns; what is too long ends in an ellipsis, after a word if possible.
pub(crate) fn shorten_title(title: &str, max: usize) -> String {
    if title.width() <= max {
        return title.to_owned();
    }
    // A quotation stays one, and so does a parenthesis.
    let inner = title.trim_end_matches(['”', ')']);
    let (inner, close) =
        if max > MIN_QUOTED_WIDTH { (inner, &title[inner.len()..]) } else { (title, "") };
    let room = max.saturating_sub(1 + close.width());
    let end = prefix_within(inner, room).len();
    let cut = cut_at_word(inner, end).trim_end_matches([',', ';', ':', '(', '，']).trim_end();
    if max == 0 { String::new() } else { format!("{cut}{ELLIPSIS}{close}") }
}

/// The lines of a text that are at most `max` columns wide, broken between words. Of words that are
/// wider, paths are shortened and others are broken.
pub(crate) fn wrap_words(text: &str, max: usize) -> Vec<String> {
    let max = max.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words_and_commands(text) {
        let gap = usize::from(!line.is_empty());
        if line.width() + gap + word.width() > max && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        } else if gap == 1 {
            line.push(' ');
        }
        let path = if word.contains('/') { shorten_path(word, max) } else { String::new() };
        let mut rest = if path.is_empty() { word } else { &path };
        while rest.width() > max {
            let start = prefix_within(rest, max);
            if start.is_empty() {
                break;
            }
            lines.push(start.to_owned());
            rest = &rest[start.len()..];
        }
        line.push_str(rest);
    }
    lines.push(line);
    lines
}

/// A message for people, broken between words where a line would be wider than `max`; nothing of it is
/// cut or shortened. The first line begins after a label of `label_width` columns, and lines keep their
/// indent.
pub(crate) fn wrap_message(text: &str, label_width: usize, max: usize) -> String {
    let mut wrapped = String::new();
    let mut column = label_width;
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            wrapped.push('\n');
            column = 0;
        }
        let body = line.trim_start_matches(' ');
        let indent = &line[..line.len() - body.len()];
        wrapped.push_str(indent);
        column += indent.len();
        let mut is_first = true;
        for word in words_and_commands(body) {
            let width = word.width();
            if is_first {
                is_first = false;
            } else if column + 1 + width > max {
                wrapped.push('\n');
                wrapped.push_str(indent);
                column = indent.len();
            } else {
                wrapped.push(' ');
                column += 1;
            }
            wrapped.push_str(word);
            column += width;
        }
    }
    wrapped
}

/// The words of a line; what stands between backticks, to be copied, is one word.
fn words_and_commands(line: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    line.split(move |sign: char| {
        is_quoted ^= sign == '`';
        sign == ' ' && !is_quoted
    })
}

/// A paragraph for people: lines that fit the terminal, each after `indent`.
pub(crate) fn render_paragraph(text: &str, indent: &str, style: TextStyle, out: Output) -> String {
    let room = out.width.map_or(usize::MAX, |width| width.saturating_sub(indent.width()));
    let mut paragraph = String::new();
    for line in wrap_words(text, room) {
        paragraph.push_str(indent);
        paragraph.push_str(&out.paint(line.trim_end(), style));
        paragraph.push('\n');
    }
    paragraph
}

/// The longest beginning of whole characters, as people see them, within these columns.
fn prefix_within(text: &str, max: usize) -> &str {
    let mut end = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        if text[..at + cluster.len()].width() > max {
            break;
        }
        end = at + cluster.len();
    }
    &text[..end]
}

/// The longest end of whole characters, as people see them, within these columns.
fn suffix_within(text: &str, max: usize) -> &str {
    let mut start = text.len();
    for (at, _) in text.grapheme_indices(true).rev() {
        if text[at..].width() > max {
            break;
        }
        start = at;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_middle() {
        let path = "src/components/checkout/pages/checkout_page.tsx";
        for (max, short) in [
            (47, path),
            (46, "src/…/checkout/pages/checkout_page.tsx"),
            (37, "src/…/pages/checkout_page.tsx"),
            (28, "src/…/checkout_page.tsx"),
            (22, "…/checkout_page.tsx"),
            (18, "checkout_page.tsx"),
            (12, "check…ge.tsx"),
            (1, "…"),
            (0, ""),
        ] {
            assert_eq!(shorten_path(path, max), short, "{max}");
        }
        assert_eq!(shorten_path("~/a/long/folder/hooks/", 12), "~/…/hooks/");
        let moved = "src/a/b/c/old_name.rs → src/a/b/c/new_name.rs";
        assert_eq!(shorten_path(moved, 37), "src/…/old_name.rs → src/…/new_name.rs");
        assert_eq!(shorten_path(moved, 35), "…/c/old_name.rs → …/c/new_name.rs");
    }

    #[test]
    fn titles_end_after_a_word() {
        assert_eq!(shorten_title("Update the README, now", 17), "Update the…");
        assert_eq!(shorten_title("Update the README, now", 19), "Update the README…");
        assert_eq!(shorten_title("“Update the README”", 16), "“Update the…”");
        assert_eq!(
            shorten_title("undo of turn 4 (“Make it dark”)", 26),
            "undo of turn 4 (“Make…”)"
        );
        assert_eq!(shorten_title("c12 c13 c140", 9), "c12 c13…");
    }

    #[test]
    fn wide_and_joined_characters_are_cut_whole() {
        assert_eq!(shorten_title("结账页面的测试", 7), "结账页…");
        // One family of four people, two columns wide.
        let family = "👨‍👩‍👧‍👦";
        assert_eq!(shorten_title(&family.repeat(3), 5), format!("{}…", family.repeat(2)));
        assert_eq!(
            shorten_path(&format!("目录/子目录/{family}.txt"), 10),
            format!("…/{family}.txt")
        );
    }

    #[test]
    fn no_text_is_wider_than_its_room() {
        let texts = ["a/b/c/d/e.txt", "结账/页面/测试.tsx", "👨‍👩‍👧‍👦/x → 👩‍🚀/y", "one two three", ""];
        for text in texts {
            for max in 0..30 {
                assert!(shorten_path(text, max).width() <= max.max(3), "{text} {max}");
                assert!(shorten_title(text, max).width() <= max, "{text} {max}");
                if max > 1 {
                    assert!(wrap_words(text, max).iter().all(|line| line.width() <= max), "{text}");
                }
            }
        }
    }

    #[test]
    fn messages_are_broken_between_words_and_stay_whole() {
        assert_eq!(wrap_message("one two three", 7, 15), "one two\nthree");
        assert_eq!(wrap_message("a:\n  b c d\ne", 0, 5), "a:\n  b c\n  d\ne");
        assert_eq!(wrap_message("see /a/very/long/path", 0, 8), "see\n/a/very/long/path");
        assert_eq!(wrap_message("run `retake undo 3` now", 0, 9), "run\n`retake undo 3`\nnow");
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        assert_eq!(wrap_words("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap_words("a longword", 4), ["a", "long", "word"]);
        assert_eq!(wrap_words("", 4), [""]);
    }
}
