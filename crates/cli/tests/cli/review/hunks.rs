//! `retake accept` and `reject` by hunks: places that are kept or taken back one by one.

use expect_test::expect;
use serde_json::json;

use super::{LINES, end_turn, hunks, ids_in, reviewed_world, seen, without_ids};
use crate::support::World;

fn status_of(world: &World, path: &str) -> String {
    let log = world.run(&["log", "--json", "--actor", "agent", "--file", path]).json();
    log["changes"][0]["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_kept_hunk_is_reviewed_and_all_of_them_accept_the_change() {
    let world = reviewed_world();
    let ids = ids_in(&world, "a.txt");
    expect![[r#"
        Kept 1 hunk (HUNK-ID------).
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["accept", &ids[0]]));
    assert_eq!(status_of(&world, "a.txt"), "pending");
    let marks: Vec<_> = hunks(&world, &["a.txt"]).iter().map(|h| h["reviewed"].clone()).collect();
    assert_eq!(json!(marks), json!([true, false]));
    // A mark is there in every scope.
    assert_eq!(hunks(&world, &["everything", "a.txt"])[0]["reviewed"], true);
    expect![[r#"
        Kept 1 hunk (HUNK-ID------); with it all of c6 is accepted.
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["accept", &ids[1]]));
    assert_eq!(status_of(&world, "a.txt"), "accepted");
    assert!(world.ok(&["review", "a.txt"]).contains("all reviewed"));
}

#[test]
fn a_rejected_hunk_leaves_the_file_and_comes_back_by_undo() {
    let world = reviewed_world();
    let ids = ids_in(&world, "a.txt");
    let after = world.read("a.txt");
    let rejected = world.run(&["reject", &ids[0], "--reason", "we count in digits", "--json"]);
    assert_eq!(rejected.code, 0, "{}", rejected.stderr);
    assert_eq!(world.read("a.txt"), LINES.replace("\n11\n", "\neleven\n"));
    // The other one keeps its name.
    assert_eq!(ids_in(&world, "a.txt"), [ids[1].clone()]);
    world.ok(&["undo"]);
    assert_eq!((world.read("a.txt"), ids_in(&world, "a.txt")), (after, ids));
}

#[test]
fn every_rejection_together_is_the_rollback_of_the_scope() {
    let world = reviewed_world();
    let all: Vec<_> =
        hunks(&world, &[]).iter().map(|hunk| hunk["id"].as_str().unwrap().to_owned()).collect();
    let mut words = vec!["reject"];
    words.extend(all.iter().map(String::as_str));
    assert_eq!(world.run(&words).code, 0);
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), (LINES, "(absent)"));
    assert_eq!(hunks(&world, &[]).len(), 0);
    let log = world.run(&["log", "--json", "--actor", "agent"]).json();
    let statuses: Vec<_> =
        log["changes"].as_array().unwrap().iter().map(|change| change["status"].clone()).collect();
    assert_eq!(json!(statuses), json!(["rejected", "rejected"]));
}

#[test]
fn lines_of_a_hunk_are_decided_on_alone() {
    let world = World::with(&[("a.txt", "1\n")]);
    world.say("d1", "go");
    world.shell("k1", "printf '1\\none\\ntwo\\nthree\\n' > a.txt");
    end_turn(&world, "d1");
    let id = ids_in(&world, "a.txt").remove(0);
    let kept = seen(&world, &["accept", &format!("{id}:+1")]);
    assert_eq!(kept, "Kept lines +1 of HUNK-ID------.\nexit 0\n");
    assert_eq!(hunks(&world, &[])[0]["reviewed"], false, "the others are open");
    assert_eq!(world.run(&["reject", &format!("{id}:+2")]).code, 0);
    assert_eq!(world.read("a.txt"), "1\none\nthree\n");
    let rest = ids_in(&world, "a.txt").remove(0);
    let none = world.run(&["reject", &format!("{rest}:+3")]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("0 removed and 2 added lines"), "{}", none.stderr);
    for wrong in ["+0", "1", "+2-1", ""] {
        let refused = world.run(&["reject", &format!("{rest}:{wrong}")]);
        assert_eq!(refused.code, 2, "{wrong}: {}", refused.stderr);
    }
    assert_eq!(world.read("a.txt"), "1\none\nthree\n");
}

#[test]
fn a_hunk_that_changed_is_refused_with_the_way_out() {
    let world = reviewed_world();
    let id = ids_in(&world, "a.txt").remove(0);
    world.write("a.txt", world.read("a.txt").replace("two", "zwei"));
    for words in [&["reject", &id][..], &["accept", &id], &["reject", &id, "--wait"]] {
        let refused = world.run(words);
        assert_eq!(refused.code, 1, "{words:?}");
        let told = without_ids(&refused.stderr);
        assert!(told.starts_with("error: ") && told.contains("HUNK-ID------"), "{told}");
        assert!(told.contains("`retake review` shows what there is now"), "{told}");
    }
    assert!(world.read("a.txt").contains("zwei"));
}

#[test]
fn equal_hunks_need_the_digest_of_their_file() {
    // Both places look the same for three lines on each side.
    let block = "a\nb\nc\nd\ne\nf\n";
    let world = World::with(&[("a.txt", &block.repeat(4))]);
    world.say("d1", "go");
    world.shell("k1", "sed -i '10s/^d$/D/; 16s/^d$/D/' a.txt");
    end_turn(&world, "d1");
    let found = hunks(&world, &[]);
    let ids: Vec<_> = found.iter().map(|hunk| hunk["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2, "{found:#?}");
    assert!(ids[0].ends_with(".1") && ids[1].ends_with(".2"), "{ids:?}");
    let refused = world.run(&["reject", ids[1]]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("digest"), "{}", refused.stderr);
    let digest = found[1]["digest"].as_str().unwrap();
    let wrong = world.run(&["reject", ids[1], "--digest", "0000000000000000"]);
    assert_eq!(wrong.code, 1, "{}", wrong.stderr);
    assert_eq!(world.run(&["reject", ids[1], "--digest", digest]).code, 0);
    let lines: Vec<_> = world.read("a.txt").lines().map(str::to_owned).collect();
    assert_eq!((lines[9].as_str(), lines[15].as_str()), ("D", "d"));
}

/// The agent's line, which the person wrote over at another end of it.
fn entangled() -> (World, String) {
    let world = World::with(&[("a.txt", "1\n2\n3\n")]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/2/two/' a.txt");
    end_turn(&world, "d1");
    world.write("a.txt", "1\nmine two\n3\n");
    let found = hunks(&world, &[]);
    assert_eq!(found[0]["kind"], "entangled", "{found:#?}");
    let id = found[0]["id"].as_str().unwrap().to_owned();
    (world, id)
}

#[test]
fn an_entangled_hunk_names_what_builds_on_it_and_stays() {
    let (world, id) = entangled();
    expect![[r#"
        a.txt  +1  -1  1 hunk, not reviewed
          HUNK-ID------  line 2  +1  -1  d1:1  entangled: c9 by you builds on it

        1 file, 1 hunk, 1 not reviewed

          retake review -p             decide on them one by one
          retake accept h…             keep one
          retake reject h… --reason …  take one back; your own edits stay
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["review"]));
    let left = world.run(&["reject", &id]);
    assert_eq!((left.code, world.read("a.txt").as_str()), (3, "1\nmine two\n3\n"));
    let asked = world.run(&["reject", &id, "--cascade"]);
    assert_eq!((asked.code, world.read("a.txt").as_str()), (3, "1\nmine two\n3\n"));
    assert!(asked.stderr.contains("It takes back edits of yours"), "{}", asked.stderr);
    assert_eq!(world.run(&["reject", &id, "--cascade", "--yes"]).code, 0);
    assert_eq!(world.read("a.txt"), "1\n2\n3\n");
}

#[test]
fn at_a_terminal_the_person_chooses_what_becomes_of_later_changes() {
    let (world, id) = entangled();
    let Some((seen, code)) = world.answered_with_code(&format!("reject {id}"), "l\n") else {
        return;
    };
    assert!(seen.contains("Later changes build on a place that you reject."), "{seen}");
    assert_eq!((code, world.read("a.txt").as_str()), (3, "1\nmine two\n3\n"), "{seen}");
    let (seen, code) = world.answered_with_code(&format!("reject {id}"), "t\ny\n").unwrap();
    assert!(seen.contains("It takes back edits of yours"), "{seen}");
    assert_eq!((code, world.read("a.txt").as_str()), (0, "1\n2\n3\n"), "{seen}");
}

#[test]
fn approved_work_is_settled() {
    let world = reviewed_world();
    let id = ids_in(&world, "b.txt").remove(0);
    world.ok(&["approve", "--dialog", "d1"]);
    assert!(world.ok(&["review"]).starts_with("Nothing of an agent waits for your review.\n"));
    let shown = hunks(&world, &["--approved"]);
    assert!(shown.iter().all(|hunk| hunk["reviewed"] == true), "approving marks what it did");
    let refused = world.run(&["reject", &id]);
    assert_eq!((refused.code, world.read("b.txt").as_str()), (1, "new\n"));
    assert!(refused.stderr.contains("approved"), "{}", refused.stderr);
}

#[test]
fn hunks_are_found_in_the_scope_that_is_named() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^2$/two/' a.txt");
    world.say("d1", "on");
    world.shell("k2", "sed -i 's/^3$/three/' a.txt");
    end_turn(&world, "d1");
    // The two changes are one hunk together, and two of their own.
    let of = |scope: &str| hunks(&world, &[scope])[0]["id"].as_str().unwrap().to_owned();
    let second = of("d1:2");
    assert_ne!(second, of("all"));
    let refused = world.run(&["reject", &second]);
    assert_eq!(refused.code, 1, "{}", refused.text());
    assert_eq!(world.run(&["reject", &second, "--scope", "d1:2"]).code, 0);
    assert_eq!(world.read("a.txt"), LINES.replace("\n2\n", "\ntwo\n"));
    let unknown = world.run(&["accept", &second, "--scope", "nothing"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("there is no scope 'nothing'"), "{}", unknown.stderr);
}
