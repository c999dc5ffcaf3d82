//! Whatever other clients hold, the person gets answers: connections, streams and requests of
//! agents and of clients without a token are bounded, and those over a bound are told so.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Answer, Ask, connect};
use crate::every_route::check_headers;
use crate::stage::{STORY, Stage};

/// More than there is room for, of any kind.
const MANY: usize = 300;

/// Sends a request whose answer is read later, if ever.
fn begin(stage: &Stage, ask: &Ask) -> TcpStream {
    let mut stream = connect(stage.address());
    stream.write_all(&ask.bytes(stage.address())).unwrap();
    stream
}

/// The head of an answer, of a connection that stays open.
fn read_head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&head));
        head.extend(byte);
    }
    String::from_utf8(head).unwrap()
}

#[track_caller]
fn check_busy(answer: &Answer, code: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (503, code), "{}", answer.body);
    assert!(answer.json()["message"].is_string() && answer.json()["hint"].is_string());
    assert!(answer.header("retry-after").is_some_and(|after| after.parse::<u32>().is_ok()));
    check_headers(answer);
}

/// The person reads, writes and follows.
#[track_caller]
fn check_person_is_served(stage: &Stage) {
    for _ in 0..3 {
        assert_eq!(stage.get("/api/projects").status, 200);
        stage.done("checkpoints", &json!({ "message": "mine" }));
        assert_eq!(stage.get("events").status, 200);
    }
}

#[test]
fn threat_request_flood_silent_connections_keep_nobody_out_and_are_told() {
    let stage = Stage::new(STORY);
    let mut silent: Vec<_> = (0..MANY).map(|_| connect(stage.address())).collect();
    check_person_is_served(&stage);
    // The oldest had to make room, and were told so.
    for stream in silent.drain(..MANY / 2) {
        check_busy(&Answer::read(stream), "busy");
    }
    // Heads that are never finished are no better.
    for stream in &mut silent {
        let _ = stream.write_all(b"GET /api/projects HTTP/1.1\r\nHost: ");
    }
    check_person_is_served(&stage);
}

#[test]
fn threat_request_flood_a_connection_without_a_token_is_closed_and_told() {
    let stage = Stage::new(STORY);
    let answer = Answer::read(connect(stage.address()));
    assert_eq!((answer.status, answer.code().as_str()), (408, "slow_request"));
    check_headers(&answer);
    // One that has sent a token may stay longer than that.
    let ask = Ask::new("GET", &stage.path("events")).token(&stage.human());
    let mut follower = begin(&stage, &ask);
    assert!(read_head(&mut follower).contains("200 OK"));
    assert_eq!(Answer::read(connect(stage.address())).status, 408);
    follower.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut bytes = [0; 4096];
    while let Ok(count) = follower.read(&mut bytes) {
        assert!(count > 0, "the stream goes on");
    }
}

#[test]
fn threat_sse_flood_agents_streams_leave_room_for_the_person() {
    let stage = Stage::new(STORY);
    let tokens: Vec<_> = (0..6).map(|_| stage.mint(None)).collect();
    let mut held = Vec::new();
    for token in tokens.iter().chain([&stage.agent()]) {
        let ask = Ask::new("GET", &stage.path("events")).token(token);
        let mut taken = 0;
        loop {
            let mut stream = begin(&stage, &ask);
            if !read_head(&mut stream).contains("200 OK") {
                check_busy(&stage.send(&ask), "too_many_streams");
                break;
            }
            held.push(stream);
            taken += 1;
            assert!(taken < MANY, "there is no bound");
        }
    }
    assert!(held.len() >= 16, "only {} streams", held.len());
    check_person_is_served(&stage);
    let person: Vec<_> = (0..8)
        .map(|_| {
            let ask = Ask::new("GET", &stage.path("events")).token(&stage.human());
            let mut stream = begin(&stage, &ask);
            assert!(read_head(&mut stream).contains("200 OK"));
            stream
        })
        .collect();
    drop((held, person));
}

#[test]
fn threat_request_flood_slow_bodies_of_agents_keep_nobody_out() {
    let stage = Stage::new(STORY);
    let tokens: Vec<_> = (0..6).map(|_| stage.mint(None)).collect();
    let mut held = Vec::new();
    for token in tokens.iter().chain([&stage.agent()]) {
        let slow = Ask::new("POST", &stage.path("checkpoints"))
            .token(token)
            .header("Content-Type", "application/json")
            .header("Content-Length", "100");
        held.extend((0..40).map(|_| begin(&stage, &slow)));
    }
    check_person_is_served(&stage);
    let mut refused = 0;
    for stream in held {
        let answer = Answer::read(stream);
        if answer.status == 400 {
            assert_eq!(answer.code(), "slow_body");
        } else {
            check_busy(&answer, "busy");
            refused += 1;
        }
    }
    assert!(refused >= 7 * (40 - 16), "{refused} were refused");
}

/// What is in use is given back: the same agent is served again.
#[test]
fn a_place_is_free_again_when_its_connection_is_closed() {
    let stage = Stage::new(STORY);
    let token = stage.mint(None);
    let ask = Ask::new("GET", &stage.path("events")).token(&token);
    for _ in 0..3 {
        let mut held = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        while held.len() < 16 {
            assert!(Instant::now() < deadline, "only {} of 16", held.len());
            let mut stream = begin(&stage, &ask);
            if read_head(&mut stream).contains("200 OK") {
                held.push(stream);
            }
        }
    }
}
