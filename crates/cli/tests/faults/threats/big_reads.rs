//! Clients that ask for everything there is at once, of a project with large files: memory stays
//! bounded, and each of them is answered or told to try again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use super::served::{Daemon, until};
use crate::support::World;

/// Maximum memory of the daemon: what docs/reliability.md allows under load.
const MOST_MIB: u64 = 256;
const FILES: usize = 200;
const FILE_BYTES: usize = 1024 * 1024 - 64;
const LARGE_BYTES: usize = 50 * 1024 * 1024;
const CLIENTS: usize = 4;
/// Paths that compare all files, which takes seconds: only the first client asks for them.
const SLOW_PATHS: [&str; 1] = ["/api/dialogs/d1/session"];

/// Text of just under a mebibyte, of lines that occur once; every `step`th line has this word.
fn text(file: usize, step: usize, word: &str) -> String {
    let mut text = String::with_capacity(FILE_BYTES + 64);
    let mut number = 0;
    while text.len() < FILE_BYTES {
        let word = if number % step == 0 { word } else { "line" };
        let _ = writeln!(text, "{file:03} {number:07} {word} of a large file in a project");
        number += 1;
    }
    text
}

/// A project in which an agent changed many large files and one very large one.
fn project() -> World {
    let world = World::new();
    for file in 0..FILES {
        // Some differ in very many places, the others as a whole.
        let before = if file < 8 { text(file, 2, "former") } else { "small\n".to_owned() };
        world.write(&format!("f{file:03}.txt"), before);
    }
    world.ok(&["init"]);
    world.say("d1", "make all of it larger");
    let event = |event: Value| assert_eq!(world.feed(event.to_string()).code, 0);
    let input = json!({ "command": "make" });
    event(
        json!({ "event": "tool_begin", "dialog": "d1", "call": "k1", "tool": "Bash", "input": input }),
    );
    for file in 0..FILES {
        world.write(&format!("f{file:03}.txt"), text(file, 2, "latter"));
    }
    let mut large: Vec<u8> = (0..LARGE_BYTES / 8).flat_map(|n| (n as u64).to_le_bytes()).collect();
    large.resize(LARGE_BYTES, 1);
    world.write("large.bin", large);
    event(json!({ "event": "tool_end", "dialog": "d1", "call": "k1", "ok": true }));
    world.ok(&["checkpoint"]);
    world
}

/// A number of KiB that the system knows of the daemon, in MiB.
fn memory(daemon: &Daemon, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// What one request came to: its status, and the bytes of its body, which are not kept.
fn ask(daemon: &Daemon, token: &str, path: &str) -> (u16, usize) {
    let mut stream = TcpStream::connect(daemon.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n",
        daemon.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let (mut start, mut part, mut count) = (Vec::new(), vec![0; 64 * 1024], 0);
    loop {
        let read = match stream.read(&mut part) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.unwrap_or_else(|error| panic!("{path}: {error}")),
        };
        if read == 0 {
            break;
        }
        count += read;
        if start.len() < 12 {
            start.extend_from_slice(&part[..read.min(12)]);
        }
    }
    let status = std::str::from_utf8(start.get(9..12).unwrap_or_default()).unwrap();
    (status.parse().unwrap_or_else(|_| panic!("{path}: no answer")), count)
}

/// Everything that can be read of the project, of its large files and of some of its changes.
fn paths(daemon: &Daemon) -> Vec<String> {
    let id = daemon.get("/api/projects").json()["projects"][0]["id"].as_str().unwrap().to_owned();
    let at = |rest: &str| format!("/api/projects/{id}/{rest}");
    let changes = daemon.get(&at("changes?limit=1000")).json();
    let change = |path: &str| {
        let found = changes["changes"].as_array().unwrap().iter().find(|one| one["path"] == path);
        found.unwrap_or_else(|| panic!("{path} has no change")).clone()
    };
    let (mixed, large) = (change("f001.txt"), change("large.bin"));
    let (mixed_id, large_id) = (mixed["id"].as_str().unwrap(), large["id"].as_str().unwrap());
    let oid = mixed["before"]["oid"].as_str().unwrap();
    let checkpoint = daemon.get(&at("checkpoints")).json()["checkpoints"][0]["id"].clone();
    let checkpoint = checkpoint.as_str().unwrap();
    let mut paths: Vec<String> = [
        "changes?limit=1000".to_owned(),
        format!("changes/{mixed_id}?form=structured&lines=5000"),
        format!("changes/{mixed_id}/diff?form=structured&context=all&lines=5000"),
        format!("changes/{mixed_id}/diff"),
        "diff?limit=1000".to_owned(),
        "diff?dialog=d1".to_owned(),
        "diff/file?path=f002.txt&form=structured".to_owned(),
        "diff/file?path=f100.txt&context=all&whitespace=ignore_all".to_owned(),
        "blame?path=f003.txt".to_owned(),
        format!("contents/{oid}"),
        format!("changes/{mixed_id}/before"),
        format!("changes/{mixed_id}/after"),
        format!("changes/{large_id}/after"),
        "file?path=large.bin".to_owned(),
        "file?path=f004.txt".to_owned(),
        format!("checkpoints/{checkpoint}/file?path=large.bin"),
        format!("checkpoints/{checkpoint}/tree?recursive=true"),
        "checkpoints".to_owned(),
        "status?look=false".to_owned(),
        "dialogs".to_owned(),
        "dialogs/d1/messages".to_owned(),
        "context?dialog=d1".to_owned(),
    ]
    .iter()
    .map(|rest| at(rest))
    .collect();
    paths.extend(
        [
            "/sessions/d1/file-changes",
            "/api/dialogs/d1/session",
            "/api/dialogs/d1/history?limit=1000",
        ]
        .map(ToOwned::to_owned),
    );
    paths
}

#[test]
fn threat_huge_diffs_everything_at_once_takes_bounded_memory() {
    let world = project();
    let daemon = Daemon::of(&world);
    let paths = paths(&daemon);
    let before = memory(&daemon, "VmHWM:");
    let seen: Mutex<BTreeMap<(String, u16), usize>> = Mutex::default();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (daemon, paths, seen) = (&daemon, &paths, &seen);
            let token = if client % 2 == 0 { &daemon.human } else { &daemon.agent };
            scope.spawn(move || {
                for step in 0..paths.len() {
                    let path = &paths[(client * 3 + step) % paths.len()];
                    if client > 0 && SLOW_PATHS.contains(&path.as_str()) {
                        continue;
                    }
                    let (status, bytes) = ask(daemon, token, path);
                    let mut seen = seen.lock().unwrap();
                    let most = seen.entry((path.clone(), status)).or_default();
                    *most = bytes.max(*most);
                }
            });
        }
    });
    let peak = memory(&daemon, "VmHWM:");
    let seen = seen.into_inner().unwrap();
    let told = format!("{before} MiB before, {peak} MiB at most: {seen:#?}");
    assert!(peak <= MOST_MIB, "{told}");
    for (path, status) in seen.keys() {
        assert!([200, 503].contains(status), "{path}: {status}; {told}");
    }
    // When there is less to do at once, each of them is answered.
    for path in &paths {
        until(path, || ask(&daemon, &daemon.human, path).0 == 200);
    }
    let large = seen.iter().find(|((path, _), _)| path.ends_with("file?path=large.bin"));
    assert!(large.is_some_and(|(_, bytes)| *bytes > LARGE_BYTES), "{told}");
    println!("{before} MiB before, {peak} MiB at most, {} MiB after", memory(&daemon, "VmRSS:"));
}
