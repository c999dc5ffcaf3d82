//! The list of a review: scopes, paths, and where "since I looked" begins.

use expect_test::expect;
use serde_json::json;

use super::{LINES, end_turn, files_of, hunks, review, reviewed_world, seen};
use crate::support::World;

#[test]
fn files_and_their_hunks_are_listed() {
    let world = reviewed_world();
    expect![[r#"
        a.txt  +2  -2  2 hunks, not reviewed
          HUNK-ID------  line 2    +1  -1  d1:1
          HUNK-ID------  line 11   +1  -1  d1:1
        b.txt  +1  -0  1 hunk, not reviewed
          HUNK-ID------  new file  +1  -0  d1:1

        2 files, 3 hunks, 3 not reviewed

          retake review -p             decide on them one by one
          retake accept h…             keep one
          retake reject h… --reason …  take one back; your own edits stay
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["review"]));
    expect![[r#"
        a.txt  +2  -2  2 hunks, not reviewed

        HUNK-ID------  line 2  d1:1
             1
          1 -2
          1 +two
             3
             4
             5

        HUNK-ID------  line 11  d1:1
             8
             9
             10
          1 -11
          1 +eleven
             12

        1 file, 2 hunks, 2 not reviewed

          retake review a.txt -p       decide on them one by one
          retake accept h…             keep one
          retake reject h… --reason …  take one back; your own edits stay
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["review", "a.txt"]));
}

#[test]
fn scopes_choose_changes() {
    let names = ["a", "b", "c", "d", "mine"];
    let world = World::with(&names.map(|name| (name, "1\n")));
    world.say("d1", "first");
    world.shell_of("d1", "k1", "echo x >> a");
    world.say("d1", "second");
    world.shell_of("d1", "k2", "echo x >> b");
    world.shell_of("d1", "k3", "echo x >> c");
    end_turn(&world, "d1");
    world.say("d2", "third");
    world.shell_of("d2", "k4", "echo x >> d");
    end_turn(&world, "d2");
    world.write("mine", "1\n2\n");
    let change = world.change_of("b");
    let scopes: [(&str, &[&str]); 10] = [
        ("all", &["a", "b", "c", "d"]),
        ("last-turn", &["d"]),
        ("unseen", &["a", "b", "c", "d"]),
        ("d1", &["a", "b", "c"]),
        ("d1:1", &["a"]),
        ("d1:2", &["b", "c"]),
        ("call:k3", &["c"]),
        ("agent:dialog:d2/main", &["d"]),
        (&change, &["b"]),
        ("everything", &["a", "b", "c", "d", "mine"]),
    ];
    for (scope, files) in scopes {
        assert_eq!(files_of(&world, &[scope]), files, "{scope}");
        assert_eq!(review(&world, &[scope])["scope"], scope);
    }
    assert_eq!(files_of(&world, &["everything", "b", "mine"]), ["b", "mine"]);
    assert_eq!(files_of(&world, &["c"]), ["c"], "a path alone is in the default scope");
}

#[test]
fn lines_of_the_person_are_in_no_hunk_of_an_agent() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^2$/two/' a.txt");
    world.write("a.txt", LINES.replace("\n2\n", "\ntwo\n").replace("\n8\n", "\nmine\n"));
    let found = hunks(&world, &[]);
    let added = |hunk: &serde_json::Value| hunk["lines"].to_string();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(!added(&found[0]).contains("mine"), "{found:#?}");
    assert_eq!(hunks(&world, &["everything"]).len(), 2);
    // What the agent takes back itself is gone from the review.
    world.shell("k2", "sed -i 's/^two$/2/' a.txt");
    assert_eq!(hunks(&world, &[]).len(), 0);
}

#[test]
fn listing_moves_nothing_and_seen_does() {
    let world = reviewed_world();
    for words in
        [&["review"][..], &["review", "unseen"], &["review", "a.txt"], &["review", "--json"]]
    {
        world.ok(words);
    }
    assert_eq!(files_of(&world, &["unseen"]), ["a.txt", "b.txt"]);
    assert_eq!(
        world.ok(&["review", "--seen"]),
        "All is seen: `retake review unseen` begins here.\n"
    );
    expect![[r#"
        No agent has changed anything since you closed a review.
        `retake review` shows what waits of all agents, --approved what was approved.
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["review", "unseen"]));
    // All of it is still there to be decided on.
    assert_eq!(files_of(&world, &[]), ["a.txt", "b.txt"]);
    world.shell("k2", "echo more >> c.txt");
    assert_eq!(files_of(&world, &["unseen"]), ["c.txt"]);
    let seen = world.run(&["review", "--seen", "--json"]).json();
    assert!(seen["seen"].as_u64().unwrap() > 0, "{seen}");
}

#[test]
fn a_word_that_is_neither_scope_nor_file_says_what_there_is() {
    let world = reviewed_world();
    let refused = world.run(&["review", "tomorrow"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("error: 'tomorrow' is neither a scope nor a file of the project"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("hint: scopes are all, last-turn, "), "{}", refused.stderr);
    let refused = world.run(&["review", "all", "nothing.txt"]);
    assert!(refused.stderr.contains("nothing of 'nothing.txt' is in the project"));
    assert_eq!(refused.code, 1);
    // A file that is called like a scope is named behind `--`.
    world.shell("k2", "echo x > all");
    let noted = world.run(&["review", "all"]);
    assert!(noted.stderr.contains("`retake review -- all`"), "{}", noted.stderr);
    assert_eq!(files_of(&world, &["--", "all"]), ["all"]);
}

#[test]
fn kinds_without_lines_say_what_happened() {
    let world =
        World::with(&[("bin", "a\0b"), ("run.sh", "echo\n"), ("old", "x\n"), ("gone", "1\n")]);
    world.say("d1", "go");
    world.shell(
        "k1",
        "printf 'a\\0bcd' > bin; chmod 755 run.sh; mv old moved; rm gone; ln -s bin link; : > empty",
    );
    expect![[r#"
        bin  1 hunk, not reviewed
          HUNK-ID------  binary            d1:1  3 B → 5 B
        empty  1 hunk, not reviewed
          HUNK-ID------  new file          d1:1  empty
        gone  +0  -1  1 hunk, not reviewed
          HUNK-ID------  deleted   +0  -1  d1:1
        link  1 hunk, not reviewed
          HUNK-ID------  new file          d1:1  link to bin
        old → moved  1 hunk, not reviewed
          HUNK-ID------  moved             d1:1
        run.sh  1 hunk, not reviewed
          HUNK-ID------  mode              d1:1  0644 → 0755

        6 files, 6 hunks, 6 not reviewed

          retake review -p             decide on them one by one
          retake accept h…             keep one
          retake reject h… --reason …  take one back; your own edits stay
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["review"]));
    let kinds: Vec<_> = hunks(&world, &[]).iter().map(|hunk| hunk["kind"].clone()).collect();
    assert_eq!(json!(kinds), json!(["binary", "create", "delete", "create", "rename", "mode"]));
}

#[test]
fn ends_of_lines_and_of_files_are_shown_as_they_are() {
    let world = World::with(&[("dos.txt", "one\r\ntwo\r\nthree\r\n"), ("open.txt", "one\ntwo")]);
    world.say("d1", "go");
    world.write("dos.txt", "one\r\ntwo\r\nthree\r\n");
    world.shell(
        "k1",
        r"printf 'one\r\nTWO\r\nthree\r\n' > dos.txt; printf 'one\ntwo\nthree' > open.txt",
    );
    expect![[r#"
        dos.txt  +1  -1  1 hunk, not reviewed

        HUNK-ID------  line 2  d1:1
             one
          1 -two
          1 +TWO
             three

        open.txt  +2  -1  1 hunk, not reviewed

        HUNK-ID------  lines 2-3  d1:1
             one
          1 -two
            \ No newline at end of file
          1 +two
          2 +three
            \ No newline at end of file

        2 files, 2 hunks, 2 not reviewed

          retake review PATH… -p       decide on them one by one
          retake accept h…             keep one
          retake reject h… --reason …  take one back; your own edits stay
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["review", "dos.txt", "open.txt"]));
    world.shell("k2", r"printf 'one\nTWO\nthree\n' > dos.txt");
    let mixed = seen(&world, &["review", "dos.txt"]);
    assert!(mixed.contains(r"-two\r"), "the end of the line is what changed: {mixed}");
}

#[test]
fn hostile_names_and_contents_are_spelled_out() {
    let world = World::with(&[("a", "1\n")]);
    world.say("d1", "\u{1b}[2J say\u{202e}");
    let script = "printf '\\033]0;owned\\007\\n' > \"$(printf 'esc\\033[2J')\"";
    world.shell("k1", script);
    let name = "esc\u{1b}[2J";
    for words in
        [&["review"][..], &["review", name], &["review", "--report"], &["review", "--json"]]
    {
        let ran = world.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
        let text = ran.text() + &ran.stderr;
        let is_control = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
        assert!(!text.contains(is_control), "{words:?}: {text:?}");
    }
}
