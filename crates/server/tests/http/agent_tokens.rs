//! Tokens that are minted for agents: for one project, and bound to one dialog.

use retake_engine::JournalEvent;
use retake_engine::model::{CallerChannel, CallerEvidence};
use serde_json::{Value, json};

use crate::client::{Answer, Ask};
use crate::stage::{STORY, Stage};

fn message(dialog: &str) -> Value {
    json!({ "event": "user_message", "dialog": dialog, "text": "do it" })
}

fn record(stage: &Stage, token: &str, events: &[Value]) -> Answer {
    let ask = Ask::new("POST", &stage.path("events")).token(token);
    stage.send(&ask.json(&json!({ "events": events })))
}

fn dialogs(stage: &Stage) -> Vec<String> {
    let all = stage.got("dialogs");
    let all = all["dialogs"].as_array().unwrap().iter();
    all.map(|dialog| dialog["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_first_event_binds_a_token_and_subagents_belong_to_the_dialog() {
    let stage = Stage::new(STORY);
    let token = stage.mint(None);
    assert_eq!(record(&stage, &token, &[message("mine")]).status, 200);
    let sub = json!({ "event": "tool_begin", "dialog": "mine", "agent": "helper", "parent": "main",
        "call": "k1", "tool": "Bash", "input": { "command": "ls" } });
    let end = json!({ "event": "turn_end", "dialog": "mine", "agent": "helper" });
    assert_eq!(record(&stage, &token, &[sub, end]).status, 200);
    let other = record(&stage, &token, &[message("theirs")]);
    assert_eq!((other.status, other.code().as_str()), (403, "other_dialog"));
    assert!(other.json()["message"].as_str().unwrap().contains("'mine'"), "{}", other.body);
    // One event of another dialog, and none is recorded.
    let mixed = record(&stage, &token, &[message("mine"), message("theirs")]);
    assert_eq!((mixed.status, mixed.code().as_str()), (403, "other_dialog"));
    assert!(!dialogs(&stage).contains(&"theirs".to_owned()));
    let list = stage.got("agent-tokens");
    assert_eq!(list["tokens"][0]["dialog"], "mine");
    // Also a person's message is said to be an agent's, with the dialog that the token is for.
    let rows = stage.project.open().events_after(0, 1000).unwrap();
    let of_dialog = |row: &&JournalEvent| row.dialog.as_ref().is_some_and(|it| it.0 == "mine");
    let said: Vec<_> =
        rows.iter().filter(of_dialog).filter_map(|row| row.said_by.clone()).collect();
    assert!(said.len() >= 3, "{rows:?}");
    for caller in said {
        assert_eq!((caller.channel, caller.evidence), (CallerChannel::Http, CallerEvidence::Token));
        assert!(caller.dialog().is_some_and(|dialog| dialog.0 == "mine"), "{caller:?}");
    }
    assert_eq!(stage.got("dialogs/mine")["turns"], 1, "the refused message is not there");
}

#[test]
fn threat_agent_is_the_attacker_a_token_takes_over_no_dialog() {
    let stage = Stage::new(STORY);
    let (one, other) = (stage.mint(None), stage.mint(None));
    // d1 is on record: another agent's.
    for what in ["user_message", "turn_end", "dialog_end"] {
        let event = json!({ "event": what, "dialog": "d1", "text": "forged" });
        let answer = record(&stage, &one, &[event]);
        assert_eq!((answer.status, answer.code().as_str()), (403, "other_dialog"), "{what}");
    }
    assert_eq!(record(&stage, &one, &[message("new")]).status, 200);
    let answer = record(&stage, &other, &[message("new")]);
    assert_eq!((answer.status, answer.code().as_str()), (403, "other_dialog"));
    let mark = |dialog: &str, token: &str| {
        let ask = Ask::new("POST", &stage.path("context/mark")).token(token);
        stage.send(&ask.json(&json!({ "dialog": dialog, "paths": [{ "path": "a.txt" }] })))
    };
    assert_eq!(mark("d1", &one).code(), "other_dialog");
    assert_eq!(mark("new", &one).status, 200);
    let name = |dialog: &str, token: &str| {
        let ask = Ask::new("POST", &stage.path("checkpoints")).token(token);
        stage.send(&ask.json(&json!({ "dialog": dialog })))
    };
    assert_eq!(name("d1", &one).code(), "other_dialog");
    assert_eq!(name("new", &one).status, 200);
    assert_eq!(name("d1", &stage.agent()).code(), "unbound_token");
    let shared = record(&stage, &stage.agent(), &[message("again")]);
    assert_eq!((shared.status, shared.code().as_str()), (403, "unbound_token"));
    assert!(shared.json()["hint"].as_str().unwrap().contains("retake daemon token --agent"));
    assert!(!dialogs(&stage).contains(&"again".to_owned()));
}

#[test]
fn the_person_binds_a_token_to_a_dialog_that_exists() {
    let stage = Stage::new(STORY);
    let token = stage.mint(Some("d1"));
    assert_eq!(record(&stage, &token, &[message("d1")]).status, 200);
    assert_eq!(record(&stage, &token, &[message("d2")]).code(), "other_dialog");
}

#[test]
fn a_token_is_for_one_project_shown_once_and_revoked_for_good() {
    let stage = Stage::new(STORY);
    let minted = stage.done("agent-tokens", &json!({ "label": "ci" }));
    let (token, id) = (minted["token"].as_str().unwrap(), minted["id"].as_str().unwrap());
    let list = stage.got("agent-tokens");
    assert_eq!(list["tokens"][0]["label"], "ci");
    let kept = std::fs::read_to_string(stage.project.home().join("tokens.json")).unwrap();
    assert!(!list.to_string().contains(token) && !kept.contains(token), "it is shown once");
    let projects = |token: &str| {
        let answer = stage.send(&Ask::new("GET", "/api/projects").token(token));
        (answer.status, answer.body)
    };
    assert_eq!(projects(token).0, 200);
    let elsewhere = stage.send(&Ask::new("GET", "/api/projects/other/status").token(token));
    assert_eq!((elsewhere.status, elsewhere.code().as_str()), (403, "other_project"));
    let ask = Ask::new("GET", &stage.path("events")).token(token);
    assert_eq!(stage.send(&ask).status, 200);
    let revoke = |id: &str| {
        let path = stage.path(&format!("agent-tokens/{id}"));
        stage.send(&Ask::new("DELETE", &path).token(&stage.human()))
    };
    assert_eq!(revoke("none").code(), "unknown_token");
    assert_eq!(revoke(id).json(), json!({ "revoked": [id] }));
    assert_eq!(revoke(id).status, 404);
    assert_eq!(projects(token).0, 401);
    assert_eq!(stage.send(&ask).status, 401);
}

/// A daemon that starts again knows the tokens, and what they are bound to.
#[test]
fn tokens_survive_a_restart_and_know_their_project() {
    let (stage, other) = Stage::beside_another_project();
    let token = stage.mint(None);
    assert_eq!(record(&stage, &token, &[message("mine")]).status, 200);
    let minted = stage.done("agent-tokens", &json!({}));
    let (revoked, id) = (minted["token"].as_str().unwrap(), minted["id"].as_str().unwrap());
    let path = stage.path(&format!("agent-tokens/{id}"));
    stage.send(&Ask::new("DELETE", &path).token(&stage.human()));
    let stage = stage.restarted();
    assert_eq!(record(&stage, &token, &[message("mine")]).status, 200);
    assert_eq!(record(&stage, &token, &[message("theirs")]).code(), "other_dialog");
    assert_eq!(record(&stage, revoked, &[message("theirs")]).status, 401);
    // It reads its own project, and is not told of the other one.
    let get = |path: &str| stage.send(&Ask::new("GET", path).token(&token));
    assert_eq!(get(&stage.path("status")).status, 200);
    assert_eq!(get(&format!("/api/projects/{other}/status")).code(), "other_project");
    assert_eq!(get("/api/projects").json()["projects"].as_array().unwrap().len(), 1);
    assert_eq!(get(&format!("/api/dialogs/d1/session?project={other}")).code(), "other_project");
    assert_eq!(get("/api/dialogs/d1/session").status, 200);
    assert_eq!(stage.got("/api/projects")["projects"].as_array().unwrap().len(), 2);
}

/// A call that names a file of another project is no way into that one.
#[test]
fn threat_agent_is_the_attacker_a_path_leads_into_no_other_project() {
    let (stage, other) = Stage::beside_another_project();
    let projects = stage.got("/api/projects");
    let projects = projects["projects"].as_array().unwrap();
    let root = projects.iter().find(|project| project["id"] == other).unwrap()["root"].clone();
    let path = format!("{}/a.txt", root.as_str().unwrap());
    let begin = |dialog: &str| {
        json!({ "event": "tool_begin", "dialog": dialog, "call": "k1", "tool": "Write",
            "input": { "file_path": path, "content": "x" } })
    };
    let count = || {
        let there = stage.got(&format!("/api/projects/{other}/dialogs"));
        there["dialogs"].as_array().unwrap().len()
    };
    let before = count();
    assert_eq!(record(&stage, &stage.mint(None), &[begin("intruder")]).status, 200);
    assert_eq!(count(), before);
    // The person's own client may tell of several projects.
    assert_eq!(record(&stage, &stage.human(), &[begin("guest")]).status, 200);
    assert_eq!(count(), before + 1);
}

#[test]
fn keys_of_one_agent_say_nothing_about_the_events_of_another() {
    let stage = Stage::new(STORY);
    let send = |token: &str, dialog: &str| {
        let ask = Ask::new("POST", &stage.path("events")).token(token);
        let body = json!({ "key": "1", "events": [message(dialog)] });
        stage.send(&ask.json(&body)).json()["replies"][0]["seq"].clone()
    };
    let (one, other) = (stage.mint(None), stage.mint(None));
    assert!(send(&one, "first").is_u64() && send(&other, "second").is_u64());
    assert_eq!(send(&one, "first"), Value::Null, "it counts once");
    let all = dialogs(&stage);
    assert!(["first", "second"].iter().all(|dialog| all.contains(&(*dialog).to_owned())));
}

#[test]
fn threat_agent_is_the_attacker_a_dialog_whose_folder_is_away_is_not_taken_over() {
    let stage = Stage::new(STORY);
    let token = stage.mint(None);
    let aside = stage.project.outer().join("aside");
    std::fs::rename(stage.project.root(), &aside).unwrap();
    assert_ne!(record(&stage, &token, &[message("d1")]).status, 200);
    std::fs::rename(&aside, stage.project.root()).unwrap();
    let answer = record(&stage, &token, &[message("d1")]);
    assert_eq!((answer.status, answer.code().as_str()), (403, "other_dialog"), "{}", answer.body);
}
