//! Reviewed marks.

use expect_test::expect;
use retake_testkit::check;

#[test]
fn a_mark_is_seen_in_every_scope_and_only_what_changed_is_open_again() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: first
        edit d e1 a.txt: 2 => two
        say d: second
        edit d e2 a.txt: 8 => eight
        see dialog=d message=1
        review all
        review last-turn
        edit d e3 a.txt: eight => EIGHT
        review all
        see all
        edit d e4 a.txt: two\n3 => two\nmore\n3
        review all
        unsee all a.txt#1
        review all
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            see 1
            a.txt
              1 lines @2 -2 +two by e1, reviewed
              2 lines @8 -8 +eight by e2
            a.txt
              1 lines @8 -8 +eight by e2
            "a.txt" modify by agent d/main:e3 certain +1 -1
            a.txt
              1 lines @2 -2 +two by e1, reviewed
              2 lines @8 -8 +EIGHT by e2 e3
            see 2
            "a.txt" modify by agent d/main:e4 certain +1 -0
            a.txt
              1 lines @2 -2 +two +more by e1 e4, seen -1
              2 lines @9 -8 +EIGHT by e2 e3, reviewed
            unsee 1
            a.txt
              1 lines @2 -2 +two +more by e1 e4
              2 lines @9 -8 +EIGHT by e2 e3, reviewed
        "#]],
    );
}

/// A commit, a rebase, undo and redo leave the content, and so the marks.
#[test]
fn marks_survive_commit_rebase_undo_and_redo() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        file other.txt: o\n
        run git init -q -b main && git add -A && git commit -qm base
        run git branch side && git checkout -q side && echo more >> other.txt && git commit -qam side && git checkout -q main
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 8 => eight
        see all a.txt#1
        run git commit -qam work
        look
        review all
        run git rebase -q side
        look
        review all
        undo
        review all
        redo
        review all
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            see 1
            a.txt
              1 lines @2 -2 +two by e1, reviewed
              2 lines @8 -8 +eight by e2
            "other.txt" modify by git +1 -0
            a.txt
              1 lines @2 -2 +two by e1, reviewed
              2 lines @8 -8 +eight by e2
            undo: "a.txt" write exact
            no files
            redo: "a.txt" write exact
            a.txt
              1 lines @2 -2 +two by e1, reviewed
              2 lines @8 -8 +eight by e2
        "#]],
    );
}

/// Keeping marks; a change is accepted once all its places are seen, and no file is written.
#[test]
fn keeping_all_places_of_a_change_accepts_it() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        shell d s1: sed -i 's/2/two/; s/8/eight/' a.txt
        keep all a.txt#1
        statuses
        keep all a.txt#2
        statuses
        review all
        unsee all a.txt#1
        review all
        statuses
        keep all
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:s1 window +2 -2
            keep 1
            s1 "a.txt" pending
            keep 1, accepted s1
            s1 "a.txt" accepted
            a.txt
              1 lines @2 -2 +two by s1, reviewed
              2 lines @8 -8 +eight by s1, reviewed
            unsee 1
            a.txt
              1 lines @2 -2 +two by s1
              2 lines @8 -8 +eight by s1, reviewed
            s1 "a.txt" pending
            keep 2, accepted s1
            s1 "a.txt" accepted
        "#]],
    );
}

#[test]
fn approving_a_dialog_marks_its_hunks() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        write d w2 new.txt: new\n
        approve d
        review all approved
        say d: more
        edit d e3 a.txt: two => TWO\nthree
        review all approved
        unsee all approved new.txt#1
        reject-hunks all approved new.txt#1
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "new.txt" create by agent d/main:w2 certain +1 -0
            approved session_1: 2 changes, now session_2
            a.txt
              1 lines @2 -2 +two by e1, reviewed
            new.txt
              1 create +new by w2, reviewed
            "a.txt" modify by agent d/main:e3 certain +2 -1
            a.txt
              1 lines @2 -2 +TWO +three by e1 e3
            new.txt
              1 create +new by w2, reviewed
            error: change c9 was approved
            error: change c9 was approved
        "#]],
    );
}

/// Lines of a hunk may be marked; it is reviewed when all are.
#[test]
fn a_hunk_is_reviewed_when_all_its_lines_are() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        edit d e1 a.txt: 2 => two\ntwo and a half
        see all a.txt#1:+1,-1
        review all
        see all a.txt#1:+2
        review all
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +2 -1
            see 1
            a.txt
              1 lines @2 -2 +two +two and a half by e1, seen +1,-1
            see 1
            a.txt
              1 lines @2 -2 +two +two and a half by e1, reviewed
        "#]],
    );
}

/// A mark is of the line that was seen: what is written again after a rejection is open, also if it
/// is too short to be remembered.
#[test]
fn what_was_rejected_and_comes_again_is_open() {
    check(
        r"
        file a.txt: a\nb\nc\nd\ne\nf\ng\n
        init
        say d: go
        edit d e1 a.txt: a\n => a\na_line_that_is_long_enough_to_be_known\n
        edit d e2 a.txt: f\n => f\nx\n
        keep all
        reject-hunks all
        edit d e3 a.txt: a\n => a\na_line_that_is_long_enough_to_be_known\n
        edit d e4 a.txt: f\n => f\nx\n
        review all
        keep all
        review all
        rollback call=e3
        edit d e5 a.txt: a\n => a\na_line_that_is_long_enough_to_be_known\n
        review all
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -0
            "a.txt" modify by agent d/main:e2 certain +1 -0
            keep 2, accepted e1 e2
            reject: "a.txt" write exact
            "a.txt" modify by agent d/main:e3 certain +1 -0
            "a.txt" modify by agent d/main:e4 certain +1 -0
            a.txt
              1 lines @2 +a_line_that_is_long_enough_to_be_known by e3, again o15
              2 lines @8 +x by e4
            keep 2, accepted e3 e4
            a.txt
              1 lines @2 +a_line_that_is_long_enough_to_be_known by e3, reviewed, again o15
              2 lines @8 +x by e4, reviewed
            rollback: "a.txt" write merged
            "a.txt" modify by agent d/main:e5 certain +1 -0
            a.txt
              1 lines @2 +a_line_that_is_long_enough_to_be_known by e5
              2 lines @8 +x by e4, reviewed
        "#]],
    );
}

/// Keeping all that is shown of a change vouches for no line of it that was not.
#[test]
fn a_line_that_was_not_shown_is_open_when_it_appears() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        shell d s1: sed -i 's/^5$/5\nBACKDOOR/; s/^1$/one/' a.txt
        say other: go
        shell other s2: sed -i '/BACKDOOR/d; s/^9$/nine/' a.txt
        keep all
        statuses
        rollback dialog=other
        review all
        accept call=s1
        review all
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:s1 window +2 -1
            "a.txt" modify by agent other/main:s2 window +1 -2
            keep 2, accepted s1 s2
            s1 "a.txt" accepted
            s2 "a.txt" accepted
            rollback: "a.txt" write exact
            a.txt
              1 lines @1 -1 +one by s1, reviewed
              2 lines @6 +BACKDOOR by s1
            accepted 0, already 1
            a.txt
              1 lines @1 -1 +one by s1, reviewed
              2 lines @6 +BACKDOOR by s1, reviewed
        "#]],
    );
}

/// A person who rejects a line has seen the ones next to it.
#[test]
fn what_stays_next_to_a_rejected_place_stays_reviewed() {
    check(
        r"
        file a.txt: 1\n
        init
        say d: go
        edit d e1 a.txt: 1\n => 1\none\ntwo\nthree\n
        see all
        reject-hunks all a.txt#1:+2
        review all
        undo
        review all
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +3 -0
            see 1
            reject: "a.txt" write merged
            a.txt
              1 lines @2 +one +three by e1, reviewed
            undo: "a.txt" write exact
            a.txt
              1 lines @2 +one +two +three by e1, reviewed
        "#]],
    );
}
