//! `retake event`: every line is answered, nothing is lost.

use serde_json::{Value, json};

use crate::support::World;

fn codes(replies: &[Value]) -> Vec<String> {
    let code = |reply: &Value| match reply["ok"].as_bool() {
        Some(true) => "ok".to_owned(),
        _ => format!("{}@{}", reply["error"]["code"].as_str().unwrap(), reply["line"]),
    };
    replies.iter().map(code).collect()
}

#[test]
fn a_bad_line_is_answered_and_the_rest_goes_on() {
    let world = World::with(&[("a.txt", "one\n")]);
    let mut input = Vec::new();
    input.extend(b"{\"event\":\"dialog_start\",\"dialog\":\"d1\"}\n");
    input.extend(b"no json\n");
    input.extend(b"\n   \n");
    input.extend(b"{\"event\":\"dance\",\"dialog\":\"d1\"}\n");
    input.extend(b"{\"event\":\"user_message\",\"text\":\"x\"}\n");
    input.extend(b"[1,2]\n");
    input.extend(b"{\"event\":\"user_message\",\"dialog\":\"d\xff\",\"text\":\"x\"}\n");
    input.extend(b"{\"event\":\"tool_end\",\"dialog\":\"d1\",\"call\":\"never-begun\"}\n");
    let outside = json!({ "event": "tool_begin", "dialog": "d1", "call": "o", "tool": "Write",
        "input": { "file_path": "/etc/passwd", "content": "" } });
    input.extend(format!("{outside}\n").bytes());
    input.extend(b"{\"event\":\"dialog_end\",\"dialog\":\"d1\"}"); // and no newline at the end
    let ran = world.feed(input);
    assert_eq!(ran.code, 3);
    let replies = ran.lines();
    assert_eq!(
        codes(&replies),
        [
            "ok",
            "bad_json@2",
            "bad_event@5",
            "bad_event@6",
            "bad_event@7",
            "bad_json@8",
            "unknown_call@9",
            "outside_project@10",
            "ok"
        ]
    );
    assert!(replies[6]["seq"].is_u64() && replies[6]["changes"].is_array(), "{}", replies[6]);
    for reply in replies.iter().filter(|reply| reply["ok"] == false) {
        assert!(reply["error"]["hint"].is_string(), "{reply}");
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_is_taken() {
    let world = World::with(&[]);
    let mut input = br#"{"event":"user_message","dialog":"d1","text":""#.to_vec();
    input.resize(17 * 1024 * 1024, b'x');
    input.extend(b"\"}\n{\"event\":\"dialog_end\",\"dialog\":\"d1\"}\n");
    let ran = world.feed(input);
    assert_eq!(codes(&ran.lines()), ["too_long@1", "ok"]);
    assert_eq!(ran.code, 3);
}

#[test]
fn an_agents_write_is_answered_with_its_change() {
    let world = World::with(&[("a.txt", "one\n")]);
    let begin = json!({ "event": "tool_begin", "dialog": "d1", "agent": "a1", "kind": "my-agent", "call": "c1",
        "tool": "Write", "input": { "file_path": "a.txt", "content": "two\n" }, "cwd": world.root() });
    assert_eq!(world.feed(begin.to_string()).code, 0);
    world.write("a.txt", "two\n");
    let ran =
        world.feed(r#"{"event":"tool_end","dialog":"d1","agent":"a1","call":"c1","ok":true}"#);
    let reply = &ran.lines()[0];
    let change = &reply["changes"][0];
    assert_eq!(
        (
            &change["actor"],
            &change["confidence"],
            &change["path"],
            &change["call"],
            &change["agent"]
        ),
        (&json!("agent"), &json!("certain"), &json!("a.txt"), &json!("c1"), &json!("a1"))
    );
    assert_eq!(reply["ok"], true);
    assert_eq!(reply["warnings"], json!([]));
}

#[test]
fn the_events_folder_says_which_project_and_initialises_it() {
    let world = World::new();
    let inner = world.root().join("inner");
    std::fs::create_dir_all(inner.join("deep")).unwrap();
    retake_testkit::git::run(&inner, &["init", "--quiet"]);
    let event =
        json!({ "event": "user_message", "dialog": "d1", "text": "hi", "cwd": inner.join("deep") });
    assert_eq!(world.feed(event.to_string()).code, 0);
    let status = world.command_in(&inner, &["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["root"], json!(inner));
    // The folder above was not initialised with it.
    assert_eq!(world.run(&["status", "--json"]).json()["error"]["code"], "not_a_project");
}

#[test]
fn a_home_folder_is_never_initialised_by_an_event() {
    let world = World::new();
    let event = json!({ "event": "user_message", "dialog": "d1", "text": "hi", "cwd": world.outer().join("person") });
    let ran = world.feed(event.to_string());
    assert_eq!(codes(&ran.lines()), ["too_broad@1"]);
    assert_eq!(ran.code, 1);
}

#[test]
fn what_nobody_reads_is_recorded_all_the_same() {
    use std::io::Write as _;
    let world = World::with(&[]);
    let mut child = world.spawn_event();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    for number in 0..20 {
        writeln!(stdin, r#"{{"event":"user_message","dialog":"d1","text":"{number}"}}"#).unwrap();
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let dialogs = world.run(&["dialogs", "--json"]).json();
    assert_eq!(dialogs["dialogs"][0]["turns"], 20);
}

#[test]
fn the_end_of_a_turn_carries_out_the_rejections_that_waited_for_it() {
    let world = World::with(&[("a.txt", "one\n")]);
    world.say("d1", "go");
    world.shell("k1", "echo two > a.txt");
    let change = world.change_of("a.txt");
    let queued = world.run(&["reject", &change, "--wait", "--json"]).json();
    assert_eq!(queued["entries"][0]["state"], "waiting", "{queued}");
    assert_eq!(world.read("a.txt"), "two\n");
    world.feed(json!({ "event": "turn_end", "dialog": "d1" }).to_string());
    assert_eq!(world.read("a.txt"), "one\n");
    let queue = world.run(&["review", "--queue", "--json"]).json();
    assert_eq!(queue["entries"][0]["state"], "done", "{queue}");
}
