//! Other mounts inside the project (row 41), in a mount namespace of its own.

#![cfg(target_os = "linux")]

use std::process::Command;

use retake_model::GapReason;
use retake_workspace::{IgnoreRules, RuleSources, StatCache, WriteFault};

use crate::support::{All, Project, gaps, path, suspects, test_name};

const INSIDE: &str = "RETAKE_TEST_IN_NAMESPACE";

#[test]
fn other_mounts_are_gaps_and_never_missing() {
    if std::env::var_os(INSIDE).is_some() {
        return in_namespace();
    }
    let unshare = ["-rm", "-m"].into_iter().find(|flag| {
        let mut probe = Command::new("unshare");
        let tmpfs = "mount -t tmpfs none /mnt";
        probe.args([flag, "sh", "-c", tmpfs]).output().is_ok_and(|out| out.status.success())
    });
    let Some(flag) = unshare else {
        return crate::support::not_tested(&test_name(), "the right to make a mount namespace");
    };
    let output = Command::new("unshare")
        .arg(flag)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &test_name(), "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn mount(arguments: &[&str]) {
    let status = Command::new("mount").args(arguments).status().unwrap();
    assert!(status.success(), "mount {arguments:?}");
}

fn in_namespace() {
    let project =
        Project::with(&["a", "real/x", "disk/covered", "bind/covered", "file", "deep/in/z"]);
    let known = project.all_known();
    assert_eq!(known.paths().count(), 6);
    let at = |name: &str| project.at(name).to_str().unwrap().to_owned();
    mount(&["-t", "tmpfs", "none", &at("disk")]);
    mount(&["--bind", &at("real"), &at("bind")]);
    mount(&["--bind", &at("a"), &at("file")]);
    mount(&["-t", "tmpfs", "none", &at("deep")]);
    project.write("disk/covered", "of the other disk");
    project.write("disk/new", "");

    let other = |name: &str| (name.to_owned(), GapReason::OtherMount);
    let scan = project.scan(&known, &RuleSources::default());
    assert_eq!(gaps(&scan.gaps), ["bind", "deep", "disk"].map(other));
    assert_eq!(scan.missing, []);
    // A mounted file shows itself by its stat, and cannot be read.
    assert_eq!(suspects(&scan), ["file*"]);
    let error = project.workspace().read(&path("file"), 99, &mut |_, _| Ok(())).unwrap_err();
    assert_eq!(error.gap_reason(), Some(GapReason::OtherMount), "{error:?}");

    // The same if the walk does not come there.
    let ignore = RuleSources { exclude: b"disk/\nbind/\ndeep/\n".to_vec(), ..Default::default() };
    let scan = project.scan(&known, &ignore);
    assert_eq!((scan.missing.len(), suspects(&scan)), (0, vec!["file*".to_owned()]));
    assert_eq!(gaps(&scan.gaps), ["bind", "deep/in", "disk"].map(other));

    let rules = IgnoreRules::new(RuleSources { exclude: b"/*\n".to_vec(), ..Default::default() });
    let listing = project.workspace().list_hidden(Some(&path("disk")), &rules, 9, &mut All);
    assert_eq!((listing.files.len(), gaps(&listing.gaps)), (0, vec![other("disk")]));
    let looked = project.workspace().scan_paths(&StatCache::default(), &[path("bind/x")]);
    assert_eq!((suspects(&looked).len(), gaps(&looked.gaps)), (0, vec![other("bind")]));

    // And nothing is written there.
    let workspace = project.workspace();
    let temp = workspace.temp_for(&path("a"), "t").unwrap();
    let fill = &mut |_: &mut dyn std::io::Write| Ok(());
    workspace.stage(&temp, retake_model::FileKind::File, 0o644, fill).unwrap();
    for name in ["disk/covered", "bind/x", "deep/in/new", "file"] {
        let target = path(name);
        let asked = workspace.check_writable(&target).unwrap_err();
        assert!(matches!(asked.why, WriteFault::OtherMount), "{asked:?}");
        assert!(workspace.exchange(&temp, &target).is_err());
        assert!(workspace.place_new(&temp, &target).is_err());
        assert!(workspace.set_mode(&target, 0o777).is_err());
    }
}
