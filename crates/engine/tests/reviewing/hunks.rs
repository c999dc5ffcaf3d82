//! The hunks of a scope, and who is behind them.

use expect_test::expect;
use retake_engine::{ReviewScope, ScopeChanges};
use retake_testkit::{TestProject, check, play};

/// The person edits the same file before, between and after; only the agent's lines are hunks.
#[test]
fn lines_of_the_person_are_never_an_agents() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        file a.txt: mine\n1\n2\n3\n4\n5\n6\n7\n8\n9\n
        say d: go
        edit d e1 a.txt: 2 => two
        run sed -i 's/5/five, by me/' a.txt
        edit d e2 a.txt: 8 => eight
        run sed -i 's/9/nine, by me/' a.txt
        review all
        review everything
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -0
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by user +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            a.txt
              1 lines @3 -2 +two by e1
              2 entangled @9 -8 +eight by e2, under user
            a.txt
              1 lines @1 +mine by user
              2 lines @3 -2 +two by e1
              3 lines @6 -5 +five, by me by user
              4 lines @9 -8 -9 +eight +nine, by me by e2 user
        "#]],
    );
}

#[test]
fn every_scope_shows_its_changes_and_no_others() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: first
        edit d e1 a.txt: 1 => one
        subagent d/helper of main
        edit d/helper e2 a.txt: 3 => three
        say d: second
        edit d e3 a.txt: 5 => five
        say other: go
        edit other e4 a.txt: 7 => seven
        write other w5 new.txt: new\n
        review last-turn
        review dialog=d
        review dialog=d message=1
        review dialog=d agent=helper
        review call=e3
        review file=new.txt
        review unseen
        all-seen
        review unseen
        edit other e6 a.txt: 9 => nine
        review unseen
        review all
        approve d
        review all
        review all approved
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/helper:e2 certain +1 -1
            "a.txt" modify by agent d/main:e3 certain +1 -1
            "a.txt" modify by agent other/main:e4 certain +1 -1
            "new.txt" create by agent other/main:w5 certain +1 -0
            a.txt
              1 lines @7 -7 +seven by e4
            new.txt
              1 create +new by w5
            a.txt
              1 lines @1 -1 +one by e1
              2 lines @3 -3 +three by e2
              3 lines @5 -5 +five by e3
            a.txt
              1 lines @1 -1 +one by e1
              2 lines @3 -3 +three by e2
            a.txt
              1 lines @3 -3 +three by e2
            a.txt
              1 lines @5 -5 +five by e3
            new.txt
              1 create +new by w5
            a.txt
              1 lines @1 -1 +one by e1
              2 lines @3 -3 +three by e2
              3 lines @5 -5 +five by e3
              4 lines @7 -7 +seven by e4
            new.txt
              1 create +new by w5
            no files
            "a.txt" modify by agent other/main:e6 certain +1 -1
            a.txt
              1 lines @9 -9 +nine by e6
            a.txt
              1 lines @1 -1 +one by e1
              2 lines @3 -3 +three by e2
              3 lines @5 -5 +five by e3
              4 lines @7 -7 +seven by e4
              5 lines @9 -9 +nine by e6
            new.txt
              1 create +new by w5
            approved session_1: 3 changes, now session_2
            a.txt
              1 lines @7 -7 +seven by e4
              2 lines @9 -9 +nine by e6
            new.txt
              1 create +new by w5
            a.txt
              1 lines @1 -1 +one by e1, reviewed
              2 lines @3 -3 +three by e2, reviewed
              3 lines @5 -5 +five by e3, reviewed
              4 lines @7 -7 +seven by e4
              5 lines @9 -9 +nine by e6
            new.txt
              1 create +new by w5
        "#]],
    );
}

/// What several turns did to one place is one hunk, and edits that cancel out are none.
#[test]
fn a_hunk_is_the_net_difference() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: two => TWO
        edit d e3 a.txt: 6 => six
        edit d e4 a.txt: six => 6
        write d w5 temp.txt: temporary\n
        shell d s6: rm temp.txt
        review all
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            "a.txt" modify by agent d/main:e3 certain +1 -1
            "a.txt" modify by agent d/main:e4 certain +1 -1
            "temp.txt" create by agent d/main:w5 certain +1 -0
            "temp.txt" delete by agent d/main:s6 window +0 -1
            a.txt
              1 lines @2 -2 +TWO by e1 e2
            temp.txt
              no hunks
        "#]],
    );
}

#[test]
fn what_has_no_lines_is_a_hunk_of_its_own() {
    check(
        r"
        file gone.txt: bye\n
        file old.txt: a text that is long enough\nto be known again\nwhen it has moved\n
        file run.sh: echo\n
        file image.bin: \x00\x01
        run ln -s gone.txt link; seq 1 200000 > large.txt
        init
        say d: go
        write d w1 made.txt: one\ntwo\n
        shell d s2: rm gone.txt
        shell d s3: mv old.txt new.txt; sed -i 's/known/recognised/' new.txt
        shell d s4: chmod 755 run.sh
        shell d s5: printf '\000\002' > image.bin
        shell d s6: ln -sfn made.txt link
        shell d s7: echo more >> large.txt
        review all
        reject-hunks all new.txt#1 run.sh#1 image.bin#1
        run cat new.txt old.txt 2>&1 | head -3 > seen.txt; stat -c %a run.sh >> seen.txt
        cat seen.txt
        review all
        ",
        &expect![[r#"
            "made.txt" create by agent d/main:w1 certain +2 -0
            "gone.txt" delete by agent d/main:s2 window +0 -1
            "old.txt" -> "new.txt" rename by agent d/main:s3 window +1 -1
            "run.sh" mode by agent d/main:s4 window +0 -0
            "image.bin" modify by agent d/main:s5 window no-lines
            "link" modify by agent d/main:s6 window +1 -1
            "large.txt" modify by agent d/main:s7 window no-lines
            gone.txt
              1 delete -bye by s2
            image.bin
              1 binary by s5
            large.txt
              1 too_large by s7
            link
              1 link -gone.txt +made.txt by s6
            made.txt
              1 create +one +two by w1
            new.txt from old.txt
              1 rename by s3
              2 lines @2 -to be known again +to be recognised again by s3
            run.sh
              1 mode by s4
            reject: "image.bin" write exact
            reject: "new.txt" delete merged
            reject: "old.txt" create merged
            reject: "run.sh" mode exact
            seen.txt: cat: new.txt: No such file or directory\na text that is long enough\nto be recognised again\n644\n
            gone.txt
              1 delete -bye by s2
            large.txt
              1 too_large by s7
            link
              1 link -gone.txt +made.txt by s6
            made.txt
              1 create +one +two by w1
            old.txt
              1 lines @2 -to be known again +to be recognised again by s3
        "#]],
    );
}

/// A later change of somebody else stands in the way: the place is one hunk, as recorded.
#[test]
fn a_place_that_others_changed_since_is_entangled() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        edit d e2 a.txt: 8 => eight
        say other: go
        edit other e3 a.txt: two => zwei
        review dialog=d
        reject-hunks dialog=d a.txt#1
        reject-hunks dialog=d a.txt#1 cascade
        cat a.txt
        undo
        run sed -i 's/zwei/mine/' a.txt
        review dialog=d
        review all
        reject-hunks all a.txt#1
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent d/main:e2 certain +1 -1
            "a.txt" modify by agent other/main:e3 certain +1 -1
            a.txt
              1 entangled @2 -2 +two by e1, under e3
              2 lines @8 -8 +eight by e2
            nothing done
            reject: "a.txt" leave conflict blocked by e3
            reject: "a.txt" write merged
            a.txt: 1\n2\n3\n4\n5\n6\n7\neight\n9\n
            undo: "a.txt" write exact
            a.txt
              1 entangled @2 -2 +two by e1, under e3 user
              2 lines @8 -8 +eight by e2
            a.txt
              1 entangled @2 -2 +zwei by e1 e3, under user
              2 lines @8 -8 +eight by e2
            nothing done
            reject: "a.txt" leave conflict blocked by user
            a.txt: 1\nmine\n3\n4\n5\n6\n7\neight\n9\n
        "#]],
    );
}

/// A whole file that cannot be taken out is one hunk.
#[test]
fn a_file_that_cannot_be_taken_out_is_one_hunk() {
    check(
        r"
        file a.bin: \x00one
        init
        say d: go
        shell d s1: printf '\000two' > a.bin
        run printf '\000mine' > a.bin
        review all
        reject-hunks all a.bin#1
        run xxd a.bin > seen.txt; true
        review all
        ",
        &expect![[r#"
            "a.bin" modify by agent d/main:s1 window no-lines
            a.bin
              1 entangled @1 by s1, under user
            nothing done
            reject: "a.bin" leave changed_since blocked by user
            a.bin
              1 entangled @1 by s1, under user
        "#]],
    );
}

/// Equal hunks between equal lines are numbered; acts on them need the state of the file.
#[test]
fn equal_hunks_are_numbered_and_need_the_digest() {
    check(
        r"
        file a.txt: x\nx\nx\ny\nx\nx\nx\nx\nx\nx\ny\nx\nx\nx\n
        init
        say d: go
        shell d s1: sed -i 's/y/z/' a.txt
        review all
        reject-hunks all a.txt#2 no-digest
        reject-hunks all a.txt#2
        cat a.txt
        review all
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:s1 window +2 -2
            a.txt
              1 lines @4 -y +z by s1, number 1
              2 lines @11 -y +z by s1, number 2
            error: hunk hd3f589c089ca.2 is one of several equal ones, and its file may have changed since
            reject: "a.txt" write merged
            a.txt: x\nx\nx\nz\nx\nx\nx\nx\nx\nx\ny\nx\nx\nx\n
            a.txt
              1 lines @4 -y +z by s1
        "#]],
    );
}

/// A command during which two agents were at work may be of either.
#[test]
fn what_may_be_anothers_is_left_out_of_a_dialogs_scope() {
    check(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        say other: go
        begin d s1 sh: make
        begin other s2 sh: make
        run echo 4 >> a.txt
        end d s1
        end other s2
        review dialog=d
        review dialog=d include-shared
        review all
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:s1|other/main:s2 shared +1 -0
            no files
            shared: 1
            a.txt
              1 lines @4 +4 by agent
            a.txt
              1 lines @4 +4 by agent
        "#]],
    );
}

/// git took the changes back, or brought them: they are no hunks, and no obstacle.
#[test]
fn what_git_took_back_is_no_hunk() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        run git init -q && git add -A && git commit -qm base
        init
        say d: go
        edit d e1 a.txt: 2 => two
        turn-end d
        run git stash -q
        look
        review all
        run git stash pop -q
        look
        review all
        run git commit -qam work
        review all
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by git +1 -1
            no files
            "a.txt" modify by git +1 -1
            a.txt
              1 lines @2 -2 +two by e1
            a.txt
              1 lines @2 -2 +two by e1
        "#]],
    );
}

/// A move that was rejected and undone, with another file in the old place: nothing is shown as new.
#[test]
fn a_moved_file_stays_the_file_that_it_was() {
    check(
        r"
        file b.txt: base 1\nbase 2\nbase 3\nbase 4\n
        init
        say d: go
        shell d s1: mv b.txt moved.txt
        reject-hunks all moved.txt#1
        undo
        write d w2 b.txt: other\nother 2\n
        run sed -i 's/base 2/mine/' moved.txt
        review all
        reject-hunks all
        cat b.txt
        cat moved.txt
        ",
        &expect![[r#"
            "b.txt" -> "moved.txt" rename by agent d/main:s1 window +0 -0
            reject: "b.txt" create exact
            reject: "moved.txt" delete exact
            undo: "b.txt" delete exact
            undo: "moved.txt" create exact
            "b.txt" create by agent d/main:w2 certain +2 -0
            b.txt
              1 create +other +other 2 by w2
            moved.txt from b.txt
              1 rename by s1
            reject: "b.txt" write exact
            reject: "moved.txt" delete exact
            b.txt: base 1\nmine\nbase 3\nbase 4\n
            moved.txt: absent
        "#]],
    );
}

/// The list follows from the rows of the changes, and the hunks of one file read no other: all other
/// contents may be damaged.
#[test]
fn nothing_is_read_of_files_that_nobody_asks_for() {
    let project = TestProject::new();
    play(&project, "init\nsay d: go");
    for number in 0..20 {
        play(&project, &format!(r"write d w{number} file{number}.txt: line {number}\n"));
    }
    let opened = project.open();
    let asked = retake_store::hash_blob(b"line 7\n").unwrap();
    let db = rusqlite::Connection::open(opened.store().folder().join("retake.db")).unwrap();
    let damage = "UPDATE object SET data = x'00112233' WHERE kind = 1 AND oid <> ?1";
    assert!(db.execute(damage, [asked.as_bytes()]).unwrap() >= 19);
    let opened = project.open();
    let review = opened.review(&ReviewScope::of(ScopeChanges::AllAgents)).unwrap();
    assert_eq!(review.entries().len(), 20);
    let counts: Vec<_> = review.entries().iter().map(|it| (it.added, it.removed)).collect();
    assert_eq!(counts, vec![(1, 0); 20]);
    let entry = review.entries().iter().find(|it| it.path.to_string() == "file7.txt").unwrap();
    let file = review.files(entry).unwrap().remove(0);
    assert_eq!(file.hunks[0].added, [b"line 7\n".to_vec()]);
    let damaged = review.entries().iter().find(|it| it.path.to_string() == "file8.txt").unwrap();
    let shown = review.files(damaged).unwrap().remove(0);
    assert_ne!(shown.hunks[0].added, [b"line 8\n".to_vec()], "the content was damaged");
}
