//! Secrets in what a model got: in texts by their looks, and in the calls of tools that name a
//! file which usually holds some, with their results.

use std::collections::HashSet;

use retake_engine::model::{ModelMessage, ProjectPath};
use retake_engine::usually_holds_secrets;
use serde_json::{Map, Value};

use super::{MASK, Masking};

/// The calls of a conversation that are about files which usually hold secrets.
#[derive(Clone, Debug, Default)]
pub struct SecretCalls(HashSet<String>);

impl SecretCalls {
    /// Those in these messages.
    pub fn find<'a>(messages: impl IntoIterator<Item = &'a ModelMessage>) -> Self {
        let blocks = messages.into_iter().flat_map(|message| &message.content);
        let secret =
            blocks.filter(|block| block["type"] == "tool_use" && has_secret_path(&block["input"]));
        Self(secret.filter_map(|block| block["id"].as_str()).map(str::to_owned).collect())
    }
}

impl Masking {
    /// Masks the content of a message.
    pub fn mask_message(self, content: &[Value], secret: &SecretCalls) -> Vec<Value> {
        let is_secret = |id: &Value| id.as_str().is_some_and(|id| secret.0.contains(id));
        let block = |block: &Value| {
            let (key, id) = match block["type"].as_str() {
                Some("tool_use") => ("input", &block["id"]),
                Some("tool_result") => ("content", &block["tool_use_id"]),
                _ => return self.mask_json(block),
            };
            let mut block = self.mask_json(block);
            if self == Self::On && is_secret(id) {
                block[key] = mask_all_text(&block[key]);
            }
            block
        };
        content.iter().map(block).collect()
    }

    /// The arguments of a call; of one that names a file which usually holds secrets, nothing but
    /// the paths.
    pub fn mask_arguments(self, arguments: &Value) -> Value {
        let masked = self.mask_json(arguments);
        if self == Self::On && has_secret_path(arguments) { mask_all_text(&masked) } else { masked }
    }

    /// A document with what looks like a secret in its texts, or is given to a name that means one.
    pub fn mask_json(self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.mask_text(text).into(),
            Value::Array(all) => all.iter().map(|value| self.mask_json(value)).collect(),
            Value::Object(all) => Value::Object(self.mask_entries(all)),
            other => other.clone(),
        }
    }

    fn mask_entries(self, all: &Map<String, Value>) -> Map<String, Value> {
        let entry = |(key, value): (&String, &Value)| {
            let assignment = value.as_str().map(|text| format!("{key}: \"{text}\""));
            let is_named = assignment
                .is_some_and(|assignment| self.mask_text(&assignment) != assignment.as_str());
            let masked = self.mask_json(value);
            let masked = if is_named && masked == *value { MASK.into() } else { masked };
            (key.clone(), masked)
        };
        all.iter().map(entry).collect()
    }
}

/// Returns whether some text in it is the path of a file that usually holds secrets.
fn has_secret_path(input: &Value) -> bool {
    match input {
        Value::String(text) => is_secret_path(text),
        Value::Array(all) => all.iter().any(has_secret_path),
        Value::Object(all) => all.values().any(has_secret_path),
        _ => false,
    }
}

fn is_secret_path(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    name.parse::<ProjectPath>().is_ok_and(|name| usually_holds_secrets(&name))
}

/// The same without any text but the paths.
fn mask_all_text(value: &Value) -> Value {
    match value {
        Value::String(text) if is_secret_path(text) => value.clone(),
        Value::String(_) => MASK.into(),
        Value::Array(all) => all.iter().map(mask_all_text).collect(),
        Value::Object(all) => {
            let kept = |key: &str| key == "type";
            let entry = |(key, value): (&String, &Value)| {
                (key.clone(), if kept(key) { value.clone() } else { mask_all_text(value) })
            };
            Value::Object(all.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}
