//! Folders that come, go and move, and what the rules leave out.

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

fn exchange(project: &WatchTestProject, a: &str, b: &str) {
    renameat_with(CWD, project.at(a), CWD, project.at(b), RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn a_folder_filled_while_it_appears_is_hinted_and_watched() {
    let project = WatchTestProject::new().watched();
    project.write("x/y/z/file");
    let hinted = project.hinted();
    assert!(hinted.contains(&"x".to_owned()), "{hinted:?}");
    assert_eq!(project.watch.state().watched, 4);
    project.check(|project| project.write("x/y/z/file"), &["x/y/z/file"]);
}

#[test]
fn folders_are_followed_in_out_and_within() {
    let project = WatchTestProject::with(&["d/e/a", "other/b"]);
    std::fs::create_dir_all(project.outside("new/deep")).unwrap();
    let project = project.watched();
    project.check(|p| p.rename("d", "other/d"), &["d", "other/d"]);
    project.check(|p| p.write("other/d/e/a"), &["other/d/e/a"]);
    project.check(|p| std::fs::rename(p.outside("new"), p.at("in")).unwrap(), &["in"]);
    project.check(|p| p.write("in/deep/c"), &["in/deep/c"]);
    let out = project.outside("out");
    project.check(|p| std::fs::rename(p.at("other"), &out).unwrap(), &["other"]);
    assert_eq!(project.watch.state().watched, 3, "the root, `in` and `in/deep`");
    project.check(|_| std::fs::write(out.join("d/e/a"), "unseen").unwrap(), &[]);
    project.check(|p| std::fs::remove_dir_all(p.at("in/deep")).unwrap(), &["in/deep", "in/deep/c"]);
    assert_eq!(project.watch.state().watched, 2);
}

#[test]
fn files_and_folders_that_change_places_are_seen() {
    let project = WatchTestProject::with(&["file", "folder/a", "twin/b"]).watched();
    project.check(|p| exchange(p, "file", "folder"), &["file", "folder"]);
    project.check(|p| p.write("file/a"), &["file/a"]);
    project.check(|p| exchange(p, "file", "twin"), &["file", "twin"]);
    project.check(|p| p.write("file/b"), &["file/b"]);
    project.check(|p| p.write("twin/a"), &["twin/a"]);
    let swap = |p: &WatchTestProject| {
        std::fs::remove_dir_all(p.at("twin")).unwrap();
        p.write("twin");
    };
    project.check(swap, &["twin", "twin/a"]);
    assert_eq!(project.watch.state().watched, 2);
}

#[test]
fn ignored_folders_are_not_watched_until_the_rules_change() {
    let project = WatchTestProject::with(&["src/a", "build/deep/b", "node_modules/x/c", ".git/d"]);
    let rules = ignoring("build/\nnode_modules/\n*.log\n");
    let project = project.watched_by(&rules);
    assert_eq!(project.watch.state().watched, 2, "the root and src");
    project.check(
        |project| {
            for file in ["build/deep/b", "node_modules/new", ".git/d", "src/x.log", "b.log"] {
                project.write(file);
            }
            std::fs::create_dir(project.at("src/build")).unwrap();
        },
        &[],
    );

    project.watch.set_rules(&ignoring("node_modules/\n*.log\n"));
    assert_eq!(project.watch.state().watched, 5, "build, build/deep and src/build, too");
    assert_eq!(project.hint(), ChangeHint::Everything);
    project.check(|p| p.write("build/deep/b"), &["build/deep/b"]);

    project.watch.set_rules(&rules);
    assert_eq!(project.watch.state().watched, 2);
    project.check(|p| p.write("build/deep/b"), &[]);
}

#[test]
fn what_was_passed_over_counts_when_other_rules_come() {
    let project = WatchTestProject::with(&["a.log"]).watched_by(&ignoring("*.log\n"));
    project.watch.set_rules(&ignoring("*.log\n*.tmp\n"));
    project.check(|_| {}, &[]);

    // Between the look at the files and the new rules.
    project.write("a.log");
    project.watch.flush(PATIENCE);
    project.watch.set_rules(&ignoring("*.tmp\n"));
    assert_eq!(project.hint(), ChangeHint::Everything);
    project.check(|p| p.write("a.log"), &["a.log"]);

    project.write("b.tmp");
    project.watch.flush(PATIENCE);
    project.watch.set_always_tracked(set(&["b.tmp"]));
    assert_eq!(project.hint(), ChangeHint::Everything);
}

#[test]
fn tracked_files_matter_although_they_are_ignored() {
    let project = WatchTestProject::with(&[
        "a.log",
        "b.log",
        "build/in/keep",
        "build/in/other",
        "build/on/x",
    ]);
    let project = project.watched_by(&ignoring("*.log\nbuild/\n"));
    project.watch.set_always_tracked(set(&["a.log", "build/in/keep"]));
    assert_eq!(project.watch.state().watched, 3, "the root, build and build/in");
    let write = |p: &WatchTestProject| {
        for file in ["a.log", "b.log", "build/in/keep", "build/in/other", "build/on/x", "build/y"] {
            p.write(file);
        }
    };
    project.check(write, &["a.log", "build/in/keep"]);
    // Its folder comes back.
    project.check(
        |p| std::fs::remove_dir_all(p.at("build/in")).unwrap(),
        &["build/in", "build/in/keep"],
    );
    // It is moved there with its file: made in place, the watcher may be quick enough to see both.
    let come_back = |p: &WatchTestProject| {
        std::fs::create_dir(p.outside("in")).unwrap();
        std::fs::write(p.outside("in/keep"), "content").unwrap();
        std::fs::rename(p.outside("in"), p.at("build/in")).unwrap();
    };
    project.check(come_back, &["build/in"]);
    project.check(|p| p.write("build/in/keep"), &["build/in/keep"]);
    // Whose folder goes away, goes with it.
    project.check(|p| p.rename("build", "gone"), &["build", "gone"]);
    project.rename("gone", "build");
    project.watch.set_always_tracked(set(&["a.log"]));
    assert_eq!(project.watch.state().watched, 1);
    project.hint();
    project.check(|p| p.write("build/in/keep"), &[]);
}

#[test]
fn included_files_in_ignored_folders_are_seen() {
    let project = WatchTestProject::with(&["build/keep/a.txt", "build/keep/a.o", "build/other/b"]);
    let include = vec!["build/keep/*.txt".to_owned()];
    let project = project.watched_by(&RuleSources { include, ..ignoring("build/\n") });
    assert_eq!(project.watch.state().watched, 3, "the root, build and build/keep");
    let write = |p: &WatchTestProject| {
        for file in ["build/keep/a.txt", "build/keep/a.o", "build/other/b"] {
            p.write(file);
        }
    };
    project.check(write, &["build/keep/a.txt"]);
}

#[test]
fn a_change_of_rules_in_the_tree_is_everything() {
    let project = WatchTestProject::with(&["d/a"]).watched();
    project.write_text("d/.gitignore", "a\n");
    assert_eq!(project.hint(), ChangeHint::Everything);
    // Also in a folder that comes in one piece.
    std::fs::rename(project.at("d"), project.outside("d")).unwrap();
    project.hint();
    std::fs::rename(project.outside("d"), project.at("e")).unwrap();
    assert_eq!(project.hint(), ChangeHint::Everything);
}

#[test]
fn retakes_own_folder_is_not_watched() {
    let project = WatchTestProject::with(&["own/a", "d/b"]);
    let mut workspace = Workspace::open(&project.root()).unwrap();
    workspace.exclude_own_folder(&project.at("own"));
    let rules = RuleSources::default();
    let watch =
        FileWatcher::start(&workspace, &rules, &project.cookies(), WatchBudget::new(9)).unwrap();
    assert_eq!(watch.state().watched, 2);
}
