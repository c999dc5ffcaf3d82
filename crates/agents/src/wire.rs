//! Lenient reading of the JSON that agents write.
//!
//! Invariant: reading is total. A key that is missing or of another type is simply not there, so
//! that a payload of a newer agent is understood as far as it is known.

use serde_json::Value;

use crate::HookParseError;

/// Maximum nesting that is kept; the parser's own limit is 128.
const MAX_JSON_DEPTH: usize = 100;

/// The object that a hook was given.
pub(crate) struct HookPayload(Value);

impl HookPayload {
    /// Reads the bytes of a payload.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, HookParseError> {
        let value = parse(bytes)?;
        if value.is_object() { Ok(Self(value)) } else { Err(HookParseError::NotAnObject) }
    }

    /// The value at a JSON pointer.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Value> {
        self.0.pointer(pointer)
    }

    /// The text at the first of these pointers that has one.
    pub(crate) fn text(&self, pointers: &[&str]) -> Option<&str> {
        pointers.iter().find_map(|pointer| text(&self.0, pointer))
    }

    /// As [`Self::text`]; an empty text is none. For ids and paths.
    pub(crate) fn non_empty_text(&self, pointers: &[&str]) -> Option<&str> {
        let filled = |pointer: &&str| text(&self.0, pointer).filter(|text| !text.is_empty());
        pointers.iter().find_map(filled)
    }

    /// As [`Self::non_empty_text`], where nothing can be understood without it.
    pub(crate) fn require(&self, pointers: &[&'static str]) -> Result<&str, HookParseError> {
        let name = pointers.first().map_or("", |pointer| pointer.trim_start_matches('/'));
        self.non_empty_text(pointers).ok_or(HookParseError::Missing(name))
    }

    /// The boolean at a pointer.
    pub(crate) fn flag(&self, pointer: &str) -> Option<bool> {
        self.at(pointer)?.as_bool()
    }

    /// A tool's arguments: the first of these that is there; a text that holds an object is one.
    pub(crate) fn arguments(&self, pointers: &[&str]) -> Value {
        let found = pointers.iter().find_map(|pointer| self.at(pointer));
        found.map_or(Value::Null, parse_embedded)
    }
}

/// The text at a JSON pointer.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// The whole number at a JSON pointer.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<u32> {
    value.pointer(pointer)?.as_u64().and_then(|number| u32::try_from(number).ok())
}

/// Returns whether there is a true at a JSON pointer.
pub(crate) fn is_true(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool).unwrap_or(false)
}

/// The elements of the list at a JSON pointer, none if there is no list.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The object that a text holds, else the value itself. Agents differ, and so does one agent
/// between its hooks and its transcript; calls without ids are compared by their arguments.
pub(crate) fn parse_embedded(value: &Value) -> Value {
    let held = value.as_str().and_then(|text| parse(text.as_bytes()).ok());
    held.filter(Value::is_object).unwrap_or_else(|| value.clone())
}

/// Parses JSON as agents write it.
///
/// Agents in JavaScript cut long texts by UTF-16 units, which can leave half of a surrogate pair:
/// JSON that strict parsers refuse. And a tool's output may be nested deeper than the parser's
/// limit. An event must not get lost over half an emoji, or over an output that is not used.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| {
        let mended = repair_surrogates(bytes);
        serde_json::from_str(&mended)
            .or_else(|_| serde_json::from_str(&truncate_depth(&mended)))
            .map_err(|_| error)
    })
}

/// The JSON text with `null` in the place of everything that is nested too deep.
fn truncate_depth(text: &str) -> String {
    let (mut shortened, mut depth) = (String::with_capacity(text.len()), 0_usize);
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        let was_deep = depth > MAX_JSON_DEPTH;
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (was_deep, depth > MAX_JSON_DEPTH) {
            (false, false) => shortened.push(c),
            (false, true) => shortened.push_str("null"),
            (true, _) => {}
        }
    }
    shortened
}

fn repair_surrogates(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut whole = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let length = match (utf16_unit(escape), escape.get(6..).and_then(utf16_unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                whole.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            (Some(_), _) => 6,
            // Whatever is escaped goes along: in `\\u` the second backslash begins nothing.
            (None, _) => escape.chars().take(2).map(char::len_utf8).sum(),
        };
        let (escaped, after) = escape.split_at(length);
        whole.push_str(escaped);
        rest = after;
    }
    whole.push_str(rest);
    whole
}

/// The UTF-16 unit of an escape like `\u00e9` at the start of the text.
fn utf16_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

/// A short name for a text, the same in every process and version (FNV-1a).
pub(crate) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns whether an id is safe as one component of a path (W-26).
pub(crate) fn is_safe_file_name(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=128).contains(&id.len()) && !id.starts_with('.') && id.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_emoji_is_mended_and_a_whole_one_is_kept() {
        let read = |json: &str| parse(json.as_bytes()).unwrap();
        assert_eq!(read(r#""a\ud83d""#), "a\u{fffd}");
        assert_eq!(read(r#""\ude00b\ud83d\ude00\ud83d""#), "\u{fffd}b😀\u{fffd}");
        assert_eq!(read(r#""\\ud83d \ud83d\\""#), "\\ud83d \u{fffd}\\");
        assert_eq!(parse(b"\"\xff\"").unwrap(), "\u{fffd}");
        for broken in [r#""\ud83"#, r#""\ud83d"#, "\\", r"\u+123", "{", "\\é"] {
            assert!(parse(broken.as_bytes()).is_err(), "{broken}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_left_out() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let json = format!(r#"{{"id":"a]\"}}b","answer":{deep},"after":[{deep},{{"x":1}}]}}"#);
        let value = parse(json.as_bytes()).unwrap();
        assert_eq!((&value["id"], &value["after"][1]["x"]), (&"a]\"}b".into(), &1.into()));
        assert!(value["answer"].is_array());
        assert!(parse("[".repeat(5000).as_bytes()).is_err());
    }

    #[test]
    fn only_plain_ids_name_files() {
        for id in ["1794768870410_bm7ty", "3c6653f0-e79a-4870", "a.b"] {
            assert!(is_safe_file_name(id), "{id}");
        }
        for id in ["", ".", "..", "../x", "a/b", "a\\b", "a\0", "C:", "é", &"x".repeat(129)] {
            assert!(!is_safe_file_name(id), "{id}");
        }
    }

    #[test]
    fn arguments_in_a_text_are_the_object() {
        let payload = HookPayload::parse(br#"{"a":"{\"x\":1}","b":"[1]","c":"ls"}"#).unwrap();
        assert_eq!(payload.arguments(&["/none", "/a"])["x"], 1);
        assert_eq!(payload.arguments(&["/b"]), "[1]");
        assert_eq!(payload.arguments(&["/c"]), "ls");
        assert!(payload.arguments(&["/none"]).is_null());
    }
}
