//! Comments on lines and files.

use expect_test::expect;
use retake_testkit::check;

#[test]
fn a_comment_follows_its_lines_or_says_that_they_are_gone() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        comment a.txt:2-3: write it as a number
        question all a.txt#1: why words?
        comment a.txt: the whole file
        comment -: well done
        comments
        review all
        run sed -i '1i above' a.txt
        look
        comments
        edit d e2 a.txt: two => TWO
        comments
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            #1 order draft on a.txt for d: write it as a number
            #2 question draft on a.txt for d: why words?
            #3 order draft on a.txt for d: the whole file
            #4 order draft on - for -: well done
            #1 order draft on a.txt for d: write it as a number at 2-3
            #2 question draft on a.txt for d: why words? at 2-2
            #3 order draft on a.txt for d: the whole file
            #4 order draft on - for -: well done
            a.txt
              1 lines @2 -2 +two by e1, comment 1, comment 2
            "a.txt" modify by user +1 -0
            #1 order draft on a.txt for d: write it as a number at 3-4
            #2 question draft on a.txt for d: why words? at 3-3
            #3 order draft on a.txt for d: the whole file
            #4 order draft on - for -: well done
            "a.txt" modify by agent d/main:e2 certain +1 -1
            #1 order draft on a.txt for d: write it as a number whose lines are gone
            #2 question draft on a.txt for d: why words? whose lines are gone
            #3 order draft on a.txt for d: the whole file
            #4 order draft on - for -: well done
        "#]],
    );
}

#[test]
fn drafts_are_sent_in_one_batch_answered_and_resolved() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        comment a.txt:2: a number, please
        question a.txt:3: and this?
        feedback d
        answer 1: too early
        send-comments
        send-comments
        feedback d
        comments
        answer 2: that was there before
        resolve 1
        comments
        answer 1: too late
        resolve 9
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            #1 order draft on a.txt for d: a number, please
            #2 question draft on a.txt for d: and this?
            > (nothing)
            error: comment 1 is a draft
            sent 2
            sent 0
            > The person commented on your work:
            > - #1 ("a.txt":2): a number, please
            >   > two
            > - #2 (question, "a.txt":3): and this?
            >   > 3
            > Do what is asked, and answer the questions.
            #1 order sent on a.txt for d: a number, please at 2-2
            #2 question sent on a.txt for d: and this? at 3-3
            #2 question answered on a.txt for d: and this?, answer: that was there before
            #1 order resolved on a.txt for d: a number, please
            #1 order resolved on a.txt for d: a number, please at 2-2
            #2 question answered on a.txt for d: and this?, answer: that was there before at 3-3
            error: comment 1 is resolved
            error: there is no comment 9
        "#]],
    );
}

/// Lines that were removed, of a hunk that added none.
#[test]
fn removed_lines_can_be_commented_on() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: go
        edit d e1 a.txt: 2\n3 => 3
        question all a.txt#1: where did it go?
        review all
        comments
        send-comments
        feedback d
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +0 -1
            #1 question draft on a.txt for d: where did it go?
            a.txt
              1 lines @2 -2 by e1, comment 1
            #1 question draft on a.txt for d: where did it go?
            sent 1
            > The person commented on your work:
            > - #1 (question, "a.txt", removed lines): where did it go?
            >   > 2
            > Do what is asked, and answer the questions.
        "#]],
    );
}

#[test]
fn what_is_not_there_cannot_be_commented_on() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        comment a.txt:3-4: beyond the end
        comment b.txt: no such file
        comment b.txt:1: no such file
        comment a.txt:0-1: lines begin at one
        ",
        &expect![[r#"
            error: a.txt has 3 lines that can be commented on
            error: there is no file 'b.txt' that can be commented on
            error: there is no file 'b.txt' that can be commented on
            error: a.txt has 3 lines that can be commented on
        "#]],
    );
}

/// A comment goes to the agent that changed its place last.
#[test]
fn a_comment_is_for_whoever_changed_the_place() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        file mine.txt: mine\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        say other: go
        edit other e2 a.txt: 8 => eight
        comment all a.txt#1: for the one
        comment all a.txt#2: for the other
        comment a.txt: for the last one
        comment mine.txt: for nobody yet
        comments
        send-comments
        comments
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent other/main:e2 certain +1 -1
            #1 order draft on a.txt for d: for the one
            #2 order draft on a.txt for other: for the other
            #3 order draft on a.txt for other: for the last one
            #4 order draft on mine.txt for -: for nobody yet
            #1 order draft on a.txt for d: for the one at 2-2
            #2 order draft on a.txt for other: for the other at 8-8
            #3 order draft on a.txt for other: for the last one
            #4 order draft on mine.txt for -: for nobody yet
            sent 4
            #1 order sent on a.txt for d: for the one at 2-2
            #2 order sent on a.txt for other: for the other at 8-8
            #3 order sent on a.txt for other: for the last one
            #4 order sent on mine.txt for other: for nobody yet
        "#]],
    );
}

/// On lines a comment is for the agent that wrote them, not for the last one in the file.
#[test]
fn a_comment_on_lines_is_for_the_agent_that_wrote_them() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        say other: go
        edit other e2 a.txt: 9 => 9\nten
        comment a.txt:2: back to the number
        comment a.txt:10: and this
        comment a.txt:5: that was there before
        rollback dialog=other
        comment a.txt:5: that was there before
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent other/main:e2 certain +1 -0
            #1 order draft on a.txt for d: back to the number
            #2 order draft on a.txt for other: and this
            #3 order draft on a.txt for other: that was there before
            rollback: "a.txt" write exact
            #4 order draft on a.txt for d: that was there before
        "#]],
    );
}

/// It follows a file that is moved, and does not jump to equal lines elsewhere.
#[test]
fn a_comment_follows_a_move_and_does_not_jump() {
    check(
        r"
        file a.py: def a():\n    x = 1\n    return x\n\ndef c():\n    y = 2\n    return x\n
        init
        say d: go
        edit d e1 a.py: x = 1 => x = 3
        comment a.py:3: why?
        shell d s2: mv a.py b.py
        comments
        review all
        shell d s3: sed -i 1,4d b.py
        comments
        ",
        &expect![[r#"
            "a.py" modify by agent d/main:e1 certain +1 -1
            #1 order draft on a.py for d: why?
            "a.py" -> "b.py" rename by agent d/main:s2 window +0 -0
            #1 order draft on b.py for d: why? at 3-3
            b.py from a.py
              1 rename by s2
              2 lines @2 -    x = 1 +    x = 3 by e1
            "b.py" modify by agent d/main:s3 window +0 -4
            #1 order draft on b.py for d: why? whose lines are gone
        "#]],
    );
}

/// A number is never given twice: an answer is to the question that was asked.
#[test]
fn numbers_are_not_used_again() {
    check(
        r"
        file a.txt: 1\n
        init
        say d: go
        edit d e1 a.txt: 1 => one
        question a.txt:1: why?
        uncomment 1
        question a.txt:1: is it safe?
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            #1 question draft on a.txt for d: why?
            #2 question draft on a.txt for d: is it safe?
        "#]],
    );
}
