//! Clients that do not play by the rules.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use retake_engine::model::ErrorCode;
use retake_server::ProjectPool;
use retake_server::http::{HttpOptions, TokenScope, serve};
use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

use crate::client::{Answer, Ask, connect, send};
use crate::stage::{STORY, Stage};

fn options(addresses: &[IpAddr]) -> HttpOptions {
    HttpOptions { addresses: addresses.to_vec(), ..HttpOptions::default() }
}

#[test]
fn threat_other_local_users_nothing_listens_where_others_can_reach_it() {
    let project = TestProject::new();
    let pool = Arc::new(ProjectPool::new(project.retake(), || 0));
    let elsewhere: [IpAddr; 4] = [
        Ipv4Addr::UNSPECIFIED.into(),
        Ipv6Addr::UNSPECIFIED.into(),
        Ipv4Addr::new(192, 168, 0, 1).into(),
        "::ffff:127.0.0.1".parse().unwrap(),
    ];
    for address in elsewhere {
        let refused = serve(Arc::clone(&pool), &options(&[address])).unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotLoopback, "{address}");
        let both = options(&[Ipv4Addr::LOCALHOST.into(), address]);
        assert_eq!(serve(Arc::clone(&pool), &both).unwrap_err().code, ErrorCode::NotLoopback);
    }
    assert!(!project.home().join("run/http.json").exists());
    assert_eq!(serve(pool, &options(&[])).unwrap_err().code, ErrorCode::NoPort);
}

#[test]
fn both_loopback_addresses_share_a_port() {
    let project = TestProject::new();
    play(&project, STORY);
    let pool = Arc::new(ProjectPool::new(project.retake(), || 0));
    let both = options(&[Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
    let running = match serve(pool, &both) {
        Ok(running) => running,
        // A machine without IPv6 says so.
        Err(failure) => {
            assert_eq!(failure.code, ErrorCode::NoPort);
            return;
        }
    };
    let token = std::fs::read_to_string(project.home().join("run/token")).unwrap();
    let [one, other] = running.addresses() else { panic!("two addresses") };
    assert_eq!(one.port(), other.port());
    for address in [*one, *other] {
        assert_eq!(Ask::new("GET", "/api/projects").token(&token).send(address).status, 200);
    }
}

#[test]
fn threat_token_storage_private_files_for_as_long_as_the_server_runs() {
    let stage = Stage::new(STORY);
    let run = stage.project.home().join("run");
    let mode = |name: &str| std::fs::metadata(run.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(""), 0o700);
    stage.mint(None);
    for name in ["http.json", "token", "agent-token", "../tokens.json"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    let http: Value = serde_json::from_str(&stage.file("http.json")).unwrap();
    assert_eq!(http, json!({ "url": stage.running.url(), "token": stage.human() }));
    let (old, address) = (stage.human(), stage.address());
    let Stage { project, running, .. } = stage;
    running.stop(true);
    for name in ["http.json", "token", "agent-token"] {
        assert!(!run.join(name).exists(), "{name}");
    }
    assert!(std::net::TcpStream::connect(address).is_err(), "nothing listens any more");
    let stage = Stage::of(project);
    assert_ne!(stage.human(), old);
    let answer = stage.send(&Ask::new("GET", "/api/projects").token(&old));
    assert_eq!(answer.status, 401, "a token of an earlier start is worth nothing");
}

#[test]
fn threat_token_storage_a_code_is_exchanged_once() {
    let stage = Stage::new(STORY);
    let exchange =
        |code: &str| stage.send(&Ask::new("POST", "/api/exchange").json(&json!({ "code": code })));
    let code = stage.running.codes().create(TokenScope::Agent).unwrap();
    let answer = exchange(&code);
    let (login, expires_at) = (Value::Null, Value::Null);
    let issued = json!({ "token": stage.agent(), "scope": "agent", "login": login,
        "expires_at": expires_at });
    assert_eq!(answer.json(), issued);
    let again = exchange(&code);
    assert_eq!((again.status, again.code().as_str()), (403, "wrong_code"));
    for _ in 0..20 {
        exchange("guess");
    }
    let code = stage.running.codes().create(TokenScope::Human).unwrap();
    let slowed = exchange("guess");
    assert_eq!((slowed.status, slowed.code().as_str()), (403, "too_many_codes"));
    assert_eq!(exchange(&code).json()["scope"], "human", "others keep nobody out");
}

#[test]
fn threat_dns_rebinding_a_host_is_named_once_and_nowhere_else() {
    let stage = Stage::new(STORY);
    let (address, token) = (stage.address(), stage.human());
    let status = |head: &str| {
        let head = head.replace("OWN", &address.to_string());
        let rest = format!("Authorization: Bearer {token}\r\nConnection: close\r\n\r\n");
        send(address, format!("{head}{rest}").as_bytes()).status
    };
    assert_eq!(status("GET /api/projects HTTP/1.1\r\nHost: OWN\r\n"), 200);
    assert_eq!(status("GET http://OWN/api/projects HTTP/1.1\r\nHost: OWN\r\n"), 200);
    for refused in [
        "GET /api/projects HTTP/1.1\r\nHost: OWN\r\nHost: evil.example\r\n",
        "GET /api/projects HTTP/1.1\r\nHost: OWN\r\nHost: OWN\r\n",
        "GET http://evil.example/api/projects HTTP/1.1\r\nHost: OWN\r\n",
        "GET http://OWN/api/projects HTTP/1.1\r\nHost: evil.example\r\n",
        "GET http://OWN@evil.example/api/projects HTTP/1.1\r\nHost: OWN\r\n",
        "GET /api/projects HTTP/1.0\r\n",
        "GET /api/projects HTTP/1.1\r\nHost: \r\n",
        "GET /api/projects HTTP/1.1\r\nHost: OWN\r\nOrigin: http://OWN\r\nOrigin: http://evil\r\n",
    ] {
        assert_eq!(status(refused), 403, "{refused}");
    }
}

#[test]
fn a_body_in_chunks_is_cut_off_at_the_limit() {
    let stage = Stage::new(STORY);
    let head = Ask::new("POST", &stage.path("accept"))
        .token(&stage.human())
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked");
    let mut stream = connect(stage.address());
    stream.write_all(&head.bytes(stage.address())).unwrap();
    let length = 1024 * 1024 + 1;
    stream.write_all(format!("{length:x}\r\n").as_bytes()).unwrap();
    stream.write_all(&vec![b' '; length]).unwrap();
    let answer = Answer::read(stream);
    assert_eq!((answer.status, answer.code().as_str()), (413, "too_large"));
}

#[test]
fn threat_request_flood_nobody_waits_for_slow_clients() {
    let stage = Stage::new(STORY);
    let address = stage.address();
    let started = Instant::now();
    let mut slow_head = connect(address);
    slow_head.write_all(b"GET /api/projects HTTP/1.1\r\nHost:").unwrap();
    let mut slow_body = connect(address);
    let ask = Ask::new("POST", &stage.path("accept"))
        .token(&stage.human())
        .header("Content-Type", "application/json")
        .header("Content-Length", "100");
    slow_body.write_all(&ask.bytes(address)).unwrap();
    slow_body.write_all(b"{").unwrap();
    let answer = Answer::read(slow_body);
    assert_eq!((answer.status, answer.code().as_str()), (400, "slow_body"));
    let mut rest = Vec::new();
    let _ = slow_head.read_to_end(&mut rest);
    assert!(started.elapsed() < Duration::from_secs(55), "both ended by themselves");
    assert_eq!(stage.get("/api/projects").status, 200, "others are served");
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn threat_logs_hold_no_tokens_queries_or_bodies() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter("trace")
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let stage = Stage::new(STORY);
    stage.get("changes?path=canary-in-query");
    stage.post("checkpoints", &json!({ "message": "canary-in-body" }));
    stage.send(&Ask::new("GET", "/api/projects").token("canary-token"));
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("GET"), "requests are logged: {logged}");
    for secret in ["canary", &stage.human(), &stage.agent()] {
        assert!(!logged.contains(secret), "the log tells {secret}: {logged}");
    }
}
