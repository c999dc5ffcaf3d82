//! Values of settings as words of the command line, and as text for people.
//!
//! What kind of value a setting takes is told by its default. Where that is none, by what
//! [`SettingsFiles::check`] accepts: so no list of kinds can differ from the settings themselves.

use retake_engine::model::ErrorCode;
use retake_service::documents::SettingDocument;
use retake_service::settings::SettingsFiles;
use serde_json::{Value, json};

use crate::describe::format_size;
use crate::escape::escape;
use crate::failure::ApiError;

/// The end of keys whose number is a size.
const SIZE_SUFFIX: &str = "_bytes";

/// Parses the words that a person wrote for a setting, and checks the value.
pub(super) fn parse_value(
    files: &SettingsFiles,
    setting: &SettingDocument,
    words: &[String],
) -> Result<Value, ApiError> {
    let key = &setting.key;
    if setting.default.is_array() {
        let value = parse_list(words);
        return files.check(key, &value).map(|()| value);
    }
    let [word] = words else {
        let message = format!("'{key}' takes one value, and {} were given", words.len());
        let hint = "put quotes around a value with blanks; nothing was changed";
        return Err(ApiError::new(ErrorCode::BadValue, message, hint));
    };
    let text = json!(word);
    let Some(typed) = parse_typed(setting, word) else {
        return files.check(key, &text).map(|()| text);
    };
    match files.check(key, &typed) {
        Ok(()) => Ok(typed),
        // A text may consist of digits; a number that is out of range is told as a number.
        Err(failure) => files.check(key, &text).map(|()| text).map_err(|_| failure),
    }
}

/// One JSON array, or an item a word.
fn parse_list(words: &[String]) -> Value {
    if let [word] = words
        && let Ok(list @ Value::Array(_)) = serde_json::from_str(word)
    {
        return list;
    }
    json!(words)
}

/// The word as the kind of the default; none if it is a text, or does not look like that kind.
fn parse_typed(setting: &SettingDocument, word: &str) -> Option<Value> {
    match setting.default {
        Value::Bool(_) => match word.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(json!(true)),
            "false" | "no" | "off" => Some(json!(false)),
            _ => None,
        },
        Value::Number(_) if setting.key.ends_with(SIZE_SUFFIX) => {
            parse_size(word).map(|size| json!(size)).or_else(|| parse_integer(word))
        }
        Value::Number(_) | Value::Null => parse_integer(word),
        _ => None,
    }
}

fn parse_integer(word: &str) -> Option<Value> {
    word.replace('_', "").parse::<i64>().ok().map(|number| json!(number))
}

/// Parses a size: `500MB` in powers of 1000, `64MiB` or `64M` in powers of 1024.
fn parse_size(word: &str) -> Option<i64> {
    let word = word.trim();
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(word.len());
    let number: i64 = word[..digits].replace('_', "").parse().ok()?;
    let unit = word[digits..].trim().to_ascii_lowercase();
    let (base, power) = match unit.as_str() {
        "" | "b" => (1, 0),
        "k" | "kib" => (1024_i64, 1),
        "m" | "mib" => (1024, 2),
        "g" | "gib" => (1024, 3),
        "t" | "tib" => (1024, 4),
        "kb" => (1000, 1),
        "mb" => (1000, 2),
        "gb" => (1000, 3),
        "tb" => (1000, 4),
        _ => return None,
    };
    number.checked_mul(base.pow(power))
}

/// The value alone, as `set` takes it.
pub(super) fn plain_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => escape(text),
        other => escape(other.to_string()),
    }
}

/// The value for people: `(not set)`, and sizes with their unit.
pub(super) fn describe_value(key: &str, value: &Value) -> String {
    match value {
        Value::Null => "(not set)".to_owned(),
        Value::Number(number) if key.ends_with(SIZE_SUFFIX) => {
            let size = number.as_u64().map(format_size);
            size.map_or_else(|| number.to_string(), |size| format!("{number} ({size})"))
        }
        other => plain_text(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("500MB"), Some(500_000_000));
        assert_eq!(parse_size("64MiB"), Some(64 * 1024 * 1024));
        assert_eq!(parse_size("2 g"), Some(2 * 1024 * 1024 * 1024));
        assert_eq!(parse_size("1_000"), Some(1000));
        assert_eq!(parse_size("9999999999TiB"), None);
        assert_eq!(parse_size("MiB"), None);
        assert_eq!(parse_size("5 potatoes"), None);
    }

    #[test]
    fn a_list_is_words_or_json() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(parse_list(&words("*.log tmp/")), json!(["*.log", "tmp/"]));
        assert_eq!(parse_list(&words("[\"a\",\"b\"]")), json!(["a", "b"]));
        assert_eq!(parse_list(&words("[]")), json!([]));
        assert_eq!(parse_list(&words("[ab]*.txt")), json!(["[ab]*.txt"]));
    }
}
