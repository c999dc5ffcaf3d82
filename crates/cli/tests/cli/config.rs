//! `retake config`: the settings in force, where each comes from, and changes of single ones.

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::support::{Ran, World, ran};

fn home_file(world: &World) -> std::path::PathBuf {
    world.home().join("config.toml")
}

fn write_home(world: &World, text: &str) {
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(home_file(world), text).unwrap();
}

fn setting(world: &World, key: &str) -> Value {
    world.run(&["config", "get", key, "--json"]).json()
}

/// In a folder that is in no project.
fn outside(world: &World, words: &[&str]) -> Ran {
    ran(world.command_in(&world.outer().join("person"), words).output().unwrap())
}

#[test]
fn show_tells_every_value_in_force_and_its_origin() {
    let world = World::with(&[("a.txt", "a\n")]);
    write_home(&world, "[retention]\nmax_dialogs = 7\n");
    let text = world.ok(&["config"]);
    assert_eq!(text, world.ok(&["config", "show"]));
    let line = |start: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(start));
        found.unwrap_or_else(|| panic!("{start}: {text}")).to_owned()
    };
    assert!(text.contains("[retention]\n") && text.contains("[http]\n"), "{text}");
    let words: Vec<_> = line("max_dialogs").split_whitespace().map(str::to_owned).collect();
    assert_eq!(words, ["max_dialogs", "home", "7"]);
    assert!(line("max_file_bytes").ends_with("2147483648 (2.00 GiB)"), "{text}");
    assert!(line("max_age_days").ends_with("(not set)"), "{text}");
    assert_eq!(line("project"), "  project, not there yet");
    // The environment of these tests declines the daemon.
    assert!(line("autostart").ends_with("RETAKE_AUTOSTART  false"), "{text}");
    let value = setting(&world, "daemon.autostart");
    assert_eq!((&value["value"], &value["source"]), (&json!(false), &json!("default")));
    assert_eq!(value["overridden_by"], "RETAKE_AUTOSTART");
}

#[test]
fn changed_shows_only_what_is_not_default() {
    let world = World::with(&[("a.txt", "a\n")]);
    let mut command = world.command(&["config", "--changed"]);
    let none = ran(command.env_remove("RETAKE_AUTOSTART").output().unwrap());
    assert!(none.text().starts_with("Every setting has its default."), "{}", none.text());
    write_home(&world, "[retention]\nmax_dialogs = 7\n");
    let values = world.run(&["config", "show", "--changed", "--json"]).json()["values"].clone();
    let keys: Vec<_> = values.as_array().unwrap().iter().map(|value| &value["key"]).collect();
    assert_eq!(keys, ["daemon.autostart", "retention.max_dialogs"]);
}

#[test]
fn it_works_outside_of_a_project_with_the_home_alone() {
    let world = World::new();
    let shown = outside(&world, &["config", "--json"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert_eq!(shown.json()["files"].as_array().unwrap().len(), 1);
    let set = outside(&world, &["config", "set", "retention.max_dialogs", "9"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    assert_eq!(outside(&world, &["config", "get", "retention.max_dialogs"]).text(), "9\n");
    let refused = outside(&world, &["config", "set", "retention.max_dialogs", "9", "--here"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("in no project"), "{}", refused.stderr);
    let nowhere = world.outer().join("person").display().to_string();
    assert_eq!(outside(&world, &["config", "--project", &nowhere]).code, 1);
}

#[test]
fn set_writes_typed_values_and_keeps_comments() {
    let world = World::with(&[("a.txt", "a\n")]);
    write_home(&world, "# mine\n[retention] # how much\nmax_dialogs = 7 # a week\n");
    let set = world.ok(&["config", "set", "retention.max_dialogs", "50"]);
    let file = home_file(&world).display().to_string();
    assert_eq!(set, format!("retention.max_dialogs: 7 → 50\nWritten to {file}\n"));
    let text = "# mine\n[retention] # how much\nmax_dialogs = 50 # a week\n";
    assert_eq!(std::fs::read_to_string(home_file(&world)).unwrap(), text);
    for (words, value) in [
        (&["limits.max_file_bytes", "500MB"][..], json!(500_000_000)),
        (&["limits.max_file_bytes", "64MiB"], json!(64 * 1024 * 1024)),
        (&["shield.enabled", "no"], json!(false)),
        (&["retention.max_age_days", "90"], json!(90)),
        (&["ignore.profile", "none"], json!("none")),
        (&["ignore.exclude", "*.log", "tmp/"], json!(["*.log", "tmp/"])),
        (&["ignore.exclude", "[\"a\"]"], json!(["a"])),
        (&["ignore.exclude", "[]"], json!([])),
        // A text that looks like a number stays a text.
        (&["summary.model", "4096"], json!("4096")),
        (&["http.port", "0"], json!(0)),
    ] {
        world.ok(&[&["config", "set"], words].concat());
        let found = setting(&world, words[0]);
        assert_eq!((&found["value"], &found["source"]), (&value, &json!("home")), "{words:?}");
    }
    assert_eq!(world.ok(&["config", "get", "ignore.profile"]), "none\n");
    assert_eq!(world.ok(&["config", "get", "ignore.exclude"]), "[]\n");
    assert_eq!(world.ok(&["config", "get", "summary.url"]), "");
}

#[test]
fn wrong_keys_and_values_are_refused_and_nothing_is_written() {
    let world = World::with(&[("a.txt", "a\n")]);
    write_home(&world, "[retention]\nmax_dialogs = 7\n");
    for (words, part) in [
        (&["retention.max_dialog", "5"][..], "did you mean retention.max_dialogs"),
        (&["max_dialogs", "5"], "did you mean retention.max_dialogs"),
        (&["retention.max_dialogs", "many"], "'retention.max_dialogs' cannot be \"many\""),
        (&["retention.max_dialogs", "-1"], "'retention.max_dialogs' cannot be -1"),
        (&["http.port", "70000"], "'http.port' cannot be 70000"),
        (&["shield.enabled", "maybe"], "'shield.enabled' cannot be \"maybe\""),
        (&["ignore.profile", "odd"], "'ignore.profile' cannot be \"odd\""),
        (&["retention.max_dialogs", "1", "2"], "takes one value"),
        (&["http.port", "5", "--here"], "`retake config set` without --here"),
    ] {
        let done = world.run(&[&["config", "set"], words].concat());
        assert_eq!(done.code, 1, "{words:?}: {}", done.text());
        assert!(done.stderr.contains(part), "{words:?}: {}", done.stderr);
    }
    let got = world.run(&["config", "get", "retention.max_dialog"]);
    assert_eq!((got.code, got.text().as_str()), (1, ""));
    assert!(got.stderr.contains("did you mean retention.max_dialogs"), "{}", got.stderr);
    assert_eq!(world.run(&["config", "unset", "retention.max_dialog"]).code, 1);
    let text = std::fs::read_to_string(home_file(&world)).unwrap();
    assert_eq!(text, "[retention]\nmax_dialogs = 7\n");
}

#[test]
fn here_is_the_projects_own_file_which_begins_with_the_homes() {
    let world = World::with(&[("a.txt", "a\n")]);
    write_home(&world, "[retention]\nmax_dialogs = 7\n[daemon]\nidle_minutes = 5\n");
    let done = world.run(&["config", "set", "hook.budget_ms", "900", "--here"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stderr.contains("settings of its own now"), "{}", done.stderr);
    let own = std::fs::read_to_string(world.store().join("config.toml")).unwrap();
    assert_eq!(own, "[retention]\nmax_dialogs = 7\n\n[hook]\nbudget_ms = 900\n");
    assert_eq!(setting(&world, "retention.max_dialogs")["source"], "project");
    assert_eq!(setting(&world, "daemon.idle_minutes")["source"], "home");
    // The home's file does not count here now, and that is said.
    let done = world.run(&["config", "set", "retention.max_dialogs", "8"]);
    assert!(done.stderr.contains("--here changes that"), "{}", done.stderr);
    assert_eq!(setting(&world, "retention.max_dialogs")["value"], 7);
    let done = world.run(&["config", "set", "daemon.idle_minutes", "6"]);
    assert!(!done.stderr.contains("--here"), "{}", done.stderr);
    let files = world.ok(&["config"]);
    assert!(files.contains("home, only [daemon] and [http] count"), "{files}");
}

#[test]
fn unset_takes_a_setting_out_of_the_file() {
    let world = World::with(&[("a.txt", "a\n")]);
    write_home(&world, "[retention]\nmax_dialogs = 7\n");
    let done = world.ok(&["config", "unset", "retention.max_dialogs"]);
    assert!(done.starts_with("retention.max_dialogs: 7 → 30 (default)\n"), "{done}");
    assert_eq!(std::fs::read_to_string(home_file(&world)).unwrap(), "[retention]\n");
    let again = world.ok(&["config", "unset", "retention.max_dialogs"]);
    assert!(again.starts_with("retention.max_dialogs is 30 (default)\nNothing to"), "{again}");
    // No file of its own is made for that.
    let done = world.run(&["config", "unset", "retention.max_dialogs", "--here", "--json"]).json();
    assert_eq!(done["changed"], false, "{done}");
    assert!(!world.store().join("config.toml").exists());
}

#[test]
fn wrong_entries_are_named_with_file_and_line() {
    let world = World::with(&[("a.txt", "a\n")]);
    write_home(&world, "[retention]\nmax_dialog = 7\n\n[ignroe]\n\n[shield]\nenabled = 3\n");
    let done = world.run(&["config"]);
    assert_eq!(done.code, 1);
    let file = home_file(&world).display().to_string();
    for (line, word) in [(2, "max_dialog"), (4, "ignroe"), (7, "boolean")] {
        let place = format!("{file}:{line}: ");
        let told = done.text().lines().find(|told| told.starts_with(&place)).map(str::to_owned);
        assert!(told.is_some_and(|told| told.contains(word)), "{place}{word}: {}", done.text());
    }
    assert!(done.text().contains("home, cannot be used, the defaults count"), "{}", done.text());
    // What is wrong is not made worse.
    let set = world.run(&["config", "set", "retention.max_dialogs", "5"]);
    assert_eq!(set.code, 1);
    assert!(set.stderr.contains("line 2"), "{}", set.stderr);
}

#[test]
fn path_marks_files_that_are_not_there() {
    let world = World::with(&[("a.txt", "a\n")]);
    write_home(&world, "");
    let (home, own) = (home_file(&world), world.store().join("config.toml"));
    let expected = format!("{}\n{}  (not there yet)\n", home.display(), own.display());
    assert_eq!(world.ok(&["config", "path"]), expected);
    let files = world.run(&["config", "path", "--json"]).json()["files"].clone();
    assert_eq!((&files[0]["exists"], &files[1]["exists"]), (&json!(true), &json!(false)));
}

#[test]
fn a_running_daemon_takes_a_change_or_it_is_said_that_it_does_not() {
    let world = World::with(&[("a.txt", "a\n")]);
    let daemon = Daemon::of(&world);
    world.ok(&["status"]);
    let done = world.run(&["config", "set", "limits.max_file_bytes", "3"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    world.write("b.txt", "larger\n");
    let gaps = world.run(&["status", "--json"]).json()["gaps"].clone();
    assert!(gaps.to_string().contains("b.txt"), "{gaps}");
    let done = world.run(&["config", "set", "http.port", "0"]);
    assert!(done.stderr.contains(&format!("process {}", daemon.pid())), "{}", done.stderr);
    assert!(done.stderr.contains("next start"), "{}", done.stderr);
    let done = world.run(&["config", "set", "http.login_days", "3", "--json"]).json();
    let said = (&done["old"], &done["new"], &done["needs_restart"], &done["daemon_pid"]);
    assert_eq!(said, (&json!(30), &json!(3), &json!(true), &json!(daemon.pid())));
    // Hooks read this one each time.
    let done = world.run(&["config", "set", "daemon.autostart", "no", "--json"]).json();
    assert_eq!((&done["needs_restart"], &done["daemon_pid"]), (&json!(false), &json!(null)));
}

#[test]
fn credentials_are_not_shown() {
    let world = World::with(&[("a.txt", "a\n")]);
    let url = "https://me:hunter2secret@models.example/v1";
    let set = world.ok(&["config", "set", "summary.url", url]);
    assert!(!set.contains("hunter2secret"), "{set}");
    assert_eq!(world.ok(&["config", "get", "summary.url"]), "https://•••@models.example/v1\n");
    assert!(std::fs::read_to_string(home_file(&world)).unwrap().contains(url));
}

#[test]
fn it_fits_a_terminal_of_80_columns() {
    let world = World::with(&[("a.txt", "a\n")]);
    let Some(seen) = world.on_a_terminal(&["config"]) else { return };
    assert!(seen.lines().count() > 30, "{seen}");
    // Paths are told whole.
    for row in seen.lines().filter(|line| !line.starts_with("    ")) {
        assert!(row.trim_end().chars().count() <= 80, "{row}");
    }
    assert!(seen.contains('…'), "{seen}");
}
