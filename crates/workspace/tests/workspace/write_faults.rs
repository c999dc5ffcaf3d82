//! Writing while the disk fails, the process is killed, or somebody moves
//! things at the same time: no content is lost, nothing leaves the root.

#![cfg(any(target_os = "linux", target_os = "macos"))]

use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use retake_model::FileKind;
use retake_workspace::{Workspace, WriteError, WriteFault, is_temp_name};
use rustix::fs::{RenameFlags, renameat_with};

use crate::support::{Project, everything, path, test_name};

const STORY: &str = "RETAKE_TEST_STORY";
const LONG: usize = 300_000;

/// Replaces one file, creates another with its folders, and removes a third.
fn story(root: &Path) -> Result<(), WriteError> {
    let workspace = Workspace::open(root).unwrap();
    let [replaced, created, removed] = ["d/replaced", "a/b/created", "e/removed"].map(path);
    let long = &mut |to: &mut dyn Write| to.write_all(&vec![b'n'; LONG]);
    let target = &mut |to: &mut dyn Write| to.write_all(b"target");
    let new = workspace.temp_for(&replaced, "new")?;
    let link = workspace.temp_for(&created, "link")?;
    let gone = workspace.temp_for(&removed, "gone")?;
    let staged = [
        workspace.stage(&new, FileKind::File, 0o640, long)?,
        workspace.stage(&link, FileKind::Link, 0, target)?,
    ];
    workspace.sync_staged(&staged)?;
    workspace.exchange(&new, &replaced)?;
    let made = workspace.place_new(&link, &created)?;
    workspace.move_aside(&removed, &gone)?;
    workspace.set_mode(&replaced, 0o600)?;
    workspace.sync_folders(made.iter().chain([&replaced, &created, &removed]))?;
    workspace.remove_temp(&new)?;
    workspace.remove_temp(&gone)?;
    let emptied = workspace.remove_emptied(&removed);
    workspace.sync_folders(&emptied)
}

fn project() -> Project {
    let project = Project::new();
    for name in ["d/replaced", "e/removed", "user"] {
        project.write(name, name);
    }
    project
}

/// Runs the story in a child with this fault; whether it came to its end.
fn run(project: &Project, fault: (&str, String)) -> (bool, Option<i32>) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args([&test_name(), "--exact", "--test-threads=1"])
        .env(STORY, project.root())
        .env(fault.0, fault.1)
        .output()
        .unwrap()
        .status;
    (status.success(), status.signal())
}

/// In the child: the story, whose failure is the child's.
fn told() -> bool {
    let Some(root) = std::env::var_os(STORY) else { return false };
    story(Path::new(&root)).unwrap();
    true
}

/// Every name with what it holds; a half-written content is none of these.
fn holdings(project: &Project) -> Vec<(String, &'static str)> {
    let root = project.root();
    let walk = Command::new("find").arg(root).args(["!", "-type", "d", "-printf", "%P\n"]).output();
    let names = String::from_utf8(walk.unwrap().stdout).unwrap();
    let held = |name: &str| {
        if let Ok(target) = std::fs::read_link(project.at(name)) {
            assert_eq!(target.to_str(), Some("target"));
            return "link";
        }
        match std::fs::read(project.at(name)).unwrap().as_slice() {
            b"d/replaced" => "old",
            b"e/removed" => "removed",
            b"user" => "user",
            bytes if bytes == vec![b'n'; LONG] => "new",
            bytes if bytes.len() < LONG && bytes.iter().all(|&b| b == b'n') => "part",
            other => panic!("{name}: {} bytes of nobody", other.len()),
        }
    };
    let mut all: Vec<_> = names.lines().map(|name| (name.to_owned(), held(name))).collect();
    all.sort();
    all
}

fn check(project: &Project, at: u32, killed: bool) {
    let all = holdings(project);
    let has = |content: &str| all.iter().any(|(_, held)| *held == content);
    let at_path = |name: &str| all.iter().find(|(at, _)| at == name).map(|(_, held)| *held);
    // What was there is at its path, or under a temp's name; it goes only
    // after everything is in place.
    let in_place = at_path("d/replaced") == Some("new")
        && at_path("a/b/created") == Some("link")
        && at_path("e/removed").is_none();
    assert!(has("old") || in_place, "{at}: {all:?}");
    assert!(has("removed") || in_place, "{at}: {all:?}");
    assert_eq!(at_path("user"), Some("user"));
    assert!(matches!(at_path("d/replaced"), Some("old" | "new")), "{at}: {all:?}");
    for (name, held) in &all {
        let last = name.rsplit('/').next().unwrap();
        let temp = is_temp_name(last.as_bytes());
        assert!(*held != "part" || (temp && killed), "{at}: {all:?}");
        let known = ["d/replaced", "a/b/created", "e/removed", "user"].contains(&name.as_str());
        assert!(temp || known, "{at}: {name}");
    }
    // Folders without their file are not left behind.
    assert!(killed || !project.at("a").exists() || at_path("a/b/created").is_some(), "{at}");
}

#[test]
fn a_full_disk_at_any_step_loses_nothing() {
    if told() {
        return;
    }
    let mut steps = 0;
    for at in 1.. {
        let project = project();
        let fault = ("RETAKE_FAIL_AT", format!("{at}:28"));
        let (done, signal) = run(&project, fault);
        assert_eq!(signal, None);
        check(&project, at, false);
        if done && project.at("a/b/created").is_symlink() && !project.at("e").exists() {
            steps = at;
            break;
        }
    }
    assert!(steps > 15, "only {steps} steps: does the seam still see the writes?");
}

#[test]
fn a_kill_at_any_step_loses_nothing() {
    if told() {
        return;
    }
    for at in 1.. {
        let project = project();
        let fault = ("RETAKE_KILL_AT", at.to_string());
        let (done, signal) = run(&project, fault);
        check(&project, at, true);
        if done {
            assert!(at > 15, "only {at} steps");
            break;
        }
        assert_eq!(signal, Some(9));
    }
}

/// Stages and syncs so many files, some of them with another mode, in a child;
/// returns how often the child synced a file or folder, and the file system.
fn syncs(files: usize, mode: u32) -> (usize, usize) {
    let project = Project::new();
    let steps = tempfile::NamedTempFile::new().unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args([&test_name(), "--exact", "--test-threads=1"])
        .env(STORY, project.root())
        .env("RETAKE_COUNT_STEPS", steps.path())
        .env("FILES", format!("{files}:{mode}"))
        .status();
    assert!(status.unwrap().success());
    let steps = std::fs::read_to_string(steps.path()).unwrap();
    let count = |what: &str| steps.lines().filter(|line| line.ends_with(what)).count();
    assert_eq!(count(" create"), files);
    (count(" fsync"), count(" syncfs"))
}

#[test]
fn a_few_files_are_synced_one_by_one_and_many_at_once() {
    if let Some(root) = std::env::var_os(STORY) {
        let order = std::env::var("FILES").unwrap();
        let (files, mode) = order.split_once(':').unwrap();
        return stage_and_sync(Path::new(&root), files.parse().unwrap(), mode.parse().unwrap());
    }
    // One for each file, and two folders hold them.
    assert_eq!(syncs(3, 0o644), (3 + 2, 0));
    assert_eq!(syncs(4, 0o644), (4 + 2, 0));
    // What cannot be opened again is synced when it is made, not twice.
    assert_eq!(syncs(3, 0o200), (3 + 2, 0));
    if cfg!(target_os = "linux") {
        assert_eq!(syncs(5, 0o644), (2, 1));
    }
}

fn stage_and_sync(root: &Path, files: usize, mode: u32) {
    let workspace = Workspace::open(root).unwrap();
    let fill = &mut |to: &mut dyn Write| to.write_all(b"x");
    let staged: Vec<_> = (0..files)
        .map(|number| {
            let temp = path(format!(".retake-{number}.tmp"));
            workspace.stage(&temp, FileKind::File, mode, fill).unwrap()
        })
        .collect();
    workspace.sync_staged(&staged).unwrap();
    let placed: Vec<_> = (0..files).map(|number| path(format!("d/{number}"))).collect();
    // Of folders that are gone, the root is the nearest that is not: no third one.
    let mut names = vec![path("gone/x"), path("gone/too/x")];
    names.extend(placed.clone());
    for (staged, path) in staged.iter().zip(&placed) {
        names.extend(workspace.place_new(&staged.temp, path).unwrap());
    }
    workspace.sync_folders(&names).unwrap();
}

/// Swaps two names as fast as it can while `work` runs.
fn while_swapping(project: &Project, one: &str, other: &str, work: impl FnOnce()) {
    let folder = std::fs::File::open(project.root()).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = renameat_with(&folder, one, &folder, other, RenameFlags::EXCHANGE);
            }
        });
        // Stops the thread even if the work panics, or the test would hang.
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = worked {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_folder_that_flickers_between_real_and_link_leads_nowhere() {
    let project = Project::with(&["d/f", "d/deep/f"]);
    let outside = Project::with(&["f", "deep/f", ".retake-t.tmp", "deep/.retake-t.tmp"]);
    symlink(outside.root(), project.at("link")).unwrap();
    let before = everything(&outside);
    let workspace = project.workspace();
    let (mut done, mut refused) = (0, 0);
    while_swapping(&project, "d", "link", || {
        for _ in 0..50_000 {
            for target in ["d/f", "d/deep/f"].map(path) {
                let temp = target.parent().unwrap().child(b".retake-t.tmp").unwrap();
                let fill = &mut |to: &mut dyn Write| to.write_all(b"new");
                let acts = [
                    workspace.stage(&temp, FileKind::File, 0o644, fill).map(drop),
                    workspace.exchange(&temp, &target),
                    workspace.set_mode(&target, 0o600),
                    workspace.remove_temp(&temp),
                    workspace.move_aside(&target, &temp),
                    workspace.place_new(&temp, &target).map(drop),
                ];
                workspace.remove_emptied(&target);
                for act in acts {
                    *(if act.is_ok() { &mut done } else { &mut refused }) += 1;
                }
            }
            if done > 300 && refused > 300 {
                break;
            }
        }
    });
    assert!(done > 300 && refused > 300, "{done} done, {refused} refused");
    assert_eq!(everything(&outside), before);
}

#[test]
fn a_path_that_flickers_between_file_and_folder_keeps_both() {
    let project = Project::with(&["p", "q/inside"]);
    let workspace = project.workspace();
    let temp = path(".retake-t.tmp");
    let aside = path(".retake-aside.tmp");
    let fill = &mut |to: &mut dyn Write| to.write_all(b"new");
    workspace.stage(&temp, FileKind::File, 0o644, fill).unwrap();
    let moved_folder = |name: &str| project.at(name).is_dir();
    while_swapping(&project, "p", "q", || {
        for _ in 0..3_000 {
            match workspace.exchange(&temp, &path("p")).map_err(|error| error.why) {
                Ok(()) | Err(WriteFault::NotAFile("folder")) => {}
                Err(other) => panic!("{other:?}"),
            }
            assert!(!moved_folder(".retake-t.tmp"));
            match workspace.move_aside(&path("p"), &aside).map_err(|error| error.why) {
                Ok(()) => {
                    assert!(!moved_folder(".retake-aside.tmp"));
                    workspace.put_back(&aside, &path("p")).unwrap();
                }
                Err(WriteFault::NotAFile("folder")) => {
                    assert!(!project.at(".retake-aside.tmp").exists());
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    });
    let mut files: Vec<_> = ["p", "q", ".retake-t.tmp"]
        .iter()
        .filter_map(|name| std::fs::read_to_string(project.at(name)).ok())
        .collect();
    files.sort();
    assert_eq!(files, ["content", "new"]);
    assert!(project.at("p/inside").exists() || project.at("q/inside").exists());
}
