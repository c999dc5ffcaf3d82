//! An operation that was killed half-way: it is told of everywhere, and settled either way.
//!
//! The program that Cargo builds for these tests stops itself where it is told to
//! (`retake-seam` with `inject`, which `retake-testkit` turns on).

use expect_test::expect;
use serde_json::json;

use crate::support::{Ran, World, ran};

const BEFORE: [&str; 3] = ["a\nmore\n", "b\nmore\n", "c\nmore\n"];
const AFTER: [&str; 3] = ["a\n", "b\n", "c\n"];

fn files(world: &World) -> [String; 3] {
    ["a.txt", "b.txt", "c.txt"].map(|name| world.read(name))
}

/// A project in which an agent's turn changed three files.
fn turn() -> World {
    let world = World::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    world.say("d1", "go");
    world.shell("k1", "for f in *.txt; do echo more >> $f; done");
    world
}

/// The number of the step that puts the second file into place.
fn second_exchange() -> String {
    let world = turn();
    let steps = world.outer().join("steps");
    let counted = world.command(&["undo"]).env("RETAKE_COUNT_STEPS", &steps).output().unwrap();
    assert!(counted.status.success());
    let steps = std::fs::read_to_string(steps).expect("the program counts its steps");
    let exchanges: Vec<_> =
        steps.lines().filter_map(|line| line.strip_suffix(" exchange")).collect();
    exchanges[1].to_owned()
}

/// A project in which an undo was killed after it had written one of three files.
fn interrupted() -> World {
    let world = turn();
    let mut undo = world.command(&["undo"]);
    let status = undo.env("RETAKE_KILL_AT", second_exchange()).output().unwrap().status;
    assert!(status.code().is_none(), "it was killed");
    assert_eq!(files(&world), [AFTER[0], BEFORE[1], BEFORE[2]]);
    world
}

fn run(world: &World, arguments: &[&str]) -> Ran {
    ran(world.command(arguments).output().unwrap())
}

#[test]
fn an_interrupted_operation_is_told_of_until_it_is_settled() {
    let world = interrupted();
    let half = files(&world);
    expect![[r#"
        Operation o11 (undo of turn 1 of d1 (“go”)) was interrupted after 1 of 3 files.
          written  a.txt
          waits    b.txt
          waits    c.txt

        `retake recover --resume` writes the rest.
        `retake recover --undo` takes back what was written.
        exit 3
    "#]]
    .assert_eq(&world.seen(&["recover"]));
    let document = run(&world, &["recover", "--json"]);
    assert_eq!(document.code, 3);
    let interrupted = document.json()["interrupted"].clone();
    assert_eq!((&interrupted["kind"], &interrupted["state"]), (&json!("undo"), &json!("running")));
    let file = |path: &str| json!({ "path": path, "file_path": world.root().join(path) });
    assert_eq!(interrupted["written"], json!([file("a.txt")]));
    assert_eq!(interrupted["missing"], json!([file("b.txt"), file("c.txt")]));

    expect![[r#"
        Project [WORLD]/project
        Recording: no agent that Retake knows is installed (see `retake setup --status`)

        Operation o11 (undo of turn 1 of d1 (“go”)) was interrupted after 1 of 3 files.
        Nothing is undone before `retake recover`.

        3 files that agents changed wait for your review:

        d1  “go”  DATE TIME
          M  a.txt  +1  -0  c6
          M  b.txt  +1  -0  c7
          M  c.txt  +1  -0  c8

          retake diff     see what agents changed
          retake review   keep it or take it back place by place
          retake undo     take back the last turn; your own edits stay
          retake approve  keep it

        d1 has not seen 1 changed file; see `retake context --stale --dialog d1`

        3 files tracked · 4 changes on record · record SIZE
        exit 0
    "#]]
    .assert_eq(&world.seen(&["status"]));
    assert_eq!(run(&world, &["status", "--json"]).json()["interrupted"], interrupted);
    for reading in [&["log"][..], &["show", "c6"], &["dialogs"], &["checkpoints"], &["session"]] {
        let ran = run(&world, reading);
        let warning = "warning: operation o11 (undo of turn 1 of d1 (“go”)) was interrupted; \
                       see `retake recover`\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (0, warning), "{reading:?}");
    }
    expect![[r#"
        OPERATION  WHEN                 STATE        SAFETY    WHAT
        o11        DATE TIME  interrupted  CHECK-ID  undo of turn 1 of d1 (“go”)
        warning: operation o11 (undo of turn 1 of d1 (“go”)) was interrupted; see `retake recover`
        exit 0
    "#]]
    .assert_eq(&world.seen(&["ops"]));
    for writing in [&["undo"][..], &["redo"], &["reject", "--all"], &["checkpoint"], &["approve"]] {
        let ran = run(&world, &[writing, &["--json"]].concat());
        assert_eq!(
            (ran.code, &ran.json()["error"]["code"]),
            (1, &json!("unfinished")),
            "{writing:?}"
        );
    }
    expect![[r#"
        error: operation o11 (undo of turn 1 of d1 (“go”)) was interrupted, and nothing else is written before that is settled
        hint: `retake recover --resume` finishes it, `retake recover --undo` takes it back
        exit 1
    "#]].assert_eq(&world.seen(&["undo"]));
    assert_eq!(files(&world), half, "nothing was written meanwhile");
}

#[test]
fn resuming_writes_the_rest() {
    let world = interrupted();
    expect![[r#"
          restored  a.txt
          restored  b.txt
          restored  c.txt

        Undo of turn 1 of d1 (“go”): 3 files changed.
        Safety checkpoint CHECK-ID; take it back with `retake redo`.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["recover", "--resume"]));
    assert_eq!(files(&world), AFTER);
    assert_eq!(run(&world, &["recover", "--resume"]).code, 0);
    expect![[r#"
        No operation was interrupted; there is nothing to recover.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["recover"]));
    world.ok(&["redo"]);
    assert_eq!(files(&world), BEFORE);
    world.ok(&["doctor", "--read-data"]);
}

#[test]
fn undoing_takes_back_what_was_written() {
    let world = interrupted();
    let ran = run(&world, &["recover", "--undo", "--json"]);
    assert_eq!((ran.code, &ran.json()["kind"]), (0, &json!("undo")), "{}", ran.text());
    assert_eq!(files(&world), BEFORE);
    assert_eq!(run(&world, &["recover", "--json"]).json(), json!({ "interrupted": null }));
    world.ok(&["undo"]);
    assert_eq!(files(&world), AFTER);
    assert_eq!(run(&world, &["recover", "--resume", "--undo"]).code, 2);
}

/// A rejection that waits is due meanwhile, and cannot be carried out before the operation is settled:
/// what is asked for is shown all the same.
#[test]
fn a_review_is_shown_while_an_operation_is_interrupted() {
    let world = turn();
    world.ok(&["reject", "--file", "c.txt", "--wait"]);
    let mut undo = world.command(&["undo"]);
    let killed = undo.env("RETAKE_KILL_AT", second_exchange()).output().unwrap();
    assert!(killed.status.code().is_none(), "it was killed");
    let ended = world.feed(json!({ "event": "turn_end", "dialog": "d1" }).to_string());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for command in [&["review"][..], &["review", "--queue"], &["feedback", "d1"]] {
        let shown = run(&world, command);
        assert_eq!(shown.code, 0, "{command:?}: {}{}", shown.text(), shown.stderr);
        assert!(shown.stderr.contains("rejections still wait"), "{command:?}: {}", shown.stderr);
    }
    assert!(world.read("c.txt").contains("more"));
}
