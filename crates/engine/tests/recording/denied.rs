//! Calls that were denied or failed: only what their arguments predict can be theirs, and what the
//! person does to the very file meanwhile is the person's.

use retake_testkit::{check, expect};

#[test]
fn a_call_that_is_over_owns_nothing_that_it_does_not_predict() {
    check(
        r#"
        file a.txt: one\n
        init
        say d1: go
        begin d1 w1 Write {"file_path":"a.txt","content":"two\n"}
        file a.txt: by hand, while asked\n
        over d1 w1
        begin d1 s1 sh: echo two > a.txt
        file a.txt: by hand again\n
        over d1 s1
        begin d1 w2 Write {"file_path":"a.txt","content":"three\n"}
        file a.txt: three\n
        over d1 w2
        "#,
        &expect![[r#"
            "a.txt" modify by user +1 -1
            "a.txt" modify by user +1 -1
            "a.txt" modify by agent d1/main:w2 certain +1 -1
        "#]],
    );
}

#[test]
fn an_edit_that_failed_owns_only_what_it_predicts() {
    check(
        r#"
        file a.txt: one\n
        file b.txt: one\n
        init
        say d1: go
        begin d1 e1 Edit {"file_path":"a.txt","old_string":"one","new_string":"two"}
        file a.txt: by hand\n
        end-failed d1 e1
        begin d1 p1 apply_patch {"command":"*** Begin Patch\n*** Update File: b.txt\n@@\n-one\n+2\n*** Delete File: a.txt\n*** End Patch"}
        file b.txt: 2\n
        file a.txt: by hand again\n
        end-failed d1 p1
        begin d1 x1 Edit {"file_path":"a.txt"}
        file a.txt: nobody said what\n
        end-failed d1 x1
        begin d1 s1 sh: ./fails
        file made.txt: by the command that failed\n
        end-failed d1 s1
        "#,
        &expect![[r#"
            "a.txt" modify by user +1 -1
            "a.txt" modify by user +1 -1
            "b.txt" modify by agent d1/main:p1 certain +1 -1
            "a.txt" modify by user +1 -1
            "made.txt" create by agent d1/main:s1 window +1 -0
        "#]],
    );
}

#[test]
fn an_edit_whose_end_is_never_heard_owns_only_what_it_predicts() {
    for end in ["turn-end d1", "say d1: no, not that", "dialog-start d1", "dialog-end d1"] {
        let story = |text: &str| {
            format!(
                r#"
                file a.txt: one\n
                init
                say d1: go
                begin d1 w1 Write {{"file_path":"a.txt","content":"two\n"}}
                file a.txt: {text}\n
                {end}
                "#
            )
        };
        let by_hand = &expect![[r#"
            "a.txt" modify by user +1 -1
        "#]];
        check(&story("by hand"), by_hand);
        let as_it_said = &expect![[r#"
            "a.txt" modify by agent d1/main:w1 certain +1 -1
        "#]];
        check(&story("two"), as_it_said);
    }
}

#[test]
fn what_is_found_while_the_person_is_asked_is_the_persons_unless_the_call_says_so() {
    check(
        r#"
        file a.txt: one\n
        init
        say d1: go
        begin d1 e1 Edit {"file_path":"a.txt","old_string":"one","new_string":"two\nthree"}
        file a.txt: one\nmine\n
        look
        file a.txt: two\n
        look
        file a.txt: two\nthree\nmine\n
        end d1 e1
        begin d1 x1 Edit {"file_path":"a.txt"}
        file a.txt: nobody said what\n
        look
        end d1 x1
        "#,
        &expect![[r#"
            "a.txt" modify by user +1 -0
            "a.txt" modify by agent d1/main:e1 window +1 -2
            "a.txt" modify by agent d1/main:e1 window +2 -0
            "a.txt" modify by agent d1/main:x1 window +1 -3
        "#]],
    );
}

#[test]
fn an_edit_that_retake_denied_owns_nothing_of_what_the_person_does_then() {
    check(
        r"
        file a.txt: one\n
        init
        read d1 r1 a.txt
        file a.txt: mine\n
        attempt d1 e1 a.txt: mine => theirs
        file a.txt: mine again\n
        end d1 e1
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            deny a.txt: line 1 changed by the user
            "a.txt" modify by user +1 -1
        "#]],
    );
}
