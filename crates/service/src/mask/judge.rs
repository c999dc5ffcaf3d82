//! Judges whether a written value has the look of a secret.
//!
//! Ordinary code must stay readable: `password: String`, `token = next_token()` and
//! `"${PASSWORD}"` are no secrets. So a value counts only if it is written out and has the look of
//! one: digits among letters, unusual signs. A word alone counts only as a password.

use super::MASK;

/// Words that stand for the real value.
const PLACEHOLDER_WORDS: &str = "password passwd passphrase passwort pass pwd pw secret token apikey \
     key changeme change example placeholder redacted none null nil true false undefined string \
     str text optional required value yourpassword yourtoken yourkey yoursecret yourapikey \
     mypassword mysecret hidden masked input field enter here insert replaceme todo xxx foo bar \
     int bool any object number unknown void auto never yes no off on disabled enabled empty";

/// Marks of code: variables, templates, calls, patterns.
const CODE_MARKS: [&str; 16] = [
    "${", "$(", "{{", "<%", "()", "://", "%s", "%(", "::", "\\d", "\\w", "\\s", "\\b", "[^", ".*",
    MASK,
];

/// Returns true for any value that is spelled out: not a variable, a path, a pattern, or a word
/// that stands for the real one.
pub(super) fn is_written_out(text: &str) -> bool {
    let letters: String = text.chars().filter(char::is_ascii_alphabetic).collect();
    let letters = letters.to_ascii_lowercase();
    let is_word = PLACEHOLDER_WORDS.split_ascii_whitespace().any(|word| word == letters);
    let first = text.chars().next();
    let is_filler = text.chars().all(|char| Some(char) == first);
    let is_placeholder =
        letters.starts_with("your") || letters.ends_with("here") || letters.contains("example");
    let is_variable = text.starts_with(['$', '%', '<', '{', '[', '@', '*', '&', '!', '#'])
        && !has_char(text, char::is_ascii_digit);
    let is_reference = text.starts_with('$') && !text.contains(['!', '@', '#', '%', '^'])
        || text.starts_with('<') && text.ends_with('>')
        || text.starts_with('{') && text.ends_with('}')
        || text.starts_with('%') && text.ends_with('%');
    let is_path = ["/", "./", "../", "~/", "C:\\"].iter().any(|start| text.starts_with(start));
    let is_code = CODE_MARKS.iter().any(|mark| text.contains(mark));
    // Versions of packages have the names of packages: `rpassword = "7.3.1"`.
    let is_version = text.contains('.')
        && text.chars().all(|char| char.is_ascii_digit() || "^~=<>.*v".contains(char));
    let is_hashed = text.starts_with("$2") || text.starts_with("$6$") || text.starts_with("$argon");
    !is_word
        && !is_filler
        && !is_placeholder
        && !is_variable
        && (!is_reference || is_hashed)
        && !is_path
        && !is_version
        && !is_code
}

/// Returns true for a value that a name for passwords may hold, where a value is expected.
pub(super) fn is_password(text: &str) -> bool {
    let is_lower = text.chars().all(|char| char.is_ascii_lowercase());
    let is_label = text.chars().all(|char| char.is_alphabetic() || "_-./:…".contains(char));
    is_written_out(text) && (is_lower || !is_label) && !is_code_expression(text)
}

/// Returns true for a password in a place where a variable or a type may stand as well.
pub(super) fn is_strong_password(text: &str) -> bool {
    let has_letter = has_char(text, char::is_ascii_alphabetic);
    let has_sign = text.contains(['!', '@', '#', '$', '%', '^', '*', '+', '?', '~']);
    let has_digit = has_char(text, char::is_ascii_digit);
    let is_path = text.contains('/') && text.contains('.');
    text.chars().count() >= 6
        && has_letter
        && (has_sign || has_digit)
        && is_written_out(text)
        && !is_path
        && !is_code_expression(text)
        && !(is_identifier_chain(text) && !has_sign && !ends_in_digit_word(text))
}

/// Returns true for a credential of a request, which may be base64 of anything.
pub(super) fn is_credential(text: &str) -> bool {
    let is_mixed =
        has_char(text, char::is_ascii_lowercase) && has_char(text, char::is_ascii_uppercase);
    is_opaque(text) || (is_written_out(text) && is_mixed && text.len() >= 12)
}

/// Returns true for digits among letters, and no chain of words.
pub(super) fn is_opaque(text: &str) -> bool {
    let is_mixed =
        has_char(text, char::is_ascii_digit) && has_char(text, char::is_ascii_alphabetic);
    is_written_out(text)
        && text.len() >= 8
        && is_mixed
        && !is_identifier_chain(text)
        && !is_constant_name(text)
        && !is_code_expression(text)
}

/// Returns true for words of letters, each with a few digits at its end, joined by signs.
fn is_identifier_chain(text: &str) -> bool {
    let is_word = |part: &str| {
        let letters = part.trim_end_matches(|char: char| char.is_ascii_digit());
        letters.chars().all(|char| char.is_ascii_alphabetic()) && part.len() - letters.len() < 4
    };
    text.split(['_', '-', '.', '/', ':']).all(is_word)
}

/// `hunter2`: one word with digits at its end, which is a password more often than a variable.
fn ends_in_digit_word(text: &str) -> bool {
    text.ends_with(|char: char| char.is_ascii_digit()) && !text.contains(['_', '.', '/', ':'])
}

/// `API_KEY_V2`.
fn is_constant_name(text: &str) -> bool {
    text.contains('_')
        && text
            .chars()
            .all(|char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_')
        && text.len() < 32
}

/// `config.get`, `a[0]`, `req.headers["x"]`, `x+1`.
fn is_code_expression(text: &str) -> bool {
    let is_indexed = text.ends_with(']') && text.contains('[');
    let is_call = text.contains('(') && text.ends_with(')');
    is_indexed || is_call
}

pub(super) fn has_char(text: &str, what: fn(&char) -> bool) -> bool {
    text.chars().any(|char| what(&char))
}
