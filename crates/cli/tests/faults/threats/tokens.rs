//! Tokens: how good they are, where they lie, how long they live, and whose they are.

use std::collections::BTreeSet;
use std::net::TcpListener;
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
    for (words, scope) in
        [(&["daemon", "code"][..], "human"), (&["daemon", "code", "--agent"], "agent")]
    {
        let code = world.ok(words).trim().to_owned();
        let code = code.split_whitespace().last().unwrap().to_owned();
        let (status, issued) = exchange(&daemon, &code);
        assert_eq!((status, &issued["scope"]), (200, &json!(scope)));
        let token = issued["token"].as_str().unwrap();
        assert_ne!(token, daemon.human, "a login is a token of its own");
        assert_eq!(token == daemon.agent, scope == "agent");
        assert_eq!(daemon.ask("GET", "/api/projects", Some(token), None).status, 200);
        let (status, again) = exchange(&daemon, &code);
        assert_eq!((status, &again["code"]), (403, &json!("wrong_code")));
    }
    let (status, guess) = exchange(&daemon, "AAAAAAAAAAAAAAAAAAAAAA");
    assert_eq!((status, &guess["code"]), (403, &json!("wrong_code")));
}

/// Logins and minted tokens are handed out and revoked through the socket, and survive a restart.
#[test]
fn threat_token_storage_logins_and_minted_tokens_end_when_the_person_says_so() {
    let world = world();
    let daemon = Daemon::of(&world);
    let log_in = || {
        let code = world.ok(&["daemon", "code"]).split_whitespace().last().unwrap().to_owned();
        exchange(&daemon, &code).1["token"].as_str().unwrap().to_owned()
    };
    let logins = [log_in(), log_in()];
    let minted = world.run(&["daemon", "token", "--agent", "--label", "ci", "--json"]).json();
    let agent = minted["token"].as_str().unwrap().to_owned();
    daemon.stop();
    let kept = world.home().join("tokens.json");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!([&agent, &logins[0], &logins[1]].iter().all(|token| !kept.contains(*token)), "{kept}");

    let daemon = Daemon::of(&world);
    let status = |token: &str| daemon.ask("GET", "/api/projects", Some(token), None).status;
    assert_eq!([status(&logins[0]), status(&logins[1]), status(&agent)], [200, 200, 200]);
    let listed = world.ok(&["daemon", "token", "--list"]);
    assert!(listed.contains("ci") && !listed.contains(&agent), "{listed}");
    // Two are logged in, so one has to be named.
    assert_eq!(world.run(&["daemon", "logout"]).code, 1);
    let list = world.run(&["daemon", "logout", "--list", "--json"]).json();
    let first = list["logins"][0]["id"].as_str().unwrap().to_owned();
    world.ok(&["daemon", "logout", &first]);
    assert_eq!([status(&logins[0]), status(&logins[1])].iter().filter(|it| **it == 200).count(), 1);
    world.ok(&["daemon", "logout"]);
    assert_eq!([status(&logins[0]), status(&logins[1]), status(&agent)], [401, 401, 200]);
    assert_eq!(world.run(&["daemon", "token", "--revoke", "none"]).code, 1);
    world.ok(&["daemon", "token", "--revoke", minted["id"].as_str().unwrap()]);
    assert_eq!(status(&agent), 401);
    world.ok(&["daemon", "logout", "--all"]);
}

/// A daemon whose port is in use takes another one, and says so.
#[test]
fn a_port_that_is_in_use_is_named_and_another_one_taken() {
    let world = world();
    // Not one of those that the system hands out, or it would not stay free.
    let ports = (0..5000).map(|step| 20_000 + (std::process::id() as u16 % 5000 + step) % 5000);
    let taken = ports.map(|port| TcpListener::bind(("127.0.0.1", port))).find_map(Result::ok);
    let taken = taken.expect("a port is free");
    let port = taken.local_addr().unwrap().port();
    std::fs::write(world.home().join("config.toml"), format!("[http]\nport = {port}\n")).unwrap();
    let daemon = Daemon::of(&world);
    assert_ne!(daemon.address.port(), port);
    assert_eq!(daemon.get("/api/projects").status, 200);
    let status = world.run(&["daemon", "status", "--json"]).json();
    assert!(status["http_note"].as_str().unwrap().contains(&port.to_string()), "{status}");
    assert!(world.ok(&["daemon", "status"]).contains(&format!("port {port}")));
    daemon.stop();
    let said = std::fs::read_to_string(super::served::stderr_of(&world)).unwrap();
    assert!(said.contains(&port.to_string()), "{said}");
    // Once it is free, the daemon is where the settings say, at each start.
    drop(taken);
    for _ in 0..2 {
        let daemon = Daemon::of(&world);
        assert_eq!(daemon.address.port(), port);
        let status = world.run(&["daemon", "status", "--json"]).json();
        assert_eq!(status["http_note"], Value::Null);
        daemon.stop();
    }
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
