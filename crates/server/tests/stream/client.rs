//! A client of an event stream: reads bytes from a socket, and knows what it has seen.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Whatever is waited for comes within this time, on the slowest machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// One event, as a browser would hand it out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Seen {
    pub(crate) fn seq(&self) -> u64 {
        self.data["seq"].as_u64().unwrap()
    }
}

/// A client that follows, with what is kept from one connection to the next.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// The last id of a complete frame, if it is a number.
    pub(crate) last: Option<u64>,
    /// The same as it is written.
    pub(crate) last_id: Option<String>,
    pub(crate) seen: Vec<Seen>,
    /// Comments, and frames that only move the id.
    pub(crate) beats: Vec<String>,
}

/// Where to ask, and by what right.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: TcpStream,
    bytes: Vec<u8>,
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) ended: bool,
}

impl Connection {
    /// Asks for a path, and reads the head of the answer.
    pub(crate) fn get(door: &Door, path: &str, headers: &[(&str, String)]) -> Self {
        let mut socket = TcpStream::connect(door.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        // In the older protocol a body is not cut into chunks, so that its bytes are the frames.
        let mut request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n", door.address);
        request.extend(["Authorization: Bearer ", &door.token, "\r\n"]);
        for (name, value) in headers {
            request.extend([name, ": ", value.as_str(), "\r\n"]);
        }
        socket.write_all((request + "\r\n").as_bytes()).unwrap();
        let (bytes, head, ended) = (Vec::new(), String::new(), false);
        let mut connection = Self { socket, bytes, status: 0, head, ended };
        let began = Instant::now();
        while !connection.has_head() {
            assert!(!connection.ended && began.elapsed() < DEADLINE, "no answer to {path}");
            connection.receive(1);
        }
        connection
    }

    fn has_head(&mut self) -> bool {
        let Some(end) = self.bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            return false;
        };
        let rest = self.bytes.split_off(end + 4);
        self.head = String::from_utf8(std::mem::replace(&mut self.bytes, rest)).unwrap();
        self.status = self.head[9..12].parse().unwrap();
        true
    }

    /// Reads at most so many bytes, those that come soon; tells how many.
    pub(crate) fn receive(&mut self, most: usize) -> usize {
        let mut buffer = vec![0; most];
        match self.socket.read(&mut buffer) {
            Ok(0) => self.ended = true,
            Ok(length) => {
                self.bytes.extend(&buffer[..length]);
                return length;
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => self.ended = true,
        }
        0
    }

    /// The whole body of an answer that ends.
    pub(crate) fn body(mut self) -> Value {
        let began = Instant::now();
        while !self.ended && began.elapsed() < DEADLINE {
            self.receive(4096);
        }
        serde_json::from_slice(&self.bytes).unwrap()
    }

    fn frame(&mut self) -> Option<String> {
        let end = self.bytes.windows(2).position(|bytes| bytes == b"\n\n")?;
        let rest = self.bytes.split_off(end + 2);
        Some(String::from_utf8(std::mem::replace(&mut self.bytes, rest)).unwrap())
    }
}

impl Client {
    /// Starts before the first event.
    pub(crate) fn from_the_start() -> Self {
        Self { last: Some(0), ..Self::default() }
    }

    /// Connects, where it left off.
    pub(crate) fn connect(&self, door: &Door, path: &str) -> Connection {
        let last = self.last_id.clone().or_else(|| self.last.map(|id| id.to_string()));
        let last = last.map(|id| ("Last-Event-ID", id));
        let connection = Connection::get(door, path, last.as_slice());
        assert_eq!(connection.status, 200, "{}", connection.head);
        connection
    }

    /// Takes in the complete frames that were received.
    pub(crate) fn take_in(&mut self, connection: &mut Connection) {
        while let Some(frame) = connection.frame() {
            let field = |name: &str| {
                let mut lines = frame.lines();
                lines.find_map(|line| line.strip_prefix(name)).map(ToOwned::to_owned)
            };
            if let Some(id) = field("id: ") {
                self.last = id.parse().ok();
                self.last_id = Some(id);
            }
            match (field("event: "), field("data: ")) {
                (Some(name), Some(data)) => {
                    self.seen.push(Seen { name, data: serde_json::from_str(&data).unwrap() });
                }
                _ => self.beats.push(frame),
            }
        }
    }

    /// Reads until something holds.
    pub(crate) fn read_until(
        &mut self,
        connection: &mut Connection,
        holds: impl Fn(&Self) -> bool,
    ) {
        let began = Instant::now();
        self.take_in(connection);
        while !holds(self) {
            assert!(!connection.ended, "the stream ended: {self:?}");
            assert!(began.elapsed() < DEADLINE, "waited too long: {self:?}");
            connection.receive(4096);
            self.take_in(connection);
        }
    }

    /// Reads until the end of the connection.
    pub(crate) fn read_to_end(&mut self, connection: &mut Connection) {
        let began = Instant::now();
        while !connection.ended {
            assert!(began.elapsed() < DEADLINE, "the stream does not end");
            connection.receive(64 * 1024);
        }
        self.take_in(connection);
    }

    pub(crate) fn seqs(&self) -> Vec<u64> {
        self.seen.iter().map(Seen::seq).collect()
    }

    pub(crate) fn named(&self, name: &str) -> Vec<&Seen> {
        self.seen.iter().filter(|seen| seen.name == name).collect()
    }
}
