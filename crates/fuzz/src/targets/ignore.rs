//! Ignore rules: any text as an ignore file, any name as a path.

use std::path::Path;

use retake_engine::model::ProjectPath;
use retake_testkit::git;
use retake_workspace::{IgnoreRules, RuleSources};
use tempfile::TempDir;

use crate::input::parts;
use crate::reused_project::{ReusedFixture, memory_folder, with_fixture};

/// Dictionary of ignore patterns.
pub const DICTIONARY: &[&str] = &[
    "*",
    "**",
    "?",
    "/",
    "!",
    "#",
    "\\",
    "[",
    "]",
    "[a-c]",
    "[!a]",
    "[^b]",
    "[[:alpha:]]",
    "\n",
    "\r\n",
    " ",
    "\t",
    "a",
    "b",
    "abc",
    "*.log",
    "c.log",
    "/a",
    "a/",
    "a/b",
    "**/b",
    "a/**",
    "!a",
    "!/a/b",
    "\\!a",
    "\\#",
    "\\ ",
    "\u{feff}",
    "é",
    "\n%%%%\n",
    ".",
    "..",
    "build/",
];

/// Default paths of an input that has none.
const DEFAULT_PATHS: &[&str] =
    &["a", "b", "a/b", "a/b/c.log", "abc", "c.log", "build/x", "a/.hid", "x y"];
/// The folder of the second ignore file.
const NESTED_FOLDER: &str = "a";

struct IgnoreCase {
    sources: RuleSources,
    paths: Vec<ProjectPath>,
}

/// Ignore file of the root, of a folder, the repository's own excludes, and paths, one a line.
fn case(data: &[u8]) -> IgnoreCase {
    let [root, inner, exclude, paths] = parts(data);
    let named = paths.split(|byte| *byte == b'\n').filter_map(|path| ProjectPath::new(path).ok());
    let usual = DEFAULT_PATHS.iter().filter_map(|path| ProjectPath::new(*path).ok());
    let files = [(Vec::new(), root.to_vec()), (NESTED_FOLDER.into(), inner.to_vec())];
    let ignore_files = files.into_iter().filter(|(_, text)| !text.is_empty()).collect();
    let sources = RuleSources { ignore_files, exclude: exclude.to_vec(), ..RuleSources::default() };
    IgnoreCase { sources, paths: named.chain(usual).take(24).collect() }
}

/// Rules answer, always for a reason, the same in every way of asking, and as git's rules do:
/// nothing beneath an ignored folder is taken back in.
pub fn ignore(data: &[u8]) {
    let IgnoreCase { sources, paths } = case(data);
    let rules = IgnoreRules::new(sources.clone());
    assert_eq!(rules.sources(), &sources);
    let ignored = |path: &&ProjectPath| rules.is_ignored(path, false);
    let hidden: Vec<_> = paths.iter().filter(ignored).cloned().collect();
    assert_eq!(rules.hidden_files(&paths), hidden);
    for path in &paths {
        for is_dir in [false, true] {
            let is_ignored = rules.is_ignored(path, is_dir);
            assert_eq!(rules.why_ignored(path, is_dir).is_some(), is_ignored, "{path:?}");
            if is_dir && is_ignored {
                let inner = path.child(b"any").unwrap();
                assert!(rules.is_ignored(&inner, false), "{inner:?} is beneath what is ignored");
            }
        }
    }
    check_order(sources, &paths);
}

/// The last rule that matches decides: one more at the end changes what it matches, and a comment
/// nothing.
fn check_order(mut sources: RuleSources, paths: &[ProjectPath]) {
    let root = sources.ignore_files.entry(Vec::new()).or_default();
    if root.is_empty() || root.ends_with(b"\\") || root.ends_with(b"\\\r") {
        return;
    }
    let plain = IgnoreRules::new(sources.clone());
    let with = |line: &[u8]| {
        let mut sources = sources.clone();
        let root = sources.ignore_files.entry(Vec::new()).or_default();
        root.extend(b"\n");
        root.extend(line);
        IgnoreRules::new(sources)
    };
    let (comment, everything) = (with(b"# nothing\n\n"), with(b"*"));
    for path in paths {
        let was = plain.is_ignored(path, false);
        assert_eq!(comment.is_ignored(path, false), was, "a comment changed {path:?}");
        // Only a deeper ignore file comes after it.
        if !path.as_bytes().starts_with(NESTED_FOLDER.as_bytes()) {
            assert!(everything.is_ignored(path, false), "{path:?} is not ignored by *");
        }
    }
}

thread_local! {
    static REPOSITORY: ReusedFixture<TempDir> = const { ReusedFixture::new(None) };
}

fn repository() -> TempDir {
    let folder = memory_folder();
    git::run(folder.path(), &["init", "-q", "."]);
    folder
}

/// Rules answer as git does.
pub fn ignore_as_git(data: &[u8]) {
    let IgnoreCase { sources, paths } = case(data);
    let texts = sources.ignore_files.values().chain([&sources.exclude]);
    // gix takes the marks of UTF-16 off, git does not.
    if texts.flatten().any(|byte| [0xfe, 0xff, 0].contains(byte)) {
        return;
    }
    with_fixture(&REPOSITORY, 500, repository, |folder| {
        let root = folder.path();
        clear_folder(root);
        let paths: Vec<_> = paths.into_iter().filter(|path| make_file(root, path)).collect();
        std::fs::create_dir_all(root.join(NESTED_FOLDER)).ok();
        for (folder, text) in &sources.ignore_files {
            let folder = root.join(std::str::from_utf8(folder).unwrap());
            if std::fs::write(folder.join(".gitignore"), text).is_err() {
                return;
            }
        }
        std::fs::write(root.join(".git/info/exclude"), &sources.exclude).unwrap();
        let theirs = kept_by_git(root);
        let rules = IgnoreRules::new(sources);
        for path in paths {
            let is_kept = theirs.contains(&path);
            let why = rules.why_ignored(&path, false);
            assert_eq!(why.is_none(), is_kept, "{path:?}: {why:?}, but git keeps it: {is_kept}");
        }
    });
}

fn clear_folder(root: &Path) {
    for entry in std::fs::read_dir(root).unwrap().flatten() {
        if entry.file_name() != ".git" {
            let removed = std::fs::remove_dir_all(entry.path());
            removed.or_else(|_| std::fs::remove_file(entry.path())).unwrap();
        }
    }
}

/// Makes an empty file; `false` where there can be none, or where it would mean something to git.
fn make_file(root: &Path, path: &ProjectPath) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    let is_git = |part: &[u8]| part.len() <= 10 && part.to_ascii_lowercase().starts_with(b".git");
    if path.components().any(is_git) {
        return false;
    }
    let at = root.join(std::ffi::OsStr::from_bytes(path.as_bytes()));
    std::fs::create_dir_all(at.parent().unwrap()).is_ok() && std::fs::write(at, "").is_ok()
}

fn kept_by_git(root: &Path) -> Vec<ProjectPath> {
    let arguments = ["ls-files", "-z", "--others", "--exclude-standard"];
    let output = git::command(root).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.split(|byte| *byte == 0).filter_map(|path| ProjectPath::new(path).ok()).collect()
}
