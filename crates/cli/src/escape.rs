//! Making foreign text safe to show.
//!
//! File names, contents, dialog ids, titles and error texts come from agents and
//! repositories. Shown raw they could move the cursor, rewrite what is on the
//! screen or reverse the reading order. Invariant: nothing that these functions
//! return holds a C0, DEL or C1 control (newline and tab where they are asked
//! for), a control of writing direction, or an invalid byte.

use std::fmt::Write as _;

/// Which controls may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllowedControls {
    /// None: names and other words.
    Nothing,
    /// Tabs: one line of a file.
    Tabs,
    /// Tabs and newlines: a text of several lines.
    Lines,
}

/// A name or another word, on one line.
pub(crate) fn escape(bytes: impl AsRef<[u8]>) -> String {
    escape_keeping(bytes.as_ref(), AllowedControls::Nothing)
}

/// One line of a file: tabs stay.
pub(crate) fn escape_line(bytes: &[u8]) -> String {
    escape_keeping(bytes, AllowedControls::Tabs)
}

/// A text of several lines: tabs and newlines stay.
pub(crate) fn escape_text(bytes: impl AsRef<[u8]>) -> String {
    escape_keeping(bytes.as_ref(), AllowedControls::Lines)
}

/// A JSON document in which no control is left raw, wherever it is shown.
///
/// JSON needs C0 escaped only; such characters occur in strings alone, so each
/// may be replaced by its escape.
pub(crate) fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        if is_hostile(char) && !matches!(char, '\n' | '\r' | '\t') {
            let _ = write!(out, "\\u{:04x}", u32::from(char));
        } else {
            out.push(char);
        }
    }
    out
}

fn escape_keeping(bytes: &[u8], keep: AllowedControls) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            push_escaped(&mut out, char, keep);
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn push_escaped(out: &mut String, char: char, keep: AllowedControls) {
    match (char, keep) {
        ('\t', AllowedControls::Tabs | AllowedControls::Lines) | ('\n', AllowedControls::Lines) => {
            out.push(char);
        }
        ('\t', AllowedControls::Nothing) => out.push_str("\\t"),
        ('\n', _) => out.push_str("\\n"),
        ('\r', _) => out.push_str("\\r"),
        _ if !is_hostile(char) => out.push(char),
        _ if char.is_ascii() => {
            let _ = write!(out, "\\x{:02x}", u32::from(char));
        }
        _ => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(char));
        }
    }
}

fn is_hostile(char: char) -> bool {
    char.is_control() // C0, DEL and C1
        || matches!(char,
            '\u{061c}' | '\u{200e}' | '\u{200f}'          // direction marks
            | '\u{202a}'..='\u{202e}'                     // embeddings and overrides
            | '\u{2066}'..='\u{2069}'                     // isolates
            | '\u{2028}' | '\u{2029}'                     // line and paragraph separators
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_directions_and_invalid_bytes_are_spelled_out() {
        assert_eq!(escape("plain ü 漢字 🦀"), "plain ü 漢字 🦀");
        assert_eq!(escape("a\x1b[31mb\x07\x7f"), "a\\x1b[31mb\\x07\\x7f");
        assert_eq!(
            escape("x\u{9b}31m\u{202e}y\u{2066}z\u{61c}"),
            "x\\u{9b}31m\\u{202e}y\\u{2066}z\\u{61c}"
        );
        assert_eq!(escape(b"\xff\xfeok"), "\\xff\\xfeok");
        assert_eq!(escape("a\nb\tc\r"), "a\\nb\\tc\\r");
        assert_eq!(escape_line(b"a\tb\r"), "a\tb\\r");
        assert_eq!(escape_text("a\n\tb\x1b"), "a\n\tb\\x1b");
    }

    #[test]
    fn json_stays_json_and_loses_its_raw_controls() {
        let value = serde_json::json!({ "a": "\u{9b}\u{202e}\u{7f}\x1b\n" });
        let text = escape_json(&value.to_string());
        assert_eq!(text, r#"{"a":"\u009b\u202e\u007f\u001b\n"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
