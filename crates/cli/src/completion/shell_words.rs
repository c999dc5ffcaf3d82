//! The words of a command line as shells pass them to completion functions, and words for bash.
//!
//! The word that is completed has the quotes that were typed. Bash leaves them in all words, and
//! cuts words at `=` and `:` (`COMP_WORDBREAKS`): only what is behind the last cut is replaced by
//! the chosen candidate, which is inserted as it is.

/// A command line whose last word is completed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct JoinedWords {
    /// The words, without quotes.
    pub(super) words: Vec<String>,
    /// The start of the last word that the shell keeps.
    pub(super) kept_prefix: String,
}

/// Joins the words that bash has cut; `--name=value` becomes two words.
pub(super) fn join_words(cut: &[String]) -> JoinedWords {
    let mut line = JoinedWords::default();
    let mut is_joined = false;
    for word in cut {
        let previous = line.words.last_mut();
        match (word.as_str(), previous) {
            ("=", Some(option)) if option.starts_with("--") && !option.contains('=') => {
                (is_joined, line.kept_prefix) = (false, String::new());
            }
            ("=" | ":", Some(previous)) => {
                previous.push_str(word);
                (is_joined, line.kept_prefix) = (true, previous.clone());
            }
            (_, Some(previous)) if is_joined => {
                previous.push_str(&unquote(word));
                is_joined = false;
            }
            _ => {
                line.words.push(unquote(word));
                line.kept_prefix.clear();
            }
        }
    }
    line
}

/// Removes quotes and backslashes as a shell does; a quote may be open at the end.
pub(super) fn unquote(word: &str) -> String {
    let (mut out, mut quote) = (String::new(), None);
    let mut chars = word.chars().peekable();
    while let Some(char) = chars.next() {
        match (char, quote) {
            ('\'' | '"', None) => quote = Some(char),
            (_, Some(open)) if char == open => quote = None,
            ('\\', None) => out.extend(chars.next()),
            ('\\', Some('"')) => match chars.next_if(|next| "$`\"\\".contains(*next)) {
                Some(next) => out.push(next),
                None => out.push('\\'),
            },
            _ => out.push(char),
        }
    }
    out
}

/// Writes a word so that bash reads it as just this word.
pub(super) fn quote_word(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for char in word.chars() {
        // Bash expands a `~` at the start, and behind `=` and `:`.
        let is_plain_tilde = char == '~' && !out.is_empty() && !out.ends_with(['=', ':']);
        if !char.is_alphanumeric() && !"_-./,+=:@%^".contains(char) && !is_plain_tilde {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

/// The same for a word behind a quote that is open.
pub(super) fn quote_within(word: &str, quote: char) -> String {
    if quote == '\'' {
        return word.replace('\'', "'\\''");
    }
    let mut out = String::with_capacity(word.len());
    for char in word.chars() {
        if "$`\"\\".contains(char) {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(cut: &[&str]) -> (String, String) {
        let cut: Vec<_> = cut.iter().map(ToString::to_string).collect();
        let line = join_words(&cut);
        (line.words.join("|"), line.kept_prefix)
    }

    #[test]
    fn words_that_bash_cut_are_joined() {
        let pair = |words: &str, prefix: &str| (words.to_owned(), prefix.to_owned());
        assert_eq!(
            joined(&["retake", "log", "--dialog", "=", "ab"]),
            pair("retake|log|--dialog|ab", "")
        );
        assert_eq!(
            joined(&["retake", "log", "--dialog", "=", ""]),
            pair("retake|log|--dialog|", "")
        );
        assert_eq!(
            joined(&["retake", "session", "--dialog", "ses", ":", "1"]),
            pair("retake|session|--dialog|ses:1", "ses:")
        );
        assert_eq!(
            joined(&["r", "--dialog", "=", "a", ":", "b", ":", ""]),
            pair("r|--dialog|a:b:", "a:b:")
        );
        assert_eq!(joined(&["r", "a", ":", "b", "c"]), pair("r|a:b|c", ""));
        assert_eq!(joined(&["r", "--file", "a", "=", "b"]), pair("r|--file|a=b", "a="));
    }

    #[test]
    fn quotes_are_removed_and_written() {
        for (raw, word) in [
            ("a\\ b", "a b"),
            ("'a \\b", "a \\b"),
            ("\"a \\$b \\c\"d", "a $b \\cd"),
            ("plain", "plain"),
            ("a\\", "a"),
        ] {
            assert_eq!(unquote(raw), word, "{raw}");
        }
        assert_eq!(quote_word("src/main.rs"), "src/main.rs");
        assert_eq!(quote_word("x=~root a~b"), "x=\\~root\\ a~b");
        assert_eq!(quote_word("~a b$(x)`y`'\"\\é"), "\\~a\\ b\\$\\(x\\)\\`y\\`\\'\\\"\\\\é");
        for word in ["a b", "$(touch x)", "`x`", "a'b\"c", "*?[", "~", "a;b|c&d<e>f!#{}"] {
            assert_eq!(unquote(&quote_word(word)), word);
            for quote in ['"', '\''] {
                assert_eq!(unquote(&format!("{quote}{}{quote}", quote_within(word, quote))), word);
            }
        }
    }
}
