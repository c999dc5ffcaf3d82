//! Single edits of each kind, and what belongs to the hint itself.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

#[test]
fn edits_of_files_are_hinted() {
    let project = WatchTestProject::with(&["a", "d/b", "d/c"]).watched();
    let change =
        |path: &'static str| move |project: &WatchTestProject| project.write_text(path, "new");
    project.check(|_| {}, &[]);
    project.check(change("a"), &["a"]);
    project.check(change("d/new"), &["d/new"]);
    project.check(
        |project| {
            project.write("d/.b.tmp");
            project.rename("d/.b.tmp", "d/b");
        },
        &["d/.b.tmp", "d/b"],
    );
    project.check(|project| std::fs::remove_file(project.at("d/c")).unwrap(), &["d/c"]);
    let executable = std::fs::Permissions::from_mode(0o755);
    project.check(|p| std::fs::set_permissions(p.at("a"), executable).unwrap(), &["a"]);
    project.check(|project| symlink("a", project.at("link")).unwrap(), &["link"]);
    project.check(
        |project| {
            symlink("d", project.at("other")).unwrap();
            project.rename("other", "link");
        },
        &["link", "other"],
    );
    // Nothing is watched through a link.
    project.check(change("link/b"), &["d/b"]);
}

#[test]
fn a_file_that_stays_open_is_hinted_at_each_write() {
    use std::io::Write as _;
    let project = WatchTestProject::with(&["a"]).watched();
    let mut file = std::fs::OpenOptions::new().append(true).open(project.at("a")).unwrap();
    for _ in 0..2 {
        project.check(|_| file.write_all(b"more").unwrap(), &["a"]);
    }
}

#[test]
fn names_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let project = WatchTestProject::new().watched();
    let name = std::ffi::OsStr::from_bytes(b"\xff\n");
    std::fs::write(project.root().join(name), "").unwrap();
    let expected = ProjectPath::new(b"\xff\n".to_vec()).unwrap();
    assert_eq!(project.hint(), ChangeHint::Paths(BTreeSet::from([expected])));
}

#[test]
fn what_waits_is_told_and_taken_once() {
    let project = WatchTestProject::new().watched();
    assert!(project.watch.pending().is_none());
    assert!(!project.watch.wait_for_changes(Duration::ZERO));
    project.write("a");
    assert!(project.watch.wait_for_changes(PATIENCE));
    let pending = project.watch.pending().unwrap();
    assert!(pending.first <= pending.latest);
    let hint = project.hint();
    assert_eq!(hint, ChangeHint::Paths(set(&["a"])));
    assert!(project.watch.pending().is_none());
    project.write("b");
    project.watch.put_back(hint);
    assert_eq!(project.hinted(), ["a", "b"]);
    assert_eq!(project.hinted(), [""; 0]);
}

#[test]
fn a_cookie_that_does_not_come_back_is_everything() {
    let project = WatchTestProject::new().watched();
    std::fs::remove_dir(project.cookies()).unwrap();
    assert_eq!(project.hint(), ChangeHint::Everything);
}

#[test]
fn cookies_leave_nothing_behind() {
    let project = WatchTestProject::new();
    std::fs::create_dir(project.cookies()).unwrap();
    for name in ["cookie-1-7", "cookie-x", "other"] {
        std::fs::write(project.cookies().join(name), "").unwrap();
    }
    let project = project.watched();
    project.hint();
    let left: Vec<_> = std::fs::read_dir(project.cookies())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["other"]);
}

#[test]
fn an_unusable_folder_for_cookies_is_named() {
    let project = WatchTestProject::new();
    std::fs::write(project.cookies(), "a file").unwrap();
    let workspace = Workspace::open(&project.root()).unwrap();
    let rules = RuleSources::default();
    let started = FileWatcher::start(&workspace, &rules, &project.cookies(), WatchBudget::new(9));
    let error = started.unwrap_err().to_string();
    assert!(error.contains(project.cookies().to_str().unwrap()), "{error}");
}

#[test]
fn the_root_is_looked_for_where_it_was() {
    let project = WatchTestProject::with(&["d/a"]).watched();
    let root = || project.watch.state().root;
    assert_eq!(root(), RootState::Here);
    let away = project.outside("away");
    std::fs::rename(project.root(), &away).unwrap();
    assert_eq!(root(), RootState::Moved);
    assert_eq!(project.hint(), ChangeHint::Everything);
    std::fs::create_dir(project.root()).unwrap();
    assert_eq!(root(), RootState::Replaced);
    std::fs::remove_dir(project.root()).unwrap();
    // The folder itself is still the one that is watched.
    std::fs::write(away.join("d/a"), "new").unwrap();
    assert_eq!(project.hinted(), ["d/a"]);
    std::fs::remove_dir_all(&away).unwrap();
    assert_eq!(root(), RootState::Gone);
    for _ in 0..2 {
        assert_eq!(project.hint(), ChangeHint::Everything);
    }
}
