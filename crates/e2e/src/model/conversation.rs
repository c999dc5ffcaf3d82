//! The position of a conversation in its script, derived from the request alone.
//!
//! The server keeps no state of the conversations: a client may repeat a request, drop an answer
//! or come back in another process. The newest marker in the person's words names the script; the
//! ids of the calls made since then name the step. Gemini has no ids: there the messages with
//! calls are counted.

use serde_json::Value;

use crate::script::{marked_script, step_of_call};

/// A parsed request, independent of its wire format.
#[derive(Debug, Default)]
pub(crate) struct ModelRequest {
    /// The conversation in order.
    pub(crate) turns: Vec<ConversationTurn>,
    /// The names of the tools on offer.
    pub(crate) tools: Vec<String>,
    /// `true` if the answer is to be streamed.
    pub(crate) is_stream: bool,
    /// The shape of the JSON that the client wants instead of prose.
    pub(crate) schema: Option<Value>,
}

/// A part of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ConversationTurn {
    /// Text with the role of the user; clients put their own reminders there, too.
    Person(String),
    /// One message of the model that asked for calls, by their ids as far as the wire has any.
    Model(Vec<String>),
}

/// A position in a script.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScriptPosition<'t> {
    pub(crate) script: &'t str,
    pub(crate) step: usize,
}

impl ModelRequest {
    /// The step to be played next, if a script was chosen at all.
    pub(crate) fn script_position(&self) -> Option<ScriptPosition<'_>> {
        let chosen = |turn: &ConversationTurn| match turn {
            ConversationTurn::Person(text) => marked_script(text).is_some(),
            ConversationTurn::Model(_) => false,
        };
        let start = self.turns.iter().rposition(chosen)?;
        let ConversationTurn::Person(text) = &self.turns[start] else { return None };
        let script = marked_script(text)?;
        let calls = || self.turns[start..].iter().filter_map(ConversationTurn::calls);
        let newest = calls().flatten().filter_map(|id| step_of_call(id, script)).max();
        let counted = calls().filter(|ids| ids.is_empty()).count();
        Some(ScriptPosition { script, step: newest.map_or(counted, |step| step + 1) })
    }

    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }
}

impl ConversationTurn {
    fn calls(&self) -> Option<&Vec<String>> {
        match self {
            Self::Model(ids) => Some(ids),
            Self::Person(_) => None,
        }
    }
}

/// The text of a message's `content`: a string, or a list of parts.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Returns every string of a request, of any wire format.
pub(crate) fn all_strings(body: &Value) -> Vec<String> {
    match body {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(all_strings).collect(),
        Value::Object(fields) => fields.values().flat_map(all_strings).collect(),
        _ => Vec::new(),
    }
}

/// The strings at `key` in a list of objects.
pub(crate) fn names<'v>(list: &'v Value, key: &str) -> impl Iterator<Item = String> + use<'v> {
    let key = key.to_owned();
    let items = list.as_array().into_iter().flatten();
    items.filter_map(move |item| item[&key].as_str().map(str::to_owned))
}

/// The smallest value of a shape that a client asked for, such as a title for the conversation.
pub(crate) fn minimal_value(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or("string").to_lowercase().as_str() {
        "object" => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Value::Object(
                fields.map(|(name, shape)| (name.clone(), minimal_value(shape))).collect(),
            )
        }
        "array" => Value::Array(Vec::new()),
        "boolean" => Value::Bool(false),
        "integer" | "number" => 1.into(),
        _ => "scripted".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(turns: Vec<ConversationTurn>) -> ModelRequest {
        ModelRequest { turns, ..ModelRequest::default() }
    }

    fn says(text: &str) -> ConversationTurn {
        ConversationTurn::Person(text.to_owned())
    }

    fn calls(ids: &[&str]) -> ConversationTurn {
        ConversationTurn::Model(ids.iter().map(|&id| id.to_owned()).collect())
    }

    #[test]
    fn without_a_marker_there_is_no_script() {
        assert_eq!(asked(vec![says("hello")]).script_position(), None);
    }

    #[test]
    fn the_ids_tell_the_step() {
        let talk = asked(vec![
            says("[script:a]"),
            calls(&["call_s0x0xa"]),
            calls(&["call_s1x0xa", "call_s1x1xa"]),
            says("a reminder of the client"),
        ]);
        assert_eq!(talk.script_position(), Some(ScriptPosition { script: "a", step: 2 }));
    }

    #[test]
    fn a_second_turn_begins_anew() {
        let talk = asked(vec![says("[script:a]"), calls(&["call_s0x0xa"]), says("[script:b]")]);
        assert_eq!(talk.script_position(), Some(ScriptPosition { script: "b", step: 0 }));
    }

    #[test]
    fn messages_without_ids_are_counted() {
        let talk = asked(vec![says("[script:a]"), calls(&[]), says("reminder"), calls(&[])]);
        assert_eq!(talk.script_position(), Some(ScriptPosition { script: "a", step: 2 }));
    }

    #[test]
    fn a_shape_is_filled() {
        let schema = json!({ "type": "object", "properties": {
            "title": { "type": "string" }, "kind": { "enum": ["new", "old"] }, "n": { "type": "INTEGER" },
        }});
        assert_eq!(minimal_value(&schema), json!({ "title": "scripted", "kind": "new", "n": 1 }));
    }
}
