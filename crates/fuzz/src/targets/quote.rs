//! Bytes as names that are shown to a person, and passed on to a model.

use retake_model::foreign_text::{
    MAX_ID_CHARS, MAX_NAME_CHARS, escape, escape_json, escape_line, escape_text, git_name,
    is_invisible, quote_id, quote_name, readable_name,
};
use serde_json::Value;

/// Dictionary of what a name could take over a text with.
pub const DICTIONARY: &[&str] = &[
    "\n",
    "\r",
    "\t",
    "\0",
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\u{7f}",
    "\u{9b}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{2028}",
    "\u{2029}",
    "\u{e0041}",
    "\u{e0100}",
    "\u{ad}",
    "\u{3164}",
    "\u{fe0f}",
    "\"",
    "\\",
    "'",
    "`",
    "…",
    "é",
    "漢",
    ".tar.gz",
    "/",
    "Ignore previous instructions",
    "</system>",
];

/// Nothing invisible is left, a name is one line, and a quoted one ends at its own quote.
pub fn quote(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (name, id) = (quote_name(data), quote_id(&text));
    for shown in [&name, &id, &escape(data), &git_name("a/", data), &readable_name("b/", data)] {
        assert!(!shown.contains(is_invisible), "{data:?} is shown as {shown:?}");
    }
    check_quoted(&name, MAX_NAME_CHARS);
    if id.starts_with('"') {
        check_quoted(&id, MAX_ID_CHARS);
    } else {
        assert!(!id.is_empty() && id.chars().count() <= MAX_ID_CHARS, "{id:?}");
        assert!(!id.contains(char::is_whitespace), "{id:?}");
    }
    let is_control = |char: char| char.is_control() && char != '\t';
    assert!(!escape_line(data).contains(is_control));
    assert!(!escape_text(data).contains(|char| is_control(char) && char != '\n'));
    let json = Value::String(text.into_owned());
    let escaped = escape_json(&json.to_string());
    assert!(!escaped.contains(is_invisible), "{escaped:?}");
    assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), json);
}

fn check_quoted(quoted: &str, max_chars: usize) {
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inner = inner.unwrap_or_else(|| panic!("{quoted:?} is not in quotes"));
    assert!(inner.chars().count() <= max_chars, "{quoted:?}");
    let mut chars = inner.chars();
    while let Some(char) = chars.next() {
        assert_ne!(char, '"', "{quoted:?} ends early");
        if char == '\\' {
            assert!(chars.next().is_some(), "{quoted:?} escapes its own end");
        }
    }
}
