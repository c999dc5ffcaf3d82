//! A stub HTTP server on loopback that sends prepared responses, one after the other.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::Value;

/// The response to one request.
#[derive(Clone, Debug)]
pub enum StubResponse {
    /// A status and a JSON document.
    Json(u16, Value),
    /// A status, headers (each a line), and a body.
    Plain(u16, &'static str, String),
    /// No response, while the server lives.
    NoReply,
}

/// A request that was received.
#[derive(Clone, Debug)]
pub struct StubRequest {
    /// The path.
    pub path: String,
    /// The lines of the head, unparsed.
    pub head: Vec<String>,
    /// The body.
    pub body: Value,
}

/// The server; it ends when it is dropped.
#[derive(Debug)]
pub struct StubServer {
    address: String,
    requests: Arc<Mutex<Vec<StubRequest>>>,
    thread: Option<JoinHandle<()>>,
}

impl StubServer {
    /// Listens on a free port; after the last response, that one is repeated.
    pub fn start(answers: impl IntoIterator<Item = StubResponse>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (requests, mut answers) =
            (Arc::<Mutex<Vec<StubRequest>>>::default(), VecDeque::from_iter(answers));
        let received = Arc::clone(&requests);
        let thread = thread::spawn(move || {
            let mut waiting = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read_request(&stream) else { return };
                received.lock().unwrap().push(request);
                let answer = match answers.len() {
                    1 => answers[0].clone(),
                    _ => answers.pop_front().unwrap(),
                };
                // The client may have closed the connection.
                match format_response(&answer) {
                    Some(text) => drop(stream.write_all(text.as_bytes())),
                    None => waiting.push(stream),
                }
            }
        });
        Self { address, requests, thread: Some(thread) }
    }

    /// Returns the server's address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests received so far.
    pub fn requests(&self) -> Vec<StubRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for StubServer {
    fn drop(&mut self) {
        // A connection without a request ends the thread.
        drop(TcpStream::connect(&self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read_request(stream: &TcpStream) -> Option<StubRequest> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let length = head.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let path = head.first()?.split(' ').nth(1)?.to_owned();
    Some(StubRequest { path, head, body: serde_json::from_slice(&body).unwrap_or_default() })
}

fn format_response(answer: &StubResponse) -> Option<String> {
    let (status, headers, body) = match answer {
        StubResponse::Json(status, body) => {
            (status, "content-type: application/json", body.to_string())
        }
        StubResponse::Plain(status, headers, body) => (status, *headers, body.clone()),
        StubResponse::NoReply => return None,
    };
    let length = body.len();
    Some(format!(
        "HTTP/1.1 {status} x\r\n{headers}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}
