//! Against a server on this machine that speaks both protocols.

use std::time::{Duration, Instant};

use retake_engine::model::{ErrorCode, MessageRole, ModelMessage};
use retake_engine::settings::{SummaryApi, SummarySettings};
use retake_engine::{Summariser as _, SummaryError, SummaryRetry};
use retake_testkit::stub_server::{StubResponse, StubServer};
use serde_json::{Value, json};

use super::HttpSummariser;

const KEY: &str = "the-key-that-nobody-sees";

fn settings(api: SummaryApi, url: &str) -> SummarySettings {
    let (url, model) = (Some(url.to_owned()), Some("model-1".to_owned()));
    SummarySettings { api, url, model, ..SummarySettings::default() }
}

fn summariser(api: SummaryApi, url: &str) -> HttpSummariser {
    HttpSummariser::new(&settings(api, url), |_| Some(KEY.to_owned())).expect("it is set")
}

fn conversation() -> Vec<ModelMessage> {
    let message = |role, content: Value| ModelMessage {
        role,
        content: serde_json::from_value(content).expect("blocks"),
        ts: None,
        is_summary: false,
        index: None,
    };
    vec![
        message(MessageRole::User, json!([{ "type": "text", "text": "Fix the bug" }])),
        message(
            MessageRole::Assistant,
            json!([{ "type": "tool_use", "id": "t1", "name": "Read", "input": { "path": "a.rs" } }]),
        ),
        message(
            MessageRole::User,
            json!([{ "type": "tool_result", "tool_use_id": "t1", "content": "fn a() {}" }]),
        ),
    ]
}

/// What comes of one request that is answered so.
fn asked(api: SummaryApi, answer: StubResponse) -> Result<String, SummaryError> {
    let server = StubServer::start([answer]);
    summariser(api, &server.url()).summarise(&conversation(), 500)
}

#[test]
fn both_protocols_are_spoken() {
    let chat = json!({ "choices": [
        { "message": { "content": "It was fixed." }, "finish_reason": "stop" } ] });
    let server = StubServer::start([StubResponse::Json(200, chat)]);
    let summary = summariser(SummaryApi::Openai, &format!("{}/v1/", server.url()))
        .summarise(&conversation(), 500)
        .unwrap();
    assert_eq!(summary, "It was fixed.");
    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions");
    assert!(request.head.contains(&format!("authorization: Bearer {KEY}")), "{:?}", request.head);
    assert_eq!(
        (&request.body["model"], &request.body["max_completion_tokens"]),
        (&json!("model-1"), &json!(500))
    );
    let told = request.body["messages"][1]["content"].as_str().unwrap();
    for part in
        ["<user>\nFix the bug\n</user>", "[calls Read] {\"path\":\"a.rs\"}", "[result] fn a() {}"]
    {
        assert!(told.contains(part), "{part} in {told}");
    }

    let message = json!({ "content": [{ "type": "text", "text": "It was " },
        { "type": "text", "text": "fixed." }], "stop_reason": "end_turn" });
    let server = StubServer::start([StubResponse::Json(200, message)]);
    let summary =
        summariser(SummaryApi::Anthropic, &server.url()).summarise(&conversation(), 500).unwrap();
    assert_eq!(summary, "It was fixed.");
    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/messages");
    for header in [format!("x-api-key: {KEY}"), "anthropic-version: 2023-06-01".to_owned()] {
        assert!(request.head.contains(&header), "{:?}", request.head);
    }
    assert_eq!(request.body["max_tokens"], 500);
}

#[test]
fn failures_say_whether_asking_again_may_help_and_never_the_key() {
    let wrong_key = json!({ "error": { "message": format!("Incorrect API key: {KEY}") } });
    let busy = StubResponse::Plain(429, "retry-after: 7", String::new());
    let cut_chat = json!({ "choices": [
        { "message": { "content": "It w" }, "finish_reason": "length" } ] });
    let cut_message = json!({ "content": [{ "type": "text", "text": "It w" }],
        "stop_reason": "max_tokens" });
    let elsewhere = StubResponse::Plain(307, "location: http://127.0.0.1:1/", String::new());
    let overloaded = json!({ "type": "error", "error": { "message": "Overloaded" } });
    let cases = [
        (
            SummaryApi::Openai,
            StubResponse::Json(401, wrong_key.clone()),
            SummaryRetry::Never,
            "status 401",
        ),
        (
            SummaryApi::Anthropic,
            StubResponse::Json(401, wrong_key),
            SummaryRetry::Never,
            "status 401",
        ),
        (SummaryApi::Openai, busy, SummaryRetry::After(Duration::from_secs(7)), "status 429"),
        (
            SummaryApi::Anthropic,
            StubResponse::Json(529, overloaded),
            SummaryRetry::Soon,
            "529: Overloaded",
        ),
        (
            SummaryApi::Openai,
            StubResponse::Plain(200, "a: b", "<html>".into()),
            SummaryRetry::Soon,
            "not JSON",
        ),
        (
            SummaryApi::Openai,
            StubResponse::Json(200, json!({ "choices": [] })),
            SummaryRetry::Soon,
            "no summary",
        ),
        (
            SummaryApi::Openai,
            StubResponse::Json(200, cut_chat),
            SummaryRetry::Never,
            "cut off at 500 tokens",
        ),
        (
            SummaryApi::Anthropic,
            StubResponse::Json(200, cut_message),
            SummaryRetry::Never,
            "summary.max_tokens",
        ),
        (SummaryApi::Openai, elsewhere, SummaryRetry::Never, "leads elsewhere (status 307)"),
    ];
    for (api, answer, retry, why) in cases {
        let told = format!("{answer:?}");
        let error = asked(api, answer).unwrap_err();
        assert_eq!(error.retry, retry, "{told}");
        assert!(error.why.starts_with("127.0.0.1: ") && error.why.contains(why), "{error}");
        assert!(!error.why.contains(KEY), "{error}");
    }
}

#[test]
fn a_key_that_is_quoted_is_told_nowhere() {
    let long = format!("{}{KEY}", "x".repeat(super::MAX_REASON_CHARS - 10));
    let refusal = StubResponse::Json(400, json!({ "error": { "message": long } }));
    let error = asked(SummaryApi::Openai, refusal).unwrap_err();
    assert!(!error.why.contains(&KEY[..5]), "{error}");
    let chat = json!({ "choices": [{ "message": { "content": format!("It was {KEY}.") } }] });
    assert_eq!(asked(SummaryApi::Openai, StubResponse::Json(200, chat)).unwrap(), "It was ….");
}

#[test]
fn nobody_is_waited_for_without_end_and_no_answer_is_read_without_end() {
    let server = StubServer::start([StubResponse::NoReply]);
    let impatient =
        SummarySettings { timeout_seconds: 1, ..settings(SummaryApi::Openai, &server.url()) };
    let summariser = HttpSummariser::new(&impatient, |_| None).unwrap();
    let begun = Instant::now();
    let error = summariser.summarise(&conversation(), 500).unwrap_err();
    assert_eq!(error.retry, SummaryRetry::Soon, "{error}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{error}");

    let endless = StubResponse::Plain(200, "a: b", " ".repeat(5 * 1024 * 1024));
    let error = asked(SummaryApi::Openai, endless).unwrap_err();
    assert!(error.why.contains("limit"), "{error}");

    let nobody = HttpSummariser::new(&settings(SummaryApi::Openai, "http://127.0.0.1:1"), |_| None);
    let error = nobody.unwrap().summarise(&conversation(), 500).unwrap_err();
    assert_eq!(error.retry, SummaryRetry::Soon, "{error}");
}

#[test]
fn what_is_not_set_is_named_and_a_key_never_travels_in_the_open() {
    let refused = |settings: &SummarySettings, key: Option<&str>| {
        let key = key.map(str::to_owned);
        let failure = HttpSummariser::new(settings, |_| key.clone()).unwrap_err();
        assert_eq!(failure.code, ErrorCode::SummarySettings);
        failure.message
    };
    assert!(refused(&SummarySettings::default(), Some(KEY)).contains("summary.url"));
    let no_model =
        SummarySettings { model: None, ..settings(SummaryApi::Openai, "https://a.example") };
    assert!(refused(&no_model, Some(KEY)).contains("summary.model"));
    for url in ["http://a.example/v1", "ftp://a.example", "a.example", "http://127.0.0.1.example"] {
        assert!(refused(&settings(SummaryApi::Openai, url), Some(KEY)).contains(url));
    }
    for (scheme, password) in [("https://", "s3cr-et"), ("http://", "s3cr-et"), ("", "s3cr/et")] {
        let url = format!("{scheme}me:{password}@a.example");
        let message = refused(&settings(SummaryApi::Openai, &url), Some(KEY));
        assert!(!message.contains("s3cr") && message.contains("summary.url"), "{message}");
    }
    let no_key = refused(&settings(SummaryApi::Anthropic, "https://a.example"), None);
    assert!(no_key.contains("ANTHROPIC_API_KEY"), "{no_key}");
    for url in ["http://localhost:1", "http://[::1]:1", "http://127.0.0.2:1", "https://[::1]"] {
        assert!(HttpSummariser::new(&settings(SummaryApi::Openai, url), |_| None).is_ok(), "{url}");
    }
    let shown = format!("{:?}", summariser(SummaryApi::Openai, "https://a.example"));
    assert!(!shown.contains(KEY), "{shown}");
}
