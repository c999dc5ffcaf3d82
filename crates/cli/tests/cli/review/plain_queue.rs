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

/// The agent has added three lines, and is still at work.
fn three_lines() -> World {
    let world = World::with(&[("a.txt", "1\n")]);
    world.say("d1", "go");
    world.shell("k1", "printf '1\\none\\ntwo\\nthree\\n' > a.txt");
    world
}

#[test]
fn a_hunk_of_which_lines_wait_is_open_in_the_next_review_too() {
    let world = three_lines();
    let ran = piped(&world, &["review", "-p"], "l\n+1\nn\n\nq\n");
    assert_eq!(ran.code, 3, "{}{}", ran.text(), ran.stderr);
    let ran = piped(&world, &["review", "-p"], "y\n");
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
    assert!(ran.text().contains("rejection 1 waits, of lines +1\n"), "{}", ran.text());
    assert!(ran.text().contains("  1✗+one\n  2 +two\n"), "{}", ran.text());
    assert!(ran.text().contains("Kept lines +2-3 of h"), "{}", ran.text());
    // Nothing of it is open, and what is kept and what waits is still that.
    assert_eq!(piped(&world, &["review", "-p"], "").code, 0);
    let hunk = hunks(&world, &[]).remove(0);
    assert_eq!((&hunk["seen_lines"], &hunk["queued_lines"]), (&"+2-3".into(), &"+1".into()));
    end_turn(&world, "d1");
    world.ok(&["review"]);
    assert_eq!(world.read("a.txt"), "1\ntwo\nthree\n");
}

#[test]
fn rejecting_the_rest_of_a_hunk_leaves_the_lines_that_are_kept() {
    for last in ["n\n\n", "x\n\n"] {
        // Queued while the agent works, and at once.
        for works in [true, false] {
            let world = three_lines();
            if !works {
                end_turn(&world, "d1");
            }
            let ran = piped(&world, &["review", "-p"], &format!("l\n+2\ny\n{last}"));
            assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
            assert!(ran.text().contains("  1 +one\n  2✓+two\n"), "{}", ran.text());
            end_turn(&world, "d1");
            world.ok(&["review"]);
            assert_eq!(world.read("a.txt"), "1\ntwo\n");
        }
    }
}

#[test]
fn a_hunk_all_of_whose_lines_wait_one_by_one_can_be_kept_after_all() {
    let world = three_lines();
    let ran = piped(&world, &["review", "-p"], "l\n+1\nn\n\nn\nno\nq\n");
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
    let world = three_lines();
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    // Another file, so that the review goes on once nothing of this one is open.
    world.shell("k2", "echo x > b.txt");
    open.answer("l\n+1\nn\n\nn\nno\n");
    open.until("b.txt, new file");
    open.answer("p\ny\ny\n");
    let (seen, code) = open.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("Cancelled rejection 1.\nCancelled rejection 2.\n"), "{seen}");
    assert_eq!(review(&world, &[])["queued"], 0, "{seen}");
    end_turn(&world, "d1");
    assert_eq!(world.read("a.txt"), "1\none\ntwo\nthree\n");
}
