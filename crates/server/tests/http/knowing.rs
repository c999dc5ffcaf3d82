//! What agents know of files, by HTTP.

use serde_json::{Value, json};

use crate::client::Ask;
use crate::stage::{STORY, Stage};

/// The agent has looked at all of a file that it changed, before the person changes it.
fn stage() -> Stage {
    let stage = Stage::new(&format!("{STORY}\nread d1 r1 a.txt"));
    stage.project.write("a.txt", "one\nTwo\nthree\n4\nfive\n");
    stage
}

fn told(context: &Value, fields: &[&str]) -> Value {
    let entries = context["files_in_context"].as_array().unwrap().iter();
    entries.map(|entry| fields.iter().map(|name| entry[name].clone()).collect::<Value>()).collect()
}

#[test]
fn the_context_says_what_an_agent_does_not_know_any_more() {
    let stage = stage();
    // It looks first.
    let context = stage.got("context?dialog=d1");
    assert_eq!(
        told(&context, &["path", "record_state", "record_source", "is_stale", "agent"]),
        json!([
            ["a.txt", "active", "user_edited", true, "main"],
            ["new.txt", "active", "roo_edited", false, "main"],
        ])
    );
    let entry = &context["files_in_context"][0];
    let dates = ["roo_edit_date", "roo_read_date", "user_edit_date"];
    assert!(dates.map(|name| entry[name].as_i64()).is_sorted(), "{entry}");
    assert_eq!(entry["by"]["actor"], "user");
    let how = &entry["stale"];
    assert_eq!(
        (&how["what"], &how["lines"], &how["text"]),
        (&json!("lines"), &json!([[4, 4]]), &json!("line 4 changed by you"))
    );
    assert!(how["since"].is_string() && how["by"][0]["actor"] == "user", "{how}");
    let only = stage.got("context?dialog=d1&agent=main&stale=true");
    assert_eq!(told(&only, &["path"]), json!([["a.txt"]]));
    let all = stage.got("context?dialog=d1&timeline=true");
    assert_eq!(
        told(&all, &["path", "record_state", "record_source"]),
        json!([
            ["a.txt", "stale", "roo_edited"],
            ["a.txt", "stale", "roo_edited"],
            ["a.txt", "stale", "read_tool"],
            ["a.txt", "active", "user_edited"],
            ["new.txt", "active", "roo_edited"],
        ])
    );
    let first = stage.got("context?dialog=d1&timeline=true&limit=4");
    let rest = stage.got(&format!("context?dialog=d1&timeline=true&cursor={}", first["cursor"]));
    assert_eq!((&rest["cursor"], told(&rest, &["path"])), (&Value::Null, json!([["new.txt"]])));
}

#[test]
fn an_agent_tells_what_it_read() {
    let stage = stage();
    let unseen = || told(&stage.got("context?dialog=d1&stale=true"), &["path"]);
    assert_eq!(unseen(), json!([["a.txt"]]));
    let token = stage.mint(Some("d1"));
    let mark = |body: &Value| {
        let ask = Ask::new("POST", &stage.path("context/mark")).token(&token);
        stage.send(&ask.json(body))
    };
    let some = mark(&json!({ "dialog": "d1", "paths": [{ "path": "a.txt", "lines": [1, 2] }] }));
    assert_eq!(some.json(), json!({ "marked": 1, "untracked": [] }));
    assert_eq!(unseen(), json!([["a.txt"]]), "it has not seen the line that changed");
    let paths = json!([{ "path": "a.txt" }, { "path": "none.txt" }]);
    let body = json!({ "dialog": "d1", "paths": paths, "source": "file_mentioned" });
    let place = stage.project.root().join("none.txt");
    let untracked = json!([{ "path": "none.txt", "file_path": place }]);
    assert_eq!(mark(&body).json(), json!({ "marked": 1, "untracked": untracked }));
    assert_eq!(unseen(), json!([]));
    let newest = stage.got("context?dialog=d1");
    assert_eq!(newest["files_in_context"][0]["record_source"], "file_mentioned");
    for (body, code) in [
        (json!({ "dialog": "none", "paths": [] }), "other_dialog"),
        (json!({ "dialog": "d1", "paths": [{ "path": "../x" }] }), "outside_project"),
        (json!({ "dialog": "d1", "paths": [{ "path": "a.txt", "lines": [3, 1] }] }), "bad_value"),
        (json!({ "dialog": "d1", "paths": [], "source": "user_edited" }), "bad_value"),
    ] {
        assert_eq!(mark(&body).code(), code, "{body}");
    }
}

#[test]
fn what_another_program_kept_goes_in_and_out() {
    let stage = Stage::new(STORY);
    let kept = stage.got("context/export?dialog=d1");
    assert_eq!(kept["files_in_context"].as_array().unwrap().len(), 3);
    let body = json!({ "dialog": "d1", "agent": "other", "metadata": kept });
    let imported = stage.done("context/import", &body);
    assert_eq!(imported, json!({ "entries": 3, "known": 0, "skipped": [] }));
    assert_eq!(stage.got("context/export?dialog=d1&agent=other"), kept);
    assert_eq!(stage.done("context/import", &body)["entries"], 0);
    let mut wrong = body.clone();
    wrong["metadata"]["files_in_context"][0]["path"] = json!("../x");
    let refused = stage.post("context/import", &wrong);
    assert_eq!((refused.status, refused.code().as_str()), (422, "bad_value"));
    assert!(refused.body.contains("entry 1"), "{}", refused.body);
}

#[test]
fn an_edit_of_what_changed_is_denied_to_whoever_hears_it() {
    let stage = stage();
    let begin = |call: &str| {
        json!({ "event": "tool_begin", "dialog": "d1", "call": call, "tool": "Edit",
            "input": { "file_path": "a.txt", "old_string": "one", "new_string": "1" } })
    };
    let ask_with = |call: &str, field: &str, reply_support: &str| {
        let replies =
            stage.done("events", &json!({ "events": [begin(call)], field: reply_support }));
        replies["replies"][0]["stale"].clone()
    };
    let ask = |call: &str, reply_support: &str| ask_with(call, "reply_support", reply_support);
    assert_eq!(ask("x1", "nothing"), Value::Null);
    let denied = ask("x2", "denials");
    assert_eq!(denied["reaction"], "deny");
    assert_eq!(denied["files"][0]["text"], "line 4 changed by the user");
    assert!(denied["message"].as_str().unwrap().contains("Read it again"), "{denied}");
    assert_eq!(ask("x3", "denials"), Value::Null, "once for one content");
    assert_eq!(ask("x4", "notes")["reaction"], "note");
    assert_eq!(ask_with("x5", "hears", "nothing"), Value::Null, "the field's old name");
}
