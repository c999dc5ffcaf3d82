//! Confirmation: only a person at a terminal is asked, and nothing happens without a yes.

use expect_test::expect;
use serde_json::json;

use crate::support::World;

/// Two dialogs in one file: undoing the first one's turn crosses the second one.
fn crossing() -> World {
    let world = World::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    world.say("d2", "second dialog, first line");
    world.shell_of("d2", "k2", "sed -i s/2/two/ a.txt");
    world.say("d1", "first dialog, last line");
    world.shell_of("d1", "k1", "sed -i s/8/eight/ a.txt");
    world
}

#[test]
fn crossing_another_dialog_needs_a_yes() {
    let world = crossing();
    let before = world.read("a.txt");
    let words = ["rollback", "--dialog", "d2"];
    expect![[r#"
        error: nothing was changed: rollback of all changes of d2 needs your confirmation:
          d1 changed some of these files, too.
        hint: --yes does it, --dry-run --diff shows it
        exit 3
    "#]]
    .assert_eq(&world.seen(&words));
    expect![[r#"
        Plan: rollback of all changes of d2
          merge  a.txt  later edits stay
        This needs your confirmation:
          d1 changed some of these files, too.
        Nothing was written.
        exit 0
    "#]]
    .assert_eq(&world.seen(&[&words[..], &["--dry-run"]].concat()));
    let ran = world.run(&[&words[..], &["--json"]].concat());
    assert_eq!((ran.code, &ran.json()["crosses"]), (3, &json!(["d1"])));
    assert_eq!(ran.json()["asks"], json!(["crosses_dialogs"]));
    assert!(ran.json()["operation"].is_null());
    assert_eq!(world.read("a.txt"), before);
    assert_eq!(world.run(&[&words[..], &["--yes"]].concat()).code, 0);
    assert_eq!(world.read("a.txt"), before.replace("two", "2"));
    // Undoing the newest step crosses no other dialog.
    assert_eq!(world.run(&["undo"]).code, 0);
}

/// A person's edit on top of an agent's: only a cascade takes back the one with the other.
fn own_edit() -> (World, String) {
    let world = World::with(&[("a.txt", "1\n2\n3\n")]);
    world.say("d1", "spell it out");
    world.shell("k1", "sed -i s/2/two/ a.txt");
    let id = world.change_of("a.txt");
    world.write("a.txt", "1\nmine\n3\n");
    (world, id)
}

#[test]
fn a_person_s_edit_is_only_taken_back_after_a_yes() {
    let (world, id) = own_edit();
    let words = ["reject", &id, "--cascade"];
    expect![[r#"
        error: nothing was changed: reject of c6 in a.txt needs your confirmation:
          It takes back edits of yours: c8 in a.txt.
        hint: --yes does it, --dry-run --diff shows it
        exit 3
    "#]]
    .assert_eq(&world.seen(&words));
    let ran = world.run(&[&words[..], &["--json"]].concat());
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (3, &json!("needs_yes")));
    assert!(ran.json()["asks"].as_array().unwrap().contains(&json!("takes_your_edits")));
    assert_eq!(world.read("a.txt"), "1\nmine\n3\n");
    assert_eq!(world.run(&[&words[..], &["--yes"]].concat()).code, 0);
    assert_eq!(world.read("a.txt"), "1\n2\n3\n");
    assert_eq!(world.run(&["undo"]).code, 0);
    assert_eq!(world.read("a.txt"), "1\nmine\n3\n");
}

#[test]
fn a_person_s_own_change_cannot_be_named() {
    let world = World::with(&[("a.txt", "1\n")]);
    world.write("a.txt", "mine\n");
    let id = world.change_of("a.txt");
    expect![[r#"
        error: change c2 was not made by an agent but by user
        hint: `retake undo` takes back what Retake did, `retake restore` brings back a file's earlier state
        exit 1
    "#]]
    .assert_eq(&world.seen(&["rollback", "--change", &id]));
    assert_eq!(world.read("a.txt"), "mine\n");
}

#[test]
fn at_a_terminal_the_answer_decides() {
    let (own, id) = own_edit();
    let cases = [
        (crossing(), "rollback --dialog d2".to_owned(), "d1 changed some of these files, too"),
        (own, format!("reject {id} --cascade"), "It takes back edits of yours"),
    ];
    for (world, words, question) in cases {
        let before = world.read("a.txt");
        let Some((seen, code)) = world.answered_with_code(&words, "n\n") else { return };
        assert!(seen.contains("Go on? [y]es [d]iff [N]o"), "{seen}");
        assert!(seen.ends_with("Cancelled; nothing was changed.\n"), "{seen}");
        assert_eq!((code, seen.contains("error:")), (3, false), "{seen}");
        assert!(seen.contains(question), "{seen}");
        assert_eq!(world.read("a.txt"), before);
        // The plan is shown as `--dry-run` shows it.
        assert!(seen.contains("Plan: ") && seen.contains("  a.txt"), "{seen}");
        let (seen, code) = world.answered_with_code(&words, "").unwrap();
        assert!(seen.contains("Cancelled; nothing was changed."), "{seen}");
        assert_eq!((code, world.read("a.txt")), (3, before.clone()));
        let seen = world.answered(&words, "y\n").unwrap();
        assert!(seen.contains("take it back with `retake undo`"), "{seen}");
        assert_eq!(world.read("a.txt"), before.replace("two", "2").replace("mine", "2"));
    }
}

#[test]
fn at_a_terminal_a_plan_that_replaces_nothing_runs_straight_away() {
    let world = crossing();
    let Some(seen) = world.answered("undo", "") else { return };
    assert!(seen.contains("Undid turn 1 of d1") && !seen.contains("Go on?"), "{seen}");
    // Short differences are shown there without being asked for.
    let seen = world.answered("redo --dry-run", "").unwrap();
    assert!(seen.contains("+eight"), "{seen}");
}

#[test]
fn an_answer_that_fits_no_choice_is_asked_for_again() {
    let (world, id) = own_edit();
    let words = format!("reject {id} --cascade");
    let Some((seen, code)) = world.answered_with_code(&words, "maybe\nyes please\n7\ny\n") else {
        return;
    };
    assert_eq!(seen.matches("Go on?").count(), 3, "{seen}");
    assert_eq!(seen.matches("Please answer y, d or n.").count(), 2, "{seen}");
    assert_eq!((code, world.read("a.txt").as_str()), (3, "1\nmine\n3\n"), "{seen}");
    let (seen, code) = world.answered_with_code(&words, "maybe\nYES\n").unwrap();
    assert_eq!((code, world.read("a.txt").as_str()), (0, "1\n2\n3\n"), "{seen}");
}

#[test]
fn the_difference_is_shown_before_the_answer() {
    let (world, id) = own_edit();
    let words = format!("reject {id} --cascade");
    let Some((seen, code)) = world.answered_with_code(&words, "d\nd\n\n") else { return };
    assert_eq!(seen.matches("-mine\n").count(), 2, "{seen}");
    assert_eq!(seen.matches("Go on?").count(), 3, "{seen}");
    assert_eq!((code, world.read("a.txt").as_str()), (3, "1\nmine\n3\n"), "{seen}");
}

#[test]
fn a_declined_question_is_an_error_only_for_programs() {
    let (world, id) = own_edit();
    let Some((seen, code)) =
        world.answered_with_code(&format!("reject {id} --cascade --json"), "n\n")
    else {
        return;
    };
    assert!(seen.contains(r#""code": "declined""#) && !seen.contains("Cancelled"), "{seen}");
    assert_eq!(code, 3);
    let (seen, code) = world.answered_with_code("purge a.txt", "n\n").unwrap();
    assert!(seen.contains("Purge them? [y]es [N]o "), "{seen}");
    assert!(seen.ends_with("Cancelled; nothing was purged.\n"), "{seen}");
    assert_eq!((code, seen.contains("warning")), (3, false), "{seen}");
    let (seen, code) = world.answered_with_code("purge a.txt --json", "n\n").unwrap();
    assert!(seen.contains(r#""code": "declined""#), "{seen}");
    assert_eq!(code, 3);
}
