//! The JSON of every command.

use serde_json::{Value, json};

use crate::support::World;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn every_command_prints_one_document() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let init = world.run(&["init", "--json"]).json();
    assert_eq!((&init["new"], &init["files"], &init["gaps"]), (&json!(true), &json!(1), &json!(0)));
    world.shell("k1", "echo two >> a.txt");
    let status = world.run(&["--json", "status", "--ignored"]).json();
    assert_eq!(status["dialogs"][0]["dialog"], "d1");
    assert_eq!(status["dialogs"][0]["agents"][0]["files"][0]["path"], "a.txt");
    assert_eq!(status["ignored"], json!([]));
    let log = world.run(&["log", "--json"]).json();
    assert_eq!(keys(&log), ["changes"]);
    let id = log["changes"][0]["id"].as_str().unwrap();
    let show = world.run(&["show", id, "--json"]).json();
    assert_eq!(show["change"], log["changes"][0]);
    assert!(show["diff"]["diff"].as_str().unwrap().contains("+two"));
    let before = world.run(&["show", id, "--before", "--json"]).json();
    assert_eq!(before["content"]["text"], "one\n");
    let diff = world.run(&["diff", "--json"]).json();
    assert_eq!(diff["files"][0]["added"], 1);
    let blame = world.run(&["blame", "a.txt", "--json"]).json();
    assert_eq!(keys(&blame), ["changes", "file_path", "lines", "path"]);
    let dialogs = world.run(&["dialogs", "--json"]).json();
    assert_eq!(dialogs["dialogs"][0]["agents"][0]["id"], "main");
    let turns = world.run(&["dialogs", "--turns", "d1", "--json"]).json();
    assert_eq!(turns["turns"][0]["totals"]["changes"], 1);
    let calls = world.run(&["dialogs", "--calls", "d1", "--json"]).json();
    let call = &calls["calls"][0];
    assert_eq!(
        (&call["call"], &call["tool_kind"], &call["result"]),
        (&json!("k1"), &json!("shell"), &json!("ok"))
    );
    assert_eq!(call["arguments"]["command"], "echo two >> a.txt");
    for (filter, count) in [
        (&["--dialog", "d1", "--turn", "0", "--call", "k1"][..], 1),
        (&["--call", "k2"], 0),
        (&["--actor", "user,git"], 0),
        (&["--status", "pending,accepted", "--confidence", "certain,window"], 1),
    ] {
        let log = world.run(&[&["log", "--json"], filter].concat()).json();
        assert_eq!(log["changes"].as_array().unwrap().len(), count, "{filter:?}");
    }
    let text = world.ok(&["dialogs", "--turns", "d1"]) + &world.ok(&["dialogs", "--calls", "d1"]);
    assert!(text.contains("REMOVED") && text.contains("echo two >> a.txt"), "{text}");
    let doctor = world.run(&["doctor", "--read-data", "--json"]).json();
    assert_eq!(doctor["healthy"], true);
    let demo = world.run(&["demo", "--json"]).json();
    assert_eq!(demo["changes"].as_array().unwrap().len(), 5);
    for verb in ["undo", "redo"] {
        assert_eq!((&demo[verb]["kind"], &demo[verb]["whole"]), (&json!(verb), &json!(true)));
        assert_eq!(demo[verb]["files"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn a_change_has_every_promised_field() {
    let world = World::with(&[("a.txt", "one\n"), ("gone", "x\n")]);
    world
        .shell("k1", "echo two >> a.txt; chmod 755 a.txt; rm gone; echo n > new; ln -s a.txt link");
    let log = world.run(&["log", "--json", "--oldest-first"]).json();
    let change = |path: &str| {
        log["changes"].as_array().unwrap().iter().find(|change| change["path"] == path).unwrap()
    };
    for name in [
        "id",
        "seq",
        "dialog",
        "agent",
        "actor",
        "confidence",
        "call",
        "tool",
        "model",
        "candidates",
        "path",
        "old_path",
        "change_type",
        "operation",
        "before",
        "after",
        "added",
        "removed",
        "hunks",
        "status",
        "timestamp",
        "at",
        "joins",
        "said_by",
    ] {
        assert!(change("a.txt").get(name).is_some(), "{name}");
    }
    assert_eq!(
        change("a.txt")["before"],
        json!({ "kind": "file", "mode": "0644", "oid": "5626abf0f72e58d7a153368ba57db4c673c0e171", "size": 4 })
    );
    assert_eq!(change("a.txt")["after"]["mode"], "0755");
    assert_eq!(change("gone")["after"], Value::Null);
    assert_eq!(change("new")["before"], Value::Null);
    assert_eq!(change("link")["after"]["kind"], "link");
    let timestamp = change("new")["timestamp"].as_str().unwrap();
    assert!(timestamp.len() == 24 && timestamp.ends_with('Z'), "{timestamp}");
}

#[test]
fn errors_are_documents_too() {
    let world = World::new();
    let ran = world.run(&["log", "--json"]);
    assert_eq!(ran.code, 1);
    let error = &ran.json()["error"];
    assert_eq!(error["code"], "not_a_project");
    assert!(error["message"].is_string() && error["hint"].is_string());
    assert_eq!(ran.stderr, "");
}
