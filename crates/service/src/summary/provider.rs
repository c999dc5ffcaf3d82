//! The two APIs of models (Anthropic, OpenAI): request bodies, and parsing of the answers.

use retake_engine::settings::SummaryApi;
use serde_json::{Value, json};

use super::prompt::SUMMARY_TASK;

/// Version of Anthropic's API.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A parsed answer.
pub(super) enum SummaryAnswer {
    /// A whole summary.
    Summary(String),
    /// One that was cut off, which may lack what matters.
    CutOff,
    /// Nothing that is understood.
    Unknown,
}

/// The path of requests, behind the address in the settings.
pub(super) fn request_path(api: SummaryApi) -> &'static str {
    match api {
        SummaryApi::Openai => "/chat/completions",
        SummaryApi::Anthropic => "/v1/messages",
    }
}

/// The headers of requests; the key is in one of them.
pub(super) fn request_headers(api: SummaryApi, key: Option<&str>) -> Vec<(&'static str, String)> {
    match api {
        SummaryApi::Openai => {
            key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
        }
        SummaryApi::Anthropic => key
            .map(|key| ("x-api-key", key.to_owned()))
            .into_iter()
            .chain([("anthropic-version", ANTHROPIC_VERSION.to_owned())])
            .collect(),
    }
}

/// The body of a request.
pub(super) fn request_body(
    api: SummaryApi,
    model: &str,
    transcript: &str,
    at_most_tokens: u32,
) -> Value {
    match api {
        SummaryApi::Openai => json!({
            "model": model,
            "max_completion_tokens": at_most_tokens,
            "messages": [
                { "role": "system", "content": SUMMARY_TASK },
                { "role": "user", "content": transcript },
            ],
        }),
        SummaryApi::Anthropic => json!({
            "model": model,
            "max_tokens": at_most_tokens,
            "system": SUMMARY_TASK,
            "messages": [{ "role": "user", "content": transcript }],
        }),
    }
}

/// Parses an answer.
pub(super) fn parse_answer(api: SummaryApi, answer: &Value) -> SummaryAnswer {
    let (text, end) = match api {
        SummaryApi::Openai => {
            let choice = &answer["choices"][0];
            let text = choice["message"]["content"].as_str().map(str::to_owned);
            (text, choice["finish_reason"].as_str())
        }
        SummaryApi::Anthropic => {
            let blocks = answer["content"].as_array();
            let texts = blocks.map(|blocks| {
                blocks.iter().filter_map(|block| block["text"].as_str()).collect::<String>()
            });
            (texts, answer["stop_reason"].as_str())
        }
    };
    match (text, end) {
        (_, Some("length" | "max_tokens")) => SummaryAnswer::CutOff,
        (Some(text), Some("stop" | "end_turn" | "stop_sequence") | None) => {
            SummaryAnswer::Summary(text)
        }
        _ => SummaryAnswer::Unknown,
    }
}

/// Returns the reason of a failure that an answer names.
pub(super) fn failure_reason(answer: &Value) -> Option<&str> {
    let error = &answer["error"];
    error["message"].as_str().or_else(|| error.as_str()).or_else(|| answer["message"].as_str())
}
