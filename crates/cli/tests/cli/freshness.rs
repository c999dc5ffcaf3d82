//! `retake context`: what agents know, told by events and by hooks, with and without a daemon.

use std::io::Write as _;
use std::process::Stdio;

use expect_test::expect;
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::support::{Ran, World, ran};

const LINES: &str = "one\ntwo\nthree\nfour\n";

/// One line for `retake event`, answered.
fn tell(world: &World, event: &Value) -> Value {
    tell_with(world, "--reply-support", event)
}

fn tell_with(world: &World, option: &str, event: &Value) -> Value {
    let mut child = world
        .command(&["event", option, "denials"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    let done = ran(child.wait_with_output().unwrap());
    assert_eq!(done.code, 0, "{} {}", done.text(), done.stderr);
    done.lines().remove(0)
}

fn begin(call: &str, tool: &str, input: &Value) -> Value {
    json!({ "event": "tool_begin", "dialog": "d1", "kind": "my-agent", "call": call, "tool": tool,
        "input": input })
}

fn end(call: &str) -> Value {
    json!({ "event": "tool_end", "dialog": "d1", "call": call, "ok": true })
}

fn read(world: &World, call: &str) {
    tell(world, &begin(call, "Read", &json!({ "file_path": "a.txt" })));
    tell(world, &with_read(end(call), "a.txt"));
}

fn with_read(mut event: Value, path: &str) -> Value {
    event["reads"] = json!([{ "path": path }]);
    event
}

/// Wants to replace text, and does so unless that is denied; gives what the agent is told.
fn edit(world: &World, call: &str, old: &str, new: &str) -> Value {
    let input = json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
    let told = tell(world, &begin(call, "Edit", &input))["stale"].clone();
    if told["reaction"] != "deny" {
        world.write("a.txt", world.read("a.txt").replace(old, new));
        tell(world, &end(call));
    }
    told
}

/// The entries, with dates as ranks: T1 is the earliest.
fn entries(world: &World, options: &[&str]) -> Vec<String> {
    let context = world.run(&[&["context", "--json"], options].concat()).json();
    let entries = context["files_in_context"].as_array().unwrap().clone();
    let names = ["roo_read_date", "roo_edit_date", "user_edit_date"];
    let all = entries.iter().flat_map(|entry| names.map(|name| entry[name].as_i64()));
    let mut dates: Vec<i64> = all.flatten().collect();
    dates.sort_unstable();
    dates.dedup();
    let rank = |date: &Value| match date.as_i64() {
        Some(at) => format!("T{}", 1 + dates.binary_search(&at).unwrap()),
        None => "-".to_owned(),
    };
    let told = |entry: &Value| {
        let [read, edit, user] = names.map(|name| rank(&entry[name]));
        let field = |name: &str| entry[name].as_str().unwrap().to_owned();
        format!("{} {} {read} {edit} {user}", field("record_state"), field("record_source"))
    };
    entries.iter().map(told).collect()
}

fn stale(world: &World) -> Vec<String> {
    let context = world.run(&["context", "--stale", "--json"]).json();
    let entries = context["files_in_context"].as_array().unwrap().iter();
    entries.map(|entry| entry["stale"]["text"].as_str().unwrap().to_owned()).collect()
}

/// Does it in two worlds, of which one has a daemon.
fn with_and_without_a_daemon(play: impl Fn(&World)) {
    let alone = World::with(&[("a.txt", LINES)]);
    play(&alone);
    let served = World::with(&[("a.txt", LINES)]);
    let _daemon = Daemon::of(&served);
    play(&served);
}

/// The names that earlier versions had: `--hears` of the option, `saw` of the event's field.
#[test]
fn the_old_names_of_the_option_and_of_the_reads_are_accepted() {
    with_and_without_a_daemon(|world| {
        let mention = json!({ "event": "user_message", "dialog": "d1", "text": "see @a.txt",
            "saw": [{ "path": "a.txt" }] });
        tell_with(world, "--hears", &mention);
        world.write("a.txt", "one\ntwo\n3\nfour\n");
        let input = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "ONE" });
        let reply = tell_with(world, "--hears", &begin("c1", "Edit", &input));
        assert_eq!(reply["stale"]["reaction"], "deny", "{reply}");
    });
}

/// An event that an earlier version spooled is recorded with the files that its agent read.
#[test]
fn reads_in_a_spool_of_an_earlier_version_are_recorded() {
    let world = World::with(&[("a.txt", LINES)]);
    let mention = json!({ "event": "user_message", "dialog": "d1", "text": "see @a.txt",
        "saw": [{ "path": "a.txt" }] });
    let line = json!({ "id": "1-1-1", "at": 1_700_000_000_000_i64, "event": mention.to_string() });
    std::fs::write(world.store().join("spool.jsonl"), format!("\n{line}\n")).unwrap();
    world.ok(&["status"]);
    world.write("a.txt", "one\ntwo\n3\nfour\n");
    let input = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "ONE" });
    let reply = tell(&world, &begin("c1", "Edit", &input));
    assert_eq!(reply["stale"]["files"][0]["text"], "line 3 changed by the user", "{reply}");
}

#[test]
fn ctx_11_read_edit_and_a_users_edit_are_three_entries() {
    with_and_without_a_daemon(|world| {
        read(world, "c1");
        assert_eq!(edit(world, "c2", "one", "ONE"), Value::Null);
        world.write("a.txt", "ONE\ntwo\nTHREE\nfour\n");
        assert_eq!(
            entries(world, &["--timeline"]),
            ["stale read_tool T1 - -", "stale roo_edited T2 T2 -", "active user_edited T2 T2 T3",]
        );
        assert_eq!(entries(world, &[]), ["active user_edited T1 T1 T2"]);
        assert_eq!(stale(world), ["line 3 changed by you"]);
    });
}

#[test]
fn ctx_26_a_denied_agent_reads_again_and_succeeds() {
    with_and_without_a_daemon(|world| {
        let mention = json!({ "event": "user_message", "dialog": "d1", "text": "see @a.txt" });
        tell(world, &with_read(mention, "a.txt"));
        read(world, "c1");
        world.write("a.txt", "one\ntwo\n3\nfour\n");
        let denied = edit(world, "c2", "one", "ONE");
        assert_eq!(denied["reaction"], "deny");
        assert_eq!(denied["files"][0]["lines"], json!([[3, 3]]));
        expect![[r#"
            This file is not as you last saw it:
            - "a.txt": line 3 changed by the user
            Nothing was changed. Read it again, then make your change anew."#]]
        .assert_eq(denied["message"].as_str().unwrap());
        assert_eq!(world.read("a.txt"), "one\ntwo\n3\nfour\n");
        read(world, "c3");
        assert_eq!(stale(world), [""; 0]);
        assert_eq!(edit(world, "c4", "one", "ONE"), Value::Null);
        assert_eq!(stale(world), [""; 0], "its own edit is known to it");
        let log = world.run(&["log", "--json"]).json();
        assert_eq!(
            (&log["changes"][0]["actor"], &log["changes"][1]["actor"]),
            (&json!("agent"), &json!("user"))
        );
    });
}

fn hook(world: &World, what: &Value) -> Ran {
    let mut payload = json!({ "session_id": "s1", "cwd": world.root() });
    payload.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    let mut command = world.command(&["hook", "claude-code"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    let done = ran(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    done
}

#[test]
fn a_hook_denies_once_and_a_message_tells_what_changed() {
    with_and_without_a_daemon(|world| {
        world.write("a.txt", "");
        world.ok(&["status"]);
        let path = world.root().join("a.txt");
        let call = |event: &str, id: &str, tool: &str, more: &Value| {
            let mut input = json!({ "file_path": path });
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            hook(
                world,
                &json!({ "hook_event_name": event, "tool_name": tool, "tool_use_id": id,
                "tool_input": input }),
            )
        };
        let content = json!({ "content": LINES });
        call("PreToolUse", "t1", "Write", &content);
        world.write("a.txt", LINES);
        call("PostToolUse", "t1", "Write", &content);
        world.write("a.txt", "one\n2\n3\nfour\n");
        let change = json!({ "old_string": "one", "new_string": "ONE" });
        let denied = call("PreToolUse", "t2", "Edit", &change).json();
        let denied = &denied["hookSpecificOutput"];
        assert_eq!(denied["permissionDecision"], "deny");
        let reason = denied["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains("\"a.txt\": lines 2–3 changed by the user"), "{reason}");
        assert_eq!(call("PreToolUse", "t3", "Edit", &change).text(), "", "not twice");
        world.write("a.txt", "ONE\n2\n3\nfour\n");
        call("PostToolUse", "t3", "Edit", &change);
        world.write("a.txt", "ONE\n2\n3\n4\n");
        let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go on" });
        let told = hook(world, &prompt).json();
        let note = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(note.contains("\"a.txt\": lines 2–4 changed by the user"), "{note}");
        assert_eq!(hook(world, &prompt).text(), "", "once for one content");
    });
}

#[test]
fn people_see_who_changed_what_under_which_agent() {
    let world = World::with(&[("a.txt", LINES), ("b.txt", "b\n")]);
    assert!(world.seen(&["context"]).contains("No agent has worked"));
    read(&world, "c1");
    edit(&world, "c2", "one", "ONE");
    world.write("a.txt", "ONE\ntwo\nTHREE\nfour\n");
    let other = json!({ "event": "tool_begin", "dialog": "d1", "agent": "2", "kind": "my-agent",
        "call": "o1", "tool": "Read", "input": { "file_path": "b.txt" } });
    tell(&world, &other);
    tell(
        &world,
        &with_read(
            json!({ "event": "tool_end", "dialog": "d1", "agent": "2", "call": "o1" }),
            "b.txt",
        ),
    );
    expect![[r#"
        d1/2: 1 file
          FILE   LAST SEEN                 SINCE THEN
          b.txt  read DATE TIME  unchanged

        d1: 1 file, 1 changed since it saw them
          FILE   LAST SEEN                   SINCE THEN
          a.txt  edited DATE TIME  line 3 changed by you, DATE TIME
        exit 0
    "#]]
    .assert_eq(&world.seen(&["context"]));
    expect![[r#"
        d1: 1 file, 1 changed since it saw them
          FILE   WHEN                 WHAT                   CHANGE
          a.txt  DATE TIME  read
                 DATE TIME  edited                 c6
                 DATE TIME  changed by you         c10
                 now                  line 3 changed by you
        exit 0
    "#]]
    .assert_eq(&world.seen(&["context", "--timeline", "--agent", "main"]));
    expect![[r#"
        d1: All files are as its agents last saw them.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["context", "--stale", "--agent", "2"]));
    let status = world.ok(&["status"]);
    let line = "d1 has not seen 1 changed file; see `retake context --stale --dialog d1`";
    assert!(status.contains(line), "{status}");
    assert_eq!(
        world.run(&["status", "--json"]).json()["stale"],
        json!([{ "dialog": "d1", "agent": "main", "kind": "my-agent", "files": 1 }])
    );
    expect![[r#"
        The agent knows 1 file as it is now.
        warning: none.txt is no file that is tracked
        exit 3
    "#]]
    .assert_eq(&world.seen(&["context", "mark", "a.txt:1-2", "none.txt"]));
    assert_eq!(stale(&world), ["line 3 changed by you"], "that line was not shown");
    expect![[r#"
        The agent knows 1 file as it is now.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["context", "mark", "a.txt", "--source", "file_mentioned"]));
    expect![[r#"
        d1: All files are as its agents last saw them.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["context", "--stale"]));
    assert_eq!(world.run(&["context", "mark", "a.txt", "--source", "roo_edited"]).code, 2);
    assert_eq!(world.run(&["context", "--agent", "nobody"]).code, 1);
    assert_eq!(world.run(&["context", "--stale", "mark", "a.txt"]).code, 2);
}

#[test]
fn task_metadata_is_written_whole_and_read_back() {
    let world = World::with(&[("a.txt", LINES)]);
    read(&world, "c1");
    edit(&world, "c2", "one", "ONE");
    let file = world.outer().join("tmp/task_metadata.json");
    let path = file.to_str().unwrap();
    let text = world.ok(&["context", "export"]);
    world.ok(&["context", "export", "--output", path]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    world.ok(&["context", "export", "--output", path]);
    world.write("a.txt", LINES);
    let refused = world.run(&["context", "export", "--output", path]);
    assert!(refused.code == 1 && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "it stays");
    world.ok(&["context", "export", "--output", path, "--force"]);
    let kept = std::fs::read_to_string(file.with_extension("json.bak")).unwrap();
    assert_eq!(kept, text, "nothing is lost by it");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\n      \"record_source\": \"user_edited\",\n"), "{text}");
    tell(&world, &json!({ "event": "dialog_start", "dialog": "d2" }));
    let told = world.ok(&["context", "import", path, "--dialog", "d2"]);
    assert_eq!(told, "Imported 3 entries.\n");
    assert_eq!(world.ok(&["context", "export", "--dialog", "d2"]), text);
    let told = world.ok(&["context", "import", path, "--dialog", "d2"]);
    assert_eq!(told, "Imported 0 entries; 3 were on record already.\n");
    let left: Vec<_> = std::fs::read_dir(world.outer().join("tmp")).unwrap().collect();
    assert_eq!(left.len(), 2, "nothing else lies about: {left:?}");
}

#[test]
fn what_is_no_task_metadata_is_refused_by_name_and_left_as_it_is() {
    let world = World::with(&[("a.txt", LINES)]);
    read(&world, "c1");
    let good = world.ok(&["context", "export"]);
    let file = world.outer().join("tmp/task_metadata.json");
    for (text, why) in [
        (String::new(), "it is empty"),
        (good[..good.len() / 2].to_owned(), "EOF while parsing"),
        (good.replace("read_tool", "\u{1}"), "control character"),
        (good.replace("read_tool", "looked"), "unknown variant `looked`"),
        (good.replace("a.txt", "/etc/passwd"), "entry 1: the path '/etc/passwd'"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let ran = world.run(&["context", "import", file.to_str().unwrap(), "--json"]);
        let error = &ran.json()["error"];
        let message = error["message"].as_str().unwrap();
        assert_eq!((ran.code, &error["code"]), (1, &json!("bad_metadata")), "{message}");
        assert!(message.contains(file.to_str().unwrap()) && message.contains(why), "{message}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
    assert_eq!(world.ok(&["context", "export"]), good, "nothing was taken in");
}
