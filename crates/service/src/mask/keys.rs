//! Private keys: the lines between `BEGIN … PRIVATE KEY` and `END`, also where a part is cut off.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::{MASK, split_end};

/// Minimum lines in a row that look like the middle of a key.
const MIN_ORPHAN_LINES: usize = 2;

/// The first line of a private key; of PuTTY's the one before its lines.
static KEY_BEGIN: LazyLock<Regex> = LazyLock::new(|| {
    let begin = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?-u:\b)Private-Lines: [0-9]+";
    Regex::new(begin).expect("the pattern is well formed")
});

/// A line of a key, as it is or in a text of some language.
static KEY_BODY: LazyLock<Regex> = LazyLock::new(|| {
    let body = r#"^[\s"'+#*/>|-]*(?:[A-Za-z0-9+/=]+(?:\\[nr])*[\s"'+,;\\]*|[A-Za-z-]+: .*)$"#;
    Regex::new(body).expect("the pattern is well formed")
});

/// A full line of a key's base64: 64 letters, or 70 of OpenSSH; perhaps as a line of a diff, or
/// with its number.
static FULL_KEY_LINE: LazyLock<Regex> = LazyLock::new(|| {
    let line = r"^[\s0-9:|>+-]{0,12}(?:[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70})$";
    Regex::new(line).expect("the pattern is well formed")
});

/// Masks the lines of private keys.
pub(super) fn mask_private_keys(text: &str) -> Cow<'_, str> {
    if !text.contains("PRIVATE KEY") && !text.contains("Private-Lines: ") {
        return Cow::Borrowed(text);
    }
    let mut is_inside = false;
    let mut has_begun = false;
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    for line in text.split_inclusive('\n') {
        let (body, end) = split_end(line);
        if let Some(begin) = KEY_BEGIN.find(body) {
            let (head, rest) = body.split_at(begin.end());
            is_inside = !rest.contains("-----END");
            has_begun = true;
            lines.push(format!("{head}{}{end}", mask_first_line(rest)).into());
            continue;
        }
        if is_key_end(body) && !has_begun {
            mask_orphans(&mut lines);
        }
        if is_key_end(body) {
            (is_inside, has_begun) = (false, false);
        }
        is_inside = is_inside && (body.trim().is_empty() || KEY_BODY.is_match(body));
        let is_masked = is_inside && !body.trim().is_empty();
        lines.push(if is_masked { mask_line(line).into() } else { line.into() });
    }
    Cow::Owned(lines.concat())
}

/// Masks what looks like the middle of a key, whose begin and end are cut off: in messages and
/// diffs, where a file's other lines are not at hand.
pub(super) fn mask_key_middles(text: &str) -> Cow<'_, str> {
    let is_key = |line: &str| {
        let (body, _) = split_end(line);
        FULL_KEY_LINE.is_match(body)
            && body.chars().any(|char| char.is_ascii_lowercase())
            && body.chars().any(|char| char.is_ascii_uppercase())
            && body.chars().any(|char| char.is_ascii_digit())
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut masked = Vec::with_capacity(lines.len());
    let (mut at, mut has_changed, mut is_public) = (0, false, false);
    while at < lines.len() {
        let count = lines[at..].iter().take_while(|line| is_key(line)).count();
        if count < MIN_ORPHAN_LINES || is_public {
            is_public = (is_public || lines[at].contains("-----BEGIN "))
                && !lines[at].contains("-----END ");
            masked.push(lines[at].to_owned());
            at += 1;
            continue;
        }
        has_changed = true;
        masked.extend(lines[at..at + count].iter().map(|line| mask_line(line)));
        at += count;
    }
    if has_changed { Cow::Owned(masked.concat()) } else { Cow::Borrowed(text) }
}

fn is_key_end(body: &str) -> bool {
    body.contains("-----END ") && body.contains("PRIVATE KEY")
}

/// Masks the lines before the end of a key whose begin is cut off.
fn mask_orphans(lines: &mut [Cow<'_, str>]) {
    let is_body = |line: &str| {
        let (body, _) = split_end(line);
        body.trim().len() >= 16 && !body.contains(": ") && KEY_BODY.is_match(body)
    };
    // The last line of a key may be short.
    let mut is_last = true;
    for line in lines.iter_mut().rev() {
        let (body, _) = split_end(line);
        let is_short = is_last && !body.trim().is_empty() && KEY_BODY.is_match(body);
        if !is_short && !is_body(line) {
            return;
        }
        *line = mask_line(line).into();
        is_last = false;
    }
}

fn mask_line(line: &str) -> String {
    let (body, end) = split_end(line);
    let indent = &body[..body.len() - body.trim_start().len()];
    format!("{indent}{MASK}{end}")
}

/// Masks the rest of the first line: the key up to its end, or what ends a text.
fn mask_first_line(rest: &str) -> String {
    let (key, end) = rest.split_at(rest.find("-----END").unwrap_or(rest.len()));
    let is_empty = key.replace("\\n", "").chars().all(|char| !char.is_ascii_alphanumeric());
    if is_empty { rest.to_owned() } else { format!("{MASK}{end}") }
}
