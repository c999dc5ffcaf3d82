//! All projects at once, and the daemon itself.

use std::fs;

use retake_engine::InitOptions;
use serde_json::{Value, json};

use crate::client::Ask;
use crate::stage::{STORY, Stage};

/// The row of a project in a list.
fn row<'a>(list: &'a Value, id: &str) -> &'a Value {
    let projects = list["projects"].as_array().unwrap();
    projects.iter().find(|project| project["id"] == id).unwrap_or_else(|| panic!("{id}: {list}"))
}

/// Another project in the same home.
fn another(stage: &Stage, name: &str) -> String {
    let root = stage.project.outer().join(name);
    fs::create_dir(&root).unwrap();
    let init = stage.project.retake().init(&root, InitOptions::default(), 1, &mut |_, _| {});
    init.unwrap().project.id().to_owned()
}

#[test]
fn what_asks_for_attention_is_told_for_all_projects_at_once() {
    let stage = Stage::new(&format!("{STORY}\n    begin d1 b1 sh: sleep 1\n"));
    let other = another(&stage, "other");
    let told = stage.got("/api/attention");
    let counts = &row(&told, &stage.id)["attention"];
    assert_eq!(
        (&counts["unreviewed_changes"], &counts["unreviewed_files"]),
        (&json!(3), &json!(2))
    );
    assert_eq!((&counts["open_calls"], &counts["calls"][0]["tool"]), (&json!(1), &json!("Bash")));
    assert_eq!(
        (&counts["calls"][0]["dialog"], &counts["interrupted"]),
        (&json!("d1"), &json!(null))
    );
    assert!(counts["store_bytes"].as_u64().unwrap() > 0, "{counts}");
    assert_eq!(counts["budget_bytes"], 10_737_418_240_u64);
    assert_eq!(row(&told, &other)["attention"]["unreviewed_changes"], 0);
    assert_eq!((&told["totals"]["unreviewed_changes"], &told["more"]), (&json!(3), &json!(0)));
    let one = stage.got("/api/attention?limit=1");
    assert_eq!((one["projects"].as_array().unwrap().len(), &one["more"]), (1, &json!(1)));
    // Nothing was opened for it.
    assert_eq!(stage.got("/api/health")["open_projects"], 0);
}

#[test]
fn a_project_that_cannot_be_read_fails_none_of_the_others() {
    let stage = Stage::new(STORY);
    let other = another(&stage, "other");
    let database = stage.project.home().join("projects").join(&other).join("retake.db");
    fs::write(&database, "this is no database").unwrap();
    let _ = fs::remove_file(database.with_file_name("retake.db-wal"));
    let told = stage.got("/api/attention");
    let broken = row(&told, &other);
    assert!(broken["attention"].is_null(), "{broken}");
    assert!(broken["problem"]["message"].is_string() && broken["problem"]["hint"].is_string());
    assert_eq!(row(&told, &stage.id)["attention"]["unreviewed_changes"], 3);
    assert_eq!(told["totals"]["unreadable"], 1);
}

#[test]
fn attention_and_status_count_the_same() {
    let stage = Stage::new(STORY);
    let change = stage.got("changes?path=new.txt")["changes"][0]["id"].clone();
    stage.done("accept", &json!({ "changes": [change] }));
    let status = stage.got("status");
    let files: usize = status["dialogs"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|dialog| dialog["agents"].as_array().unwrap())
        .map(|agent| agent["files"].as_array().unwrap().len())
        .sum();
    let told = stage.got("/api/attention");
    let counts = &row(&told, &stage.id)["attention"];
    assert_eq!(counts["unreviewed_files"], files);
    assert_eq!(counts["gaps"], status["gaps"].as_array().unwrap().len());
}

#[test]
fn health_tells_how_each_project_is_watched_and_what_waits() {
    let stage = Stage::new(STORY);
    let closed = stage.got("/api/health");
    assert_eq!((&closed["open_projects"], &closed["known_projects"]), (&json!(0), &json!(1)));
    assert_eq!(closed["projects"], json!([]), "nothing is open, and nothing waits");
    // What waits in a spool is told, also of a project that is not open.
    let folder = stage.project.home().join("projects").join(&stage.id);
    let line = r#"{"id":"k","at":1700000000000,"event":"{}"}"#;
    fs::write(folder.join("spool.jsonl"), format!("\n{line}\n\n{line}\n")).unwrap();
    let waiting = stage.got("/api/health");
    let project = row(&waiting, &stage.id);
    assert_eq!((&project["watching"], &project["spooled"]), (&json!("closed"), &json!(2)));
    assert_eq!(project["oldest_spooled"], "2023-11-14T22:13:20.000Z");
    assert_eq!(waiting["spooled"], 2);
    fs::write(folder.join("spool.jsonl"), "").unwrap();
    stage.got("status");
    let open = stage.got("/api/health");
    let project = row(&open, &stage.id);
    assert!(["on", "catching_up"].contains(&project["watching"].as_str().unwrap()), "{project}");
    assert_eq!((&project["queued"], &project["last_error"]), (&json!(0), &json!(null)));
    assert_eq!(open["pid"], std::process::id());
    assert_eq!(open["http"], stage.running.url());
    assert!(open["free_bytes"].as_u64().unwrap() > 0 && open["version"].is_string());
    // An agent learns that it is there, and nothing of other projects.
    let agent = stage.send(&Ask::new("GET", "/api/health").token(&stage.agent()));
    assert_eq!(agent.json()["projects"], json!(null), "{}", agent.body);
    assert_eq!(agent.json()["pid"], std::process::id());
}

#[test]
fn what_fails_without_a_request_is_told_by_health() {
    let stage = Stage::new(STORY);
    stage.got("status");
    let folder = stage.project.home().join("projects").join(&stage.id);
    let aside = folder.with_file_name("aside");
    fs::rename(folder.join("retake.db"), &aside).unwrap();
    fs::create_dir(folder.join("retake.db")).unwrap();
    // It asks for a scan, and tells what is on record if there is none.
    stage.get("status");
    let health = stage.got("/api/health");
    let failure = &row(&health, &stage.id)["last_error"];
    assert!(failure["code"].is_string() && failure["at"].is_string(), "{health}");
    assert!(failure["message"].as_str().is_some_and(|text| !text.is_empty()));
}

#[test]
fn stop_answers_and_nothing_begins_afterwards() {
    let stage = Stage::new(STORY);
    let refused = stage.send(&Ask::new("POST", "/api/stop").token(&stage.agent()));
    assert_eq!(refused.code(), "human_only");
    stage.got("/api/projects");
    let stopping = stage.send(&Ask::new("POST", "/api/stop").token(&stage.human()));
    assert_eq!(stopping.status, 200, "{}", stopping.body);
    assert_eq!(stopping.json()["pid"], std::process::id());
    let late = stage.get("/api/projects");
    assert_eq!((late.status, late.code().as_str()), (503, "busy"));
}
