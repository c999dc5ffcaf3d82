//! `retake undo`, `redo` and `ops`: steps back and forth, and what is said about them.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::World;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A turn that changed two files, and an edit of the person in one of them.
fn turn() -> World {
    let world = World::with(&[("a.txt", LINES), ("b.txt", "b\n")]);
    world.say("d1", "fix the parser\nand be quick");
    world.shell("k1", "sed -i s/2/two/ a.txt; echo new > new.txt; rm b.txt");
    world.write("a.txt", world.read("a.txt").replace('8', "eight"));
    world
}

#[test]
fn undo_and_redo_say_in_three_lines_what_they_did_and_how_to_get_it_back() {
    let world = turn();
    expect![[r#"
        Undid turn 1 of d1 (“fix the parser”): 3 files changed back
        Later edits of yours in a.txt stay.
        Get it back with `retake redo`; everything as it was before: checkpoint CHECK-ID
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo"]));
    assert_eq!(world.read("a.txt"), LINES.replace('8', "eight"));
    assert_eq!((world.read("b.txt").as_str(), world.read("new.txt").as_str()), ("b\n", "(absent)"));
    expect![[r#"
        There is nothing to undo; no file was changed.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo"]));
    expect![[r#"
        Redid turn 1 of d1 (“fix the parser”): 3 files changed again
        Undo it again with `retake undo`; everything as it was before: checkpoint CHECK-ID
        exit 0
    "#]]
    .assert_eq(&world.seen(&["redo"]));
    assert_eq!(world.read("a.txt"), LINES.replace('8', "eight").replace('2', "two"));
    assert_eq!(
        (world.read("b.txt").as_str(), world.read("new.txt").as_str()),
        ("(absent)", "new\n")
    );
    expect![[r#"
        There is nothing to redo; no file was changed.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["redo"]));
    expect![[r#"
        OPERATION  WHEN                 STATE          SAFETY    WHAT
        o21        DATE TIME  done           CHECK-ID  redo of turn 1 of d1 (“fix the parser”)
        o12        DATE TIME  undone by o21  CHECK-ID  undo of turn 1 of d1 (“fix the parser”)
        exit 0
    "#]]
    .assert_eq(&world.seen(&["ops"]));
    expect![[r#"
        OPERATION  WHEN                 STATE  SAFETY    WHAT
        o21        DATE TIME  done   CHECK-ID  redo of turn 1 of d1 (“fix the parser”)
        exit 0
    "#]]
    .assert_eq(&world.seen(&["ops", "-n", "1"]));
}

#[test]
fn nothing_to_undo_is_a_document_too() {
    let world = World::with(&[]);
    for verb in ["undo", "redo"] {
        let ran = world.run(&[verb, "--json"]);
        assert_eq!(ran.code, 0);
        let document = ran.json();
        assert_eq!(document["operation"], Value::Null);
        assert_eq!(document["title"], format!("nothing to {verb}"));
        assert_eq!(document["files"], json!([]));
    }
    assert_eq!(world.run(&["ops", "--json"]).json(), json!({ "operations": [] }));
    assert_eq!(world.ok(&["ops"]), "Retake has not changed any file of this project.\n");
}

#[test]
fn a_dry_run_is_the_result_but_for_what_was_done() {
    let world = turn();
    let before = (world.read("a.txt"), world.read("b.txt"), world.read("new.txt"));
    let planned = world.run(&["undo", "--dry-run", "--json"]);
    assert_eq!(planned.code, 0);
    assert_eq!((world.read("a.txt"), world.read("b.txt"), world.read("new.txt")), before);
    let mut planned = planned.json();
    let mut done = world.run(&["undo", "--json"]).json();
    expect![[r#"
        {
          "asks": [],
          "cascaded": [],
          "checkpoint": null,
          "crosses": [],
          "dialog": "d1",
          "dry_run": false,
          "files": [
            {
              "action": "write",
              "blockers": [],
              "changes": [
                "c6"
              ],
              "detail": "your later edits stay",
              "done": true,
              "file_path": "[ROOT]/a.txt",
              "label": "merge",
              "old_path": null,
              "path": "a.txt",
              "reason": {
                "code": "merged",
                "message": "taken out; later edits stay",
                "way_out": null
              },
              "warning": null
            },
            {
              "action": "create",
              "blockers": [],
              "changes": [
                "c7"
              ],
              "detail": "",
              "done": true,
              "file_path": "[ROOT]/b.txt",
              "label": "bring back",
              "old_path": null,
              "path": "b.txt",
              "reason": {
                "code": "exact",
                "message": "as it was before",
                "way_out": null
              },
              "warning": null
            },
            {
              "action": "delete",
              "blockers": [],
              "changes": [
                "c8"
              ],
              "detail": "(did not exist)",
              "done": true,
              "file_path": "[ROOT]/new.txt",
              "label": "remove",
              "old_path": null,
              "path": "new.txt",
              "reason": {
                "code": "exact",
                "message": "as it was before",
                "way_out": null
              },
              "warning": null
            }
          ],
          "kind": "undo",
          "not_covered": [],
          "operation": "o12",
          "safety": "[ID]",
          "title": "undo of turn 1 of d1 (“fix the parser”)",
          "whole": true
        }
    "#]]
    .assert_eq(&shape(&world, &done));
    assert_eq!(planned["dry_run"], true);
    assert!(planned["safety"].is_null() && planned["operation"].is_null());
    for document in [&mut planned, &mut done] {
        for name in ["operation", "safety", "dry_run"] {
            document[name] = Value::Null;
        }
        for file in document["files"].as_array_mut().unwrap() {
            file["done"] = Value::Null;
        }
    }
    assert_eq!(planned, done);
}

/// The document with ids and the project's folder replaced.
fn shape(world: &World, document: &Value) -> String {
    let mut document = document.clone();
    assert_eq!(document["safety"].as_str().unwrap().len(), 40);
    document["safety"] = "[ID]".into();
    let text = serde_json::to_string_pretty(&document).unwrap() + "\n";
    text.replace(world.root().to_str().unwrap(), "[ROOT]")
}

#[test]
fn a_dry_run_shows_the_difference_of_each_file() {
    let world = turn();
    expect![[r#"
        Plan: undo of turn 1 of d1 (“fix the parser”)
          merge       a.txt    your later edits stay
          bring back  b.txt
          remove      new.txt  (did not exist)

        diff --git a/a.txt b/a.txt
        --- a/a.txt
        +++ b/a.txt
        @@ -1,5 +1,5 @@
         1
        -two
        +2
         3
         4
         5
        diff --git a/b.txt b/b.txt
        new file mode 100644
        --- /dev/null
        +++ b/b.txt
        @@ -0,0 +1 @@
        +b
        diff --git a/new.txt b/new.txt
        deleted file mode 100644
        --- a/new.txt
        +++ /dev/null
        @@ -1 +0,0 @@
        -new

        Nothing was written.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo", "--dry-run", "--diff"]));
    let short = world.ok(&["undo", "--dry-run"]);
    assert!(!short.contains("@@"), "{short}");
}

#[test]
fn what_cannot_be_undone_is_left_and_named_with_the_way_out() {
    let world = World::with(&[("a.txt", LINES), ("b.txt", "b\n")]);
    world.say("d1", "go");
    world.shell("k1", "sed -i s/2/two/ a.txt; echo more >> b.txt");
    world.write("a.txt", world.read("a.txt").replace("two", "mine"));
    expect![[r#"
        Undid turn 1 of d1 (“go”): 1 file changed back, 1 left
          left  a.txt  later changes touch the same lines (line 2)
                       in the way: c9 by you
                       → leave it: the file stays as it is
                       → --markers writes both versions into the file
                       → --cascade takes the later changes back too
        Get it back with `retake redo`; everything as it was before: checkpoint CHECK-ID
        exit 3
    "#]]
    .assert_eq(&world.seen(&["undo"]));
    assert_eq!(world.read("a.txt"), LINES.replace('2', "mine"));
    assert_eq!(world.read("b.txt"), "b\n");
    expect![[r#"
        error: nothing was changed: undo of turn 1 of d1 (“go”) needs your confirmation:
          It takes back edits of yours: c9 in a.txt.
        hint: --yes does it, --dry-run --diff shows it
        exit 3
    "#]]
    .assert_eq(&world.seen(&["undo", "--cascade"]));
    assert_eq!(world.run(&["undo", "--cascade", "--yes"]).code, 0);
    assert_eq!(world.read("a.txt"), LINES);
}

#[test]
fn an_undo_that_changes_nothing_says_so() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i s/2/two/ a.txt");
    world.write("a.txt", world.read("a.txt").replace("two", "mine"));
    expect![[r#"
          left  a.txt  later changes touch the same lines (line 2)
                       in the way: c8 by you
                       → leave it: the file stays as it is
                       → --markers writes both versions into the file
                       → --cascade takes the later changes back too
        Nothing was changed; turn 1 of d1 (“go”) could not be undone.
        `retake undo` goes on with the step before it.
        exit 3
    "#]]
    .assert_eq(&world.seen(&["undo"]));
    expect![[r#"
        Undid turn 1 of d1 (“go”): 1 file changed back
        a.txt has conflict markers in 1 place.
        Get it back with `retake redo`; everything as it was before: checkpoint CHECK-ID
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo", "--markers"]));
    assert!(world.read("a.txt").contains("<<<<<<<"), "{}", world.read("a.txt"));
}

#[test]
fn a_turn_that_could_not_be_undone_is_passed_over_and_named() {
    let world = World::with(&[("a.txt", LINES), ("b.txt", "b\n")]);
    world.say("d1", "one");
    world.shell("k1", "echo more >> b.txt");
    world.say("d1", "two");
    world.shell("k2", "sed -i s/2/two/ a.txt");
    world.write("a.txt", world.read("a.txt").replace("two", "mine"));
    assert_eq!(world.run(&["undo"]).code, 3);
    expect![[r#"
        Undid turn 1 of d1 (“one”): 1 file changed back
        Get it back with `retake redo`; everything as it was before: checkpoint CHECK-ID
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo"]));
    assert_eq!(world.read("b.txt"), "b\n");
    expect![[r#"
        There is nothing else to undo; no file was changed.
        Left by an earlier undo: turn 2 of d1 (“two”).
        → --cascade, --markers or --across-git try it again in another way
        exit 3
    "#]]
    .assert_eq(&world.seen(&["undo"]));
    let document = world.run(&["undo", "--json"]).json();
    assert_eq!(document["left_before"], json!(["turn 2 of d1 (“two”)"]));
    assert_eq!(world.run(&["undo", "--cascade", "--yes"]).code, 0);
    assert_eq!(world.read("a.txt"), LINES);
}

#[test]
fn what_git_took_back_is_passed_over_and_not_shown_as_if_it_were_there() {
    let world = World::with(&[("a.txt", LINES), ("b.txt", "b\n")]);
    let git = |arguments: &[&str]| retake_testkit::git::run(&world.root(), arguments);
    git(&["init", "-q", "."]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "base"]);
    world.say("d1", "one");
    world.shell("k1", "echo more >> b.txt");
    git(&["commit", "-qam", "one"]);
    world.say("d1", "two");
    world.shell("k2", "sed -i s/2/two/ a.txt");
    git(&["stash", "-q"]);
    expect![[r#"
        Project [WORLD]/project
        Recording: no agent that Retake knows is installed (see `retake setup --status`)

        1 file that agents changed waits for your review:

        d1  “one”  DATE TIME
          M  b.txt  +1  -0  c7

          retake diff     see what agents changed
          retake review   keep it or take it back place by place
          retake undo     take back the last turn; your own edits stay
          retake approve  keep it

        Taken back by git, and in no file now; it counts again if git brings it back:

          M  a.txt  +1  -1  c12

        d1 has not seen 1 changed file; see `retake context --stale --dialog d1`

        2 files tracked · 3 changes on record · record SIZE
        exit 0
    "#]]
    .assert_eq(&world.seen(&["status"]));
    expect![[r#"
        diff --git a/b.txt b/b.txt
        index 61780798228d17af2d34fce4cfbdf35556832472..71838d1defd92a89201e95a87fd5374bac035dcb
        --- a/b.txt
        +++ b/b.txt
        @@ -1 +1,2 @@
         b
        +more
        note: git took back, and so not shown: a.txt
        exit 0
    "#]]
    .assert_eq(&world.seen(&["diff"]));
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(status["taken_back_by_git"][0]["path"], "a.txt");
    expect![[r#"
        Passed over turn 2 of d1 (“two”): git took it back, and it counts again if git brings it back.
        Undid turn 1 of d1 (“one”): 1 file changed back
        Get it back with `retake redo`; everything as it was before: checkpoint CHECK-ID
        exit 0
    "#]].assert_eq(&world.seen(&["undo"]));
    assert_eq!(world.read("b.txt"), "b\n");
    expect![[r#"
        Passed over turn 2 of d1 (“two”): git took it back, and it counts again if git brings it back.
        There is nothing else to undo; no file was changed.
        exit 0
    "#]].assert_eq(&world.seen(&["undo"]));
    assert_eq!(world.run(&["undo", "--json"]).json()["passed"], json!(["turn 2 of d1 (“two”)"]));
    // With the stash it comes back, and counts again.
    git(&["stash", "pop", "-q"]);
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(status["taken_back_by_git"], json!([]));
    assert_eq!(status["dialogs"][0]["agents"][0]["files"][0]["path"], "a.txt");
    assert_eq!(world.run(&["undo"]).code, 3);
    assert_eq!(world.run(&["undo", "--across-git"]).code, 0);
    assert_eq!(world.read("a.txt"), LINES);
}

#[test]
fn undo_after_a_redo_in_part_says_that_it_is_a_part() {
    let world = World::with(&[("a.txt", LINES), ("b.txt", "b\n")]);
    world.say("d1", "go");
    world.shell("k1", "sed -i s/2/two/ a.txt; echo B > b.txt");
    world.ok(&["undo"]);
    world.write("b.txt", "mine\n");
    expect![[r#"
        Redid turn 1 of d1 (“go”): 1 file changed again, 1 left
          left  b.txt  later changes touch the same lines (line 1)
                       in the way: c16 by you
                       → leave it: the file stays as it is
                       → --markers writes both versions into the file
                       → --cascade takes the later changes back too
        Undo it again with `retake undo`; everything as it was before: checkpoint CHECK-ID
        exit 3
    "#]]
    .assert_eq(&world.seen(&["redo"]));
    expect![[r#"
        Undid what was redone of turn 1 of d1 (“go”): 1 file changed back
        Get it back with `retake redo`; everything as it was before: checkpoint CHECK-ID
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo"]));
    assert_eq!(world.read("a.txt"), LINES);
    expect![[r#"
        Redid what was redone of turn 1 of d1 (“go”): 1 file changed again
        Undo it again with `retake undo`; everything as it was before: checkpoint CHECK-ID
        exit 0
    "#]]
    .assert_eq(&world.seen(&["redo"]));
    expect![[r#"
        Undid turn 1 of d1 (“go”): 1 file changed back
        Get it back with `retake redo`; everything as it was before: checkpoint CHECK-ID
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo"]));
}

#[test]
fn several_steps_are_undone_at_once_and_operations_are_steps_too() {
    let world = World::with(&[("a.txt", "0\n")]);
    for number in 1..4 {
        world.say("d1", &format!("message {number}"));
        world.shell(&format!("k{number}"), &format!("echo {number} > a.txt"));
    }
    expect![[r#"
        Undid turn 3 of d1 (“message 3”): 1 file changed back
        Get it back with `retake redo`; everything as it was before: checkpoint CHECK-ID
        Undid turn 2 of d1 (“message 2”): 1 file changed back
        Get it back with `retake redo`; everything as it was before: checkpoint CHECK-ID
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo", "2"]));
    assert_eq!(world.read("a.txt"), "1\n");
    world.ok(&["redo"]);
    world.ok(&["redo"]);
    assert_eq!(world.read("a.txt"), "3\n");
    world.ok(&["rollback", "--message", "3"]);
    assert_eq!(world.read("a.txt"), "2\n");
    expect![[r#"
        Undid o41 (rollback of all changes of message 3 of d1 (“message 3”)): 1 file changed back
        Get it back with `retake redo`; everything as it was before: checkpoint CHECK-ID
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo"]));
    assert_eq!(world.read("a.txt"), "3\n");
    assert_eq!(world.run(&["undo", "0"]).code, 2);
}

#[test]
fn an_undo_that_finds_nothing_says_what_it_considered() {
    let world = World::with(&[(".gitignore", "*.key\n"), ("a.key", "secret\n")]);
    assert_eq!(world.seen(&["undo"]), "There is nothing to undo; no file was changed.\nexit 0\n");
    world.say("d1", "go");
    world.shell("k1", "ls");
    expect![[r#"
        There is nothing to undo; no file was changed.

        These calls ran, and no change on record is theirs:
          d1  Bash  ls
        exit 0
    "#]]
    .assert_eq(&world.seen(&["undo"]));
    // Over the shield's limit: what the command took is not on record.
    std::fs::write(world.home().join("config.toml"), "[shield]\nmax_files = 0\n").unwrap();
    world.shell("k2", "rm a.key");
    expect![[r#"
        There is nothing to undo; no file was changed.

        These calls ran, and no change on record is theirs:
          d1  Bash  ls
          d1  Bash  rm a.key

        Not protected since they began, so changes of it are not known:
          a.key  ignored, and over the shield's budget before `rm a.key` ran
        `retake status` lists all of it.
        exit 3
    "#]]
    .assert_eq(&world.seen(&["undo"]));
    let undone = world.run(&["undo", "--json"]);
    let document = undone.json();
    assert_eq!((undone.code, &document["whole"]), (3, &serde_json::json!(false)));
    assert_eq!(document["considered"][1]["command"], "rm a.key");
    assert_eq!(document["not_covered"][0]["reason"], "not_shielded");
}

#[test]
fn rules_of_agents_are_named_with_what_they_hide() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "printf 'notes*\\n' > .gitignore");
    world.write("notes.txt", "mine\n");
    let status = world.ok(&["status"]);
    let (_, told) = status.split_once("Ignore rules that an agent changed").expect(&status);
    assert!(told.contains(".gitignore") && told.contains("notes.txt"), "{status}");
    let document = world.run(&["status", "--json"]).json();
    assert_eq!(document["rule_changes"][0]["hides"][0]["path"], "notes.txt");
    world.ok(&["undo"]);
    assert!(!world.ok(&["status"]).contains("Ignore rules"));
    assert_eq!(world.read("notes.txt"), "mine\n");
}

#[test]
fn the_steps_of_undo_and_redo_are_listed_and_nothing_is_done() {
    let world = World::with(&[("a.txt", "one\n")]);
    world.say("d1", "make it two");
    world.shell_of("d1", "k1", "echo two > a.txt");
    let listed = world.run(&["undo", "--list", "--json"]).json();
    let first = &listed["undo"][0];
    assert_eq!((&first["state"], &first["prompt"]), (&"next".into(), &"make it two".into()));
    let planned = world.run(&["undo", "--dry-run", "--json"]).json();
    assert_eq!(planned["title"], format!("undo of {}", first["title"].as_str().unwrap()));
    let text = world.ok(&["undo", "--list"]);
    assert!(text.contains("next") && text.contains("make it two"), "{text}");
    assert_eq!(world.read("a.txt"), "two\n");
    world.ok(&["undo"]);
    let listed = world.run(&["undo", "--list", "--json"]).json();
    assert_eq!(
        (&listed["undo"], &listed["redo"][0]["state"]),
        (&Value::Array(vec![]), &"next".into())
    );
}
