//! Several processes at one project.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Child;

use serde_json::{Value, json};

use crate::support::World;

/// Plays an agent that writes `count` files, each as its own call.
fn play(world: &World, mut child: Child, dialog: &str, count: usize) {
    let mut stdin = child.stdin.take().unwrap();
    let mut replies = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut send = |event: Value| {
        writeln!(stdin, "{event}").unwrap();
        let reply: Value = serde_json::from_str(&replies.next().unwrap().unwrap()).unwrap();
        assert_eq!(reply["ok"], true, "{reply}");
    };
    for number in 0..count {
        let (call, path) = (format!("{dialog}-{number}"), format!("{dialog}/{number}.txt"));
        let text = format!("{dialog} {number}\n");
        send(json!({ "event": "tool_begin", "dialog": dialog, "call": call, "tool": "Write",
            "input": { "file_path": path, "content": text } }));
        world.write(&path, text);
        send(json!({ "event": "tool_end", "dialog": dialog, "call": call, "ok": true }));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn two_processes_at_once_record_each_change_exactly_once() {
    let world = World::with(&[]);
    std::thread::scope(|scope| {
        for dialog in ["left", "right"] {
            let child = world.spawn_event();
            let world = &world;
            scope.spawn(move || play(world, child, dialog, 50));
        }
    });
    let log = world.run(&["log", "--json"]).json();
    let changes = log["changes"].as_array().unwrap();
    let paths: HashSet<_> = changes.iter().map(|c| c["path"].as_str().unwrap()).collect();
    let seqs: HashSet<_> = changes.iter().map(|c| c["seq"].as_u64().unwrap()).collect();
    assert_eq!((changes.len(), paths.len(), seqs.len()), (100, 100, 100));
    for change in changes {
        assert_eq!(change["actor"], "agent", "{change}");
        assert!(change["path"].as_str().unwrap().starts_with(change["dialog"].as_str().unwrap()));
    }
    world.ok(&["doctor", "--read-data"]);
}

#[test]
fn an_event_that_finds_the_project_locked_is_kept_and_taken_in_in_order() {
    let world = World::with(&[("a.txt", "one\n")]);
    std::fs::write(world.home().join("config.toml"), "[wait]\nevent_ms = 50\ncommand_ms = 50\n")
        .unwrap();
    let lock = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(world.store().join("lock"))
        .unwrap();
    lock.lock().unwrap();
    for text in ["first", "second"] {
        let ran = world
            .feed(json!({ "event": "user_message", "dialog": text, "text": text }).to_string());
        let reply = &ran.lines()[0];
        assert_eq!((&reply["ok"], &reply["seq"]), (&json!(true), &Value::Null));
        assert_eq!(reply["warnings"][0]["code"], "spooled");
        assert_eq!(ran.code, 0);
    }
    // Commands that only show go on with what is on record, and say so.
    let status = world.run(&["status"]);
    assert_eq!(status.code, 0);
    assert!(
        status.stderr.starts_with("warning: the files could not be scanned"),
        "{}",
        status.stderr
    );
    assert!(status.text().contains("2 events wait"), "{}", status.text());
    drop(lock);
    let ran =
        world.feed(json!({ "event": "user_message", "dialog": "third", "text": "x" }).to_string());
    assert!(ran.lines()[0]["seq"].is_u64());
    let dialogs = world.run(&["dialogs", "--json"]).json();
    let mut dialogs: Vec<_> = dialogs["dialogs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| (d["started"].as_str().unwrap().to_owned(), d["id"].as_str().unwrap().to_owned()))
        .collect();
    dialogs.sort();
    let order: Vec<_> = dialogs.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(order, ["first", "second", "third"]);
    assert_eq!(world.run(&["status", "--json"]).json()["spooled"], 0);
    world.ok(&["doctor"]);
}

#[test]
fn a_replaced_folder_is_shown_and_not_recorded_until_the_person_says_what_it_is() {
    let world = World::with(&[("a.txt", "one\n")]);
    std::fs::rename(world.root(), world.outer().join("aside")).unwrap();
    std::fs::create_dir(world.root()).unwrap();
    world.write("b.txt", "other\n");
    let status = world.run(&["status"]);
    assert_eq!(status.code, 0);
    assert!(status.stderr.contains("another folder"), "{}", status.stderr);
    let ran = world.feed(r#"{"event":"dialog_start","dialog":"d1"}"#);
    assert_eq!(ran.lines()[0]["error"]["code"], "replaced");
    assert_eq!(ran.code, 3);
    assert_eq!(world.run(&["doctor"]).code, 1);
    world.ok(&["init", "--same"]);
    let log = world.ok(&["log", "--all", "--files"]);
    assert!(log.contains("a.txt") && log.contains("b.txt"), "{log}");
}
