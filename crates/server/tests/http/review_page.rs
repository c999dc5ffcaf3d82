//! Two pages of one review: what is decided on one of them, the other hears, and asks again.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use retake_engine::model::Millis;
use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

use crate::client::{Ask, connect};
use crate::hunks::{TURN, hunks_of, named};
use crate::stage::Stage;

/// Kinds of events by which a page of a review knows what to ask for again.
const KINDS: &str = "hunks_reviewed,review_seen,rejection_queue,review_comment,feedback_heard";

/// Moments after the story, whose turn is open.
fn soon() -> Millis {
    1_700_000_100_000
}

/// The event stream of a page.
struct Listener(BufReader<TcpStream>);

impl Listener {
    /// Follows what is recorded after the query's place; returns when the stream has begun.
    fn open(stage: &Stage, query: &str) -> Self {
        let mut socket = connect(stage.address());
        let (path, host, token) =
            (stage.path(&format!("events?{query}")), stage.address(), stage.human());
        // Without chunks, each line is one of the stream.
        let request =
            format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        let mut listener = Self(BufReader::new(socket));
        assert!(listener.line().contains(" 200 "));
        while !listener.line().starts_with("id: ") {}
        listener
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
        line.trim_end().to_owned()
    }

    /// The next event.
    fn next(&mut self) -> Value {
        loop {
            if let Some(data) = self.line().strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    /// The next event, which has this name.
    #[track_caller]
    fn hear(&mut self, name: &str) -> Value {
        let event = self.next();
        assert_eq!(event["type"], name, "{event}");
        event
    }
}

#[test]
fn what_is_decided_on_one_page_the_other_hears_and_asks_again() {
    let project = TestProject::new();
    play(&project, TURN.trim_end().trim_end_matches("turn-end d1"));
    let stage = Stage::with_clock(project, soon);
    let agent = stage.mint(Some("d1"));
    let mut page = Listener::open(&stage, &format!("kinds={KINDS}"));
    let shown = hunks_of(&stage, "all", "a.txt");

    // The other page keeps the first place.
    stage.done("review/keep", &json!({ "hunks": [named(&shown[0], "a.txt")] }));
    let heard = page.hear("hunks_reviewed");
    let file_path = stage.project.root().join("a.txt");
    assert_eq!((&heard["path"], &heard["reviewed"]), (&json!("a.txt"), &json!(true)));
    assert_eq!(heard["file_path"], file_path.to_str().unwrap());
    assert_eq!(heard["hunks"], json!([shown[0]["id"]]));
    let shown = hunks_of(&stage, "all", "a.txt");
    assert_eq!((&shown[0]["reviewed"], &shown[1]["reviewed"]), (&json!(true), &json!(false)));

    let seen = stage.done("review/seen", &json!({}))["seen"].clone();
    let heard = page.hear("review_seen");
    assert_eq!(heard["seen"], seen);
    assert!(heard["seq"].as_u64() > seen.as_u64(), "its own place is another: {heard}");

    // It rejects the second place while the agent works.
    let reject = json!({ "hunks": [named(&shown[1], "a.txt")], "reason": "not this" });
    let waits = stage.done("review/reject", &reject)["queued"][0].clone();
    let heard = page.hear("rejection_queue");
    assert_eq!((&heard["rejection"], &heard["state"]), (&waits["id"], &json!("waiting")));
    assert_eq!(hunks_of(&stage, "all", "a.txt")[1]["queued"], waits["id"]);
    stage.done("events", &json!({ "events": [{ "event": "turn_end", "dialog": "d1" }] }));
    let heard = page.hear("rejection_queue");
    assert_eq!((&heard["rejection"], &heard["state"]), (&waits["id"], &json!("done")));
    assert_eq!(hunks_of(&stage, "all", "a.txt"), shown[..1]);

    // It comments, and the agent hears both.
    stage.done("comments", &json!({ "path": "new.txt", "text": "why?" }));
    let heard = page.hear("review_comment");
    assert_eq!(
        (&heard["comment"], &heard["what"], &heard["dialog"]),
        (&json!(1), &json!("draft"), &json!("d1"))
    );
    stage.done("comments/send", &json!({}));
    assert_eq!(page.hear("review_comment")["what"], "sent");
    let take = Ask::new("POST", &stage.path("feedback")).token(&agent);
    let taken = stage.send(&take.json(&json!({ "dialog": "d1" }))).json();
    let heard = page.hear("feedback_heard");
    assert_eq!((&heard["dialog"], &heard["channel"]), (&json!("d1"), &json!("asked")));
    assert_eq!((&heard["comments"], &heard["rejections"]), (&json!([1]), &taken["rejections"]));
    assert_eq!(stage.got("feedback?dialog=d1")["text"], "");

    stage.done("review/forget", &json!({ "path": "a.txt" }));
    let heard = page.hear("rejection_queue");
    assert_eq!((&heard["path"], &heard["file_path"]), (&json!("a.txt"), &json!(file_path)));

    // Of one file a page hears what was marked in it, and what names no file.
    let mut narrow = Listener::open(&stage, &format!("after=0&path=new.txt&kinds={KINDS}"));
    assert_eq!(narrow.hear("review_seen")["seen"], seen);
    let mut same = Listener::open(&stage, &format!("after=0&path=a.txt&kinds={KINDS}"));
    assert_eq!(same.hear("hunks_reviewed")["path"], "a.txt");
}
