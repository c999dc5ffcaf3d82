//! What agents are told of a review, once.

use expect_test::expect;
use retake_testkit::check;

#[test]
fn an_agent_is_told_with_the_next_message_and_once() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 8 => eight
        turn-end d
        reject-hunks all a.txt#1 because=digits_are_shorter
        comment a.txt:8: nine comes after it
        send-comments
        told say other: somebody else
        say d: an agent that cannot be told
        told say d: go on
        told say d: once more
        comments
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            reject: "a.txt" write merged
            #1 order draft on a.txt for d: nine comes after it
            sent 1
            > The person rejected these changes of yours. They are out of the files:
            > - o13: digits are shorter
            >   - "a.txt"
            >     ```diff
            >     -2
            >     +two
            >     ```
            > Do not make them again unless you are asked to.
            > 
            > The person commented on your work:
            > - #1 ("a.txt":8): nine comes after it
            >   > eight
            > Do what is asked, and answer the questions.
            #1 order sent on a.txt for d: nine comes after it, heard at 8-8
        "#]],
    );
}

/// At its stop an agent goes on only if something is asked of it.
#[test]
fn work_is_handed_back_only_if_there_is_some() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 8 => eight
        turn-end d
        reject-hunks all a.txt#1
        take-feedback d
        reject-hunks all a.txt#1 because=no_words
        take-feedback d
        take-feedback d
        feedback d
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            reject: "a.txt" write merged
            > (nothing)
            reject: "a.txt" write exact
            > The person rejected these changes of yours. They are out of the files:
            > - o13
            >   - "a.txt"
            >     ```diff
            >     -2
            >     +two
            >     ```
            > - o18: no words
            >   - "a.txt"
            >     ```diff
            >     -8
            >     +eight
            >     ```
            > Do not make them again unless you are asked to.
            > (nothing)
            > (nothing)
        "#]],
    );
}

/// Old verbs reject, too; a rollback is none, and an agent's own undo is no word of the person.
#[test]
fn whole_rejections_are_told_and_rollbacks_are_not() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        file b.txt: b\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        write d w2 new.txt: one\n
        shell d s3: rm b.txt
        turn-end d
        reject call=w2
        reject call=s3
        rollback call=e1
        feedback d
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "new.txt" create by agent d/main:w2 certain +1 -0
            "b.txt" delete by agent d/main:s3 window +0 -1
            reject: "new.txt" delete exact
            reject: "b.txt" create exact
            rollback: "a.txt" write exact
            > The person rejected these changes of yours. They are out of the files:
            > - o16
            >   - "new.txt", the whole file
            > - o21
            >   - "b.txt", which is back
            > Do not make them again unless you are asked to.
        "#]],
    );
}

/// A rejection that is undone before the agent heard of it is not told.
#[test]
fn what_was_undone_is_not_told() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        turn-end d
        reject-hunks all because=no_words
        undo
        feedback d
        told say d: go on
        redo
        feedback d
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            reject: "a.txt" write exact
            undo: "a.txt" write exact
            > (nothing)
            redo: "a.txt" write exact
            > The person rejected these changes of yours. They are out of the files:
            > - o10: no words
            >   - "a.txt"
            >     ```diff
            >     -2
            >     +two
            >     ```
            > Do not make them again unless you are asked to.
        "#]],
    );
}

/// Names and texts are foreign: what is told is one text, whatever they hold.
#[test]
fn hostile_names_and_texts_are_escaped() {
    check(
        r#"
        run printf '1\n2\n' > "$(printf 'a\nb.txt')"
        init
        say d: go
        shell d s1: printf '```\n\033[31mred\n' >> "$(printf 'a\nb.txt')"
        turn-end d
        reject-hunks all because=```_\x1b[2J_end
        feedback d
        "#,
        &expect![[r#"
            "a\nb.txt" modify by agent d/main:s1 window +2 -0
            reject: "a\nb.txt" write exact
            > The person rejected these changes of yours. They are out of the files:
            > - o10: ``` \x1b[2J end
            >   - "a\nb.txt"
            >     ```diff
            >     +```
            >     +\x1b[31mred
            >     ```
            > Do not make them again unless you are asked to.
        "#]],
    );
}

/// Each agent hears of its own work only; lines of others are not quoted as its own.
#[test]
fn agents_hear_of_their_own_work_only() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        file b.txt: b\n
        file c.txt: 1\n2\n3\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e3 c.txt: 2 => two
        say other: go
        edit other e2 b.txt: b => B
        run sed -i 's/two/my_private_note/' c.txt
        reject-hunks all because=no cascade
        feedback d
        feedback other
        reject-hunks everything cascade
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "c.txt" modify by agent d/main:e3 certain +1 -1
            "b.txt" modify by agent other/main:e2 certain +1 -1
            reject: "a.txt" write exact
            reject: "b.txt" write exact
            reject: "c.txt" write exact
            > The person rejected these changes of yours. They are out of the files:
            > - o20: no
            >   - "a.txt"
            >     ```diff
            >     -2
            >     +two
            >     ```
            >   - "c.txt"
            > Do not make them again unless you are asked to.
            > The person rejected these changes of yours. They are out of the files:
            > - o20: no
            >   - "b.txt"
            >     ```diff
            >     -b
            >     +B
            >     ```
            > Do not make them again unless you are asked to.
            nothing done
        "#]],
    );
}

/// Lines of files that hold secrets are not told to anybody.
#[test]
fn lines_of_secret_files_are_not_quoted() {
    check(
        r"
        file .env: ONE=1\nAPI_KEY=not-for-models\n
        init
        say d: go
        shell d s1: sed -i 2d .env
        turn-end d
        reject-hunks all because=keep_it
        comment .env:2: never touch this
        send-comments
        feedback d
        ",
        &expect![[r#"
            ".env" modify by agent d/main:s1 window +0 -1
            reject: ".env" write exact
            #1 order draft on .env for d: never touch this
            sent 1
            > The person rejected these changes of yours. They are out of the files:
            > - o10: keep it
            >   - ".env"
            > Do not make them again unless you are asked to.
            > 
            > The person commented on your work:
            > - #1 (".env":2): never touch this
            > Do what is asked, and answer the questions.
        "#]],
    );
}

#[test]
fn a_reason_without_words_is_none_and_no_agent_goes_on_for_it() {
    check(
        r"
        file a.txt: 1\n2\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        turn-end d
        reject-hunks all because=__
        take-feedback d
        told say d: next
        edit d e2 a.txt: 1 => one
        reject-hunks all because=_digits_are_shorter_
        take-feedback d
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            reject: "a.txt" write exact
            > (nothing)
            > The person rejected these changes of yours. They are out of the files:
            > - o10
            >   - "a.txt"
            >     ```diff
            >     -2
            >     +two
            >     ```
            > Do not make them again unless you are asked to.
            "a.txt" modify by agent d/main:e2 certain +1 -1
            reject: "a.txt" write exact
            > The person rejected these changes of yours. They are out of the files:
            > - o23: digits are shorter
            >   - "a.txt"
            >     ```diff
            >     -1
            >     +one
            >     ```
            > Do not make them again unless you are asked to.
        "#]],
    );
}
