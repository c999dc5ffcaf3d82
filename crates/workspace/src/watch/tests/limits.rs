//! Floods, budgets and everything else that makes a watcher miss something.

use std::process::Command;
use std::sync::Arc;

use super::super::linux::{InotifyShared, InotifyWatcher};
use super::*;

/// Set in a child that runs in a namespace of its own.
const INSIDE: &str = "RETAKE_TEST_IN_NAMESPACE";

/// A watched project, with the lock under which its thread reads events.
fn with_lock(project: WatchTestProject) -> (WatchedProject, Arc<InotifyShared>) {
    let workspace = Workspace::open(&project.root()).unwrap();
    let mut shared = None;
    let open = |setup: BackendSetup<'_>| {
        let watcher = InotifyWatcher::start(setup)?;
        shared = Some(Arc::clone(&watcher.shared));
        Ok(Box::new(watcher) as Box<dyn WatchBackend>)
    };
    let (rules, budget) = (RuleSources::default(), WatchBudget::new(100_000));
    let watch =
        FileWatcher::start_with(open, &workspace, &rules, &project.cookies(), budget).unwrap();
    watch.take_hint();
    (WatchedProject { watch, project }, shared.unwrap())
}

#[test]
fn a_cookie_that_is_late_is_everything() {
    let (project, shared) = with_lock(WatchTestProject::new());
    let paused = shared.lock();
    project.write("a");
    project.watch.flush(Duration::ZERO);
    assert_eq!(project.watch.take_hint(), ChangeHint::Everything);
    drop(paused);
    assert_eq!(project.hinted(), ["a"], "and the event is not lost");
}

/// Ignored folders that hold tracked files are no exception: what cannot be watched is in each hint.
#[test]
fn tracked_files_that_the_budget_does_not_reach_are_polled() {
    let project = WatchTestProject::with(&["build/in/keep", "src/a"]);
    let workspace = Workspace::open(&project.root()).unwrap();
    // The cookies, the root and `src`.
    let (rules, budget) = (ignoring("build/\n"), WatchBudget::new(3));
    let watch = FileWatcher::start(&workspace, &rules, &project.cookies(), budget).unwrap();
    watch.set_always_tracked(set(&["build/in/keep"]));
    let state = watch.state();
    assert_eq!((state.watched, state.polled), (2, vec!["build".parse().unwrap()]));
    watch.take_hint();
    watch.flush(PATIENCE);
    assert_eq!(watch.take_hint(), ChangeHint::Paths(set(&["build"])));
}

#[test]
fn an_overflow_is_everything_and_all_folders_are_found_again() {
    let (project, shared) = with_lock(WatchTestProject::with(&["moved/x/f", "removed/f"]));
    let queue = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let queue: usize = queue.trim().parse().unwrap();
    assert!(!project.watch.state().catching_up);
    let paused = shared.lock();
    // Two names in turn, since equal events in a row become one.
    for number in 0..queue {
        project.write(["a", "b"][number % 2]);
    }
    // The system reports nothing more of this.
    project.write("new/deep/f");
    project.rename("moved", "new/moved");
    std::fs::remove_dir_all(project.at("removed")).unwrap();
    drop(paused);
    assert_eq!(project.hint(), ChangeHint::Everything);
    // The way through the folders ends with a second one.
    let deadline = std::time::Instant::now() + PATIENCE;
    while project.watch.state().watched != 5 {
        assert!(std::time::Instant::now() < deadline, "{:?}", project.watch.state());
        std::thread::yield_now();
    }
    assert!(project.watch.state().overflows >= 1);
    while project.hint() == ChangeHint::Everything {
        assert!(std::time::Instant::now() < deadline, "it never catches up");
    }
    project.check(|p| p.write("new/deep/f"), &["new/deep/f"]);
    project.check(|p| p.write("new/moved/x/f"), &["new/moved/x/f"]);
}

#[test]
fn floods_lose_nothing() {
    let project = WatchTestProject::with(&["start/a"]).watched();
    let mut known = snapshot(&project.root());
    for number in 0..20_000 {
        project.write_text(&format!("start/{number}"), &number.to_string());
    }
    catch_up(&mut known, &project.root(), &project.hint());
    assert!(known == snapshot(&project.root()), "20,000 creations");

    let source = WatchTestProject::new();
    for number in 0..1_600 {
        source.write_text(&format!("{}/{}/{number}", number % 7, number % 91), "text");
    }
    let copied = Command::new("cp").arg("-r").args([source.root(), project.at("copy")]).status();
    assert!(copied.unwrap().success());
    catch_up(&mut known, &project.root(), &project.hint());
    assert!(known == snapshot(&project.root()), "1,600 files in a new folder");
}

#[test]
fn what_is_beyond_the_budget_is_polled() {
    let project = WatchTestProject::with(&["a/b/c/d/f", "e/f/g/h"]);
    // The cookies, the root, a, e, and one of the next level.
    let budget = WatchBudget::new(5);
    let watch = project.start(&RuleSources::default(), budget.clone());
    let state = watch.state();
    assert_eq!(state.watched, 4);
    assert_eq!(state.polled.len(), 2, "{state:?}");
    assert_eq!(budget.left(), 0);
    watch.take_hint();
    assert!(watch.pending().is_none(), "nobody is woken for them");
    for _ in 0..2 {
        watch.flush(PATIENCE);
        assert_eq!(watch.take_hint(), ChangeHint::Paths(state.polled.iter().cloned().collect()));
    }

    // Another project draws on the same budget.
    let other = WatchTestProject::with(&["x"]);
    let unwatched = other.start(&RuleSources::default(), budget.clone());
    for _ in 0..2 {
        unwatched.flush(PATIENCE);
        assert_eq!(unwatched.take_hint(), ChangeHint::Everything);
    }
    assert!(unwatched.state().unavailable_reason.unwrap().contains("max_user_watches"));
    assert!(unwatched.state().catching_up);

    // A polled folder that goes is no longer polled, and what becomes free is used again.
    std::fs::remove_dir_all(project.at("e")).unwrap();
    std::fs::remove_dir_all(project.at("a")).unwrap();
    watch.flush(PATIENCE);
    assert_eq!((watch.state().watched, watch.state().polled), (1, Vec::new()));
    project.write("new/f");
    watch.flush(PATIENCE);
    assert_eq!(watch.state().watched, 2);
    drop((watch, unwatched));
    assert_eq!(budget.left(), 5);
}

#[test]
fn the_budget_is_half_of_the_users() {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    assert!(WatchBudget::half_of_user_limit().left() <= limit / 2);
}

#[test]
fn a_file_system_that_does_not_tell_is_walked_each_time() {
    let project = WatchTestProject::new();
    let workspace = Workspace::open(&project.root()).unwrap();
    let open = |_: BackendSetup<'_>| Err(WatchUnavailable::NotReported("far away".to_owned()));
    let (rules, budget) = (RuleSources::default(), WatchBudget::new(9));
    let watch =
        FileWatcher::start_with(open, &workspace, &rules, &project.cookies(), budget).unwrap();
    for _ in 0..3 {
        watch.flush(PATIENCE);
        assert_eq!(watch.take_hint(), ChangeHint::Everything);
    }
    assert_eq!(watch.state().unavailable_reason.as_deref(), Some("far away"));
}

/// Runs one test of this file again, in namespaces of its own, after a shell command in them.
fn run_inside(test: &str, unshare: &str, first: &str) {
    let name = format!("watch::tests::limits::{test}");
    let allowed = Command::new("unshare").args([unshare, "sh", "-c", first]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return not_tested(&name, "the right to make namespaces");
    }
    let output = Command::new("unshare")
        .args([unshare, "sh", "-c", &format!("{first} && exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn the_systems_own_limit_is_survived() {
    if std::env::var_os(INSIDE).is_none() {
        // This limit is the namespace's own. `fs.inotify.max_user_watches` is the whole machine's,
        // even when it is written from in here.
        let lower = "echo 12 > /proc/sys/user/max_inotify_watches";
        return run_inside("the_systems_own_limit_is_survived", "-Ur", lower);
    }
    assert_eq!(WatchBudget::half_of_user_limit().left(), 6);
    let project = WatchTestProject::new();
    for number in 0..40 {
        project.write(&format!("{number}/f"));
    }
    let project = project.watched();
    let state = project.watch.state();
    // Cookies and root take two of the twelve.
    assert_eq!((state.watched, state.polled.len()), (11, 30));
    let mut known = snapshot(&project.root());
    for number in 0..40 {
        project.write_text(&format!("{number}/f"), "new");
    }
    catch_up(&mut known, &project.root(), &project.hint());
    assert!(known == snapshot(&project.root()));
}

#[test]
fn other_mounts_are_not_watched() {
    if std::env::var_os(INSIDE).is_none() {
        return run_inside("other_mounts_are_not_watched", "-Urm", "mount -t tmpfs none /mnt");
    }
    let project = WatchTestProject::with(&["disk/covered", "bind/covered", "real/deep/x"]);
    for arguments in [["-t", "tmpfs", "none", "disk"], ["--bind", "real", "bind", ""]] {
        let arguments = arguments.iter().filter(|argument| !argument.is_empty());
        let status =
            Command::new("mount").args(arguments).current_dir(project.root()).status().unwrap();
        assert!(status.success());
    }
    let project = project.watched();
    assert_eq!(project.watch.state().watched, 3, "the root, real and real/deep");
    project.check(|p| p.write("disk/x"), &[]);
    project.check(|p| p.write("bind/deep/x"), &["real/deep/x"]);
}
