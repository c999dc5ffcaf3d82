//! One vocabulary: frames have the names that documents have; older ones come on demand.

use retake_engine::Selection;
use retake_service::request::{AcceptChanges, ChangeScope};
use retake_testkit::TestProject;
use serde_json::{Value, json};

use super::behaviour::{fields, read_all};
use super::client::Client;
use super::served::{LIVELY, Served};

/// The names of older designs.
const OLDER: [&str; 5] = ["dialog_id", "session_id", "agent_id", "tool_call_id", "change_id"];

/// A message, an edit that is accepted, and a file that a command moves.
fn worked() -> Served {
    let served = Served::new(LIVELY);
    served.say(true, "d1", "make it\n\nid: 99");
    served.edit(true, "d1", "a.txt", "two\n");
    let change = served.test.changes().pop().unwrap();
    let selection = Selection { changes: vec![change.id], ..Selection::default() };
    served.ask(true, AcceptChanges { scope: ChangeScope::Changes(selection) }).unwrap();
    let input = json!({ "command": "./move.sh" });
    // Not by the server: its watcher goes by the real clock.
    served.record(false, TestProject::begin("d1", "move", "Bash", input));
    std::fs::rename(served.test.root().join("a.txt"), served.test.root().join("b.txt")).unwrap();
    served.record(false, TestProject::end("d1", "move"));
    served
}

#[test]
fn an_event_says_whose_it_is_in_the_names_of_the_documents() {
    let served = worked();
    let change = served.test.changes().remove(0);
    let client = read_all(&served, "");

    let user = &client.named("user")[0].data;
    assert_eq!((&user["type"], &user["content"]), (&json!("user"), &json!("make it\n\nid: 99")));
    assert_eq!((&user["session"], &user["dialog"]), (&json!("session_1"), &json!("d1")));
    assert_eq!(user["checkpoint"].as_str().unwrap().len(), 40);

    let file_path = served.test.root().join("a.txt").display().to_string();
    let changed = &client.named("file_changed")[0].data;
    let document = &changed["change"];
    // What both have, both call the same, and it is the same.
    for name in ["dialog", "agent", "call", "at", "timestamp", "seq", "path", "old_path"] {
        assert_eq!(changed[name], document[name], "{name}: {changed}");
    }
    for name in ["change_type", "operation", "actor", "confidence"] {
        assert_eq!(changed[name], document[name], "{name}: {changed}");
    }
    assert_eq!(changed["agent_kind"], document["kind"], "{changed}");
    let names = ["path", "file_path", "dialog", "agent", "call", "seq", "project"];
    assert_eq!(
        fields(changed, &names),
        json!({
            "path": "a.txt", "file_path": file_path, "dialog": "d1", "agent": "main",
            "call": change.call, "seq": change.id.0, "project": served.room.id(),
        })
    );
    assert!(changed["timestamp"].as_str().unwrap().starts_with("2023-11-14T"), "{changed}");
    assert_eq!(
        fields(document, &["id", "added", "removed"]),
        json!({ "id": change.id.to_string(), "added": 1, "removed": 1 })
    );

    let status = &client.named("file_change_status")[0].data;
    let names = ["status", "file_path", "path", "call", "change", "dialog"];
    assert_eq!(
        fields(status, &names),
        json!({
            "status": "accepted", "file_path": file_path, "path": "a.txt",
            "call": change.call, "change": change.id.to_string(), "dialog": "d1",
        })
    );
    for seen in &client.seen {
        let older: Vec<_> = OLDER.iter().filter(|name| seen.data.get(**name).is_some()).collect();
        assert!(older.is_empty(), "{}: {older:?}", seen.name);
    }
    // No content of a file is in any of them.
    assert!(!format!("{:?}", client.seen).contains("two\\n"), "{:?}", client.seen);
}

#[test]
fn a_moved_file_has_its_old_path_and_an_agent_its_kind() {
    let served = worked();
    let input = json!({ "file_path": "c.txt", "content": "c\n" });
    let mut begin = TestProject::begin("d2", "k1", "Write", input);
    begin.kind = Some("claude-code".to_owned());
    served.record(true, begin);
    served.test.write("c.txt", "c\n");
    served.record(true, TestProject::end("d2", "k1"));
    let changes = served.test.changes();
    let moved = changes.iter().find(|change| change.old_path.is_some());
    let moved = moved.unwrap_or_else(|| panic!("{changes:#?}")).id;
    let selection = Selection { changes: vec![moved], ..Selection::default() };
    served.ask(true, AcceptChanges { scope: ChangeScope::Changes(selection) }).unwrap();
    let client = read_all(&served, "?path=b.txt&kinds=file_changed,file_change_status");
    let paths: Vec<_> =
        client.seen.iter().map(|seen| fields(&seen.data, &["type", "path", "old_path"])).collect();
    assert_eq!(
        paths,
        ["file_changed", "file_change_status"]
            .map(|name| json!({ "type": name, "path": "b.txt", "old_path": "a.txt" }))
    );
    let client = read_all(&served, "?dialog=d2");
    assert!(!client.seen.is_empty());
    for seen in client.seen.iter().filter(|seen| seen.data["agent"].is_string()) {
        assert_eq!(seen.data["agent_kind"], "claude-code", "{}", seen.data);
    }
}

#[test]
fn older_names_stay_for_those_who_ask_for_them() {
    let served = worked();
    let change = served.test.changes().remove(0);
    let Client { seen, .. } =
        read_all(&served, "?compat=true&kinds=file_changed,file_change_status,user");
    for seen in seen.iter().filter(|seen| seen.data.get("dialog").is_some()) {
        let same =
            |older: &str, name: &str| assert_eq!(seen.data[older], seen.data[name], "{older}");
        same("dialog_id", "dialog");
        same("session_id", "dialog");
        same("agent_id", "agent");
    }
    for name in ["file_changed", "file_change_status"] {
        let seen = seen.iter().find(|seen| seen.name == name).unwrap();
        assert_eq!(
            fields(&seen.data, &["tool_call_id", "change_id"]),
            json!({ "tool_call_id": change.call, "change_id": change.id.to_string() })
        );
        assert!(matches!(seen.data["timestamp"], Value::String(_)), "{name}");
    }
}
