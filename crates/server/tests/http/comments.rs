//! Comments and feedback: drafts, batches, answers, and that each agent hears its own, once.

use retake_testkit::play;
use serde_json::{Value, json};

use crate::client::{Answer, Ask};
use crate::hunks::{TURN, hunks_of, named};
use crate::stage::Stage;

fn ask(stage: &Stage, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let ask = Ask::new(method, &stage.path(path)).token(&stage.human());
    stage.send(&body.into_iter().fold(ask, Ask::json))
}

fn as_agent(stage: &Stage, token: &str, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let ask = Ask::new(method, &stage.path(path)).token(token);
    stage.send(&body.into_iter().fold(ask, Ask::json))
}

#[test]
fn a_comment_is_about_the_work_a_file_lines_or_a_hunk() {
    let stage = Stage::new(TURN);
    let hunk = named(&hunks_of(&stage, "all", "a.txt")[1], "a.txt");
    for (body, path, lines) in [
        (json!({}), Value::Null, Value::Null),
        (json!({ "path": "new.txt" }), json!("new.txt"), Value::Null),
        (json!({ "path": "a.txt", "lines": [2, 3] }), json!("a.txt"), json!([2, 3])),
        (json!({ "hunk": hunk, "scope": "last-turn" }), json!("a.txt"), json!([11, 11])),
    ] {
        let mut body = body;
        body["text"] = "why?".into();
        body["kind"] = "question".into();
        let made = stage.done("comments", &body);
        assert_eq!((&made["state"], &made["kind"]), (&json!("draft"), &json!("question")));
        assert_eq!((&made["path"]["path"], made["path"].is_null()), (&path, path.is_null()));
        let place = match &made["lines"] {
            Value::Null => Value::Null,
            lines => json!([lines["first"], lines["last"]]),
        };
        assert_eq!(place, lines, "{made}");
    }
    assert_eq!(stage.got("review")["drafts"], 4);
    let hunks = hunks_of(&stage, "all", "a.txt");
    assert_eq!((&hunks[0]["comments"], &hunks[1]["comments"]), (&json!([3]), &json!([4])));
}

#[test]
fn what_is_no_comment_is_refused() {
    let stage = Stage::new(TURN);
    let hunk = named(&hunks_of(&stage, "all", "a.txt")[0], "a.txt");
    for (body, status, code) in [
        (json!({ "text": " \n" }), 422, "bad_value"),
        (json!({ "text": "x", "lines": [1, 1] }), 422, "bad_value"),
        (json!({ "text": "x", "path": "a.txt", "scope": "all" }), 422, "bad_value"),
        (json!({ "text": "x", "path": "a.txt", "hunk": hunk }), 422, "bad_value"),
        (json!({ "text": "x", "path": "a.txt", "lines": [12, 13] }), 422, "unknown_lines"),
        (json!({ "text": "x", "path": "none.txt" }), 404, "unknown_path"),
        (json!({ "text": "x", "dialog": "none" }), 404, "unknown_dialog"),
        (json!({ "text": "x", "kind": "praise" }), 422, "bad_value"),
    ] {
        let answer = stage.post("comments", &body);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{body}");
    }
    play(&stage.project, "edit d1 w4 a.txt: TWO => Two\n");
    let refused = stage.post("comments", &json!({ "text": "x", "hunk": hunk }));
    assert_eq!((refused.status, refused.code().as_str()), (409, "stale_hunk"));
    assert_eq!(refused.json()["review"]["files"][0]["path"], "a.txt");
    assert_eq!(stage.got("comments")["comments"], json!([]));
    for (method, path, body) in [
        ("PATCH", "comments/7", Some(json!({ "text": "x" }))),
        ("DELETE", "comments/7", None),
        ("POST", "comments/7/answer", Some(json!({ "text": "x" }))),
        ("POST", "comments/7/resolve", None),
        ("POST", "comments/send", Some(json!({ "ids": [7] }))),
    ] {
        let answer = ask(&stage, method, path, body.as_ref());
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (404, "unknown_comment"),
            "{method} {path}"
        );
    }
}

#[test]
fn a_draft_is_changed_sent_answered_and_settled() {
    let stage = Stage::new(TURN);
    stage.done("comments", &json!({ "path": "a.txt", "lines": [11, 11], "text": "first" }));
    stage.done("comments", &json!({ "path": "new.txt", "text": "second" }));
    let edited = ask(&stage, "PATCH", "comments/1", Some(&json!({ "text": "use the helper" })));
    assert_eq!(edited.json()["text"], "use the helper", "{}", edited.body);
    assert_eq!(stage.done("comments/send", &json!({ "ids": [] }))["comments"], json!([]));
    let sent = stage.done("comments/send", &json!({ "ids": [1] }));
    assert_eq!(
        (&sent["comments"][0]["state"], &sent["comments"][0]["dialog"]),
        (&json!("sent"), &json!("d1"))
    );
    let late = ask(&stage, "PATCH", "comments/1", Some(&json!({ "text": "other" })));
    assert_eq!((late.status, late.code().as_str()), (409, "comment_state"));
    let all = ask(&stage, "POST", "comments/send", None);
    assert_eq!(all.json()["comments"][0]["id"], 2, "all that are drafts: {}", all.body);
    // It follows its lines, and says when they are gone.
    play(&stage.project, "edit d1 w4 a.txt: one => zero\\none\n");
    let lines = |at: usize| stage.got("comments")["comments"][at]["lines"].clone();
    assert_eq!((&lines(0)["first"], &lines(0)["gone"]), (&json!(12), &json!(false)));
    stage.project.write("a.txt", "nothing\n");
    assert_eq!((&lines(0)["first"], &lines(0)["gone"]), (&Value::Null, &json!(true)));
    let answered = stage.done("comments/1/answer", &json!({ "text": "done" }));
    assert_eq!((&answered["state"], &answered["answer"]), (&json!("answered"), &json!("done")));
    assert_eq!(stage.done("comments/1/resolve", &json!({}))["state"], "resolved");
    let removed = ask(&stage, "DELETE", "comments/2", None);
    assert_eq!(removed.json(), json!({ "removed": 2 }));
    assert_eq!(stage.got("comments")["comments"].as_array().unwrap().len(), 1);
}

#[test]
fn an_agent_sees_what_was_sent_to_its_dialog_and_answers_only_that() {
    let stage = Stage::new(TURN);
    let (own, other) = (stage.mint(Some("d1")), stage.mint(Some("d2")));
    play(&stage.project, "say d2: hello\nturn-end d2\n");
    stage.done("comments", &json!({ "path": "a.txt", "text": "for d1", "dialog": "d1" }));
    stage.done("comments", &json!({ "text": "for d2", "dialog": "d2" }));
    stage.done("comments", &json!({ "text": "a draft", "dialog": "d1" }));
    let seen = |token: &str| -> Vec<Value> {
        let answer = as_agent(&stage, token, "GET", "comments", None).json();
        let comments = answer["comments"].as_array().unwrap().iter();
        comments.map(|comment| comment["id"].clone()).collect()
    };
    assert_eq!((seen(&own), seen(&other)), (vec![], vec![]));
    let list = as_agent(&stage, &own, "GET", "review", None).json();
    assert_eq!(list["drafts"], 0, "an agent does not even know how many there are");
    stage.done("comments/send", &json!({ "ids": [1, 2] }));
    assert_eq!((seen(&own), seen(&other)), (vec![json!(1)], vec![json!(2)]));
    assert_eq!(seen(&stage.agent()), Vec::<Value>::new());
    let words = json!({ "text": "done" });
    let answer = |token: &str, id: u64| {
        as_agent(&stage, token, "POST", &format!("comments/{id}/answer"), Some(&words))
    };
    assert_eq!(answer(&own, 1).json()["state"], "answered");
    assert_eq!(answer(&own, 2).code(), "other_dialog");
    assert_eq!(answer(&own, 3).code(), "unknown_comment", "to an agent there are no drafts");
    assert_eq!(answer(&stage.agent(), 1).code(), "unbound_token");
    for (method, path) in [("PATCH", "comments/1"), ("DELETE", "comments/1"), ("POST", "comments")]
    {
        assert_eq!(as_agent(&stage, &own, method, path, Some(&words)).code(), "human_only");
    }
}

#[test]
fn feedback_is_taken_once_by_its_own_agent() {
    let stage = Stage::new(TURN);
    let (own, other) = (stage.mint(Some("d1")), stage.mint(Some("d2")));
    let hunk = named(&hunks_of(&stage, "all", "a.txt")[0], "a.txt");
    stage.done("review/reject", &json!({ "hunks": [hunk], "reason": "we keep the old name" }));
    stage.done("comments", &json!({ "path": "new.txt", "text": "use the helper" }));
    stage.done("comments/send", &json!({}));
    let waits = stage.got("feedback?dialog=d1");
    assert_eq!((&waits["comments"], &waits["taken"]), (&json!([1]), &json!(false)));
    assert_eq!(waits["rejections"].as_array().unwrap().len(), 1);
    for text in ["we keep the old name", "use the helper"] {
        assert!(waits["text"].as_str().unwrap().contains(text), "{waits}");
    }
    let body = json!({ "dialog": "d1" });
    assert_eq!(as_agent(&stage, &other, "GET", "feedback?dialog=d1", None).code(), "other_dialog");
    assert_eq!(as_agent(&stage, &other, "POST", "feedback", Some(&body)).code(), "other_dialog");
    assert_eq!(as_agent(&stage, &own, "GET", "feedback?dialog=d1", None).json(), waits);
    let taken = as_agent(&stage, &own, "POST", "feedback", Some(&body)).json();
    assert_eq!((&taken["text"], &taken["taken"]), (&waits["text"], &json!(true)));
    assert_eq!(taken["rejections"], waits["rejections"]);
    let again = stage.done("feedback", &body);
    assert_eq!((&again["text"], &again["taken"]), (&json!(""), &json!(false)));
    let heard = stage.got("comments")["comments"][0]["heard"].clone();
    assert!(heard.is_u64(), "{heard}");
    assert_eq!(stage.get("feedback?dialog=none").code(), "unknown_dialog");
}

#[test]
fn comments_and_feedback_hold_no_secrets() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let stage = Stage::new(TURN);
    stage.done("comments", &json!({ "text": format!("use {secret}"), "dialog": "d1" }));
    stage.done("comments/send", &json!({}));
    for path in ["comments", "feedback?dialog=d1", "review/report"] {
        let told = stage.get(path).body;
        assert!(told.contains("•••") && !told.contains("ghp_01234"), "{path}: {told}");
    }
    assert!(stage.get("comments?reveal=true").body.contains(secret));
}
