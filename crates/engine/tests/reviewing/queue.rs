//! Rejections that wait for the end of a turn.

use expect_test::expect;
use retake_testkit::check;

#[test]
fn a_rejection_waits_until_the_turn_has_ended() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 8 => eight
        queue all a.txt#1 because=digits_are_shorter
        review all
        carry-out
        cat a.txt
        edit d e3 a.txt: 5 => five
        turn-end d
        carry-out
        cat a.txt
        waiting
        review all
        undo
        cat a.txt
        waiting
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            queued 1 while d at work
            a.txt
              1 lines @2 -2 +two by e1, queued 1
              2 lines @8 -8 +eight by e2
            nothing is due
            a.txt: 1\ntwo\n3\n4\n5\n6\n7\neight\n9\n
            "a.txt" modify by agent d/main:e3 certain +1 -1
            1 done
            a.txt: 1\n2\n3\n4\nfive\n6\n7\neight\n9\n
            1 a.txt done d, because digits are shorter
            a.txt
              1 lines @5 -5 +five by e3
              2 lines @8 -8 +eight by e2
            undo: "a.txt" write exact
            a.txt: 1\ntwo\n3\n4\nfive\n6\n7\neight\n9\n
            1 a.txt done d, because digits are shorter
        "#]],
    );
}

/// A place that was changed meanwhile is left alone, and the queue says so; the others go.
#[test]
fn a_hunk_that_changed_meanwhile_is_dropped() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n
        init
        say d: go
        edit d e1 a.txt: \n2\n => \ntwo\n
        edit d e2 a.txt: 7 => seven
        edit d e3 a.txt: 12 => twelve
        queue all
        edit d e4 a.txt: two => deux
        run sed -i 's/twelve/mine/' a.txt
        turn-end d
        carry-out
        cat a.txt
        waiting
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            "a.txt" modify by agent d/main:e3 certain +1 -1
            queued 1 2 3 while d at work
            "a.txt" modify by agent d/main:e4 certain +1 -1
            "a.txt" modify by user +1 -1
            2 done
            1 dropped: the place changed since, was taken back or was approved
            3 dropped: the place changed since, was taken back or was approved
            a.txt: 1\ndeux\n3\n4\n5\n6\n7\n8\n9\n10\n11\nmine\n13\n
            1 a.txt dropped d, the place changed since, was taken back or was approved
            2 a.txt done d
            3 a.txt dropped d, the place changed since, was taken back or was approved
        "#]],
    );
}

#[test]
fn a_rejection_is_cancelled_and_queued_once() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        queue all a.txt#1
        queue all a.txt#1
        cancel 1
        cancel 1
        review all
        turn-end d
        carry-out
        cat a.txt
        waiting
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            queued 1 while d at work
            queued 1 while d at work
            cancelled 1
            error: no queued rejection 1 waits
            a.txt
              1 lines @2 -2 +two by e1
            nothing is due
            a.txt: 1\ntwo\n3\n
            1 a.txt cancelled d
        "#]],
    );
}

/// Other lines of a hunk of which some wait are queued, too; those that wait already are not.
#[test]
fn lines_of_a_hunk_that_waits_are_queued_once_each() {
    check(
        r"
        file a.txt: 1\n
        init
        say d: go
        edit d e1 a.txt: 1\n => 1\none\ntwo\nthree\nfour\n
        queue all a.txt#1:+1
        queue all a.txt#1:+3
        queue all a.txt#1:+1
        turn-end d
        carry-out
        cat a.txt
        say d: on
        queue all a.txt#1
        queue all a.txt#1:+2
        turn-end d
        carry-out
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +4 -0
            queued 1 while d at work
            queued 2 while d at work
            queued 1 while d at work
            1 done
            2 done
            a.txt: 1\ntwo\nfour\n
            queued 3 while d at work
            queued 3 while d at work
            3 done
            a.txt: 1\n
        "#]],
    );
}

/// The turns of all agents behind a place are waited for.
#[test]
fn all_agents_behind_a_place_are_waited_for() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        say other: go
        edit d e1 a.txt: 2 => two
        edit other e2 a.txt: two => two\nand more
        queue all a.txt#1
        turn-end d
        carry-out
        dialog-end other
        carry-out
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent other/main:e2 certain +1 -0
            queued 1 while d other at work
            nothing is due
            1 done
            a.txt: 1\n2\n3\n
        "#]],
    );
}

/// An agent that reports no turns is at work while a call is open.
#[test]
fn without_turns_an_open_call_is_waited_for() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        edit d e1 a.txt: 2 => two
        begin d s2 sh: make
        queue all a.txt#1
        carry-out
        end d s2
        carry-out
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            queued 1 while d at work
            nothing is due
            1 done
            a.txt: 1\n2\n3\n
        "#]],
    );
}

/// A turn whose agent has not been heard of for ten minutes counts as ended, unless a call is open.
#[test]
fn ten_idle_minutes_end_a_turn() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        queue all a.txt#1
        wait 9
        carry-out
        wait 2
        carry-out
        cat a.txt
        say d: once more
        edit d e2 a.txt: 3 => three
        begin d s3 sh: make
        queue all a.txt#1
        wait 60
        carry-out
        end d s3
        carry-out
        wait 11
        carry-out
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            queued 1 while d at work
            nothing is due
            1 done
            a.txt: 1\n2\n3\n
            "a.txt" modify by agent d/main:e2 certain +1 -1
            queued 2 while d at work
            nothing is due
            nothing is due
            2 done
            a.txt: 1\n2\n3\n
        "#]],
    );
}

/// Places with different reasons are operations of their own.
#[test]
fn rejections_are_carried_out_by_reason() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 3 => 3\nthree
        edit d e3 a.txt: 8 => eight
        queue all a.txt#1 because=no_words
        queue all a.txt#2 because=no_eights
        turn-end d
        carry-out
        cat a.txt
        undo
        cat a.txt
        undo
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -0
            "a.txt" modify by agent d/main:e3 certain +1 -1
            queued 1 while d at work
            queued 2 while d at work
            1 done
            2 done
            a.txt: 1\n2\n3\n4\n5\n6\n7\neight\n9\n
            undo: "a.txt" write exact
            a.txt: 1\n2\n3\nthree\n4\n5\n6\n7\neight\n9\n
            undo: "a.txt" write exact
            a.txt: 1\ntwo\n3\nthree\n4\n5\n6\n7\neight\n9\n
        "#]],
    );
}

/// What was approved or rolled back meanwhile is not rejected any more.
#[test]
fn what_was_decided_meanwhile_is_dropped() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        file b.txt: b\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        say other: go
        edit other e2 b.txt: b => B
        queue all
        approve d
        rollback dialog=other
        turn-end d
        turn-end other
        carry-out
        cat a.txt
        cat b.txt
        waiting
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "b.txt" modify by agent other/main:e2 certain +1 -1
            queued 1 2 while d other at work
            approved session_1: 1 changes, now session_2
            rollback: "b.txt" write exact
            1 dropped: the place changed since, was taken back or was approved
            2 dropped: the place changed since, was taken back or was approved
            a.txt: 1\ntwo\n3\n
            b.txt: b\n
            1 a.txt dropped d other, the place changed since, was taken back or was approved
            2 b.txt dropped d other, the place changed since, was taken back or was approved
        "#]],
    );
}

/// The person's later word counts.
#[test]
fn what_is_kept_or_rejected_meanwhile_waits_no_more() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 8 => eight
        queue all
        keep all a.txt#1
        reject-hunks all a.txt#2
        waiting
        undo
        turn-end d
        carry-out
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            queued 1 2 while d at work
            keep 1, accepted e1
            reject: "a.txt" write merged
            1 a.txt cancelled d, it was kept
            2 a.txt done d
            undo: "a.txt" write exact
            nothing is due
            a.txt: 1\ntwo\n3\n4\n5\n6\n7\neight\n9\n
        "#]],
    );
}

/// A second rejection of the same place adds to the first.
#[test]
fn lines_and_reasons_of_one_place_are_joined() {
    check(
        r"
        file a.txt: 1\n2\n
        init
        say d: go
        edit d e1 a.txt: 1 => 1\nx1\nx2\nx3\nx4
        queue all a.txt#1:+1 because=one
        queue all a.txt#1:+3 because=three
        review all
        see all a.txt#1:+2
        review all
        waiting
        queue all a.txt#1:+3 because=three
        turn-end d
        carry-out
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +4 -0
            queued 1 while d at work
            queued 2 while d at work
            a.txt
              1 lines @2 +x1 +x2 +x3 +x4 by e1, queued 1 of +1,+3
            see 1
            a.txt
              1 lines @2 +x1 +x2 +x3 +x4 by e1, seen +2, queued 1 of +1,+3
            1 a.txt waiting d, because one
            2 a.txt waiting d, because three
            queued 2 while d at work
            1 done
            2 done
            a.txt: 1\nx2\nx4\n2\n
        "#]],
    );
}

/// What was rejected together goes together, also what waits for no agent by itself.
#[test]
fn what_is_rejected_together_waits_together() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        file own.txt: mine\n
        queue everything
        carry-out
        cat own.txt
        turn-end d
        carry-out
        cat own.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            queued 1 2 while d at work
            nothing is due
            own.txt: mine\n
            1 done
            2 done
            own.txt: absent
        "#]],
    );
}
