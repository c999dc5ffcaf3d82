//! Values that are given to a name which means a secret, in any of the notations of code,
//! configuration, markup, headers and command lines.
//!
//! Time is linear: a name is looked at once, a value once, and the search goes on behind it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::MASK;
use super::judge::{is_opaque, is_password, is_strong_password, is_written_out};
use super::names::{SECRET_WORD, SecretName};

/// How values without quotes are meant in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    /// They are text: `.ini`, `.properties`, `.env`, YAML and the like.
    Config,
    /// They may be variables, types or words of a sentence.
    Other,
}

/// Maximum bytes of a name on either side of the word that means a secret.
const MAX_NAME_BYTES: usize = 64;
/// Minimum characters of a value in quotes, and of one without.
const MIN_QUOTED_CHARS: usize = 4;
const MIN_BARE_CHARS: usize = 6;
/// Quotes around a value or a name: in a text of a text they are escaped, in markup too.
const QUOTES: [&str; 7] = ["\\\\\\\"", "\\\"", "\\'", "&quot;", "\"", "'", "`"];

/// Masks the values of secret names.
pub(super) fn mask_assignments(text: &str, kind: TextKind) -> Cow<'_, str> {
    let mut masked: Vec<Range<usize>> = Vec::new();
    let mut done = 0;
    for word in SECRET_WORD.find_iter(text) {
        if word.start() < done {
            continue;
        }
        let name = name_around(text, word.range());
        done = name.end.max(done);
        let Some(meaning) = SecretName::of(&text[name.clone()]) else { continue };
        if let Some(value) = find_value(text, name, meaning, kind) {
            done = value.end;
            masked.push(value);
        }
    }
    if masked.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for value in masked {
        out.push_str(&text[at..value.start]);
        out.push_str(MASK);
        at = value.end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// The whole name around a word.
fn name_around(text: &str, word: Range<usize>) -> Range<usize> {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let bytes = text.as_bytes();
    let before = bytes[..word.start].iter().rev().take(MAX_NAME_BYTES).take_while(is_part).count();
    let after = bytes[word.end..].iter().take(MAX_NAME_BYTES).take_while(is_part).count();
    word.start - before..word.end + after
}

/// Where the value stands, and how it is written.
struct WrittenValue {
    range: Range<usize>,
    form: ValueForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueForm {
    /// In quotes, given to the name.
    Quoted,
    /// In quotes, as an argument of a call.
    Argument,
    /// Without quotes, right behind `=`, or the text of an element, or an option's argument.
    Bare,
    /// Without quotes, in a place where code may stand.
    Loose,
}

fn find_value(
    text: &str,
    name: Range<usize>,
    meaning: SecretName,
    kind: TextKind,
) -> Option<Range<usize>> {
    let value = parse_value(text, &name, kind)?;
    let shown = &text[value.range.clone()];
    let chars = shown.chars().count();
    let is_short =
        chars < if value.form == ValueForm::Quoted { MIN_QUOTED_CHARS } else { MIN_BARE_CHARS };
    if is_short {
        return None;
    }
    let is_secret = if shown.contains(char::is_whitespace) {
        meaning == SecretName::Phrase && is_phrase(shown)
    } else {
        let is_password_name = meaning != SecretName::Opaque;
        match value.form {
            ValueForm::Quoted | ValueForm::Bare if is_password_name => is_password(shown),
            ValueForm::Argument | ValueForm::Loose if is_password_name => is_strong_password(shown),
            _ => is_opaque(shown),
        }
    };
    is_secret.then_some(value.range)
}

/// Words that make a sentence of a phrase.
const SENTENCE_WORDS: &str = "enter your the please must password passphrase a is not invalid wrong \
     missing for to of no with should cannot be and";

fn is_phrase(text: &str) -> bool {
    let is_common = |word: &str| {
        SENTENCE_WORDS.split_ascii_whitespace().any(|common| common.eq_ignore_ascii_case(word))
    };
    is_written_out(text)
        && text.split_whitespace().count() >= 3
        && !text.split_whitespace().any(is_common)
}

fn parse_value(text: &str, name: &Range<usize>, kind: TextKind) -> Option<WrittenValue> {
    let before = &text[..name.start];
    let is_option = text[name.clone()].starts_with('-');
    let mut at = name.end;
    let quote = quote_at(&text[at..]);
    at += quote.map_or(0, str::len);
    // `env["TOKEN"] = …`
    at += usize::from(quote.is_some() && text[at..].starts_with(']'));
    let rest = &text[at..];
    if quote.is_some()
        && let Some(head) = NAMED_ENTRY.find(rest)
    {
        return value_at(text, at + head.end(), ValuePlace::entry());
    }
    if quote.is_none()
        && kind == TextKind::Config
        && let Some(head) = NAMED_YAML_ENTRY.find(rest)
    {
        return value_at(text, at + head.end(), ValuePlace::of(ValueForm::Bare));
    }
    if before.ends_with("<key>")
        && let Some(head) = PROPERTY_LIST_ENTRY.find(rest)
    {
        return element_text(text, at + head.end());
    }
    if rest.starts_with('(') && quote.is_none() || quote.is_some() && rest.starts_with(',') {
        let start = at + 1 + blanks(&rest[1..]);
        return quoted_at(text, start)
            .map(|range| WrittenValue { range, form: ValueForm::Argument });
    }
    if before.ends_with(['<', ':']) && quote.is_none() && is_inside_tag(before) {
        let opened = ELEMENT_HEAD.find(rest)?;
        return element_text(text, at + opened.end());
    }
    if is_option && quote.is_none() && rest.starts_with([' ', '\t']) {
        let start = at + blanks(rest);
        let option_value = !text[start..].starts_with(['-', '|', '=', ':', '<', '>']);
        return value_at(text, start, ValuePlace::of(ValueForm::Bare)).filter(|_| option_value);
    }
    let head = SEPARATOR.captures(rest)?;
    let (all, separator) = (head.get_match(), head.get(1)?);
    let is_tight = separator.end() == all.end() && separator.start() == 0;
    let is_sure = (is_tight && separator.as_str() == "=") || kind == TextKind::Config;
    let place = ValuePlace {
        bare: if is_sure { ValueForm::Bare } else { ValueForm::Loose },
        ends_line: !is_tight || separator.as_str() != "=",
        takes_line: kind == TextKind::Config && separator.as_str() != "=",
    };
    value_at(text, at + all.end(), place)
}

/// What may stand at the place of a value.
#[derive(Clone, Copy)]
struct ValuePlace {
    /// How a value without quotes is judged.
    bare: ValueForm,
    /// Whether a value without quotes must be the last word of its line.
    ends_line: bool,
    /// Whether such a value may hold signs that end it elsewhere.
    takes_line: bool,
}

impl ValuePlace {
    fn of(bare: ValueForm) -> Self {
        Self { bare, ends_line: false, takes_line: false }
    }

    fn entry() -> Self {
        Self { bare: ValueForm::Loose, ends_line: true, takes_line: false }
    }
}

/// `", "value": "`, `" value="`: a name and a value as two entries.
static NAMED_ENTRY: LazyLock<Regex> = LazyLock::new(|| {
    compile(r#"^\s{0,40},?\s{0,40}\\?["']?(?i:value|content|default)\\?["']?\s{0,4}[:=]\s{0,4}"#)
});
/// The same in YAML.
static NAMED_YAML_ENTRY: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^[ \t]*\r?\n[ \t]+value:[ \t]+"));
/// `<key>name</key><string>value</string>`, as Apple writes it.
static PROPERTY_LIST_ENTRY: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^</key>\s{0,40}<(?:string|data)>"));
/// The rest of the tag that an element begins with.
static ELEMENT_HEAD: LazyLock<Regex> = LazyLock::new(|| compile(r"^(?:[ \t][^<>\n]{0,200})?>"));
/// What stands between a name and its value: perhaps a type, then the separator.
static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"^[ \t]{0,40}(?:[?!]?:[ \t]*[&*]?(?:'static[ \t]+)?[A-Za-z][A-Za-z0-9_:.<>?|]{0,40}[ \t]*)?",
        r"(:=|=>|\?\?=|\|\|=|\?=|\+=|=|:)[ \t]{0,40}",
    ))
});
/// What may wrap a text: `String::from("…")`, `Some("…")`, `b"…"`.
static WRAPPER: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^(?:[A-Za-z_][A-Za-z0-9_:.]{0,60}\([ \t]*|[bfru@]{1,2})"));

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is well formed")
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

fn quote_at(text: &str) -> Option<&'static str> {
    QUOTES.into_iter().find(|quote| text.starts_with(quote))
}

/// Returns whether the text ends in a tag's name: `<`, or `<` and a prefix.
fn is_inside_tag(before: &str) -> bool {
    let prefix = before.trim_end_matches(':');
    let name = prefix.trim_end_matches(|char: char| char.is_ascii_alphanumeric());
    name.ends_with('<')
}

fn element_text(text: &str, start: usize) -> Option<WrittenValue> {
    let end = start + text[start..].find(['<', '\n'])?;
    let shown = &text[start..end];
    let start = start + (shown.len() - shown.trim_start().len());
    let end = start + shown.trim().len();
    let is_closed = text[end..].trim_start().starts_with("</");
    let is_data = text[start..].starts_with("<![CDATA[");
    (is_closed && !is_data).then_some(WrittenValue { range: start..end, form: ValueForm::Bare })
}

fn value_at(text: &str, start: usize, place: ValuePlace) -> Option<WrittenValue> {
    if let Some(range) = quoted_at(text, start) {
        return Some(WrittenValue { range, form: ValueForm::Quoted });
    }
    if let Some(wrapper) = WRAPPER.find(&text[start..])
        && let Some(range) = quoted_at(text, start + wrapper.end())
    {
        let is_call = wrapper.as_str().contains('(');
        let form = if is_call { ValueForm::Argument } else { ValueForm::Quoted };
        return Some(WrittenValue { range, form });
    }
    bare_at(text, start, place)
}

/// The value between quotes, which ends in the same line.
fn quoted_at(text: &str, start: usize) -> Option<Range<usize>> {
    let quote = quote_at(&text[start..])?;
    let start = start + quote.len();
    let mut at = start;
    loop {
        let rest = &text[at..];
        let found = rest.find([quote.chars().next()?, '\n'])?;
        // A quote that is escaped in the value is part of it.
        let is_escaped = quote.len() == 1 && rest[..found].ends_with('\\');
        if rest[found..].starts_with(quote) && !is_escaped {
            return Some(start..at + found);
        }
        if rest[found..].starts_with('\n') {
            return None;
        }
        at += found + 1;
    }
}

/// The value up to a blank or a sign that ends it.
fn bare_at(text: &str, start: usize, place: ValuePlace) -> Option<WrittenValue> {
    let rest = &text[start..];
    let is_end = |char: char| {
        char.is_whitespace()
            || matches!(char, '"' | '\'' | '`')
            || !place.takes_line
                && matches!(char, '&' | ';' | ',' | '(' | ')' | '{' | '}' | '<' | '>' | '|' | '\\')
    };
    let length = rest.find(is_end).unwrap_or(rest.len());
    let after = &rest[length..];
    let line_end = after.find('\n').map_or(after, |end| &after[..end]).trim();
    let is_last = line_end.is_empty()
        || ["#", "//", ";", "--", "*/", "-->", "\"", "'", "`"]
            .iter()
            .any(|end| line_end.starts_with(end))
        || line_end == ","
        || line_end == "}";
    let is_ended = if place.ends_line {
        is_last
    } else {
        after.is_empty()
            || after.starts_with(|char: char| char.is_whitespace())
            || after.starts_with(['&', ';', '"', '\'', '`', '|', '\\', '<'])
            || after.starts_with(',') && place.bare == ValueForm::Bare && line_end == ","
    };
    is_ended.then(|| WrittenValue { range: start..start + length, form: place.bare })
}
