//! `retake comment`: drafts, places, sending, answers.

use expect_test::expect;
use serde_json::Value;

use super::{LINES, hunks, ids_in, reviewed_world, seen};
use crate::support::World;

fn comments(world: &World) -> Vec<Value> {
    world.run(&["comment", "--json"]).json()["comments"].as_array().unwrap().clone()
}

#[test]
fn comments_are_drafts_until_they_are_sent() {
    let world = reviewed_world();
    assert!(world.ok(&["comment"]).starts_with("There are no comments."));
    let id = ids_in(&world, "a.txt").remove(1);
    let said = world.ok(&["comment", "add", &id, "why words?", "--question"]);
    assert_eq!(said, "Question 1 on a.txt:11 is a draft; `retake comment send` sends it.\n");
    world.ok(&["comment", "add", "b.txt", "rename this"]);
    world.ok(&["comment", "add", "a.txt:1-2", "keep digits"]);
    world.ok(&["comment", "add", "-", "add tests"]);
    expect![[r#"
        N  STATE  FOR  PLACE      TEXT
        1  draft  d1   a.txt:11   (question) why words?
        2  draft  d1   b.txt      rename this
        3  draft  d1   a.txt:1-2  keep digits
        4  draft  -    the work   add tests
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["comment"]));
    world.ok(&["comment", "edit", "2", "rename this file"]);
    world.ok(&["comment", "remove", "3"]);
    assert!(world.ok(&["review"]).contains("3 comments are not sent yet (`retake comment send`)."));
    assert_eq!(hunks(&world, &["a.txt"])[1]["comments"], serde_json::json!([1]));
    expect![[r#"
        Sent 1 comment to d1, which hears it with your next message or when a turn ends; `retake feedback` shows the words.
        exit 0
    "#]].assert_eq(&seen(&world, &["comment", "send", "1"]));
    expect![[r#"
        Sent 2 comments to d1, which hears them with your next message or when a turn ends; `retake feedback` shows the words.
        exit 0
    "#]].assert_eq(&seen(&world, &["comment", "send"]));
    assert_eq!(world.ok(&["comment", "send"]), "There is no draft to send.\n");
    let states: Vec<_> = comments(&world).iter().map(|one| one["state"].clone()).collect();
    assert_eq!(serde_json::json!(states), serde_json::json!(["sent", "sent", "sent"]));
    // All of one sending are one batch.
    let batch: Vec<_> = comments(&world).iter().map(|one| one["batch"].clone()).collect();
    assert_eq!(batch[1], batch[2]);
    assert_ne!(batch[0], batch[1]);
    let refused = world.run(&["comment", "edit", "1", "too late"]);
    assert_eq!(refused.code, 1, "{}", refused.text());
    assert_eq!(world.ok(&["comment", "answer", "1", "they read well"]), "Comment 1 is answered.\n");
    assert_eq!(world.ok(&["comment", "resolve", "1"]), "Comment 1 is settled.\n");
    expect![[r#"
        N  STATE    FOR  PLACE     TEXT
        1  settled  d1   a.txt:11  (question) why words?
                                   → they read well
        2  sent     d1   b.txt     rename this file
        4  sent     d1   the work  add tests
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["comment"]));
}

#[test]
fn a_comment_follows_its_lines_or_says_that_they_are_gone() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^5$/five/' a.txt");
    world.ok(&["comment", "add", "a.txt:5", "a digit"]);
    world.write("a.txt", format!("0\n{}", world.read("a.txt")));
    assert!(world.ok(&["comment"]).contains("a.txt:6"), "{}", world.ok(&["comment"]));
    assert_eq!(comments(&world)[0]["lines"]["first"], 6);
    world.write("a.txt", "1\n2\n");
    assert!(world.ok(&["comment"]).contains("a.txt (its lines are gone)"));
    assert_eq!(comments(&world)[0]["lines"]["gone"], true);
}

#[test]
fn a_comment_goes_to_the_agent_that_changed_the_place_or_to_the_one_that_is_named() {
    let world = World::with(&[("a.txt", LINES), ("b.txt", "b\n")]);
    world.say("d1", "go");
    world.shell_of("d1", "k1", "sed -i 's/^2$/two/' a.txt");
    world.say("d2", "go");
    world.shell_of("d2", "k2", "echo x >> b.txt");
    world.ok(&["comment", "add", "a.txt:2", "first"]);
    world.ok(&["comment", "add", "a.txt:2", "second", "--for", "d2"]);
    world.ok(&["comment", "add", "-", "third"]);
    world.ok(&["comment", "send"]);
    let dialogs: Vec<_> = comments(&world).iter().map(|one| one["dialog"].clone()).collect();
    // One about nothing in particular goes to the latest dialog.
    assert_eq!(serde_json::json!(dialogs), serde_json::json!(["d1", "d2", "d2"]));
}

#[test]
fn places_that_are_not_there_are_refused() {
    let world = reviewed_world();
    let cases =
        [("nothing.txt", 1), ("a.txt:99", 1), ("h0123456789ab", 1), ("/etc/passwd", 1), (".", 1)];
    for (place, code) in cases {
        let refused = world.run(&["comment", "add", place, "x"]);
        assert_eq!(refused.code, code, "{place}: {}", refused.text());
        assert!(refused.stderr.starts_with("error: "), "{place}: {}", refused.stderr);
    }
    let empty = world.run(&["comment", "add", "a.txt", "  "]);
    assert_eq!(empty.code, 2, "{}", empty.stderr);
    for words in [["comment", "resolve", "7"], ["comment", "remove", "7"]] {
        assert_eq!(world.run(&words).code, 1, "{words:?}");
    }
    assert_eq!(comments(&world).len(), 0);
}
