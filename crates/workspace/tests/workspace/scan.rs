//! What a scan finds, case by case (reliability.md, rows 27 to 41).

use std::collections::HashSet;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use retake_model::{FileKind, GapReason};
use retake_workspace::{
    IgnoreRules, RuleSources, SCRATCH_PATTERNS, ScanResult, StatCache, StatKind,
};

use crate::support::{All, Project, gaps, missing, path, strings, suspects};

/// Rules that hide everything, for listings of what is hidden.
fn hiding() -> IgnoreRules {
    IgnoreRules::new(RuleSources { exclude: b"/*\n".to_vec(), ..RuleSources::default() })
}

fn base() -> RuleSources {
    RuleSources::default()
}

fn profile(lines: &[&str]) -> RuleSources {
    RuleSources { profile: strings(lines), ..base() }
}

/// Nothing moved.
#[track_caller]
fn assert_quiet(scan: &ScanResult) {
    assert_eq!((suspects(scan), missing(scan), gaps(&scan.gaps)), Default::default());
}

#[test]
fn a_scan_tells_new_changed_and_missing_files() {
    let project = Project::with(&["same", "changed", "gone", "sub/same", "sub/gone", "old/gone"]);
    let known = project.all_known();
    assert_eq!(known.paths().count(), 6);
    assert_quiet(&project.scan(&known, &base()));

    project.write("changed", "other content");
    project.write("new", "");
    project.write("sub/deeper/new", "");
    for gone in ["gone", "sub/gone"] {
        std::fs::remove_file(project.at(gone)).unwrap();
    }
    std::fs::remove_dir_all(project.at("old")).unwrap();

    let scan = project.scan(&known, &base());
    assert_eq!(suspects(&scan), ["changed*", "new", "sub/deeper/new"]);
    assert_eq!(missing(&scan), ["gone", "old/gone", "sub/gone"]);
    assert_eq!(scan.gaps, []);

    let looked = ["changed", "new", "gone", "same", "sub", "none", "sub/deeper", "old/gone"];
    let scan = project.workspace().scan_paths(&known, &looked.map(path));
    assert_eq!(suspects(&scan), ["changed*", "new"]);
    assert_eq!(missing(&scan), ["gone", "old/gone"]);
}

#[test]
fn an_entry_without_stat_is_always_suspect() {
    let project = Project::with(&["a"]);
    let mut known = project.all_known();
    known.insert(&path("a"), None);
    assert_eq!(suspects(&project.scan(&known, &base())), ["a*"]);
}

#[test]
fn the_mode_counts() {
    let project = Project::with(&["run.sh"]);
    let known = project.all_known();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.at("run.sh"), executable).unwrap();
    let scan = project.scan(&known, &base());
    assert_eq!(suspects(&scan), ["run.sh*"]);
    assert_eq!(scan.suspects[0].stat.mode, 0o755);
    assert_eq!(scan.suspects[0].stat.file_kind(), FileKind::File);
}

#[test]
fn links_are_recorded_as_links() {
    let project = Project::with(&["dir/file"]);
    for (target, link) in [("loop", "loop"), ("/etc", "out"), ("none", "dangling"), ("dir", "in")] {
        symlink(target, project.at(link)).unwrap();
    }
    let scan = project.scan(&StatCache::default(), &base());
    assert_eq!(suspects(&scan), ["dangling", "dir/file", "in", "loop", "out"]);
    for suspect in scan.suspects.iter().filter(|s| s.path != path("dir/file")) {
        assert_eq!((suspect.stat.kind, suspect.stat.mode), (StatKind::Link, 0o777));
    }
    assert_quiet(&project.scan(&project.all_known(), &base()));
}

#[test]
fn names_are_bytes() {
    let project = Project::new();
    let names: &[&[u8]] = &[b"\xff\xfe", b"new\nline", b"-rf", b" ", b"tab\t", b"\x01", b"a\\b"];
    for name in names {
        project.write(name, "");
        project.write([b"d\xc3/".as_slice(), name].concat(), "");
    }
    let scan = project.scan(&StatCache::default(), &base());
    let found: HashSet<Vec<u8>> =
        scan.suspects.iter().map(|s| s.path.as_bytes().to_vec()).collect();
    let expected = names.iter().flat_map(|n| [n.to_vec(), [b"d\xc3/", *n].concat()]).collect();
    assert_eq!(found, expected);
    assert_quiet(&project.scan(&project.all_known(), &base()));
}

#[test]
fn special_files_are_listed_and_never_opened() {
    let project = Project::with(&["a", "was-file"]);
    let known = project.all_known();
    std::fs::remove_file(project.at("was-file")).unwrap();
    // Opening a FIFO for reading would wait for a writer that never comes.
    for fifo in ["fifo", "was-file", "ignored.fifo"] {
        project.fifo(fifo);
    }
    let _socket = UnixListener::bind(project.at("socket")).unwrap();
    let scan = project.scan(&known, &profile(&["ignored.*"]));
    let special = |name: &str| (name.to_owned(), GapReason::Special);
    assert_eq!(gaps(&scan.gaps), ["fifo", "socket", "was-file"].map(special));
    assert_eq!(scan.gaps[0].detail, "fifo");
    assert_eq!(scan.gaps[1].detail, "socket");
    assert_eq!((suspects(&scan), missing(&scan)), (vec![], vec!["was-file".to_owned()]));

    let scan = project.workspace().scan_paths(&known, &["fifo", "was-file"].map(path));
    assert_eq!(gaps(&scan.gaps), ["fifo", "was-file"].map(special));
    assert_eq!(missing(&scan), ["was-file"]);
    let listing = project.workspace().list_hidden(Some(&path("fifo")), &hiding(), 9, &mut All);
    assert_eq!(gaps(&listing.gaps), [special("fifo")]);
}

#[test]
fn nested_repositories_are_walked_but_not_their_git() {
    let project = Project::with(&[".git/HEAD", "lib/.git/HEAD", "lib/src/a", ".hg/x", "b/.svn/x"]);
    project.write("tree/.git", "gitdir: /elsewhere");
    project.write("tree/c", "");
    let scan = project.scan(&StatCache::default(), &base());
    assert_eq!(suspects(&scan), ["lib/src/a", "tree/c"]);
    assert_eq!(strings(&scan.nested_repositories), ["lib", "tree"]);
    let scan = project.workspace().scan_paths(&StatCache::default(), &[path("lib/.git/HEAD")]);
    assert_quiet(&scan);
}

#[test]
fn kinds_are_swapped_under_a_known_path() {
    let project = Project::with(&["file", "folder/a", "folder/sub/b", "other/c", "link-to-be"]);
    let known = project.all_known();
    // File → folder, folder → link to a folder with the same names, folder → file, file → link.
    std::fs::remove_file(project.at("file")).unwrap();
    project.write("file/inner", "");
    std::fs::rename(project.at("folder"), project.at("moved")).unwrap();
    symlink("moved", project.at("folder")).unwrap();
    std::fs::remove_dir_all(project.at("other")).unwrap();
    project.write("other", "");
    std::fs::remove_file(project.at("link-to-be")).unwrap();
    symlink("moved/a", project.at("link-to-be")).unwrap();

    let scan = project.scan(&known, &base());
    let expected = ["file/inner", "folder", "link-to-be*", "moved/a", "moved/sub/b", "other"];
    assert_eq!(suspects(&scan), expected);
    assert_eq!(missing(&scan), ["file", "folder/a", "folder/sub/b", "other/c"]);
    assert_eq!(scan.gaps, []);

    let all = ["file", "folder/a", "folder/sub/b", "other/c"].map(path);
    let scan = project.workspace().scan_paths(&known, &all);
    assert_eq!(missing(&scan), strings(&all));
}

#[test]
fn an_unreadable_folder_is_one_gap_and_nothing_in_it_is_missing() {
    if rustix::process::geteuid().is_root() {
        // As root nothing is unreadable: run this very test again as nobody.
        return crate::support::run_without_root();
    }
    let project = Project::with(&["a", "shut/b", "shut/sub/c", "blind/d", "blind/gone"]);
    let known = project.all_known();
    std::fs::remove_file(project.at("blind/gone")).unwrap();
    let mode = |name: &str, mode| {
        std::fs::set_permissions(project.at(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    project.write("ignored/.gitignore", "*");
    mode("ignored/.gitignore", 0);
    mode("shut", 0);
    mode("blind", 0o300);
    let scan = project.scan(&known, &base());
    let shut = project.workspace().list_hidden(Some(&path("shut")), &hiding(), 9, &mut All);
    let looked = project.workspace().scan_paths(&known, &["shut/b", "shut/sub/c"].map(path));
    mode("shut", 0o700);
    mode("blind", 0o700);

    let unreadable = |name: &str| (name.to_owned(), GapReason::Unreadable);
    assert_eq!(gaps(&scan.gaps), ["blind", "ignored/.gitignore", "shut"].map(unreadable));
    // Names in a folder that can be passed but not listed are looked at one by one.
    assert_eq!(missing(&scan), ["blind/gone"]);
    assert_eq!(suspects(&scan), ["ignored/.gitignore"]);
    assert_eq!(gaps(&shut.gaps), [unreadable("shut")]);
    assert_eq!(gaps(&looked.gaps), [unreadable("shut")]);
    assert_eq!((looked.missing.len(), looked.suspects.len()), (0, 0));
}

#[test]
fn thirty_thousand_files_in_one_folder() {
    let project = Project::large();
    std::fs::create_dir(project.at("d")).unwrap();
    for number in 0..30_000 {
        std::fs::File::create(project.at(format!("d/{number}"))).unwrap();
    }
    let known = project.all_known();
    assert_eq!(known.paths().count(), 30_000);
    assert_quiet(&project.scan(&known, &base()));
    for number in (0..30_000).step_by(2) {
        std::fs::remove_file(project.at(format!("d/{number}"))).unwrap();
    }
    let scan = project.scan(&known, &base());
    assert_eq!((scan.suspects.len(), scan.missing.len()), (0, 15_000));
    let listing = project.workspace().list_hidden(Some(&path("d")), &hiding(), 100, &mut All);
    assert!(listing.truncated && listing.files.len() == 100);
}

#[test]
fn a_path_over_the_limit_is_a_gap() {
    let project = Project::with(&["a"]);
    let depth = make_deep(&project);
    assert!(depth > 4096);
    let scan = project.scan(&StatCache::default(), &base());
    let listing = project.workspace().list_hidden(Some(&path("deep")), &hiding(), 99, &mut All);
    remove_deep(&project);

    // Everything that a path can name is found, the rest is one gap.
    assert_eq!(gaps(&scan.gaps).len(), 1, "{:?}", scan.gaps);
    assert_eq!(scan.gaps[0].reason, GapReason::NameTooLong);
    assert!(scan.gaps[0].path.as_bytes().len() >= 4096);
    assert_eq!(scan.suspects.len(), 1 + listing.files.len());
    assert!(listing.files.len() > 15 && listing.gaps.len() == 1);
}

/// Folders of 250 bytes within each other, a file in each; returns the length of the path.
fn make_deep(project: &Project) -> usize {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut folder = rustix::fs::open(project.root(), flags, Mode::empty()).unwrap();
    let name = "n".repeat(250);
    let mut length = 0;
    for level in 0..20 {
        let name = if level == 0 { "deep" } else { name.as_str() };
        mkdirat(&folder, name, Mode::RWXU).unwrap();
        folder = openat(&folder, name, flags, Mode::empty()).unwrap();
        openat(&folder, "f", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
        length += name.len() + 1;
    }
    length
}

/// `tempfile` removes by descriptors, but let us not depend on it.
fn remove_deep(project: &Project) {
    let status = std::process::Command::new("rm").arg("-rf").arg(project.at("deep")).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_very_deep_tree_needs_no_deep_stack_of_descriptors() {
    let project = Project::large();
    let mut at = String::new();
    for _ in 0..1500 {
        at.push_str("d/");
        project.write(format!("{at}f"), "");
        std::fs::create_dir(project.at(format!("{at}e"))).unwrap();
    }
    let scan = project.scan(&StatCache::default(), &base());
    assert_eq!((scan.suspects.len(), scan.gaps.len()), (1500, 0));
}

#[test]
fn own_state_is_never_entered() {
    let project = Project::with(&["a", "state/db", "state/sub/x"]);
    let mut workspace = project.workspace();
    workspace.exclude_own_folder(&project.at("none"));
    workspace.exclude_own_folder(&project.at("state"));
    let scan = workspace.scan(&StatCache::default(), &base());
    assert_eq!(suspects(&scan), ["a"]);
    let looked = ["state/db", "state/sub/x"].map(path);
    assert_quiet(&workspace.scan_paths(&StatCache::default(), &looked));
    let listing = workspace.list_hidden(Some(&path("state")), &hiding(), 9, &mut All);
    assert!(listing.files.is_empty());
    // By identity, not by name.
    std::fs::rename(project.at("state"), project.at("moved")).unwrap();
    assert_eq!(suspects(&workspace.scan(&StatCache::default(), &base())), ["a"]);
}

#[test]
fn scratch_files_are_counted_apart() {
    let project = Project::with(&["a.orig", "b.rej", ".tmp1/x", "d/.grep_1.txt", "keep.orig", "c"]);
    project.write(".gitignore", "!keep.orig\n");
    let sources = RuleSources { scratch: strings(SCRATCH_PATTERNS), ..base() };
    let scan = project.scan(&StatCache::default(), &sources);
    assert_eq!(suspects(&scan), [".gitignore", "c", "keep.orig"]);
    assert_eq!((scan.scratch, scan.ignored_count), (4, 4));
    assert_eq!(scan.ignored[1].by, "scratch *.orig");
    assert!(scan.ignored[0].is_dir && scan.ignored[0].path == path(".tmp1"));
    // A known file stays, whatever its name.
    let known = StatCache::new([(path("a.orig"), None)]);
    assert_eq!(project.scan(&known, &sources).scratch, 3);
}

#[test]
fn a_known_file_stays_known_whatever_the_rules_say() {
    let project = Project::with(&["a.log", "vendor/lib.c", "vendor/sub/gone.c", "vendor/sub/x.c"]);
    let known = project.all_known();
    project.write(".gitignore", "*.log\nvendor/\n");
    project.write("a.log", "changed since");
    project.write("vendor/lib.c", "changed since");
    project.write("vendor/new.c", "");
    std::fs::remove_file(project.at("vendor/sub/gone.c")).unwrap();
    let scan = project.scan(&known, &base());
    assert_eq!(suspects(&scan), [".gitignore", "a.log*", "vendor/lib.c*"]);
    assert_eq!(missing(&scan), ["vendor/sub/gone.c"]);
    let by: Vec<_> = scan.ignored.iter().map(|i| (i.path.to_string(), i.by.as_str())).collect();
    assert_eq!(by, [("vendor".to_owned(), ".gitignore:2 vendor/")]);
}

#[test]
fn an_ignore_file_that_is_a_link_is_not_followed() {
    let project = Project::with(&["a", "rules"]);
    project.write("rules", "a\n");
    symlink("rules", project.at(".gitignore")).unwrap();
    let scan = project.scan(&StatCache::default(), &base());
    assert_eq!(suspects(&scan), [".gitignore", "a", "rules"]);
    assert!(scan.sources.ignore_files.is_empty() && scan.gaps.is_empty());
}

#[test]
fn ten_thousand_ignored_files_are_counted_but_not_all_listed() {
    let project = Project::large();
    for number in 0..10_000 {
        std::fs::File::create(project.at(format!("{number}.log"))).unwrap();
    }
    let scan = project.scan(&StatCache::default(), &profile(&["*.log"]));
    assert_eq!(scan.ignored_count, 10_000);
    assert!(scan.ignored.len() < 10_000 && scan.ignored.len() > 1000);
    assert_eq!(scan.suspects.len(), 0);
}

#[test]
fn a_project_on_top_of_nothing_cannot_be_opened() {
    let project = Project::with(&["file"]);
    for bad in ["none", "file"] {
        let error = retake_workspace::Workspace::open(&project.at(bad)).unwrap_err();
        assert!(error.to_string().contains(bad), "{error}");
    }
}
