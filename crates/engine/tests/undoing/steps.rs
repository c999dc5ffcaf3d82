//! Which step is next: what was announced is what is done, and undo is never stuck.

use expect_test::expect;
use retake_testkit::check;

#[test]
fn after_a_redo_in_part_undo_takes_just_that_part() {
    check(
        r"
        file a.txt: 0\n
        file b.txt: 0\n
        file c.txt: 0\n
        init
        say d: one
        write d w0 c.txt: 1\n
        say d: two
        write d w1 a.txt: 1\n
        write d w2 b.txt: 1\n
        undo
        file b.txt: mine\n
        redo
        undo
        cat a.txt
        cat c.txt
        redo
        cat a.txt
        cat b.txt
        undo
        undo
        cat a.txt
        cat c.txt
        statuses
        undo
        ",
        &expect![[r#"
            "c.txt" modify by agent d/main:w0 certain +1 -1
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "b.txt" modify by agent d/main:w2 certain +1 -1
            undo: "a.txt" write exact
            undo: "b.txt" write exact
            redo: "a.txt" write exact
            redo: "b.txt" leave conflict blocked by user
            undo: "a.txt" write exact
            a.txt: 0\n
            c.txt: 1\n
            redo: "a.txt" write exact
            a.txt: 1\n
            b.txt: mine\n
            undo: "a.txt" write exact
            undo: "c.txt" write exact
            a.txt: 0\n
            c.txt: 0\n
            w0 "c.txt" reverted
            w1 "a.txt" reverted
            w2 "b.txt" reverted
            error: there is nothing to undo
        "#]],
    );
}

#[test]
fn a_redo_into_a_turn_that_went_on_is_a_step_of_its_own() {
    check(
        r"
        file a.txt: 0\n
        file b.txt: 0\n
        init
        say d: go
        write d w1 a.txt: 1\n
        undo
        write d w2 b.txt: 1\n
        redo
        undo
        cat a.txt
        cat b.txt
        redo
        undo 2
        cat a.txt
        cat b.txt
        undo
        redo 2
        cat a.txt
        cat b.txt
        redo
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            undo: "a.txt" write exact
            "b.txt" modify by agent d/main:w2 certain +1 -1
            redo: "a.txt" write exact
            undo: "a.txt" write exact
            a.txt: 0\n
            b.txt: 1\n
            redo: "a.txt" write exact
            undo: "a.txt" write exact
            undo: "b.txt" write exact
            a.txt: 0\n
            b.txt: 0\n
            error: there is nothing to undo
            redo: "b.txt" write exact
            redo: "a.txt" write exact
            a.txt: 1\n
            b.txt: 1\n
            error: there is nothing to redo
        "#]],
    );
}

#[test]
fn a_redo_of_what_went_along_is_undone_with_it() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        file a.txt: 1\nmine\n3\n
        undo cascade
        cat a.txt
        redo
        cat a.txt
        undo
        cat a.txt
        redo
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            undo: "a.txt" write exact
            a.txt: 1\n2\n3\n
            redo: "a.txt" write exact
            a.txt: 1\nmine\n3\n
            undo: "a.txt" write exact
            a.txt: 1\n2\n3\n
            redo: "a.txt" write exact
            a.txt: 1\nmine\n3\n
        "#]],
    );
}

#[test]
fn what_was_accepted_after_its_redo_is_undone_and_comes_back_as_accepted() {
    check(
        r"
        file a.txt: 0\n
        init
        say d: go
        write d w1 a.txt: 1\n
        undo
        redo
        accept dialog=d
        undo
        cat a.txt
        statuses
        redo
        cat a.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            undo: "a.txt" write exact
            redo: "a.txt" write exact
            accepted 1, already 0
            undo: "a.txt" write exact
            a.txt: 0\n
            w1 "a.txt" reverted
            redo: "a.txt" write exact
            a.txt: 1\n
            w1 "a.txt" accepted
        "#]],
    );
}

#[test]
fn an_operation_that_was_redone_in_part_is_undone_in_that_part() {
    check(
        r"
        file a.txt: 0\n
        file b.txt: 0\n
        init
        say d: go
        write d w1 a.txt: 1\n
        write d w2 b.txt: 1\n
        rollback dialog=d
        undo
        file b.txt: mine\n
        redo
        undo
        cat a.txt
        cat b.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "b.txt" modify by agent d/main:w2 certain +1 -1
            rollback: "a.txt" write exact
            rollback: "b.txt" write exact
            undo: "a.txt" write exact
            undo: "b.txt" write exact
            redo: "a.txt" write exact
            redo: "b.txt" leave conflict blocked by user
            undo: "a.txt" write exact
            a.txt: 1\n
            b.txt: mine\n
            w1 "a.txt" pending
            w2 "b.txt" pending
        "#]],
    );
}

const GIT: &str = "run git init -q -b main . && git add -A && git commit -qm base";

#[test]
fn undo_goes_past_a_turn_that_git_took_back() {
    for back in ["git checkout -q -- .", "git stash -q", "git reset -q --hard"] {
        check(
            &format!(
                r"
                file a.txt: 0\n
                file b.txt: 0\n
                {GIT}
                init
                say d: one
                write d w1 a.txt: 1\n
                run git commit -qam one
                say d: two
                write d w2 b.txt: 1\n
                run {back}
                undo
                cat a.txt
                cat b.txt
                statuses
                undo
                redo
                cat a.txt
                "
            ),
            &expect![[r#"
                "a.txt" modify by agent d/main:w1 certain +1 -1
                "b.txt" modify by agent d/main:w2 certain +1 -1
                passed turn 2 of d (“two”): git took it back
                undo: "a.txt" write exact
                a.txt: 0\n
                b.txt: 0\n
                w1 "a.txt" reverted
                w2 "b.txt" pending
                passed turn 2 of d (“two”): git took it back
                error: there is nothing to undo
                redo: "a.txt" write exact
                a.txt: 1\n
            "#]],
        );
    }
}

#[test]
fn what_git_took_back_counts_again_when_git_brings_it_back() {
    check(
        &format!(
            r"
            file a.txt: 0\n
            {GIT}
            init
            say d: one
            write d w1 a.txt: 1\n
            run git commit -qam one && git checkout -q -b other HEAD~
            undo
            run git checkout -q main
            undo
            undo
            undo across-git
            cat a.txt
            statuses
            "
        ),
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            passed turn 1 of d (“one”): git took it back
            error: there is nothing to undo
            nothing done
            undo: "a.txt" leave git_since
            error: there is nothing to undo
            undo: "a.txt" write exact
            a.txt: 0\n
            w1 "a.txt" reverted
        "#]],
    );
}

#[test]
fn what_git_took_back_is_not_pending_for_as_long() {
    check(
        &format!(
            r"
            file a.txt: 0\n
            file b.txt: 0\n
            {GIT}
            init
            say d: one
            write d w1 a.txt: 1\n
            write d w2 b.txt: 1\n
            run git stash -q
            pending
            run git stash pop -q
            pending
            run git stash -q
            write d w3 a.txt: 2\n3\n
            pending
            "
        ),
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "b.txt" modify by agent d/main:w2 certain +1 -1
            by git "a.txt" +1 -1
            by git "b.txt" +1 -1
            pending "a.txt" +1 -1
            pending "b.txt" +1 -1
            "a.txt" modify by git +1 -1
            "a.txt" modify by agent d/main:w3 certain +2 -1
            pending "a.txt" +2 -1
            by git "a.txt" +1 -1
            by git "b.txt" +1 -1
        "#]],
    );
}

#[test]
fn what_git_left_of_a_turn_is_taken_back() {
    check(
        &format!(
            r"
            file a.txt: 0\n
            file b.txt: 0\n
            {GIT}
            init
            say d: go
            write d w1 a.txt: 1\n
            write d w2 b.txt: 1\n
            run git checkout -q -- a.txt
            look
            write d w3 a.txt: 3\n
            undo
            cat a.txt
            cat b.txt
            statuses
            undo
            redo
            cat a.txt
            cat b.txt
            statuses
            "
        ),
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "b.txt" modify by agent d/main:w2 certain +1 -1
            "a.txt" modify by git +1 -1
            "a.txt" modify by agent d/main:w3 certain +1 -1
            undo: "a.txt" write exact
            undo: "b.txt" write exact
            a.txt: 0\n
            b.txt: 0\n
            w1 "a.txt" pending
            w2 "b.txt" reverted
            w3 "a.txt" reverted
            passed turn 1 of d (“go”): git took it back
            error: there is nothing to undo
            redo: "a.txt" write exact
            redo: "b.txt" write exact
            a.txt: 3\n
            b.txt: 1\n
            w1 "a.txt" pending
            w2 "b.txt" pending
            w3 "a.txt" pending
        "#]],
    );
}

#[test]
fn a_step_that_conflicts_everywhere_is_tried_once_and_again_when_the_file_moved_on() {
    check(
        r"
        file a.txt: 0\n
        file b.txt: 0\n
        init
        say d: one
        write d w1 b.txt: 1\n
        say d: two
        write d w2 a.txt: 1\n
        file a.txt: mine\n
        undo
        undo
        cat b.txt
        undo
        redo
        cat b.txt
        file a.txt: 1\n
        undo
        undo
        cat a.txt
        ",
        &expect![[r#"
            "b.txt" modify by agent d/main:w1 certain +1 -1
            "a.txt" modify by agent d/main:w2 certain +1 -1
            nothing done
            undo: "a.txt" leave conflict blocked by user
            undo: "b.txt" write exact
            b.txt: 0\n
            error: there is nothing to undo
            redo: "b.txt" write exact
            b.txt: 1\n
            undo: "b.txt" write exact
            undo: "a.txt" write exact
            a.txt: 0\n
        "#]],
    );
}

#[test]
fn an_operation_that_cannot_be_undone_is_passed_too() {
    check(
        r"
        file a.txt: 0\n
        file b.txt: 0\n
        init
        say d: one
        write d w1 b.txt: 1\n
        say e: two
        write e w2 a.txt: 1\n
        rollback dialog=e
        file a.txt: mine\n
        undo
        undo
        cat b.txt
        undo
        ",
        &expect![[r#"
            "b.txt" modify by agent d/main:w1 certain +1 -1
            "a.txt" modify by agent e/main:w2 certain +1 -1
            rollback: "a.txt" write exact
            nothing done
            undo: "a.txt" leave conflict blocked by user
            undo: "b.txt" write exact
            b.txt: 0\n
            error: there is nothing to undo
        "#]],
    );
}

#[test]
fn a_mode_that_came_and_went_is_so_already() {
    check(
        r"
        file a.txt: 0\n
        init
        say d: go
        shell d s1: chmod 755 a.txt
        file a.txt: mine\n
        shell d s2: chmod 644 a.txt
        undo
        statuses
        undo
        ",
        &expect![[r#"
            "a.txt" mode by agent d/main:s1 window +0 -0
            "a.txt" modify by user +1 -1
            "a.txt" mode by agent d/main:s2 window +0 -0
            undo: "a.txt" leave already
            s1 "a.txt" reverted
            s2 "a.txt" reverted
            error: there is nothing to undo
        "#]],
    );
}

#[test]
fn a_redo_whose_turn_was_undone_since_is_no_step_any_more() {
    check(
        r"
        file a.txt: 0\n
        init
        say d: go
        write d w1 a.txt: 1\n
        undo
        redo
        write d w2 b.txt: 1\n
        undo
        file a.txt: mine\n
        undo
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            undo: "a.txt" write exact
            redo: "a.txt" write exact
            "b.txt" create by agent d/main:w2 certain +1 -0
            undo: "a.txt" write exact
            undo: "b.txt" delete exact
            error: there is nothing to undo
        "#]],
    );
}

#[test]
fn a_mode_is_put_back_under_both_names_of_a_hard_link() {
    check(
        r"
        file a.txt: 0\n
        run ln a.txt b.txt
        init
        say d: go
        shell d s1: chmod 755 a.txt
        undo
        run stat -c %a a.txt b.txt > modes.txt
        cat modes.txt
        ",
        &expect![[r#"
            "a.txt" mode by agent d/main:s1 window +0 -0
            "b.txt" mode by agent d/main:s1 window +0 -0
            undo: "a.txt" mode exact
            undo: "b.txt" mode exact
            modes.txt: 644\n644\n
        "#]],
    );
}

#[test]
fn a_mode_that_goes_back_leaves_the_other_name_alone() {
    check(
        r"
        file a.txt: 0\n
        file b.txt: 0\n
        init
        say d: go
        shell d s1: chmod 755 a.txt
        run ln -f a.txt b.txt
        undo
        run stat -c %a a.txt b.txt > modes.txt
        cat modes.txt
        ",
        &expect![[r#"
            "a.txt" mode by agent d/main:s1 window +0 -0
            undo: "a.txt" mode exact
            modes.txt: 644\n755\n
        "#]],
    );
}
