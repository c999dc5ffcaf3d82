//! Logins of browsers: they survive a restart, are listed, and end when the person says so.

use std::io::Read as _;
use std::io::Write as _;

use retake_server::http::TokenScope;
use serde_json::{Value, json};

use crate::client::{Ask, connect};
use crate::stage::{STORY, Stage};

fn log_in(stage: &Stage, label: &str) -> Value {
    let code = stage.running.codes().create(TokenScope::Human).unwrap();
    let body = json!({ "code": code, "label": label });
    let answer = stage.send(&Ask::new("POST", "/api/exchange").json(&body));
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(!answer.head.contains("set-cookie"));
    answer.json()
}

fn status(stage: &Stage, login: &Value) -> u16 {
    let token = login["token"].as_str().unwrap();
    stage.send(&Ask::new("GET", "/api/projects").token(token)).status
}

#[test]
fn a_login_survives_a_restart_and_ends_with_a_logout() {
    let stage = Stage::new(STORY);
    let (one, other) = (log_in(&stage, "studio"), log_in(&stage, "editor"));
    assert_eq!((&one["scope"], one["token"].as_str().unwrap().len()), (&json!("human"), 43));
    assert!(one["expires_at"].as_str().unwrap() > "2023-12", "{one}");
    let old = stage.human();
    let stage = stage.restarted();
    let start = stage.send(&Ask::new("GET", "/api/projects").token(&old));
    assert_eq!(start.status, 401, "the token of a start is new at each start");
    assert_eq!((status(&stage, &one), status(&stage, &other)), (200, 200));
    let token = one["token"].as_str().unwrap();
    let listed = stage.send(&Ask::new("GET", "/api/logins").token(token)).json();
    let rows = listed["logins"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["current"], row["label"] == "studio", "{row}");
    }
    assert!(!listed.to_string().contains(token));
    // A stream of the login ends with it.
    let ask = Ask::new("GET", &stage.path("events")).token(token);
    let mut stream = connect(stage.address());
    stream.write_all(&ask.bytes(stage.address())).unwrap();
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    let out = stage.send(&Ask::new("POST", "/api/logout").token(token));
    assert_eq!(out.json(), json!({ "revoked": [one["login"]] }));
    stage.done("checkpoints", &json!({ "message": "after the logout" }));
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("after the logout"), "{rest}");
    assert_eq!((status(&stage, &one), status(&stage, &other)), (401, 200));
    let stage = stage.restarted();
    assert_eq!((status(&stage, &one), status(&stage, &other)), (401, 200));
}

#[test]
fn the_person_ends_logins_by_name_or_all_of_them() {
    let stage = Stage::new(STORY);
    let logins: Vec<_> = (0..3).map(|_| log_in(&stage, "x")).collect();
    let agent = stage.mint(None);
    let one = stage.done("/api/logout", &json!({ "login": logins[1]["login"] }));
    assert_eq!(one["revoked"], json!([logins[1]["login"]]));
    let seen: Vec<_> = logins.iter().map(|login| status(&stage, login)).collect();
    assert_eq!(seen, [200, 401, 200]);
    let again = stage.post("/api/logout", &json!({ "login": logins[1]["login"] }));
    assert_eq!((again.status, again.code().as_str()), (404, "unknown_token"));
    let none = stage.post("/api/logout", &json!({}));
    assert_eq!((none.status, none.code().as_str()), (422, "bad_value"));
    let all = stage.done("/api/logout", &json!({ "all": true }));
    assert_eq!(all["revoked"].as_array().unwrap().len(), 2);
    assert!(logins.iter().all(|login| status(&stage, login) == 401));
    let agents = stage.send(&Ask::new("GET", "/api/projects").token(&agent));
    assert_eq!(agents.status, 200, "an agent's token is no login");
}
