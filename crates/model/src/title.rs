//! Titles made from longer texts.

/// The first line of a text that is not blank, with at most `max_chars` characters. What is too long
/// ends in an ellipsis, after a whole word where there is one.
pub fn title_of(text: &str, max_chars: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let Some((end, _)) = line.char_indices().nth(max_chars) else { return line.to_owned() };
    // The ellipsis is a character, too.
    let end = line[..end].char_indices().next_back().map_or(0, |(last, _)| last);
    format!("{}…", cut_at_word(line, end))
}

/// The first characters of scripts without spaces between words, and of emoji: a text may end after
/// any of them.
const FIRST_UNSPACED_CHAR: char = '\u{2e80}';

/// The text up to the byte `end`, without the word that would be cut there. A word that takes more
/// than half of the room is cut.
pub fn cut_at_word(text: &str, end: usize) -> &str {
    let cut = &text[..end];
    if text[end..].starts_with(char::is_whitespace) || cut.ends_with(|c| c >= FIRST_UNSPACED_CHAR) {
        return cut.trim_end();
    }
    match cut.rfind(char::is_whitespace) {
        Some(space) if space >= end / 2 => cut[..space].trim_end(),
        _ => cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_titles_end_after_a_word() {
        assert_eq!(title_of("\n  Update the README  \nand more", 50), "Update the README");
        assert_eq!(title_of("Update the README now", 17), "Update the…");
        assert_eq!(title_of("Update the README now", 18), "Update the README…");
        assert_eq!(title_of("Update the README now", 21), "Update the README now");
        assert_eq!(title_of("", 5), "");
    }

    #[test]
    fn scripts_without_spaces_end_anywhere() {
        assert_eq!(
            title_of("价格表里加上茶 和咖啡，然后更新测试", 16),
            "价格表里加上茶 和咖啡，然后更…"
        );
    }

    #[test]
    fn a_word_that_is_longer_than_the_room_is_cut() {
        assert_eq!(title_of("a aaaaaaaaaaaaaaaaaaaaaaaaa", 10), "a aaaaaaa…");
        assert_eq!(title_of("结账页面的测试全部失败了", 6), "结账页面的…");
        assert_eq!(title_of("abc", 1), "…");
    }
}
