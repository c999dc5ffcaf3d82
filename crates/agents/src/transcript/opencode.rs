//! opencode: the messages of a session as its SDK returns them, `[{info, parts}]`.
//!
//! The plugin sends them with `session.idle`, because opencode keeps them in a database of its
//! own. Parts that opencode added to a person's message are marked `synthetic`.

use serde_json::Value;

use super::{Reader, Speaker, Spoken, State, called};
use crate::prompt::Prompt;
use crate::wire::{is_true, list, text};

/// The conversation, from index 0 on.
pub(crate) fn messages(messages: &Value) -> Vec<Spoken> {
    let mut reader = Reader::at(State::default());
    messages.as_array().into_iter().flatten().for_each(|one| message(&mut reader, one));
    reader.spoken.into_values().collect()
}

pub(super) fn message(reader: &mut Reader, message: &Value) {
    if let Some(spoken) = one(message, reader.state.messages) {
        reader.state.messages = spoken.index.saturating_add(1);
        reader.spoken.insert(spoken.index, spoken);
    }
}

/// The words in the parts of a message.
pub(crate) fn words(parts: &Value) -> String {
    let parts = parts.as_array().map_or(&[][..], Vec::as_slice);
    let words = parts.iter().filter(|part| text(part, "/type") == Some("text") && !added(part));
    words.filter_map(|part| text(part, "/text")).collect::<Vec<_>>().join("\n")
}

fn one(message: &Value, index: u64) -> Option<Spoken> {
    let parts = message.get("parts").unwrap_or(&Value::Null);
    match text(message, "/info/role")? {
        "user" => {
            let all = list(message, "/parts");
            if !all.is_empty() && all.iter().all(added) {
                return None;
            }
            let mut spoken = Spoken::new(index, Speaker::User);
            spoken.add_text(Prompt::of(&words(parts)).message()?);
            Some(spoken)
        }
        // The summary that stands for what was compacted.
        "assistant" if is_true(message, "/info/summary") => None,
        "assistant" => {
            let mut spoken = Spoken::new(index, Speaker::Assistant);
            spoken.add_text(&words(parts));
            let calls = list(message, "/parts").iter().filter_map(|part| text(part, "/callID"));
            calls.for_each(|id| spoken.add_call(called(id)));
            Some(spoken)
        }
        _ => None,
    }
}

/// Returns whether opencode added this part.
pub(crate) fn added(part: &Value) -> bool {
    is_true(part, "/synthetic")
        || is_true(part, "/ignored")
        || text(part, "/type") == Some("compaction")
}
