//! What Retake has to see, by an oracle of its own: git's `check-ignore` with the rules as they
//! were when a call began.
//!
//! The rule files are laid out in a folder of their own, where only git reads them; what Retake
//! leaves out by default counts least, as git's `core.excludesFile`.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;

use retake_testkit::disk::DiskFiles;
use retake_testkit::git;
use retake_workspace::{DEFAULT_EXCLUDES, SCRATCH_PATTERNS};
use tempfile::TempDir;

/// A repository without files, which lends its rules to nobody.
static EMPTY: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    git::run(folder.path(), &["init", "-q", "--template=", "."]);
    let patterns = [DEFAULT_EXCLUDES, SCRATCH_PATTERNS].concat().join("\n");
    std::fs::write(folder.path().join("excludes"), patterns).unwrap();
    folder
});

/// What is in sight during one call.
pub(crate) struct Sight {
    /// Paths that the rules of its begin hide, of all that the call had to do with.
    ignored: BTreeSet<String>,
    /// What was in sight before, and what git tracks: rules do not hide it.
    known: BTreeSet<String>,
}

impl Sight {
    /// By the rules of `begin`, for what is on any of these disks.
    pub(crate) fn of(
        beside: &Path,
        begin: &DiskFiles,
        disks: &[&DiskFiles],
        known: BTreeSet<String>,
    ) -> Self {
        let rules = lay_out(beside, begin);
        let paths: BTreeSet<&String> = disks.iter().flat_map(|disk| disk.keys()).collect();
        let ignored = check_ignore(&rules, &paths);
        Self { ignored, known }
    }

    /// Whether Retake has to see what happens to the path.
    pub(crate) fn sees(&self, path: &str) -> bool {
        self.known.contains(path) || !self.ignored.contains(path)
    }

    /// What is in sight on a disk.
    pub(crate) fn seen_on(&self, disk: &DiskFiles) -> BTreeSet<String> {
        disk.keys().filter(|path| self.sees(path)).cloned().collect()
    }
}

/// The paths that git tracks.
pub(crate) fn tracked(root: &Path) -> BTreeSet<String> {
    let output = git::command(root).args(["ls-files", "-z"]).output().unwrap();
    split(&output.stdout)
}

fn split(output: &[u8]) -> BTreeSet<String> {
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Puts the rule files of a disk into a folder, and nothing else.
fn lay_out(beside: &Path, disk: &DiskFiles) -> PathBuf {
    let folder = beside.to_owned();
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir(&folder).unwrap();
    let is_rules = |path: &str| path == ".gitignore" || path.ends_with("/.gitignore");
    for (path, entry) in disk.iter().filter(|(path, entry)| is_rules(path) && !entry.is_link) {
        let at = folder.join(path);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, &entry.content).unwrap();
    }
    folder
}

fn check_ignore(rules: &Path, paths: &BTreeSet<&String>) -> BTreeSet<String> {
    let excludes = format!("core.excludesFile={}", EMPTY.path().join("excludes").display());
    let mut child = git::command(rules)
        .env("GIT_DIR", EMPTY.path().join(".git"))
        .env("GIT_WORK_TREE", rules)
        .args(["-c", &excludes, "check-ignore", "--no-index", "-z", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let names = paths.iter().fold(Vec::new(), |mut names, path| {
        names.extend_from_slice(path.as_bytes());
        names.push(0);
        names
    });
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(&names));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    // 1 is that nothing is ignored.
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "check-ignore: {told}");
    split(&output.stdout)
}
