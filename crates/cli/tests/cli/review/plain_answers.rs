//! The answers of `retake review -p`.

use serde_json::json;

use super::{LINES, OpenReview, end_turn, hunks, piped, review, reviewed_world};
use crate::daemon::Daemon;
use crate::support::{Ran, World};

fn answered(world: &World, answers: &str) -> Ran {
    piped(world, &["review", "-p"], answers)
}

fn marks(world: &World) -> serde_json::Value {
    json!(hunks(world, &[]).iter().map(|hunk| hunk["reviewed"].clone()).collect::<Vec<_>>())
}

#[test]
fn the_rest_of_a_file_is_kept_or_rejected() {
    let world = reviewed_world();
    let ran = answered(&world, "a\nx\n\n");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(world.read("b.txt"), "(absent)");
    assert_eq!(marks(&world), json!([true, true]));
    let world = reviewed_world();
    // The rest begins at the hunk that is shown.
    let ran = answered(&world, "s\nx\nno\ny\n");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert_eq!(world.read("a.txt"), LINES.replace("\n2\n", "\ntwo\n"));
}

#[test]
fn previous_goes_back_and_a_decision_can_be_another_one() {
    let world = reviewed_world();
    let ran = answered(&world, "p\ny\ns\np\np\nn\nnot that\nq\n");
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("No hunk that was shown before is still there."), "{}", ran.stderr);
    assert_eq!(world.read("a.txt"), LINES.replace("\n11\n", "\neleven\n"));
    assert!(ran.text().contains("In this review you rejected 1 hunk."), "{}", ran.text());
}

#[test]
fn undo_takes_back_the_last_decision_and_goes_on_to_the_one_before() {
    let world = reviewed_world();
    let after = world.read("a.txt");
    // Kept, rejected and commented; then all of it is undone.
    let ran = answered(&world, "y\nn\nwhy not\nc\na comment\nu\nu\nu\nu\nq\n");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert_eq!((marks(&world), world.read("a.txt")), (json!([false, false, false]), after));
    assert_eq!(review(&world, &[])["drafts"], 0);
    assert!(ran.stderr.contains("Nothing was decided in this review that could be undone."));
    assert!(ran.text().contains("\nNothing was decided.\n"), "{}", ran.text());
}

#[test]
fn a_daemon_does_the_same() {
    let world = reviewed_world();
    let _daemon = Daemon::of(&world);
    let after = world.read("a.txt");
    let ran = answered(&world, "y\nn\nwhy not\nu\nn\nno words\nc\nwhy?\nq\ny\n");
    assert_eq!(ran.code, 3, "{}{}", ran.text(), ran.stderr);
    assert_eq!(world.read("a.txt"), after.replace("\neleven\n", "\n11\n"));
    assert_eq!(marks(&world), json!([true, false]));
    let told = "d1 hears of 1 rejection and 1 comment with your next message to it";
    assert!(ran.text().contains(told), "{}", ran.text());
    assert_eq!(super::files_of(&world, &["unseen"]), [""; 0], "it was closed");
}

#[test]
fn undoing_a_keep_opens_its_change_again() {
    let status = |world: &World| {
        let log = world.run(&["log", "--json", "--file", "a.txt", "--actor", "agent"]).json();
        log["changes"][0]["status"].clone()
    };
    let world = reviewed_world();
    assert_eq!(piped(&world, &["review", "-p", "a.txt"], "a\n").code, 0);
    assert_eq!(status(&world), "accepted");
    let world = reviewed_world();
    let ran = piped(&world, &["review", "-p", "a.txt"], "s\ny\np\na\nu\nq\n");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert_eq!((status(&world), marks(&world)), ("pending".into(), json!([false, true, false])));
    let ran = piped(&world, &["review", "-p"], "a\nu\nq\n");
    assert!(ran.text().contains("The hunk is open again.\n"), "{}", ran.text());
}

#[test]
fn an_undone_rejection_comes_back_although_an_agent_went_on() {
    let world = reviewed_world();
    let after = world.read("a.txt");
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    open.answer("n\n\n");
    open.until("+eleven");
    world.say("d2", "something else");
    world.shell_of("d2", "k2", "echo x >> c.txt");
    open.answer("u\nq\n");
    let (ran, code) = open.end();
    assert_eq!(code, 3, "{ran}");
    assert_eq!((world.read("a.txt"), world.read("c.txt").as_str()), (after, "c\nx\n"), "{ran}");
}

#[test]
fn a_rejection_that_was_undone_elsewhere_is_open_again() {
    let world = reviewed_world();
    let after = world.read("a.txt");
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    open.answer("n\n\n");
    open.until("+eleven");
    world.ok(&["undo"]);
    open.answer("u\ny\nq\n");
    let (seen, code) = open.end();
    assert_eq!((code, world.read("a.txt")), (3, after), "{seen}");
    assert_eq!(marks(&world), json!([true, false, false]), "{seen}");
}

#[test]
fn lines_of_a_hunk_are_decided_on() {
    let world = World::with(&[("a.txt", "1\n"), ("bin", "a\0")]);
    world.say("d1", "go");
    world.shell("k1", "printf '1\\none\\ntwo\\nthree\\n' > a.txt; printf 'a\\0b' > bin");
    end_turn(&world, "d1");
    // Nonsense and second thoughts decide on nothing; then one line goes, and the rest is kept.
    let answers = "l\nnonsense\nl\n\nl\n+9\nl\n-1\nl\n+1\nb\nl\n+2\nn\ntwo is too many\ny\nl\ny\n";
    let ran = answered(&world, answers);
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
    assert_eq!(world.read("a.txt"), "1\none\nthree\n");
    assert!(ran.stderr.contains("'nonsense' names no lines of a hunk"), "{}", ran.stderr);
    let refused = "0 removed and 3 added lines";
    assert_eq!(ran.stderr.matches(refused).count(), 2, "at once: {}", ran.stderr);
    assert!(ran.stderr.contains("This hunk is decided on as a whole."), "{}", ran.stderr);
    // Kept lines leave the others open.
    let world = World::with(&[("a.txt", "1\n")]);
    world.say("d1", "go");
    world.shell("k1", "printf '1\\none\\ntwo\\n' > a.txt");
    end_turn(&world, "d1");
    let ran = answered(&world, "l\n+1\ny\nl\n+2\ny\n");
    assert_eq!((ran.code, marks(&world)), (0, json!([true])), "{}", ran.text());
    assert!(ran.text().contains("Kept lines +1 of h"), "{}", ran.text());
}

#[test]
fn comments_are_drafts_that_can_be_sent_at_the_end() {
    let world = reviewed_world();
    let ran = answered(&world, "c\n\nc\nuse digits\nc\nwhy?\ny\nq\nn\n");
    assert!(ran.stderr.contains("2 comments are drafts. Send them? [y]es [N]o"), "{}", ran.stderr);
    assert!(ran.text().contains("2 comments are not sent yet"), "{}", ran.text());
    let comments = world.run(&["comment", "--json"]).json();
    let kinds: Vec<_> = comments["comments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["kind"].clone(), one["state"].clone()))
        .collect();
    assert_eq!(json!(kinds), json!([["order", "draft"], ["question", "draft"]]));
    let ran = answered(&world, "q\ny\n");
    assert!(
        ran.text().contains("d1 hears of 2 comments with your next message to it"),
        "{}",
        ran.text()
    );
    // At the end of the input they stay drafts.
    answered(&world, "c\none more\nq\n");
    assert_eq!(review(&world, &[])["drafts"], 1);
}

#[test]
fn while_the_agent_works_a_rejection_waits_and_can_be_taken_back() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^2$/two/; s/^11$/eleven/' a.txt");
    let before = world.read("a.txt");
    let ran = answered(&world, "n\nno\nu\nn\nno\nq\n");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.text().contains("Rejection 1 waits until d1 has ended its turn"), "{}", ran.text());
    assert!(ran.text().contains("In this review you queued 1 rejection."), "{}", ran.text());
    let queue = world.run(&["review", "--queue", "--json"]).json();
    let states: Vec<_> =
        queue["entries"].as_array().unwrap().iter().map(|one| one["state"].clone()).collect();
    assert_eq!(json!(states), json!(["waiting", "cancelled"]));
    assert_eq!(world.read("a.txt"), before);
    // What waits is decided on, and is not asked about again.
    let ran = answered(&world, "y\n");
    assert_eq!(ran.code, 0, "{}", ran.text());
    end_turn(&world, "d1");
    world.ok(&["review"]);
    assert_eq!(world.read("a.txt"), LINES.replace("\n11\n", "\neleven\n"));
}

#[test]
fn a_hunk_that_waits_can_be_kept_after_all() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^2$/two/; s/^11$/eleven/' a.txt");
    let ran = answered(&world, "n\n\np\nn\ny\ny\n");
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
    assert!(ran.stderr.contains("Rejection 1 of this hunk waits already."), "{}", ran.stderr);
    assert!(ran.text().contains("Cancelled rejection 1.\n"), "{}", ran.text());
    assert!(ran.text().contains("In this review you kept 2 hunks."), "{}", ran.text());
    end_turn(&world, "d1");
    world.ok(&["review"]);
    assert!(world.read("a.txt").contains("two"));
    // The same with the rest of the file.
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^2$/two/; s/^11$/eleven/' a.txt");
    let ran = answered(&world, "n\n\np\na\n");
    assert_eq!((ran.code, marks(&world)), (0, json!([true, true])), "{}", ran.text());
    assert_eq!(review(&world, &[])["queued"], 0);
}

#[test]
fn the_rest_of_a_hunk_of_which_lines_wait_is_asked_about() {
    let world = World::with(&[("a.txt", "1\n")]);
    world.say("d1", "go");
    world.shell("k1", "printf '1\\none\\ntwo\\n' > a.txt");
    let ran = answered(&world, "l\n+1\nn\n\ny\n");
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
    assert!(ran.text().contains("rejection 1 waits"), "{}", ran.text());
    end_turn(&world, "d1");
    world.ok(&["review"]);
    assert_eq!(world.read("a.txt"), "1\ntwo\n");
    assert_eq!(marks(&world), json!([true]), "{:#?}", hunks(&world, &[]));
    // Or all of it is rejected after all, by itself or with the rest of the file.
    for last in ["n\n\n", "x\n\n"] {
        let world = World::with(&[("a.txt", "1\n")]);
        world.say("d1", "go");
        world.shell("k1", "printf '1\\none\\ntwo\\n' > a.txt");
        let ran = answered(&world, &format!("l\n+1\nn\n\n{last}"));
        assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
        end_turn(&world, "d1");
        world.ok(&["review"]);
        assert_eq!(world.read("a.txt"), "1\n");
    }
}

/// The agent's line, which the person wrote over.
fn entangled() -> World {
    let world = World::with(&[("a.txt", "1\n2\n3\n")]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/2/two/' a.txt");
    world.write("a.txt", "1\nmine two\n3\n");
    world
}

#[test]
fn an_entangled_hunk_is_not_queued_and_goes_only_with_a_yes() {
    let world = entangled();
    let ran = answered(&world, "n\n\n");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("note: the agent is at work"), "{}", ran.stderr);
    assert!(ran.stderr.contains("reject it after the turn"), "{}", ran.stderr);
    assert_eq!(review(&world, &[])["queued"], 0);
    end_turn(&world, "d1");
    // Without a terminal it is left.
    let ran = answered(&world, "n\n\n");
    assert_eq!((ran.code, world.read("a.txt").as_str()), (3, "1\nmine two\n3\n"));
    assert!(ran.text().contains("in the way: "), "{}", ran.text());
    let Some((seen, code)) = world.answered_with_code("review -p", "n\n\nl\n") else { return };
    assert!(seen.contains("Later changes build on a place that you reject."), "{seen}");
    assert_eq!((code, world.read("a.txt").as_str()), (3, "1\nmine two\n3\n"), "{seen}");
    let (seen, code) = world.answered_with_code("review -p", "n\n\nt\nn\n").unwrap();
    assert!(seen.contains("Cancelled; nothing was changed."), "{seen}");
    assert_eq!((code, world.read("a.txt").as_str()), (3, "1\nmine two\n3\n"), "{seen}");
    let (seen, code) = world.answered_with_code("review -p", "n\n\nt\ny\n").unwrap();
    assert_eq!((code, world.read("a.txt").as_str()), (0, "1\n2\n3\n"), "{seen}");
}

#[test]
fn whole_files_are_kept_and_rejected() {
    let world =
        World::with(&[("bin", "a\0b"), ("run.sh", "echo\n"), ("old", "x\n"), ("gone", "1\n")]);
    world.say("d1", "go");
    world.shell("k1", "printf 'a\\0bcd' > bin; chmod 755 run.sh; mv old moved; rm gone; : > empty");
    end_turn(&world, "d1");
    let shown = answered(&world, "s\ns\ns\ns\ns\n");
    assert_eq!(shown.code, 3);
    let answers = "n\n\n".repeat(5);
    let ran = answered(&world, &answers);
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
    assert_eq!(
        ["bin", "old", "gone", "moved", "empty"].map(|name| world.read(name)),
        ["a\0b", "x\n", "1\n", "(absent)", "(absent)"]
    );
    let mode = std::fs::metadata(world.root().join("run.sh")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o644);
}

#[test]
fn answers_that_fit_nothing_are_asked_for_again_without_end() {
    let world = reviewed_world();
    let ran = answered(&world, "\nmaybe\nyes\n1\nkeep\nY\nq\n");
    assert_eq!(ran.code, 3);
    let reminder = "Please answer y, n, s, c, l, v, a, x, p, u, q or ?.";
    assert_eq!(ran.stderr.matches(reminder).count(), 5, "{}", ran.stderr);
    assert_eq!(marks(&world), json!([true, false, false]));
}

#[test]
fn at_a_terminal_ctrl_d_leaves_and_ctrl_c_ends_it() {
    let world = reviewed_world();
    let Some((seen, code)) = world.answered_with_code("review -p", "y\n\u{4}") else { return };
    assert_eq!((code, marks(&world)), (3, json!([true, false, false])), "{seen}");
    let line = format!("{} review -p", env!("CARGO_BIN_EXE_retake"));
    let mut open = OpenReview::of(world.terminal(line.as_ref()).unwrap());
    open.until("+eleven");
    open.answer("y\n");
    open.until("+new");
    open.answer("\u{3}");
    let (seen, code) = open.end();
    assert_eq!(code, 130, "{seen}");
    assert_eq!(marks(&world), json!([true, true, false]), "{seen}");
    assert_eq!(super::files_of(&world, &["unseen"]), ["a.txt", "b.txt"]);
}
