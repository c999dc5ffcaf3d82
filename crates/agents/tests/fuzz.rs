//! Payloads and transcripts that no agent would write: nothing panics, and every reply is one.
//!
//! Deterministic: a failure names its round, and the round is the seed. `RETAKE_LONG=1` runs more.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;
use retake_agents::history::HistoryFormat;
use retake_agents::{AgentKind, parse_hook};
use retake_testkit::mutate::{keys, mutate, pick, scramble};
use retake_testkit::proof_counts::is_long_run;
use serde_json::Value;

mod promises;
mod support;
use promises::{check_heard, check_history, check_read};
use support::Fixture;

fn rounds() -> u64 {
    if is_long_run() { 100_000 } else { 2_000 }
}

/// Runs the rounds, each with its own seed.
fn fuzz(agent: AgentKind, round: impl Fn(&mut Rng)) {
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

fn seeds(agent: AgentKind) -> Vec<Seed> {
    let seed = |fixture: Fixture| Seed {
        event: fixture.event().to_owned(),
        payload: serde_json::from_slice(&fixture.bytes).unwrap(),
    };
    support::payloads(agent).into_iter().map(seed).collect()
}

#[test]
fn payloads() {
    let everything: Vec<Seed> = AgentKind::ALL.into_iter().flat_map(seeds).collect();
    let keys = keys(everything.iter().map(|seed| &seed.payload));
    for agent in AgentKind::ALL {
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
            if let Ok(heard) = parse_hook(agent, event, &bytes) {
                check_heard(agent, &heard);
            }
        });
    }
}

/// The lines of an agent's transcripts; Cline's is one line.
fn lines(agent: AgentKind) -> Vec<Value> {
    let parse = |bytes: &[u8]| serde_json::from_slice(bytes).ok();
    let lines = |fixture: Fixture| match parse(&fixture.bytes) {
        Some(document) => vec![document],
        None => fixture.bytes.split(|byte| *byte == b'\n').filter_map(parse).collect(),
    };
    support::transcripts(agent).into_iter().flat_map(lines).collect()
}

#[test]
fn transcripts() {
    let everything: Vec<Value> = AgentKind::ALL.into_iter().flat_map(lines).collect();
    let keys = keys(everything.iter());
    for agent in AgentKind::ALL {
        let own = lines(agent);
        let own = if own.is_empty() { &everything } else { &own };
        fuzz(agent, |random| {
            let mut bytes = Vec::new();
            for _ in 0..if agent == AgentKind::Cline { 1 } else { random.usize(1..6) } {
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
            check_read(agent, &bytes, random.usize(..=bytes.len()));
            if random.u8(..4) == 0 {
                let forms =
                    [*pick(&HistoryFormat::ALL, random), *pick(&HistoryFormat::ALL, random)];
                check_history(agent, &bytes, forms, random.usize(..=bytes.len()));
            }
        });
    }
}
