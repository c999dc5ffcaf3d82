//! Who wrote each line.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fmt::Write as _;

use retake_engine::model::ProjectPath;
use retake_engine::{BlameBody, FileBlame, LineOrigin};
use retake_testkit::{TestProject, expect, play};

fn blame(project: &TestProject, path: &str) -> Option<FileBlame> {
    let path: ProjectPath = path.parse().unwrap();
    project.open().blame(&path).unwrap()
}

/// One line for each line of the file: who, and what it says.
fn show(project: &TestProject, path: &str) -> String {
    let blame = blame(project, path).unwrap();
    let BlameBody::Lines(lines) = &blame.body else { return format!("{:?}\n", blame.body) };
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(line.number as usize, at + 1);
        let who = match line.origin {
            LineOrigin::Baseline => "before".to_owned(),
            LineOrigin::Unseen => "unseen".to_owned(),
            LineOrigin::Change(id) => {
                let change = &blame.changes[&id].change;
                match &change.call {
                    Some(call) => format!("{}:{call}", change.dialog.as_ref().unwrap()),
                    None => change.actor.to_string(),
                }
            }
        };
        let line = format!("{who:<8} {}", String::from_utf8_lossy(&line.text));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn check(story: &str, path: &str, expected: &expect_test::Expect) {
    let project = TestProject::new();
    play(&project, story);
    expected.assert_eq(&show(&project, path));
}

#[test]
fn each_line_is_of_the_change_that_wrote_it() {
    check(
        r"
        file a.txt: one\ntwo\nthree\n
        init
        edit d1 e1 a.txt: two => TWO
        edit d2 e2 a.txt: three => three\nfour
        run echo mine >> a.txt
        look
        shell d1 s1: sed -i 1s/^/zero\\n/ a.txt
        ",
        "a.txt",
        &expect![[r#"
            d1:s1    zero
            before   one
            d1:e1    TWO
            before   three
            d2:e2    four
            user     mine
        "#]],
    );
}

#[test]
fn a_file_that_an_agent_wrote_is_all_its_own_until_others_edit_it() {
    check(
        r"
        init
        write d1 w1 new.txt: a\nb\nc
        run printf 'a\nB\nc' > new.txt
        look
        ",
        "new.txt",
        &expect![[r#"
            d1:w1    a
            user     B
            d1:w1    c
        "#]],
    );
}

#[test]
fn what_was_there_before_is_nobody_s_even_after_it_moved() {
    check(
        r"
        file src/a.txt: one\ntwo\nthree\nfour\nfive\n
        init
        edit d1 e1 src/a.txt: two => 2
        shell d1 s1: mkdir lib; mv src/a.txt lib/b.txt
        run mv lib/b.txt c.txt
        look
        edit d2 e2 c.txt: four => 4
        ",
        "c.txt",
        &expect![[r#"
            before   one
            d1:e1    2
            before   three
            d2:e2    4
            before   five
        "#]],
    );
}

#[test]
fn a_path_that_is_used_again_does_not_inherit() {
    check(
        r"
        file a.txt: one\ntwo\nthree\n
        init
        run mv a.txt b.txt
        look
        write d1 w1 a.txt: one\ntwo\n
        ",
        "a.txt",
        &expect![[r#"
            d1:w1    one
            d1:w1    two
        "#]],
    );
}

#[test]
fn a_formatter_s_lines_are_those_of_the_change_that_it_formats() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.rs: fn a() {}\n
        init
        say d1: write b
        edit d1 e1 a.rs: fn a() {} => fn a() {}\nfn b( ){ x }
        file a.rs: fn a() {}\nfn b() {\n    x\n}\n
        look
        ",
    );
    expect![[r#"
        before   fn a() {}
        d1:e1    fn b() {
        d1:e1        x
        d1:e1    }
    "#]]
    .assert_eq(&show(&project, "a.rs"));
    let [edit, formatted] = project.changes().try_into().unwrap();
    assert_eq!(formatted.joins, Some(edit.id));
    assert_eq!(blame(&project, "a.rs").unwrap().changes.into_keys().collect::<Vec<_>>(), [edit.id]);
}

/// No verb makes such a change yet, so one of the person is given to Retake.
fn as_retake(project: &TestProject) {
    let last = project.refresh().changes.pop().unwrap();
    let store = project.open().store().folder().join("retake.db");
    let db = rusqlite::Connection::open(store).unwrap();
    let sql = "UPDATE change SET actor = 'retake' WHERE seq = ?1";
    assert_eq!(db.execute(sql, [last.id.0 as i64]).unwrap(), 1);
}

#[test]
fn what_retake_puts_back_is_of_whoever_wrote_it_first() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: one\ntwo\n
        init
        edit d1 e1 a.txt: two => two\nagent
        edit d2 e2 a.txt: one\ntwo => 1\n2
        ",
    );
    // The whole state before e2.
    project.write("a.txt", "one\ntwo\nagent\n");
    as_retake(&project);
    expect![[r#"
        before   one
        before   two
        d1:e1    agent
    "#]]
    .assert_eq(&show(&project, "a.txt"));
}

#[test]
fn a_state_that_comes_back_whole_has_the_origins_that_it_had() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: b\n
        init
        edit d1 e1 a.txt: b => a\nb
        edit d2 e2 a.txt: a\nb => b
        file a.txt: a\nb\nc\n
        look
        write d2 w3 a.txt: b\n
        ",
    );
    // The `a` that was removed last is the person's; the one of this state is not.
    project.write("a.txt", "a\nb\n");
    as_retake(&project);
    expect![[r#"
        d1:e1    a
        before   b
    "#]]
    .assert_eq(&show(&project, "a.txt"));
}

#[test]
fn what_retake_takes_back_under_later_edits_keeps_its_origins() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: one\ntwo\n\nthree\nfour\n
        init
        edit d1 e1 a.txt: two\n\nthree => two\n\nagent\n\nthree
        shell d2 s2: sed -i '2,6d' a.txt
        run echo later >> a.txt
        look
        ",
    );
    project.write("a.txt", "one\ntwo\n\nagent\n\nthree\nfour\nlater\n(merged)\n");
    as_retake(&project);
    expect![[r#"
        before   one
        before   two
        before
        d1:e1    agent
        d1:e1
        before   three
        before   four
        user     later
        retake   (merged)
    "#]]
    .assert_eq(&show(&project, "a.txt"));
}

#[test]
fn a_deleted_file_that_retake_restores_is_as_before() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: one\ntwo\n
        init
        edit d1 e1 a.txt: two => 2
        shell d1 s1: rm a.txt
        ",
    );
    assert!(blame(&project, "a.txt").is_none());
    project.write("a.txt", "one\n2\n");
    as_retake(&project);
    expect![[r#"
        before   one
        d1:e1    2
    "#]]
    .assert_eq(&show(&project, "a.txt"));
}

#[test]
fn a_move_that_retake_undoes_changes_no_line() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: one\ntwo\n
        init
        edit d1 e1 a.txt: two => 2
        shell d2 s1: mv a.txt b.txt
        ",
    );
    project.shell("mv b.txt a.txt");
    as_retake(&project);
    expect![[r#"
        before   one
        d1:e1    2
    "#]]
    .assert_eq(&show(&project, "a.txt"));
}

#[test]
fn content_that_was_not_captured_is_nobody_s() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: one\ntwo\n
        init
        edit d1 e1 a.txt: two => 2
        edit d1 e2 a.txt: one => ONE
        edit d1 e3 a.txt: 2 => 2\nthree
        ",
    );
    let store = project.open().store().folder().join("retake.db");
    let db = rusqlite::Connection::open(store).unwrap();
    let [second, third] = [1, 2].map(|at| project.changes()[at].id.0 as i64);
    // A change that is lost.
    db.execute("UPDATE change SET path = 'other' WHERE seq = ?1", [second]).unwrap();
    expect![[r#"
        unseen   ONE
        d1:e1    2
        d1:e3    three
    "#]]
    .assert_eq(&show(&project, "a.txt"));
    // A change whose content was not captured before it.
    let sql = "UPDATE change SET before_kind = 3, before_mode = NULL, before_size = NULL,
        before_oid = NULL, added = NULL, removed = NULL, hunks = NULL WHERE seq = ?1";
    db.execute(sql, [third]).unwrap();
    expect![[r#"
        unseen   ONE
        d1:e1    2
        unseen   three
    "#]]
    .assert_eq(&show(&project, "a.txt"));
}

#[test]
fn what_has_no_lines_says_why() {
    let project = TestProject::new();
    project.write("binary", b"a\0b\n");
    project.write("empty", b"");
    project.write("large", vec![b'x'; retake_engine::MAX_DIFF_BYTES as usize + 1]);
    project.init();
    assert_eq!(show(&project, "binary"), "Binary\n");
    assert_eq!(show(&project, "large"), "TooLarge\n");
    assert_eq!(show(&project, "empty"), "");
    assert!(blame(&project, "nowhere").is_none());
    let store = project.open().store().folder().join("retake.db");
    let db = rusqlite::Connection::open(store).unwrap();
    db.execute("UPDATE manifest SET oid = NULL, kind = 3 WHERE path = CAST('empty' AS BLOB)", [])
        .unwrap();
    assert_eq!(show(&project, "empty"), "NotCaptured\n");
    // What was binary is of whoever made it text.
    play(&project, r"write d1 w1 binary: text\n");
    assert_eq!(show(&project, "binary"), "d1:w1    text\n");
}

#[test]
fn a_change_tells_its_turn_and_the_message_that_began_it() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: one\n
        init
        edit d1 e0 a.txt: one => one\nzero
        say d2: other
        say d1: first
        edit d1 e1 a.txt: zero => zero\nfirst
        say d1: make it second
        edit d1/helper e2 a.txt: first => first\nsecond
        ",
    );
    let blame = blame(&project, "a.txt").unwrap();
    let told: Vec<_> = blame
        .changes
        .values()
        .map(|blamed| {
            let message = blamed.message.as_ref().map(|message| message.text.as_str());
            (blamed.change.call.as_ref().unwrap().0.as_str(), blamed.change.turn, message)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("e0", Some(0), None),
            ("e1", Some(1), Some("first")),
            ("e2", Some(2), Some("make it second"))
        ]
    );
    let seq = blame.changes.values().last().unwrap().message.clone().unwrap().seq;
    let events = project.open().store().events_after(seq - 1, 1).unwrap();
    assert_eq!(events[0].kind, retake_engine::model::JournalKind::UserMessage);
}

/// Many edits of many authors: every line says in its own text who wrote it.
#[test]
fn lines_that_name_their_author_are_of_that_author() {
    for seed in 0..6 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let project = TestProject::new();
        let mut lines: Vec<String> = (0..12).map(|n| format!("before {n}")).collect();
        let text = |lines: &[String]| lines.iter().fold(String::new(), |all, l| all + l + "\n");
        let mut name = "f0.txt".to_owned();
        project.write(&name, text(&lines));
        project.init();
        for step in 0..12 {
            let at = rng.usize(..=lines.len());
            let end = (at + rng.usize(..3)).min(lines.len());
            let call = format!("w{step}");
            let by_user = rng.u8(..3) == 0;
            let who = if by_user { "user".to_owned() } else { format!("d1:{call}") };
            let new: Vec<_> = (0..rng.usize(1..4)).map(|n| format!("{who} {step} {n}")).collect();
            lines.splice(at..end, new);
            if by_user {
                if rng.bool() {
                    project.refresh();
                    let new_name = format!("f{}.txt", step + 1);
                    project.shell(&format!("mv {name} {new_name}"));
                    name = new_name;
                    project.refresh();
                }
                project.write(&name, text(&lines));
                project.refresh();
            } else {
                let content = text(&lines).replace('\n', "\\n");
                play(&project, &format!("write d1 {call} {name}: {content}"));
            }
        }
        for line in show(&project, &name).lines() {
            let (who, text) = line.split_at(9);
            assert!(text.starts_with(who.trim()), "seed {seed}: {line}");
        }
    }
}
