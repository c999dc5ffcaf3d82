//! Lines that the person rejected, and that an agent adds again.

use super::{end_turn, hunks, ids_in};
use crate::support::World;

const RUN: &str = "a line that is long enough to be known again";

/// The agent adds a line, the person rejects it, and it is added again.
fn added_again() -> (World, String) {
    let world = World::with(&[("a.txt", "1\n2\n3\n")]);
    world.say("d1", "go");
    world.shell("k1", &format!("echo '{RUN}' >> a.txt"));
    end_turn(&world, "d1");
    let id = ids_in(&world, "a.txt").remove(0);
    world.ok(&["reject", &id, "--reason", "not wanted"]);
    let done = world.run(&["ops", "--json"]).json();
    let operation = done["operations"][0]["id"].as_str().unwrap().to_owned();
    world.say("d1", "go on");
    world.shell("k2", &format!("echo '   {RUN}' >> a.txt"));
    end_turn(&world, "d1");
    (world, operation)
}

fn again_in_log(world: &World) -> serde_json::Value {
    world.run(&["log", "--json", "--file", "a.txt", "--actor", "agent"]).json()["changes"][0]
        ["again"]
        .clone()
}

#[test]
fn every_listing_shows_it() {
    let (world, operation) = added_again();
    let words = format!("you rejected it as {operation}: “not wanted”");
    let hunk = hunks(&world, &[]).remove(0);
    assert_eq!(hunk["again"][0]["operation"], operation.as_str(), "{hunk:#}");
    assert_eq!(hunk["again"][0]["reason"], "not wanted");
    for listing in [&["review"][..], &["review", "a.txt"]] {
        let text = world.ok(listing);
        assert!(text.contains(&format!("again, {words}")), "{text}");
    }
    let again = again_in_log(&world);
    assert_eq!(again[0]["operation"], operation.as_str(), "{again}");
    let shown = world.ok(&["show", &world.change_of("a.txt")]);
    assert!(shown.contains(&words), "{shown}");
    let shown = world.run(&["show", &world.change_of("a.txt"), "--json"]).json();
    assert!(shown.to_string().contains("not wanted"), "{shown:#}");
}

#[test]
fn undoing_the_rejection_or_forgetting_it_ends_that() {
    let (world, _) = added_again();
    let id = ids_in(&world, "a.txt").remove(0);
    assert_eq!(
        world.ok(&["review", "--forget", "a.txt"]),
        "Forgot 1 rejected place: the same lines may come again unremarked.\n"
    );
    assert_eq!(
        world.ok(&["review", "--forget"]),
        "Nothing that was rejected is remembered there.\n"
    );
    world.ok(&["reject", &id]);
    world.ok(&["undo"]);
    // That rejection was taken back, so what the agent adds now is no repeat of it.
    world.shell("k3", "sed -i '$d' a.txt");
    world.shell("k4", &format!("echo '{RUN}' >> a.txt"));
    assert_eq!(again_in_log(&world), serde_json::json!([]));
}
