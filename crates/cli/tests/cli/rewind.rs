//! `restore`, `undo` and `redo` with the conversation, which agents' own records tell.

use serde_json::{Value, json};

use crate::hook::{claude, prompt, write_call};
use crate::support::World;

const DATABASE: &str = "retake.db";

/// Two turns of Claude Code, with its own record of the conversation growing alongside.
struct Told {
    world: World,
    lines: Vec<Value>,
}

impl Told {
    fn two_turns() -> Self {
        let mut told = Self { world: World::with(&[("a.txt", "zero\n")]), lines: Vec::new() };
        told.turn("do one", "one");
        told.turn("do two", "two");
        told
    }

    fn say(&self, what: &Value) {
        let transcript = self.world.outer().join("person/talk.jsonl");
        let lines: Vec<_> = self.lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&transcript, lines.concat()).unwrap();
        let mut what = what.clone();
        what["transcript_path"] = json!(transcript);
        claude(&self.world, &what);
    }

    fn line(&mut self, role: &str, content: &Value) {
        let id = format!("m{}", self.lines.len());
        let message = json!({ "id": id, "role": role, "content": content });
        let line = json!({ "type": role, "isSidechain": false, "message": message });
        self.lines.push(line);
    }

    fn turn(&mut self, asked: &str, answer: &str) {
        let content = format!("{answer}\n");
        self.say(&prompt(asked));
        self.line("user", &json!(asked));
        let call = |event: &str| {
            let mut call = write_call(event, "a.txt", &content);
            call["tool_use_id"] = json!(answer);
            call
        };
        self.say(&call("PreToolUse"));
        self.world.write("a.txt", &content);
        self.say(&call("PostToolUse"));
        let call = json!({ "type": "tool_use", "id": answer, "name": "Write", "input": { "content": content } });
        self.line(
            "assistant",
            &json!([{ "type": "text", "text": format!("writing {answer}") }, call]),
        );
        self.line(
            "user",
            &json!([{ "type": "tool_result", "tool_use_id": answer, "content": "done" }]),
        );
        self.line("assistant", &json!([{ "type": "text", "text": format!("wrote {answer}") }]));
        self.say(&json!({ "hook_event_name": "Stop" }));
    }

    fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.world.store().join(DATABASE)).unwrap()
    }

    fn count(&self, sql: &str) -> i64 {
        self.database().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// What a verb says about the conversation.
    fn conversation(&self, arguments: &[&str]) -> Value {
        let ran = self.world.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.json()["conversation"].clone()
    }
}

#[test]
fn what_the_model_got_is_taken_in_as_the_agent_writes_it_down() {
    let mut told = Told::two_turns();
    let sql = "SELECT count(*) FROM message WHERE history = 'model' AND agent = 'main'";
    assert_eq!(told.count(sql), 8, "each message once");
    assert_eq!(told.count("SELECT max(place) FROM message"), 7);
    let indexed = "SELECT group_concat(coalesce(message_index, '-'), ' ') FROM
        (SELECT message_index FROM message ORDER BY place)";
    let indices: String = told.database().query_row(indexed, [], |row| row.get(0)).unwrap();
    assert_eq!(indices, "0 1 - 2 3 4 - 5");
    // Unless it is not wanted.
    std::fs::write(told.world.home().join("config.toml"), "[history]\nkeep = false\n").unwrap();
    told.turn("do three", "three");
    assert_eq!(told.count(sql), 8);
    // What was missed is read when it is wanted again.
    std::fs::remove_file(told.world.home().join("config.toml")).unwrap();
    told.turn("do four", "four");
    assert_eq!(told.count(sql), 16);
}

#[test]
fn a_long_record_is_read_in_parts_and_a_rewritten_one_anew() {
    let mut told = Told::two_turns();
    let long = "x".repeat(700 * 1024);
    for _ in 0..4 {
        told.line("user", &json!(long));
        told.line("assistant", &json!([{ "type": "text", "text": "seen" }]));
    }
    told.line("user", &json!(long.repeat(4)));
    told.turn("do three", "three");
    let sql = "SELECT count(*) FROM message WHERE history = 'model' AND agent = 'main'";
    assert_eq!(told.count(sql), 8 + 9 + 4);
    // Rewritten in place, with the same length.
    for line in &mut told.lines[8..] {
        let text = line.to_string().replace("seen", "SEEN").replace("done", "DONE");
        *line = serde_json::from_str(&text).unwrap();
    }
    told.turn("do four", "four");
    let shown = told.world.ok(&["history", "--model", "--limit", "1000"]);
    for (text, is_shown) in [("SEEN", true), ("seen", false), ("wrote four", true)] {
        assert_eq!(shown.contains(text), is_shown, "{text}");
    }
    assert!(told.world.ok(&["history", "--model", "--whole", "--limit", "1000"]).contains("seen"));
}

#[test]
fn undo_takes_the_conversation_along_and_redo_brings_it_back() {
    let told = Told::two_turns();
    let world = &told.world;
    let planned = told.conversation(&["undo", "--both", "--dry-run"]);
    assert_eq!((&planned["done"], &planned["hidden"]), (&Value::Null, &json!(4)));
    assert_eq!(told.count("SELECT count(*) FROM conversation_view"), 0, "it was only shown");
    assert!(world.ok(&["undo", "--both", "--dry-run"]).contains("would be hidden"));
    let text = world.ok(&["undo", "--both"]);
    assert!(text.contains("From “do two” on the conversation of s1"), "{text}");
    assert!(text.contains("`retake history back`"), "{text}");
    assert!(text.contains("`retake redo --both`"), "{text}");
    assert_eq!(world.read("a.txt"), "one\n");
    let done = told.conversation(&["redo", "--both"]);
    assert_eq!((&done["brings_back"], &done["done"]), (&json!(true), &json!(true)));
    assert_eq!(world.read("a.txt"), "two\n");
    assert_eq!(told.conversation(&["undo"]), Value::Null, "only if it is asked for");
}

#[test]
fn the_conversation_alone_leaves_every_file_and_status_as_it_is() {
    let told = Told::two_turns();
    let log = told.world.ok(&["log", "--json"]);
    let done = told.conversation(&["undo", "--conversation"]);
    assert_eq!(
        (&done["kept"], &done["hidden"], &done["unsaid"]),
        (&json!(4), &json!(4), &json!(3))
    );
    assert_eq!(done["before"], "do two");
    assert_eq!(told.world.read("a.txt"), "two\n");
    assert_eq!(told.world.ok(&["log", "--json"]), log);
    assert_eq!(told.world.run(&["ops", "--json"]).json(), json!({ "operations": [] }));
    let again = told.world.ok(&["undo", "--conversation"]);
    assert!(again.starts_with("Nothing of the conversation of s1"), "{again}");
    assert_eq!(told.world.run(&["undo", "--both", "--conversation"]).code, 2);
    let several = told.world.run(&["undo", "2", "--conversation"]);
    assert!(several.code == 2 && several.stderr.contains("one step"), "{}", several.stderr);
}

#[test]
fn restore_cuts_the_conversation_at_its_message() {
    let told = Told::two_turns();
    let restore = ["restore", "--before-message", "2"];
    let text = told.world.ok(&[&restore[..], &["--both", "--yes"]].concat());
    assert!(text.contains("From “do two” on"), "{text}");
    assert_eq!(told.world.read("a.txt"), "one\n");
    // What undoes the restore brings the conversation back.
    let back = told.conversation(&["undo", "--both"]);
    assert_eq!((&back["brings_back"], &back["done"]), (&json!(true), &json!(true)));
    assert_eq!(told.world.read("a.txt"), "two\n");
    let first = told.conversation(&["restore", "--before-message", "1", "--conversation"]);
    assert_eq!((&first["kept"], &first["hidden"]), (&json!(0), &json!(8)));
    assert_eq!(told.world.read("a.txt"), "two\n");
}
