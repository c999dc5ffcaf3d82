//! `retake review -p`: how it goes through the hunks, how it ends, and what it says.

use expect_test::expect;
use serde_json::json;

use super::{
    LINES, OpenReview, end_turn, files_of, hunks, piped, review, reviewed_world, without_ids,
};
use crate::support::{Ran, World};

/// Runs a review hunk by hunk with these answers.
fn answered(world: &World, answers: &str) -> Ran {
    piped(world, &["review", "-p"], answers)
}

/// The heads of the hunks that were shown: `a.txt, line 2`.
fn shown(ran: &Ran) -> Vec<String> {
    let text = ran.text();
    let heads = text.split("\n\n").filter_map(|block| block.trim_start().lines().next());
    heads.filter(|line| line.contains(", ")).map(str::to_owned).collect()
}

#[test]
fn each_hunk_is_shown_with_what_is_behind_it() {
    let world = reviewed_world();
    let ran = answered(&world, "y\nn\nno words\ns\n");
    assert_eq!(ran.code, 3);
    expect![[r#"

        a.txt, line 2
        HUNK-ID------, hunk 1 of 2, file 1 of 2
        d1:1 (only this call was running)
        “make it better”
             1
          1 -2
          1 +two
             3
             4
             5
        Kept 1 hunk (HUNK-ID------).

        a.txt, line 11
        HUNK-ID------, hunk 2 of 2, file 1 of 2
        d1:1 (only this call was running)
        “make it better”
             8
             9
             10
          1 -11
          1 +eleven
             12
          merged  a.txt  its other hunks stay

        Reject of 1 hunk in a.txt: 1 file changed.
        Safety checkpoint CHECK-ID; take it back with `retake undo`.

        b.txt, new file
        HUNK-ID------, file 2 of 2
        d1:1 (only this call was running)
        “make it better”
          1 +new

        In this review you kept 1 hunk, rejected 1 hunk.
        Some of this is still open.
        d1 hears of 1 rejection with your next message to it or when its turn ends; `retake feedback d1` shows the words.
    "#]].assert_eq(&without_ids(&world.normal(&ran.text())));
    expect![[r#"
        [y] keep [n] reject [s] skip [c] comment [l] lines [v] view [a] keep rest
        [x] reject rest [p] previous [u] undo [q] quit [?] help 
        [y] keep [n] reject [s] skip [c] comment [l] lines [v] view [a] keep rest
        [x] reject rest [p] previous [u] undo [q] quit [?] help 
        Why? The agent is told (Enter for no reason): 
        [y] keep [n] reject [s] skip [c] comment [l] lines [v] view [a] keep rest
        [x] reject rest [p] previous [u] undo [q] quit [?] help 
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn it_ends_with_0_when_all_is_decided_on_and_with_3_else() {
    let world = reviewed_world();
    let cases = [("", 3), ("q\n", 3), ("s\ns\ns\n", 3), ("y\ny\n", 3), ("y\n", 0)];
    for (answers, code) in cases {
        assert_eq!(answered(&world, answers).code, code, "{answers:?}");
    }
    let done = answered(&world, "");
    assert_eq!((done.code, done.text().as_str()), (0, "All hunks of this are decided on.\n"));
    let none = World::with(&[("a.txt", "1\n")]);
    let ran = answered(&none, "");
    assert_eq!(ran.code, 0);
    assert!(ran.text().starts_with("Nothing of an agent waits for your review.\n"));
}

#[test]
fn the_end_of_the_input_leaves_what_was_decided_and_nothing_else() {
    // Also in the middle of a line, of a reason, of a comment and of a choice of lines.
    for answers in
        ["y\n", "y\nn", "y\nn\n", "y\nn\nhalf a reas", "y\nc\nwor", "y\nl\n+1", "y\nl\n+1\n"]
    {
        let world = reviewed_world();
        let before = world.read("a.txt");
        assert_eq!(answered(&world, answers).code, 3, "{answers:?}");
        let marks: Vec<_> = hunks(&world, &[]).iter().map(|h| h["reviewed"].clone()).collect();
        assert_eq!(json!(marks), json!([true, false, false]), "{answers:?}");
        assert_eq!(world.read("a.txt"), before, "{answers:?}");
        assert_eq!(review(&world, &[])["drafts"], 0, "{answers:?}");
        assert_eq!(files_of(&world, &["unseen"]), ["a.txt", "b.txt"], "{answers:?}");
    }
}

#[test]
fn closing_it_moves_since_i_looked_to_its_beginning() {
    let world = reviewed_world();
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    open.until("+two");
    // What comes while it is open is not seen.
    world.shell("k2", "echo x >> c.txt");
    open.answer("q\n");
    assert_eq!(open.end().1, 3);
    assert_eq!(files_of(&world, &["unseen"]), ["c.txt"]);
}

/// "Since I looked" is one place for the whole project, so a review of a part does not move it.
#[test]
fn closing_a_narrow_review_does_not_move_since_i_looked() {
    let narrow = [
        &["b.txt"][..],
        &["last-turn"],
        &["d1"],
        &["d1:1"],
        &["unseen", "b.txt"],
        &["everything", "b.txt"],
    ];
    let world = reviewed_world();
    for words in narrow {
        let ran = piped(&world, &[&["review", "-p"], words].concat(), "q\n");
        assert_eq!(ran.code, 3, "{words:?}: {}", ran.stderr);
        assert_eq!(files_of(&world, &["unseen"]), ["a.txt", "b.txt"], "{words:?}");
    }
    for words in [&[][..], &["all"], &["unseen"], &["everything"], &["all", "."]] {
        let world = reviewed_world();
        let ran = piped(&world, &[&["review", "-p"], words].concat(), "q\n");
        assert_eq!(ran.code, 3, "{words:?}: {}", ran.stderr);
        assert_eq!(files_of(&world, &["unseen"]), [""; 0], "{words:?}");
    }
}

#[test]
fn where_nothing_is_recorded_it_says_so() {
    let world = World::new();
    for words in [&["review", "-p"][..], &["review", "--report"]] {
        let ran = piped(&world, words, "y\n");
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
        assert!(ran.text().starts_with("Nothing is recorded in "), "{words:?}: {}", ran.text());
    }
    let patch = world.run(&["review", "--patch"]);
    assert_eq!((patch.code, patch.text().as_str()), (0, ""), "nothing beside a patch");
    assert!(patch.stderr.starts_with("Nothing is recorded in "), "{}", patch.stderr);
}

#[test]
fn a_hunk_that_changed_meanwhile_is_shown_again_and_not_decided_on() {
    for answer in ["y\n", "n\n\n", "a\n", "x\n\n", "c\nwhy\n", "l\n+1\ny\n"] {
        let world = reviewed_world();
        let mut open = OpenReview::begin(&world, &["review", "-p"]);
        open.until("+two");
        world.shell("k2", "sed -i s/two/zwei/ a.txt");
        let after = world.read("a.txt");
        open.answer(answer);
        open.until("+zwei");
        open.answer("q\n");
        let (seen, code) = open.end();
        let said = "nothing was done: the file has changed since this was shown";
        assert!(seen.contains(said), "{answer:?}: {seen}");
        assert_eq!((code, world.read("a.txt")), (3, after), "{answer:?}: {seen}");
        assert!(hunks(&world, &[]).iter().all(|hunk| hunk["reviewed"] == false), "{answer:?}");
        assert_eq!(review(&world, &[])["drafts"], 0, "{answer:?}");
    }
}

#[test]
fn what_comes_while_it_is_open_is_asked_about_before_it_ends() {
    let world = reviewed_world();
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    open.answer("y\ny\n");
    open.until("+new");
    // A hunk in a file that is passed already, and a file that was not there.
    world.shell("k2", "sed -i 's/^6$/six/' a.txt; echo zero > 0.txt");
    open.answer("y\ny\ny\n");
    let (seen, code) = open.end();
    assert!(seen.contains("+six") && seen.contains("+zero"), "{seen}");
    assert_eq!(code, 0, "{seen}");
    assert!(hunks(&world, &[]).iter().all(|hunk| hunk["reviewed"] == true));
}

#[test]
fn scope_and_paths_narrow_it() {
    let world = reviewed_world();
    let ran = piped(&world, &["review", "-p", "d1:1", "b.txt"], "y\n");
    assert_eq!((ran.code, shown(&ran)), (0, vec!["b.txt, new file".to_owned()]));
    assert_eq!(hunks(&world, &["a.txt"])[0]["reviewed"], false);
    let refused = world.run(&["review", "-p", "--json"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

#[test]
fn lines_of_the_person_are_asked_about_only_in_everything() {
    let world = World::with(&[("a.txt", LINES)]);
    world.write("a.txt", LINES.replace("\n3\n", "\nmine\n"));
    world.ok(&["status"]);
    assert_eq!(answered(&world, "n\n\n").code, 0);
    let ran = piped(&world, &["review", "-p", "everything"], "n\n\nq\n");
    // Taking back the person's work needs a yes at a terminal.
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("It takes back edits of yours"), "{}", ran.stderr);
    assert!(world.read("a.txt").contains("mine"));
    let Some((seen, code)) = world.answered_with_code("review -p everything", "n\n\ny\n") else {
        return;
    };
    assert_eq!((code, world.read("a.txt").as_str()), (0, LINES), "{seen}");
}

#[test]
fn at_any_width_it_fits_and_nothing_hostile_gets_through() {
    let world = World::with(&[("a.txt", "1\n")]);
    world.say(
        "d1",
        "a message \u{1b}[2J that is long enough to be broken at every width that people use",
    );
    world.shell(
        "k1",
        "printf '\\033[2J\\n' > \"$(printf 'bad\\033]0;x\\007name with many words in it that goes on and on.txt')\"; \
         head -c 5000 /dev/zero | tr '\\0' x >> a.txt; seq 300 > many.txt",
    );
    end_turn(&world, "d1");
    for width in [40, 80, 200] {
        let mut command = world.command(&["review", "-p"]);
        command.env("COLUMNS", width.to_string());
        let mut child = command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"?\ns\ns\ns\n").unwrap();
        let ran = crate::support::ran(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 3);
        let all = ran.text() + &ran.stderr;
        let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!all.contains(is_control), "{all:?}");
        let is_code = |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        let wide = |line: &&str| !is_code(line) && line.chars().count() > width;
        let wide: Vec<_> = all.lines().filter(wide).collect();
        assert!(wide.is_empty(), "{width}: {wide:?}");
        // A long line and a long hunk are counted, and shown whole on demand.
        assert!(all.contains(" … 3.91 KiB more"), "{all}");
        assert!(all.contains("… 200 more lines"), "{all}");
    }
    let whole = answered(&world, "s\ns\nv\n");
    assert!(whole.text().contains("\n300 +300\n"), "{}", whole.text());
}

#[test]
fn no_file_is_worked_out_before_it_is_reached() {
    let world = reviewed_world();
    let mut open = OpenReview::begin(&world, &["review", "-p"]);
    open.until("+two");
    world.shell("k2", "echo newer > b.txt");
    open.answer("a\n");
    open.until("+new");
    open.answer("q\n");
    let (seen, _) = open.end();
    assert!(seen.contains("+newer") && !seen.contains("+new\n"), "{seen}");
}
