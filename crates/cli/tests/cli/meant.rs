//! Commands act on what was meant: names of dialogs, paths, changes and times where people type them.

use expect_test::expect;
use serde_json::json;

use crate::support::{World, ran};

const CLAUDE: &str = "205e7628-cff4-45ff-a1c2-b74cc724cc0a";
const CODEX: &str = "0199f3aa-77aa-7bbb-8ccc-0123456789ab";

/// A message to an agent, and a shell call of it.
fn turn(world: &World, dialog: &str, kind: &str, text: &str, script: &str) {
    let message = json!({ "event": "user_message", "dialog": dialog, "kind": kind, "text": text });
    assert_eq!(world.feed(message.to_string()).code, 0);
    world.shell_of(dialog, text, script);
}

/// Two agents and a person in one project.
fn story() -> World {
    let world = World::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n"), ("b.txt", "b\n")]);
    turn(&world, CLAUDE, "claude-code", "Spell out two", "sed -i s/2/two/ a.txt");
    turn(&world, CODEX, "codex", "Say more", "echo more >> b.txt; echo new > c.txt");
    world.write("a.txt", "1\ntwo\n3\n4\n5\nmine\n");
    turn(&world, CLAUDE, "claude-code", "Spell out four", "sed -i s/4/four/ a.txt");
    world
}

#[test]
fn log_has_a_line_for_each_turn_of_agents() {
    let world = story();
    expect![[r#"
        ●  DATE TIME  claude-1  “Spell out four”  1 file   +1  -1  c19
        ●  DATE TIME  codex-2   “Say more”        2 files  +2  -0  c13 c12
        ●  DATE TIME  claude-1  “Spell out two”   1 file   +1  -1  c6
        exit 0
    "#]]
    .assert_eq(&world.seen(&["log"]));
    expect![[r#"
        ●  DATE TIME  claude-1  “Spell out four”  1 file  +1  -1
            c19  M  a.txt  +1  -1  ~
        ●  DATE TIME  you  1 file  +1  -1
            c15  M  a.txt  +1  -1
        ●  DATE TIME  claude-1  “Spell out two”  1 file  +1  -1
            c6  M  a.txt  +1  -1  ~

        ~ found by what ran at the time, not announced by a tool (see `retake show`)
        exit 0
    "#]]
    .assert_eq(&world.seen(&["log", "--all", "a.txt"]));
    assert_eq!(world.ok(&["log", "-n", "1"]).lines().count(), 1);
    // Programs get every change, as before.
    let all = world.run(&["log", "--json"]).json();
    assert_eq!(all["changes"].as_array().unwrap().len(), 5);
}

/// More changes than are read at once lie between the changes of one turn.
#[test]
fn a_limited_log_has_whole_turns() {
    let world = World::with(&[("a.txt", "1\n")]);
    world.say("d1", "Do two things");
    world.shell_of("d1", "k1", "echo 2 >> a.txt");
    world.say("d2", "Make many");
    world.shell_of("d2", "k2", "for i in $(seq 1100); do echo $i > f$i; done");
    world.shell_of("d1", "k3", "echo new > b.txt");
    for (words, files) in [(&["log", "-n", "1"][..], 2), (&["log", "-n", "1", "--oldest-first"], 2)]
    {
        let seen = world.ok(words);
        assert!(seen.lines().count() == 1 && seen.contains(&format!("{files} files")), "{seen}");
        assert!(seen.contains("“Do two things”"), "{seen}");
    }
    assert!(world.ok(&["log", "-n", "2"]).contains("1,100 files"));
    assert_eq!(world.ok(&["log", "-n", "3"]), world.ok(&["log"]));
}

#[test]
fn without_a_home_only_the_line_about_agents_is_missing() {
    let world = story();
    for words in [&["status"][..], &["init"], &[]] {
        let done = ran(world.command(words).env_remove("HOME").output().unwrap());
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(
            done.text().contains("Recording: unknown, since HOME is not set"),
            "{}",
            done.text()
        );
    }
}

#[test]
fn what_became_of_a_turn_stands_in_its_line() {
    let world = story();
    world.ok(&["undo"]);
    world.ok(&["accept", "--dialog", "codex-2", "--file", "b.txt"]);
    world.ok(&["reject", "--dialog", "codex-2"]);
    expect![[r#"
        ●  DATE TIME  claude-1  “Spell out four”  1 file   +1  -1  undone     c19
        ●  DATE TIME  codex-2   “Say more”        2 files  +2  -0  2 decided  c13 c12
        ●  DATE TIME  claude-1  “Spell out two”   1 file   +1  -1             c6
        exit 0
    "#]]
    .assert_eq(&world.seen(&["log"]));
}

#[test]
fn dialogs_are_named_shortly_and_found_by_name_and_prefix() {
    let world = story();
    for name in ["codex-2", CODEX, "0199", "0199f3aa-77a…"] {
        let session = world.ok(&["session", "--dialog", name]);
        assert!(session.starts_with("codex-2, session_1"), "{name}: {session}");
    }
    let unknown = world.run(&["session", "--dialog", "codex-1"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("no dialog 'codex-1'"));
    let dialogs = world.run(&["dialogs", "--json"]).json();
    assert_eq!(dialogs["dialogs"][0]["name"], "claude-1");
    assert!(world.ok(&["ops"]).contains("has not changed"));
    world.ok(&["undo"]);
    assert!(world.ok(&["ops"]).contains("undo of turn 2 of claude-1 (“Spell out four”)"));
}

#[test]
fn paths_and_changes_are_understood_where_they_are_typed() {
    let world = story();
    let shown = world.ok(&["show", "a.txt"]);
    assert!(shown.starts_with("change   c19\n"), "{shown}");
    assert_eq!(world.ok(&["diff", "b.txt", "c.txt", "--stat"]).lines().count(), 3);
    assert!(world.ok(&["diff", "c12"]).contains("+more"));
    assert_eq!(world.ok(&["diff", "c12", "c13", "--stat"]).lines().count(), 3);
    for wrong in [&["diff", "c12", "b.txt"][..], &["diff", "c12", "--all"], &["undo", "b.txt"]] {
        assert_eq!(world.run(wrong).code, 2, "{wrong:?}");
    }
    assert!(world.run(&["undo", "b.txt"]).stderr.contains("retake rollback --file"));
    assert_eq!(world.run(&["undo", "1", "c6"]).code, 2);
    // A file whose name looks like a change.
    world.write("c12", "x\n");
    assert!(world.ok(&["show", "./c12"]).contains("path    c12\n"));
    // One change is undone, and the undo is itself a step.
    world.ok(&["undo", "c6"]);
    assert_eq!(world.read("a.txt"), "1\n2\n3\nfour\n5\nmine\n");
    world.ok(&["undo"]);
    assert_eq!(world.read("a.txt"), "1\ntwo\n3\nfour\n5\nmine\n");
}

#[test]
fn a_diff_of_a_file_tells_of_the_person_s_own_changes() {
    let world = story();
    let coloured = world.run(&["diff", "a.txt", "--color", "always"]);
    assert_eq!(
        coloured.stderr.replace("\u{1b}[36m", "").replace("\u{1b}[0m", ""),
        "note: 2 changes by agents; 1 by you since (--all)\n"
    );
    assert!(!coloured.text().contains("+mine"));
    assert_eq!(world.run(&["diff", "a.txt"]).stderr, "", "nothing beside a patch");
}

#[test]
fn a_time_is_named_with_its_scope_before_anything_is_taken_back() {
    let world = story();
    let asked = world.run(&["rollback", "--after", "2026-01-05"]);
    expect![[r#"
        error: nothing was changed: rollback of all changes after Mon 5 Jan 2026 00:00 needs your confirmation:
          It takes back work of 2 dialogs in 3 files, 1 of them removed: claude-1, codex-2.
        hint: --yes does it, --dry-run --diff shows it
    "#]]
    .assert_eq(&asked.stderr);
    assert_eq!(asked.code, 3);
    let document = world.run(&["rollback", "--after", "1h", "--json"]).json();
    assert_eq!(document["asks"], json!(["several_dialogs"]));
    // The work of one dialog is taken back at once.
    assert_eq!(world.run(&["rollback", "--after", "1h", "--dialog", "codex-2"]).code, 0);
    assert_eq!(world.read("b.txt"), "b\n");
}

#[test]
fn a_restore_tells_before_what_it_undoes() {
    let world = story();
    let words = ["restore", "--before-message", "2", "--dialog", "claude-1"];
    let plan = world.ok(&[&words[..], &["--dry-run"]].concat());
    let told = "Undone with it: the answer to message 2 of claude-1";
    assert!(plan.contains(told), "{plan}");
    let document = world.run(&[&words[..], &["--dry-run", "--json"]].concat()).json();
    assert_eq!(document["consequences"], json!([told]));
    assert_eq!(document["files"][0]["label"], "restore");
    let done = world.ok(&[&words[..], &["--yes"]].concat());
    assert!(done.contains(told), "{done}");
}

#[test]
fn a_folder_without_a_record_is_no_error_to_look_at() {
    let world = World::new();
    let listings = ["status", "log", "diff", "dialogs", "checkpoints", "ops", "review"];
    for words in listings.iter().map(std::slice::from_ref) {
        let ran = world.run(words);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
        assert!(ran.text().starts_with("Nothing is recorded in "), "{}", ran.text());
        assert!(ran.text().contains("`retake init`"), "{}", ran.text());
        assert_eq!(world.run(&[words, &["--json"]].concat()).code, 1, "{words:?}");
    }
    assert_eq!(world.run(&["undo"]).code, 1, "what acts cannot do what it was asked for");
    let alone = world.ok(&[]);
    assert!(alone.contains("retake setup") && alone.lines().count() < 10, "{alone}");
    assert_eq!(world.ok(&["status", "--short"]), "");
    assert!(!world.home().exists(), "looking records nothing");
}

#[test]
fn alone_and_short_say_what_waits() {
    let world = story();
    let alone = world.normal(&world.ok(&[]));
    assert!(
        alone.contains("3 files that agents changed wait for your review (claude-1, codex-2).")
    );
    for command in ["retake diff", "retake undo", "retake approve"] {
        assert!(alone.contains(command), "{alone}");
    }
    assert_eq!(world.ok(&["status", "--short"]), "3 unreviewed\n");
    let short = world.run(&["status", "--short", "--json"]).json();
    assert_eq!(short["unreviewed_files"], 3);
    world.ok(&["accept", "--all"]);
    assert_eq!(world.ok(&["status", "--short"]), "");
    assert!(world.ok(&[]).contains("Nothing waits for your review."));
}

#[test]
fn a_name_that_means_two_dialogs_means_none() {
    let world = story();
    world.say("claude-1", "hello");
    let ran = world.run(&["session", "--dialog", "claude-1"]);
    assert_eq!(ran.code, 1);
    let hint = format!("hint: write dialog-3 for the one, {CLAUDE} for the other");
    assert!(ran.stderr.contains(&hint), "{}", ran.stderr);
    assert!(world.ok(&["session", "--dialog", "dialog-3"]).starts_with("claude-1, session_1"));
}

#[test]
fn nothing_is_meant_by_an_empty_name() {
    let world = World::with(&[("a.txt", "1\n")]);
    world.say("d1", "go");
    world.shell("k1", "echo 2 > a.txt");
    for words in [
        &["rollback", "--dialog", "", "--yes"][..],
        &["reject", "--dialog", "…", "--yes"],
        &["show", ""],
        &["diff", ""],
    ] {
        assert_eq!(world.run(words).code, 1, "{words:?}");
    }
    assert_eq!(world.read("a.txt"), "2\n");
}

#[test]
fn a_message_number_of_several_dialogs_needs_a_name() {
    let world = story();
    let ran = world.run(&["rollback", "--message", "1"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("several dialogs have a message 1"), "{}", ran.stderr);
    // Only one dialog has a second message.
    world.ok(&["rollback", "--message", "2"]);
    assert_eq!(world.read("a.txt"), "1\ntwo\n3\n4\n5\nmine\n");
}

#[test]
fn words_are_true_of_a_moved_file_and_of_a_redo() {
    let world = World::with(&[("a.txt", "1\n2\n3\n4\n"), ("b.txt", "b\n")]);
    world.say("d1", "go");
    world.shell("k1", "mv a.txt z.txt; chmod +x b.txt");
    world.write("z.txt", "1\n2\n3\n4\nmine\n");
    expect![[r#"
        Plan: undo of turn 1 of d1 (“go”)
          bring back  a.txt  your later edits stay
          remove      z.txt  moves to a.txt
          chmod       b.txt  permissions as before
        Nothing was written.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo", "--dry-run"]));
    let done = world.ok(&["undo"]);
    assert!(done.contains("Later edits of yours in a.txt stay."), "{done}");
    assert_eq!(world.read("a.txt"), "1\n2\n3\n4\nmine\n");
    let redo = world.ok(&["redo", "--dry-run"]);
    assert!(redo.contains("b.txt  permissions as before the undo"), "{redo}");
}

/// A variable for the display does not get in the way of the record.
#[test]
fn an_unknown_style_of_dates_stops_no_recording() {
    let world = World::with(&[("a.txt", "1\n")]);
    for style in ["", "ISO", "nonsense"] {
        let message = json!({ "session_id": "s1", "hook_event_name": "UserPromptSubmit",
            "cwd": world.root(), "prompt": style });
        let mut command = world.command(&["hook", "claude-code"]);
        command.env("RETAKE_DATE", style).stdin(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), message.to_string().as_bytes())
            .unwrap();
        assert!(child.wait_with_output().unwrap().stderr.is_empty(), "{style}");
    }
    assert_eq!(world.run(&["dialogs", "--json"]).json()["dialogs"][0]["turns"], 3);
}

#[test]
fn a_purge_finds_what_an_undo_quoted() {
    let secret = "hunter2-Zq9-swordfish";
    let world = World::with(&[("cfg.ini", &format!("password={secret}\n")), ("a.txt", "1\n")]);
    world.say("d1", "go");
    turn(&world, CODEX, "codex", &format!("Log in with {secret} now"), "echo 2 > a.txt");
    let points = || world.run(&["checkpoints", "--json"]).text().matches(secret).count();
    let before = points();
    for verb in ["undo", "redo", "undo"] {
        world.ok(&[verb]);
    }
    assert_eq!(points(), before, "no name of a checkpoint quotes it");
    assert!(world.ok(&["ops"]).contains(secret));
    world.run(&["purge", "cfg.ini", "--yes"]);
    assert!(!world.ok(&["ops"]).contains(secret));
}

#[test]
fn alone_for_programs_it_is_the_status() {
    let world = story();
    assert_eq!(
        world.run(&["--json"]).json()["dialogs"],
        world.run(&["status", "--json"]).json()["dialogs"]
    );
}
