//! A daemon in a process of its own, and a client that sends it just what a test says.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::World;

/// The daemon of a world; ends with the test.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) human: String,
    pub(crate) agent: String,
}

impl Daemon {
    pub(crate) fn of(world: &World) -> Self {
        Self::with(world, &[])
    }

    /// Starts it with variables of the environment, and waits until it listens. What it says goes
    /// into the file `daemon.stderr` beside the project.
    pub(crate) fn with(world: &World, variables: &[(&str, &OsStr)]) -> Self {
        let said = File::options().create(true).append(true).open(stderr_of(world)).unwrap();
        let mut command = world.command(&["daemon", "run"]);
        command.envs(variables.iter().copied());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn();
        let mut child = child.unwrap();
        let told = world.home().join("run/http.json");
        until("the daemon listens", || {
            assert!(child.try_wait().unwrap().is_none(), "the daemon ended");
            told.exists() && world.home().join("run/agent-token").exists()
        });
        let told: Value = serde_json::from_slice(&std::fs::read(told).unwrap()).unwrap();
        let address = told["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let agent = std::fs::read_to_string(world.home().join("run/agent-token")).unwrap();
        let human = told["token"].as_str().unwrap().to_owned();
        Self { child, address: address.parse().unwrap(), human, agent }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it by a signal that it can follow, and waits for that.
    pub(crate) fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        until("the daemon ends", || self.child.try_wait().unwrap().is_some());
    }

    /// Asks as the person.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, Some(&self.human), None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, Some(&self.human), Some(body))
    }

    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        if let Some(token) = token {
            let _ = write!(head, "Authorization: Bearer {token}\r\n");
        }
        if !body.is_empty() {
            let length = body.len();
            let _ = write!(head, "Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        head.push_str("Connection: close\r\n\r\n");
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all((head + &body).as_bytes()).unwrap();
        Answer::read(stream)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the daemon of a world said on standard error.
pub(crate) fn stderr_of(world: &World) -> std::path::PathBuf {
    world.outer().join("daemon.stderr")
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Reads until the end, or, of an event stream, what comes first.
    fn read(mut stream: TcpStream) -> Self {
        let (mut bytes, mut part) = (Vec::new(), [0; 16 * 1024]);
        let end_of_head = |bytes: &[u8]| super::find(bytes, b"\r\n\r\n");
        loop {
            let count = stream.read(&mut part).unwrap_or(0);
            bytes.extend_from_slice(&part[..count]);
            let is_stream = end_of_head(&bytes)
                .is_some_and(|end| super::find(&bytes[..end], b"text/event-stream").is_some());
            if count == 0 || is_stream {
                break;
            }
        }
        let end = end_of_head(&bytes).expect("there is an answer");
        let status = std::str::from_utf8(&bytes[9..12]).unwrap().parse().unwrap();
        Self { status, body: bytes.split_off(end + 4) }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }
}

/// Polls until it is true; a minute is enough for anything here.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
