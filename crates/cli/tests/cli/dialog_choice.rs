//! `approve`, `reset` and `session` without `--dialog`: whose work is meant.

use expect_test::expect;
use serde_json::json;

use crate::support::World;

/// A dialog with work that waits, and after it one that did nothing.
fn one_waits() -> World {
    let world = World::with(&[("a.txt", "0\n")]);
    world.say("d1", "one");
    world.shell("k1", "echo 1 > a.txt");
    let ran = world.run(&["run", "--", "/nonexistent/program"]);
    assert_eq!(ran.code, 127);
    world
}

/// Two dialogs with work that waits.
fn two_wait() -> World {
    let world = World::with(&[("a.txt", "0\n"), ("b.txt", "0\n")]);
    world.say("d1", "first words");
    world.shell_of("d1", "k1", "echo 1 > a.txt");
    world.say("d2", "other words");
    world.shell_of("d2", "k2", "echo 2 > b.txt");
    world
}

#[test]
fn a_dialog_that_did_nothing_is_not_meant() {
    let world = one_waits();
    assert!(world.ok(&["session"]).starts_with("d1, session_1"));
    assert_eq!(world.run(&["reset", "--json", "--dry-run"]).json()["dialog"], "d1");
    assert_eq!(world.run(&["approve", "--json"]).json()["dialog"], "d1");
    let world = one_waits();
    world.ok(&["reset"]);
    assert_eq!(world.read("a.txt"), "0\n");
}

#[test]
fn work_that_was_approved_and_taken_back_waits_too() {
    let world = World::with(&[("a.txt", "0\n")]);
    world.say("d1", "one");
    world.shell("k1", "echo 1 > a.txt");
    world.ok(&["approve"]);
    world.ok(&["rollback", "--dialog", "d1"]);
    assert_eq!(world.run(&["run", "--", "/nonexistent/program"]).code, 127);
    world.ok(&["reset"]);
    assert_eq!(world.read("a.txt"), "1\n");
}

#[test]
fn of_several_dialogs_one_has_to_be_named() {
    let world = two_wait();
    for verb in ["approve", "reset", "session"] {
        let ran = world.run(&[verb]);
        assert_eq!((ran.code, ran.text().as_str()), (3, ""), "{verb}: {}", ran.stderr);
        // The same words for people and programs, without colours and times.
        let message = "2 dialogs have work that waits for approval: d2, d1";
        let hint = "hint: name one with --dialog; `retake dialogs` lists all";
        assert_eq!(ran.stderr, format!("error: {message}\n{hint}\n"), "{verb}");
        let ran = world.run(&[verb, "--json"]);
        let error = &ran.json()["error"];
        assert_eq!((ran.code, &error["code"]), (3, &json!("needs_dialog")));
        assert_eq!(error["message"], message);
    }
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("1\n", "2\n"));
    world.ok(&["approve", "--dialog", "d2"]);
    // Then it is clear.
    world.ok(&["reset"]);
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("0\n", "2\n"));
}

#[test]
fn at_a_terminal_it_is_asked_which_one() {
    let world = two_wait();
    let Some(seen) = world.answered("session", "2\n") else { return };
    assert!(seen.contains("Which one?") && seen.contains("d1, session_1"), "{seen}");
    for answer in ["\n", "n\n", "", "3\n0\nd3\n1\n"] {
        let (seen, code) = world.answered_with_code("reset", answer).unwrap();
        assert!(seen.contains("Which one? [1-2] [N]one "), "{seen}");
        assert!(seen.ends_with("Cancelled; nothing was changed.\n"), "{answer:?}: {seen}");
        assert_eq!(code, 3, "{seen}");
    }
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("1\n", "2\n"));
    let seen = world.answered("reset", "3\n1\n").unwrap();
    assert!(seen.contains("Please answer with a number from 1 to 2, or n."), "{seen}");
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("1\n", "0\n"));
}

#[test]
fn that_nothing_waits_is_said() {
    let world = one_waits();
    world.ok(&["approve"]);
    expect![[r#"
        Nothing to approve: no dialog has work that waits for approval.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["approve"]));
    expect![[r#"
        Nothing to reset: no dialog has work that waits for approval; no file was changed.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["reset"]));
    expect![[r#"
        d1, session_2 (last approved DATE TIME)
        Nothing that it did waits for approval.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["session"]));
    let ran = world.run(&["approve", "--json"]);
    assert_eq!(
        (ran.code, &ran.json()["commit"], &ran.json()["changes"]),
        (0, &json!(null), &json!(0))
    );
    let ran = world.run(&["reset", "--json"]);
    assert_eq!((ran.code, &ran.json()["title"]), (0, &json!("nothing to reset")));
    // The state of the last approval is still there to go back to.
    world.write("a.txt", "mine\n");
    assert_eq!(world.run(&["reset", "--exact", "--yes", "--json"]).json()["dialog"], "d1");
    assert_eq!(world.read("a.txt"), "1\n");
}
