//! Lines that were rejected and come again.

use expect_test::expect;
use retake_testkit::check;

#[test]
fn an_agent_that_adds_rejected_lines_again_is_told_at_the_end_of_that_call() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: go
        edit d e1 a.txt: 3 => 3\nlet password = read_from_file();\nlog(password);
        turn-end d
        reject-hunks all because=secrets_are_not_logged
        told say d: go on
        told edit d e2 a.txt: 5 => 5\n\n  let password  = read_from_file();\n\x09log(password);\nmore
        told edit d e3 a.txt: 1 => one
        review all
        again
        told say d: next
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +2 -0
            reject: "a.txt" write exact
            > The person rejected these changes of yours. They are out of the files:
            > - o10: secrets are not logged
            >   - "a.txt"
            >     ```diff
            >     +let password = read_from_file();
            >     +log(password);
            >     ```
            > Do not make them again unless you are asked to.
            "a.txt" modify by agent d/main:e2 certain +4 -0
            > The person had rejected lines that you added again:
            > - "a.txt" (o10): secrets are not logged
            > Take them out again, or ask the person first.
            "a.txt" modify by agent d/main:e3 certain +1 -1
            a.txt
              1 lines @1 -1 +one by e3
              2 lines @6 + +  let password  = read_from_file(); +\tlog(password); +more by e2, again o10
            e2 brings o10 again
        "#]],
    );
}

/// Only part of a run, short runs, the same lines in another file, and the person's own do not count.
#[test]
fn what_is_not_the_same_run_in_the_same_file_is_no_repeat() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        file b.txt: b\n
        init
        say d: go
        edit d e1 a.txt: 3 => 3\nlet password = read_from_file();\nlog(password);
        edit d e2 a.txt: 5 => 5\n}\n};
        turn-end d
        reject-hunks all
        say d: go on
        edit d e3 a.txt: 3 => 3\nlet password = read_from_file();
        edit d e4 a.txt: 5 => 5\n}\n};
        edit d e5 b.txt: b => b\nlet password = read_from_file();\nlog(password);
        again
        rollback call=e3
        run sed -i 's/3/3\nlet password = read_from_file();\nlog(password);/' a.txt
        look
        again
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +2 -0
            "a.txt" modify by agent d/main:e2 certain +2 -0
            reject: "a.txt" write exact
            "a.txt" modify by agent d/main:e3 certain +1 -0
            "a.txt" modify by agent d/main:e4 certain +2 -0
            "b.txt" modify by agent d/main:e5 certain +2 -0
            rollback: "a.txt" write merged
            "a.txt" modify by user +2 -0
        "#]],
    );
}

#[test]
fn it_follows_a_rename_and_is_forgotten_with_the_rejection() {
    check(
        r"
        file a.txt: a text that is long enough\nto be known again\nwhen it has moved\n
        init
        say d: go
        edit d e1 a.txt: again => again\nlet password = read_from_file();
        turn-end d
        reject-hunks all
        run mv a.txt b.txt
        say d: go on
        edit d e2 b.txt: again => again\nlet password = read_from_file();
        again
        rollback call=e2
        forget
        edit d e3 b.txt: again => again\nlet password = read_from_file();
        again
        reject-hunks call=e3
        undo
        rollback call=e3
        edit d e4 b.txt: again => again\nlet password = read_from_file();
        again
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -0
            reject: "a.txt" write exact
            "a.txt" -> "b.txt" rename by user +0 -0
            "b.txt" modify by agent d/main:e2 certain +1 -0
            e2 brings o10 again
            rollback: "b.txt" write exact
            forgot 1
            "b.txt" modify by agent d/main:e3 certain +1 -0
            reject: "b.txt" write exact
            undo: "b.txt" write exact
            rollback: "b.txt" write exact
            "b.txt" modify by agent d/main:e4 certain +1 -0
        "#]],
    );
}

#[test]
fn what_git_brings_back_does_not_count() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        run git init -q && git add -A && git commit -qm base
        init
        say d: go
        edit d e1 a.txt: 3 => 3\nlet password = read_from_file();
        run git commit -qam work
        look
        turn-end d
        reject-hunks all
        say d: go on
        run git checkout -q -- a.txt
        look
        again
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -0
            reject: "a.txt" write exact
            "a.txt" modify by git +1 -0
            a.txt: 1\n2\n3\nlet password = read_from_file();\n4\n5\n
        "#]],
    );
}

/// A file that was rejected as a whole.
#[test]
fn a_rejected_file_that_is_made_again_is_a_repeat() {
    check(
        r"
        init
        say d: go
        write d w1 made.txt: let password = read_from_file();\nlog(password);\n
        turn-end d
        reject-hunks all because=not_needed
        told say d: go on
        told write d w2 made.txt: let password = read_from_file();\nlog(password);\n
        review all
        forget made.txt
        ",
        &expect![[r#"
            "made.txt" create by agent d/main:w1 certain +2 -0
            reject: "made.txt" delete exact
            > The person rejected these changes of yours. They are out of the files:
            > - o9: not needed
            >   - "made.txt", the whole file
            > Do not make them again unless you are asked to.
            "made.txt" create by agent d/main:w2 certain +2 -0
            > The person had rejected lines that you added again:
            > - "made.txt" (o9): not needed
            > Take them out again, or ask the person first.
            made.txt
              1 create +let password = read_from_file(); +log(password); by w2, again o9
            forgot 1
        "#]],
    );
}

/// An edit around lines that are there since the person, git, or a person's yes brought them back
/// adds nothing again.
#[test]
fn lines_that_were_there_before_an_edit_are_not_added_again() {
    check(
        r"
        file a.py: def f():\n    compute_the_total_price(order)\n
        init
        say d: go
        shell d s1: printf 'def g():\n    validate_all_the_inputs(order)\n' >> a.py
        reject-hunks all because=no_g
        run printf 'def g():\n    validate_all_the_inputs(order)\n' >> a.py
        look
        shell d s2: sed -i 's/^/  /' a.py
        again
        feedback d
        shell d s3: printf 'def g():\n    validate_all_the_inputs(order)\n' >> a.py
        again
        keep call=s3
        shell d s4: printf 'def g():\n    validate_all_the_inputs(order)\n' >> a.py
        again
        ",
        &expect![[r#"
            "a.py" modify by agent d/main:s1 window +2 -0
            reject: "a.py" write exact
            "a.py" modify by user +2 -0
            "a.py" modify by agent d/main:s2 window +4 -4
            > The person rejected these changes of yours. They are out of the files:
            > - o9: no g
            >   - "a.py"
            >     ```diff
            >     +def g():
            >     +    validate_all_the_inputs(order)
            >     ```
            > Do not make them again unless you are asked to.
            "a.py" modify by agent d/main:s3 window +2 -0
            s3 brings o9 again
            keep 1, accepted s3
            "a.py" modify by agent d/main:s4 window +2 -0
            s3 brings o9 again
        "#]],
    );
}

#[test]
fn a_folder_is_forgotten_with_all_files_beneath_it() {
    check(
        r"
        file src/a.txt: a text that is long enough\nto be known again\nwhen it has moved\n
        file src0: another text that is long enough\nto be told apart\n
        file b.txt: one more text that is long enough\nto be known where it is\nwhen it has moved\n
        init
        say d: go
        edit d e1 src/a.txt: again => again\nlet password = read_from_file();
        edit d e2 src0: apart => apart\nlet password = read_from_file();
        edit d e3 b.txt: where it is => where it is\nlet password = read_from_file();
        turn-end d
        reject-hunks all
        run mv b.txt src/b.txt
        say d: go on
        edit d e4 src/a.txt: again => again\nlet password = read_from_file();
        edit d e5 src0: apart => apart\nlet password = read_from_file();
        again
        forget src
        again
        forget src
        forget
        ",
        &expect![[r#"
            "src/a.txt" modify by agent d/main:e1 certain +1 -0
            "src0" modify by agent d/main:e2 certain +1 -0
            "b.txt" modify by agent d/main:e3 certain +1 -0
            reject: "b.txt" write exact
            reject: "src/a.txt" write exact
            reject: "src0" write exact
            "b.txt" -> "src/b.txt" rename by user +0 -0
            "src/a.txt" modify by agent d/main:e4 certain +1 -0
            "src0" modify by agent d/main:e5 certain +1 -0
            e4 brings o16 again
            e5 brings o16 again
            forgot 2
            e5 brings o16 again
            forgot 0
            forgot 1
        "#]],
    );
}
