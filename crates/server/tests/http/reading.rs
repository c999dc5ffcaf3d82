//! What can be read.

use serde_json::{Value, json};

use crate::client::Ask;
use crate::stage::{STORY, Stage};

#[test]
fn projects_are_listed_and_made() {
    let stage = Stage::new(STORY);
    let listed = stage.got("/api/projects");
    assert_eq!(listed["projects"][0]["id"], stage.id.as_str());
    assert_eq!(stage.got(&format!("/api/projects/{}", stage.id)), listed["projects"][0]);
    let other = stage.project.outer().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("x.txt"), "x\n").unwrap();
    let made = stage.done("/api/projects", &json!({ "root": other }));
    assert_eq!(made["root"], other.to_str().unwrap());
    assert_eq!(stage.got("/api/projects")["projects"].as_array().unwrap().len(), 2);
    let files = stage.got(&format!("/api/projects/{}/status", made["id"].as_str().unwrap()));
    assert_eq!(files["files"], 1);
    for root in ["relative", ""] {
        let answer = stage.post("/api/projects", &json!({ "root": root }));
        assert_eq!((answer.status, answer.code().as_str()), (422, "bad_value"));
    }
    let home = stage.post("/api/projects", &json!({ "root": "/" }));
    assert_eq!((home.status, home.code().as_str()), (422, "too_broad"));
}

#[test]
fn a_status_looks_first_unless_told_otherwise() {
    let stage = Stage::new(STORY);
    stage.project.write("mine.txt", "mine\n");
    let recorded = stage.got("status?look=false");
    assert_eq!((&recorded["looked"], &recorded["changes"]), (&json!(false), &json!(3)));
    let seen = stage.got("status");
    assert_eq!((&seen["looked"], &seen["changes"]), (&json!(true), &json!(4)));
    let files = &seen["dialogs"][0]["agents"][0]["files"];
    let paths: Vec<_> = files.as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, ["a.txt", "new.txt"]);
}

fn ids(page: &Value) -> Vec<&str> {
    page["changes"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect()
}

#[test]
fn changes_come_in_pages_and_by_filter() {
    let stage = Stage::new(STORY);
    let all = stage.got("changes");
    let all_ids = ids(&all);
    assert_eq!((all_ids.len(), &all["next"]), (3, &Value::Null));
    let mut seen = Vec::new();
    let mut path = "changes?limit=2".to_owned();
    loop {
        let page = stage.got(&path);
        seen.extend(ids(&page).into_iter().map(ToOwned::to_owned));
        let Some(next) = page["next"].as_u64() else { break };
        path = format!("changes?limit=2&before={next}");
    }
    assert_eq!(seen, all_ids, "pages neither skip nor repeat");
    assert_eq!(ids(&stage.got("changes?path=new.txt")).len(), 1);
    assert_eq!(ids(&stage.got("changes?dialog=d1&actor=agent&status=pending")).len(), 3);
    assert_eq!(ids(&stage.got("changes?actor=user")).len(), 0);
    assert_eq!(ids(&stage.got("changes?since=1800000000000")).len(), 0);
    for wrong in ["limit=0", "limit=1001", "before=9223372036854775808"] {
        let answer = stage.get(&format!("changes?{wrong}"));
        assert_eq!((answer.status, answer.code().as_str()), (422, "bad_value"), "{wrong}");
    }
    for wrong in ["limit=0x", "status=odd", "actor=odd", "surprise=1", "before=c1"] {
        let answer = stage.get(&format!("changes?{wrong}"));
        assert_eq!((answer.status, answer.code().as_str()), (400, "bad_query"), "{wrong}");
    }
}

#[test]
fn a_change_is_shown_with_its_difference_and_what_was_said() {
    let stage = Stage::new(STORY);
    let changes = stage.got("changes?path=a.txt");
    let first = ids(&changes)[1];
    let shown = stage.got(&format!("changes/{first}"));
    assert_eq!(shown["message"]["text"], "make it better");
    assert_eq!(shown["change"]["call"], "w1");
    let diff = stage.got(&format!("changes/{first}/diff?form=structured"));
    assert!(diff["diff"].as_str().unwrap().contains("-two\n+TWO\n"), "{diff}");
    let lines = diff["hunks"][0]["lines"].as_array().unwrap();
    let kinds: Vec<_> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["context", "removed", "added", "context", "context", "context"]);
    assert!(stage.got(&format!("changes/{first}/diff"))["hunks"].is_null());
    let answer = stage.get("changes/odd");
    assert_eq!((answer.status, answer.code().as_str()), (422, "bad_value"));
}

#[test]
fn the_net_difference_of_several_changes_is_one() {
    let stage = Stage::new(STORY);
    assert_eq!(stage.got("diff?dialog=d1&path=a.txt")["files"][0]["changes"], 2);
    let diff = stage.got("diff/file?dialog=d1&path=a.txt");
    let text = diff["diff"].as_str().unwrap();
    assert!(text.contains("-two\n+Two\n") && !text.contains("TWO"), "{text}");
    let changes = stage.got("changes?path=a.txt");
    let (last, first) = (ids(&changes)[0], ids(&changes)[1]);
    let until = stage.got(&format!("diff/file?path=a.txt&to={first}"));
    assert!(until["diff"].as_str().unwrap().contains("+TWO\n"));
    let from = stage.got(&format!("diff/file?path=a.txt&from={last}"));
    assert!(from["diff"].as_str().unwrap().contains("-TWO\n+Two\n"));
}

#[test]
fn blame_names_the_change_of_each_line() {
    let stage = Stage::new(STORY);
    let blame = stage.got("blame?path=a.txt");
    let origins: Vec<_> =
        blame["lines"].as_array().unwrap().iter().map(|line| &line["origin"]).collect();
    assert_eq!(origins, ["baseline", "change", "baseline", "baseline", "baseline"]);
    assert_eq!(blame["changes"][0]["message"]["text"], "make it better");
}

#[test]
fn threat_prefix_check_paths_do_not_lead_out_of_the_project() {
    let stage = Stage::new(STORY);
    std::fs::write(stage.project.outer().join("secret.txt"), "secret\n").unwrap();
    for path in [
        "../secret.txt",
        "..%2Fsecret.txt",
        "%2e%2e%2fsecret.txt",
        "/etc/passwd",
        "a/../../secret.txt",
        "",
        ".",
    ] {
        for route in ["blame", "changes", "diff", "diff/file", "file"] {
            let answer = stage.get(&format!("{route}?path={path}"));
            let told = (answer.status, answer.code());
            assert_eq!(told, (422, "outside_project".into()), "{route} {path}: {}", answer.body);
        }
        let body = json!({ "path": "../secret.txt", "yes": true });
        assert_eq!(stage.post("rollback", &body).code(), "outside_project");
    }
    for path in ["/api/projects/..%2f..%2fhome/status", "/api/projects/%2e%2e/status"] {
        assert_eq!(stage.get(path).code(), "unknown_project", "{path}");
    }
    let answer = stage.get("/api/projects/%ff/status");
    assert_eq!((answer.status, answer.code().as_str()), (400, "bad_path"));
}

#[test]
fn threat_secrets_in_snapshots_are_masked_in_everything_that_holds_content() {
    let stage = Stage::new(
        r"
        file .env: KEY=old\n
        init
        say d1: use ghp_0123456789abcdefghijklmnopqrstuvwxyz
        write d1 w1 .env: KEY=hunter2-canary\n
        turn-end d1
    ",
    );
    let change = ids(&stage.got("changes"))[0].to_owned();
    for path in [
        format!("changes/{change}"),
        format!("changes/{change}?form=structured"),
        format!("changes/{change}/diff?form=structured"),
        "diff?dialog=d1".to_owned(),
        "diff/file?dialog=d1&path=.env&form=structured".to_owned(),
        "file?path=.env".to_owned(),
        format!("changes/{change}/before"),
        format!("changes/{change}/after"),
        "blame?path=.env".to_owned(),
        "status".to_owned(),
        "dialogs".to_owned(),
        "dialogs/d1".to_owned(),
        "checkpoints".to_owned(),
        "context?dialog=d1&timeline=true".to_owned(),
        "context/export?dialog=d1".to_owned(),
        "/sessions/d1/file-changes".to_owned(),
        "/api/dialogs/d1/session".to_owned(),
        "/api/dialogs/d1/history".to_owned(),
        "/api/dialogs/d1/checkpoints".to_owned(),
    ] {
        let answer = stage.get(&path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        for secret in ["hunter2", "ghp_0123456789", "KEY=old"] {
            assert!(!answer.body.contains(secret), "{path} tells {secret}: {}", answer.body);
        }
    }
    stage.done("undo", &json!({ "yes": true }));
    assert_eq!(stage.project.read(".env"), b"KEY=old\n", "what is masked is restored all the same");
}

/// A person sees secrets in an answer that is asked for so, an agent never does.
#[test]
fn secrets_are_revealed_to_the_person_in_one_answer() {
    let stage = Stage::new(
        r"
        file .env: KEY=old\n
        init
        say d1: password: 'hunter2-said'
        write d1 w1 .env: KEY=hunter2-canary\n
        turn-end d1
    ",
    );
    let change = ids(&stage.got("changes"))[0].to_owned();
    for (path, secret) in [
        (format!("changes/{change}"), "hunter2-canary"),
        (format!("changes/{change}/diff"), "hunter2-canary"),
        ("diff/file?path=.env&dialog=d1".to_owned(), "hunter2-canary"),
        ("/sessions/d1/file-changes".to_owned(), "hunter2-canary"),
        ("/api/dialogs/d1/history".to_owned(), "hunter2-said"),
    ] {
        let mark = if path.contains('?') { '&' } else { '?' };
        let revealed = format!("{path}{mark}reveal=true");
        let answer = stage.get(&revealed);
        assert_eq!(answer.status, 200, "{revealed}: {}", answer.body);
        assert!(answer.body.contains(secret), "{revealed}: {}", answer.body);
        for masked in [path.clone(), format!("{path}{mark}reveal=false")] {
            let answer = stage.get(&masked);
            assert_eq!(answer.status, 200, "{masked}: {}", answer.body);
            assert!(!answer.body.contains(secret), "{masked}: {}", answer.body);
        }
        let of_agent = stage.send(&Ask::new("GET", &stage.path(&revealed)).token(&stage.agent()));
        assert_eq!((of_agent.status, of_agent.code().as_str()), (403, "human_only"), "{revealed}");
        let wrong = stage.get(&format!("{path}{mark}reveal=1"));
        assert_eq!((wrong.status, wrong.code().as_str()), (400, "bad_query"), "{path}");
    }
    // Where no content is shown there is nothing to reveal.
    for path in ["changes?reveal=true", "diff?reveal=true"] {
        assert_eq!(stage.get(path).code(), "bad_query", "{path}");
    }
}

#[test]
fn dialogs_checkpoints_sessions_operations_and_health_are_told() {
    let stage = Stage::new(STORY);
    assert_eq!(stage.got("dialogs")["dialogs"][0], stage.got("dialogs/d1"));
    let all = stage.got("checkpoints?dialog=d1");
    let id = all["checkpoints"][0]["id"].as_str().unwrap();
    assert_eq!(stage.got(&format!("checkpoints/{}", &id[..8])), all["checkpoints"][0]);
    assert_eq!(stage.got("sessions?dialog=d1")["sessions"][0]["session"], "session_1");
    assert_eq!(stage.got("operations"), json!({ "operations": [] }));
    assert_eq!(stage.got("operations/interrupted"), json!({ "interrupted": null }));
    assert_eq!(stage.got("doctor?read_data=true")["healthy"], true);
    let made = stage.done("checkpoints", &json!({ "message": "by hand" }));
    assert_eq!(made["message"], "by hand");
}

#[test]
fn events_are_recorded_once_by_their_key() {
    let stage = Stage::new(STORY);
    let begin = json!({ "event": "tool_begin", "dialog": "d2", "call": "x1", "tool": "Write",
        "input": { "file_path": "x.txt", "content": "x\n" } });
    let end = json!({ "event": "tool_end", "dialog": "d2", "call": "x1", "ok": true });
    let replies = stage.done("events", &json!({ "events": [begin] }));
    assert_eq!(replies["replies"][0]["ok"], true);
    stage.project.write("x.txt", "x\n");
    let body = json!({ "events": [end], "key": "k1" });
    let replies = stage.done("events", &body);
    assert_eq!(replies["replies"][0]["changes"][0]["path"], "x.txt");
    let again = stage.done("events", &body);
    assert_eq!(again["replies"][0]["changes"], json!([]));
    assert_eq!(ids(&stage.got("changes?dialog=d2")).len(), 1);
    let wrong = stage.post("events", &json!({ "events": [{ "event": "odd", "dialog": "d" }] }));
    assert_eq!((wrong.status, wrong.code().as_str()), (422, "bad_value"));
}

#[test]
fn only_what_agents_did_has_a_review_status() {
    let stage = Stage::new(STORY);
    stage.project.write("keep.txt", "mine\n");
    stage.got("status");
    stage.done("reject", &serde_json::json!({ "path": "new.txt", "yes": true }));
    let all = stage.got("changes");
    for change in all["changes"].as_array().unwrap() {
        let is_agents = change["actor"] == "agent";
        assert_eq!(change["status"].is_string(), is_agents, "{change:#}");
        let shown = stage.got(&format!("changes/{}", change["id"].as_str().unwrap()));
        assert_eq!(shown["change"]["status"], change["status"]);
    }
    let actors = |query: &str| {
        let found = stage.got(&format!("changes?{query}"));
        let found = found["changes"].as_array().unwrap().clone();
        found.iter().map(|change| change["actor"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(actors("status=pending"), ["agent", "agent"]);
    assert_eq!(actors("status=rejected"), ["agent"]);
    assert!(actors("status=pending&actor=user").is_empty());
    assert_eq!(actors("actor=user"), ["user"]);
}
