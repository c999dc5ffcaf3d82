//! Tokens: how good they are, where they lie, how long they live, and whose they are.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::served::Daemon;
use crate::support::World;

/// 256 bits, six in a letter.
const LETTERS: usize = 43;

fn world() -> World {
    World::with(&[("a.txt", "one\n")])
}

/// Whether the bits look as if they were drawn: none of the sums of so many is far from a half.
fn assert_random(tokens: &BTreeSet<String>) {
    let mut letters = [0_usize; 128];
    for token in tokens {
        assert_eq!(token.len(), LETTERS, "{token}");
        for byte in token.bytes() {
            assert!(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'), "{token}");
            letters[usize::from(byte)] += 1;
        }
    }
    let drawn = letters.iter().filter(|count| **count > 0).count();
    // Of 64 letters, 16 tokens of 43 draw nearly every one: fewer than 56 in one of 10^10 runs.
    assert!(tokens.len() < 16 || drawn >= 56, "only {drawn} letters in {} tokens", tokens.len());
}

#[test]
fn threat_token_storage_new_at_each_start_private_and_gone_at_the_end() {
    let world = world();
    let run = world.home().join("run");
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for _ in 0..8 {
        let daemon = Daemon::of(&world);
        for name in ["http.json", "token", "agent-token"] {
            let mode = run.join(name).metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{name}");
        }
        for old in &seen {
            assert_eq!(daemon.ask("GET", "/api/projects", Some(old), None).status, 401);
        }
        let before = seen.len();
        seen.extend([daemon.human.clone(), daemon.agent.clone()]);
        assert_eq!(seen.len(), before + 2, "they are new, and differ");
        daemon.stop();
        for name in ["http.json", "token", "agent-token"] {
            assert!(!run.join(name).exists(), "{name}");
        }
    }
    assert_random(&seen);
}

fn exchange(daemon: &Daemon, code: &str) -> (u16, Value) {
    let answer = daemon.ask("POST", "/api/exchange", None, Some(&json!({ "code": code })));
    (answer.status, answer.json())
}

#[test]
fn threat_token_storage_a_code_is_good_once_and_for_its_scope() {
    let world = world();
    let daemon = Daemon::of(&world);
    for (words, token, scope) in [
        (&["daemon", "code"][..], &daemon.human, "human"),
        (&["daemon", "code", "--agent"], &daemon.agent, "agent"),
    ] {
        let code = world.ok(words).trim().to_owned();
        let code = code.split_whitespace().last().unwrap().to_owned();
        assert_eq!(exchange(&daemon, &code), (200, json!({ "token": token, "scope": scope })));
        let (status, again) = exchange(&daemon, &code);
        assert_eq!((status, &again["code"]), (403, &json!("wrong_code")));
    }
    let (status, guess) = exchange(&daemon, "AAAAAAAAAAAAAAAAAAAAAA");
    assert_eq!((status, &guess["code"]), (403, &json!("wrong_code")));
}

/// A token is bound to a start of one home and to a scope.
#[test]
fn threat_session_hijack_tokens_are_not_good_elsewhere() {
    let (one, other) = (world(), world());
    let (daemon, neighbour) = (Daemon::of(&one), Daemon::of(&other));
    let project = |daemon: &Daemon| {
        daemon.get("/api/projects").json()["projects"][0]["id"].as_str().unwrap().to_owned()
    };
    let (mine, theirs) = (project(&daemon), project(&neighbour));
    for token in [&neighbour.human, &neighbour.agent] {
        for path in ["/api/projects", &format!("/api/projects/{mine}/status")] {
            assert_eq!(daemon.ask("GET", path, Some(token), None).status, 401, "{path}");
        }
    }
    // The right token, for a project of the other home.
    let path = format!("/api/projects/{theirs}/status");
    assert_eq!(daemon.ask("GET", &path, Some(&daemon.human), None).status, 404);
    let code = one.ok(&["daemon", "code"]).split_whitespace().last().unwrap().to_owned();
    assert_eq!(exchange(&neighbour, &code).0, 403, "a code is of one daemon, too");
    // The agent's token where the person's is asked for, in every place that a token is read from.
    let undo = format!("/api/projects/{mine}/undo");
    for token in [&daemon.agent, &format!("{} {}", daemon.agent, daemon.human)] {
        let answer = daemon.ask("POST", &undo, Some(token), Some(&json!({ "yes": true })));
        assert!([401, 403].contains(&answer.status), "{}", answer.text());
    }
}
