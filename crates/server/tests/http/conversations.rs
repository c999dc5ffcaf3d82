//! Conversations as the model gets them, over HTTP.

use retake_testkit::stub_server::{StubResponse, StubServer};
use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

use crate::stage::{STORY, Stage};

/// A stage whose model is asked at this address.
fn stage(url: &str) -> Stage {
    let project = TestProject::new();
    play(&project, STORY);
    let settings = format!("[summary]\nurl = {url:?}\nmodel = \"m\"\nattempts = 1\n");
    std::fs::write(project.open().folder().join("config.toml"), settings).unwrap();
    let stage = Stage::of(project);
    let texts = ["one", "two", "three", "password: 'hunter2-x'", "five", "six"];
    let message = |(at, text): (usize, &&str)| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        json!({ "role": role, "content": [{ "type": "text", "text": text }], "ts": at })
    };
    let content: Vec<_> = texts.iter().enumerate().map(message).collect();
    let body = json!({ "content": json!(content).to_string() });
    let planned = json!({ "content": body["content"], "dry_run": true });
    let planned = stage.done("dialogs/d1/history/import", &planned);
    assert_eq!((&planned["messages"], &planned["added"]), (&json!(6), &Value::Null));
    let imported = stage.done("dialogs/d1/history/import", &body);
    assert_eq!(imported["form"], "api_conversation_history");
    assert_eq!(stage.done("dialogs/d1/history/import", &body)["added"], 0);
    stage
}

fn texts(page: &Value) -> Vec<&str> {
    let messages = page["messages"].as_array().unwrap().iter();
    messages.map(|message| message["content"][0]["text"].as_str().unwrap()).collect()
}

#[test]
fn messages_come_in_pages_masked_and_in_any_form() {
    let stage = stage("http://127.0.0.1:1");
    let newest = stage.got("dialogs/d1/messages?limit=2");
    assert_eq!(texts(&newest), ["five", "six"]);
    assert_eq!((&newest["has_more"], &newest["cursor"]), (&json!(true), &json!(4)));
    let before = stage.got("dialogs/d1/messages?limit=3&cursor=4");
    assert_eq!(texts(&before), ["two", "three", "password: '•••'"]);
    assert_eq!(before["messages"][0]["tokens"], 5);
    assert_eq!(stage.got("dialogs/d1/messages?cursor=1")["has_more"], false);
    let exported = stage.got("dialogs/d1/history/export?form=claude-code");
    assert_eq!(exported["file_name"].as_str().unwrap().rsplit_once('.').unwrap().1, "jsonl");
    let content = exported["content"].as_str().unwrap();
    assert!(content.contains("three") && !content.contains("hunter2"), "{content}");
    assert_eq!(stage.get("dialogs/d1/history/export?form=x").status, 422);
    for (body, status, code) in [
        (json!({ "content": "[{" }), 422, "unreadable_history"),
        (json!({ "content": "" }), 422, "unreadable_history"),
        (
            json!({ "content": json!([{ "role": "user", "content": "x" }]).to_string() }),
            409,
            "diverges",
        ),
    ] {
        let answer = stage.post("dialogs/d1/history/import", &body);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{}", answer.body);
    }
    assert_eq!(stage.got("dialogs/d1/messages")["messages"].as_array().unwrap().len(), 6);
}

#[test]
fn a_conversation_is_condensed_and_brought_back() {
    let answer = json!({ "choices": [
        { "message": { "content": "Numbers were said." }, "finish_reason": "stop" } ] });
    let server =
        StubServer::start([StubResponse::Json(200, answer), StubResponse::Json(503, json!({}))]);
    let stage = stage(&server.url());
    let planned = stage.done("dialogs/d1/history/condense", &json!({ "dry_run": true, "keep": 2 }));
    assert_eq!((&planned["replaced"], &planned["how"]), (&json!(4), &Value::Null));
    assert!(server.requests().is_empty());
    let done = stage.done("dialogs/d1/history/condense", &json!({ "keep": 2 }));
    assert_eq!((&done["how"], &done["view"]["hidden"]), (&json!("summary"), &json!(4)));
    assert!(done["tokens_after"].as_u64() < done["tokens_before"].as_u64(), "{done}");
    let summary = "[Previous conversation summary]\nNumbers were said.";
    let shown = stage.got("dialogs/d1/messages");
    assert_eq!(texts(&shown), [summary, "five", "six"]);
    assert_eq!(shown["messages"][0]["is_summary"], true);
    let whole = stage.got("dialogs/d1/messages?whole=true");
    let hidden = whole["messages"].as_array().unwrap().iter().filter(|one| one["hidden"] == true);
    assert_eq!((hidden.count(), texts(&whole).len()), (4, 7));

    // The model does not answer now: the oldest message behind the summary goes.
    let forced = stage.done("dialogs/d1/history/condense", &json!({ "keep": 0 }));
    assert_eq!(forced["how"], "forced");
    assert!(forced["why"].as_str().unwrap().contains("503"), "{forced}");
    assert_eq!(texts(&stage.got("dialogs/d1/messages")), [summary, "six"]);
    for count in [3, 6] {
        stage.done("dialogs/d1/history/back", &json!({}));
        assert_eq!(texts(&stage.got("dialogs/d1/messages")).len(), count);
    }
    let views = stage.got("dialogs/d1/views");
    let why: Vec<_> = views["views"].as_array().unwrap().iter().map(|view| &view["why"]).collect();
    assert_eq!(why, ["condensed", "condensed", "brought_back", "brought_back"]);
    let answer = stage.post("dialogs/d1/history/back", &json!({}));
    assert_eq!((answer.status, answer.code().as_str()), (409, "nothing_hidden"), "{}", answer.body);
    let nothing = stage.post("dialogs/d1/history/condense", &json!({ "keep": 6 }));
    assert_eq!((nothing.status, nothing.code().as_str()), (409, "nothing_to_do"));
}
