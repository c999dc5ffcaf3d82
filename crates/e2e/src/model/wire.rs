//! Common parts of the four wire formats: the model's reply, and its HTTP response.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use serde_json::Value;

use super::tools::ToolInput;

/// The reply of the model.
#[derive(Debug)]
pub(crate) struct ModelReply {
    pub(crate) text: String,
    pub(crate) calls: Vec<RequestedCall>,
}

/// A call in an answer; its id is still without the prefix of the wire.
#[derive(Debug)]
pub(crate) struct RequestedCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) input: ToolInput,
    pub(crate) group: Option<&'static str>,
}

/// An answer in the shape of a wire.
pub(crate) enum WireAnswer {
    Json(Value),
    Stream(Vec<WireEvent>),
}

/// A server-sent event.
pub(crate) struct WireEvent {
    pub(crate) name: Option<&'static str>,
    pub(crate) data: String,
}

impl WireEvent {
    /// An event whose name is also the `type` of its data, as most wires have it.
    pub(crate) fn typed(name: &'static str, mut data: Value) -> Self {
        data["type"] = name.into();
        Self { name: Some(name), data: data.to_string() }
    }

    pub(crate) fn unnamed(data: &Value) -> Self {
        Self { name: None, data: data.to_string() }
    }
}

impl WireAnswer {
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

fn lines(event: &WireEvent) -> String {
    let name = event.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {}\n\n", event.data)
}

/// An id that no other answer of this process has.
pub(crate) fn unique_id(prefix: &str) -> String {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}{:012}", NEXT_ID.fetch_add(1, Ordering::Relaxed))
}
