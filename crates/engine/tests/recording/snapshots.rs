//! The record as plain JSON files (C-4, DM-1…DM-11).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use retake_engine::model::{Event, EventKind};
use retake_engine::{SnapshotCounts, SnapshotError, SnapshotOptions};
use retake_testkit::{TestProject, expect, play};
use serde_json::{Value, json};

fn export(test: &TestProject, options: &SnapshotOptions) -> (PathBuf, SnapshotCounts) {
    let folder = test.outer().join("out");
    let done = test.open().export_snapshots(&folder, options, &mut |_, _| {}).unwrap();
    (folder, done)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The shape of a document: its keys, with what stands there.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), shape(value))).collect()
        }
        Value::Array(items) => items.iter().take(1).map(shape).collect(),
        Value::String(_) => "text".into(),
        Value::Number(_) => "number".into(),
        Value::Bool(_) => "bool".into(),
        Value::Null => Value::Null,
    }
}

fn story(test: &TestProject) {
    play(
        test,
        r"
        file a.txt: one\ntwo\nthree\n
        init
        say d1: please
        edit d1 e1 a.txt: two => 2
        write d1 w1 b.txt: new\n
        shell d1 s1: rm a.txt; echo x > c.txt
        ",
    );
}

#[test]
fn the_shapes_are_those_of_the_data_model() {
    let test = TestProject::new();
    story(&test);
    let (folder, done) = export(&test, &SnapshotOptions::default());
    assert_eq!((done.dialogs, done.changes, done.masked, done.missing), (1, 4, 0, 0));
    let index = read(&folder.join("sessions/d1/index.json"));
    assert_eq!(index["sessionId"], "d1");
    assert_eq!(index["changes"].as_array().unwrap().len(), 4);
    let ids: Vec<_> = index["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    let snapshot =
        |at: usize| read(&folder.join(format!("sessions/d1/snapshots/{}.json", ids[at])));
    let edit = snapshot(0);
    assert_eq!(edit["before"]["content"], "one\ntwo\nthree\n");
    assert_eq!(edit["after"]["content"], "one\n2\nthree\n");
    assert_eq!(edit["after"]["size"], 12);
    assert_eq!(edit["operation"], "patch");
    assert_eq!(
        (&edit["metadata"]["startLine"], &edit["metadata"]["endLine"]),
        (&json!(2), &json!(2))
    );
    let write = snapshot(1);
    assert_eq!((&write["operation"], &write["before"]), (&json!("write"), &Value::Null));
    assert_eq!(write["metadata"]["isOverwrite"], false);
    let records = read(&folder.join("file-changes.json"));
    let a = test.root().join("a.txt").to_string_lossy().into_owned();
    assert_eq!(records[&a][0]["old_content"], "two\n");
    assert_eq!(records[&a][0]["pre_tool_content"], "one\ntwo\nthree\n");
    assert_eq!(records[&a][0]["tool_call_id"], "e1");
    assert_eq!(records[&a][1]["change_type"], "delete");
    let both = [&records[&a][1], &records[test.root().join("c.txt").to_str().unwrap()][0]];
    let names = both.map(|record| record["tool_call_id"].as_str().unwrap().to_owned());
    assert!(names.contains(&"s1:0".to_owned()) && names.contains(&"s1:1".to_owned()), "{names:?}");
}

#[test]
fn the_shapes_do_not_change() {
    let test = TestProject::new();
    story(&test);
    let (folder, _) = export(&test, &SnapshotOptions::default());
    let index = read(&folder.join("sessions/d1/index.json"));
    let first = index["changes"][0]["id"].as_str().unwrap();
    let snapshot = read(&folder.join(format!("sessions/d1/snapshots/{first}.json")));
    let records = read(&folder.join("file-changes.json"));
    let record = &records[test.root().join("a.txt").to_str().unwrap()][0];
    let shapes = [&index, &snapshot, record].map(|document| shape(document).to_string());
    expect![[r#"
        {"changes":[{"agentId":"text","filePath":"text","id":"text","operation":"text","stats":{"linesAdded":"number","linesRemoved":"number","sizeAfter":"number","sizeBefore":"number"},"timestamp":"text"}],"createdAt":"text","sessionId":"text"}

        {"after":{"content":"text","hash":"text","size":"number"},"agentId":"text","before":{"content":"text","hash":"text","size":"number"},"filePath":"text","id":"text","metadata":{"changeType":"text","endLine":"number","linesAdded":"number","linesRemoved":"number","startLine":"number"},"operation":"text","sessionId":"text","timestamp":"text"}

        {"added_ranges":[{"endLine":"number","startLine":"number"}],"agent_id":"text","change_type":"text","file_path":"text","message_index":null,"new_content":"text","old_content":"text","pre_tool_content":"text","removed_ranges":[{"endLine":"number","startLine":"number"}],"status":"text","timestamp":"text","tool_call_id":"text","tool_name":"text"}"#]].assert_eq(&shapes.join("\n\n"));
}

#[test]
fn hashes_are_what_sha256sum_prints() {
    let test = TestProject::new();
    play(&test, "file a.txt: x\\n\n init\n write d1 w1 a.txt: hello\\n");
    let (folder, _) = export(&test, &SnapshotOptions::default());
    let file = std::fs::read_dir(folder.join("sessions/d1/snapshots")).unwrap().next().unwrap();
    let after = &read(&file.unwrap().path())["after"];
    let sum = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    assert_eq!(after["hash"], format!("sha256-{sum}"));
    assert_eq!(after["size"], 6);
}

#[test]
fn any_content_comes_back_exactly() {
    use base64::Engine as _;
    let test = TestProject::new();
    let project = test.init();
    let mut noise = vec![0; 700_000];
    fastrand::Rng::with_seed(2).fill(&mut noise);
    let letters = "ü漢\u{1f980}\"\\\n\t\u{1}\u{7f}".repeat(60_000); // chunked, characters cut anywhere
    let contents: [(&str, &[u8]); 5] = [
        ("noise.bin", &noise),
        ("text.txt", letters.as_bytes()),
        ("latin1.txt", b"caf\xe9\n"),
        ("cut.txt", b"ends in \xf0\x9f"),
        ("empty.txt", b""),
    ];
    let what = EventKind::ToolBegin {
        call: Some("s".into()),
        tool: "Bash".into(),
        input: json!({"command": "./x"}),
    };
    project.record(&Event::new("d1", what), test.tick()).unwrap();
    for (name, content) in contents {
        test.write(name, content);
    }
    project.record(&TestProject::end("d1", "s"), test.tick()).unwrap();
    let (folder, _) = export(&test, &SnapshotOptions::default());
    let mut seen = 0;
    for entry in std::fs::read_dir(folder.join("sessions/d1/snapshots")).unwrap() {
        let document = read(&entry.unwrap().path());
        let (_, content) = contents.iter().find(|(name, _)| document["filePath"] == *name).unwrap();
        let after = &document["after"];
        let bytes = match after["encoding"].as_str() {
            Some("base64") => base64::engine::general_purpose::STANDARD
                .decode(after["content"].as_str().unwrap())
                .unwrap(),
            _ => after["content"].as_str().unwrap().as_bytes().to_vec(),
        };
        assert!(bytes == *content, "{}", document["filePath"]);
        seen += 1;
    }
    assert_eq!(seen, contents.len());
    assert_eq!(read(&folder.join("file-changes.json")).as_object().unwrap().len(), 5);
}

#[test]
fn nothing_leaves_the_folder_and_a_full_one_is_refused() {
    let test = TestProject::new();
    play(&test, "file a.txt: x\\n\n init\n write d1 w1 a.txt: y\\n");
    let project = test.open();
    let (folder, victim) = (test.outer().join("out"), test.outer().join("victim"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(&victim).unwrap();
    std::os::unix::fs::symlink(&victim, folder.join("sessions")).unwrap();
    let run =
        |options: &SnapshotOptions| project.export_snapshots(&folder, options, &mut |_, _| {});
    let refused = run(&SnapshotOptions::default()).unwrap_err();
    assert!(matches!(refused, SnapshotError::NotEmpty(_)), "{refused}");
    let force = SnapshotOptions { force: true, ..SnapshotOptions::default() };
    assert!(matches!(run(&force).unwrap_err(), SnapshotError::Write { .. }));
    assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 0, "links are not followed");
    std::fs::remove_file(folder.join("sessions")).unwrap();
    std::fs::write(victim.join("file"), "mine").unwrap();
    std::os::unix::fs::symlink(victim.join("file"), folder.join("file-changes.json")).unwrap();
    run(&force).unwrap();
    assert_eq!(std::fs::read(victim.join("file")).unwrap(), b"mine");
    assert!(!folder.join("file-changes.json").is_symlink());
    let mode = folder.join("file-changes.json").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let inside = project.export_snapshots(&test.root().join("out"), &force, &mut |_, _| {});
    assert!(matches!(inside.unwrap_err(), SnapshotError::InProject(_)));
}

#[test]
fn hostile_dialogs_get_safe_names_and_one_can_be_chosen() {
    let test = TestProject::new();
    play(&test, "file a.txt: x\\n\n init");
    for (at, id) in ["../../evil", "a/b", "", "."].into_iter().enumerate() {
        let call = format!("w{at}");
        let input = json!({ "file_path": "a.txt", "content": call });
        let of = |event: Event| Event { dialog: id.into(), ..event };
        test.record(&of(TestProject::begin("x", &call, "Write", input)));
        test.write("a.txt", &call);
        test.record(&of(TestProject::end("x", &call)));
    }
    let (folder, done) = export(&test, &SnapshotOptions::default());
    assert_eq!((done.dialogs, done.changes), (4, 4));
    let mut names: Vec<_> = std::fs::read_dir(folder.join("sessions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names[..3], ["%2E", "%2E.%2F..%2Fevil", "a%2Fb"]);
    let options = SnapshotOptions { dialog: Some("a/b".into()), force: true, with_secrets: false };
    std::fs::remove_dir_all(&folder).unwrap();
    let (folder, done) = export(&test, &options);
    assert_eq!(done.dialogs, 1);
    assert_eq!(read(&folder.join("sessions/a%2Fb/index.json"))["sessionId"], "a/b");
}

#[test]
fn secrets_are_left_out_unless_asked_for() {
    let test = TestProject::new();
    play(&test, "file a.txt: x\\n\n init\n write d1 w1 .env: TOKEN=abc\\n");
    let (folder, done) = export(&test, &SnapshotOptions::default());
    assert_eq!(done.masked, 1);
    let all = |folder: &Path| {
        let mut words = std::fs::read_to_string(folder.join("file-changes.json")).unwrap();
        for entry in std::fs::read_dir(folder.join("sessions/d1/snapshots")).unwrap() {
            words += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
        }
        words
    };
    assert!(!all(&folder).contains("abc") && all(&folder).contains("\"masked\":true"));
    let options = SnapshotOptions { with_secrets: true, force: true, dialog: None };
    let (folder, done) = export(&test, &options);
    assert!(done.masked == 0 && all(&folder).contains("TOKEN=abc"));
}
