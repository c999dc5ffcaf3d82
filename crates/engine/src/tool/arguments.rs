//! The arguments of a tool call, in any of the forms that agents send (DET-3).
//!
//! Agents send an object, a string that holds JSON, or a string that holds a Python literal; any
//! other text stays raw. Keys are compared without case and separators, so that
//! `file_path` and `filePath` are one name; the tables below are in that squashed form.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::python;
use crate::tool::shell_quote::quoted;

/// Keys of one file's path.
pub(super) const PATH_KEYS: &[&str] = &[
    "filepath",
    "path",
    "filename",
    "absolutepath",
    "targetfile",
    "relativeworkspacepath",
    "notebookpath",
    "file",
    "relativepath",
    "notebook",
    "source",
    "sourcepath",
    "oldpath",
    "targetpath",
];
/// Keys of a move's destination.
pub(super) const DESTINATION_KEYS: &[&str] =
    &["destination", "destinationpath", "newpath", "moveto", "targetpath"];
/// Keys of a list of files.
pub(super) const FILES_KEYS: &[&str] = &["files", "paths", "filepaths", "changes"];
/// Keys of the whole new content.
pub(super) const CONTENT_KEYS: &[&str] =
    &["content", "contents", "filetext", "newcontent", "text", "newtext", "filecontent", "data"];
/// Keys of the text to replace.
pub(super) const OLD_TEXT_KEYS: &[&str] =
    &["oldstring", "oldstr", "oldtext", "search", "find", "old"];
/// Keys of the replacement text.
pub(super) const NEW_TEXT_KEYS: &[&str] =
    &["newstring", "newstr", "newtext", "replace", "replacement", "new"];
/// Keys of the flag to replace every occurrence.
pub(super) const REPLACE_ALL_KEYS: &[&str] = &["replaceall", "allowmultiple", "all"];
/// Keys of the expected number of occurrences.
pub(super) const COUNT_KEYS: &[&str] = &["expectedreplacements", "expectedoccurrences"];
/// Keys of the line after which text is inserted.
pub(super) const INSERT_LINE_KEYS: &[&str] = &["insertline", "insertafterline"];
/// Keys of a patch or a diff.
pub(super) const PATCH_KEYS: &[&str] =
    &["patchtext", "patch", "diff", "input", "command", "changes", "content", "text"];
/// Keys of the list of a multi-edit.
pub(super) const EDITS_KEYS: &[&str] = &["edits", "replacements", "operations"];
/// Keys of the flag for a background run.
pub(super) const BACKGROUND_KEYS: &[&str] =
    &["runinbackground", "isbackground", "background", "isbackgroundprocess", "detach"];
/// Keys of a command's working folder.
pub(super) const CWD_KEYS: &[&str] =
    &["cwd", "workdir", "workingdirectory", "dirpath", "directory", "workingdir"];
/// Keys of the shell text.
const COMMAND_KEYS: &[&str] =
    &["command", "cmd", "commandline", "argv", "script", "fullcommandtext", "chars"];

/// The arguments of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolArguments<'a>(Cow<'a, Value>);

impl<'a> ToolArguments<'a> {
    /// Parses the arguments; never fails, because raw text is a form too.
    pub fn parse(input: &'a Value) -> Self {
        let Value::String(text) = input else {
            return Self(Cow::Borrowed(input));
        };
        match decode(text) {
            Some(value) => Self(Cow::Owned(value)),
            None => Self(Cow::Borrowed(input)),
        }
    }

    /// Creates arguments from members.
    pub(super) fn from_members(members: Map<String, Value>) -> Self {
        Self(Cow::Owned(Value::Object(members)))
    }

    /// Returns the raw text, if the arguments are no structure.
    pub fn raw(&self) -> Option<&str> {
        self.0.as_str()
    }

    /// The first of `names` (squashed form) that holds a text.
    pub fn text(&self, names: &[&str]) -> Option<&str> {
        self.pick(names, Value::as_str)
    }

    /// Every text that one of `names` holds.
    pub(super) fn texts(&self, names: &[&str]) -> Vec<&str> {
        names.iter().filter_map(|name| self.text(&[name])).collect()
    }

    /// Returns whether one of `names` is true.
    pub fn flag(&self, names: &[&str]) -> bool {
        self.pick(names, truth).unwrap_or(false)
    }

    /// The first of `names` that holds a number that is not negative.
    pub fn number(&self, names: &[&str]) -> Option<usize> {
        self.pick(names, whole_number)
    }

    /// The first of `names` that holds anything but null.
    pub(super) fn value(&self, names: &[&str]) -> Option<&Value> {
        self.pick(names, |value| Some(value).filter(|value| !value.is_null()))
    }

    /// Returns whether there is an argument with exactly this key.
    pub(super) fn has_exactly(&self, key: &str) -> bool {
        self.0.get(key).is_some()
    }

    /// Returns whether an argument with a key other than these holds a number.
    pub(super) fn has_number_besides(&self, names: &[&str]) -> bool {
        let besides = |key: &str| !names.iter().any(|name| squash_eq(key, name));
        let members = self.0.as_object().into_iter().flatten();
        members.into_iter().any(|(key, value)| besides(key) && holds_number(value))
    }

    /// The first of `names` that holds a list; a string that holds a JSON list counts.
    pub fn list(&self, names: &[&str]) -> Option<Vec<Value>> {
        self.pick(names, as_list)
    }

    /// The shell text: a string, the words of an `exec` vector, or a list of commands.
    pub(super) fn command(&self) -> Option<String> {
        if let Some(lines) = self.list(&["commands"]) {
            let lines: Vec<String> = lines.iter().filter_map(command_line).collect();
            return (!lines.is_empty()).then(|| lines.join("\n"));
        }
        self.pick(COMMAND_KEYS, command_line)
            .or_else(|| self.text(&["commands", "input"]).map(str::to_owned))
            .or_else(|| self.raw().map(str::to_owned))
    }

    fn pick<'s, T>(&'s self, names: &[&str], read: impl Fn(&'s Value) -> Option<T>) -> Option<T> {
        let object = self.0.as_object()?;
        names.iter().find_map(|name| member(object, name).and_then(&read))
    }
}

/// Normalises a name for comparison: lower case without separators.
pub(super) fn squash(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn member<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.iter().find(|(key, _)| squash_eq(key, name)).map(|(_, value)| value)
}

fn squash_eq(key: &str, name: &str) -> bool {
    let letters = key.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase());
    letters.eq(name.bytes())
}

/// A structure written as text. A lone number or word is text, not a structure.
fn decode(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok().or_else(|| python::parse(text))
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => match text.as_str() {
            "true" | "True" | "1" => Some(true),
            "false" | "False" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn whole_number(value: &Value) -> Option<usize> {
    match value {
        Value::Number(number) => number.as_u64().and_then(|n| usize::try_from(n).ok()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn holds_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => text.trim().parse::<f64>().is_ok(),
        Value::Array(items) => items.iter().any(holds_number),
        _ => false,
    }
}

fn as_list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items.clone()),
        Value::String(text) => match decode(text)? {
            Value::Array(items) => Some(items),
            _ => None,
        },
        _ => None,
    }
}

/// One command: a text, the words of an `exec` vector, or `{command, args}`.
fn command_line(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<String>> =
                words.iter().map(|word| word.as_str().map(quoted)).collect();
            words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
        }
        Value::Object(object) => {
            let command = COMMAND_KEYS.iter().find_map(|name| member(object, name))?.as_str()?;
            match member(object, "args").and_then(Value::as_array) {
                Some(args) => {
                    let rest = args.iter().filter_map(Value::as_str).map(quoted);
                    let words: Vec<String> = std::iter::once(quoted(command)).chain(rest).collect();
                    Some(words.join(" "))
                }
                None => Some(command.to_owned()),
            }
        }
        _ => None,
    }
}
