//! Rejections in `retake review -p` that need a confirmation, wait, or are only half possible.

use super::{LINES, OpenReview, end_turn, hunks, piped, review};
use crate::support::World;

/// The agent is at work and has changed two lines; between them is one of the person.
fn between_lines_of_the_agent() -> World {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^2$/two/; s/^11$/eleven/' a.txt");
    world.write("a.txt", world.read("a.txt").replace("\n6\n", "\nmy own\n"));
    world.ok(&["status"]);
    world
}

#[test]
fn lines_of_the_person_do_not_wait_unasked() {
    // All of the file, and one hunk that holds a line of each.
    let one_hunk = || {
        let world = World::with(&[("a.txt", "1\n2\n3\n")]);
        world.say("d1", "go");
        world.shell("k1", "sed -i 's/^1$/one/' a.txt");
        world.write("a.txt", "one\nmy own\n3\n");
        world.ok(&["status"]);
        world
    };
    let cases = [(between_lines_of_the_agent(), "x\n\n"), (one_hunk(), "n\n\n")];
    for (world, answers) in cases {
        let before = world.read("a.txt");
        let ran = piped(&world, &["review", "-p", "everything"], answers);
        assert_eq!(ran.code, 3, "{}{}", ran.text(), ran.stderr);
        assert!(ran.stderr.contains("It takes back edits of yours"), "{}", ran.stderr);
        assert!(ran.text().contains("Nothing was decided."), "{}", ran.text());
        assert_eq!(review(&world, &[])["queued"], 0, "it does not wait unasked");
        assert!(hunks(&world, &["everything"]).iter().all(|hunk| hunk["reviewed"] == false));
        end_turn(&world, "d1");
        world.ok(&["review"]);
        assert_eq!(world.read("a.txt"), before);
    }
}

#[test]
fn with_a_yes_lines_of_the_person_wait_too() {
    let world = between_lines_of_the_agent();
    let before = world.read("a.txt");
    let Some((seen, code)) = world.answered_with_code("review -p everything", "x\n\nn\n") else {
        return;
    };
    assert!(seen.contains("Cancelled; nothing was changed."), "{seen}");
    assert_eq!((code, &review(&world, &[])["queued"]), (3, &0.into()), "{seen}");
    let (seen, code) = world.answered_with_code("review -p everything", "x\n\ny\n").unwrap();
    assert_eq!((code, world.read("a.txt")), (0, before), "{seen}");
    assert!(seen.contains("you queued 3 rejections"), "{seen}");
    end_turn(&world, "d1");
    world.ok(&["review"]);
    assert_eq!(world.read("a.txt"), LINES);
}

/// The agent's lines 2 and 11, of which the person wrote over the first.
fn half_entangled() -> World {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^2$/two/; s/^11$/eleven/' a.txt");
    end_turn(&world, "d1");
    world.write("a.txt", world.read("a.txt").replace("two", "mine two"));
    world.ok(&["status"]);
    world
}

#[test]
fn what_is_left_does_not_count_as_rejected() {
    let world = half_entangled();
    let ran = piped(&world, &["review", "-p"], "x\n\n");
    assert_eq!(ran.code, 3, "{}{}", ran.text(), ran.stderr);
    let wanted = LINES.replace("\n2\n", "\nmine two\n");
    assert_eq!(world.read("a.txt"), wanted);
    assert!(ran.text().contains("In this review you rejected 1 hunk.\n"), "{}", ran.text());
    assert!(ran.text().contains("Some of this is still open."), "{}", ran.text());
    let world = half_entangled();
    let Some((seen, code)) = world.answered_with_code("review -p", "x\n\nl\n") else { return };
    assert_eq!((code, world.read("a.txt")), (3, wanted), "{seen}");
    assert!(seen.contains("In this review you rejected 1 hunk."), "{seen}");
}

#[test]
fn what_was_not_done_since_the_file_changed_is_asked_about_again() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^2$/two/; s/^11$/eleven/' a.txt");
    end_turn(&world, "d1");
    world.write("a.txt", world.read("a.txt").replace("\n6\n", "\nmy own\n"));
    world.ok(&["status"]);
    let line = format!("{} review -p everything", env!("CARGO_BIN_EXE_retake"));
    let Some(terminal) = world.terminal(line.as_ref()) else { return };
    let mut open = OpenReview::of(terminal);
    open.until("+two");
    open.answer("x\n\n");
    open.until("It takes back edits of yours");
    world.write("a.txt", world.read("a.txt").replace("\n8\n", "\neight\n"));
    open.answer("y\nq\n");
    let (seen, code) = open.end();
    assert_eq!(code, 3, "{seen}");
    // The hunk that is as it was is shown once more, and not left for the rest of the review.
    let after = seen.split("It takes back edits of yours").last().unwrap();
    assert!(after.contains("+two"), "{seen}");
    assert!(world.read("a.txt").contains("two\n3\n4\n5\nmy own\n7\neight\n"), "{seen}");
}
