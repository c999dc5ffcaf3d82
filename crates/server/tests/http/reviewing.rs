//! Deciding and going back, through the project's routes.

use serde_json::{Value, json};

use crate::stage::{STORY, Stage};

fn id_of(stage: &Stage, call: &str) -> String {
    let changes = stage.got("changes");
    let found = changes["changes"].as_array().unwrap().iter().find(|one| one["call"] == call);
    found.unwrap()["id"].as_str().unwrap().to_owned()
}

fn read(stage: &Stage, path: &str) -> String {
    String::from_utf8(stage.project.read(path)).unwrap()
}

#[test]
fn accepting_keeps_and_says_what() {
    let stage = Stage::new(STORY);
    let id = id_of(&stage, "w2");
    let done = stage.done("accept", &json!({ "changes": [id] }));
    assert_eq!(done, json!({ "accepted": [id], "already": [], "hunks": [] }));
    let again = stage.done("accept", &json!({ "changes": [id] }));
    assert_eq!(again["already"], json!([id]));
    assert_eq!(stage.got(&format!("changes/{id}"))["change"]["status"], "accepted");
    let nothing = stage.post("accept", &json!({}));
    assert_eq!((nothing.status, nothing.code().as_str()), (422, "bad_value"));
    let all = stage.done("accept", &json!({ "all": true }));
    assert_eq!(all["accepted"].as_array().unwrap().len(), 2);
}

#[test]
fn a_plan_is_seen_agreed_to_and_carried_out() {
    let stage = Stage::new(STORY);
    let id = id_of(&stage, "w1");
    let plan = stage.done("reject", &json!({ "changes": [id], "dry_run": true }));
    assert_eq!((&plan["dry_run"], &plan["asks"]), (&json!(true), &json!(["cascades"])));
    assert_eq!(read(&stage, "a.txt"), "one\nTwo\nthree\nfour\nfive\n", "nothing is done");
    let refused = stage.post("reject", &json!({ "changes": [id] }));
    assert_eq!((refused.status, refused.code().as_str()), (409, "needs_yes"));
    assert_eq!(refused.json()["outcome"]["asks"], json!(["cascades"]));
    assert_eq!(refused.json()["outcome"]["plan_digest"], plan["plan_digest"]);
    let other = stage.post("reject", &json!({ "changes": [id], "agreed": ["deletes_files"] }));
    assert_eq!(other.code(), "needs_yes", "a yes to something else is no yes");
    assert_eq!(read(&stage, "a.txt"), "one\nTwo\nthree\nfour\nfive\n", "nothing is done");
    let agreed = json!({ "changes": [id], "agreed": ["cascades"],
        "plan_digest": plan["plan_digest"] });
    let done = stage.done("reject", &agreed);
    assert_eq!((&done["whole"], &done["dry_run"]), (&json!(true), &json!(false)));
    assert!(done["safety"].is_string() && done["operation"].is_string());
    assert_eq!(read(&stage, "a.txt"), "one\ntwo\nthree\nfour\nfive\n");
    let again = stage.done("reject", &json!({ "changes": [id], "yes": true }));
    assert_eq!(again["operation"], Value::Null, "there is nothing left to do");
    assert_eq!(again["files"][0]["reason"]["code"], "decided");
}

#[test]
fn a_plan_that_changed_is_not_carried_out() {
    let stage = Stage::new(STORY);
    let id = id_of(&stage, "w2");
    let plan = stage.done("reject", &json!({ "changes": [id], "dry_run": true }));
    stage.project.write("new.txt", "made by an agent\nand by me\n");
    let body = json!({ "changes": [id], "yes": true, "plan_digest": plan["plan_digest"] });
    let answer = stage.post("reject", &body);
    assert_eq!((answer.status, answer.code().as_str()), (409, "plan_changed"), "{}", answer.body);
    assert_ne!(answer.json()["outcome"]["plan_digest"], plan["plan_digest"]);
    assert_eq!(read(&stage, "new.txt"), "made by an agent\nand by me\n");
}

#[test]
fn what_is_done_in_part_says_so() {
    let stage = Stage::new(STORY);
    stage.project.write("a.txt", "one\nmine\nthree\nfour\nfive\n");
    let done = stage.done("rollback", &json!({ "dialog": "d1", "yes": true }));
    assert_eq!(done["whole"], false);
    assert_eq!(read(&stage, "a.txt"), "one\nmine\nthree\nfour\nfive\n", "my edit stays");
    assert!(!stage.project.root().join("new.txt").exists());
    let left = done["files"].as_array().unwrap().iter().find(|file| file["path"] == "a.txt");
    assert_eq!(left.unwrap()["action"], "leave");
}

#[test]
fn undo_and_redo_go_back_and_forth() {
    let stage = Stage::new(STORY);
    let undone = stage.done("undo", &json!({}));
    assert_eq!(undone["kind"], "undo");
    assert_eq!(read(&stage, "a.txt"), "one\ntwo\nthree\nfour\nfive\n");
    assert_eq!(stage.got("operations")["operations"][0]["id"], undone["operation"]);
    stage.done("redo", &json!({ "yes": true }));
    assert_eq!(read(&stage, "a.txt"), "one\nTwo\nthree\nfour\nfive\n");
    let nothing = stage.done("redo", &json!({}));
    assert_eq!(
        (&nothing["operation"], &nothing["title"]),
        (&Value::Null, &json!("nothing to redo"))
    );
}

#[test]
fn restore_and_reset_ask_before_they_delete() {
    let stage = Stage::new(STORY);
    let checkpoint = stage.project.checkpoint_id("d1:1");
    let asked = stage.post("restore", &json!({ "checkpoint": checkpoint }));
    assert_eq!((asked.status, asked.code().as_str()), (409, "needs_yes"));
    let done = stage.done("restore", &json!({ "checkpoint": &checkpoint[..8], "yes": true }));
    assert!(done["checkpoint"].is_string());
    assert!(!stage.project.root().join("new.txt").exists());
    stage.done("undo", &json!({ "yes": true }));
    assert!(stage.project.root().join("new.txt").exists());
    let by_message = json!({ "before_message": 1, "dialog": "d1", "dry_run": true });
    assert_eq!(stage.done("restore", &by_message)["kind"], "restore");
    for wrong in [json!({}), json!({ "before_message": 1 })] {
        assert_eq!(stage.post("restore", &wrong).code(), "bad_value");
    }
    let missing = json!({ "before_message": 9, "dialog": "d1" });
    assert_eq!(stage.post("restore", &missing).code(), "unknown_message");
    assert_eq!(stage.post("reset", &json!({})).code(), "bad_value", "no dialog is meant");
    assert_eq!(stage.post("reset", &json!({ "dialog": "d1" })).code(), "needs_yes");
    stage.done("reset", &json!({ "dialog": "d1", "agreed": ["deletes_files"] }));
    assert_eq!(read(&stage, "a.txt"), "one\ntwo\nthree\nfour\nfive\n");
}

#[test]
fn what_is_approved_is_not_rejected() {
    let stage = Stage::new(STORY);
    let approved = stage.done("approve", &json!({ "dialog": "d1", "message": "good" }));
    assert_eq!((&approved["session"], &approved["changes"]), (&json!("session_1"), &json!(3)));
    let id = id_of(&stage, "w2");
    let answer = stage.post("reject", &json!({ "changes": [id], "yes": true }));
    assert_eq!((answer.status, answer.code().as_str()), (409, "approved"));
    assert_eq!(stage.post("approve", &json!({ "dialog": "none" })).code(), "unknown_dialog");
    assert_eq!(stage.post("recover", &json!({ "how": "undo" })).code(), "nothing_interrupted");
}

#[test]
fn what_an_operation_is_called_holds_no_secrets() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let stage = Stage::new(&STORY.replace("make it better", &format!("use {secret}")));
    let plan = stage.done("rollback", &json!({ "dialog": "d1", "message": 1, "dry_run": true }));
    assert!(plan["title"].as_str().unwrap().contains("•••"), "{plan}");
    stage.done("rollback", &json!({ "dialog": "d1", "message": 1, "yes": true }));
    for path in ["operations", "checkpoints", "dialogs", "changes", "status"] {
        let told = stage.get(path).body;
        assert!(!told.contains("ghp_01234"), "{path}: {told}");
    }
    assert!(!stage.get("/api/dialogs/d1/checkpoints").body.contains("ghp_01234"));
}

#[test]
fn a_file_keeps_its_secrets_when_it_is_renamed() {
    let story = r"
        file .env: X=hunter2hunter2\n
        init
        shell d1 s1: mv .env notes.txt
    ";
    let stage = Stage::new(story);
    for path in ["diff?dialog=d1", "/sessions/d1/file-changes"] {
        let told = stage.get(path);
        assert!(told.body.contains("notes.txt") && !told.body.contains("hunter2"), "{}", told.body);
    }
}

#[test]
fn a_plan_of_which_nothing_is_left_has_changed() {
    let stage = Stage::new("file a.txt: one\\n\n    init\n");
    let refused = stage.post("undo", &json!({ "plan_digest": "seen", "yes": true }));
    assert_eq!((refused.status, refused.code().as_str()), (409, "plan_changed"));
    assert_eq!(stage.done("undo", &json!({}))["whole"], true);
}

#[test]
fn dry_run_is_said_if_it_was_asked_for() {
    let stage = Stage::new(STORY);
    let id = id_of(&stage, "w1");
    // Not agreed to, and so not done: but it was to be.
    let refused = stage.post("reject", &json!({ "changes": [id] })).json();
    assert_eq!(
        (&refused["code"], &refused["outcome"]["dry_run"]),
        (&json!("needs_yes"), &json!(false))
    );
    let body = json!({ "changes": [id], "yes": true, "plan_digest": "other" });
    let refused = stage.post("reject", &body).json();
    assert_eq!(
        (&refused["code"], &refused["outcome"]["dry_run"]),
        (&json!("plan_changed"), &json!(false))
    );
    for verb in ["redo", "undo"] {
        for (body, dry_run) in [(json!({ "dry_run": true }), true), (json!({ "yes": true }), false)]
        {
            assert_eq!(stage.done(verb, &body)["dry_run"], dry_run, "{verb}");
        }
    }
    assert_eq!(stage.done("undo", &json!({ "dry_run": true }))["dry_run"], true, "nothing is left");
}

#[test]
fn a_restore_names_paths_that_no_state_has_and_keeps_to_a_dialog() {
    let stage = Stage::new(STORY);
    let checkpoint = stage.project.checkpoint_id("d1:1");
    let typo = json!({ "checkpoint": checkpoint, "paths": ["typo"], "yes": true });
    let refused = stage.post("restore", &typo);
    assert_eq!((refused.status, refused.code().as_str()), (404, "unknown_path"));
    stage.project.write("keep.txt", "mine\n");
    let by_dialog = json!({ "checkpoint": checkpoint, "dialog": "d1", "dry_run": true });
    let planned = stage.done("restore", &by_dialog);
    let paths: Vec<_> =
        planned["files"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect();
    assert_eq!(paths, ["a.txt", "new.txt"]);
    let unknown = json!({ "checkpoint": checkpoint, "dialog": "d9", "dry_run": true });
    assert_eq!(stage.post("restore", &unknown).code(), "unknown_dialog");
}

/// The list says what the next undo and redo do, in pages too.
#[test]
fn the_steps_of_undo_and_redo_are_listed_newest_first() {
    let stage = Stage::new(STORY);
    let steps = stage.got("steps");
    let first = &steps["undo"][0];
    assert_eq!(steps["redo"], json!([]));
    for (field, value) in [
        ("kind", json!("turn")),
        ("title", json!("turn 1 of d1 (“make it better”)")),
        ("prompt", json!("make it better")),
        ("files", json!(2)),
        ("state", json!("next")),
        ("undone", json!(false)),
    ] {
        assert_eq!(first[field], value, "{field}: {steps}");
    }
    let planned = stage.done("undo", &json!({ "dry_run": true }));
    assert_eq!(planned["title"], format!("undo of {}", first["title"].as_str().unwrap()));
    let undone = stage.done("undo", &json!({}));
    let steps = stage.got("steps?limit=1");
    assert_eq!(steps["undo"], json!([]), "{steps}");
    let next = &steps["redo"][0];
    assert_eq!((&next["operation"], &next["state"]), (&undone["operation"], &json!("next")));
    assert_eq!(next["undone"], true);
}
