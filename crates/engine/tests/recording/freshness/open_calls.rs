//! What others write while a call of an agent is open: its agent has not seen that.

use expect_test::expect;
use retake_testkit::check;

#[test]
fn a_person_who_writes_while_a_tool_reads_is_not_overlooked() {
    check(
        r#"
        file a.txt: 1\n2\n
        init
        say d: hello
        begin d c1 Read {"file_path":"a.txt"}
        file a.txt: 1\ntwo\n
        end d c1
        stale d
        attempt d c2 a.txt: 1 => one
        "#,
        &expect![[r#"
            "a.txt" modify by user +1 -1
            a.txt: line 2 changed by the user
            deny a.txt: line 2 changed by the user
        "#]],
    );
}

#[test]
fn what_was_denied_did_not_happen() {
    check(
        r"
        file a.txt: 1\n2\n
        init
        say d: hello
        read d c1 a.txt
        file a.txt: 1\ntwo\n
        attempt d c2 a.txt: 1 => one
        file a.txt: mine\ntwo\n
        look
        turn-end d
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            deny a.txt: line 2 changed by the user
            "a.txt" modify by user +1 -1
        "#]],
    );
}

#[test]
fn what_somebody_makes_of_an_edit_before_its_end_is_not_known_to_its_agent() {
    check(
        r#"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: hello
        read d c1 a.txt
        begin d c2 Edit {"file_path":"a.txt","old_string":"1","new_string":"one"}
        file a.txt: one\n2\n3\nfour\n5\n
        end d c2
        stale d
        attempt d c3 a.txt: 2 => two
        read d c4 a.txt
        begin d c5 Edit {"file_path":"a.txt","old_string":"2","new_string":"t( w,o )"}
        file a.txt: one\nt(w, o)\n3\nfour\n5\n
        end d c5
        stale d
        context d
        "#,
        &expect![[r#"
            "a.txt" modify by agent d/main:c2 window +2 -2
            a.txt: line 4 changed by the user
            deny a.txt: line 4 changed by the user
            "a.txt" modify by agent d/main:c5 window +1 -1
            a.txt stale read_tool read 4 edit - user -
            a.txt stale roo_edited read 6 edit 6 user -
            a.txt stale read_tool read 9 edit 6 user -
            a.txt active roo_edited read 11 edit 11 user -
        "#]],
    );
}

#[test]
fn an_edit_that_was_replaced_before_a_scan_saw_it_is_what_its_agent_knows() {
    check(
        r#"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: hello
        begin d c1 Edit {"file_path":"a.txt","old_string":"1","new_string":"one"}
        file a.txt: one\n2\n3\n4\n5\n
        file a.txt: 1\n2\n3\n4\nfive\n
        look
        end d c1
        context d
        stale d
        attempt d c2 a.txt: 2 => two
        "#,
        &expect![[r#"
            "a.txt" modify by user +1 -1
            a.txt stale roo_edited read 5 edit 5 user -
            a.txt active user_edited read 5 edit 5 user 4
            a.txt: line 1 changed by the user
            deny a.txt: line 1 changed by the user
        "#]],
    );
}

#[test]
fn what_happens_while_a_command_runs_was_not_seen_unless_it_aims_at_it() {
    check(
        r"
        file a.txt: f(1)\n2\n3\n4\n
        init
        say d: hello
        read d c1 a.txt
        begin d c2 sh: cargo test
        file a.txt: f(1)\n2\n3\nfour\n
        end d c2
        attempt d c3 a.txt: 2 => two
        read d c4 a.txt
        begin d c5 sh: cargo fmt
        file a.txt: f( 1 )\n2\n3\nfour\n
        end d c5
        shell d c6: sed -i s/3/three/ a.txt
        attempt d c7 a.txt: 2 => two
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:c2 window +1 -1
            deny a.txt: line 4 changed
            "a.txt" modify by agent d/main:c5 window +1 -1
            "a.txt" modify by agent d/main:c6 window +1 -1
            "a.txt" modify by agent d/main:c7 certain +1 -1
        "#]],
    );
}

#[test]
fn a_begin_that_comes_again_after_its_denial_opens_nothing() {
    check(
        r"
        file a.txt: 1\n2\n
        init
        say d: hello
        read d c1 a.txt
        file a.txt: 1\ntwo\n
        attempt d c2 a.txt: 1 => one
        begin d c2 Edit {}
        file a.txt: mine\ntwo\n
        turn-end d
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            deny a.txt: line 2 changed by the user
            ! duplicate_begin
            "a.txt" modify by user +1 -1
        "#]],
    );
}
