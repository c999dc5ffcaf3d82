//! Rejecting places of what agents wrote.

use expect_test::expect;
use retake_engine::{
    HunkChoice, HunkRequest, OperationError, ReviewScope, ScopeChanges, TakeBackOptions,
};
use retake_testkit::{TestProject, check, play};

#[test]
fn one_place_goes_and_the_others_stay() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        shell d s1: sed -i 's/2/two/; s/8/eight/' a.txt
        run sed -i 's/5/five, by me/' a.txt
        reject-hunks all a.txt#1 because=digits_are_shorter
        cat a.txt
        statuses
        review all
        undo
        cat a.txt
        review all
        redo
        reject-hunks all
        cat a.txt
        statuses
        undo
        undo
        cat a.txt
        statuses
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:s1 window +2 -2
            reject: "a.txt" write merged
            a.txt: 1\n2\n3\n4\nfive, by me\n6\n7\neight\n9\n
            s1 "a.txt" pending
            a.txt
              1 lines @8 -8 +eight by s1
            undo: "a.txt" write exact
            a.txt: 1\ntwo\n3\n4\nfive, by me\n6\n7\neight\n9\n
            a.txt
              1 lines @2 -2 +two by s1
              2 lines @8 -8 +eight by s1
            redo: "a.txt" write exact
            reject: "a.txt" write exact
            a.txt: 1\n2\n3\n4\nfive, by me\n6\n7\n8\n9\n
            s1 "a.txt" rejected
            undo: "a.txt" write exact
            undo: "a.txt" write exact
            a.txt: 1\ntwo\n3\n4\nfive, by me\n6\n7\neight\n9\n
            s1 "a.txt" pending
        "#]],
    );
}

#[test]
fn lines_of_a_place_go() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n
        init
        say d: go
        edit d e1 a.txt: 2\n3 => two\nthree\nand more
        reject-hunks all a.txt#1:+3
        cat a.txt
        reject-hunks all a.txt#1:+1,-1
        cat a.txt
        review all
        reject-hunks all a.txt#1:+9
        reject-hunks all
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +3 -2
            reject: "a.txt" write merged
            a.txt: 1\ntwo\nthree\n4\n
            reject: "a.txt" write merged
            a.txt: 1\n2\nthree\n4\n
            a.txt
              1 lines @3 -3 +three by e1
            error: hunk hc57466cb436b has 1 removed and 1 added lines that can be chosen
            reject: "a.txt" write exact
            a.txt: 1\n2\n3\n4\n
        "#]],
    );
}

#[test]
fn a_file_without_a_final_newline_stays_one() {
    check(
        r"
        file a.txt: 1\n2\n3
        init
        say d: go
        edit d e1 a.txt: 3 => 3\n4\n5
        edit d e2 a.txt: 1 => one
        review all
        reject-hunks all a.txt#1
        cat a.txt
        reject-hunks all
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +3 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            a.txt
              1 lines @1 -1 +one by e2
              2 lines @3 -3 +3 +4 +5 by e1
            reject: "a.txt" write merged
            a.txt: 1\n2\n3\n4\n5
            reject: "a.txt" write exact
            a.txt: 1\n2\n3
        "#]],
    );
}

/// Rejecting what the person did is asked for by its scope alone; bytes come back by undo.
#[test]
fn lines_of_the_person_go_only_where_the_scope_is_everything() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        run sed -i 's/8/eight, by me/' a.txt
        reject-hunks all
        cat a.txt
        undo
        review everything
        reject-hunks everything a.txt#2 dry
        reject-hunks everything a.txt#2
        cat a.txt
        undo
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            reject: "a.txt" write exact
            a.txt: 1\n2\n3\n4\n5\n6\n7\neight, by me\n9\n
            undo: "a.txt" write exact
            a.txt
              1 lines @2 -2 +two by e1
              2 lines @8 -8 +eight, by me by user
            reject: "a.txt" write merged
            reject: "a.txt" write merged
            a.txt: 1\ntwo\n3\n4\n5\n6\n7\n8\n9\n
            undo: "a.txt" write exact
            a.txt: 1\ntwo\n3\n4\n5\n6\n7\neight, by me\n9\n
        "#]],
    );
}

/// A file that an agent deleted, and one that it made.
#[test]
fn creation_and_deletion_are_rejected_whole_and_in_lines() {
    check(
        r"
        file gone.txt: bye\n
        init
        say d: go
        shell d s1: rm gone.txt
        write d w2 made.txt: one\ntwo\nthree\n
        reject-hunks all gone.txt#1
        cat gone.txt
        reject-hunks all made.txt#1:+2
        cat made.txt
        review all
        reject-hunks all made.txt#1
        cat made.txt
        statuses
        undo
        cat made.txt
        ",
        &expect![[r#"
            "gone.txt" delete by agent d/main:s1 window +0 -1
            "made.txt" create by agent d/main:w2 certain +3 -0
            reject: "gone.txt" create exact
            gone.txt: bye\n
            reject: "made.txt" write merged
            made.txt: one\nthree\n
            made.txt
              1 create +one +three by w2
            reject: "made.txt" delete exact
            made.txt: absent
            s1 "gone.txt" rejected
            w2 "made.txt" rejected
            undo: "made.txt" create exact
            made.txt: one\nthree\n
        "#]],
    );
}

/// What was approved is settled.
#[test]
fn approved_work_is_not_rejected() {
    check(
        r"
        file a.txt: 1\n
        init
        say d: go
        edit d e1 a.txt: 1 => one
        approve d
        reject-hunks all approved
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            approved session_1: 1 changes, now session_2
            error: change c6 was approved
            a.txt: one\n
        "#]],
    );
}

/// A whole rollback takes along what was taken out place by place before; together they are one step.
#[test]
fn a_rollback_after_a_partial_rejection_comes_to_the_same() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        shell d s1: sed -i 's/2/two/; s/5/five/; s/8/eight/' a.txt
        reject-hunks all a.txt#2
        cat a.txt
        rollback dialog=d
        cat a.txt
        undo
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:s1 window +3 -3
            reject: "a.txt" write merged
            a.txt: 1\ntwo\n3\n4\n5\n6\n7\neight\n9\n
            rollback: "a.txt" write exact
            a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
            undo: "a.txt" write exact
            a.txt: 1\ntwo\n3\n4\n5\n6\n7\neight\n9\n
        "#]],
    );
}

/// The agent writes on while the person decides: what is named is what was seen, or nothing is done.
#[test]
fn a_hunk_that_changed_is_stale_and_nothing_is_done() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 8 => eight
        ",
    );
    let opened = project.open();
    let scope = ReviewScope::of(ScopeChanges::AllAgents);
    let seen: Vec<_> = {
        let review = opened.review(&scope).unwrap();
        let file = review.files(&review.entries()[0]).unwrap().remove(0);
        file.hunks.iter().map(|hunk| HunkChoice::whole(hunk.id)).collect()
    };
    play(&project, "edit d e3 a.txt: two => TWO");
    let before = project.read("a.txt");
    let request = HunkRequest { scope: scope.clone(), hunks: seen.clone(), all: false };
    let options = TakeBackOptions::default();
    let stale = Err(vec![seen[0].id]);
    let refused = |error| match error {
        OperationError::StaleHunks(ids) => ids,
        other => panic!("{other}"),
    };
    let planned = opened.plan_reject_places(&request, options, project.tick());
    assert_eq!(planned.map(drop).map_err(refused), stale);
    let queued = opened.queue_rejection(&request, options, None, project.tick());
    assert_eq!(queued.map(drop).map_err(refused), stale);
    let kept = opened.keep_hunks(&request, project.tick());
    assert_eq!(kept.map(drop).map_err(refused), stale);
    assert_eq!(project.read("a.txt"), before);
    assert!(opened.waiting_rejections().unwrap().is_empty());
    let review = opened.review(&scope).unwrap();
    let file = review.files(&review.entries()[0]).unwrap().remove(0);
    assert_eq!(file.unreviewed(), 2, "not even the hunk that is still there was marked");
    assert!(file.hunk(seen[1].id).is_some(), "the other hunk has its id");
}

/// A move cannot be taken back alone while another file has the old place: nothing is decided.
#[test]
fn what_cannot_go_stays_undecided() {
    check(
        r"
        file b.txt: base 1\nbase 2\nbase 3\nbase 4\n
        init
        say d: go
        shell d s1: mv b.txt moved.txt
        write d w2 b.txt: other\n
        reject-hunks all moved.txt#1
        statuses
        reject-hunks all
        statuses
        cat b.txt
        ",
        &expect![[r#"
            "b.txt" -> "moved.txt" rename by agent d/main:s1 window +0 -0
            "b.txt" create by agent d/main:w2 certain +1 -0
            nothing done
            reject: "b.txt" leave occupied
            reject: "moved.txt" leave occupied
            s1 "moved.txt" pending
            w2 "b.txt" pending
            reject: "b.txt" write exact
            reject: "moved.txt" delete exact
            s1 "moved.txt" rejected
            w2 "b.txt" rejected
            b.txt: base 1\nbase 2\nbase 3\nbase 4\n
        "#]],
    );
}

/// What is left of a scope goes as a whole, although places of it went before.
#[test]
fn the_rest_of_a_scope_goes_after_a_place_of_it() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 3 => three\nand more
        say other: go
        edit other e3 a.txt: 5 => five
        reject-hunks dialog=d a.txt#1:+1,-1
        cat a.txt
        reject-hunks dialog=d
        cat a.txt
        undo 2
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +2 -1
            "a.txt" modify by agent other/main:e3 certain +1 -1
            reject: "a.txt" write merged
            a.txt: 1\n2\nthree\nand more\n4\nfive\n
            reject: "a.txt" write exact
            a.txt: 1\n2\n3\n4\nfive\n
            undo: "a.txt" write exact
            undo: "a.txt" write exact
            a.txt: 1\ntwo\nthree\nand more\n4\nfive\n
        "#]],
    );
}
