//! Taking changes back: what came later stays, and what does not fit is left and named.

use expect_test::expect;
use retake_testkit::check;

const FILE: &str = r"file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n";

#[track_caller]
fn story(lines: &str, expected: &expect_test::Expect) {
    check(&format!("{FILE}\ninit\nsay d: go\n{lines}"), expected);
}

#[test]
fn the_newest_change_goes_back_exactly() {
    story(
        r"
        edit d e1 a.txt: 2 => two
        rollback call=e1
        cat a.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            rollback: "a.txt" write exact
            a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
            e1 "a.txt" reverted
        "#]],
    );
}

#[test]
fn later_changes_of_others_stay() {
    story(
        r"
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 5 => five
        run sed -i s/8/eight/ a.txt
        rollback call=e1
        cat a.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            rollback: "a.txt" write merged
            a.txt: 1\n2\n3\n4\nfive\n6\n7\neight\n9\n
            e1 "a.txt" reverted
            e2 "a.txt" pending
        "#]],
    );
}

#[test]
fn a_conflict_leaves_the_file_and_names_what_stands_in_the_way() {
    story(
        r"
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 8 => eight
        edit d e3 a.txt: two => TWO
        rollback call=e1
        cat a.txt
        rollback call=e1 cascade dry
        rollback call=e1 cascade
        cat a.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            "a.txt" modify by agent d/main:e3 certain +1 -1
            nothing done
            rollback: "a.txt" leave conflict blocked by e3
            a.txt: 1\nTWO\n3\n4\n5\n6\n7\neight\n9\n
            rollback: "a.txt" write merged
            rollback: "a.txt" write merged
            a.txt: 1\n2\n3\n4\n5\n6\n7\neight\n9\n
            e1 "a.txt" reverted
            e2 "a.txt" pending
            e3 "a.txt" reverted
        "#]],
    );
}

#[test]
fn the_users_edit_on_top_is_not_taken_without_word() {
    story(
        r"
        edit d e1 a.txt: 2 => two
        run sed -i s/two/mine/ a.txt
        rollback call=e1
        reject call=e1
        cat a.txt
        rollback call=e1 markers
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            nothing done
            rollback: "a.txt" leave conflict blocked by user
            nothing done
            reject: "a.txt" leave conflict blocked by user
            a.txt: 1\nmine\n3\n4\n5\n6\n7\n8\n9\n
            rollback: "a.txt" write markers
            a.txt: 1\n<<<<<<< now\nmine\n||||||| taken back\ntwo\n=======\n2\n>>>>>>> before\n3\n4\n5\n6\n7\n8\n9\n
        "#]],
    );
}

#[test]
fn reject_takes_dependent_changes_of_agents_along() {
    story(
        r"
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: two => TWO
        edit d e3 a.txt: 8 => eight
        reject call=e1 dry
        reject call=e1
        cat a.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            "a.txt" modify by agent d/main:e3 certain +1 -1
            reject: "a.txt" write merged
            reject: "a.txt" write merged
            a.txt: 1\n2\n3\n4\n5\n6\n7\neight\n9\n
            e1 "a.txt" rejected
            e2 "a.txt" rejected
            e3 "a.txt" pending
        "#]],
    );
}

#[test]
fn hunks_are_taken_back_and_kept_one_by_one() {
    story(
        r"
        write d w1 a.txt: 1\ntwo\n3\n4\nfive\n6\n7\neight\n9\n
        reject call=w1 hunk=2
        cat a.txt
        statuses
        accept call=w1 hunk=1
        statuses
        reject call=w1 hunk=3
        cat a.txt
        statuses
        undo
        statuses
        cat a.txt
        reject call=w1 hunk=4
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +3 -3
            reject: "a.txt" write exact
            a.txt: 1\ntwo\n3\n4\n5\n6\n7\neight\n9\n
            w1 "a.txt" pending
            accepted 1, already 0
            w1 "a.txt" pending
            reject: "a.txt" write merged
            a.txt: 1\ntwo\n3\n4\n5\n6\n7\n8\n9\n
            w1 "a.txt" accepted
            undo: "a.txt" write exact
            w1 "a.txt" pending
            a.txt: 1\ntwo\n3\n4\n5\n6\n7\neight\n9\n
            error: change c6 has 3 hunks, so there is no hunk 4
        "#]],
    );
}

#[test]
fn a_created_file_goes_and_a_changed_one_stays() {
    story(
        r"
        write d w1 new/deep.txt: made
        write d w2 kept.txt: made
        file kept.txt: made and edited
        rollback call=w1
        rollback call=w2
        cat new/deep.txt
        cat kept.txt
        run test ! -e new
        ",
        &expect![[r#"
            "new/deep.txt" create by agent d/main:w1 certain +1 -0
            "kept.txt" create by agent d/main:w2 certain +1 -0
            rollback: "new/deep.txt" delete exact
            nothing done
            rollback: "kept.txt" leave changed_since blocked by user
            new/deep.txt: absent
            kept.txt: made and edited
        "#]],
    );
}

#[test]
fn a_deleted_file_comes_back_unless_its_place_is_taken() {
    story(
        r"
        file b.txt: other
        shell d s1: rm a.txt
        shell d s2: rm b.txt
        file b.txt: newer
        rollback call=s1
        rollback call=s2
        cat a.txt
        cat b.txt
        shell d s3: rm a.txt && mkdir a.txt && echo x > a.txt/inside
        rollback call=s3
        cat a.txt
        ",
        &expect![[r#"
            "b.txt" create by user +1 -0
            "a.txt" delete by agent d/main:s1 window +0 -9
            "b.txt" delete by agent d/main:s2 window +0 -1
            rollback: "a.txt" create exact
            nothing done
            rollback: "b.txt" leave occupied blocked by user
            a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
            b.txt: newer
            "a.txt" delete by agent d/main:s3 window +0 -9
            "a.txt/inside" create by agent d/main:s3 window +1 -0
            rollback: "a.txt" create exact
            rollback: "a.txt/inside" delete exact
            a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        "#]],
    );
}

#[test]
fn a_move_goes_back_and_edits_follow_it() {
    story(
        r"
        edit d e1 a.txt: 2 => two
        shell d s1: mkdir sub && mv a.txt sub/b.txt
        edit d e2 sub/b.txt: 8 => eight
        rollback call=e1
        cat sub/b.txt
        rollback call=s1
        cat a.txt
        cat sub/b.txt
        run test ! -e sub
        rollback call=e2
        cat a.txt
        undo
        undo
        cat sub/b.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" -> "sub/b.txt" rename by agent d/main:s1 window +0 -0
            "sub/b.txt" modify by agent d/main:e2 certain +1 -1
            rollback: "sub/b.txt" write merged
            sub/b.txt: 1\n2\n3\n4\n5\n6\n7\neight\n9\n
            rollback: "a.txt" create merged
            rollback: "sub/b.txt" delete merged
            a.txt: 1\n2\n3\n4\n5\n6\n7\neight\n9\n
            sub/b.txt: absent
            rollback: "a.txt" write merged
            a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
            undo: "a.txt" write exact
            undo: "a.txt" delete exact
            undo: "sub/b.txt" create exact
            sub/b.txt: 1\n2\n3\n4\n5\n6\n7\neight\n9\n
            e1 "a.txt" reverted
            s1 "sub/b.txt" pending
            e2 "sub/b.txt" pending
        "#]],
    );
}

#[test]
fn edits_follow_the_users_move() {
    story(
        r"
        edit d e1 a.txt: 2 => two
        run mv a.txt c.txt
        look
        rollback call=e1
        cat c.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" -> "c.txt" rename by user +0 -0
            rollback: "c.txt" write exact
            c.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        "#]],
    );
}

#[test]
fn modes_links_and_kinds_go_back_whole() {
    story(
        r"
        file run.sh: echo
        run ln -s a.txt link
        look
        shell d s1: chmod 755 run.sh
        shell d s2: ln -sfn run.sh link
        shell d s3: rm a.txt && ln -s run.sh a.txt
        rollback call=s1
        rollback call=s2
        rollback call=s3
        run test $(stat -c %a run.sh) = 644 && test $(readlink link) = a.txt && test ! -L a.txt
        cat a.txt
        ",
        &expect![[r#"
            "link" create by user +1 -0
            "run.sh" create by user +1 -0
            "run.sh" mode by agent d/main:s1 window +0 -0
            "link" modify by agent d/main:s2 window +1 -1
            "a.txt" modify by agent d/main:s3 window +1 -9
            rollback: "run.sh" mode exact
            rollback: "link" write exact
            rollback: "a.txt" write exact
            a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        "#]],
    );
}

#[test]
fn binary_files_are_swapped_or_left() {
    story(
        r"
        file x.bin: \x00\x01
        file y.bin: \x00\x02
        look
        write d w1 x.bin: \x00new
        write d w2 y.bin: \x00new
        file y.bin: \x00user
        rollback call=w1
        rollback call=w2
        cat x.bin
        cat y.bin
        ",
        &expect![[r#"
            "x.bin" create by user no-lines
            "y.bin" create by user no-lines
            "x.bin" modify by agent d/main:w1 certain no-lines
            "y.bin" modify by agent d/main:w2 certain no-lines
            rollback: "x.bin" write exact
            nothing done
            rollback: "y.bin" leave changed_since blocked by user
            x.bin: \x00\x01
            y.bin: \x00user
        "#]],
    );
}

#[test]
fn what_git_changed_since_is_left_unless_asked() {
    check(
        r"
        run git init -q -b main . && echo one > a.txt && git add . && git commit -qm one
        init
        say d: go
        write d w1 a.txt: two\n
        run git commit -qam two && git checkout -q -b other HEAD~
        look
        rollback call=w1
        cat a.txt
        run git checkout -q main
        look
        rollback call=w1
        rollback call=w1 across-git
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "a.txt" modify by git +1 -1
            nothing done
            rollback: "a.txt" leave taken_back_by_git
            a.txt: one\n
            "a.txt" modify by git +1 -1
            nothing done
            rollback: "a.txt" leave git_since
            rollback: "a.txt" write exact
            a.txt: one\n
        "#]],
    );
}

#[test]
fn a_shared_change_is_left_unless_all_its_agents_are_meant() {
    story(
        r"
        begin d s1 sh: make
        begin e s2 sh: make
        file out.txt: made
        end d s1
        end e s2
        rollback dialog=d
        rollback dialog=d include-shared
        cat out.txt
        ",
        &expect![[r#"
            "out.txt" create by agent d/main:s1|e/main:s2 shared +1 -0
            nothing done
            rollback: "out.txt" leave shared
            rollback: "out.txt" delete exact
            out.txt: absent
        "#]],
    );
}

#[test]
fn scopes_agent_message_file_and_last() {
    story(
        r"
        edit d e1 a.txt: 1 => one
        subagent d/helper of main
        edit d/helper e2 a.txt: 3 => three
        say d: more
        edit d e3 a.txt: 5 => five
        write d w4 b.txt: b
        rollback agent=helper
        cat a.txt
        rollback dialog=d message=1
        cat a.txt
        edit d e5 a.txt: 7 => seven
        rollback file=a.txt last
        cat a.txt
        rollback file=a.txt
        cat a.txt
        cat b.txt
        rollback file=nothing.txt
        rollback call=e1
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/helper:e2 certain +1 -1
            "a.txt" modify by agent d/main:e3 certain +1 -1
            "b.txt" create by agent d/main:w4 certain +1 -0
            rollback: "a.txt" write merged
            a.txt: one\n2\n3\n4\nfive\n6\n7\n8\n9\n
            rollback: "a.txt" write merged
            a.txt: 1\n2\n3\n4\nfive\n6\n7\n8\n9\n
            "a.txt" modify by agent d/main:e5 certain +1 -1
            rollback: "a.txt" write exact
            a.txt: 1\n2\n3\n4\nfive\n6\n7\n8\n9\n
            rollback: "a.txt" write merged
            a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
            b.txt: b
            nothing done
            nothing done
        "#]],
    );
}

#[test]
fn what_was_rejected_stays_rejected_and_what_was_approved_is_rolled_back() {
    story(
        r"
        edit d e1 a.txt: 1 => one
        edit d e2 a.txt: 5 => five
        reject call=e1 named
        reject call=e1 named
        approve d
        reject call=e2 named
        reject dialog=d
        cat a.txt
        rollback call=e2
        cat a.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            reject: "a.txt" write merged
            nothing done
            reject: "a.txt" leave decided
            approved session_1: 1 changes, now session_2
            error: change c9 was approved
            nothing done
            a.txt: 1\n2\n3\n4\nfive\n6\n7\n8\n9\n
            rollback: "a.txt" write merged
            a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
            e1 "a.txt" rejected
            e2 "a.txt" reverted approved
        "#]],
    );
}

#[test]
fn accept_never_writes() {
    story(
        r"
        edit d e1 a.txt: 1 => one
        run sed -i s/one/mine/ a.txt
        accept call=e1
        accept call=e1
        accept dialog=d
        cat a.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            accepted 1, already 0
            accepted 0, already 1
            accepted 0, already 1
            a.txt: mine\n2\n3\n4\n5\n6\n7\n8\n9\n
            e1 "a.txt" accepted
        "#]],
    );
}

#[test]
fn a_formatters_rewrite_goes_with_what_it_formatted() {
    check(
        r"
        file a.rs: fn a(){}\nfn b(){}\n
        init
        say d: go
        write d w1 a.rs: fn a(){1;}\nfn b(){}\n
        file a.rs: fn a() { 1; }\nfn b(){}\n
        turn-end d
        reject call=w1 named
        cat a.rs
        statuses
        ",
        &expect![[r#"
            "a.rs" modify by agent d/main:w1 certain +1 -1
            "a.rs" modify by agent d/main:w1 late +1 -1 joins
            reject: "a.rs" write exact
            a.rs: fn a(){}\nfn b(){}\n
            w1 "a.rs" rejected
            w1 "a.rs" rejected
        "#]],
    );
}

#[test]
fn a_line_of_yours_right_below_the_agents_stays() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        edit d e1 a.txt: 2\n => 2\nagent one\nagent two\n
        file a.txt: 1\n2\nagent one\nagent two\nmine\n3\n
        undo
        cat a.txt
        redo
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +2 -0
            undo: "a.txt" write merged
            a.txt: 1\n2\nmine\n3\n
            redo: "a.txt" write exact
            a.txt: 1\n2\nagent one\nagent two\nmine\n3\n
        "#]],
    );
}
