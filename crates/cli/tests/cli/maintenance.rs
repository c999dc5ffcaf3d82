//! `gc`, `purge`, `export` and `git` from the outside.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::World;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Output without the widths of its columns, which depend on sizes, and without sizes: those of
/// compressed checkpoints vary with the time in them.
fn squeezed(world: &World, text: &str) -> String {
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    let line = |line: &str| {
        let mut words: Vec<&str> = Vec::new();
        for word in line.split_whitespace() {
            let unit = word.trim_end_matches([',', '.']);
            match words.last_mut() {
                Some(last) if unit == "B" && is_number(last) => {
                    *last = if word == unit { "SIZE" } else { "SIZE," };
                }
                _ => words.push(word),
            }
        }
        words.join(" ") + "\n"
    };
    world.normal(text).lines().map(line).collect()
}

fn retention(world: &World, text: &str) {
    std::fs::write(world.home().join("config.toml"), format!("[retention]\n{text}\n")).unwrap();
}

#[test]
fn gc_shows_a_meter_and_a_forecast() {
    let world = World::with(&[("a.txt", "one\n")]);
    world.shell("k1", "echo two >> a.txt");
    retention(&world, "max_dialogs = 0");
    let dry = world.ok(&["gc", "--dry-run"]);
    expect![[r#"
        Nothing would be removed now.

        DIALOG LAST ACTIVE GOES WHY
        d1 DATE TIME DATE TIME more dialogs than retention.max_dialogs has unapproved work

        The record takes SIZE on disk: content SIZE, records SIZE.
    "#]]
    .assert_eq(&squeezed(&world, &dry));
    let dry = world.run(&["gc", "--dry-run", "--json"]).json();
    assert_eq!(
        keys(&dry),
        [
            "before",
            "changes",
            "checkpoints",
            "content_bytes",
            "dialogs",
            "dry_run",
            "operations",
            "over_bytes"
        ]
    );
    let dialog = &dry["dialogs"][0];
    assert_eq!((&dialog["id"], &dialog["reason"]), (&json!("d1"), &json!("too_many")));
    assert_eq!((&dialog["now"], &dialog["unapproved"]), (&json!(false), &json!(true)));
    let done = world.ok(&["gc"]);
    expect![[r#"
        Nothing to remove.

        before after
        content SIZE SIZE
        records SIZE SIZE
        on disk SIZE SIZE

        Later:
        DIALOG LAST ACTIVE GOES WHY
        d1 DATE TIME DATE TIME more dialogs than retention.max_dialogs has unapproved work
    "#]]
    .assert_eq(&squeezed(&world, &done));
    let done = world.run(&["gc", "--json"]).json();
    assert_eq!(done["removed"]["changes"], 0, "it is protected");
    assert_eq!(keys(&done["before"]), ["content", "disk", "records"]);
    assert_eq!(world.run(&["doctor", "--read-data"]).code, 0);
}

#[test]
fn gc_refuses_settings_that_it_cannot_read() {
    let world = World::with(&[("a.txt", "one\n")]);
    retention(&world, "max_dialgos = 0");
    let ran = world.run(&["gc", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!("settings")));
}

#[test]
fn purge_asks_shows_and_removes() {
    let world = World::with(&[("secret.txt", "top secret words\n"), ("a.txt", "one\n")]);
    world.shell("k1", "echo more secrets >> secret.txt");
    let asked = world.run(&["purge", "secret.txt"]);
    assert_eq!(asked.code, 3);
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    let dry = world.ok(&["purge", "secret.txt", "--dry-run"]);
    expect![[r#"
        Would purge 2 contents (47 B), named by 1 change:
          secret.txt  the file itself stays; it is not captured until it changes
    "#]]
    .assert_eq(&world.normal(&dry));
    let done = world.ok(&["purge", "secret.txt", "--yes"]);
    expect![[r#"
        Purged 2 contents (47 B), named by 1 change:
          secret.txt  the file itself stays; it is not captured until it changes
        Dropped the arguments of 1 call that touched or quoted it.
        Backups, swap and the disk's own spare blocks are beyond Retake's reach.
    "#]]
    .assert_eq(&world.normal(&done));
    assert!(world.ok(&["status"]).contains("purged from the record"));
    assert!(world.ok(&["log", "--files"]).contains("content before not captured"));
    assert_eq!(std::fs::read(world.root().join("secret.txt")).unwrap().len(), 30);
    let again = world.run(&["purge", "secret.txt", "--yes", "--json"]);
    assert_eq!((again.code, &again.json()["error"]["code"]), (1, &json!("nothing_on_record")));
    let oid = "5626abf0f72e58d7a153368ba57db4c673c0e171"; // "one\n"
    let done = world.run(&["purge", oid, "--yes", "--json"]).json();
    assert_eq!(done["paths"], json!([{ "path": "a.txt" }]));
    assert_eq!((&done["complete"], &done["contents"][0]["oid"]), (&json!(true), &json!(oid)));
    assert_eq!(world.run(&["purge", ".", "--yes"]).code, 1, "not the whole project");
    assert_eq!(world.run(&["doctor", "--read-data"]).code, 0);
}

#[test]
fn a_purge_says_which_quotes_stay() {
    let token = "tok-93847593847598347";
    let world = World::with(&[("conf.env", &format!("TOKEN={token}\n"))]);
    world.say("d1", &format!("use {token}"));
    let ran = world.run(&["purge", "conf.env", "--yes"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.text().contains("1 checkpoint quotes"), "{}", ran.text());
    let words = ["purge", "conf.env", "--yes", "--json"];
    let world = World::with(&[("conf.env", &format!("TOKEN={token}\n"))]);
    world.say("d1", &format!("use {token}"));
    let ran = world.run(&words);
    assert_eq!((ran.code, &ran.json()["quoted_by_checkpoints"]), (3, &json!(1)));
}

#[test]
fn export_writes_files_and_says_what() {
    let world = World::with(&[("a.txt", "one\n")]);
    world.shell("k1", "echo two >> a.txt; echo T=1 > .env");
    let out = world.outer().join("out");
    let done = world.ok(&["export", out.to_str().unwrap()]);
    expect![[r#"
        Wrote 2 changes of 1 dialog to [WORLD]/out
        Left out 1 content of files that usually hold secrets (--with-secrets)
    "#]]
    .assert_eq(&world.normal(&done));
    let refused = world.run(&["export", "--json", out.to_str().unwrap()]);
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (1, &json!("not_empty")));
    let arguments = ["export", "--json", out.to_str().unwrap(), "--force", "--dialog", "d"];
    let done = world.run(&arguments).json();
    assert_eq!(
        (&done["dialogs"], &done["changes"], &done["masked"]),
        (&json!(1), &json!(2), &json!(1))
    );
    assert!(out.join("sessions/d1/index.json").exists());
    let unknown = world.run(&["export", out.to_str().unwrap(), "--force", "--dialog", "nope"]);
    assert_eq!(unknown.code, 1);
    assert_eq!(world.run(&["export"]).code, 2);
}

#[test]
fn git_without_checkpoints_says_so() {
    let world = World::with(&[("a.txt", "one\n")]);
    let ran = world.run(&["git", "--", "log"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("there are no checkpoints outside of dialogs yet"),
        "{}",
        ran.stderr
    );
    let ran = world.run(&["git", "--json", "--", "log"]);
    assert_eq!(ran.code, 2, "git's output is git's own");
}

#[test]
fn git_runs_on_the_checkpoints_with_its_own_output_and_exit_code() {
    let world = World::with(&[("a.txt", "one\n")]);
    world.ok(&["checkpoint", "-m", "by hand"]);
    assert_eq!(world.ok(&["git", "--", "log", "--format=%s"]), "by hand\n");
    assert_eq!(world.ok(&["git", "log", "--format=%s"]), "by hand\n", "without -- too");
    assert_eq!(world.ok(&["git", "--", "show", "checkpoints:a.txt"]), "one\n");
    assert_eq!(world.run(&["git", "--", "rev-parse", "--verify", "-q", "nope"]).code, 1);
    assert_eq!(world.run(&["git", "--", "no-such-command"]).code, 1);
    assert_eq!(world.run(&["git", "--", "show", "nope"]).code, 128);
    let mut hostile = world.command(&["git", "--", "log", "--format=%s"]);
    hostile.env("GIT_DIR", "/nowhere").env("GIT_NAMESPACE", "x").env("GIT_OBJECT_DIRECTORY", "/x");
    assert_eq!(hostile.output().unwrap().stdout, b"by hand\n");
    let shown = world.run(&["git", "--json"]).json();
    assert_eq!(shown["refs"][0]["name"], "refs/heads/checkpoints");
    assert!(world.ok(&["git"]).contains("export.git"));
    let mut nowhere = world.command(&["git", "--", "log"]);
    let ran = crate::support::ran(nowhere.env("PATH", world.outer().join("tmp")).output().unwrap());
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("git is not installed") && ran.stderr.contains("hint"),
        "{}",
        ran.stderr
    );
}
