//! `retake accept` and `reject`: a person's decision on single changes, places, files, dialogs.

use expect_test::expect;
use serde_json::json;

use crate::support::World;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

fn decisions(world: &World) -> Vec<String> {
    let log = world.run(&["log", "--json", "--oldest-first", "--actor", "agent"]).json();
    let told = |change: &serde_json::Value| {
        format!("{} {}", change["path"].as_str().unwrap(), change["status"].as_str().unwrap())
    };
    log["changes"].as_array().unwrap().iter().map(told).collect()
}

fn two_places() -> (World, String) {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/2/two/; s/8/eight/' a.txt");
    let id = world.change_of("a.txt");
    (world, id)
}

#[test]
fn accepting_writes_no_file_and_rejecting_takes_back() {
    let world = World::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    world.say("d1", "go");
    for name in ["a", "b", "c"] {
        world.shell(&format!("k-{name}"), &format!("echo more >> {name}.txt"));
    }
    let (a, b) = (world.change_of("a.txt"), world.change_of("b.txt"));
    expect![[r#"
        Accepted 1 change (c6).
        exit 0
    "#]]
    .assert_eq(&world.seen(&["accept", &a]));
    expect![[r#"
        Nothing new to accept; 1 was accepted before.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["accept", &a]));
    expect![[r#"
          restored  b.txt

        Reject of c9 in b.txt: 1 file changed.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["reject", &b]));
    assert_eq!(world.read("a.txt"), "a\nmore\n");
    assert_eq!(world.read("b.txt"), "b\n");
    assert_eq!(decisions(&world), ["a.txt accepted", "b.txt rejected", "c.txt pending"]);
    expect![[r#"
          kept  b.txt  was rejected before

        Reject of c9 in b.txt: no file changed.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["reject", &b]));
    expect![[r#"
        error: change c9 is rejected already
        hint: `retake ops` shows what took it back, `retake undo` takes that back
        exit 1
    "#]]
    .assert_eq(&world.seen(&["accept", &b]));
    // Named, an accepted change can still be rejected; by scope it is left in peace.
    expect![[r#"
          restored  c.txt

        Reject of all changes: 1 file changed.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["reject", "--all"]));
    assert_eq!(world.read("a.txt"), "a\nmore\n");
    world.ok(&["reject", &a]);
    assert_eq!(world.read("a.txt"), "a\n");
    expect![[r#"
        There is no pending change to reject; nothing was changed.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["reject", "--all"]));
    expect![[r#"
        There is no change to accept.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["accept", "--all"]));
}

#[test]
fn scopes_are_files_dialogs_agents_and_all() {
    let world = World::with(&[("src/a", "a\n"), ("src/b", "b\n"), ("c", "c\n")]);
    world.shell_of("d1", "k1", "echo x >> src/a; echo x >> c");
    world.shell_of("other", "k2", "echo y >> src/b");
    let accepted = |arguments: &[&str]| {
        let mut all = vec!["accept", "--json"];
        all.extend(arguments);
        let document = world.run(&all).json();
        (
            document["accepted"].as_array().unwrap().len(),
            document["already"].as_array().unwrap().len(),
        )
    };
    assert_eq!(accepted(&["--dialog", "oth"]), (1, 0));
    assert_eq!(accepted(&["--file", "src"]), (1, 1));
    assert_eq!(accepted(&["--agent", "main", "--dialog", "d1"]), (1, 1));
    let ambiguous = world.run(&["accept", "--agent", "main"]);
    assert_eq!(ambiguous.code, 1, "two dialogs have a main agent");
    assert_eq!(accepted(&["--all"]), (0, 3));
}

#[test]
fn single_places_are_decided_on() {
    let (world, id) = two_places();
    expect![[r#"
          restored  a.txt

        Reject of hunk 2 of c6: 1 file changed.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["reject", &id, "--hunk", "2"]));
    assert_eq!(world.read("a.txt"), LINES.replace('2', "two"));
    assert_eq!(decisions(&world), ["a.txt pending"]);
    expect![[r#"
        Accepted hunk 1 of c6.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["accept", &id, "--hunk", "1"]));
    assert_eq!(decisions(&world), ["a.txt accepted"]);
    expect![[r#"
        error: change c6 has 2 hunks, so there is no hunk 7
        hint: `retake show` numbers a change's hunks
        exit 1
    "#]]
    .assert_eq(&world.seen(&["reject", &id, "--hunk", "7"]));
    let (world, id) = two_places();
    let both = world.run(&["accept", &id, "--hunk", "1,2", "--json"]).json();
    assert_eq!(both, json!({ "accepted": [id], "already": [], "hunks": [1, 2] }));
}

#[test]
fn a_rejection_takes_later_work_of_agents_along_after_a_yes() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i s/2/two/ a.txt");
    let first = world.change_of("a.txt");
    world.shell("k2", "sed -i s/two/TWO/ a.txt");
    expect![[r#"
        error: nothing was changed: reject of c6 in a.txt needs your confirmation:
          It takes back later changes too: c9 in a.txt by d1.
        hint: --yes does it, --dry-run --diff shows it
        exit 3
    "#]]
    .assert_eq(&world.seen(&["reject", &first]));
    assert_eq!(world.read("a.txt"), LINES.replace('2', "TWO"));
    expect![[r#"
          restored  a.txt

        Reject of c6 in a.txt: 1 file changed.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.
        exit 0
    "#]]
    .assert_eq(&world.seen(&["reject", &first, "--yes"]));
    assert_eq!(world.read("a.txt"), LINES);
    assert_eq!(decisions(&world), ["a.txt rejected", "a.txt rejected"]);
}

#[test]
fn the_persons_edit_is_only_taken_back_with_cascade_and_a_yes() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i s/2/two/ a.txt");
    let id = world.change_of("a.txt");
    world.write("a.txt", LINES.replace('2', "mine"));
    expect![[r#"
          left  a.txt  later changes touch the same lines (line 2)
                       in the way: c8 by you
                       → leave it: the file stays as it is
                       → --markers writes both versions into the file
                       → --cascade takes the later changes back too

        Reject of c6 in a.txt: no file changed, 1 left as it is.
        exit 3
    "#]]
    .assert_eq(&world.seen(&["reject", &id]));
    expect![[r#"
        error: nothing was changed: reject of c6 in a.txt needs your confirmation:
          It takes back edits of yours: c8 in a.txt.
        hint: --yes does it, --dry-run --diff shows it
        exit 3
    "#]]
    .assert_eq(&world.seen(&["reject", &id, "--cascade"]));
    assert_eq!(world.read("a.txt"), LINES.replace('2', "mine"));
    let ran = world.run(&["reject", &id, "--cascade", "--json"]);
    assert_eq!(ran.code, 3);
    let document = ran.json();
    assert_eq!(document["error"]["code"], "needs_yes");
    assert_eq!(document["asks"], json!(["takes_your_edits"]));
    assert_eq!(document["cascaded"].as_array().unwrap().len(), 1);
    assert_eq!(world.run(&["reject", &id, "--cascade", "--yes"]).code, 0);
    assert_eq!(world.read("a.txt"), LINES);
}

#[test]
fn wrong_usage_and_unknown_ids_are_told_apart() {
    let (world, id) = two_places();
    for usage in [
        &["accept"][..],
        &["reject"],
        &["reject", "x1"],
        &["reject", &id, "--all"],
        &["reject", &id, "--file", "a.txt"],
        &["reject", "--all", "--hunk", "1"],
        &["accept", &id, "c1", "--hunk", "1"],
        &["accept", "--all", "--dialog", "d1"],
    ] {
        assert_eq!(world.run(usage).code, 2, "{usage:?}");
    }
    for (unknown, code) in [
        (&["accept", "c999"][..], "unknown_change"),
        (&["reject", "c999"], "unknown_change"),
        (&["reject", &id, "--hunk", "3"], "unknown_hunk"),
        (&["reject", "--dialog", "nobody"], "unknown_dialog"),
        (&["reject", "--agent", "nobody"], "unknown_agent"),
        (&["reject", "--file", "/etc"], "outside_project"),
    ] {
        let mut arguments = unknown.to_vec();
        arguments.push("--json");
        let ran = world.run(&arguments);
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!(code)), "{unknown:?}");
        assert!(ran.json()["error"]["hint"].is_string(), "{unknown:?}");
    }
}
