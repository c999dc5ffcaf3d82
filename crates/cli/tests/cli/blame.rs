//! Who wrote each line.

use expect_test::expect;
use serde_json::json;

use crate::support::World;

fn story() -> World {
    let world = World::with(&[("a.txt", "one\ntwo\n"), ("bin", "a\0b\n")]);
    let told = |event: serde_json::Value| assert_eq!(world.feed(event.to_string()).code, 0);
    told(json!({ "event": "dialog_start", "dialog": "d1", "kind": "claude-code" }));
    told(json!({ "event": "user_message", "dialog": "d1", "text": "add three" }));
    world.shell("k1", "printf 'three\\n\\tfour\\n' >> a.txt");
    world.write("a.txt", "one\n2\nthree\n\tfour\n");
    world.ok(&["log"]);
    let long = "0123456789abcdef0123456789abcdef";
    told(json!({ "event": "tool_begin", "dialog": long, "agent": "helper", "call": "k2",
        "tool": "Write", "input": { "file_path": "a.txt", "content": "0\none\n2\nthree\n\tfour\n" } }));
    world.write("a.txt", "0\none\n2\nthree\n\tfour\n");
    told(json!({ "event": "tool_end", "dialog": long, "agent": "helper", "call": "k2" }));
    world
}

#[test]
fn blame_says_who_wrote_each_line() {
    let world = story();
    expect![[r#"
        c12  dialog-2/helper          Write  DATE TIME  | 1 | 0
        -    before                                               | 2 | one
        c9   you                             DATE TIME  | 3 | 2
        c7   d1               turn 1  Bash   DATE TIME  | 4 | three
        c7   d1               turn 1  Bash   DATE TIME  | 5 | 	four
    "#]]
    .assert_eq(&world.normal(&world.ok(&["blame", "a.txt"])));
    expect![[r#"
        -   before                       | 2 | one
        c9  you     DATE TIME  | 3 | 2
    "#]]
    .assert_eq(&world.normal(&world.ok(&["blame", "-L", "2,3", "a.txt"])));
    let count = |lines: &str| world.ok(&["blame", "a.txt", "-L", lines]).lines().count();
    assert_eq!([",2", "4", "2,+2", "3,99", "5,5"].map(count), [2, 2, 2, 3, 1]);
}

#[test]
fn blame_in_json_names_the_message_that_asked_for_it() {
    let world = story();
    let blame = world.run(&["blame", "a.txt", "--json", "-L", "2,4"]).json();
    let log = world.run(&["log", "--json", "--oldest-first"]).json();
    let [agent, user] = [0, 1].map(|at| log["changes"][at].clone());
    assert_eq!(blame["path"], "a.txt");
    assert_eq!(
        blame["lines"],
        json!([
            { "number": 2, "text": "one", "origin": "baseline", "change": null },
            { "number": 3, "text": "2", "origin": "change", "change": user["id"] },
            { "number": 4, "text": "three", "origin": "change", "change": agent["id"] },
        ])
    );
    let changes = blame["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 2, "only those that the lines name");
    assert_eq!((&agent["kind"], &agent["turn"]), (&json!("claude-code"), &json!(1)));
    let mut expected = agent;
    let [seq, checkpoint] = ["seq", "checkpoint"].map(|key| &changes[0]["message"][key]);
    expected["message"] = json!({
        "seq": seq, "text": "add three", "message_index": null, "checkpoint": checkpoint,
        "session": "session_1",
    });
    assert!(seq.is_u64() && checkpoint.is_string());
    assert_eq!(changes[0], expected);
    assert_eq!((&changes[1]["actor"], &changes[1]["turn"]), (&json!("user"), &json!(null)));
}

#[test]
fn blame_of_what_has_no_lines_says_why() {
    let world = story();
    world.write("src/x", "x\n");
    world.write("gone", "x\n");
    world.ok(&["log"]);
    std::fs::remove_file(world.root().join("gone")).unwrap();
    let rows = [
        (&["blame", "nowhere"][..], "not_tracked", "status --ignored"),
        (&["blame", "gone"], "not_tracked", "log --file gone"),
        (&["blame", "src"], "not_tracked", "name a file in it"),
        (&["blame", "."], "not_a_file", "name a file"),
        (&["blame", "../x"], "outside_project", "name a file"),
        (&["blame", "bin"], "binary", "log --file bin"),
        (&["blame", "a.txt", "-L", "6,8"], "no_such_line", "-L"),
    ];
    for (command, code, hint) in rows {
        let ran = world.run(command);
        assert_eq!(ran.code, 1, "{command:?}");
        assert!(ran.stdout.is_empty() && ran.stderr.contains(hint), "{command:?} {}", ran.stderr);
        let ran = world.run(&[command, &["--json"]].concat());
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!(code)), "{command:?}");
    }
    for lines in ["0,3", "5,2", "x", "1,+0", ",", "-1"] {
        assert_eq!(world.run(&["blame", "a.txt", &format!("-L{lines}")]).code, 2, "{lines}");
    }
}
