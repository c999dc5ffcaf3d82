//! What holds for whatever an agent may send or write: for the tests here, and for the fuzz targets.

use std::collections::BTreeMap;

use retake_agents::history::{self, HistoryFormat, ModelCursor};
use retake_agents::transcript::{self, MAX_TEXT_BYTES, TranscriptCursor, TranscriptMessage};
use retake_agents::{AgentKind, HookMessage, HookVerdict, render_reply};
use retake_model::ModelMessage;
use serde_json::Map;

/// What was heard belongs to a dialog, leads to no other place, and every reply is one.
pub(crate) fn check_heard(agent: AgentKind, heard: &HookMessage) {
    for event in heard.events.iter().chain(&heard.conversation) {
        assert!(!event.dialog.0.is_empty());
        assert_eq!(event.kind.as_deref(), Some(agent.name()));
    }
    if let Some(place) = heard.transcript.as_ref().and_then(|place| place.path.strip_prefix("~/")) {
        assert!(place.split('/').all(|part| !part.is_empty() && !part.starts_with("..")));
    }
    let text = heard.last_words.clone().unwrap_or_default();
    let text_of_person = text.clone();
    for verdict in [HookVerdict::Proceed, HookVerdict::Note(text.clone()), HookVerdict::Deny(text)]
    {
        let reply = render_reply(agent, heard.phase, &verdict, Some(&text_of_person));
        assert!(reply.is_empty() || serde_json::from_str::<Map<_, _>>(&reply).is_ok(), "{reply}");
    }
}

/// Messages are numbered and cut; reading to `cut` and from there on makes no difference.
pub(crate) fn check_read(agent: AgentKind, bytes: &[u8], cut: usize) {
    let (messages, cursor) = transcript::read(agent, &TranscriptCursor::default(), bytes);
    assert!(cursor.offset() <= bytes.len() as u64);
    assert_eq!(cursor.messages(), messages.len() as u64);
    for (at, message) in messages.iter().enumerate() {
        assert_eq!(message.index, at as u64);
        assert!(message.text.len() <= MAX_TEXT_BYTES);
    }
    if agent != AgentKind::Cline {
        assert_eq!(in_two(agent, bytes, cut), messages);
    }
}

/// The messages after reading to some point and from there on.
fn in_two(agent: AgentKind, bytes: &[u8], cut: usize) -> Vec<TranscriptMessage> {
    let (mut messages, cursor) =
        transcript::read(agent, &TranscriptCursor::default(), &bytes[..cut]);
    let from = usize::try_from(cursor.offset()).unwrap();
    for message in transcript::read(agent, &cursor, &bytes[from..]).0 {
        let at = usize::try_from(message.index).unwrap();
        if at < messages.len() {
            messages[at] = message;
        } else {
            messages.push(message);
        }
    }
    messages
}

/// Whatever is read can be written and read again, in every form; slices make no difference.
pub(crate) fn check_history(
    agent: AgentKind,
    bytes: &[u8],
    [from, to]: [HistoryFormat; 2],
    cut: usize,
) {
    let form = history::detect_format("x.jsonl", bytes);
    for form in form.into_iter().chain([from]) {
        let Ok(read) = history::read(form, bytes) else { continue };
        let written = history::write(to, &read, 7);
        // A file of Claude Code has nothing but messages.
        let empty = written.is_empty() && to == HistoryFormat::ClaudeCode;
        let again = history::read(to, written.as_bytes());
        assert!(empty || again.is_ok_and(|again| again.problems.is_empty()), "{form} as {to}");
    }
    let (messages, cursor) = history::read_on(agent, &ModelCursor::default(), bytes);
    assert!(cursor.offset() <= bytes.len() as u64);
    let messages: BTreeMap<u64, ModelMessage> = messages.into_iter().collect();
    assert!(messages.keys().copied().eq(0..cursor.messages()));
    if !matches!(agent, AgentKind::Cline | AgentKind::Opencode) {
        let (start, cursor) = history::read_on(agent, &ModelCursor::default(), &bytes[..cut]);
        let from = usize::try_from(cursor.offset()).unwrap();
        let (rest, _) = history::read_on(agent, &cursor, &bytes[from..]);
        let sliced: BTreeMap<u64, ModelMessage> = start.into_iter().chain(rest).collect();
        assert_eq!(sliced, messages);
    }
}
