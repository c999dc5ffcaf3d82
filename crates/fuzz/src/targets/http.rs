//! Requests to the HTTP interface, by clients with any token.
//!
//! The router is private to the server, so it is reached through a server on loopback. The first
//! byte of an input chooses the route, the second the token; then come query, the name in the
//! path, and the body.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;
use std::time::Duration;

use retake_server::ProjectPool;
use retake_server::http::{HttpOptions, description, serve};
use retake_testkit::play;
use serde_json::Value;

use crate::input::{choose, parts, split_head};
use crate::reused_project::{OpenTestProject, ReusedFixture, with_fixture};

const FIXTURE_STORY: &str = r"
    file a.txt: one\ntwo\nthree\nfour\nfive\n
    file keep.txt: keep\n
    init
    say d1: make it better
    edit d1 w1 a.txt: two => TWO
    write d1 w2 new.txt: made by an agent\n
    edit d1 w3 a.txt: TWO => Two
    turn-end d1
";

thread_local! {
    static SERVED: ReusedFixture<HttpFixture> = const { ReusedFixture::new(None) };
}

/// The whole OpenAPI description, with its schemas.
static API_DESCRIPTION: LazyLock<Value> = LazyLock::new(description);

/// The server never answers 5xx, and always in the documented shape.
pub fn http(data: &[u8]) {
    with_fixture(&SERVED, 300, HttpFixture::new, |served| served.send_input(data));
}

struct HttpFixture {
    address: SocketAddr,
    routes: Vec<ApiRoute>,
    tokens: [String; 3],
    id: String,
    _server: ServerThread,
}

/// A thread that runs the server: a thread-local would be dropped too late for it.
struct ServerThread {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct ApiRoute {
    method: String,
    template: String,
    operation: &'static Value,
}

impl HttpFixture {
    fn new() -> Self {
        let ((tell, told), (end, ended)) = (channel(), channel::<()>());
        let thread = std::thread::spawn(move || {
            let stage = OpenTestProject::new(|test| drop(play(test, FIXTURE_STORY)));
            let hall = ProjectPool::new(stage.test.retake(), || 1_700_000_900_000);
            let running = serve(Arc::new(hall), &HttpOptions::default()).unwrap();
            let run = stage.test.home().join("run");
            let file = |name| std::fs::read_to_string(run.join(name)).unwrap();
            let tokens = [file("token"), file("agent-token"), "0".repeat(64)];
            let id = stage.test.retake().projects().unwrap()[0].id.clone();
            tell.send((running.addresses()[0], tokens, id)).unwrap();
            let _ = ended.recv();
        });
        let (address, tokens, id) = told.recv().expect("the server starts");
        let server = ServerThread { end: Some(end), thread: Some(thread) };
        Self { address, routes: routes(), tokens, id, _server: server }
    }

    fn send_input(&self, data: &[u8]) {
        let (number, rest) = split_head(data);
        let (token, rest) = split_head(rest);
        let route = &self.routes[number % self.routes.len()];
        let token = &self.tokens[token % self.tokens.len()];
        let [query, name, body] = parts(rest);
        let path = route.path(&self.id, name);
        let query = if query.is_empty() {
            String::new()
        } else {
            format!("?{}", percent_encoded(query, b"=&%+"))
        };
        let address = self.address;
        let mut request = format!(
            "{} {path}{query} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n",
            route.method
        );
        if !body.is_empty() {
            let _ = write!(
                request,
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            );
        }
        let answer = send(address, &[request.as_bytes(), b"\r\n", body].concat());
        route.check(&answer);
    }
}

fn routes() -> Vec<ApiRoute> {
    let mut routes = Vec::new();
    for (template, item) in API_DESCRIPTION["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let (method, template) = (method.to_uppercase(), template.clone());
            routes.push(ApiRoute { method, template, operation });
        }
    }
    assert!(routes.len() > 35, "the description has only {} routes", routes.len());
    routes
}

impl ApiRoute {
    fn path(&self, project: &str, name: &[u8]) -> String {
        let (kind, name) = choose(&["d1", "c5", "w1", "a.txt", ""], name);
        let name = if kind.is_empty() { percent_encoded(name, b"") } else { kind.to_owned() };
        let parts = self.template.split('/').map(|part| match part {
            "{project}" => project.to_owned(),
            part if part.starts_with('{') => name.clone(),
            part => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join("/")
    }

    fn check(&self, answer: &HttpAnswer) {
        let HttpAnswer { status, headers, body } = answer;
        let told = String::from_utf8_lossy(body);
        let name = format!("{} {}: {status} {told}", self.method, self.template);
        assert!(*status < 500, "{name}");
        // An empty name in a path is another path, which may be nowhere.
        let documented = &self.operation["responses"][status.to_string()];
        assert!(!documented.is_null() || matches!(status, 404 | 405), "not documented: {name}");
        let kind = headers.get("content-type").map_or("", String::as_str);
        if kind.starts_with("text/event-stream") || kind.starts_with("text/html") {
            return;
        }
        if *status >= 400 {
            let value: Value = serde_json::from_slice(body).unwrap_or_else(|_| panic!("{name}"));
            let all = ["code", "message", "hint"].map(|key| value[key].as_str());
            assert!(all.iter().all(|text| text.is_some_and(|text| !text.is_empty())), "{name}");
            return;
        }
        let schema = &documented["content"]["application/json"]["schema"];
        if kind.starts_with("application/json") && !schema.is_null() {
            let value: Value = serde_json::from_slice(body).unwrap_or_else(|_| panic!("{name}"));
            if let Err(why) = matches_schema(&value, schema) {
                panic!("{why}: {name}");
            }
        }
    }
}

/// Checks a value against a schema, as far as our own schemas go.
fn matches_schema(value: &Value, schema: &Value) -> Result<(), String> {
    if let Some(place) = schema["$ref"].as_str() {
        return matches_schema(
            value,
            API_DESCRIPTION.pointer(place.trim_start_matches('#')).unwrap(),
        );
    }
    for every in schema["allOf"].as_array().into_iter().flatten() {
        matches_schema(value, every)?;
    }
    for key in ["oneOf", "anyOf"] {
        let some = schema[key].as_array();
        if some.is_some_and(|some| !some.iter().any(|one| matches_schema(value, one).is_ok())) {
            return Err(format!("{value} is none of {key}"));
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|kind| has_json_type(value, kind)) {
        return Err(format!("{value} is not {types:?}"));
    }
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(key).is_none() {
            return Err(format!("{key} is missing"));
        }
    }
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        value.get(key).map_or(Ok(()), |value| matches_schema(value, inner))?;
    }
    for item in value.as_array().into_iter().flatten().filter(|_| !schema["items"].is_null()) {
        matches_schema(item, &schema["items"])?;
    }
    Ok(())
}

fn has_json_type(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// Bytes as they may stand in a URL; `plain` stay as they are.
fn percent_encoded(bytes: &[u8], plain: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~,:".contains(byte) || plain.contains(byte) {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

struct HttpAnswer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// Sends a request and reads the answer; of an event stream only its head.
fn send(address: SocketAddr, request: &[u8]) -> HttpAnswer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // A server that refuses a request early may not read the rest of it.
    let _ = stream.write_all(request);
    let (mut bytes, mut part) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n");
        let is_stream = |head: &[u8]| String::from_utf8_lossy(head).contains("text/event-stream");
        let count = match end {
            Some(end) if is_stream(&bytes[..end]) => 0,
            _ => stream.read(&mut part).unwrap(),
        };
        if count == 0 {
            return HttpAnswer::of(&bytes);
        }
        bytes.extend(&part[..count]);
    }
}

impl HttpAnswer {
    fn of(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").expect("an answer has a head");
        let text = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        let header = |line: &str| line.split_once(": ").map(|(k, v)| (k.to_owned(), v.to_owned()));
        Self {
            status,
            headers: text.lines().filter_map(header).collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }
}
