//! Who did it: a test for each rule of attribution, named after it.

use retake_testkit::{check, expect};

#[test]
fn certain_when_the_content_is_what_write_says() {
    check(
        r"
        file a.txt: one\n
        init
        write d1 w1 a.txt: two\n
        write d1 w2 src/new.txt: fresh\n
        ",
        &expect![[r#"
            "a.txt" modify by agent d1/main:w1 certain +1 -1
            "src/new.txt" create by agent d1/main:w2 certain +1 -0
        "#]],
    );
}

#[test]
fn certain_when_the_content_is_what_edit_replaces() {
    check(
        r"
        file a.txt: one\ntwo\nthree\n
        init
        edit d1 e1 a.txt: two => 2
        ",
        &expect![[r#"
            "a.txt" modify by agent d1/main:e1 certain +1 -1
        "#]],
    );
}

#[test]
fn certain_when_a_patch_predicts_it() {
    check(
        r#"
        file a.txt: one\ntwo\n
        file gone.txt: x\n
        init
        begin d1 p1 apply_patch {"command":"*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: b.txt\n+new\n*** Delete File: gone.txt\n*** End Patch"}
        file a.txt: one\n2\n
        file b.txt: new\n
        run rm gone.txt
        end d1 p1
        "#,
        &expect![[r#"
            "a.txt" modify by agent d1/main:p1 certain +1 -1
            "b.txt" create by agent d1/main:p1 certain +1 -0
            "gone.txt" delete by agent d1/main:p1 certain +0 -1
        "#]],
    );
}

#[test]
fn window_when_an_edit_tool_wrote_something_else_to_the_path_it_names() {
    check(
        r#"
        file a.txt: one\n
        init
        begin d1 w1 Write {"file_path":"a.txt","content":"two\n"}
        file a.txt: TWO\n
        end d1 w1
        "#,
        &expect![[r#"
            "a.txt" modify by agent d1/main:w1 window +1 -1
        "#]],
    );
}

#[test]
fn edit_tools_own_only_the_paths_that_they_name() {
    check(
        r#"
        file a.txt: one\n
        file mine.txt: mine\n
        init
        begin d1 w1 Write {"file_path":"a.txt","content":"two\n"}
        file mine.txt: my edit\n
        look
        file a.txt: two\n
        end d1 w1
        turn-end d1
        "#,
        &expect![[r#"
            "mine.txt" modify by user +1 -1
            "a.txt" modify by agent d1/main:w1 certain +1 -1
        "#]],
    );
}

#[test]
fn window_when_one_shell_call_is_open() {
    check(
        r"
        file a.txt: one\n
        init
        shell d1 s1: python3 -c 'open(\x22b.txt\x22,\x22w\x22).write(\x22hi\x22)' 2>/dev/null || printf hi > b.txt; sed -i s/one/two/ a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d1/main:s1 window +1 -1
            "b.txt" create by agent d1/main:s1 window +1 -0
        "#]],
    );
}

#[test]
fn what_was_there_before_the_begin_is_the_users() {
    check(
        r"
        file a.txt: one\n
        init
        file a.txt: by hand\n
        begin d1 s1 sh: make
        file b.txt: by make\n
        end d1 s1
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            "b.txt" create by agent d1/main:s1 window +1 -0
        "#]],
    );
}

#[test]
fn a_command_that_only_reads_opens_no_window() {
    check(
        r"
        file a.txt: one\n
        init
        begin d1 s1 sh: ls -l && git status && cat a.txt | grep one
        file a.txt: by hand\n
        end d1 s1
        turn-end d1
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
        "#]],
    );
}

#[test]
fn shared_when_several_calls_are_open() {
    check(
        r"
        init
        begin d1/a s1 sh: make
        begin d2/b s2 sh: make test
        file out.txt: x\n
        end d1/a s1
        end d2/b s2
        ",
        &expect![[r#"
            "out.txt" create by agent d1/a:s1|d2/b:s2 shared +1 -0
        "#]],
    );
}

#[test]
fn inferred_targets_raise_the_confidence() {
    check(
        r"
        file a.txt: one\n
        init
        begin d1/a s1 sh: make
        begin d1/b s2 sh: sed -i s/one/two/ a.txt
        file a.txt: two\n
        end d1/b s2
        end d1/a s1
        ",
        &expect![[r#"
            "a.txt" modify by agent d1/b:s2 window +1 -1
        "#]],
    );
}

#[test]
fn parallel_calls_are_told_apart_by_their_ids() {
    check(
        r#"
        init
        begin d1 w1 Write {"file_path":"a.txt","content":"a\n"}
        begin d1 w2 Write {"file_path":"b.txt","content":"b\n"}
        file b.txt: b\n
        file a.txt: a\n
        end d1 w2
        end d1 w1
        "#,
        &expect![[r#"
            "b.txt" create by agent d1/main:w2 certain +1 -0
            "a.txt" create by agent d1/main:w1 certain +1 -0
        "#]],
    );
}

/// Tools truncate a file before they write it, and another call may end just then.
#[test]
fn a_file_that_an_edit_is_just_writing_is_nobodys_version() {
    check(
        r#"
        file a.txt: one\nx\ntwo\n
        init
        begin d1/a e1 Edit {"file_path":"a.txt","old_string":"one","new_string":"1"}
        begin d2/b e2 Edit {"file_path":"a.txt","old_string":"two","new_string":"2"}
        begin d3/c s1 sh: make
        # the first has written, the second is about to
        file a.txt: 1\n
        end d3/c s1
        end d1/a e1
        begin d3/c s2 sh: make
        file a.txt: 1\nx\n2\n
        end d2/b e2
        # what is left half written counts when the turn is over
        begin d2/b e3 Edit {"file_path":"a.txt","old_string":"2","new_string":"two"}
        file a.txt: 1\nx\nt
        begin d3/c s3 sh: make
        end d3/c s3
        turn-end d2/b
        # a whole edit that another one adds to is a version
        file b.txt: one\n
        look
        begin d1/a e4 Edit {"file_path":"b.txt","old_string":"one","new_string":"1"}
        begin d2/b e5 Edit {"file_path":"b.txt","old_string":"1\n","new_string":"1\n2\n"}
        begin d3/c s4 sh: make
        file b.txt: 1\n
        end d3/c s4
        "#,
        &expect![[r#"
            "a.txt" modify by agent d1/a:e1 certain +1 -1
            "a.txt" modify by agent d2/b:e2 window +0 -2
            "a.txt" modify by agent d2/b:e2 window +2 -0
            "a.txt" modify by agent d2/b:e3 window +1 -1
            "b.txt" create by agent d3/c:s2 window +1 -0
            "b.txt" modify by agent d1/a:e4 certain +1 -1
        "#]],
    );
}

/// A person may have shortened a file to what an edit that waits would begin with. Before a command
/// that may destroy it, and after an edit that failed, it counts as it is.
#[test]
fn a_file_that_only_looks_half_written_is_not_lost() {
    check(
        r#"
        file a.txt: one\ntwo\nthree\n
        init
        begin d1 e1 Edit {"file_path":"a.txt","old_string":"three","new_string":"3"}
        file a.txt: one\ntwo\n
        shell d2 s1: rm a.txt
        file b.txt: one\ntwo\n
        look
        begin d1 e2 Edit {"file_path":"b.txt","old_string":"one","new_string":"1"}
        begin d2 e3 Edit {"file_path":"b.txt","old_string":"two","new_string":"2"}
        file b.txt: one\n
        end-failed d1 e2
        look
        "#,
        &expect![[r#"
            "a.txt" modify by agent d1/main:e1 window +0 -1
            "a.txt" delete by agent d1/main:e1|d2/main:s1 shared +0 -2
            "b.txt" create by user +2 -0
            "b.txt" modify by agent d2/main:e3 window +0 -1
        "#]],
    );
}

#[test]
fn late_begin_still_has_a_before_w_40() {
    check(
        r#"
        file a.txt: one\n
        init
        file a.txt: two\n
        begin d1 w1 Write {"file_path":"a.txt","content":"two\n"}
        end d1 w1
        "#,
        &expect![[r#"
            "a.txt" modify by agent d1/main:w1 certain +1 -1
        "#]],
    );
}

#[test]
fn missing_begin_with_a_tool_in_the_end() {
    check(
        r#"
        file a.txt: one\n
        init
        file a.txt: two\n
        file b.txt: by hand\n
        end d1 w1 Write {"file_path":"a.txt","content":"two\n"}
        look
        "#,
        &expect![[r#"
            "a.txt" modify by agent d1/main:w1 certain +1 -1
            "b.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn missing_begin_of_a_shell_call_owns_only_its_targets() {
    check(
        r"
        file a.txt: one\n
        init
        file a.txt: two\n
        file b.txt: by hand\n
        end d1 s1 sh: sed -i s/one/two/ a.txt && make
        ",
        &expect![[r#"
            "a.txt" modify by agent d1/main:s1 window +1 -1
            "b.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn unknown_end_records_what_changed_as_the_users() {
    check(
        r"
        file a.txt: one\n
        init
        file a.txt: two\n
        end d1 never-begun
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            ! unknown_call
        "#]],
    );
}

#[test]
fn renames_are_one_change() {
    check(
        r"
        file a.txt: one\ntwo\nthree\nfour\n
        file b.txt: same\n
        init
        shell d1 s1: mv a.txt moved.txt && sed -i s/two/2/ moved.txt
        run mv b.txt c.txt
        look
        ",
        &expect![[r#"
            "a.txt" -> "moved.txt" rename by agent d1/main:s1 window +1 -1
            "b.txt" -> "c.txt" rename by user +0 -0
        "#]],
    );
}

#[test]
fn a_move_by_two_authors_is_two_changes() {
    check(
        r#"
        file a.txt: one\n
        init
        say d1: go
        run rm a.txt
        begin d1 w1 Write {"file_path":"b.txt","content":"one\n"}
        file b.txt: one\n
        end d1 w1
        look
        "#,
        &expect![[r#"
            "b.txt" create by agent d1/main:w1 certain +1 -0
            "a.txt" delete by user +0 -1
        "#]],
    );
}

#[test]
fn kinds_and_modes() {
    check(
        r"
        file a.txt: one\n
        file run.sh: #!/bin/sh\n
        init
        shell d1 s1: chmod +x run.sh; rm a.txt; ln -s run.sh a.txt
        run rm a.txt && mkdir a.txt && echo in > a.txt/inner
        look
        ",
        &expect![[r#"
            "a.txt" modify by agent d1/main:s1 window +1 -1
            "run.sh" mode by agent d1/main:s1 window +0 -0
            "a.txt" delete by user +0 -1
            "a.txt/inner" create by user +1 -0
        "#]],
    );
}

#[test]
fn paths_outside_are_said_and_the_call_is_kept() {
    check(
        r#"
        init
        begin d1 w1 Write {"file_path":"/etc/motd","content":"x"}
        end d1 w1
        "#,
        &expect![[r"
            ! outside_project
        "]],
    );
}

#[test]
fn a_repeated_begin_counts_once() {
    check(
        r#"
        init
        begin d1 w1 Write {"file_path":"a","content":"x"}
        begin d1 w1 Write {"file_path":"a","content":"x"}
        file a: x
        end d1 w1
        end d1 w1
        "#,
        &expect![[r#"
            ! duplicate_begin
            "a" create by agent d1/main:w1 certain +1 -0
            ! duplicate_end
        "#]],
    );
}

#[test]
fn writing_through_a_link_is_seen_where_it_lands() {
    check(
        r"
        file real.txt: one\n
        run ln -s real.txt link.txt
        init
        write d1 w1 link.txt: two\n
        ",
        &expect![[r#"
            "real.txt" modify by agent d1/main:w1 certain +1 -1
        "#]],
    );
}

#[test]
fn a_command_writes_through_a_link() {
    check(
        r"
        file real.txt: one\n
        run ln -s real.txt link.txt
        init
        shell d1 s1: echo two > link.txt
        ",
        &expect![[r#"
            "real.txt" modify by agent d1/main:s1 window +1 -1
        "#]],
    );
}

#[test]
fn version_controls_own_files_are_outside() {
    check(
        r#"
        init
        begin d1 w1 Write {"file_path":".git/hooks/pre-commit","content":"x"}
        "#,
        &expect![[r"
            ! outside_project
        "]],
    );
}
