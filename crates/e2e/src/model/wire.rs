//! Common parts of the four wire formats: the model's reply, and its HTTP response.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use serde_json::Value;

use super::tools::Input;

/// The reply of the model.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<Asking>,
}

/// A call in an answer; its id is still without the prefix of the wire.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) input: Input,
    pub(crate) group: Option<&'static str>,
}

/// An answer in the shape of a wire.
pub(crate) enum Answer {
    Json(Value),
    Stream(Vec<Event>),
}

/// A server-sent event.
pub(crate) struct Event {
    pub(crate) name: Option<&'static str>,
    pub(crate) data: String,
}

impl Event {
    /// An event whose name is also the `type` of its data, as most wires have it.
    pub(crate) fn typed(name: &'static str, mut data: Value) -> Self {
        data["type"] = name.into();
        Self { name: Some(name), data: data.to_string() }
    }

    pub(crate) fn unnamed(data: &Value) -> Self {
        Self { name: None, data: data.to_string() }
    }
}

impl Answer {
    pub(crate) fn into_response(self) -> Response<Body> {
        match self {
            Self::Json(value) => respond(StatusCode::OK, "application/json", value.to_string()),
            Self::Stream(events) => {
                let text: String = events.iter().map(lines).collect();
                respond(StatusCode::OK, "text/event-stream", text)
            }
        }
    }
}

pub(crate) fn respond(status: StatusCode, kind: &str, text: String) -> Response<Body> {
    let response = Response::builder().status(status).header(header::CONTENT_TYPE, kind);
    response.body(Body::from(text)).expect("status and header are valid")
}

fn lines(event: &Event) -> String {
    let name = event.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {}\n\n", event.data)
}

/// An id that no other answer of this process has.
pub(crate) fn unique(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}{:012}", NEXT.fetch_add(1, Ordering::Relaxed))
}
