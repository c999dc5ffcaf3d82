//! Conversations: taken in, written, condensed and brought back, by the real program.

use std::path::{Path, PathBuf};

use retake_testkit::stub_server::{StubResponse, StubServer};
use retake_testkit::sweep;
use serde_json::{Value, json};

use crate::support::{Ran, World, ran};

const FORMS: [&str; 7] =
    ["claude-code", "codex", "gemini", "opencode", "copilot", "cline", "api_conversation_history"];

/// A conversation with all that agents do.
fn conversation() -> Value {
    json!([
        { "role": "user", "content": [{ "type": "text", "text": "Fix the bug, bitte: ü" }],
          "ts": 1_700_000_000_000_u64 },
        { "role": "assistant", "content": [
            { "type": "text", "text": "I look first." },
            { "type": "tool_use", "id": "call_1", "name": "Read", "input": { "file_path": "a.rs" } },
        ], "ts": 1_700_000_001_000_u64 },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "call_1", "content": "fn a() {}" },
        ], "ts": 1_700_000_002_000_u64 },
        { "role": "assistant", "content": [{ "type": "text", "text": "It is fixed." }],
          "ts": 1_700_000_003_000_u64 },
        { "role": "user", "content": [{ "type": "text", "text": "Thanks. And now?" }],
          "ts": 1_700_000_004_000_u64 },
        { "role": "assistant", "content": [{ "type": "text", "text": "Nothing is left." }],
          "ts": 1_700_000_005_000_u64 },
    ])
}

impl World {
    /// A file beside the project.
    fn beside(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.outer().join("files").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn import(&self, path: &Path, more: &[&str]) -> Ran {
        let mut arguments = vec!["history", "import", path.to_str().unwrap()];
        arguments.extend(more);
        self.run(&arguments)
    }

    /// What the model gets, as roles with their texts, calls and results.
    fn model(&self, dialog: &str, more: &[&str]) -> Vec<Value> {
        let mut arguments = vec!["history", "--model", "--json", "--dialog", dialog];
        arguments.extend(more);
        let history = self.run(&arguments).json();
        let essence = |block: &Value| match block["type"].as_str().unwrap() {
            "text" => Some(block["text"].clone()),
            "tool_use" => Some(json!([block["name"], block["input"]])),
            "tool_result" => Some(match &block["content"] {
                Value::Array(blocks) => json!(["result", blocks[0]["text"]]),
                text => json!(["result", text]),
            }),
            _ => None,
        };
        let messages = history["messages"].as_array().unwrap().iter();
        messages
            .map(|message| {
                let blocks = message["content"].as_array().unwrap();
                json!([message["role"], blocks.iter().filter_map(essence).collect::<Vec<_>>()])
            })
            .collect()
    }
}

/// A world that has the conversation as dialog `talk`.
fn told() -> World {
    let world = World::with(&[("a.rs", "fn a() {}\n")]);
    let file = world.beside("api_conversation_history.json", conversation().to_string());
    let imported = world.import(&file, &["--dialog", "talk"]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    world
}

#[test]
fn every_form_goes_out_and_comes_in_again() {
    let world = told();
    let expected = world.model("talk", &[]);
    assert_eq!(expected.len(), 6);
    for form in FORMS {
        let written = world.ok(&["history", "export", "--dialog", "talk", "--form", form]);
        let other = World::with(&[]);
        let file = other.beside("talk.txt", &written);
        let imported = other.import(&file, &["--dialog", "copy", "--json"]);
        assert_eq!(imported.code, 0, "{form}: {}", imported.stderr);
        assert_eq!(imported.json()["form"], form);
        assert_eq!(other.model("copy", &[]), expected, "{form}");
        // Once more adds nothing, and changes nothing.
        let again = other.import(&file, &["--dialog", "copy", "--json"]).json();
        assert_eq!((&again["added"], &again["known"]), (&json!(0), &json!(6)), "{form}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
        let said = other.ok(&["history", "--dialog", "copy"]);
        assert!(said.contains("Fix the bug, bitte: ü") && said.contains("It is fixed."), "{said}");
    }
}

#[test]
fn what_people_see_goes_out_and_comes_in_again() {
    let world = told();
    let written = world.ok(&["history", "export", "--dialog", "talk", "--form", "ui_messages"]);
    let shown: Vec<Value> = serde_json::from_str(&written).unwrap();
    let texts: Vec<_> = shown.iter().map(|one| one["text"].as_str().unwrap()).collect();
    let expected = [
        "Fix the bug, bitte: ü",
        "I look first.",
        "Read a.rs",
        "It is fixed.",
        "Thanks. And now?",
        "Nothing is left.",
    ];
    assert_eq!(texts, expected);
    // The folder of a task is taken in whole, under its own name.
    let other = World::with(&[]);
    other.beside("tasks/t-1/ui_messages.json", &written);
    other.beside("tasks/t-1/task_metadata.json", "{}");
    let file = other.beside("tasks/t-1/api_conversation_history.json", conversation().to_string());
    let imported = other.import(file.parent().unwrap(), &[]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    assert!(imported.stderr.contains("retake context import"), "{}", imported.stderr);
    let out = other.ok(&["history", "export", "--dialog", "t-1", "--form", "ui_messages"]);
    assert_eq!(serde_json::from_str::<Vec<Value>>(&out).unwrap(), shown);
    assert_eq!(other.model("t-1", &[]).len(), 6);
}

#[test]
fn a_broken_file_loses_nothing_and_is_named() {
    let world = told();
    for form in FORMS {
        let written = world.ok(&["history", "export", "--dialog", "talk", "--form", form]);
        let name = |kind: &str| format!("{form}-{kind}.txt");
        let half = &written[..written.floor_char_boundary(written.len() * 3 / 4)];
        let cases = [
            ("empty", Vec::new()),
            ("cut", half.as_bytes().to_vec()),
            ("garbage", b"\x00\xff not a conversation".to_vec()),
        ];
        for (kind, content) in cases {
            let file = world.beside(&name(kind), &content);
            let imported = world.import(&file, &["--form", form, "--dialog", &name(kind)]);
            let seen = format!("{form}, {kind}: {}", imported.stderr);
            assert!(imported.stderr.contains(file.to_str().unwrap()), "{seen}");
            assert_eq!(std::fs::read(&file).unwrap(), content, "{seen}");
            let dialogs = world.ok(&["dialogs"]);
            match imported.code {
                // What is whole was taken in, and the rest is told.
                3 => {
                    assert_eq!(kind, "cut", "{seen}");
                    assert!(imported.stderr.contains("line "), "{seen}");
                    let taken = world.model(&name(kind), &[]);
                    assert_eq!(taken[0], world.model("talk", &[])[0], "{seen}");
                }
                1 => assert!(!dialogs.contains(&name(kind)), "{seen}"),
                code => panic!("{code} {seen}"),
            }
        }
    }
    let nothing = world.beside("api_conversation_history.json", "[]");
    let imported = world.import(&nothing, &["--dialog", "empty-one"]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    assert!(imported.stderr.contains("dialog empty-one is empty"), "{}", imported.stderr);
    let unnamed = world.import(&nothing, &[]);
    assert!(unnamed.code == 1 && unnamed.stderr.contains("--dialog"), "{}", unnamed.stderr);
}

#[test]
fn another_conversation_is_not_mixed_in_and_files_are_not_overwritten() {
    let world = told();
    let mut other = conversation();
    other[4]["content"][0]["text"] = json!("I meant something else.");
    let file = world.beside("other.json", other.to_string());
    let before = world.model("talk", &["--whole"]);
    let refused = world.import(&file, &["--dialog", "talk"]);
    assert!(refused.code == 1 && refused.stderr.contains("message 4"), "{}", refused.stderr);
    assert_eq!(world.model("talk", &["--whole"]), before);
    let planned = world.import(&file, &["--dialog", "new", "--dry-run"]);
    assert!(planned.code == 0 && !world.ok(&["dialogs"]).contains("new"), "{}", planned.text());

    let path = file.to_str().unwrap();
    let export = ["history", "export", "--dialog", "talk", "--output", path];
    let refused = world.run(&export);
    assert!(refused.code == 1 && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), other.to_string());
    let told = world.ok(&[&export[..], &["--force"]].concat());
    assert!(told.contains("other.json.bak"), "{told}");
    let kept = std::fs::read_to_string(file.with_extension("json.bak")).unwrap();
    assert_eq!(kept, other.to_string(), "nothing is lost by it");
    assert!(world.ok(&export).contains("Nothing new"));

    // A link is followed; what is no file is neither waited for nor replaced.
    let (link, pipe) = (world.outer().join("link.json"), world.outer().join("pipe"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let to = |path: &Path| {
        let path = path.to_str().unwrap();
        world.run(&["history", "export", "--dialog", "talk", "--force", "--output", path])
    };
    std::fs::write(&file, "other").unwrap();
    assert_eq!(to(&link).code, 0);
    assert!(link.is_symlink() && std::fs::read(&file).unwrap() != b"other");
    for other in [&pipe, Path::new("/dev/null"), &world.outer()] {
        let refused = to(other);
        assert!(
            refused.code == 1 && refused.stderr.contains("no regular file"),
            "{}",
            refused.text()
        );
    }
    assert_eq!(world.run(&["history", "--dialog", ""]).code, 2);
    assert_eq!(world.run(&["context", "--dialog", ""]).code, 2);
}

#[test]
fn the_old_file_of_a_task_is_migrated_wherever_it_is_killed() {
    let counted = World::with(&[]);
    let old = counted.beside("tasks/t-1/claude_messages.json", conversation().to_string());
    let steps = counted.outer().join("steps");
    let arguments = ["history", "import", old.to_str().unwrap()];
    let whole = counted.command(&arguments).env("RETAKE_COUNT_STEPS", &steps).output().unwrap();
    assert!(whole.status.success(), "{}", ran(whole).stderr);
    let steps = sweep::kill_points(&std::fs::read_to_string(steps).unwrap());
    assert!(steps.len() > 5, "{steps:?}");
    for step in steps {
        let world = World::with(&[]);
        let text = conversation().to_string();
        let old = world.beside("tasks/t-1/claude_messages.json", &text);
        let folder = old.parent().unwrap();
        let arguments = ["history", "import", old.to_str().unwrap()];
        let killed =
            world.command(&arguments).env("RETAKE_KILL_AT", step.number.to_string()).output();
        assert_eq!(killed.unwrap().status.code(), None, "{step:?}");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        match read("claude_messages.json") {
            Some(there) => assert_eq!(there, text, "{step:?}"),
            None => assert_eq!(read("claude_messages.json.bak").as_ref(), Some(&text)),
        }
        if let Some(new) = read("api_conversation_history.json") {
            assert_eq!(serde_json::from_str::<Value>(&new).unwrap(), conversation(), "{step:?}");
        }
        // Asking again ends it well.
        let again = world.import(folder, &[]);
        assert_eq!(again.code, 0, "{step:?}: {}", again.stderr);
        assert_eq!(world.model("t-1", &[]).len(), 6, "{step:?}");
        assert!(read("api_conversation_history.json").is_some(), "{step:?}");
        assert_eq!(
            read("claude_messages.json").or_else(|| read("claude_messages.json.bak")).as_ref(),
            Some(&text),
            "{step:?}"
        );
    }
}

#[test]
fn the_new_file_of_a_task_wins_and_a_broken_old_one_stays() {
    let world = World::with(&[]);
    let old = world.beside("tasks/t-1/claude_messages.json", "[{");
    let broken = world.import(&old, &[]);
    assert_eq!(broken.code, 1);
    assert!(broken.stderr.contains("line 1, column 2"), "{}", broken.stderr);
    let new = world.beside("tasks/t-1/api_conversation_history.json", conversation().to_string());
    let imported = world.import(&old, &[]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    assert!(imported.stderr.contains("is left as it is"), "{}", imported.stderr);
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "[{");
    assert_eq!(std::fs::read_to_string(&new).unwrap(), conversation().to_string());
    // A backup that is there is not replaced.
    let other = World::with(&[]);
    let old = other.beside("tasks/t-2/claude_messages.json", conversation().to_string());
    let backup = other.beside("tasks/t-2/claude_messages.json.bak", "older");
    assert!(other.import(&old, &[]).stderr.contains("claude_messages.json.bak1"));
    assert_eq!(std::fs::read_to_string(backup).unwrap(), "older");
}

#[test]
fn an_old_file_is_migrated_without_times_and_stays_if_a_part_is_unreadable() {
    let world = World::with(&[]);
    let mut timeless = conversation();
    for message in timeless.as_array_mut().unwrap() {
        message.as_object_mut().unwrap().remove("ts");
    }
    let old = world.beside("tasks/t-1/claude_messages.json", timeless.to_string());
    let imported = world.import(&old, &[]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    assert!(!old.exists() && old.with_extension("json.bak").exists());
    let new = std::fs::read(old.with_file_name("api_conversation_history.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&new).unwrap(), timeless);

    let mut partly = conversation();
    partly[5] = json!("no message");
    let old = world.beside("tasks/t-2/claude_messages.json", partly.to_string());
    let imported = world.import(&old, &[]);
    assert_eq!(imported.code, 3, "{}", imported.stderr);
    assert!(imported.stderr.contains("is left as it is"), "{}", imported.stderr);
    assert!(old.exists() && !old.with_file_name("api_conversation_history.json").exists());
}

#[test]
fn a_summary_stands_for_messages_and_goes_again() {
    let world = told();
    let all = world.model("talk", &[]);
    let nobody = world.run(&["history", "condense", "--dialog", "talk", "--yes"]);
    assert!(nobody.code == 1 && nobody.stderr.contains("summary.url"), "{}", nobody.stderr);
    let answer = json!({ "choices": [
        { "message": { "content": "A bug was fixed." }, "finish_reason": "stop" } ] });
    let busy = StubResponse::Plain(429, "retry-after: 1", String::new());
    let server = StubServer::start([busy, StubResponse::Json(200, answer)]);
    settings(&world, &server.url(), "openai");
    let condense = ["history", "condense", "--dialog", "talk", "--keep", "2"];
    let planned = world.ok(&[&condense[..], &["--dry-run"]].concat());
    assert!(planned.contains("4 messages"), "{planned}");
    let unasked = world.run(&condense);
    assert!(unasked.code == 3 && unasked.stderr.contains("--yes"), "{}", unasked.stderr);
    assert!(server.requests().is_empty());

    let done = keyed(&world, &[&condense[..], &["--yes", "--json"]].concat());
    assert_eq!(done.code, 0, "{}", done.stderr);
    let done = done.json();
    assert_eq!((&done["how"], &done["replaced"]), (&json!("summary"), &json!(4)));
    assert_eq!(server.requests().len(), 2);
    let shown = world.model("talk", &[]);
    let summary = json!(["user", ["[Previous conversation summary]\nA bug was fixed."]]);
    assert_eq!(shown, [vec![summary], all[4..].to_vec()].concat());
    // The log has all of it, and the summary.
    assert_eq!(world.model("talk", &["--whole"])[..6], all);
    assert!(world.ok(&["history", "--views", "--dialog", "talk"]).contains("condensed"));
    let nothing = world.run(&["history", "condense", "--dialog", "talk", "--keep", "2", "--yes"]);
    assert!(
        nothing.code == 1 && nothing.stderr.contains("nothing to condense"),
        "{}",
        nothing.stderr
    );
    // The same transcript once more changes neither.
    let file = world.outer().join("files/api_conversation_history.json");
    assert_eq!(world.import(&file, &["--dialog", "talk"]).code, 0);
    assert_eq!(world.model("talk", &[]), shown);
    assert!(world.ok(&["history", "back", "--dialog", "talk"]).contains("6 messages"));
    assert_eq!(world.model("talk", &[]), all);
}

#[test]
fn without_a_summary_the_newest_three_quarters_stay() {
    for (api, answer, why) in [
        (
            "anthropic",
            StubResponse::Json(401, json!({ "error": { "message": format!("bad {KEY}") } })),
            "401",
        ),
        ("openai", StubResponse::Json(500, json!({})), "500"),
        ("openai", StubResponse::Plain(200, "a: b", "<html>".to_owned()), "not JSON"),
    ] {
        let world = told();
        let all = world.model("talk", &[]);
        let server = StubServer::start([answer]);
        settings(&world, &server.url(), api);
        let done =
            keyed(&world, &["history", "condense", "--dialog", "talk", "--yes", "--keep", "0"]);
        let seen = format!("{}{}", done.text(), done.stderr);
        assert_eq!(done.code, 3, "{seen}");
        assert!(seen.contains(why) && seen.contains("hidden instead"), "{seen}");
        assert!(!seen.contains(KEY), "{seen}");
        let times = if why == "401" { 1 } else { 2 };
        assert_eq!(server.requests().len(), times, "{seen}");
        // A quarter of six is one message: the person's first.
        assert_eq!(world.model("talk", &[]), all[1..], "{seen}");
        world.ok(&["history", "back", "--dialog", "talk"]);
        assert_eq!(world.model("talk", &[]), all);
    }
}

const KEY: &str = "sk-the-key-that-nobody-sees";

fn keyed(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command(arguments);
    ran(command.env("TALK_KEY", KEY).stdin(std::process::Stdio::null()).output().unwrap())
}

fn settings(world: &World, url: &str, api: &str) {
    let text = format!(
        "[summary]\napi = {api:?}\nurl = {url:?}\nmodel = \"m\"\nkey_env = \"TALK_KEY\"\nattempts = 2\n"
    );
    std::fs::write(world.store().join("config.toml"), text).unwrap();
}

#[test]
fn conversations_come_out_of_opencode_s_own_database() {
    let world = World::with(&[]);
    let file = world.outer().join("opencode.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    database
        .execute_batch(
            r#"
            CREATE TABLE session(id TEXT, title TEXT, directory TEXT, time_updated INTEGER);
            CREATE TABLE message(id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
            CREATE TABLE part(id TEXT, message_id TEXT, data TEXT);
            INSERT INTO session VALUES('ses_1', 'Greeting', '/work/app', 2), ('ses_2', 'Other', '/', 1);
            INSERT INTO message VALUES
                ('msg_1', 'ses_1', 1, '{"role":"user","time":{"created":1}}'),
                ('msg_2', 'ses_1', 2, '{"role":"assistant","time":{"created":2}}'),
                ('msg_3', 'ses_2', 1, '{"role":');
            INSERT INTO part VALUES
                ('prt_1', 'msg_1', '{"type":"text","text":"Hello"}'),
                ('prt_2', 'msg_2', '{"type":"text","text":"Hi."}');
            "#,
        )
        .unwrap();
    drop(database);
    let before = std::fs::read(&file).unwrap();
    let which = world.import(&file, &[]);
    assert!(
        which.code == 1 && which.stderr.contains("ses_1  /work/app  Greeting"),
        "{}",
        which.stderr
    );
    let imported = world.import(&file, &["--dialog", "ses_1"]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    let expected = [json!(["user", ["Hello"]]), json!(["assistant", ["Hi."]])];
    assert_eq!(world.model("ses_1", &[]), expected);
    let broken = world.import(&file, &["--dialog", "ses_2"]);
    assert!(broken.code == 1 && broken.stderr.contains("msg_3"), "{}", broken.stderr);
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
