//! Very many clients that ask and do not listen: memory stays bounded, and others are served.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::served::{Daemon, until};
use crate::support::World;

/// So much of it may be in memory: a few frames, as long as the longest message here, for each of
/// those who may follow at once, and SQLite's cache for each.
const MOST_KIB: u64 = 512 * 1024;

/// The most that a process has had in memory, in KiB.
fn most_memory(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn clients() -> usize {
    if super::is_long() { 1000 } else { 100 }
}

/// Connects and asks, and reads nothing.
fn deaf(daemon: &Daemon, path: &str) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(daemon.address).ok()?;
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        daemon.address, daemon.human
    );
    // Where there are too many, the connection may be gone already.
    let _ = stream.write_all(head.as_bytes());
    Some(stream)
}

/// Whether a client that comes now gets what it asks for.
fn is_served(daemon: &Daemon, path: &str) -> bool {
    status(deaf(daemon, path)).as_deref() == Some("200")
}

/// The status that a client is answered with; none if the connection ends before.
fn status(stream: Option<TcpStream>) -> Option<String> {
    let mut stream = stream?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).ok()?;
    Some(String::from_utf8_lossy(&start[9..]).into_owned())
}

#[test]
fn threat_sse_flood_of_clients_that_do_not_read() {
    let world = World::with(&[("a.txt", "one\n")]);
    let daemon = Daemon::of(&world);
    let project =
        daemon.get("/api/projects").json()["projects"][0]["id"].as_str().unwrap().to_owned();
    // More than the sockets and the queues of one client hold.
    let long = "x".repeat(1 << 20);
    let before = most_memory(&daemon);
    for _ in 0..12 {
        let said = json!({ "event": "user_message", "dialog": "d1", "text": long });
        let path = format!("/api/projects/{project}/events");
        assert_eq!(daemon.post(&path, &json!({ "events": [said] })).status, 200);
    }
    let path = format!("/api/projects/{project}/events?after=0");
    let held: Vec<_> = (0..clients()).filter_map(|_| deaf(&daemon, &path)).collect();
    assert!(held.len() >= 100, "{}", held.len());
    // Clients of the socket are served; those of HTTP, once there is a free connection.
    for number in 0..5 {
        world.write("a.txt", number.to_string());
        world.ok(&["status"]);
        world.say("d2", "hello");
    }
    until("another client is served", || is_served(&daemon, "/api/projects"));
    let most = most_memory(&daemon);
    assert!(most < MOST_KIB, "{most} KiB, {before} KiB before");
    // Those who do not read are let go, whether they leave or not. That takes its time; with less
    // patience it is tried in the tests of the stream.
    if super::is_long() {
        until("their places are free", || is_served(&daemon, &path));
    }
    drop(held);
}

#[test]
fn threat_request_flood_many_at_once_are_answered_or_turned_away() {
    let world = World::with(&[("a.txt", "one\n")]);
    let daemon = Daemon::of(&world);
    let statuses = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..clients() {
            scope.spawn(|| {
                let status = status(deaf(&daemon, "/api/projects"));
                statuses.lock().unwrap().extend(status);
            });
        }
    });
    let statuses = statuses.into_inner().unwrap();
    assert!(statuses.iter().all(|status| status == "200" || status == "503"), "{statuses:?}");
    assert!(statuses.iter().filter(|status| *status == "200").count() >= 32, "{statuses:?}");
    assert!(most_memory(&daemon) < MOST_KIB);
    until("all is as before", || daemon.get("/api/projects").status == 200);
    world.ok(&["status"]);
}
