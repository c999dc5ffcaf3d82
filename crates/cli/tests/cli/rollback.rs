//! `retake rollback`: every scope, and what is left.

use expect_test::expect;
use serde_json::json;

use crate::support::World;

/// Three messages, each answered with a line in a file of its own and one in a common file.
fn three_answers() -> World {
    let world = World::with(&[("log.txt", "start\n")]);
    for number in 1..4 {
        world.say("d1", &format!("message {number}"));
        world.shell(&format!("k{number}"), &format!("echo {number} > {number}.txt"));
    }
    world
}

fn there(world: &World) -> Vec<u32> {
    (1..4).filter(|number| world.root().join(format!("{number}.txt")).exists()).collect()
}

#[test]
fn each_scope_takes_back_its_own() {
    for (scope, rest) in [
        (&["--call", "k2"][..], &[1, 3][..]),
        (&["--message", "1"], &[2, 3]),
        (&["--message", "3", "--dialog", "d"], &[1, 2]),
        (&["--dialog", "d1"], &[]),
        (&["--agent", "main"], &[]),
        (&["--file", "2.txt", "--last"], &[1, 3]),
        (&["--after", "1h"], &[]),
        (&["--after", "2026-02-16T10:00:00Z", "--file", "3.txt"], &[1, 2]),
    ] {
        let world = three_answers();
        let mut arguments = vec!["rollback"];
        arguments.extend(scope);
        world.ok(&arguments);
        assert_eq!(there(&world), rest, "{scope:?}");
    }
    let world = three_answers();
    let (one, three) = (world.change_of("1.txt"), world.change_of("3.txt"));
    world.ok(&["rollback", "--change", &one, &three]);
    assert_eq!(there(&world), [2]);
    world.ok(&["undo"]);
    assert_eq!(there(&world), [1, 2, 3]);
}

#[test]
fn the_result_has_a_line_for_each_file_and_says_how_to_take_it_back() {
    let world = three_answers();
    expect![[r#"
        Plan: rollback of all changes of d1
          remove  1.txt  (did not exist)
          remove  2.txt  (did not exist)
          remove  3.txt  (did not exist)
        Nothing was written.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["rollback", "--dialog", "d1", "--dry-run"]));
    expect![[r#"
          removed  1.txt  (did not exist)
          removed  2.txt  (did not exist)
          removed  3.txt  (did not exist)

        Rollback of all changes of d1: 3 files changed.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["rollback", "--dialog", "d1"]));
    expect![[r#"
        No change in effect fits; nothing was changed.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["rollback", "--dialog", "d1"]));
    let nothing = world.run(&["rollback", "--dialog", "d1", "--json"]);
    assert_eq!((nothing.code, &nothing.json()["files"]), (0, &json!([])));
}

#[test]
fn no_scope_is_wrong_usage_and_unknown_ids_have_hints() {
    let world = three_answers();
    for usage in [
        &["rollback"][..],
        &["rollback", "--last"],
        &["rollback", "--hunk", "1"],
        &["rollback", "--after", "soon"],
        &["rollback", "--change", "c1", "--dialog", "d1"],
        &["rollback", "--change", "c1", "c2", "--hunk", "1"],
    ] {
        assert_eq!(world.run(usage).code, 2, "{usage:?}");
    }
    expect![[r#"
        error: d1 has 3 messages, so there is no message 9
        hint: `retake dialogs` counts them as turns; pass --dialog ID for another dialog
        exit 1
    "#]]
    .assert_eq(&world.seen(&["rollback", "--message", "9"]));
    expect![[r#"
        error: no dialog has an agent 'ghost'
        hint: `retake dialogs` lists the agents of each dialog
        exit 1
    "#]]
    .assert_eq(&world.seen(&["rollback", "--agent", "ghost"]));
    expect![[r#"
        error: there is no change c999
        hint: `retake log` lists them
        exit 1
    "#]]
    .assert_eq(&world.seen(&["rollback", "--change", "c999"]));
    expect![[r#"
        error: no dialog has a call 'ghost'
        hint: `retake show` names the call that made a change
        exit 1
    "#]]
    .assert_eq(&world.seen(&["rollback", "--call", "ghost"]));
}

#[test]
fn a_place_of_a_change_is_rolled_back() {
    let world = World::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/1/one/; s/5/five/' a.txt");
    let id = world.change_of("a.txt");
    world.ok(&["rollback", "--change", &id, "--hunk", "1"]);
    assert_eq!(world.read("a.txt"), "1\n2\n3\n4\nfive\n");
}

#[test]
fn what_two_dialogs_may_have_done_is_left_unless_included() {
    let world = World::with(&[("a.txt", "a\n")]);
    let begin = |dialog: &str| {
        json!({ "event": "tool_begin", "dialog": dialog, "call": "k", "tool": "Bash",
            "input": { "command": "./work" } })
    };
    world.feed(format!("{}\n{}\n", begin("d1"), begin("d2")));
    world.write("a.txt", "changed\n");
    world.feed(r#"{"event":"tool_end","dialog":"d1","call":"k"}"#);
    expect![[r#"
          left  a.txt  another agent may have made this change
                       → --include-shared takes it all the same

        Rollback of all changes of d1: no file changed, 1 left as it is.
        exit 3
    "#]]
    .assert_eq(&world.seen(&["rollback", "--dialog", "d1"]));
    let ran = world.run(&["rollback", "--dialog", "d1", "--include-shared", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(world.read("a.txt"), "a\n");
}

#[test]
fn what_git_changed_since_is_left_unless_asked_for() {
    use retake_testkit::git;
    let world = World::new();
    git::run(&world.root(), &["init", "--quiet"]);
    world.write("a.txt", "a\n");
    git::run(&world.root(), &["add", "."]);
    git::run(&world.root(), &["commit", "--quiet", "-m", "one"]);
    world.ok(&["init"]);
    world.say("d1", "go");
    world.shell("k1", "printf 'b\\n' > a.txt");
    git::run(&world.root(), &["checkout", "--quiet", "--", "a.txt"]);
    let seen = world.seen(&["rollback", "--dialog", "d1"]);
    expect![[r#"
          kept  a.txt  git took it back already

        Rollback of all changes of d1: no file changed.
        exit 0
    "#]]
    .assert_eq(&seen);
}
