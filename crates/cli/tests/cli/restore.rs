//! `retake checkpoint`, `checkpoints` and `restore`.

use expect_test::expect;
use serde_json::json;

use crate::support::World;

fn two_answers() -> World {
    let world = World::with(&[("a.txt", "0\n"), ("b.txt", "b\n")]);
    world.say("d1", "make it one");
    world.shell("k1", "echo 1 > a.txt");
    world.say("d1", "make it two");
    world.shell("k2", "echo 2 > a.txt; echo two > two.txt");
    world
}

#[test]
fn the_first_checkpoint_comes_with_init() {
    let world = World::new();
    world.write("a.txt", "0\n");
    let made = world.ok(&["init", "--checkpoint"]);
    expect![[r#"
        Now tracking [WORLD]/project
          tracked     1 file
          gaps        none: everything tracked is protected
          checkpoint  CHECK-ID (come back to it with `retake restore CHECK-ID`)
          record      [STORE] (SIZE)
        Recording: no agent that Retake knows is installed (see `retake setup --status`)
    "#]]
    .assert_eq(&world.normal(&made));
    world.write("a.txt", "1\n");
    let listed = world.run(&["checkpoints", "--json"]).json();
    assert_eq!(listed["checkpoints"].as_array().unwrap().len(), 1);
    world.ok(&["restore", listed["checkpoints"][0]["id"].as_str().unwrap(), "--yes"]);
    assert_eq!(world.read("a.txt"), "0\n");
    let again = world.run(&["init", "--checkpoint", "--json"]).json();
    let listed = world.run(&["checkpoints", "--json"]).json();
    assert_eq!(again["checkpoint"], listed["checkpoints"][0]["id"]);
}

#[test]
fn a_checkpoint_is_made_listed_and_come_back_to() {
    let world = World::with(&[("a.txt", "0\n")]);
    expect![[r#"
        There is no checkpoint yet; `retake checkpoint` makes one.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["checkpoints"]));
    let made = world.ok(&["checkpoint", "-m", "before\nthe storm"]);
    expect![[r#"
        Checkpoint CHECK-ID (before\nthe storm): 1 file.
        Come back to it with `retake restore CHECK-ID`.
    "#]]
    .assert_eq(&world.normal(&made));
    let id = made.split(' ').nth(1).unwrap().to_owned();
    world.write("a.txt", "1\n");
    expect![[r#"
        error: nothing was changed: restore to 'before\nthe storm' needs your confirmation:
          It replaces edits of yours: a.txt.
        hint: --yes does it, --dry-run --diff shows it
        exit 3
    "#]]
    .assert_eq(&world.seen(&["restore", &id]));
    assert_eq!(world.read("a.txt"), "1\n");
    expect![[r#"
          restored  a.txt  as in the checkpoint; replaces your edits

        Restore to 'before\nthe storm': 1 file changed.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.
        The restored state is checkpoint CHECK-ID.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["restore", &id, "--yes"]));
    assert_eq!(world.read("a.txt"), "0\n");
    expect![[r#"
        Restore to 'before\nthe storm': no file changed.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["restore", &id]));
    world.ok(&["undo"]);
    assert_eq!(world.read("a.txt"), "1\n");
    expect![[r#"
        CHECKPOINT  MADE                 KIND              DIALOG  SESSION  NAME
        CHECK-ID    DATE TIME  before operation  -       -        Before undo of o5 (restore to 'before\nthe storm')
        exit 0
    "#]].assert_eq(&world.seen(&["checkpoints", "-n", "1"]));
    let list = world.run(&["checkpoints", "--json"]).json();
    let restored = &list["checkpoints"][1];
    let target = &list["checkpoints"][3]["id"];
    assert_eq!(restored["message"], format!("Restored to {}", target.as_str().unwrap()));
}

#[test]
fn the_list_of_checkpoints_is_json_too() {
    let world = two_answers();
    let made = world.run(&["checkpoint", "-m", "x", "--dialog", "d", "--json"]).json();
    let list = world.run(&["checkpoints", "--dialog", "d1", "--json"]).json();
    let list = list["checkpoints"].as_array().unwrap();
    assert_eq!(list[0], made);
    let kinds: Vec<_> = list.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["manual", "before_message", "before_message", "initial"]);
    let keys: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "dialog",
            "files",
            "id",
            "kind",
            "message",
            "said_by",
            "seq",
            "session",
            "timestamp",
            "tree",
            "unstable"
        ]
    );
    assert_eq!(made["session"], "session_1");
    assert_eq!(list[1]["message"], "Before user message: make it two");
}

#[test]
fn an_event_s_reply_names_the_checkpoint_before_a_message() {
    let world = two_answers();
    let reply = world.say("d1", "and three");
    let id = reply["checkpoint"].as_str().unwrap();
    let list = world.run(&["checkpoints", "-n", "1", "--json"]).json();
    assert_eq!(list["checkpoints"][0]["id"], id);
    let end = world.feed(r#"{"event":"turn_end","dialog":"d1"}"#).lines().remove(0);
    assert_eq!(end.get("checkpoint"), Some(&json!(null)));
    world.ok(&["restore", id]);
}

#[test]
fn restore_to_before_a_message_says_which_answers_go() {
    let world = two_answers();
    expect![[r#"
        error: nothing was changed: restore to before message 2 of d1 (“make it two”) needs your confirmation:
          It removes 1 file: two.txt.
        hint: --yes does it, --dry-run --diff shows it
        exit 3
    "#]]
    .assert_eq(&world.seen(&["restore", "--before-message", "2"]));
    expect![[r#"
          restored  a.txt
          removed   two.txt  (not in the checkpoint)

        Restore to before message 2 of d1 (“make it two”): 2 files changed.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.
        The restored state is checkpoint CHECK-ID.
        Undone with it: the answer to message 2 of d1.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["restore", "--before-message", "2", "--yes"]));
    assert_eq!((world.read("a.txt").as_str(), world.read("two.txt").as_str()), ("1\n", "(absent)"));
    world.ok(&["undo"]);
    assert_eq!(world.read("a.txt"), "2\n");
    expect![[r#"
          restored  a.txt
          removed   two.txt  (not in the checkpoint)

        Restore to before message 1 of d1 (“make it one”): 2 files changed.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.
        The restored state is checkpoint CHECK-ID.
        Undone with it: the answers to messages 1, 2 of d1.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["restore", "--before-message", "1", "--dialog", "d1", "-y"]));
    assert_eq!(world.read("a.txt"), "0\n");
    expect![[r#"
        error: d1 has 2 messages, so there is no message 3
        hint: `retake dialogs` counts them as turns; pass --dialog ID for another dialog
        exit 1
    "#]]
    .assert_eq(&world.seen(&["restore", "--before-message", "3"]));
    assert_eq!(world.run(&["restore"]).code, 2);
    assert_eq!(world.run(&["restore", "1234", "--dialog", "d1"]).code, 1, "no such checkpoint");
}

#[test]
fn single_paths_are_restored_also_before_a_message() {
    let world = two_answers();
    world.ok(&["restore", "--before-message", "1", "a.txt"]);
    assert_eq!((world.read("a.txt").as_str(), world.read("two.txt").as_str()), ("0\n", "two\n"));
    let list = world.run(&["checkpoints", "--json"]).json();
    let initial = list["checkpoints"].as_array().unwrap().last().unwrap()["id"].clone();
    world.ok(&["restore", initial.as_str().unwrap(), "two.txt", "--yes"]);
    assert_eq!(world.read("two.txt"), "(absent)");
}

#[test]
fn files_of_the_person_and_of_other_dialogs_stay_unless_exact() {
    let world = two_answers();
    world.write("mine.txt", "mine\n");
    world.say("d2", "go");
    world.shell_of("d2", "k9", "echo d2 > b.txt");
    expect![[r#"
          restored  a.txt
          left      b.txt     d2 changed it since
                              → --exact takes it all the same
          kept      mine.txt  made by you
          removed   two.txt   (not in the checkpoint)

        Restore to before message 1 of d1 (“make it one”): 2 files changed, 1 left as it is.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.
        The restored state is checkpoint CHECK-ID.
        Undone with it: the answers to messages 1, 2 of d1.
        exit 3
    "#]]
    .assert_eq(&world.seen(&["restore", "--before-message", "1", "--dialog", "d1", "--yes"]));
    assert_eq!((world.read("mine.txt").as_str(), world.read("b.txt").as_str()), ("mine\n", "d2\n"));
    expect![[r#"
        Plan: restore to before message 1 of d1 (“make it one”)
          restore  b.txt
          remove   mine.txt  not in the checkpoint; made by you
        Undone with it: the answer to message 1 of d2.
        This needs your confirmation:
          It replaces edits of yours: mine.txt.
          d2 changed some of these files, too.
          It removes 1 file: mine.txt.
        Nothing was written.
        exit 0
    "#]]
    .assert_eq(&world.seen(&[
        "restore",
        "--before-message",
        "1",
        "--dialog",
        "d1",
        "--exact",
        "--dry-run",
    ]));
    let exact = ["restore", "--before-message", "1", "--dialog", "d1", "--exact", "--yes"];
    world.ok(&exact);
    assert_eq!(
        (world.read("mine.txt").as_str(), world.read("b.txt").as_str()),
        ("(absent)", "b\n")
    );
    world.ok(&["undo"]);
    assert_eq!((world.read("mine.txt").as_str(), world.read("b.txt").as_str()), ("mine\n", "d2\n"));
}

#[test]
fn unknown_checkpoints_are_named_with_a_hint() {
    let world = two_answers();
    expect![[r#"
        error: no checkpoint is called 'ffffffff'
        hint: `retake checkpoints` lists them; give at least four digits of the id
        exit 1
    "#]]
    .assert_eq(&world.seen(&["restore", "ffffffff"]));
    expect![[r#"
        error: no checkpoint is called '\x1b[2J'
        hint: `retake checkpoints` lists them; give at least four digits of the id
        exit 1
    "#]]
    .assert_eq(&world.seen(&["restore", "\u{1b}[2J"]));
    let ran = world.run(&["restore", "12", "--json"]);
    assert_eq!(ran.json()["error"]["code"], "unknown_checkpoint");
    assert_eq!(
        world.run(&["checkpoint", "--dialog", "ghost", "--json"]).json()["error"]["code"],
        "unknown_dialog"
    );
}

#[test]
fn a_dry_run_of_a_restore_is_its_result() {
    let world = two_answers();
    let words = ["restore", "--before-message", "2", "--json"];
    let mut planned = world.run(&[&words[..], &["--dry-run"]].concat()).json();
    let mut done = world.run(&[&words[..], &["--yes"]].concat()).json();
    assert!(done["checkpoint"].is_string() && done["operation"].is_string());
    for document in [&mut planned, &mut done] {
        for name in ["operation", "safety", "checkpoint", "dry_run"] {
            document[name] = json!(null);
        }
        for file in document["files"].as_array_mut().unwrap() {
            file["done"] = json!(null);
        }
    }
    assert_eq!(planned, done);
}

#[test]
fn a_state_is_written_into_a_new_folder_also_if_the_project_s_is_gone() {
    let world = two_answers();
    let listed = world.run(&["checkpoints", "--json"]).json();
    let first = listed["checkpoints"].as_array().unwrap().last().unwrap()["id"].clone();
    let first = first.as_str().unwrap();
    let into = |name: &str| world.outer().join(name);
    let named = |name: &str| into(name).to_str().unwrap().to_owned();
    world.ok(&["restore", first, "--into", &named("then")]);
    let read = |name: &str| std::fs::read_to_string(into(name)).unwrap();
    assert_eq!((read("then/a.txt"), read("then/b.txt")), ("0\n".into(), "b\n".into()));
    assert_eq!(world.read("a.txt"), "2\n", "the project is left alone");
    let again = world.run(&["restore", first, "--into", &named("then"), "--json"]);
    assert_eq!((again.code, again.json()["error"]["code"].as_str()), (1, Some("not_empty")));

    std::fs::remove_dir_all(world.root()).unwrap();
    let (root, outer) = (world.root(), world.outer());
    let gone = |arguments: &[&str]| {
        let output = world.command_in(&outer, arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let root = root.to_str().unwrap();
    let told = gone(&["--project", root, "restore", "--into", &named("now"), "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["files"], &told["whole"]), (&json!(3), &json!(true)), "{told}");
    assert_eq!((read("now/a.txt"), read("now/two.txt")), ("2\n".into(), "two\n".into()));
    let id = world.store().file_name().unwrap().to_str().unwrap().to_owned();
    gone(&["--project", &id, "restore", first, "a.txt", "--into", &named("one")]);
    assert_eq!(read("one/a.txt"), "0\n");
    assert_eq!(std::fs::read_dir(into("one")).unwrap().count(), 1);

    let projects = gone(&["projects", "--json"]);
    let projects: serde_json::Value = serde_json::from_str(&projects).unwrap();
    assert_eq!(
        (&projects["projects"][0]["missing"], &projects["totals"]["missing"]),
        (&json!(true), &json!(1))
    );
    assert!(gone(&["projects"]).contains("its folder is gone"));
}
