//! Commands through the daemon do what they do without it.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Daemon, last_writer};
use crate::support::{Ran, World, ran};

/// A world with work of two agents and of the person.
fn worked() -> World {
    let world = World::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    play(&world);
    world
}

fn play(world: &World) {
    world.say("d1", "change it");
    world.shell("k1", "sed -i s/one/ONE/ a.txt; echo new > d.txt");
    world.say("d2", "and that");
    world.shell_of("d2", "k2", "sed -i s/three/THREE/ a.txt; rm b.txt");
    world.write("c.txt", "by me\n");
}

/// What differs from world to world is replaced.
fn normal(world: &World, value: &mut Value) {
    match value {
        Value::String(text) => {
            *text = text.replace(world.store().to_str().unwrap(), "[STORE]");
            *text = text.replace(world.outer().to_str().unwrap(), "[WORLD]");
            let words: Vec<_> = text
                .split(' ')
                .map(|word| {
                    let is_hex =
                        word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
                    let is_time = word.len() == 24 && word.ends_with('Z') && word.contains('T');
                    let differs = is_hex || is_time || word.starts_with("run-");
                    if differs { "(differs)" } else { word }
                })
                .collect();
            *text = words.join(" ");
        }
        Value::Number(number) if number.as_u64().is_some_and(|number| number > 100_000) => {
            *value = json!("(differs)");
        }
        Value::Array(all) => all.iter_mut().for_each(|part| normal(world, part)),
        Value::Object(all) => all.iter_mut().for_each(|(name, part)| {
            let words = ["bytes", "size", "content"];
            let is_size = part.is_number() && words.iter().any(|word| name.contains(word));
            // A daemon's watcher finds the person's edits before a command does, and a daemon knows
            // its clients by the credentials of its socket.
            let is_finder = name == "said_by"
                && ["command_line", "daemon"].iter().any(|channel| part["channel"] == *channel);
            let differs = is_size || is_finder || name == "evidence";
            if differs { *part = json!("(differs)") } else { normal(world, part) }
        }),
        _ => {}
    }
}

const SCRIPT: &[&[&str]] = &[
    &["status"],
    &["log"],
    &["checkpoint", "-m", "mine"],
    &["undo", "--yes"],
    &["redo", "--yes"],
    &["reject", "--file", "d.txt", "--dry-run"],
    &["reject", "--file", "d.txt", "--yes"],
    &["accept", "--dialog", "d2"],
    &["rollback", "--dialog", "d2", "--yes"],
    &["rollback", "--change", "c999", "--yes"],
    &["session", "--dialog", "d1"],
    &["approve", "--dialog", "d1"],
    &["reset", "--dialog", "d2", "--yes"],
    &["restore", "--dialog", "d1", "--before-message", "1", "--yes"],
    &["recover"],
    &["run", "--", "sh", "-c", "echo x >> a.txt"],
    &["log"],
    &["blame", "a.txt"],
    &["gc"],
    &["purge", "c.txt", "--yes"],
    &["status"],
    &["ops"],
    &["dialogs"],
    &["checkpoints"],
];

/// Everything that the script says, command by command.
fn script(world: &World) -> Vec<(String, Value)> {
    let run = |command: &&[&str]| {
        let ran = world.run(&[&["--json"], *command].concat());
        let mut said = serde_json::from_slice(&ran.stdout).unwrap_or(Value::Null);
        normal(world, &mut said);
        let words = || world.normal(&ran.stderr).split_whitespace().collect();
        let mut told: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|_| words());
        normal(world, &mut told);
        (command.join(" "), json!({ "code": ran.code, "said": said, "told": told }))
    };
    SCRIPT.iter().map(run).collect()
}

#[test]
fn every_verb_says_the_same_with_and_without() {
    let without = worked();
    let with = World::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    let daemon = Daemon::of(&with);
    play(&with);
    assert_eq!(last_writer(&with), daemon.pid(), "events go through it");
    for (one, other) in script(&without).into_iter().zip(script(&with)) {
        assert_eq!(one, other);
    }
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        assert_eq!(without.read(name), with.read(name), "{name}");
    }
    assert_eq!(last_writer(&with), daemon.pid());
    with.ok(&["doctor", "--read-data"]);
}

/// The record is not opened here then, but what a person should know is told all the same.
#[test]
fn a_checkpoint_is_of_the_folder_that_is_meant_and_bad_settings_are_told() {
    let world = World::with(&[("a.txt", "one\n")]);
    let daemon = Daemon::of(&world);
    std::fs::write(world.home().join("config.toml"), "nonsense").unwrap();
    let mut command = world.command_in(&world.outer(), &["checkpoint", "--project", "project"]);
    let made = ran(command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(made.stderr.contains("the defaults are in force"), "{}", made.stderr);
    assert_eq!(last_writer(&world), daemon.pid());
    let text = made.text();
    let id = text.split_whitespace().nth(1).unwrap();
    let all = world.run(&["checkpoints", "--json"]).json();
    assert!(all["checkpoints"][0]["id"].as_str().unwrap().starts_with(id), "{text}");
    let nowhere = ran(world.command_in(&world.outer(), &["checkpoint"]).output().unwrap());
    assert!(nowhere.stderr.contains("is in no project"), "{}", nowhere.stderr);
}

fn tracked(world: &World, name: &str) -> bool {
    world.ok(&["status"]);
    world.run(&["log", "--json", "--file", name]).json()["changes"][0].is_object()
}

#[test]
fn settings_that_change_are_in_force_with_the_next_request() {
    let world = World::with(&[]);
    let daemon = Daemon::of(&world);
    world.write("one.log2", "x\n");
    assert!(tracked(&world, "one.log2"));
    let settings = "[ignore]\nexclude = [\"*.log2\"]\n";
    std::fs::write(world.home().join("config.toml"), settings).unwrap();
    world.write("two.log2", "x\n");
    assert!(!tracked(&world, "two.log2"));
    std::fs::write(world.store().join("config.toml"), "").unwrap();
    // What becomes visible is no change; what is written then is one.
    assert!(!tracked(&world, "two.log2"));
    world.write("two.log2", "y\n");
    assert!(tracked(&world, "two.log2"));
    assert_eq!(last_writer(&world), daemon.pid());
}

#[test]
fn a_project_that_is_deleted_moved_or_replaced_is_treated_as_without() {
    let world = World::with(&[("a.txt", "one\n")]);
    let daemon = Daemon::of(&world);
    world.ok(&["status"]);
    let aside = world.outer().join("aside");
    let root = world.root();
    let root = root.to_str().unwrap();
    let from_outside = |arguments: &[&str]| -> Ran {
        let mut command = world.command_in(&world.outer(), arguments);
        ran(command.args(["--project", root]).stdin(Stdio::null()).output().unwrap())
    };
    std::fs::rename(world.root(), &aside).unwrap();
    let gone = from_outside(&["status", "--json"]);
    assert_eq!((gone.code, &gone.json()["error"]["code"]), (1, &json!("gone")));
    // Another folder at its place is read only.
    std::fs::create_dir(world.root()).unwrap();
    world.write("other.txt", "x\n");
    let event = r#"{"event":"dialog_start","dialog":"d1"}"#;
    let refused = world.feed(event);
    assert_eq!(refused.lines()[0]["error"]["code"], "replaced");
    assert!(world.run(&["status"]).stderr.contains("another folder"));
    // Moved, it is found again with all of its record.
    std::fs::remove_dir_all(world.root()).unwrap();
    std::fs::write(aside.join("a.txt"), "two\n").unwrap();
    let moved = ran(world.command_in(&aside, &["log", "--json"]).output().unwrap());
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    let seen = ran(world.command_in(&aside, &["status", "--json"]).output().unwrap());
    assert_eq!(seen.code, 0, "{}", seen.stderr);
    assert_eq!(last_writer(&world), daemon.pid());
    std::fs::rename(&aside, world.root()).unwrap();
    world.ok(&["status"]);
    let log = world.run(&["log", "--json"]).json();
    let paths: Vec<_> = log["changes"].as_array().unwrap().iter().map(|c| &c["path"]).collect();
    assert_eq!(paths, [&json!("a.txt")]);
    assert_eq!(last_writer(&world), daemon.pid());
    world.ok(&["doctor", "--read-data"]);
}

/// A record that was removed and begun again is not written to the removed folder.
#[test]
fn a_record_that_is_removed_is_begun_again() {
    let world = World::with(&[("a.txt", "one\n")]);
    let daemon = Daemon::of(&world);
    world.ok(&["status"]);
    // In one step each: a daemon at work may put something into them meanwhile.
    for name in ["projects", "roots"] {
        std::fs::rename(world.home().join(name), world.outer().join(name)).unwrap();
    }
    world.ok(&["init"]);
    world.shell("k1", "echo two > a.txt");
    assert_eq!(world.run(&["log", "--json"]).json()["changes"][0]["path"], "a.txt");
    assert_eq!(last_writer(&world), daemon.pid());
}

#[test]
fn what_is_left_out_is_listed_as_it_is_now() {
    let world = World::with(&[(".gitignore", "*.log\nout/\n"), ("a.txt", "one\n")]);
    let daemon = Daemon::of(&world);
    world.ok(&["status"]);
    let ignored = |more: &[&str]| world.ok(&[&["status", "--ignored"][..], more].concat());
    let count = |more: &[&str]| {
        let words = [&["status", "--json"][..], more].concat();
        world.run(&words).json()["ignored_count"].clone()
    };
    assert_eq!((ignored(&[]).as_str(), count(&[])), ("Nothing is ignored.\n", json!(0)));
    world.write("x.log", "log\n");
    world.write("out/made", "made\n");
    assert_eq!(count(&[]), 2);
    assert!(ignored(&[]).contains("x.log") && ignored(&[]).contains("out/"), "{}", ignored(&[]));
    std::fs::remove_file(world.root().join("x.log")).unwrap();
    assert_eq!(count(&[]), 1);
    let listed = ignored(&[]);
    assert_eq!(last_writer(&world), daemon.pid());
    assert_eq!(listed, ignored(&["--no-daemon"]));
    assert!(!listed.contains("x.log"), "{listed}");
}
