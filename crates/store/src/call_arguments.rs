//! The arguments of a call that stay on record once it is over, in short.
//!
//! A call's whole arguments are needed only while it can change files. What stays is for people:
//! at most [`MAX_ARGUMENT_BYTES`] of JSON. A long text is cut, and one that is a file's content is
//! left out, since contents are on record with the changes. Invariant: what is cut is listed with
//! its place and its whole size, so that a short text is never taken for the whole one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::StoreError;
use crate::compression::{zstd_compress, zstd_decompress_up_to};

/// Maximum bytes of a call's arguments that stay on record, before compression.
pub const MAX_ARGUMENT_BYTES: usize = 16 * 1024;
/// Maximum bytes of one text; a longer one is cut to this.
const MAX_TEXT_BYTES: usize = 2 * 1024;
/// Maximum bytes of a text that is a file's content, or a part of it; a longer one is left out.
const MAX_CONTENT_BYTES: usize = 256;
/// Maximum bytes of the name of an argument.
const MAX_NAME_BYTES: usize = 256;
/// Maximum number of places that are listed as cut, and maximum bytes of each.
const MAX_CUTS: usize = 64;
const MAX_PLACE_BYTES: usize = 512;
/// Bytes that each value counts for, beside its text.
const VALUE_BYTES: usize = 8;
/// Maximum bytes that are decompressed: arguments, their list of cuts, and the JSON around them.
const MAX_STORED_BYTES: u64 = 32 * MAX_ARGUMENT_BYTES as u64;

/// Names of arguments whose text is a file's content, or a part of it.
const CONTENT_NAMES: [&str; 14] = [
    "content",
    "contents",
    "file_text",
    "new_content",
    "new_source",
    "new_str",
    "new_string",
    "new_text",
    "old_content",
    "old_str",
    "old_string",
    "old_text",
    "patch",
    "patchText",
];

/// Arguments of a call, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortArguments {
    /// The arguments; `null` if none are on record.
    pub arguments: Value,
    /// The places that are cut, in order; the first few dozen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<CutArgument>,
}

/// A place of the arguments that is cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutArgument {
    /// A JSON pointer to it.
    pub at: String,
    /// Bytes of the whole value: of a text its own, of a list or an object those of its JSON.
    pub bytes: u64,
}

impl ShortArguments {
    /// Shortens arguments: an object, or a text that holds one.
    pub fn new(input: &Value) -> Self {
        let embedded = input.as_str().and_then(|text| serde_json::from_str(text).ok());
        let input = embedded.as_ref().filter(|value: &&Value| value.is_object()).unwrap_or(input);
        let mut shortener = Shortener { bytes_left: MAX_ARGUMENT_BYTES, cut: Vec::new() };
        let arguments = shortener.shorten(input, "", None).unwrap_or(Value::Null);
        Self { arguments, cut: shortener.cut }
    }

    /// Compresses them; `None` if there are none.
    pub(crate) fn pack(&self) -> Result<Option<Vec<u8>>, StoreError> {
        if *self == Self::default() {
            return Ok(None);
        }
        let json = serde_json::to_vec(self).map_err(std::io::Error::other)?;
        Ok(Some(zstd_compress(&json)?))
    }

    /// Decompresses them; damaged ones are none.
    pub(crate) fn unpack(packed: Option<&[u8]>) -> Self {
        let bytes = packed.and_then(|it| zstd_decompress_up_to(it, MAX_STORED_BYTES).ok());
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

/// Shortens values in order, until nothing more fits.
struct Shortener {
    bytes_left: usize,
    cut: Vec<CutArgument>,
}

impl Shortener {
    /// The value at a place in short; `None` if nothing of it fits. `name` is its argument's name.
    fn shorten(&mut self, value: &Value, at: &str, name: Option<&str>) -> Option<Value> {
        if !self.take(VALUE_BYTES) {
            self.note_cut(at, value);
            return None;
        }
        Some(match value {
            Value::String(text) => self.shorten_text(text, at, name).into(),
            Value::Array(items) => Value::Array(self.shorten_list(items, value, at, name)),
            Value::Object(members) => Value::Object(self.shorten_object(members, value, at)),
            // A number may have as many digits as its sender likes.
            Value::Number(number) if !self.take(number.to_string().len()) => {
                self.note_cut(at, value);
                return None;
            }
            other => other.clone(),
        })
    }

    fn shorten_text(&mut self, text: &str, at: &str, name: Option<&str>) -> String {
        let is_content = name.is_some_and(|name| CONTENT_NAMES.contains(&name));
        let is_left_out = is_content && text.len() > MAX_CONTENT_BYTES;
        let most = if is_left_out { 0 } else { MAX_TEXT_BYTES.min(self.bytes_left) };
        let kept = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        let kept = kept.unwrap_or(0);
        self.bytes_left = self.bytes_left.saturating_sub(kept);
        if kept < text.len() {
            self.push_cut(at, text.len() as u64);
        }
        text[..kept].to_owned()
    }

    fn shorten_list(
        &mut self,
        items: &[Value],
        whole: &Value,
        at: &str,
        name: Option<&str>,
    ) -> Vec<Value> {
        let mut kept = Vec::new();
        for (number, item) in items.iter().enumerate() {
            if self.bytes_left < VALUE_BYTES {
                self.note_cut(at, whole);
                break;
            }
            kept.extend(self.shorten(item, &format!("{at}/{number}"), name));
        }
        kept
    }

    fn shorten_object(
        &mut self,
        members: &Map<String, Value>,
        whole: &Value,
        at: &str,
    ) -> Map<String, Value> {
        let mut kept = Map::new();
        for (name, member) in members {
            let fits = name.len() <= MAX_NAME_BYTES && self.bytes_left >= VALUE_BYTES + name.len();
            if !fits {
                self.note_cut(at, whole);
                break;
            }
            self.bytes_left -= name.len();
            let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            if let Some(member) = self.shorten(member, &place, Some(name)) {
                kept.insert(name.clone(), member);
            }
        }
        kept
    }

    /// Takes bytes from those that are left; `false` if there are not as many.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.unwrap_or(self.bytes_left);
        left.is_some()
    }

    fn note_cut(&mut self, at: &str, whole: &Value) {
        self.push_cut(at, whole.to_string().len() as u64);
    }

    fn push_cut(&mut self, at: &str, bytes: u64) {
        // A place is a part of the arguments too: one that is very long is told by its parent.
        let is_known = self.cut.iter().any(|cut| cut.at == at);
        if !is_known && self.cut.len() < MAX_CUTS && at.len() <= MAX_PLACE_BYTES {
            self.cut.push(CutArgument { at: at.to_owned(), bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cuts(short: &ShortArguments) -> Vec<(&str, u64)> {
        short.cut.iter().map(|cut| (cut.at.as_str(), cut.bytes)).collect()
    }

    #[test]
    fn short_arguments_stay_as_they_are() {
        let input =
            json!({ "file_path": "a", "edits": [{ "old_string": "x", "n": 1.5 }], "z": null });
        let short = ShortArguments::new(&input);
        assert_eq!(short.cut, []);
        assert_eq!(short.arguments, input);
        assert_eq!(ShortArguments::new(&input.to_string().into()), short, "a text that holds them");
        assert_eq!(ShortArguments::unpack(short.pack().unwrap().as_deref()), short);
        assert_eq!(ShortArguments::unpack(Some(b"damaged")), ShortArguments::default());
    }

    #[test]
    fn contents_are_left_out_and_long_texts_cut_and_both_are_told() {
        let input = json!({
            "file_path": "a", "content": "c".repeat(300), "prompt": "é".repeat(3000),
            "a/b": { "edits": [{ "new_string": "n".repeat(5000) }, { "new_string": "short" }] },
        });
        let short = ShortArguments::new(&input);
        assert_eq!(short.arguments["content"], "");
        assert_eq!(short.arguments["prompt"].as_str().unwrap().len(), MAX_TEXT_BYTES);
        assert_eq!(
            short.arguments["a/b"]["edits"],
            json!([{ "new_string": "" }, { "new_string": "short" }])
        );
        let mut told = cuts(&short);
        told.sort_unstable();
        let expected = [("/a~1b/edits/0/new_string", 5000), ("/content", 300), ("/prompt", 6000)];
        assert_eq!(told, expected);
        for cut in &short.cut {
            assert!(input.pointer(&cut.at).is_some(), "{}", cut.at);
        }
    }

    #[test]
    fn whatever_is_sent_what_stays_is_bounded_and_the_rest_told() {
        let many: Vec<Value> = (0..100_000).map(Value::from).collect();
        let names: Map<String, Value> =
            (0..5000).map(|n| (format!("name-{n}"), "v".repeat(100).into())).collect();
        let deep =
            (0..100).fold(json!("x".repeat(3000)), |inner, _| json!([inner, "y".repeat(900)]));
        let long_name = json!({ "n".repeat(20_000): 1 });
        for input in [json!(many), json!(names), deep, long_name, json!("t".repeat(50_000))] {
            let short = ShortArguments::new(&input);
            let bytes = short.arguments.to_string().len();
            assert!(bytes <= 2 * MAX_ARGUMENT_BYTES, "{bytes}");
            assert!(!short.cut.is_empty() && short.cut.len() <= MAX_CUTS);
            assert_eq!(ShortArguments::unpack(short.pack().unwrap().as_deref()), short);
        }
    }
}
