//! The seed inputs that are mutated, and those that failed once.
//!
//! Files elsewhere in the repository are read in place.

use std::fs;
use std::path::{Path, PathBuf};

use retake_agents::AgentKind;
use retake_agents::parse_hook;
use retake_agents::transcript::MAX_TEXT_BYTES;
use serde_json::json;

use crate::FuzzTarget;

/// The seeds of a target, each with a name: those of its corpus first.
pub fn seeds(target: FuzzTarget) -> Vec<(String, Vec<u8>)> {
    let mut seeds = files(&folder().join("corpus").join(target.name));
    seeds.extend(match target.name {
        "event" | "event_recorded" => parsed_events(),
        "adapter" => payloads(),
        "transcript" => transcripts(),
        "mask" => planted_secrets(),
        _ => Vec::new(),
    });
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    seeds
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files.into_iter().map(|file| (file.display().to_string(), fs::read(&file).unwrap())).collect()
}

/// Captured payloads and transcripts, by agent.
fn captured_files(wanted: fn(&str) -> bool) -> Vec<(usize, String, Vec<u8>)> {
    let payloads = folder().join("../agents/tests/payloads");
    let of_agent = |(number, agent): (usize, &AgentKind)| {
        let files = files(&payloads.join(agent.name())).into_iter();
        let mine = files.map(|(name, bytes)| (number, name, bytes));
        mine.filter(|(_, name, _)| wanted(file_name(name))).collect::<Vec<_>>()
    };
    AgentKind::ALL.iter().enumerate().flat_map(of_agent).collect()
}

/// The planted secrets of the tests of masking; the head says which kind of file.
fn planted_secrets() -> Vec<(String, Vec<u8>)> {
    let corpus = folder().join("../service/tests/corpus/secrets.txt");
    let text = fs::read_to_string(corpus).unwrap();
    let seed = |(number, line): (usize, &str)| {
        let (name, text) = line.split_once('\t')?;
        let text: String = text.chars().filter(|char| !"⟦⟧¦".contains(*char)).collect();
        Some((format!("{name} {number}"), format!("{}{text}", char::from(number as u8 % 6)).into()))
    };
    text.lines().enumerate().filter_map(seed).collect()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Payloads; the head says whose, and whether the event is named beside them.
fn payloads() -> Vec<(String, Vec<u8>)> {
    let seed = |(agent, name, bytes): (usize, String, Vec<u8>)| {
        let event = crate::targets::event_number(file_name(&name));
        (name, [&[agent as u8, event], bytes.as_slice()].concat())
    };
    captured_files(|name| !name.starts_with("transcript.")).into_iter().map(seed).collect()
}

/// Payloads as the events that they become.
fn parsed_events() -> Vec<(String, Vec<u8>)> {
    let seed = |(agent, name, bytes): (usize, String, Vec<u8>)| {
        let event = file_name(&name).split('.').next().map(str::to_owned);
        let heard = parse_hook(AgentKind::ALL[agent], event.as_deref(), &bytes).unwrap_or_default();
        let json = |event| (name.clone(), serde_json::to_vec(event).unwrap());
        heard.events.iter().map(json).collect::<Vec<_>>()
    };
    captured_files(|name| !name.starts_with("transcript.")).into_iter().flat_map(seed).collect()
}

/// Transcripts; the head says whose, two forms, and where they are cut.
fn transcripts() -> Vec<(String, Vec<u8>)> {
    let seed = |(agent, name, bytes): (usize, String, Vec<u8>)| {
        (name, [&[agent as u8, 0, 6, 100], bytes.as_slice()].concat())
    };
    let captured = captured_files(|name| name.starts_with("transcript.")).into_iter().map(seed);
    captured.chain([("a long message".to_owned(), long_message())]).collect()
}

/// A message of Claude Code that is longer than the stored maximum.
fn long_message() -> Vec<u8> {
    let text = "é".repeat(MAX_TEXT_BYTES / 2 + 9);
    let message = json!({ "role": "user", "content": text });
    let line = json!({ "type": "user", "sessionId": "s", "uuid": "u", "message": message });
    format!("\0\0\x06\x64{line}\n").into_bytes()
}
