//! Restore: what it puts back, what it deletes, what it leaves.

use expect_test::expect;
use retake_testkit::check;

#[test]
fn restore_deletes_only_what_an_agent_made_and_keeps_the_users() {
    check(
        r"
        file a.txt: old\n
        file gone.txt: gone\n
        init
        say d: go
        write d w1 a.txt: new\n
        write d w2 made.txt: made
        write d w3 edited.txt: made
        shell d s4: rm gone.txt
        file edited.txt: made and edited
        file mine.txt: mine
        restore d:1 dry
        restore d:1
        cat a.txt
        cat made.txt
        cat edited.txt
        cat gone.txt
        cat mine.txt
        restore d:1 exact
        cat edited.txt
        cat mine.txt
        undo 2
        cat edited.txt
        cat mine.txt
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "made.txt" create by agent d/main:w2 certain +1 -0
            "edited.txt" create by agent d/main:w3 certain +1 -0
            "gone.txt" delete by agent d/main:s4 window +0 -1
            restore: "a.txt" write restored
            restore: "edited.txt" leave edited_by_you
            restore: "gone.txt" create restored
            restore: "made.txt" delete restored
            restore: "mine.txt" leave made_by_you
            restore: "a.txt" write restored
            restore: "edited.txt" leave edited_by_you
            restore: "gone.txt" create restored
            restore: "made.txt" delete restored
            restore: "mine.txt" leave made_by_you
            a.txt: old\n
            made.txt: absent
            edited.txt: made and edited
            gone.txt: gone\n
            mine.txt: mine
            restore: "edited.txt" delete replaces_yours
            restore: "mine.txt" delete yours
            edited.txt: absent
            mine.txt: absent
            undo: "edited.txt" create exact
            undo: "mine.txt" create exact
            undo: "a.txt" write exact
            undo: "gone.txt" delete exact
            undo: "made.txt" create exact
            edited.txt: made and edited
            mine.txt: mine
            a.txt: new\n
        "#]],
    );
}

#[test]
fn going_back_and_forth_between_checkpoints() {
    check(
        r"
        file main.py: 1\n
        file README.md: readme\n
        file config.py: config\n
        init
        checkpoint A
        say d: go
        shell d s1: rm config.py
        checkpoint B
        restore A
        cat config.py
        statuses
        restore B
        cat config.py
        statuses
        write d w2 .github/workflows/ci.yaml: ci
        restore B
        cat .github/workflows/ci.yaml
        run test ! -e .github
        session d
        restore B
        ",
        &expect![[r#"
            "config.py" delete by agent d/main:s1 window +0 -1
            restore: "config.py" create restored
            config.py: config\n
            s1 "config.py" reverted
            restore: "config.py" delete restored
            config.py: absent
            s1 "config.py" pending
            ".github/workflows/ci.yaml" create by agent d/main:w2 certain +1 -0
            restore: ".github/workflows/ci.yaml" delete restored
            .github/workflows/ci.yaml: absent
            session_1 active (session_1 active)
              "config.py" deleted
            nothing done
        "#]],
    );
}

#[test]
fn what_another_dialog_did_last_stays_unless_exact() {
    check(
        r"
        file a.txt: a\n
        file b.txt: b\n
        init
        say d: go
        write d w1 a.txt: a by d\n
        say e: go
        write e w2 b.txt: b by e\n
        write e w3 e.txt: made by e\n
        restore d:1
        cat a.txt
        cat b.txt
        cat e.txt
        restore d:1 exact
        cat b.txt
        cat e.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "b.txt" modify by agent e/main:w2 certain +1 -1
            "e.txt" create by agent e/main:w3 certain +1 -0
            restore: "a.txt" write restored
            restore: "b.txt" leave other_dialog
            restore: "e.txt" leave other_dialog
            a.txt: a\n
            b.txt: b by e\n
            e.txt: made by e\n
            restore: "b.txt" write restored
            restore: "e.txt" delete restored
            crosses e
            b.txt: b\n
            e.txt: absent
        "#]],
    );
}

#[test]
fn single_paths_can_be_restored() {
    check(
        r"
        file a.txt: a\n
        file sub/b.txt: b\n
        file sub/c.txt: c\n
        init
        say d: go
        shell d s1: rm -r a.txt sub
        restore d:1 sub
        cat a.txt
        cat sub/b.txt
        cat sub/c.txt
        restore d:1 a.txt
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" delete by agent d/main:s1 window +0 -1
            "sub/b.txt" delete by agent d/main:s1 window +0 -1
            "sub/c.txt" delete by agent d/main:s1 window +0 -1
            restore: "sub/b.txt" create restored
            restore: "sub/c.txt" create restored
            a.txt: absent
            sub/b.txt: b\n
            sub/c.txt: c\n
            restore: "a.txt" create restored
            a.txt: a\n
        "#]],
    );
}

#[test]
fn a_folder_that_became_a_file_and_back() {
    check(
        r"
        file x: file\n
        file y/inside: inside\n
        init
        say d: go
        shell d s1: rm x && mkdir x && echo in > x/in && rm -r y && echo y > y
        restore d:1
        cat x
        cat y/inside
        undo
        cat x/in
        cat y
        ",
        &expect![[r#"
            "x" delete by agent d/main:s1 window +0 -1
            "x/in" create by agent d/main:s1 window +1 -0
            "y" create by agent d/main:s1 window +1 -0
            "y/inside" delete by agent d/main:s1 window +0 -1
            restore: "x" create restored
            restore: "x/in" delete restored
            restore: "y" delete restored
            restore: "y/inside" create restored
            x: file\n
            y/inside: inside\n
            undo: "x" delete exact
            undo: "x/in" create exact
            undo: "y" create exact
            undo: "y/inside" delete exact
            x/in: in\n
            y: y\n
        "#]],
    );
}
