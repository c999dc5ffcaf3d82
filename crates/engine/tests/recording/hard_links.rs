//! Files with several names: what is written through one name is written to all of them, and a
//! watcher tells of that one only.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

use std::fs::hard_link;

use retake_engine::Project;
use retake_testkit::{ListingHints, TestProject, check, expect};

fn with_eyes(test: &TestProject) -> (Project, ListingHints) {
    let mut project = test.init();
    let rules = project.watch_rules().unwrap();
    let eyes = ListingHints::open(&test.root(), rules.clone());
    project.set_hint_source(Box::new(eyes.clone()), rules);
    assert!(project.refresh(test.tick()).unwrap().whole);
    (project, eyes)
}

/// The paths that a look finds, and whether it walked through everything.
fn looked(test: &TestProject, project: &Project) -> (Vec<String>, bool) {
    let looked = project.refresh(test.tick()).unwrap();
    (looked.changes.iter().map(|change| change.path.to_string()).collect(), looked.whole)
}

fn names(names: &[&str], whole: bool) -> (Vec<String>, bool) {
    (names.iter().map(ToString::to_string).collect(), whole)
}

#[test]
fn what_is_written_through_one_name_is_seen_at_all_of_them() {
    let test = TestProject::new();
    test.write("z/last.txt", "one\n");
    std::fs::create_dir(test.root().join("a")).unwrap();
    hard_link(test.root().join("z/last.txt"), test.root().join("a/first.txt")).unwrap();
    hard_link(test.root().join("z/last.txt"), test.root().join("z/beside.txt")).unwrap();
    let (project, _) = with_eyes(&test);
    let all = ["a/first.txt", "z/beside.txt", "z/last.txt"];
    test.write("z/last.txt", "two\n");
    assert_eq!(looked(&test, &project), names(&all, false));
    test.shell("chmod 600 z/last.txt");
    assert_eq!(looked(&test, &project), names(&all, false));
    // Around, too.
    test.write("z/last.txt", "three\n");
    let at = test.tick();
    assert_eq!(project.refresh_in_background(at).unwrap().changes.len(), 3);
    // A name that goes leaves the others as they are.
    std::fs::remove_file(test.root().join("z/last.txt")).unwrap();
    assert_eq!(looked(&test, &project), names(&["z/last.txt"], false));
    test.write("z/beside.txt", "four\n");
    assert_eq!(looked(&test, &project), names(&["a/first.txt", "z/beside.txt"], false));
}

#[test]
fn a_file_that_gets_another_name_later_is_known_by_both() {
    let test = TestProject::new();
    test.write("a/first.txt", "one\n");
    test.write("other.txt", "other\n");
    let (project, _) = with_eyes(&test);
    test.write("other.txt", "other 2\n");
    assert_eq!(looked(&test, &project), names(&["other.txt"], false));
    hard_link(test.root().join("a/first.txt"), test.root().join("z.txt")).unwrap();
    // Who else has the content nobody can tell without a walk.
    assert_eq!(looked(&test, &project), names(&["z.txt"], true));
    test.write("z.txt", "two\n");
    assert_eq!(looked(&test, &project), names(&["a/first.txt", "z.txt"], false));
}

#[test]
fn what_is_written_through_a_name_outside_of_the_project_is_seen_at_the_next_look() {
    let test = TestProject::new();
    test.write("a.txt", "one\n");
    test.write("b.txt", "one\n");
    let outside = test.outer().join("outside.txt");
    hard_link(test.root().join("a.txt"), &outside).unwrap();
    let (project, eyes) = with_eyes(&test);
    std::fs::write(&outside, "two\n").unwrap();
    test.write("b.txt", "two\n");
    eyes.never_report("a.txt");
    assert_eq!(looked(&test, &project), names(&["a.txt", "b.txt"], false));
}

#[test]
fn an_edit_tool_changes_a_file_at_all_of_its_names() {
    check(
        r#"
        file a.txt: one\n
        run mkdir sub && ln a.txt sub/b.txt
        init
        write d1 w1 a.txt: two\n
        edit d1 e1 sub/b.txt: two => three
        begin d1 w2 Write {"file_path":"a.txt","content":"four\n"}
        file sub/b.txt: by hand, while asked\n
        look
        over d1 w2
        "#,
        &expect![[r#"
            "a.txt" modify by agent d1/main:w1 certain +1 -1
            "sub/b.txt" modify by agent d1/main:w1 window +1 -1
            "a.txt" modify by agent d1/main:e1 window +1 -1
            "sub/b.txt" modify by agent d1/main:e1 certain +1 -1
            "a.txt" modify by user +1 -1
            "sub/b.txt" modify by user +1 -1
        "#]],
    );
}
