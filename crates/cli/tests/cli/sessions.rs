//! `retake session`, `approve` and `reset`: rounds of approval.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::World;

fn file<'a>(status: &'a Value, path: &str) -> &'a Value {
    let files = status["changed_files"].as_array().unwrap();
    files.iter().find(|file| file["path"] == path).unwrap()
}

#[test]
fn rounds_are_approved_and_reset_and_numbers_only_grow() {
    let world = World::with(&[("a.txt", "0\n")]);
    world.say("d1", "one");
    world.shell("k1", "echo 1 > a.txt");
    world.say("d1", "two");
    world.shell("k2", "echo more > more.txt");
    expect![[r#"
        d1, session_1 (nothing is approved yet)
          M  a.txt     +1  -1
          A  more.txt  +1  -0
        2 files; `retake approve` keeps this, `retake reset` takes it back.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["session"]));
    expect![[r#"
        Approved session_1 of d1: 2 changes, 4 checkpoints, as CHECK-ID.
        What comes next is in session_2; `retake reset` goes back to here.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["approve", "-m", "good\u{1b}[2J"]));
    expect![[r#"
        d1, session_2 (last approved DATE TIME)
        Nothing that it did waits for approval.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["session"]));
    world.say("d1", "three");
    world.shell("k3", "echo 3 > a.txt; rm more.txt; echo x > x.txt");
    expect![[r#"
        error: nothing was changed: reset of d1 needs your confirmation:
          It removes 1 file: x.txt.
        hint: --yes does it, --dry-run --diff shows it
        exit 3
    "#]]
    .assert_eq(&world.seen(&["reset"]));
    expect![[r#"
          restored      a.txt
          brought back  more.txt
          removed       x.txt     (did not exist)

        Reset of d1: 3 files changed.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.
        What comes next is in session_3.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["reset", "--yes"]));
    assert_eq!((world.read("a.txt").as_str(), world.read("more.txt").as_str()), ("1\n", "more\n"));
    expect![[r#"
        SESSION    STATE      OPENED               CLOSED               COMMIT    MESSAGE
        session_1  merged     DATE TIME  DATE TIME  CHECK-ID  good\x1b[2J
        session_2  abandoned  DATE TIME  DATE TIME  -
        session_3  active     DATE TIME  -                    -
        exit 0
    "#]]
    .assert_eq(&world.seen(&["session", "--all"]));
    let all = world.run(&["session", "--all", "--json"]).json();
    let states: Vec<_> =
        all["sessions"].as_array().unwrap().iter().map(|one| one["state"].clone()).collect();
    assert_eq!(states, ["merged", "abandoned", "active"]);
}

#[test]
fn approve_and_reset_answer_programs() {
    let world = World::with(&[("a.txt", "0\n")]);
    world.say("d1", "one");
    world.shell("k1", "echo 1 > a.txt");
    let approved = world.run(&["approve", "--json", "-m", "fine"]).json();
    assert_eq!(approved["commit"].as_str().unwrap().len(), 40);
    let mut told = approved.clone();
    told["commit"] = Value::Null;
    assert_eq!(
        told,
        json!({ "dialog": "d1", "commit": null, "session": "session_1", "new_session": "session_2",
            "commits": 3, "changes": 1, "shared": 0, "message": "fine" })
    );
    world.shell("k2", "echo 2 > a.txt");
    let planned = world.run(&["reset", "--json", "--dry-run"]).json();
    assert_eq!((&planned["new_session"], &planned["dry_run"]), (&json!(null), &json!(true)));
    let reset = world.run(&["reset", "--json"]).json();
    assert_eq!((&reset["new_session"], &reset["whole"]), (&json!("session_3"), &json!(true)));
    assert_eq!(world.read("a.txt"), "1\n");
}

#[test]
fn approved_work_is_not_rejected_but_rolled_back() {
    let world = World::with(&[("a.txt", "0\n")]);
    world.say("d1", "one");
    world.shell("k1", "echo 1 > a.txt");
    let id = world.change_of("a.txt");
    world.ok(&["approve"]);
    expect![[r#"
        error: change c6 was approved
        hint: `retake rollback --change` takes back what was approved
        exit 1
    "#]]
    .assert_eq(&world.seen(&["reject", &id]));
    world.ok(&["rollback", "--change", &id]);
    assert_eq!(world.read("a.txt"), "0\n");
}

/// STAT-3, and where an editor opens each file.
#[test]
fn the_status_has_exactly_the_promised_fields() {
    let world = World::with(&[("mod.txt", "1\n2\n3\n"), ("gone.txt", "a\nb\n"), ("bin", "x\0y")]);
    world.say("d1", "go");
    let large = "0123456789abcdef\n".repeat(62_000);
    world.write("prepared", &large);
    world.ok(&["status"]);
    world.shell(
        "k1",
        "sed -i s/2/two/ mod.txt; rm gone.txt; printf 'x\\0z' > bin; \
         printf 'n\\nm\\n' > new.txt; cp prepared large; printf '\\377\\n' > latin",
    );
    let status = world.run(&["session", "--json"]).json();
    let keys: Vec<_> = status.as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        keys,
        ["active_session", "changed_files", "has_unapproved", "last_approved_at", "session_ref"]
    );
    assert_eq!(status["active_session"], "session_1");
    assert_eq!(status["session_ref"], "refs/heads/session_1");
    assert_eq!(status["has_unapproved"], true);
    assert_eq!(status["last_approved_at"], Value::Null);
    let check = |path: &str, line: Value, mut promised: Value| {
        let place = json!({ "path": path, "file_path": world.root().join(path), "line": line });
        promised.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
        promised["old_path"] = Value::Null;
        assert_eq!(*file(&status, path), promised);
    };
    check(
        "mod.txt",
        2.into(),
        json!({ "status": "modified", "additions": 1, "deletions": 1,
            "diff": "--- a/mod.txt\n+++ b/mod.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n",
            "base_content": "1\n2\n3\n", "is_binary": false, "is_too_large": false }),
    );
    check(
        "gone.txt",
        Value::Null,
        json!({ "status": "deleted", "additions": 0, "deletions": 2,
            "diff": null, "base_content": "a\nb\n", "is_binary": false, "is_too_large": false }),
    );
    check(
        "new.txt",
        1.into(),
        json!({ "status": "added", "additions": 2, "deletions": 0,
            "diff": null, "base_content": null, "is_binary": false, "is_too_large": false }),
    );
    check(
        "bin",
        Value::Null,
        json!({ "status": "modified", "additions": 0, "deletions": 0,
            "diff": null, "base_content": null, "is_binary": true, "is_too_large": false }),
    );
    check(
        "large",
        Value::Null,
        json!({ "status": "added", "additions": 0, "deletions": 0,
            "diff": null, "base_content": null, "is_binary": false, "is_too_large": true }),
    );
    world.ok(&["approve"]);
    let status = world.run(&["session", "--json"]).json();
    let at = status["last_approved_at"].as_str().unwrap();
    assert!(at.len() == 24 && at.ends_with('Z'), "{at}");
    assert_eq!(status["has_unapproved"], false);
    assert_eq!(status["active_session"], "session_2");
}

#[test]
fn text_that_json_cannot_carry_has_no_base_content() {
    let world = World::new();
    world.write("latin", b"\xff\n");
    world.ok(&["init"]);
    world.say("d1", "go");
    world.shell("k1", "printf '\\376\\n' > latin");
    let status = world.run(&["session", "--json"]).json();
    let file = file(&status, "latin");
    assert_eq!((&file["base_content"], &file["is_binary"]), (&Value::Null, &json!(false)));
    assert_eq!((&file["additions"], &file["deletions"]), (&json!(1), &json!(1)));
}

#[test]
fn the_base_is_without_the_dialog_s_work_but_with_the_person_s() {
    let world = World::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n")]);
    world.say("d1", "go");
    world.shell("k1", "sed -i s/2/two/ a.txt");
    world.write("a.txt", world.read("a.txt").replace('6', "mine"));
    let status = world.run(&["session", "--json"]).json();
    let file = file(&status, "a.txt");
    assert_eq!(file["base_content"], "1\n2\n3\n4\n5\nmine\n7\n");
    assert!(!file["diff"].as_str().unwrap().contains("+mine"), "{file}");
    assert_eq!((&file["additions"], &file["deletions"]), (&json!(1), &json!(1)));
}

#[test]
fn without_a_dialog_there_is_no_session_and_nothing_to_approve() {
    let world = World::with(&[("a.txt", "0\n")]);
    assert_eq!(
        world.run(&["session", "--json"]).json(),
        json!({ "active_session": null, "session_ref": null, "has_unapproved": false,
            "last_approved_at": null, "changed_files": [] })
    );
    assert_eq!(world.ok(&["session"]), "No agent has worked in this project yet.\n");
    for verb in ["approve", "reset"] {
        let ran = world.run(&[verb, "--json"]);
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!("unknown_dialog")));
    }
}

#[test]
fn each_dialog_is_approved_and_reset_for_itself() {
    let world = World::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    world.say("d1", "go");
    world.shell_of("d1", "k1", "echo 1 >> a.txt");
    world.say("d2", "go");
    world.shell_of("d2", "k2", "echo 2 >> b.txt");
    world.ok(&["reset", "--dialog", "d1"]);
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("a\n", "b\n2\n"));
    world.ok(&["approve", "--dialog", "d2"]);
    expect![[r#"
        Project [WORLD]/project
        Recording: no agent that Retake knows is installed (see `retake setup --status`)

        Nothing waits for your review.

        d1 has not seen 1 changed file; see `retake context --stale --dialog d1`

        2 files tracked · 3 changes on record · record SIZE
        exit 0
    "#]]
    .assert_eq(&world.seen(&["status"]));
}

#[test]
fn an_exact_reset_lists_what_of_the_person_s_it_replaces() {
    let world = World::with(&[("a.txt", "a\n")]);
    world.say("d1", "go");
    world.shell("k1", "echo 1 >> a.txt");
    world.write("mine.txt", "mine\n");
    expect![[r#"
        error: nothing was changed: reset of d1 needs your confirmation:
          It replaces edits of yours: mine.txt.
          It removes 1 file: mine.txt.
        hint: --yes does it, --dry-run --diff shows it
        exit 3
    "#]]
    .assert_eq(&world.seen(&["reset", "--exact"]));
    world.ok(&["reset", "--exact", "--yes"]);
    assert_eq!(
        (world.read("a.txt").as_str(), world.read("mine.txt").as_str()),
        ("a\n", "(absent)")
    );
}
