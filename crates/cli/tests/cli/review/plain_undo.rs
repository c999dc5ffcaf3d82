//! `u` in `retake review -p` where the last decision can no longer be taken back.

use serde_json::json;

use super::{LINES, OpenReview, end_turn, hunks, review, reviewed_world};
use crate::support::World;

/// The agent is at work and has changed three lines.
fn at_work() -> World {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^2$/two/; s/^6$/six/; s/^11$/eleven/' a.txt");
    world
}

fn marks(world: &World) -> serde_json::Value {
    json!(hunks(world, &[]).iter().map(|hunk| hunk["reviewed"].clone()).collect::<Vec<_>>())
}

#[test]
fn what_was_queued_and_carried_out_meanwhile_is_undone() {
    let world = at_work();
    let before = world.read("a.txt");
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    open.answer("y\nn\n\n");
    open.until("+eleven");
    end_turn(&world, "d1");
    world.ok(&["review"]);
    assert_eq!(world.read("a.txt"), before.replace("six", "6"));
    open.answer("u\nu\nu\nq\n");
    let (seen, code) = open.end();
    assert_eq!((code, world.read("a.txt")), (3, before), "{seen}");
    assert_eq!(marks(&world), json!([false, false, false]), "{seen}");
    assert!(seen.contains("Nothing was decided in this review that could be undone."), "{seen}");
}

#[test]
fn what_was_queued_and_cancelled_is_passed_over() {
    let world = at_work();
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    // The rejection of the second hunk is cancelled by keeping it; the keep of the first is below it.
    open.answer("y\nn\n\np\ny\nu\nu\nu\nq\n");
    let (seen, code) = open.end();
    assert_eq!((code, marks(&world)), (3, json!([false, false, false])), "{seen}");
    assert_eq!(review(&world, &[])["queued"], 0, "{seen}");
    assert!(seen.contains("note: rejection 1 is cancelled"), "{seen}");
    assert!(seen.contains("Nothing was decided in this review that could be undone."), "{seen}");
}

#[test]
fn a_kept_hunk_that_changed_is_passed_over() {
    let world = reviewed_world();
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    open.answer("y\ny\n");
    open.until("+new");
    world.shell("k2", "sed -i s/eleven/elf/ a.txt");
    open.answer("u\nq\n");
    let (seen, code) = open.end();
    assert!(seen.contains("note: 1 kept hunk has changed since"), "{seen}");
    assert_eq!((code, marks(&world)), (3, json!([false, false, false])), "{seen}");
    // Of several that were kept at once, those are open again that are as they were.
    let world = reviewed_world();
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    open.answer("a\n");
    open.until("+new");
    world.shell("k2", "sed -i s/eleven/elf/ a.txt");
    open.answer("u\nq\n");
    let (seen, code) = open.end();
    assert_eq!((code, marks(&world)), (3, json!([false, false, false])), "{seen}");
}

#[test]
fn a_rejection_whose_place_was_written_to_stands_and_is_passed_over() {
    let world = reviewed_world();
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    open.answer("y\nn\n\n");
    open.until("+new");
    let after = world.read("a.txt").replace("\n11\n", "\nmine\n");
    world.write("a.txt", &after);
    open.answer("u\nu\nq\n");
    let (seen, code) = open.end();
    assert_eq!((code, world.read("a.txt")), (3, after), "{seen}");
    assert!(seen.contains("note: this decision stands; `u` goes on with the one before"), "{seen}");
    assert_eq!(marks(&world), json!([false, false]), "{seen}");
    assert!(seen.contains("In this review you rejected 1 hunk."), "it stands: {seen}");
}

#[test]
fn a_comment_that_was_removed_elsewhere_is_passed_over() {
    let world = reviewed_world();
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    open.answer("y\nc\nwhy not\n");
    open.until("Comment 1");
    world.ok(&["comment", "remove", "1"]);
    open.answer("u\nq\n");
    let (seen, code) = open.end();
    assert!(seen.contains("note: comment 1 is removed already"), "{seen}");
    assert_eq!((code, marks(&world)), (3, json!([false, false, false])), "{seen}");
}
