//! Projects whose folder is gone, or is another one now: the record stays readable, and its files
//! come back into a new folder.

use std::fs;

use serde_json::{Value, json};

use crate::client::Ask;
use crate::stage::{STORY, Stage};

/// Everything that is read of a project, with what must be in the answer.
fn assert_readable(stage: &Stage) {
    let checkpoint = stage.project.checkpoint_id("d1:1");
    let change = stage.got("changes")["changes"][0]["id"].as_str().unwrap().to_owned();
    for (path, part) in [
        ("status", "\"dialogs\"".to_owned()),
        ("changes", "a.txt".to_owned()),
        (&format!("changes/{change}"), change.clone()),
        ("diff?dialog=d1", "new.txt".to_owned()),
        ("diff/file?dialog=d1&path=a.txt", "Two".to_owned()),
        ("checkpoints", checkpoint.clone()),
        (&format!("checkpoints/{checkpoint}"), checkpoint.clone()),
        ("dialogs", "\"d1\"".to_owned()),
        ("sessions?dialog=d1", "session_1".to_owned()),
        ("operations", "operations".to_owned()),
        ("settings", "retention.max_bytes".to_owned()),
        ("/api/dialogs/d1/history", "make it better".to_owned()),
        ("/sessions/d1/file-changes", "a.txt".to_owned()),
    ] {
        let answer = stage.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(answer.body.contains(&part), "{path}: {}", answer.body);
    }
}

fn into(stage: &Stage, name: &str) -> String {
    stage.project.outer().join(name).to_str().unwrap().to_owned()
}

/// The files beneath a folder, with their contents.
fn files(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        found.push((name, fs::read_to_string(entry.path()).unwrap()));
    }
    found.sort();
    found
}

#[test]
fn a_project_whose_folder_is_gone_is_read_and_nothing_is_written() {
    let stage = Stage::new(STORY);
    // Also one that the daemon has open and watches.
    stage.got("status");
    fs::rename(stage.project.root(), stage.project.outer().join("aside")).unwrap();
    let listed = stage.got("/api/projects");
    assert_eq!(listed["projects"][0]["missing"], true, "{listed}");
    assert_readable(&stage);
    let refused = stage.post("undo", &json!({}));
    assert_eq!((refused.status, refused.code().as_str()), (409, "gone"), "{}", refused.body);
    let health = stage.got("/api/health");
    let project = &health["projects"][0];
    assert_eq!((&project["missing"], &project["watching"]), (&json!(true), &json!("off")));
    assert!(project["watching_reason"].as_str().unwrap().contains("not there"), "{project}");
    // No file counts as deleted meanwhile, and it goes on when the folder is back.
    fs::rename(stage.project.outer().join("aside"), stage.project.root()).unwrap();
    assert_eq!(stage.got("/api/projects")["projects"][0]["missing"], false);
    let changes = stage.got("changes")["changes"].clone();
    let deleted = changes.as_array().unwrap().iter().any(|change| change["type"] == "delete");
    assert!(!deleted, "{changes}");
    stage.done("undo", &json!({}));
    assert_eq!(stage.project.read("a.txt"), b"one\ntwo\nthree\nfour\nfive\n");
}

#[test]
fn a_project_whose_folder_is_gone_is_read_by_a_daemon_that_never_saw_it() {
    let project = retake_testkit::TestProject::new();
    retake_testkit::play(&project, STORY);
    fs::remove_dir_all(project.root()).unwrap();
    assert_readable(&Stage::of(project));
}

#[test]
fn a_project_whose_path_is_another_project_now_is_read_by_its_id() {
    let mut stage = Stage::new(STORY);
    let old = stage.id.clone();
    fs::rename(stage.project.root(), stage.project.outer().join("aside")).unwrap();
    fs::create_dir(stage.project.root()).unwrap();
    assert_eq!(stage.got(&format!("/api/projects/{old}"))["replaced"], true);
    assert_readable(&stage);
    let options = retake_engine::InitOptions {
        replaced: Some(retake_engine::ReplacedBy::New),
        ..retake_engine::InitOptions::default()
    };
    let retake = stage.project.retake();
    let new = retake.init(&stage.project.root(), options, 5, &mut |_, _| {}).unwrap();
    let new = new.project.id().to_owned();
    assert_ne!(new, old);
    assert_readable(&stage);
    // A dialog is found in it as well.
    assert_eq!(stage.get("/api/dialogs/d1/history").status, 200);
    stage.id = new;
    assert_eq!(stage.got("changes")["changes"], json!([]), "the new one has a record of its own");
}

#[test]
fn files_of_a_project_that_is_gone_come_back_into_a_new_folder() {
    let stage = Stage::new(STORY);
    let checkpoint = stage.project.checkpoint_id("d1:1");
    fs::remove_dir_all(stage.project.root()).unwrap();
    let last = into(&stage, "last");
    let done = stage.done("rescue", &json!({ "into": last }));
    assert_eq!((&done["files"], &done["whole"]), (&json!(3), &json!(true)), "{done}");
    let text = |text: &str| text.to_owned();
    assert_eq!(
        files(&last),
        [
            (text("a.txt"), text("one\nTwo\nthree\nfour\nfive\n")),
            (text("keep.txt"), text("keep\n")),
            (text("new.txt"), text("made by an agent\n")),
        ]
    );
    // As it was at a checkpoint, before the agent came.
    let first = into(&stage, "first");
    let done = stage.done("rescue", &json!({ "into": first, "checkpoint": checkpoint }));
    assert_eq!(done["files"], 2, "{done}");
    assert_eq!(files(&first)[0].1, "one\ntwo\nthree\nfour\nfive\n");
    let one = into(&stage, "one");
    stage.done("rescue", &json!({ "into": one, "paths": ["new.txt"] }));
    assert_eq!(files(&one).len(), 1);
    assert!(!stage.project.root().exists(), "the project's own path is left alone");
}

#[test]
fn a_rescue_writes_over_nothing_and_leaves_out_what_it_lacks() {
    let stage = Stage::new(STORY);
    let refused = |body: &Value, status: u16, code: &str| {
        let answer = stage.post("rescue", body);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{}", answer.body);
    };
    let full = into(&stage, "full");
    fs::create_dir(&full).unwrap();
    fs::write(format!("{full}/mine"), "mine").unwrap();
    refused(&json!({ "into": full }), 409, "not_empty");
    assert_eq!(files(&full), [("mine".to_owned(), "mine".to_owned())]);
    refused(&json!({ "into": format!("{full}/mine") }), 422, "folder");
    let inside = stage.project.root().join("inside");
    refused(&json!({ "into": inside }), 422, "in_project");
    refused(&json!({ "into": stage.project.home().join("x") }), 422, "folder");
    refused(&json!({ "into": "relative" }), 422, "bad_value");
    refused(&json!({ "into": into(&stage, "no/parent") }), 422, "folder");
    let away = into(&stage, "away");
    refused(&json!({ "into": away, "paths": ["none.txt"] }), 404, "nothing_on_record");
    refused(&json!({ "into": away, "checkpoint": "00000000" }), 404, "unknown_checkpoint");
    assert!(!fs::exists(&away).unwrap(), "what fails leaves no folder behind");
    let link = into(&stage, "link");
    std::os::unix::fs::symlink(&full, &link).unwrap();
    refused(&json!({ "into": link }), 422, "folder");
    // A content that is gone for good is named, and the others come.
    stage.done("purge", &json!({ "path": "keep.txt", "yes": true }));
    let done = stage.done("rescue", &json!({ "into": away }));
    assert_eq!((&done["files"], &done["left_count"]), (&json!(2), &json!(1)), "{done}");
    assert_eq!((&done["whole"], &done["left"][0]["path"]), (&json!(false), &json!("keep.txt")));
    assert!(done["left"][0]["reason"].is_string());
    let ask = Ask::new("POST", &stage.path("rescue")).token(&stage.agent());
    let answer = stage.send(&ask.json(&json!({ "into": into(&stage, "agent") })));
    assert_eq!(answer.code(), "human_only");
}
