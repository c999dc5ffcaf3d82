//! What comes into sight is baseline; what is tracked stays in sight.

use retake_testkit::{TestProject, check, expect, play};

#[test]
fn rules_that_change_make_baseline_and_never_create() {
    check(
        r"
        file .gitignore: *.dat\nsecret/\n
        file a.dat: old\n
        file secret/key: old\n
        init
        shell d1 s1: printf '' > .gitignore; printf x > new.txt; make 2>/dev/null || true
        file a.dat: now tracked\n
        look
        ",
        &expect![[r#"
            ".gitignore" modify by agent d1/main:s1 window +0 -2
            "new.txt" create by agent d1/main:s1 window +1 -0
            "a.dat" modify by user +1 -1
        "#]],
    );
}

#[test]
fn known_files_stay_tracked_when_rules_hide_them() {
    check(
        r"
        file a.log: one\n
        file b.txt: x\n
        init
        file .gitignore: *.txt\n
        file b.txt: still seen\n
        file c.txt: hidden\n
        look
        ",
        &expect![[r#"
            ".gitignore" create by user +1 -0
            "b.txt" modify by user +1 -1
        "#]],
    );
}

#[test]
fn tool_named_files_are_tracked_though_ignored() {
    check(
        r"
        file .gitignore: .env\nout/\n
        file .env: A=1\n
        init
        write d1 w1 .env: A=2\n
        write d1 w2 out/x.txt: new\n
        run rm .env
        look
        ",
        &expect![[r#"
            ".env" modify by agent d1/main:w1 certain +1 -1
            "out/x.txt" create by agent d1/main:w2 certain +1 -0
            ".env" delete by user +0 -1
        "#]],
    );
}

#[test]
fn what_could_not_be_read_before_is_no_creation() {
    let project = TestProject::new();
    play(&project, "file locked.txt: mine\nfile a.txt: x\ninit");
    // As if the file had been there, unreadable, at the last look.
    let db = rusqlite::Connection::open(project.open().store().folder().join("retake.db")).unwrap();
    db.execute("DELETE FROM manifest WHERE path = CAST('locked.txt' AS BLOB)", []).unwrap();
    let gap = "INSERT INTO gap VALUES(CAST('locked.txt' AS BLOB), 'unreadable', '', 1)";
    db.execute(gap, []).unwrap();
    assert_eq!(play(&project, "shell d1 s1: make 2>/dev/null || true\ngaps"), "");
    assert_eq!(project.open().status().unwrap().files, 2, "it is baseline now");
}

#[test]
fn tracked_files_in_ignored_folders_are_seen_when_they_come_back() {
    check(
        r"
        file .gitignore: dist/\n
        file dist/app.js: one\n
        run git init -q . && git add -f . && git commit -qm one
        init
        shell d1 s1: rm -rf dist
        begin d1 s2 sh: npm run build
        file dist/app.js: two\n
        end d1 s2
        ",
        &expect![[r#"
            "dist/app.js" delete by agent d1/main:s1 window +0 -1
            "dist/app.js" create by agent d1/main:s2 window +1 -0
        "#]],
    );
}
