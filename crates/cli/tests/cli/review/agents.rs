//! What an agent that runs the commands of a review may do.

use super::{hunks, ids_in};
use crate::callers::{call, worked};
use crate::daemon::Daemon;
use crate::support::World;

fn assert_it_may_look(world: &World) {
    for command in [
        "retake review",
        "retake review --json",
        "retake review a.txt",
        "retake review --patch",
        "retake review --report",
        "retake review --queue",
        "retake comment",
        "retake feedback",
    ] {
        let done = call(world, command);
        assert_eq!(done.code, 0, "{command}: {} {}", done.text(), done.stderr);
    }
}

fn assert_it_decides_on_nothing(world: &World) {
    let id = ids_in(world, "a.txt").remove(0);
    let before = hunks(world, &["everything"]);
    for command in [
        format!("retake accept {id}"),
        format!("retake reject {id} --wait"),
        "retake review --seen".to_owned(),
        "retake review --forget".to_owned(),
        "retake review --cancel 1".to_owned(),
        "retake comment add a.txt x".to_owned(),
        "retake comment send".to_owned(),
        "retake comment resolve 1".to_owned(),
        "retake comment remove 1".to_owned(),
        "echo y | retake review -p".to_owned(),
    ] {
        let done = call(world, &command);
        assert_eq!(done.code, 1, "{command}: {} {}", done.text(), done.stderr);
        let says_so =
            done.stderr.contains("for the person") && done.stderr.contains("ask the person");
        assert!(says_so, "{command}: {}", done.stderr);
    }
    assert_eq!(hunks(world, &["everything"]), before);
    assert_eq!(world.read("a.txt"), "two\n");
}

fn assert_it_answers_its_own_comments(world: &World) {
    world.ok(&["comment", "add", "a.txt", "why?", "--question"]);
    assert_eq!(call(world, "retake comment answer 1 'so that'").code, 1, "a draft is not its own");
    world.ok(&["comment", "send"]);
    assert!(call(world, "retake feedback").text().contains("- #1 (question"));
    let done = call(world, "retake comment answer 1 'so that'");
    assert_eq!(done.code, 0, "{}", done.stderr);
    let listed = world.ok(&["comment"]);
    assert!(listed.contains("→ so that"), "{listed}");
    world.say("d2", "other");
    world.ok(&["comment", "add", "b.txt", "for another", "--for", "d2"]);
    world.ok(&["comment", "send"]);
    let refused = call(world, "retake comment answer 2 mine");
    assert_eq!(refused.code, 1, "{}", refused.text());
    // It hears what is for itself, and nothing else.
    let refused = call(world, "retake feedback d2");
    assert_eq!((refused.code, refused.text().as_str()), (1, ""), "{}", refused.stderr);
}

#[test]
fn an_agent_may_look_and_answer_and_is_refused_the_rest() {
    let world = worked();
    assert_it_may_look(&world);
    assert_it_decides_on_nothing(&world);
    assert_it_answers_its_own_comments(&world);
}

#[test]
fn the_same_through_a_daemon() {
    let world = worked();
    let _daemon = Daemon::of(&world);
    assert_it_may_look(&world);
    assert_it_decides_on_nothing(&world);
    assert_it_answers_its_own_comments(&world);
}

#[test]
fn a_draft_is_seen_by_the_person_alone() {
    let world = worked();
    world.ok(&["comment", "add", "a.txt:1", "a thought of mine"]);
    for command in [
        "retake comment",
        "retake comment --json",
        "retake review",
        "retake review a.txt",
        "retake review --json",
        "retake review --report",
        "retake feedback",
    ] {
        let seen = call(&world, command).text();
        assert!(
            !seen.contains("a thought of mine") && !seen.contains("comment 1"),
            "{command}: {seen}"
        );
        assert!(!seen.contains("not sent yet"), "{command}: {seen}");
    }
    assert!(world.ok(&["review"]).contains("comment 1"));
    assert!(world.ok(&["comment"]).contains("a thought of mine"));
}
