//! Undo and redo: turns and operations, back and forth.

use std::os::unix::fs::MetadataExt as _;

use expect_test::expect;
use retake_testkit::{TestProject, check, play};

#[test]
fn a_turn_is_undone_and_redone_with_the_users_edit_in_between() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        write d w2 b.txt: new
        shell d s3: mkdir gen && echo built > gen/x
        turn-end d
        run sed -i s/5/five/ a.txt
        undo
        cat a.txt
        cat b.txt
        cat gen/x
        statuses
        redo
        cat a.txt
        cat b.txt
        cat gen/x
        statuses
        redo
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "b.txt" create by agent d/main:w2 certain +1 -0
            "gen/x" create by agent d/main:s3 window +1 -0
            undo: "a.txt" write merged
            undo: "b.txt" delete exact
            undo: "gen/x" delete exact
            a.txt: 1\n2\n3\n4\nfive\n
            b.txt: absent
            gen/x: absent
            e1 "a.txt" reverted
            w2 "b.txt" reverted
            s3 "gen/x" reverted
            redo: "a.txt" write exact
            redo: "b.txt" create exact
            redo: "gen/x" create exact
            a.txt: 1\ntwo\n3\n4\nfive\n
            b.txt: new
            gen/x: built\n
            e1 "a.txt" pending
            w2 "b.txt" pending
            s3 "gen/x" pending
            error: there is nothing to redo
        "#]],
    );
}

#[test]
fn undo_goes_step_by_step_and_redo_comes_back() {
    check(
        r"
        file a.txt: 0\n
        init
        say d: one
        write d w1 a.txt: 1\n
        say d: two
        say d: three
        write d w3 a.txt: 3\n
        undo
        cat a.txt
        undo
        cat a.txt
        undo
        redo
        cat a.txt
        redo
        cat a.txt
        undo 2
        cat a.txt
        redo
        cat a.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "a.txt" modify by agent d/main:w3 certain +1 -1
            undo: "a.txt" write exact
            a.txt: 1\n
            undo: "a.txt" write exact
            a.txt: 0\n
            error: there is nothing to undo
            redo: "a.txt" write exact
            a.txt: 1\n
            redo: "a.txt" write exact
            a.txt: 3\n
            undo: "a.txt" write exact
            undo: "a.txt" write exact
            a.txt: 0\n
            redo: "a.txt" write exact
            a.txt: 1\n
            w1 "a.txt" pending
            w3 "a.txt" reverted
        "#]],
    );
}

#[test]
fn a_mistaken_operation_is_undone() {
    check(
        r"
        file a.txt: 0\n
        init
        say d: one
        write d w1 a.txt: 1\n
        say d: two
        write d w2 a.txt: 2\n
        write d w3 new.txt: new
        file mine.txt: mine
        restore d:1
        cat a.txt
        cat new.txt
        cat mine.txt
        statuses
        undo
        cat a.txt
        cat new.txt
        statuses
        redo
        cat a.txt
        reject all
        undo
        rollback call=w1
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "a.txt" modify by agent d/main:w2 certain +1 -1
            "new.txt" create by agent d/main:w3 certain +1 -0
            restore: "a.txt" write restored
            restore: "mine.txt" leave made_by_you
            restore: "new.txt" delete restored
            a.txt: 0\n
            new.txt: absent
            mine.txt: mine
            w1 "a.txt" reverted
            w2 "a.txt" reverted
            w3 "new.txt" reverted
            undo: "a.txt" write exact
            undo: "new.txt" create exact
            a.txt: 2\n
            new.txt: new
            w1 "a.txt" pending
            w2 "a.txt" pending
            w3 "new.txt" pending
            redo: "a.txt" write exact
            redo: "new.txt" delete exact
            a.txt: 0\n
            nothing done
            undo: "a.txt" write exact
            undo: "new.txt" create exact
            nothing done
            rollback: "a.txt" leave conflict blocked by w2
        "#]],
    );
}

#[test]
fn an_undo_that_changes_nothing_says_so() {
    check(
        r"
        file a.txt: 0\n
        init
        undo
        redo
        say d: one
        undo
        write d w1 a.txt: 1\n
        file a.txt: 0\n
        undo
        statuses
        undo
        ",
        &expect![[r#"
            error: there is nothing to undo
            error: there is nothing to redo
            error: there is nothing to undo
            "a.txt" modify by agent d/main:w1 certain +1 -1
            undo: "a.txt" leave already
            w1 "a.txt" reverted
            error: there is nothing to undo
        "#]],
    );
}

#[test]
fn a_turn_that_another_dialog_built_on_says_so() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: go
        say e: go
        edit e e1 a.txt: 1 => one
        edit d e2 a.txt: 5 => five
        rollback dialog=e
        cat a.txt
        undo
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent e/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            rollback: "a.txt" write merged
            crosses d
            a.txt: 1\n2\n3\n4\nfive\n
            undo: "a.txt" write exact
            a.txt: one\n2\n3\n4\nfive\n
        "#]],
    );
}

/// Plays a story in which `mode M` says which mode `a.sh` has then.
fn check_modes(name: &str, story: &str) {
    let project = TestProject::new();
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let Some(expected) = line.strip_prefix("mode ") else {
            play(&project, line);
            continue;
        };
        let found = project.root().join("a.sh").metadata();
        let mode = found.map(|data| format!("{:o}", data.mode() & 0o777));
        assert_eq!(mode.unwrap_or("none".to_owned()), expected, "{name}: {line}");
    }
}

#[test]
fn the_persons_mode_of_an_edited_file_survives_undo_and_redo() {
    let edited = r"
        file a.sh: one\n
        init
        say d: go
        edit d e1 a.sh: one => two
        turn-end d
    ";
    let back_and_forth = r"
        run chmod 755 a.sh
        undo
        mode 755
        redo
        mode 755
        undo
        mode 755
        redo
        mode 755
    ";
    check_modes("after the turn", &format!("{edited}{back_and_forth}"));
    check_modes(
        "after an undo",
        &format!("{edited}undo\nrun chmod 755 a.sh\nredo{back_and_forth}"),
    );
    check_modes(
        "between two edits",
        r"
        file a.sh: one\n
        init
        say d: go
        edit d e1 a.sh: one => two
        run chmod 755 a.sh
        look
        edit d e2 a.sh: two => three
        turn-end d
        undo
        mode 755
        redo
        mode 755
        undo
        mode 755
        ",
    );
    check_modes(
        "where the agent set another one",
        r"
        file a.sh: one\n
        init
        say d: go
        shell d s1: echo two > a.sh; chmod 700 a.sh
        turn-end d
        undo
        mode 644
        run chmod 755 a.sh
        redo
        mode 755
        ",
    );
}

#[test]
fn the_persons_mode_of_a_file_that_comes_and_goes_survives_undo_and_redo() {
    check_modes(
        "creation",
        r"
        init
        say d: go
        write d w1 a.sh: one\n
        turn-end d
        run chmod 755 a.sh
        undo
        mode none
        redo
        mode 755
        undo
        mode none
        redo
        mode 755
        ",
    );
    check_modes(
        "deletion",
        r"
        file a.sh: one\n
        init
        say d: go
        shell d s1: rm a.sh
        turn-end d
        undo
        mode 644
        run chmod 755 a.sh
        redo
        mode none
        undo
        mode 755
        redo
        mode none
        undo
        mode 755
        ",
    );
    check_modes(
        "move",
        r"
        file b.sh: one\ntwo\nthree\n
        init
        say d: go
        shell d s1: mv b.sh a.sh
        turn-end d
        run chmod 755 a.sh
        undo
        run test -x b.sh
        redo
        mode 755
        undo
        run test -x b.sh
        redo
        mode 755
        ",
    );
}
