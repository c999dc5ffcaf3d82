//! Payloads and transcripts that no agent would write: nothing panics, and every reply is one.
//!
//! Deterministic: a failure names its round, and the round is the seed. `RETAKE_LONG=1` runs more.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;
use retake_agents::history::{self, Form, ModelCursor};
use retake_agents::transcript::{self, Cursor, Spoken, TEXT_LIMIT};
use retake_agents::{Agent, Heard, Verdict, hear, reply};
use retake_model::ModelMessage;
use serde_json::{Map, Value, json};

mod support;
use support::Fixture;

fn rounds() -> u64 {
    let long = env::var("RETAKE_LONG").is_ok_and(|value| value == "1");
    if long { 100_000 } else { 2_000 }
}

/// Runs the rounds, each with its own seed.
fn fuzz(agent: Agent, round: impl Fn(&mut Rng)) {
    for seed in 0..rounds() {
        let mut random = Rng::with_seed(seed);
        let result = catch_unwind(AssertUnwindSafe(|| round(&mut random)));
        assert!(result.is_ok(), "{agent}, round {seed}");
    }
}

/// A payload that is to be changed, and its event.
struct Seed {
    event: String,
    payload: Value,
}

fn seeds(agent: Agent) -> Vec<Seed> {
    let seed = |fixture: Fixture| Seed {
        event: fixture.event().to_owned(),
        payload: serde_json::from_slice(&fixture.bytes).unwrap(),
    };
    support::payloads(agent).into_iter().map(seed).collect()
}

#[test]
fn payloads() {
    let everything: Vec<Seed> = Agent::ALL.into_iter().flat_map(seeds).collect();
    let keys = keys(everything.iter().map(|seed| &seed.payload));
    for agent in Agent::ALL {
        let own = seeds(agent);
        fuzz(agent, |random| {
            let seed = pick(if random.u8(..8) == 0 { &everything } else { &own }, random);
            let mut payload = seed.payload.clone();
            for _ in 0..random.usize(..5) {
                mutate(&mut payload, &keys, random);
            }
            let mut bytes = payload.to_string().into_bytes();
            for _ in 0..random.usize(..3) {
                scramble(&mut bytes, random);
            }
            let event = random.bool().then_some(seed.event.as_str());
            if let Ok(heard) = hear(agent, event, &bytes) {
                check_heard(agent, &heard);
            }
        });
    }
}

fn check_heard(agent: Agent, heard: &Heard) {
    for event in heard.events.iter().chain(&heard.conversation) {
        assert!(!event.dialog.0.is_empty());
        assert_eq!(event.kind.as_deref(), Some(agent.name()));
    }
    if let Some(place) = heard.transcript.as_ref().and_then(|place| place.path.strip_prefix("~/")) {
        assert!(place.split('/').all(|part| !part.is_empty() && !part.starts_with("..")));
    }
    let text = heard.said.clone().unwrap_or_default();
    for verdict in [Verdict::Proceed, Verdict::Note(text.clone()), Verdict::Deny(text)] {
        let reply = reply(agent, heard.moment, &verdict);
        assert!(reply.is_empty() || serde_json::from_str::<Map<_, _>>(&reply).is_ok(), "{reply}");
    }
}

/// The lines of an agent's transcripts; Cline's is one line.
fn lines(agent: Agent) -> Vec<Value> {
    let parse = |bytes: &[u8]| serde_json::from_slice(bytes).ok();
    let lines = |fixture: Fixture| match parse(&fixture.bytes) {
        Some(document) => vec![document],
        None => fixture.bytes.split(|byte| *byte == b'\n').filter_map(parse).collect(),
    };
    support::transcripts(agent).into_iter().flat_map(lines).collect()
}

#[test]
fn transcripts() {
    let everything: Vec<Value> = Agent::ALL.into_iter().flat_map(lines).collect();
    let keys = keys(everything.iter());
    for agent in Agent::ALL {
        let own = lines(agent);
        let own = if own.is_empty() { &everything } else { &own };
        fuzz(agent, |random| {
            let mut bytes = Vec::new();
            for _ in 0..if agent == Agent::Cline { 1 } else { random.usize(1..6) } {
                let mut line =
                    pick(if random.u8(..8) == 0 { &everything } else { own }, random).clone();
                for _ in 0..random.usize(..3) {
                    mutate(&mut line, &keys, random);
                }
                bytes.extend(format!("{line}\n").into_bytes());
            }
            for _ in 0..random.usize(..3) {
                scramble(&mut bytes, random);
            }
            check_read(agent, &bytes, random);
            if random.u8(..4) == 0 {
                check_history(agent, &bytes, random);
            }
        });
    }
}

fn check_read(agent: Agent, bytes: &[u8], random: &mut Rng) {
    let (messages, cursor) = transcript::read(agent, &Cursor::default(), bytes);
    assert!(cursor.offset() <= bytes.len() as u64);
    assert_eq!(cursor.messages(), messages.len() as u64);
    for (at, message) in messages.iter().enumerate() {
        assert_eq!(message.index, at as u64);
        assert!(message.text.len() <= TEXT_LIMIT);
    }
    if agent != Agent::Cline {
        assert_eq!(in_two(agent, bytes, random), messages);
    }
}

/// The messages after reading to some point and from there on.
fn in_two(agent: Agent, bytes: &[u8], random: &mut Rng) -> Vec<Spoken> {
    let cut = random.usize(..=bytes.len());
    let (mut messages, cursor) = transcript::read(agent, &Cursor::default(), &bytes[..cut]);
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
fn check_history(agent: Agent, bytes: &[u8], random: &mut Rng) {
    let form = history::sniff("x.jsonl", bytes);
    for form in form.into_iter().chain([*pick(&Form::ALL, random)]) {
        let Ok(read) = history::read(form, bytes) else { continue };
        let other = *pick(&Form::ALL, random);
        let written = history::write(other, &read, 7);
        // A file of Claude Code has nothing but messages.
        let empty = written.is_empty() && other == Form::ClaudeCode;
        let again = history::read(other, written.as_bytes());
        assert!(empty || again.is_ok_and(|again| again.problems.is_empty()), "{form} as {other}");
    }
    let (messages, cursor) = history::read_on(agent, &ModelCursor::default(), bytes);
    assert!(cursor.offset() <= bytes.len() as u64);
    let messages: BTreeMap<u64, ModelMessage> = messages.into_iter().collect();
    assert!(messages.keys().copied().eq(0..cursor.messages()));
    if !matches!(agent, Agent::Cline | Agent::Opencode) {
        let cut = random.usize(..=bytes.len());
        let (start, cursor) = history::read_on(agent, &ModelCursor::default(), &bytes[..cut]);
        let from = usize::try_from(cursor.offset()).unwrap();
        let (rest, _) = history::read_on(agent, &cursor, &bytes[from..]);
        let sliced: BTreeMap<u64, ModelMessage> = start.into_iter().chain(rest).collect();
        assert_eq!(sliced, messages);
    }
}

fn pick<'a, T>(all: &'a [T], random: &mut Rng) -> &'a T {
    &all[random.usize(..all.len())]
}

/// Every key that stands at the top of one of these.
fn keys<'a>(objects: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let keys = objects.filter_map(Value::as_object).flat_map(Map::keys);
    keys.cloned().collect::<BTreeSet<String>>().into_iter().collect()
}

/// Changes one value somewhere.
fn mutate(value: &mut Value, keys: &[String], random: &mut Rng) {
    let deeper = random.u8(..4) != 0;
    match value {
        Value::Object(object) if deeper && !object.is_empty() => {
            let at = random.usize(..object.len());
            mutate(object.values_mut().nth(at).unwrap(), keys, random);
        }
        Value::Array(list) if deeper && !list.is_empty() => {
            let at = random.usize(..list.len());
            mutate(&mut list[at], keys, random);
        }
        Value::Object(object) if random.u8(..3) != 0 => {
            let key = object.keys().nth(random.usize(..=object.len())).cloned();
            match key {
                Some(key) if random.bool() => drop(object.remove(&key)),
                Some(key) => drop(object.insert(key, anything(random))),
                None => drop(object.insert(pick(keys, random).clone(), anything(random))),
            }
        }
        other => *other = anything(random),
    }
}

fn anything(random: &mut Rng) -> Value {
    match random.u8(..14) {
        0 => Value::Null,
        1 => json!(random.bool()),
        2 => json!(random.i64(..)),
        3 => json!(random.f64()),
        4 => json!(""),
        5 => json!("../../.."),
        6 => json!("é😀\u{0}\u{202e}<task-notification><task-id>t</task-id>"),
        7 => json!("<user_input mode=\"act\">x</user_input>"),
        8 if random.u8(..4) == 0 => json!("x".repeat(random.usize(..3 * TEXT_LIMIT / 2))),
        9 => json!("{\"path\":\"a\"}"),
        10 => Value::Array(vec![anything(random), anything(random)]),
        11 => json!({"id": anything(random), "type": "text", "text": anything(random)}),
        12 => (0..random.u8(..140)).fold(json!({}), |inner, _| Value::Array(vec![inner])),
        _ => json!(["tool_use", "user", "assistant", "exec-1", "compact"][random.usize(..5)]),
    }
}

/// Changes some bytes.
fn scramble(bytes: &mut Vec<u8>, random: &mut Rng) {
    let at = random.usize(..=bytes.len());
    match random.u8(..5) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(..at)),
        2 => bytes.insert(at, random.u8(..)),
        3 => drop(bytes.splice(at..at, *b"\\ud83d")),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.u8(..8);
            }
        }
    }
}
