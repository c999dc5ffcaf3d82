//! Turns, their calls, and the changes of these.

use retake_engine::model::{Event, EventKind};
use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

use crate::every_route::routes;
use crate::stage::{STORY, Stage};

fn field<'a>(page: &'a Value, list: &str, name: &str) -> Vec<&'a Value> {
    page[list].as_array().unwrap().iter().map(|one| &one[name]).collect()
}

#[test]
fn turns_lead_to_calls_and_calls_to_changes() {
    let stage = Stage::new(STORY);
    play(
        &stage.project,
        "say d1: token sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcd\nrun true",
    );
    let page = stage.got("dialogs/d1/turns");
    assert_eq!(
        (field(&page, "turns", "turn"), &page["next"]),
        (vec![&json!(2), &json!(1)], &Value::Null)
    );
    let said = page["turns"][0]["message"]["text"].as_str().unwrap();
    assert!(said.contains("•••") && !said.contains("sk-proj-abc"), "{said}");
    assert_eq!(
        (&page["turns"][0]["open"], &page["turns"][0]["ended"]),
        (&json!(true), &Value::Null)
    );
    let turn = stage.got("dialogs/d1/turns/1");
    assert_eq!(turn, page["turns"][1]);
    assert_eq!(turn["message"]["text"], "make it better");
    assert_eq!(turn["message"]["checkpoint"], stage.project.checkpoint_id("d1:1"));
    assert_eq!((&turn["calls"], &turn["undone"]), (&json!(3), &json!(false)));
    let totals = json!({ "changes": 3, "files": 2, "added": 3, "removed": 2, "pending": 3,
        "accepted": 0, "rejected": 0, "reverted": 0 });
    assert_eq!(turn["totals"], totals);
    let agents = json!([{ "id": "main", "kind": null, "calls": 3, "models": [] }]);
    assert_eq!(turn["agents"], agents);

    let calls = stage.got("dialogs/d1/calls?turn=1");
    assert_eq!(field(&calls, "calls", "call"), ["w1", "w2", "w3"]);
    assert_eq!(field(&calls, "calls", "tool_kind"), ["edit", "write", "edit"]);
    assert_eq!(field(&calls, "calls", "result"), ["ok", "ok", "ok"]);
    assert_eq!(field(&stage.got("dialogs/d1/calls?turn=2"), "calls", "call"), Vec::<&Value>::new());
    let call = stage.got("dialogs/d1/calls/w2");
    assert_eq!(call["call"], calls["calls"][1]);
    assert_eq!(call["message"]["text"], "make it better");
    assert_eq!(call["changes"][0]["path"], "new.txt");
    assert_eq!(stage.got("changes?dialog=d1&call=w2")["changes"], call["changes"]);

    // Undone.
    stage.done("undo", &json!({ "yes": true }));
    assert_eq!(stage.got("dialogs/d1/turns/1")["undone"], true);
}

#[test]
fn pages_of_turns_and_calls_neither_skip_nor_repeat() {
    let stage =
        Stage::new("init\nwrite d1 w0 a.txt: 0\nsay d1: 1\nsay d1: 2\nwrite d1 w1 a.txt: 1");
    let mut seen = Vec::new();
    let mut path = "dialogs/d1/turns?limit=1".to_owned();
    loop {
        let page = stage.got(&path);
        seen.extend(field(&page, "turns", "turn").into_iter().cloned());
        let Some(next) = page["next"].as_u64() else { break };
        path = format!("dialogs/d1/turns?limit=1&before={next}");
    }
    assert_eq!(seen, [2, 1, 0]);
    let first = stage.got("dialogs/d1/calls?limit=1");
    let next = stage.got(&format!("dialogs/d1/calls?limit=1&after={}", first["next"]));
    assert_eq!([&first["calls"][0]["call"], &next["calls"][0]["call"]], ["w0", "w1"]);
    assert_eq!(next["next"], Value::Null);
    for wrong in ["limit=0", "limit=1001", "before=9223372036854775808"] {
        let answer = stage.get(&format!("dialogs/d1/turns?{wrong}"));
        assert_eq!((answer.status, answer.code().as_str()), (422, "bad_value"), "{wrong}");
    }
}

#[test]
fn a_call_shows_its_model_its_end_and_its_arguments_without_secrets() {
    let test = TestProject::new();
    test.init();
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcd";
    let begin = |call: &str, tool: &str, input| Event {
        model: Some("gpt-x".to_owned()),
        kind: Some("my-agent".to_owned()),
        ..TestProject::begin("d1", call, tool, input)
    };
    test.record(&begin("s1", "Bash", json!({ "command": format!("curl -H {key}"), "cwd": "/x" })));
    let mut end = TestProject::end("d1", "s1");
    if let EventKind::ToolEnd { ok, exit_code, .. } = &mut end.what {
        (*ok, *exit_code) = (Some(false), Some(7));
    }
    test.record(&end);
    let input = json!({ "file_path": "conf/.env", "content": "NAME=plain-looking-word\n" });
    test.record(&begin("w1", "Write", input));
    test.write("conf/.env", "NAME=plain-looking-word\n");
    test.record(&TestProject::end("d1", "w1"));
    let input = json!({ "file_path": "big.txt", "content": "big\n".repeat(200) });
    test.record(&begin("w2", "Write", input));
    // So soon that no scan takes the open call for one whose agent is gone.
    let stage = Stage::with_clock(test, || 1_700_000_060_000);
    let answer = stage.get("dialogs/d1/calls");
    assert!(!answer.body.contains(key) && !answer.body.contains("plain-looking-word"));
    let calls = &answer.json()["calls"];
    let facts =
        |call: &Value| ["kind", "model", "result", "exit_code"].map(|name| call[name].clone());
    assert_eq!(facts(&calls[0]), [json!("my-agent"), json!("gpt-x"), json!("failed"), json!(7)]);
    assert!(calls[0]["command"].as_str().unwrap().contains("•••"));
    assert_eq!(calls[1]["arguments"], json!({ "file_path": "conf/.env", "content": "•••" }));
    assert_eq!((&calls[2]["result"], &calls[2]["ended"]), (&json!("open"), &Value::Null));
    assert_eq!(calls[2]["arguments"], json!({ "file_path": "big.txt", "content": "" }));
    assert_eq!(calls[2]["cut"], json!([{ "at": "/content", "bytes": 800 }]));
    let change = &stage.got("dialogs/d1/calls/w1")["changes"][0];
    assert_eq!((&change["model"], &change["kind"]), (&json!("gpt-x"), &json!("my-agent")));
    let candidate = &change["candidates"][0];
    assert_eq!((&candidate["model"], &candidate["kind"]), (&json!("gpt-x"), &json!("my-agent")));
}

/// Every object that names a file of the project by `path` has its absolute path, too.
#[track_caller]
fn check_paths(route: &str, root: &str, value: &Value) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| check_paths(route, root, value)),
        Value::Object(fields) => {
            let is_of_project = |path: &&str| !path.starts_with('/');
            let path = fields.get("path").and_then(Value::as_str).filter(is_of_project);
            if let Some(path) = path {
                let expected = format!("{root}/{path}");
                assert_eq!(value["file_path"], expected, "{route}: {value:#}");
            }
            fields.values().for_each(|value| check_paths(route, root, value));
        }
        _ => {}
    }
}

#[test]
fn every_document_that_names_a_file_tells_where_it_is() {
    let stage = Stage::new(STORY);
    play(&stage.project, "read d1 r1 a.txt\nfile a.txt: mine\\n\nlook");
    let root = stage.project.root().to_str().unwrap().to_owned();
    // The first is about routes, the second a stream, the third another program's form.
    let others = ["/api/openapi.json", "/events", "/context/export"];
    let mut asked: Vec<String> = routes(&stage)
        .iter()
        .filter(|route| route.method == "GET" && !route.is_public())
        .map(|route| route.path.clone())
        .filter(|path| !others.iter().any(|other| path.ends_with(other)))
        .collect();
    asked.extend(
        ["blame?path=a.txt", "context?dialog=d1", "status?ignored=true"]
            .map(|path| stage.path(path)),
    );
    for path in asked {
        let answer = stage.get(&path);
        let is_document = answer.header("content-type") == Some("application/json");
        if answer.status == 200 && is_document {
            check_paths(&path, &root, &answer.json());
        }
    }
    for (verb, body) in [
        ("undo", json!({ "dry_run": true })),
        ("rollback", json!({ "dialog": "d1", "dry_run": true })),
    ] {
        let plan = stage.done(verb, &body);
        assert_ne!(plan["files"], json!([]), "{plan:#}");
        check_paths(verb, &root, &plan);
    }
}

#[test]
fn a_moved_file_has_its_old_path_and_a_place_to_open_it_at() {
    let test = TestProject::new();
    test.write("old.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    test.init();
    let begin = |call: &str, tool: &str, input| Event {
        kind: Some("my-agent".to_owned()),
        ..TestProject::begin("d1", call, tool, input)
    };
    test.record(&begin(
        "s1",
        "Bash",
        json!({ "command": "mv old.txt new.txt; sed -i s/8/eight/ new.txt" }),
    ));
    test.shell("mv old.txt new.txt; sed -i s/8/eight/ new.txt");
    test.record(&TestProject::end("d1", "s1"));
    let stage = Stage::of(test);
    let change = &stage.got("changes")["changes"][0];
    assert_eq!((&change["old_path"], &change["line"]), (&json!("old.txt"), &json!(8)));
    let work = &stage.got("status")["dialogs"][0]["agents"][0];
    assert_eq!(work["kind"], "my-agent");
    let row = &work["files"][0];
    let facts = ["status", "old_path", "line"].map(|name| row[name].clone());
    assert_eq!(facts, [json!("renamed"), json!("old.txt"), json!(8)], "{row:#}");
    let session = stage.got("/api/dialogs/d1/session");
    let files = session["changed_files"].as_array().unwrap();
    let file = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
    assert_eq!(file("new.txt")["old_path"], "old.txt", "{session:#}");
    assert_eq!(file("old.txt")["old_path"], Value::Null);
    let plan = stage.done("rollback", &json!({ "dialog": "d1", "dry_run": true }));
    let files = plan["files"].as_array().unwrap();
    let file = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
    assert_eq!(
        (&file("old.txt")["old_path"], &file("new.txt")["old_path"]),
        (&json!("new.txt"), &Value::Null)
    );
    let record = &stage.got("/sessions/d1/file-changes")["file_changes"][0];
    assert_eq!(
        (&record["old_path"], &record["agent_kind"]),
        (&json!("old.txt"), &json!("my-agent"))
    );
}

fn ids(page: &Value) -> Vec<u64> {
    field(page, "changes", "seq").into_iter().map(|seq| seq.as_u64().unwrap()).collect()
}

#[test]
fn a_client_catches_up_in_order_while_new_changes_come() {
    let stage = Stage::new(STORY);
    let all = ids(&stage.got("changes?after=0"));
    assert!(all.is_sorted() && all.len() == 3, "{all:?}");
    let first = stage.got("changes?after=0&limit=2");
    assert_eq!(ids(&first), all[..2]);
    play(&stage.project, "say d2: more\nwrite d2 x1 more.txt: x");
    let second = stage.got(&format!("changes?limit=1&after={}", first["next"]));
    assert_eq!(ids(&second), all[2..]);
    let third = stage.got(&format!("changes?after={}", second["next"]));
    assert_eq!((ids(&third).len(), &third["next"]), (1, &Value::Null));
    let last = third["last"].as_u64().unwrap();
    assert!(last >= ids(&third)[0]);
    assert_eq!(ids(&stage.got(&format!("changes?after={last}"))).len(), 0);
}

#[test]
fn changes_are_chosen_by_several_values_and_added_up() {
    let stage = Stage::new(STORY);
    play(&stage.project, "say d2: more\nwrite d2 x1 more.txt: x");
    stage.project.write("mine.txt", "mine\n");
    stage.project.refresh();
    let count = |query: &str| ids(&stage.got(&format!("changes?{query}"))).len();
    assert_eq!(count("dialog=d1,d2"), 4);
    assert_eq!(count("dialog=d1,d2&turn=1&agent=main"), 4);
    assert_eq!(count("actor=user,git"), 1);
    assert_eq!(count("confidence=assumed"), 1);
    assert_eq!(count("confidence=certain,window&status=pending,accepted"), 4);
    assert_eq!(count("call=x1"), 1);
    assert_eq!(count("dialog=d1&call=x1"), 0);
    assert_eq!(count("dialog=d1&message_index=5"), 0);
    let page = stage.got("changes?dialog=d1,d2&limit=1&totals=true");
    let totals = json!({ "changes": 4, "files": 3, "added": 4, "removed": 2, "pending": 4,
        "accepted": 0, "rejected": 0, "reverted": 0 });
    assert_eq!(page["totals"], totals);
    assert!(stage.got("changes").get("totals").is_none());
    for (query, status, code) in [
        ("turn=1", 422, "bad_value"),
        ("message_index=1", 422, "bad_value"),
        ("status=odd,pending", 400, "bad_query"),
        ("confidence=", 400, "bad_query"),
    ] {
        let answer = stage.get(&format!("changes?{query}"));
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{query}");
    }
    let many = vec!["d1"; 51].join(",");
    let answer = stage.get(&format!("changes?dialog={many}"));
    assert_eq!((answer.status, answer.code().as_str()), (422, "bad_value"), "{}", answer.body);
}
