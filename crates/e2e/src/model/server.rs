//! The HTTP server: finds the wire format and the script's step of a request, and answers.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Barrier;

use super::conversation::{ModelRequest, ScriptPosition, all_strings, minimal_value};
use super::log::RequestLog;
use super::tools::ToolContext;
use super::wire::{ModelReply, RequestedCall, WireAnswer, respond};
use super::{anthropic, chat, gemini, responses};
use crate::agent::AgentCli;
use crate::script::{ModelScript, call_id, marker};

/// A scripted model that listens until it is dropped.
pub struct ModelServer {
    address: String,
    state: Arc<ServerState>,
    /// Dropping it ends the server; it is taken out so that this does not wait for connections.
    runtime: Option<Runtime>,
}

/// The state that requests share.
struct ServerState {
    scripts: Mutex<HashMap<String, Arc<PlacedScript>>>,
    meetings: Mutex<HashMap<String, Arc<MeetingPoint>>>,
    /// The texts of the request for each step of a script; the last one counts.
    asked: Mutex<HashMap<(String, usize), Vec<String>>>,
    log: RequestLog,
}

/// A script and the project it is played in.
struct PlacedScript {
    script: ModelScript,
    root: PathBuf,
}

/// A barrier where conversations, or a test, wait for each other.
struct MeetingPoint {
    arrived: AtomicUsize,
    all: Barrier,
}

impl ModelServer {
    /// Starts to listen on a free port of the loopback interface.
    pub fn start() -> Self {
        let state = Arc::new(ServerState {
            scripts: Mutex::default(),
            meetings: Mutex::default(),
            asked: Mutex::default(),
            log: RequestLog::new(),
        });
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().expect("threads can start");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let router = Router::new().fallback(serve).with_state(state.clone());
        runtime.spawn(async { axum::serve(listener, router).await });
        Self { address: format!("http://127.0.0.1:{port}"), state, runtime: Some(runtime) }
    }

    /// The address for an agent, without a version or a slash at its end.
    pub(crate) fn address(&self, agent: AgentCli) -> String {
        format!("{}/{agent}", self.address)
    }

    /// Registers a script, with those of its subagents. Its name is used once, since the ids of
    /// its calls contain it.
    ///
    /// # Panics
    /// If another script has this name.
    pub fn add_script(&self, name: &str, root: &Path, script: ModelScript) {
        marker(name);
        for (child, script) in script.children() {
            self.add_script(child, root, script.clone());
        }
        let part = Arc::new(PlacedScript { script, root: root.to_owned() });
        let mut scripts = self.state.scripts.lock().expect("no request panics");
        assert!(scripts.insert(name.to_owned(), part).is_none(), "two scripts called {name}");
    }

    /// Returns the number of conversations that have reached a barrier.
    pub fn arrived_count(&self, place: &str) -> usize {
        let meetings = self.state.meetings.lock().expect("no request panics");
        meetings.get(place).map_or(0, |meeting| meeting.arrived.load(Ordering::SeqCst))
    }

    /// The test itself waits at a barrier of `talks` participants.
    pub fn meet(&self, place: &str, talks: usize) {
        let runtime = self.runtime.as_ref().expect("it runs until it is dropped");
        runtime.block_on(self.state.meet(place, talks));
    }

    /// Returns the texts that were new to the model in the request for this step of a script: the
    /// results of the calls of the step before, and notes. The step after the last one is
    /// that of the last message.
    ///
    /// # Panics
    /// If the script did not come so far.
    pub fn new_texts_at(&self, script: &str, step: usize) -> String {
        let asked = self.state.asked.lock().expect("no request panics");
        let at = |step| asked.get(&(script.to_owned(), step));
        let before = step.checked_sub(1).and_then(at).into_iter().flatten();
        let known: HashSet<_> = before.collect();
        let texts = at(step).unwrap_or_else(|| panic!("no step {step}:\n{}", self.log()));
        let news = texts.iter().filter(|text| !known.contains(text)).map(String::as_str);
        news.collect::<Vec<_>>().join("\n")
    }

    /// Returns the log of requests and answers so far.
    pub fn log(&self) -> String {
        self.state.log.text()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The wire formats of requests.
#[derive(Clone, Copy)]
enum WireFormat {
    Anthropic,
    Responses,
    Chat,
    Gemini { is_stream: bool },
}

impl WireFormat {
    fn of(path: &str) -> Option<Self> {
        match path.rsplit('/').next()? {
            "messages" => Some(Self::Anthropic),
            "responses" => Some(Self::Responses),
            "completions" => Some(Self::Chat),
            last if last.ends_with(":streamGenerateContent") => {
                Some(Self::Gemini { is_stream: true })
            }
            last if last.ends_with(":generateContent") => Some(Self::Gemini { is_stream: false }),
            _ => None,
        }
    }

    fn read(self, body: &Value) -> ModelRequest {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Gemini { is_stream } => gemini::read(body, is_stream),
        }
    }

    fn answer(self, reply: &ModelReply, asked: &ModelRequest, body: &Value) -> WireAnswer {
        match self {
            Self::Anthropic => anthropic::answer(reply, asked, &body["model"]),
            Self::Responses => responses::answer(reply, asked, &body["model"]),
            Self::Chat => chat::answer(reply, asked, &body["model"]),
            Self::Gemini { .. } => gemini::answer(reply, asked),
        }
    }
}

async fn serve(State(world): State<Arc<ServerState>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let line = format!("{} {path}", head.method);
    if head.method != Method::POST {
        world.log.add(&line, &Value::Null);
        return match head.method {
            Method::HEAD => respond(StatusCode::OK, "text/plain", String::new()),
            _ if path.ends_with("/models") => WireAnswer::Json(model_list()).into_response(),
            _ => not_found(path),
        };
    }
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let body = decode(&head.headers, &bytes);
    let agent = path.split('/').nth(1).and_then(AgentCli::from_name);
    if let (Some(wire), Some(agent)) = (WireFormat::of(path), agent) {
        return world.answer_request(wire, agent, &line, &body).await.into_response();
    }
    world.log.add(&line, &body);
    match path.rsplit('/').next() {
        Some("count_tokens") => WireAnswer::Json(json!({ "input_tokens": 100 })).into_response(),
        Some(last) if last.ends_with(":countTokens") => {
            WireAnswer::Json(json!({ "totalTokens": 100 })).into_response()
        }
        _ => not_found(path),
    }
}

impl ServerState {
    async fn answer_request(
        &self,
        wire: WireFormat,
        agent: AgentCli,
        line: &str,
        body: &Value,
    ) -> WireAnswer {
        let asked = wire.read(body);
        let place = asked.script_position();
        let place = place.as_ref().filter(|_| !asked.tools.is_empty());
        let reply = match place.and_then(|place| Some((self.script(place.script)?, place))) {
            Some((part, place)) => {
                self.record_texts(place, all_strings(body));
                let step = part.script.steps.get(place.step);
                if let Some((place, talks)) = step.and_then(|step| step.meeting.as_ref()) {
                    self.meet(place, *talks).await;
                }
                script_reply(
                    &part,
                    place,
                    &ToolContext { agent, asked: &asked, root: &part.root, body },
                )
            }
            None => aside_reply(&asked),
        };
        let tools: Vec<_> = reply.calls.iter().map(|call| call.tool.as_str()).collect();
        self.log.add(&format!("{line} {place:?} -> {:?} {tools:?}", reply.text), body);
        wire.answer(&reply, &asked, body)
    }

    fn record_texts(&self, place: &ScriptPosition<'_>, texts: Vec<String>) {
        let mut asked = self.asked.lock().expect("no request panics");
        asked.insert((place.script.to_owned(), place.step), texts);
    }

    fn script(&self, name: &str) -> Option<Arc<PlacedScript>> {
        self.scripts.lock().expect("no request panics").get(name).cloned()
    }

    async fn meet(&self, place: &str, talks: usize) {
        let meeting = {
            let mut meetings = self.meetings.lock().expect("no request panics");
            let new = || Arc::new(MeetingPoint { arrived: 0.into(), all: Barrier::new(talks) });
            meetings.entry(place.to_owned()).or_insert_with(new).clone()
        };
        meeting.arrived.fetch_add(1, Ordering::SeqCst);
        meeting.all.wait().await;
    }
}

fn script_reply(
    part: &PlacedScript,
    place: &ScriptPosition<'_>,
    scene: &ToolContext<'_>,
) -> ModelReply {
    let Some(step) = part.script.steps.get(place.step) else {
        return ModelReply { text: part.script.last.clone(), calls: Vec::new() };
    };
    let calls = step.calls.iter().enumerate().map(|(index, call)| {
        let call = scene.tool_call(call);
        let id = call_id(place.script, place.step, index);
        RequestedCall { id, tool: call.tool, input: call.input, group: call.group }
    });
    ModelReply { text: step.text.clone(), calls: calls.collect() }
}

/// Clients also ask for titles and summaries, which belong to no script.
fn aside_reply(asked: &ModelRequest) -> ModelReply {
    let text = asked.schema.as_ref().map(|schema| minimal_value(schema).to_string());
    ModelReply { text: text.unwrap_or_else(|| "A scripted title".to_owned()), calls: Vec::new() }
}

fn model_list() -> Value {
    let ids = ["scripted", "claude-sonnet-4-5", "gpt-5.5", "gpt-6-sol", "gemini-2.5-pro"];
    let model = |id| {
        json!({ "id": id, "object": "model", "type": "model", "display_name": id,
        "created": 0, "created_at": "2026-01-01T00:00:00Z", "owned_by": "retake" })
    };
    json!({ "object": "list", "data": ids.map(model), "has_more": false })
}

fn not_found(path: &str) -> Response<Body> {
    let error = json!({ "error": { "type": "not_found_error", "message": format!("no {path}") } });
    respond(StatusCode::NOT_FOUND, "application/json", error.to_string())
}

/// Decodes a body, which some clients compress. A body that is not JSON is kept for the log.
fn decode(headers: &HeaderMap, bytes: &[u8]) -> Value {
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    let plain = match encoding {
        Some("gzip") => {
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).map(|_| plain)
        }
        Some("zstd") => zstd::decode_all(bytes),
        _ => Ok(bytes.to_vec()),
    };
    let plain = plain.unwrap_or_else(|error| error.to_string().into_bytes());
    serde_json::from_slice(&plain).unwrap_or_else(|_| String::from_utf8_lossy(&plain).into())
}
