//! A tiny HTTP client that sends just what a test says.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A request to be.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: String,
    path: String,
    host: Option<String>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_uppercase(),
            path: path.to_owned(),
            host: None,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Another host than the one that is connected to.
    pub(crate) fn host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body(body.to_string().as_bytes()).header("Content-Type", "application/json")
    }

    pub(crate) fn body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        let length = body.len().to_string();
        self.header("Content-Length", &length)
    }

    /// The request's bytes.
    pub(crate) fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let host = self.host.clone().unwrap_or_else(|| address.to_string());
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {host}\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("Connection: close\r\n\r\n");
        [head.as_bytes(), &self.body].concat()
    }

    pub(crate) fn send(&self, address: SocketAddr) -> Answer {
        send(address, &self.bytes(address))
    }
}

/// Sends bytes, and reads until the other side closes.
pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = connect(address);
    stream.write_all(bytes).unwrap();
    Answer::read(stream)
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// Of an event stream only the beginning is read.
fn is_endless(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.split_once("\r\n\r\n").is_some_and(|(head, _)| head.contains("text/event-stream"))
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// The same as it came: a content need not be text.
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn read(mut stream: TcpStream) -> Self {
        let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
        loop {
            // A connection that is cut ends the answer, too.
            let count = stream.read(&mut part).unwrap_or(0);
            bytes.extend_from_slice(&part[..count]);
            if count == 0 || is_endless(&bytes) {
                break;
            }
        }
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n");
        let body = end.map(|end| bytes.split_off(end + 4)).unwrap_or_default();
        let head = String::from_utf8(bytes).unwrap();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no answer: {head:?}"));
        let text = String::from_utf8_lossy(&body).into_owned();
        Self { status, head: head.trim_end().to_lowercase(), body: text, bytes: body }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.body))
    }

    /// The code of a failure.
    #[track_caller]
    pub(crate) fn code(&self) -> String {
        let json = self.json();
        json["code"].as_str().unwrap_or_else(|| panic!("no code: {json}")).to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&start))
    }
}
