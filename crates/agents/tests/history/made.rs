//! Made-up conversations, in every form.

use fastrand::Rng;
use retake_agents::history::ModelCursor;
use retake_agents::history::{Conversation, HistoryFormat, read_on, write};
use retake_model::{MessageRole, ModelMessage};
use serde_json::{Value, json};

use super::{read_whole, show};

/// Texts that are hard on someone.
const TEXTS: &[&str] = &[
    "",
    " ",
    "go on",
    "é😀\u{0}\u{7f}\u{2028}",
    "a\nb\r\n\n",
    "{\"path\":\"a\"}",
    "<environment_context>\nx",
    "<task-notification><task-id>t</task-id></task-notification>",
    "*** Begin Patch\n*** Update File: a\n",
    "\\ud83d \"quoted\"",
];

/// Makes a conversation in turns, as agents have them.
pub(super) fn conversation(random: &mut Rng) -> Conversation {
    let mut made = Made { random, messages: Vec::new(), calls: 0 };
    for _ in 0..made.random.usize(1..4) {
        if made.random.u8(..4) == 0 {
            let content = vec![made.text()];
            made.add(MessageRole::User, content);
            made.messages.last_mut().unwrap().is_summary = true;
        }
        let content = made.some(1..3, Made::words);
        made.add(MessageRole::User, content);
        for _ in 0..made.random.usize(..4) {
            if !made.step() {
                break;
            }
        }
    }
    let messages = made.messages;
    let made = Conversation { messages, dialog: Some("d 1".to_owned()), ..Conversation::default() };
    // Counts the messages.
    let counted = read_whole(
        HistoryFormat::ApiHistory,
        write(HistoryFormat::ApiHistory, &made, 0).as_bytes(),
    );
    Conversation { messages: counted.messages, ..made }
}

struct Made<'a> {
    random: &'a mut Rng,
    messages: Vec<ModelMessage>,
    calls: usize,
}

impl Made<'_> {
    /// A message of the assistant with the results of its calls; whether it goes on.
    fn step(&mut self) -> bool {
        let mut content = self.some(0..3, Self::text);
        let calls = self.some(0..4, Self::call);
        if self.random.u8(..4) == 0 {
            content.splice(0..0, calls.clone());
        } else {
            content.extend(calls.clone());
        }
        self.add(MessageRole::Assistant, content);
        // A call that was interrupted has no result.
        if calls.is_empty() || self.random.u8(..8) == 0 {
            return false;
        }
        let results = calls.iter().map(|call| self.result(&call["id"])).collect();
        self.add(MessageRole::User, results);
        true
    }

    fn add(&mut self, role: MessageRole, content: Vec<Value>) {
        let ts = Some(1_790_000_000_000 + self.messages.len() as i64);
        self.messages.push(ModelMessage { role, content, ts, is_summary: false, index: None });
    }

    fn some(&mut self, count: std::ops::Range<usize>, make: fn(&mut Self) -> Value) -> Vec<Value> {
        (0..self.random.usize(count)).map(|_| make(self)).collect()
    }

    fn any_text(&mut self) -> &'static str {
        TEXTS[self.random.usize(..TEXTS.len())]
    }

    fn text(&mut self) -> Value {
        json!({"type": "text", "text": self.any_text()})
    }

    fn words(&mut self) -> Value {
        let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
        let address = json!({"type": "url", "url": "https://example.org/a.png"});
        match self.random.u8(..6) {
            0 => json!({"type": "image", "source": source}),
            1 => json!({"type": "image", "source": address}),
            2 => json!({"type": "text", "text": "cached", "cache_control": {"type": "ephemeral"}}),
            _ => self.text(),
        }
    }

    fn call(&mut self) -> Value {
        self.calls += 1;
        let text = self.any_text();
        let input = match self.random.u8(..5) {
            0 => json!({}),
            1 => json!({"input": text}),
            2 => json!({"input": text, "n": [1, {"b": null}]}),
            3 => json!({"input": {"command": text}}),
            _ => json!({"file_path": "a", "content": text}),
        };
        json!({"type": "tool_use", "id": format!("call_{}", self.calls), "name": "edit", "input": input})
    }

    fn result(&mut self, id: &Value) -> Value {
        let text = self.any_text();
        let content = match self.random.u8(..5) {
            0 => json!([]),
            1 => json!([{"type": "text", "text": text}, self.words()]),
            2 => json!([{"query": text, "result": {"ok": true}}]),
            _ => json!(text),
        };
        let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
        match self.random.u8(..4) {
            0 => block["is_error"] = true.into(),
            1 => block["is_error"] = false.into(),
            _ => {}
        }
        block
    }
}

const MODEL_FORMS: [HistoryFormat; 7] = [
    HistoryFormat::ClaudeCode,
    HistoryFormat::Codex,
    HistoryFormat::Gemini,
    HistoryFormat::Opencode,
    HistoryFormat::Copilot,
    HistoryFormat::Cline,
    HistoryFormat::ApiHistory,
];

#[test]
fn every_form_gives_it_back() {
    for seed in 0..400 {
        let made = conversation(&mut Rng::with_seed(seed));
        for form in MODEL_FORMS {
            let written = write(form, &made, 7);
            let again = read_whole(form, written.as_bytes());
            if again.messages != made.messages {
                let (got, wanted) = (show(&again.messages), show(&made.messages));
                panic!("{form}, seed {seed}\n{got}\nnot\n{wanted}\n{written}");
            }
            if let Ok(agent) = form.as_str().parse() {
                let live = read_on(agent, &ModelCursor::default(), written.as_bytes()).0;
                let live: Vec<ModelMessage> =
                    live.into_iter().map(|(_, message)| message).collect();
                assert_eq!(live, made.messages, "{form}, seed {seed}: read live");
            }
        }
        let shown = write(HistoryFormat::UiMessages, &made, 7);
        let again = read_whole(HistoryFormat::UiMessages, shown.as_bytes());
        assert_eq!(
            again.display,
            retake_agents::history::display_messages(&made.messages),
            "{seed}"
        );
    }
}

#[test]
fn a_text_of_any_length_is_kept_whole() {
    let long = "0123456789abcdef".repeat(40_000);
    let message = |role: &str| json!({"role": role, "content": long, "ts": 1});
    let api = json!([message("user"), message("assistant")]).to_string();
    let whole = read_whole(HistoryFormat::ApiHistory, api.as_bytes());
    for form in MODEL_FORMS {
        let again = read_whole(form, write(form, &whole, 7).as_bytes());
        assert_eq!(again.messages, whole.messages, "{form}");
    }
}
