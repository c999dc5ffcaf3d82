//! Selects the messages that a summary replaces, or that are hidden if there is none.
//!
//! Invariant: a call of a tool and its result stay together: no cut lies between them, and none
//! behind a call that still waits for its result.

use std::collections::HashMap;
use std::ops::Range;

use retake_model::{MessageRole, ModelMessage};

/// Percentage of the newest messages that stay if no summary can be written (HIST-8).
const FORCED_CONTEXT_REDUCTION_PERCENT: usize = 75;

/// Returns the messages that a summary replaces: those since the last summary, without the last
/// `keep_last` (HIST-7). Empty if there are none.
pub(super) fn since_last_summary(messages: &[ModelMessage], keep_last: usize) -> Range<usize> {
    let may_cut = may_cut_at(messages);
    let start = after_last_summary(messages, &may_cut);
    let end = messages.len().saturating_sub(keep_last);
    let end = (start..=end.max(start)).rev().find(&may_cut);
    start..end.unwrap_or(start)
}

/// Returns the oldest messages after the last summary, which are hidden if none can be written
/// (HIST-8): a summary is all that is left of what it replaced. Empty if none can.
pub(super) fn oldest_to_hide(messages: &[ModelMessage]) -> Range<usize> {
    let all = messages.len();
    let may_cut = may_cut_at(messages);
    let start = after_last_summary(messages, &may_cut);
    let keep_count = ((all - start) * FORCED_CONTEXT_REDUCTION_PERCENT / 100).max(1);
    let wanted = all.saturating_sub(keep_count);
    let least = start + 1;
    // Better to hide a few more than none.
    let end =
        (least..=wanted).rev().find(&may_cut).or_else(|| (wanted.max(least)..all).find(&may_cut));
    start..end.unwrap_or(start)
}

/// Returns the first place after the last summary where a cut is allowed.
fn after_last_summary(messages: &[ModelMessage], may_cut: impl Fn(&usize) -> bool) -> usize {
    let start = messages.iter().rposition(|message| message.is_summary).map_or(0, |at| at + 1);
    (start..messages.len()).find(may_cut).unwrap_or(messages.len())
}

/// Returns a predicate: no call before the place has its result after it.
fn may_cut_at(messages: &[ModelMessage]) -> impl Fn(&usize) -> bool {
    let mut is_between = vec![false; messages.len() + 1];
    for (call, result) in call_result_pairs(messages) {
        is_between[call + 1..=result].fill(true);
    }
    move |&place| !is_between[place]
}

/// Pairs each tool call with its result, as places of messages. A call of the model's last message
/// without a result is paired with the end.
fn call_result_pairs(messages: &[ModelMessage]) -> Vec<(usize, usize)> {
    let last = messages.iter().rposition(|message| message.role == MessageRole::Assistant);
    let (mut unanswered, mut called) = (HashMap::new(), HashMap::new());
    let mut pairs = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for block in &message.content {
            match (block["type"].as_str(), block["id"].as_str(), block["tool_use_id"].as_str()) {
                (Some("tool_use"), Some(id), _) => {
                    called.insert(id, at);
                    unanswered.insert(id, at);
                }
                (Some("tool_result"), _, Some(id)) => {
                    unanswered.remove(id);
                    pairs.extend(called.get(id).map(|&call| (call, at)));
                }
                _ => {}
            }
        }
    }
    let unanswered = unanswered.into_values().filter(|&call| Some(call) == last);
    pairs.extend(unanswered.map(|call| (call, messages.len())));
    pairs
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(role: MessageRole, content: Vec<Value>) -> ModelMessage {
        ModelMessage { role, content, ts: None, is_summary: false, index: None }
    }

    /// One letter each: `u`ser, `a`ssistant, `s`ummary, `c`all, `r`esult of the oldest call that
    /// waits.
    fn conversation(letters: &str) -> Vec<ModelMessage> {
        let (mut calls, mut results) = (0, 0);
        let block =
            |kind: &str, key: &str, id: i32| vec![json!({ "type": kind, key: id.to_string() })];
        let messages = letters.chars().map(|letter| match letter {
            'u' => message(MessageRole::User, Vec::new()),
            'a' => message(MessageRole::Assistant, Vec::new()),
            's' => ModelMessage { is_summary: true, ..message(MessageRole::User, Vec::new()) },
            'c' => {
                calls += 1;
                message(MessageRole::Assistant, block("tool_use", "id", calls))
            }
            'r' => {
                results += 1;
                message(MessageRole::User, block("tool_result", "tool_use_id", results))
            }
            other => panic!("no message {other}"),
        });
        messages.collect()
    }

    #[track_caller]
    fn check(letters: &str, keep_last: usize, replaced: Range<usize>, dropped: Range<usize>) {
        let messages = conversation(letters);
        assert_eq!(since_last_summary(&messages, keep_last), replaced, "{letters}");
        assert_eq!(oldest_to_hide(&messages), dropped, "{letters}");
    }

    #[test]
    fn a_summary_replaces_what_came_since_the_last_one_and_whole_pairs() {
        check("", 0, 0..0, 0..0);
        check("u", 0, 0..1, 0..0);
        check("ua", 0, 0..2, 0..1);
        check("uauauaua", 0, 0..8, 0..2);
        check("uauauaua", 3, 0..5, 0..2);
        check("uauauaua", 9, 0..0, 0..2);
        check("uasuaua", 2, 3..5, 3..4);
        check("uas", 0, 3..3, 3..3);
        // The cut moves in front of the call.
        check("uacra", 2, 0..2, 0..2);
        check("uaccrra", 2, 0..2, 0..2);
        // The last call may still get its result; one that was given up does not hinder.
        check("uauac", 0, 0..4, 0..2);
        check("uacuaua", 0, 0..7, 0..2);
        // Rather a little more than nothing; but never all.
        check("cruauaua", 1, 0..7, 0..2);
        check("crua", 0, 0..4, 0..2);
        check("cr", 0, 0..2, 0..0);
        // A result whose call stays in front of a summary stays, too.
        check("ucsraua", 0, 4..7, 4..5);
    }

    #[test]
    fn no_cut_ever_parts_a_call_from_its_result() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..5000 {
            let messages = random_conversation(&mut random);
            let keep_last = random.usize(..6);
            for hidden in [since_last_summary(&messages, keep_last), oldest_to_hide(&messages)] {
                let shown = |at: usize| !hidden.contains(&at);
                for (call, result) in call_result_pairs(&messages) {
                    assert_eq!(shown(call), shown(result), "{hidden:?} of {messages:?}");
                }
                assert!(hidden.end <= messages.len(), "{hidden:?}");
            }
            assert!(oldest_to_hide(&messages).len() < messages.len().max(1), "something stays");
        }
    }

    /// Calls and results in any order and number: also results without a call, and late ones.
    fn random_conversation(random: &mut fastrand::Rng) -> Vec<ModelMessage> {
        let mut messages = Vec::new();
        for _ in 0..random.usize(..20) {
            let id = random.u8(..8).to_string();
            let block = match random.u8(..3) {
                0 => json!({ "type": "tool_use", "id": id }),
                1 => json!({ "type": "tool_result", "tool_use_id": id }),
                _ => json!({ "type": "text", "text": "" }),
            };
            let role = if random.bool() { MessageRole::User } else { MessageRole::Assistant };
            let is_summary = random.u8(..10) == 0;
            messages.push(ModelMessage { is_summary, ..message(role, vec![block]) });
        }
        messages
    }
}
