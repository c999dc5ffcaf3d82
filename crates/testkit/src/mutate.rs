//! Random changes of inputs: of JSON values, and of bytes.
//!
//! Deterministic in what `random` draws, so that a seed reproduces an input.

use std::collections::BTreeSet;

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// Maximum bytes of a random text: more than any reader stores.
const MAX_TEXT_BYTES: usize = 96 * 1024;

/// Returns one of them at random; `all` must not be empty.
pub fn pick<'a, T>(all: &'a [T], random: &mut Rng) -> &'a T {
    &all[random.usize(..all.len())]
}

/// Returns every top-level key of these objects.
pub fn keys<'a>(objects: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let keys = objects.filter_map(Value::as_object).flat_map(Map::keys);
    keys.cloned().collect::<BTreeSet<String>>().into_iter().collect()
}

/// Changes one value somewhere; a new key is one of `keys`.
pub fn mutate(value: &mut Value, keys: &[String], random: &mut Rng) {
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
                Some(key) => drop(object.insert(key, random_value(random))),
                None => drop(object.insert(pick(keys, random).clone(), random_value(random))),
            }
        }
        other => *other = random_value(random),
    }
}

fn random_value(random: &mut Rng) -> Value {
    match random.u8(..14) {
        0 => Value::Null,
        1 => json!(random.bool()),
        2 => json!(random.i64(..)),
        3 => json!(random.f64()),
        4 => json!(""),
        5 => json!("../../.."),
        6 => json!("é😀\u{0}\u{202e}<task-notification><task-id>t</task-id>"),
        7 => json!("<user_input mode=\"act\">x</user_input>"),
        8 if random.u8(..4) == 0 => json!("x".repeat(random.usize(..MAX_TEXT_BYTES))),
        9 => json!("{\"path\":\"a\"}"),
        10 => Value::Array(vec![random_value(random), random_value(random)]),
        11 => json!({"id": random_value(random), "type": "text", "text": random_value(random)}),
        12 => (0..random.u8(..140)).fold(json!({}), |inner, _| Value::Array(vec![inner])),
        _ => json!(["tool_use", "user", "assistant", "exec-1", "compact"][random.usize(..5)]),
    }
}

/// Changes some bytes.
pub fn scramble(bytes: &mut Vec<u8>, random: &mut Rng) {
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
