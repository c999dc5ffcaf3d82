//! The routes of one dialog, with the exact bodies of the requirements.

use retake_engine::ImportedMessages;
use retake_testkit::play;
use serde_json::{Value, json};

use crate::client::Ask;
use crate::stage::{STORY, Stage};

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn read(stage: &Stage, path: &str) -> String {
    String::from_utf8(stage.project.read(path)).unwrap()
}

/// Sends without a body, as the person.
fn send(stage: &Stage, path: &str) -> crate::client::Answer {
    stage.send(&Ask::new("POST", path).token(&stage.human()))
}

#[test]
fn history_comes_newest_page_first_and_old_to_new_within() {
    let stage = Stage::new(
        r"
        file a.txt: one\n
        init
        say d1: first
        turn-end d1
        say d1: second
        turn-end d1
        say d1: third
    ",
    );
    // API-6, G-3.
    let newest = stage.got("/api/dialogs/d1/history?limit=2");
    assert_eq!(keys(&newest), ["cursor", "events", "has_more"]);
    assert_eq!((&newest["has_more"], &newest["cursor"]), (&json!(true), &json!(1)));
    let told = |page: &Value| -> Vec<(u64, String)> {
        let events = page["events"].as_array().unwrap().iter();
        events
            .map(|one| (one["idx"].as_u64().unwrap(), one["content"].as_str().unwrap().to_owned()))
            .collect()
    };
    assert_eq!(told(&newest), [(1, "second".to_owned()), (2, "third".to_owned())]);
    let event = &newest["events"][0];
    assert_eq!(keys(event), ["checkpoint", "content", "idx", "session", "type"]);
    assert_eq!((&event["type"], &event["session"]), (&json!("user"), &json!("session_1")));
    let before = stage.got("/api/dialogs/d1/history?limit=2&cursor=1");
    assert_eq!(told(&before), [(0, "first".to_owned())]);
    assert_eq!((&before["has_more"], &before["cursor"]), (&json!(false), &Value::Null));
}

#[test]
fn history_shows_what_is_not_rewound_and_all_of_it_if_asked() {
    let stage = Stage::new(
        r"
        file a.txt: one\n
        init
        say d1: first
        turn-end d1
        say d1: second
        turn-end d1
    ",
    );
    let count = |path: &str| stage.got(path)["events"].as_array().unwrap().len();
    let counts = || (count("/api/dialogs/d1/history"), count("/api/dialogs/d1/history?whole=true"));
    let body = |rewind: &str, dry_run: bool| json!({ "before_message": 2, "dialog": "d1", "rewind": rewind, "dry_run": dry_run });
    let planned = stage.done(&stage.path("restore"), &body("conversation", true));
    let conversation = &planned["conversation"];
    assert_eq!((&conversation["unsaid"], &conversation["done"]), (&json!(1), &Value::Null));
    assert_eq!((&conversation["before"], &planned["files"]), (&json!("second"), &json!([])));
    assert_eq!(counts(), (2, 2));
    let done = stage.done(&stage.path("restore"), &body("both", false));
    assert_eq!(done["conversation"]["done"], true);
    assert_eq!(counts(), (1, 2));
    play(&stage.project, "say d1: another second");
    assert_eq!(counts(), (2, 3));
}

#[test]
fn a_conversation_that_was_taken_in_is_a_history_too() {
    let stage = Stage::new("init");
    let display = [
        json!({ "ts": 1, "type": "say", "say": "text", "text": "do it" }),
        json!({ "ts": 2, "type": "say", "say": "tool", "text": "Edit a.txt" }),
        json!({ "ts": 3, "type": "say", "say": "user_feedback", "text": "thanks, AKIAIOSFODNN7EXAMPLE" }),
    ];
    let project = stage.project.open();
    let at = stage.project.tick();
    let (dialog, agent) = (&"old".into(), &"main".into());
    let imported = ImportedMessages { kind: None, messages: &[], display: &display };
    project.import_messages(dialog, agent, imported, at).unwrap();
    let page = stage.got("/api/dialogs/old/history?limit=2");
    assert_eq!((&page["has_more"], &page["cursor"]), (&json!(true), &json!(1)));
    let kinds = |page: &Value| -> Vec<(u64, String)> {
        let events = page["events"].as_array().unwrap().iter();
        events
            .map(|one| (one["idx"].as_u64().unwrap(), one["type"].as_str().unwrap().to_owned()))
            .collect()
    };
    assert_eq!(kinds(&page), [(1, "chat".to_owned()), (2, "user".to_owned())]);
    assert!(!page["events"][1]["content"].as_str().unwrap().contains("AKIAIOSFODNN7EXAMPLE"));
    let first = stage.got("/api/dialogs/old/history?limit=2&cursor=1");
    assert_eq!(kinds(&first), [(0, "user".to_owned())]);
}

#[test]
fn checkpoints_and_session_have_the_fields_of_the_requirements() {
    let stage = Stage::new(STORY);
    // API-7.
    let checkpoints = stage.got("/api/dialogs/d1/checkpoints");
    assert_eq!(keys(&checkpoints), ["checkpoints", "dialog_id", "initial_checkpoint"]);
    assert_eq!(keys(&checkpoints["checkpoints"][0]), ["commit_id", "message"]);
    // API-8, STAT-1, STAT-3.
    let session = stage.got("/api/dialogs/d1/session");
    let fields =
        ["active_session", "changed_files", "has_unapproved", "last_approved_at", "session_ref"];
    assert_eq!(keys(&session), fields);
    assert_eq!(
        (&session["active_session"], &session["has_unapproved"]),
        (&json!("session_1"), &json!(true))
    );
    let fields = [
        "additions",
        "base_content",
        "deletions",
        "diff",
        "file_path",
        "is_binary",
        "is_too_large",
        "line",
        "old_path",
        "path",
        "status",
    ];
    assert_eq!(keys(&session["changed_files"][0]), fields);
}

#[test]
fn approve_reset_and_restore_answer_exactly() {
    let stage = Stage::new(STORY);
    // API-9.
    let approved = stage.done("/api/dialogs/d1/approve", &json!({ "message": "good" }));
    assert_eq!(keys(&approved), ["approved_commit", "commits_approved", "new_session"]);
    assert_eq!(approved["new_session"], "session_2");
    play(&stage.project, "say d1: more\nwrite d1 w9 more.txt: more\nturn-end d1");
    // API-10: no body.
    let reset = send(&stage, "/api/dialogs/d1/reset");
    assert_eq!(reset.status, 200, "{}", reset.body);
    assert_eq!(keys(&reset.json()), ["new_session", "reset_to"]);
    assert_eq!(reset.json()["new_session"], "session_3");
    assert!(!stage.project.root().join("more.txt").exists());
    // API-11.
    let checkpoint = stage.project.checkpoint_id("d1:1");
    let restored = stage.done("/api/dialogs/d1/restore", &json!({ "checkpoint_id": checkpoint }));
    assert_eq!(keys(&restored), ["new_checkpoint", "restored_to"]);
    assert_eq!(restored["restored_to"], checkpoint);
    assert_eq!(read(&stage, "a.txt"), "one\ntwo\nthree\nfour\nfive\n");
    let unknown = stage.post("/api/dialogs/d1/restore", &json!({ "checkpoint_id": "00000000" }));
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "unknown_checkpoint"));
}

#[test]
fn approve_needs_no_body() {
    let stage = Stage::new(STORY);
    assert_eq!(send(&stage, "/api/dialogs/d1/approve").status, 200);
}

#[test]
fn what_cannot_be_done_whole_is_not_done() {
    let stage = Stage::new(STORY);
    stage.project.write("a.txt", "one\nmine\nthree\nfour\nfive\n");
    let reset = send(&stage, "/api/dialogs/d1/reset");
    assert_eq!((reset.status, reset.code().as_str()), (409, "partial"), "{}", reset.body);
    assert!(stage.project.root().join("new.txt").exists(), "whole or not at all");
    assert_eq!(read(&stage, "a.txt"), "one\nmine\nthree\nfour\nfive\n");
    let reject = send(&stage, "/sessions/d1/file-changes/w1/reject");
    assert_eq!(reject.status, 409, "{}", reject.body);
}

#[test]
fn records_are_listed_and_decided_one_by_one() {
    let stage = Stage::new(STORY);
    let records = stage.got("/sessions/d1/file-changes");
    let records = records["file_changes"].as_array().unwrap();
    let told: Vec<_> = records.iter().map(|one| one["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(told, ["w1", "w2", "w3"]);
    let path = stage.project.root().join("a.txt");
    assert_eq!(records[0]["file_path"], path.to_str().unwrap());
    assert_eq!(records[0]["pre_tool_content"], "one\ntwo\nthree\nfour\nfive\n");
    let accepted = send(&stage, "/sessions/d1/file-changes/w2/accept").json();
    assert_eq!(accepted["file_changes"][0]["status"], "accepted");
    // REV-5, G-1: what builds on it goes with it, and is named.
    let rejected = send(&stage, "/sessions/d1/file-changes/w1/reject").json();
    assert_eq!(rejected["cascaded"], json!(["w3"]), "{rejected}");
    let statuses: Vec<_> =
        rejected["file_changes"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(statuses, ["rejected", "rejected"]);
    assert_eq!(read(&stage, "a.txt"), "one\ntwo\nthree\nfour\nfive\n");
    let again = send(&stage, "/sessions/d1/file-changes/w1/reject");
    assert_eq!((again.status, again.code().as_str()), (409, "decided"));
    let kept = send(&stage, "/sessions/d1/file-changes/w1/accept");
    assert_eq!((kept.status, kept.code().as_str()), (409, "decided"));
}

#[test]
fn records_are_decided_all_at_once() {
    let stage = Stage::new(STORY);
    let accepted = send(&stage, "/sessions/d1/file-changes/accept-all").json();
    assert_eq!(accepted["file_changes"].as_array().unwrap().len(), 3);
    let stage = Stage::new(STORY);
    let rejected = send(&stage, "/sessions/d1/file-changes/reject-all").json();
    assert_eq!(rejected["file_changes"].as_array().unwrap().len(), 3);
    assert_eq!(read(&stage, "a.txt"), "one\ntwo\nthree\nfour\nfive\n");
    assert!(!stage.project.root().join("new.txt").exists());
    let nothing = send(&stage, "/sessions/d1/file-changes/reject-all").json();
    assert_eq!(nothing, json!({ "file_changes": [], "cascaded": [] }));
}

#[test]
fn a_dialog_that_two_projects_have_is_named_with_its_project() {
    let stage = Stage::new(STORY);
    let other = stage.project.outer().join("other");
    std::fs::create_dir(&other).unwrap();
    let id = stage.done("/api/projects", &json!({ "root": other }))["id"].clone();
    let id = id.as_str().unwrap();
    let event = json!({ "events": [{ "event": "user_message", "dialog": "d1", "text": "hello" }] });
    stage.done(&format!("/api/projects/{id}/events"), &event);
    let answer = stage.get("/api/dialogs/d1/history");
    assert_eq!((answer.status, answer.code().as_str()), (409, "ambiguous_dialog"));
    let told = stage.got(&format!("/api/dialogs/d1/history?project={id}"));
    assert_eq!(told["events"][0]["content"], "hello");
    let told = stage.got(&format!("/api/dialogs/d1/history?project={}", stage.id));
    assert_eq!(told["events"][0]["content"], "make it better");
}

#[test]
fn a_checkpoint_of_another_dialog_is_not_this_one_s() {
    let stage = Stage::new(&format!("{STORY}\n    say other: hello\n    turn-end other\n"));
    let foreign = stage.got("/api/dialogs/d1/checkpoints")["initial_checkpoint"].clone();
    let refused = stage.post("/api/dialogs/other/restore", &json!({ "checkpoint_id": foreign }));
    assert_eq!((refused.status, refused.code().as_str()), (404, "unknown_checkpoint"));
    assert_eq!(read(&stage, "new.txt"), "made by an agent\n");
}

#[test]
fn a_project_whose_folder_is_gone_is_in_nobody_s_way() {
    let stage = Stage::new(STORY);
    let gone = stage.project.home().join("../gone");
    std::fs::create_dir_all(&gone).unwrap();
    let made = stage.done("/api/projects", &json!({ "root": gone }));
    stage.got(&format!("/api/projects/{}/status", made["id"].as_str().unwrap()));
    std::fs::remove_dir_all(&gone).unwrap();
    assert_eq!(stage.got("/sessions/d1/file-changes")["session_id"], "d1");
}

#[test]
fn retake_s_own_folder_is_no_project() {
    let stage = Stage::new(STORY);
    let refused = stage.post("/api/projects", &json!({ "root": stage.project.home() }));
    assert_eq!((refused.status, refused.code().as_str()), (422, "too_broad"));
}
