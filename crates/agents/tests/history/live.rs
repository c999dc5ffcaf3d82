//! Reading on while a conversation goes on.

use std::collections::BTreeMap;

use expect_test::expect;
use fastrand::Rng;
use retake_agents::AgentKind;
use retake_agents::history::{ModelCursor, read_on, write};
use retake_model::ModelMessage;
use serde_json::{Value, json};

use super::{made, read_whole, samples, show};

/// The messages after reading in slices, as one who sets them by number has them.
fn read_in_slices(agent: AgentKind, bytes: &[u8], random: &mut Rng) -> Vec<ModelMessage> {
    let (mut cursor, mut kept, mut end) = (ModelCursor::default(), BTreeMap::new(), 0);
    while end < bytes.len() {
        end = (end + random.usize(1..3000)).min(bytes.len());
        let from = usize::try_from(cursor.offset()).unwrap();
        let (messages, next) = read_on(agent, &cursor, &bytes[from..end]);
        kept.extend(messages);
        cursor = serde_json::from_str(&serde_json::to_string(&next).unwrap()).unwrap();
        assert!(cursor.offset() <= end as u64);
    }
    assert_eq!(cursor.messages(), kept.len() as u64);
    assert!(kept.keys().copied().eq(0..cursor.messages()), "numbers count from 0");
    kept.into_values().collect()
}

#[test]
fn slices_make_no_difference() {
    let mut random = Rng::with_seed(7);
    let made = made::conversation(&mut random);
    let written = |sample: &super::Sample| write(sample.form, &made, 7).into_bytes();
    for sample in samples() {
        let agent: AgentKind = sample.form.as_str().parse().unwrap();
        for bytes in [written(&sample), sample.bytes] {
            let whole = read_whole(sample.form, &bytes).messages;
            for _ in 0..20 {
                let sliced = read_in_slices(agent, &bytes, &mut random);
                assert_eq!(show(&sliced), show(&whole), "{agent} {}", sample.name);
                assert_eq!(sliced, whole, "{agent} {}", sample.name);
            }
        }
    }
}

#[test]
fn a_message_that_grew_is_told_again_and_only_then() {
    let user =
        |content: Value| json!({"type": "user", "message": {"role": "user", "content": content}});
    let says = |id: &str, block: Value| json!({"type": "assistant", "message": {"id": id, "role": "assistant", "content": [block]}});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
    let result = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": id}]);
    let steps = [
        (user("go".into()), vec![0]),
        (says("m1", json!({"type": "text", "text": "secret"})), vec![1]),
        (says("m1", call("c1")), vec![1]),
        (user(result("c1")), vec![2]),
        (user("hurry".into()), vec![3]),
        (says("m1", call("c2")), vec![1]),
        (user(result("c2")), vec![2]),
        (json!({"type": "system"}), vec![]),
        (says("m2", json!({"type": "text", "text": "done"})), vec![4]),
    ];
    let (mut file, mut cursor, mut kept) = (Vec::new(), ModelCursor::default(), BTreeMap::new());
    for (line, wanted) in steps {
        file.extend(format!("{line}\n").into_bytes());
        let from = usize::try_from(cursor.offset()).unwrap();
        let (messages, next) = read_on(AgentKind::ClaudeCode, &cursor, &file[from..]);
        let numbers: Vec<u64> = messages.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, wanted, "{line}");
        kept.extend(messages);
        cursor = next;
        let text = serde_json::to_string(&cursor).unwrap();
        assert!(!text.contains("secret") && text.len() < 1024, "no words: {text}");
    }
    let kept: Vec<ModelMessage> = kept.into_values().collect();
    expect![[r"
        0 user: go
        1 assistant: secret | Bash({}) | Bash({})
        - user: → c1 | → c2
        2 user: hurry
        3 assistant: done
    "]]
    .assert_eq(&show(&kept));
    let again =
        read_on(AgentKind::ClaudeCode, &cursor, &file[usize::try_from(cursor.offset()).unwrap()..]);
    assert_eq!(again, (vec![], cursor), "nothing is new");
}

#[test]
fn a_document_is_read_on_and_told_again_when_rewritten() {
    let document = |count: usize, first: &str| {
        let message = |at| json!({"role": "user", "content": format!("{first}{at}"), "ts": 1});
        let messages: Vec<Value> = (0..count).map(message).collect();
        json!({"messages": messages}).to_string().into_bytes()
    };
    let read = |cursor: &ModelCursor, bytes: &[u8]| {
        let (messages, cursor) = read_on(AgentKind::Cline, cursor, bytes);
        assert_eq!(cursor.offset(), 0);
        (messages.iter().map(|(number, _)| *number).collect::<Vec<_>>(), cursor)
    };
    let (numbers, cursor) = read(&ModelCursor::default(), &document(6, "m"));
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    assert_eq!(read(&cursor, &document(6, "m")), (vec![], cursor.clone()));
    assert_eq!(read(&cursor, b"{\"messages\":[{"), (vec![], cursor.clone()));
    let (numbers, cursor) = read(&cursor, &document(8, "m"));
    assert_eq!(numbers, [6, 7]);
    let grown = String::from_utf8(document(8, "m")).unwrap().replace("m7", "m7 and more");
    let (numbers, cursor) = read(&cursor, grown.as_bytes());
    assert_eq!((numbers, cursor.messages()), (vec![7], 8));
    let early = grown.replace("m0", "rewritten");
    assert_eq!(read(&cursor, early.as_bytes()).0, [0, 1, 2, 3, 4, 5, 6, 7]);
    let (numbers, cursor) = read(&cursor, &document(2, "m"));
    assert_eq!((numbers, cursor.messages()), (vec![0, 1], 2));
    assert_eq!(read_on(AgentKind::Cursor, &cursor, b"{}\n"), (vec![], cursor));
}

/// Codex counts a person's words by an event that comes after them.
#[test]
fn words_of_codex_get_their_index_when_they_are_counted() {
    let line =
        |kind: &str, payload: Value| format!("{}\n", json!({"type": kind, "payload": payload}));
    let content = json!([{"type": "input_text", "text": "go"}]);
    let item =
        line("response_item", json!({"type": "message", "role": "user", "content": content}));
    let event = line("event_msg", json!({"type": "user_message", "message": "go"}));
    let (messages, cursor) = read_on(AgentKind::Codex, &ModelCursor::default(), item.as_bytes());
    assert_eq!(messages[0].1.index, None);
    let from = usize::try_from(cursor.offset()).unwrap();
    let (messages, _) = read_on(AgentKind::Codex, &cursor, &(item + &event).as_bytes()[from..]);
    assert_eq!((messages.len(), messages[0].0, messages[0].1.index), (1, 0, Some(0)));
}
