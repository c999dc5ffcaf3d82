//! The description and its page are committed, and are what the program says.

use std::path::Path;

use expect_test::expect_file;
use retake_server::http::{description, render_page};
use serde_json::Value;

use crate::client::Ask;
use crate::stage::{STORY, Stage};

fn docs(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn the_committed_description_is_up_to_date() {
    let text = serde_json::to_string_pretty(&description()).unwrap() + "\n";
    expect_file![docs("openapi.json")].assert_eq(&text);
}

#[test]
fn the_committed_page_is_up_to_date() {
    expect_file![docs("api.html")].assert_eq(&render_page());
}

#[test]
fn the_server_tells_its_description() {
    let stage = Stage::new(STORY);
    assert_eq!(stage.got("/api/openapi.json"), description());
}

#[test]
fn the_page_needs_no_token_and_runs_nothing() {
    let stage = Stage::new(STORY);
    let answer = stage.send(&Ask::new("GET", "/docs"));
    assert_eq!((answer.status, &answer.body), (200, &render_page()));
    assert!(answer.header("content-type").unwrap().starts_with("text/html"));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("style-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
    let page = answer.body.to_lowercase();
    for active in ["<script", "<iframe", "<img", "<link", "javascript:", " onclick", " style="] {
        assert!(!page.contains(active), "{active}");
    }
}

#[test]
fn everything_is_described() {
    let described = description();
    assert_eq!(
        described["openapi"].as_str().unwrap().split('.').take(2).collect::<Vec<_>>(),
        ["3", "1"]
    );
    for (path, item) in described["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let name = format!("{method} {path}");
            assert!(operation["summary"].is_string(), "{name} has no summary");
            assert!(operation["tags"][0].is_string(), "{name} has no tag");
            for (status, response) in operation["responses"].as_object().unwrap() {
                let text = response["description"].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{name}: {status} is not described");
                let mut content = response["content"].as_object().into_iter().flatten();
                assert!(content.all(|(_, one)| one["schema"].is_object()), "{name}: {status}");
            }
        }
    }
    let names = described["components"]["schemas"].as_object().unwrap();
    let mut missing = Vec::new();
    references(&described, &mut |name| {
        if !names.contains_key(name) {
            missing.push(name.to_owned());
        }
    });
    assert!(missing.is_empty(), "no such document: {missing:?}");
}

fn references(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(map) => {
            if let Some(target) = map.get("$ref").and_then(Value::as_str) {
                found(target.rsplit('/').next().unwrap_or_default());
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}
