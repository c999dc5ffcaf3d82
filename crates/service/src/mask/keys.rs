//! Private keys: the lines between `BEGIN … PRIVATE KEY` and `END`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::{MASK, split_end};

/// The first line of a private key.
static KEY_BEGIN: LazyLock<Regex> = LazyLock::new(|| {
    let begin = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----";
    Regex::new(begin).expect("the pattern is well formed")
});

/// A line of a key, as it is or in a text of some language.
static KEY_BODY: LazyLock<Regex> = LazyLock::new(|| {
    let body = r#"^[\s"'+#*/>|]*(?:[A-Za-z0-9+/=]+(?:\\[nr])*[\s"'+,;\\]*|[A-Za-z-]+: .*)$"#;
    Regex::new(body).expect("the pattern is well formed")
});

pub(super) fn mask_private_keys(text: &str) -> Cow<'_, str> {
    if !text.contains("PRIVATE KEY") {
        return Cow::Borrowed(text);
    }
    let mut is_inside = false;
    let mut line = |line: &str| {
        let (body, end) = split_end(line);
        if let Some(begin) = KEY_BEGIN.find(body) {
            let (head, rest) = body.split_at(begin.end());
            is_inside = !rest.contains("-----END");
            return format!("{head}{}{end}", mask_first_line(rest));
        }
        is_inside = is_inside && (body.trim().is_empty() || KEY_BODY.is_match(body));
        if !is_inside || body.trim().is_empty() {
            return line.to_owned();
        }
        let indent = &body[..body.len() - body.trim_start().len()];
        format!("{indent}{MASK}{end}")
    };
    Cow::Owned(text.split_inclusive('\n').map(&mut line).collect())
}

/// Masks the rest of the first line: the key up to its end, or what ends a text.
fn mask_first_line(rest: &str) -> String {
    let (key, end) = rest.split_at(rest.find("-----END").unwrap_or(rest.len()));
    let is_empty = key.replace("\\n", "").chars().all(|char| !char.is_ascii_alphanumeric());
    if is_empty { rest.to_owned() } else { format!("{MASK}{end}") }
}
