//! Many events in one request: each counts once, in its order, also if the client is gone before
//! the answer or sends it again.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Ask, connect};
use crate::stage::Stage;

/// More than a few portions.
const EVENTS: usize = 300;

fn messages(count: usize) -> Value {
    let message = |number| json!({ "event": "assistant_message", "dialog": "d1", "text": format!("{number}") });
    let events: Vec<_> = (0..count).map(message).collect();
    json!({ "key": "bulk", "events": events })
}

fn said(stage: &Stage) -> Vec<String> {
    let handle = stage.pool.handle(&stage.id).unwrap();
    let events = handle.read(|project| Ok(project.events_after(0, 100_000)?)).unwrap();
    let text = |event: retake_engine::JournalEvent| event.body["text"].as_str().map(str::to_owned);
    events.into_iter().filter(|event| event.body["text"].is_string()).filter_map(text).collect()
}

fn numbers() -> Vec<String> {
    (0..EVENTS).map(|number| number.to_string()).collect()
}

#[test]
fn each_event_of_bulk_is_answered_in_its_order_and_counts_once() {
    let stage = Stage::new("file a.txt: one\n\n    init");
    let done = stage.done("events", &messages(EVENTS));
    let seqs: Vec<_> = done["replies"].as_array().unwrap().iter().map(|it| &it["seq"]).collect();
    let places: Vec<_> = seqs.iter().map(|seq| seq.as_u64().unwrap()).collect();
    assert!(places.len() == EVENTS && places.is_sorted(), "{places:?}");
    assert_eq!(said(&stage), numbers());
    let again = stage.done("events", &messages(EVENTS));
    assert!(again["replies"].as_array().unwrap().iter().all(|it| it["seq"].is_null()));
    assert_eq!(said(&stage), numbers());
}

#[test]
fn an_event_is_named_by_a_word() {
    let stage = Stage::new("file a.txt: one\n\n    init");
    for kind in [json!(0), json!(null), json!("no_such_event")] {
        let body = json!({ "events": [{ "event": kind, "dialog": "d1" }] });
        let ask = Ask::new("POST", &stage.path("events")).token(&stage.human()).json(&body);
        assert_eq!(stage.send(&ask).status, 422, "{kind}");
    }
}

#[test]
fn a_client_that_is_gone_before_the_answer_leaves_whole_events_and_can_send_them_again() {
    let stage = Stage::new("file a.txt: one\n\n    init");
    let path = stage.path("events");
    let ask = Ask::new("POST", &path).token(&stage.human()).json(&messages(EVENTS));
    let mut stream = connect(stage.address());
    stream.write_all(&ask.bytes(stage.address())).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while said(&stage).is_empty() {
        assert!(Instant::now() < until, "nothing is recorded");
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(stream);
    let written = said(&stage);
    assert_eq!(written, numbers()[..written.len()], "whole, and in their order");
    stage.done("events", &messages(EVENTS));
    assert_eq!(said(&stage), numbers());
}
