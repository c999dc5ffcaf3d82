//! `retake bug-report`: what a maintainer needs to know, and nothing private.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::support::{Ran, World, ran};

const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

fn report(world: &World) -> String {
    world.ok(&["bug-report", "-o", "-"])
}

fn document(world: &World) -> Value {
    world.run(&["bug-report", "--json"]).json()
}

/// The entry of a part that failed.
fn failure(document: &Value, part: &str) -> String {
    let failures = document["failures"].as_array().unwrap();
    let found = failures.iter().find(|failure| failure["part"] == part);
    found.unwrap_or_else(|| panic!("{part}: {document:#}"))["error"].as_str().unwrap().to_owned()
}

/// As a user with a name, on a terminal of his own.
fn as_user(world: &World, words: &[&str]) -> Ran {
    let mut command = world.command(words);
    command.env("USER", "zaphod").env("LOGNAME", "zaphod").env("SHELL", "/opt/zaphod/fish");
    ran(command.env("TERM", "xterm-256color").output().unwrap())
}

/// A project, settings and a log in which everything that is the person's own has a name that is
/// found again.
fn canaries() -> World {
    let world = World::with(&[("betelgeuse.txt", "one\n"), ("Marvinfile", "m\n")]);
    world.say("d1", "Improbability drive please");
    world.shell("k1", "echo 'petunias content' >> betelgeuse.txt; echo w > 'whale diary'");
    world.ok(&["undo", "--yes"]);
    let settings = format!(
        "[ignore]\nexclude = [\"magrathea/\"]\n[summary]\n\
         url = \"https://zaphod:{TOKEN}@trillian.example/v1\"\nmodel = \"{TOKEN}\"\n\
         [retention]\nmax_dialogs = 42\n"
    );
    std::fs::write(world.home().join("config.toml"), settings).unwrap();
    let (root, outer) = (world.root(), world.outer());
    let log = format!(
        "2026-02-16T10:00:00.000001Z  INFO retake::commands::daemon: the daemon serves pid=7\n\
         2026-02-16T10:00:01.000001Z  WARN retake_engine::apply::run: a step could not be taken \
         back path=vogon poem.txt error=denied by zaphod\n\
         2026-02-16T10:00:02.000001Z ERROR retake_server: {}/src/betelgeuse.txt and \
         {}/person/towels: Marvinfile, whale diary, “Improbability drive please” token={TOKEN}\n\
         and slartibartfast in a second line\n\
         2026-02-16T10:00:03.000001Z  WARN retake_engine: Heartofgold and 'Deep Thought' are gone\n",
        root.display(),
        outer.display(),
    );
    std::fs::create_dir_all(world.home().join("run")).unwrap();
    let path = world.home().join("run/daemon.log");
    std::fs::write(&path, log).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    world
}

#[test]
fn threat_secrets_nothing_private_is_in_the_report() {
    let world = canaries();
    // Another project, of which the daemon's log tells, too.
    let other = world.outer().join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("Heartofgold"), "h\n").unwrap();
    world.ok(&["init", other.to_str().unwrap()]);
    let outer = world.outer().display().to_string();
    for words in [&["bug-report", "-o", "-"][..], &["bug-report", "--json"]] {
        let done = as_user(&world, words);
        assert_eq!(done.code, 0, "{}", done.stderr);
        let text = done.text();
        for canary in [
            "a1B2c3D4e5",
            "zaphod",
            "betelgeuse",
            "Marvin",
            "whale",
            "Improbability",
            "petunias",
            "magrathea",
            "trillian",
            "vogon",
            "towels",
            "slartibartfast",
            "Heartofgold",
            "Thought",
            outer.as_str(),
        ] {
            assert!(!text.contains(canary), "{canary}: {text}");
        }
        // What tells of the fault is there.
        for kept in ["the daemon serves pid=7", "a step could not be taken back", "xterm-256color"]
        {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }
    let report = document(&world);
    assert_eq!(report["settings"][0]["value"], "1 entry", "{report:#}");
    let retention = json!({ "key": "retention.max_dialogs", "value": 42, "source": "home" });
    assert_eq!(report["settings"][1], retention, "{report:#}");
    assert_eq!(report["log"]["problems"].as_array().unwrap().len(), 3, "{report:#}");
}

#[test]
fn it_has_what_a_maintainer_needs() {
    let world = canaries();
    let report = document(&world);
    let counts = &report["project"]["counts"];
    assert_eq!((&counts["dialogs"], &counts["operations"]), (&json!(1), &json!(1)), "{report:#}");
    let operation = &report["project"]["operations"][0];
    assert_eq!((&operation["kind"], &operation["state"]), (&json!("undo"), &json!("done")));
    let checks = report["project"]["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["name"] == "database" && check["state"] == "ok"));
    assert_eq!(report["retake"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(report["system"]["git"].as_str().unwrap().starts_with("git version"));
    let agents = report["agents"].as_array().unwrap();
    assert!(agents.iter().any(|agent| agent["agent"] == "claude-code"), "{report:#}");
    let text = self::report(&world);
    for head in ["## Machine", "## Agents", "## Daemon", "## Project", "## The daemon's log"] {
        assert!(text.contains(head), "{head}: {text}");
    }
    assert!(text.contains("Nothing was sent anywhere"), "{text}");
}

#[test]
fn without_a_terminal_it_needs_a_file_and_a_yes() {
    let world = World::with(&[("a.txt", "a\n")]);
    let before = std::fs::read_dir(world.root()).unwrap().count();
    for words in [&["bug-report"][..], &["bug-report", "-o", "r.md"]] {
        let done = world.run(words);
        assert_eq!((done.code, done.text().as_str()), (3, ""), "{words:?}");
        assert!(done.stderr.contains("pass -o FILE and --yes"), "{}", done.stderr);
    }
    assert_eq!(std::fs::read_dir(world.root()).unwrap().count(), before);
    let done = world.ok(&["bug-report", "-o", "r.md", "--yes"]);
    assert!(done.contains("Wrote r.md") && done.contains("Nothing was sent"), "{done}");
    let mode = world.root().join("r.md").metadata().unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(world.read("r.md").starts_with("# Retake bug report"));
    let done = world.run(&["bug-report", "-o", "r.json", "--yes", "--json"]).json();
    assert_eq!(done, json!({ "written": "r.json" }));
    let written: Value = serde_json::from_str(&world.read("r.json")).unwrap();
    assert!(written["project"].is_object(), "{written:#}");
}

#[test]
fn an_existing_file_is_never_overwritten() {
    let world = World::with(&[("r.md", "mine\n")]);
    std::os::unix::fs::symlink("nowhere", world.root().join("link.md")).unwrap();
    for name in ["r.md", "link.md", "."] {
        let done = world.run(&["bug-report", "-o", name, "--yes"]);
        assert_eq!(done.code, 1, "{name}: {}", done.text());
        assert!(done.stderr.contains("exists already"), "{}", done.stderr);
    }
    assert_eq!(world.read("r.md"), "mine\n");
    assert!(!world.root().join("nowhere").exists());
}

#[test]
fn on_a_terminal_it_is_shown_and_asked_about() {
    let world = World::with(&[("a.txt", "a\n")]);
    let Some(seen) = world.answered("bug-report -o r.md", "n\n") else { return };
    let shown = seen.find("# Retake bug report").unwrap();
    let asked = seen.find("Write this to r.md? [y]es [N]o").unwrap();
    assert!(shown < asked, "{seen}");
    assert!(seen.contains("Cancelled; nothing was written.") && !seen.contains("error"), "{seen}");
    assert!(!world.root().join("r.md").exists());
    let seen = world.answered("bug-report", "y\n").unwrap();
    assert!(seen.contains("Write this to retake-report-"), "{seen}");
    let names = std::fs::read_dir(world.root()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().any(|name| name.starts_with("retake-report-2")), "{seen}");
}

#[test]
fn it_works_without_a_project() {
    let world = World::new();
    let done = ran(world
        .command_in(&world.outer().join("person"), &["bug-report", "--json"])
        .output()
        .unwrap());
    assert_eq!(done.code, 0, "{}", done.stderr);
    let report = done.json();
    assert_eq!((&report["project"], &report["failures"]), (&json!(null), &json!([])));
    assert!(!world.home().exists(), "a report makes nothing");
}

#[test]
fn a_damaged_record_is_a_line_of_the_report() {
    let world = canaries();
    for name in ["retake.db-wal", "retake.db-shm"] {
        let _ = std::fs::remove_file(world.store().join(name));
    }
    std::fs::write(world.store().join("retake.db"), "no database at all").unwrap();
    let report = document(&world);
    assert_eq!(report["project"], json!(null), "{report:#}");
    let why = failure(&report, "project");
    assert!(why.contains("not a database"), "{why}");
    let text = self::report(&world);
    assert!(text.contains("## What could not be found out"), "{text}");
    assert!(!text.contains(world.outer().to_str().unwrap()), "{text}");
    assert!(!text.contains("betelgeuse") && !text.contains("vogon"), "{text}");
}

#[test]
fn a_newer_record_is_a_line_of_the_report() {
    let world = World::with(&[("a.txt", "a\n")]);
    let db = rusqlite::Connection::open(world.store().join("retake.db")).unwrap();
    db.pragma_update(None, "user_version", 999).unwrap();
    drop(db);
    let why = failure(&document(&world), "project");
    assert!(why.contains("999"), "{why}");
}

#[test]
fn a_daemon_that_hangs_is_a_line_of_the_report() {
    let world = World::with(&[("a.txt", "a\n")]);
    let daemon = Daemon::of(&world);
    world.ok(&["status"]);
    let healthy = document(&world);
    let (running, http) = (&healthy["daemon"]["running"], &healthy["daemon"]["http"]);
    assert_eq!((running, http), (&json!(true), &json!(true)), "{healthy:#}");
    daemon.signal(Signal::STOP);
    let report = document(&world);
    assert_eq!(report["daemon"]["running"], true, "{report:#}");
    assert!(failure(&report, "daemon").contains("hello"), "{report:#}");
    assert!(report["project"]["counts"].is_object(), "{report:#}");
}

#[test]
fn a_wrong_settings_file_is_a_line_without_its_text() {
    let world = World::with(&[("a.txt", "a\n")]);
    let text = "[retention]\nbetelgeuse = 7\n";
    std::fs::write(world.home().join("config.toml"), text).unwrap();
    let report = document(&world);
    assert_eq!(failure(&report, "settings"), "a settings file cannot be used, line 2");
    assert!(!report.to_string().contains("betelgeuse"), "{report:#}");
}
