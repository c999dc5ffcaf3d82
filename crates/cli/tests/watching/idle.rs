//! An idle daemon sleeps, however many projects it watches and however many streams are open.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::support::World;
use crate::watched::Watched;

const PROJECTS: usize = 8;
const STREAMS: usize = 16;
/// Time for which wake-ups are counted.
const WINDOW: Duration = Duration::from_secs(6);
/// Maximum wake-ups of all threads in it: the check for the home, which may fall into it twice, with
/// what one wake-up brings about in other threads. Threads of eight projects that poll each second have 48.
const MAX_WAKEUPS: u64 = 12;
/// So often it is measured: a heartbeat, or what is done after the start, may fall into a window.
const TRIES: usize = 12;

/// How often threads of a process went to sleep of their own will.
fn sleeps(pid: u64) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let status = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("status")).ok()
    };
    let count = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse::<u64>().unwrap()
    };
    tasks.filter_map(status).map(count).sum()
}

fn follow(world: &World, path: &str) -> TcpStream {
    let http = std::fs::read(world.home().join("run/http.json")).unwrap();
    let http: Value = serde_json::from_slice(&http).unwrap();
    let (url, token) = (http["url"].as_str().unwrap(), http["token"].as_str().unwrap());
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200", "{path}");
    stream
}

#[test]
fn an_idle_daemon_wakes_once_in_five_seconds_for_all_projects_and_streams() {
    let world = World::with(&[("a.txt", "one\n")]);
    for number in 1..PROJECTS {
        let folder = world.outer().join(format!("project-{number}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("a.txt"), "one\n").unwrap();
        assert!(world.command_in(&folder, &["init"]).output().unwrap().status.success());
    }
    let watched = Watched::start(world);
    let ids: Vec<String> = std::fs::read_dir(watched.world.home().join("projects"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(ids.len(), PROJECTS);
    let path = |number: usize| match ids.get(number % (PROJECTS + 1)) {
        Some(id) => format!("/api/projects/{id}/events"),
        None => "/api/events".to_owned(),
    };
    let streams: Vec<_> =
        (0..STREAMS).map(|number| follow(&watched.world, &path(number))).collect();
    let all_watched = || {
        let status = watched.world.run(&["daemon", "status", "--json"]).json();
        let projects = status["projects"].as_array().cloned().unwrap_or_default();
        projects.len() == PROJECTS && projects.iter().all(|project| project["watch"] == "on")
    };
    crate::watched::until("all projects are watched", all_watched);
    let mut counts = Vec::new();
    for _ in 0..TRIES {
        let before = sleeps(watched.pid);
        std::thread::sleep(WINDOW);
        // A thread that ended takes its count along.
        counts.push(sleeps(watched.pid).saturating_sub(before));
        if counts.last().is_some_and(|count| *count <= MAX_WAKEUPS) {
            break;
        }
    }
    assert!(counts.last().is_some_and(|count| *count <= MAX_WAKEUPS), "{counts:?} wake-ups");
    drop(streams);
}
