//! A scan where something may have moved finds there what a scan of everything finds.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;

use retake_model::{GapReason, ProjectPath};
use retake_workspace::{IgnoreRules, RuleSources, ScanResult, StatCache};

use crate::support::{Project, gaps, missing, path, suspects};

fn places(names: &[&str]) -> BTreeSet<ProjectPath> {
    names.iter().map(path).collect()
}

/// What is known at and beneath these places.
fn known_at(
    known: &[(ProjectPath, Option<retake_workspace::FileStat>)],
    names: &[&str],
) -> StatCache {
    let at = |path: &ProjectPath| names.iter().any(|name| path.is_beneath(&self::path(name)));
    StatCache::new(known.iter().filter(|(path, _)| at(path)).cloned())
}

/// Everything that a scan finds, as text.
fn found(scan: &ScanResult) -> (Vec<String>, Vec<String>, Vec<(String, GapReason)>) {
    (suspects(scan), missing(scan), gaps(&scan.gaps))
}

#[test]
fn it_sees_just_the_places_and_as_the_whole_scan_does() {
    let project = Project::with(&["a", "b", "d/a", "d/b", "d/in/c", "swap", "back/x", "out/old"]);
    project.write(".gitignore", "*.log\nout/\n");
    project.write("d/.gitignore", "!keep.log\n");
    let whole = project.scan(&StatCache::default(), &RuleSources::default());
    let rules = IgnoreRules::new(whole.sources.clone());
    let mut all: Vec<_> = whole.suspects.into_iter().map(|s| (s.path, Some(s.stat))).collect();
    all.push((path("out/old"), None));
    all.push((path("out/gone"), None));

    for name in ["b", "d/b", "d/new", "d/x.log", "d/keep.log", "d/in/deep/new", "out/new"] {
        project.write(name, "changed");
    }
    std::fs::remove_file(project.at("d/in/c")).unwrap();
    std::fs::remove_file(project.at("swap")).unwrap();
    project.write("swap/inner", "now a folder");
    std::fs::remove_dir_all(project.at("back")).unwrap();
    project.write("back", "now a file");
    project.fifo("d/fifo");
    project.write("nested/.git/HEAD", "x");
    project.write("nested/file", "x");

    let everything = ["a", "b", "d", "swap", "back", "out", "nested", ".gitignore"];
    let workspace = project.workspace();
    let known = known_at(&all, &everything);
    let whole = workspace.scan(&known, &RuleSources::default());
    let within = workspace.scan_within(&known, &rules, &places(&everything), &[]);
    assert_eq!(found(&within), found(&whole));
    assert_eq!(found(&whole).1, ["back/x", "d/in/c", "out/gone", "swap"], "{whole:?}");

    // Nothing else is known here: whoever looks elsewhere finds it to be new.
    let look = |names: &[&str], also: &[&str]| {
        let also: Vec<_> = also.iter().map(path).collect();
        let known = known_at(&all, names);
        found(&workspace.scan_within(&known, &rules, &places(names), &also))
    };
    let text = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(look(&["a"], &[]), (vec![], vec![], vec![]));
    assert_eq!(look(&["d/b"], &[]).0, ["d/b*"]);
    assert_eq!(look(&["d/x.log", "d/keep.log"], &[]).0, ["d/keep.log"]);
    assert_eq!(look(&["d/in"], &[]), (text(&["d/in/deep/new"]), text(&["d/in/c"]), vec![]));
    assert_eq!(look(&["swap"], &[]), (text(&["swap/inner"]), text(&["swap"]), vec![]));
    assert_eq!(look(&["back"], &[]), (text(&["back"]), text(&["back/x"]), vec![]));
    assert_eq!(look(&["none/at/all"], &[]), (vec![], vec![], vec![]));
    assert_eq!(look(&["d/fifo"], &[]).2, [("d/fifo".to_owned(), GapReason::Special)]);
    assert_eq!(look(&["out"], &[]), (text(&["out/old*"]), text(&["out/gone"]), vec![]));
    assert_eq!(look(&["out/new"], &["d/x.log"]).0, ["d/x.log"], "hidden, and asked for by name");
    assert_eq!(look(&["nested", ".git/config", "nested/.git/HEAD"], &[]).0, ["nested/file"]);
}

#[test]
fn the_ignore_files_that_are_met_are_told() {
    let project = Project::with(&["a", "new/sub/b"]);
    project.write("new/sub/.gitignore", "b\n");
    let rules = IgnoreRules::new(RuleSources::default());
    let scan =
        project.workspace().scan_within(&StatCache::default(), &rules, &places(&["new"]), &[]);
    assert_eq!(suspects(&scan), ["new/sub/.gitignore"]);
    assert_eq!(scan.sources.ignore_files[b"new/sub".as_slice()], b"b\n");
    assert_eq!(scan.sources.ignore_files.len(), 1);
}

#[test]
fn a_shut_folder_is_one_gap_and_heals() {
    if rustix::process::geteuid().is_root() {
        return crate::support::run_without_root();
    }
    let project = Project::with(&["shut/a", "shut/in/b"]);
    let known = project.all_known();
    let rules = IgnoreRules::new(RuleSources::default());
    let mode = |mode| {
        std::fs::set_permissions(project.at("shut"), std::fs::Permissions::from_mode(mode))
            .unwrap();
    };
    let within = || project.workspace().scan_within(&known, &rules, &places(&["shut"]), &[]);
    for shut in [0o000, 0o300] {
        mode(shut);
        let whole = project.scan(&known, &RuleSources::default());
        assert_eq!(found(&within()), found(&whole));
        assert_eq!(gaps(&whole.gaps), [("shut".to_owned(), GapReason::Unreadable)]);
    }
    mode(0o700);
    assert_eq!(found(&within()), (vec![], vec![], vec![]));
}

#[test]
fn hidden_files_are_those_that_rules_ignore() {
    let rules = IgnoreRules::new(RuleSources {
        ignore_files: [(Vec::new(), b"out/\n*.log\n/d/*\n!/d/in\n".to_vec())].into(),
        include: vec!["out/kept/**".to_owned()],
        ..RuleSources::default()
    });
    let paths = ["a", "a.log", "d/x", "d/in/x", "d/in/x.log", "out/x", "out/kept/x"].map(path);
    let hidden = rules.hidden_files(&paths);
    assert_eq!(hidden, ["a.log", "d/x", "d/in/x.log", "out/x"].map(path));
    for path in &paths {
        assert_eq!(hidden.contains(path), rules.is_ignored(path, false), "{path}");
    }
}
