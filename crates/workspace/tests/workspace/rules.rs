//! Rules beyond git's own: profile, scratch, include; and the shield's listings.

use retake_workspace::{
    DEFAULT_EXCLUDES, HiddenListing, IgnoreRules, RuleSources, SCRATCH_PATTERNS, StatCache,
};

use crate::support::{All, Project, path, strings, suspects};

fn sources(profile: &[&str], include: &[&str], ignore: &[(&str, &str)]) -> RuleSources {
    RuleSources {
        profile: strings(profile),
        scratch: strings(SCRATCH_PATTERNS),
        include: strings(include),
        ignore_files: ignore
            .iter()
            .map(|(folder, text)| (folder.as_bytes().to_vec(), text.as_bytes().to_vec()))
            .collect(),
        ..RuleSources::default()
    }
}

fn names(listing: &HiddenListing) -> Vec<String> {
    strings(listing.files.iter().map(|(path, _)| path))
}

#[track_caller]
fn check(rules: &IgnoreRules, path: &str, is_dir: bool, expected: Option<&str>) {
    let path = path.parse().unwrap();
    assert_eq!(rules.why_ignored(&path, is_dir).as_deref(), expected, "{path}");
    assert_eq!(rules.is_ignored(&path, is_dir), expected.is_some());
}

#[test]
fn the_reason_names_the_rule() {
    let mut sources = sources(
        &["node_modules/", "*.pyc"],
        &[],
        &[("", "*.log\n\n/out\n"), ("a/b", "!keep.log\nx\n")],
    );
    sources.exclude = b"secret".to_vec();
    sources.global = b"# c\n*~".to_vec();
    let rules = IgnoreRules::new(sources);
    check(&rules, "x.log", false, Some(".gitignore:1 *.log"));
    check(&rules, "a/x.log", false, Some(".gitignore:1 *.log"));
    check(&rules, "a/b/keep.log", false, None);
    check(&rules, "a/b/c/keep.log", false, None);
    check(&rules, "a/keep.log", false, Some(".gitignore:1 *.log"));
    check(&rules, "out", true, Some(".gitignore:3 /out"));
    check(&rules, "out/deep/file", false, Some(".gitignore:3 /out"));
    check(&rules, "a/out", false, None);
    check(&rules, "a/b/x", false, Some("a/b/.gitignore:2 x"));
    check(&rules, "a/x", false, None);
    check(&rules, "secret", false, Some(".git/info/exclude:1 secret"));
    check(&rules, "d/a~", false, Some("core.excludesFile:2 *~"));
    check(&rules, "w/node_modules/m/i.js", false, Some("default-excludes node_modules/"));
    check(&rules, "node_modules", false, None);
    check(&rules, "a.orig", false, Some("scratch *.orig"));
    check(&rules, "w/.tmp-1/a", false, Some("scratch .tmp*"));
}

#[test]
fn the_users_negation_wins_over_profile_and_scratch() {
    let rules =
        IgnoreRules::new(sources(&["build/", "*.log"], &[], &[("", "!build/\n!*.orig\n.tmp1\n")]));
    check(&rules, "build/a", false, None);
    check(&rules, "build/a.log", false, Some("default-excludes *.log"));
    check(&rules, "a.orig", false, None);
    check(&rules, "a.rej", false, Some("scratch *.rej"));
    check(&rules, ".tmp1", false, Some("scratch .tmp*"));
}

#[test]
fn include_patterns_win_over_everything() {
    let ignore = [("", "data/\n*.key\n")];
    let include = ["data/keep/*.csv", "*.key", "vendor/", "!vendor/cache/"];
    let rules = IgnoreRules::new(sources(&["vendor/", "*.log"], &include, &ignore));
    check(&rules, "data/keep/a.csv", false, None);
    check(&rules, "data/keep/a.txt", false, Some(".gitignore:1 data/"));
    check(&rules, "data/other/a.csv", false, Some(".gitignore:1 data/"));
    check(&rules, "a.key", false, None);
    check(&rules, "vendor/lib/a.c", false, None);
    check(&rules, "vendor/lib/a.log", false, None);
    check(&rules, "vendor/lib/a.orig", false, None);
    check(&rules, "vendor/cache/a.log", false, Some("default-excludes *.log"));
    // A pattern without a slash does not open ignored folders.
    check(&rules, "data/x/a.key", false, Some(".gitignore:1 data/"));
}

#[test]
fn a_scan_and_its_rules_agree_on_includes() {
    let project = Project::with(&[
        "data/keep/a.csv",
        "data/keep/a.txt",
        "data/x/y",
        "a.key",
        "vendor/lib/a.log",
        "b",
    ]);
    project.write(".gitignore", "data/\n*.key\n");
    let include = ["data/keep/*.csv", "*.key", "vendor/"];
    let base = sources(&["vendor/"], &include, &[]);
    let scan = project.scan(&StatCache::default(), &base);
    let expected = [".gitignore", "a.key", "b", "data/keep/a.csv", "vendor/lib/a.log"];
    assert_eq!(suspects(&scan), expected);
    let rules = IgnoreRules::new(scan.sources.clone());
    assert_eq!(rules.sources(), &scan.sources);
    assert_eq!(scan.sources.ignore_files.len(), 1);
    for ignored in &scan.ignored {
        assert_eq!(rules.why_ignored(&ignored.path, ignored.is_dir), Some(ignored.by.clone()));
    }
    assert_eq!(strings(scan.ignored.iter().map(|i| &i.path)), ["data/keep/a.txt", "data/x"]);
}

#[test]
fn the_shield_lists_ignored_files_but_no_regenerable_folders() {
    let project = Project::with(&[
        ".env",
        "secrets/key",
        "node_modules/m/i.js",
        "package.json",
        "other/node_modules/kept.js",
        "src/a",
        "src/build/x",
        "src/.git/HEAD",
        "build/y",
        "notes.orig",
    ]);
    project.write(".gitignore", ".env\nsecrets/\nnode_modules/\n*.orig\n!/build/\n");
    let base = sources(DEFAULT_EXCLUDES, &[], &[]);
    let scan = project.scan(&StatCache::default(), &base);
    let rules = IgnoreRules::new(scan.sources);
    let workspace = project.workspace();
    let beneath =
        |name: &str| names(&workspace.list_hidden(Some(&path(name)), &rules, 100, &mut All));
    assert_eq!(beneath(".env"), [".env"]);
    assert_eq!(beneath("secrets"), ["secrets/key"]);
    assert_eq!(beneath("src"), ["src/build/x"], "its name alone shows nothing");
    assert_eq!(beneath("build"), [""; 0], "the user took it back, so a scan sees it");
    assert_eq!(beneath("node_modules"), [""; 0]);
    assert_eq!(beneath("node_modules/m"), ["node_modules/m/i.js"], "somebody named it");
    assert_eq!(beneath("none"), [""; 0]);
    assert_eq!(beneath("src/.git"), [""; 0]);

    assert_eq!(
        names(&workspace.list_hidden(None, &rules, 100, &mut All)),
        [".env", "notes.orig", "other/node_modules/kept.js", "secrets/key", "src/build/x"]
    );
    let told: Vec<_> = workspace.list_hidden(None, &rules, 100, &mut All).gaps;
    let told: Vec<_> = told.iter().map(|gap| gap.path.to_string()).collect();
    assert_eq!(told, ["node_modules"], "what is left out is told");
    let one = workspace.list_hidden(None, &rules, 1, &mut All);
    assert!(one.truncated && one.files.len() == 1);
    let all = workspace.list_hidden(None, &rules, 5, &mut All);
    assert!(!all.truncated && all.files.len() == 5);
}

/// What git would remove is what the listing names, save for folders that can be made again.
#[test]
fn the_list_of_ignored_files_is_what_git_clean_takes() {
    let project = Project::with(&[
        "a",
        "b.log",
        "d/c.log",
        "d/e",
        "out/x",
        "out/sub/y",
        "d/out/z",
        "keep/b.log",
        "target/t",
        "Cargo.toml",
    ]);
    project.git(&["init", "-q", "."]);
    project.write(".gitignore", "*.log\nout/\ntarget/\n");
    project.write("keep/.gitignore", "!*.log\n");
    let listed = project.git(&["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]);
    let mut theirs: Vec<_> = listed
        .split(|&b| b == 0)
        .filter(|name| !name.is_empty() && !name.starts_with(b"target/"))
        .map(|name| String::from_utf8(name.to_vec()).unwrap())
        .collect();
    theirs.sort();
    let scan = project.scan(&StatCache::default(), &sources(DEFAULT_EXCLUDES, &[], &[]));
    let listing =
        project.workspace().list_hidden(None, &IgnoreRules::new(scan.sources), 100, &mut All);
    assert_eq!(names(&listing), theirs);
}

#[test]
fn the_default_profile_keeps_lock_files() {
    let rules = IgnoreRules::new(sources(DEFAULT_EXCLUDES, &[], &[]));
    for kept in ["Cargo.lock", ".env", "src/main.rs", "package-lock.json", ".gitignore"] {
        check(&rules, kept, false, None);
    }
    for (dropped, by) in [
        ("target/debug/x", "target/"),
        ("a/__pycache__/b.pyc", "__pycache__/"),
        ("npm-debug.log.1", "npm-debug.log*"),
        ("x.egg-info/PKG", "*.egg-info/"),
    ] {
        check(&rules, dropped, false, Some(&format!("default-excludes {by}")));
    }
}

#[test]
fn the_rules_outside_the_tree_are_read() {
    let project = Project::new();
    let workspace = project.workspace();
    let none = RuleSources { keeps_rule_files: true, ..RuleSources::default() };
    assert_eq!(workspace.rule_sources(&[], &[], &[], None), none);
    project.git(&["init", "-q", "."]);
    project.write(".git/info/exclude", "local\n");
    project.write("global", "*~\n");
    let global = project.at("global");
    let read = workspace.rule_sources(&strings(["p"]), &[], &strings(["i"]), Some(&global));
    assert_eq!((read.exclude.as_slice(), read.global.as_slice()), (&b"local\n"[..], &b"*~\n"[..]));
    assert_eq!((read.profile, read.include), (strings(["p"]), strings(["i"])));
    let none = workspace.rule_sources(&[], &[], &[], Some(&project.at("none")));
    assert!(none.global.is_empty());
}
