//! What the watcher promises: the hint covers whatever changed.

#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

#[cfg(target_os = "linux")]
mod edits;
#[cfg(target_os = "linux")]
mod limits;
mod notify_backend;
#[cfg(target_os = "linux")]
mod oracle;
#[cfg(target_os = "linux")]
mod watched_folders;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;

/// Long enough for any machine; nothing waits for its end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A project that is watched.
struct WatchedProject {
    watch: FileWatcher,
    project: WatchTestProject,
}

/// A throw-away project with a folder for cookies beside it.
struct WatchTestProject {
    temp: tempfile::TempDir,
}

impl WatchTestProject {
    /// In memory, where the system offers that.
    fn new() -> Self {
        let temp = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        std::fs::create_dir(temp.path().join("project")).unwrap();
        Self { temp }
    }

    fn with(files: &[&str]) -> Self {
        let project = Self::new();
        for file in files {
            project.write(file);
        }
        project
    }

    fn root(&self) -> PathBuf {
        self.temp.path().join("project")
    }

    fn cookies(&self) -> PathBuf {
        self.temp.path().join("cookies")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// A place outside the project.
    fn outside(&self, path: &str) -> PathBuf {
        self.temp.path().join(path)
    }

    fn write(&self, path: &str) {
        self.write_text(path, "content");
    }

    fn write_text(&self, path: &str, text: &str) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.at(from), self.at(to)).unwrap();
    }

    fn start(&self, rules: &RuleSources, budget: WatchBudget) -> FileWatcher {
        let workspace = Workspace::open(&self.root()).unwrap();
        FileWatcher::start(&workspace, rules, &self.cookies(), budget).unwrap()
    }

    fn watched(self) -> WatchedProject {
        self.watched_by(&RuleSources::default())
    }

    fn watched_by(self, rules: &RuleSources) -> WatchedProject {
        let watch = self.start(rules, WatchBudget::new(100_000));
        assert_eq!(watch.take_hint(), ChangeHint::Everything, "nobody has looked yet");
        WatchedProject { watch, project: self }
    }
}

impl std::ops::Deref for WatchedProject {
    type Target = WatchTestProject;

    fn deref(&self) -> &WatchTestProject {
        &self.project
    }
}

impl WatchedProject {
    fn hint(&self) -> ChangeHint {
        self.watch.flush(PATIENCE);
        self.watch.take_hint()
    }

    fn hinted(&self) -> Vec<String> {
        match self.hint() {
            ChangeHint::Everything => panic!("everything"),
            ChangeHint::Paths(paths) => paths.iter().map(ToString::to_string).collect(),
        }
    }

    /// Does something and checks that just these paths are hinted.
    #[track_caller]
    fn check(&self, act: impl FnOnce(&WatchTestProject), expected: &[&str]) {
        act(&self.project);
        assert_eq!(self.hinted(), expected);
    }
}

fn ignoring(patterns: &str) -> RuleSources {
    RuleSources { exclude: patterns.as_bytes().to_vec(), ..RuleSources::default() }
}

fn set(paths: &[&str]) -> BTreeSet<ProjectPath> {
    paths.iter().map(|path| path.parse().unwrap()).collect()
}

/// Everything at and beneath a path: what it is, its mode, its content.
type FileSnapshot = BTreeMap<Vec<u8>, (char, u32, Vec<u8>)>;

fn snapshot(root: &Path) -> FileSnapshot {
    let mut all = FileSnapshot::new();
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        note(&mut all, root, &entry.path());
    }
    all
}

/// Notes what is at a path now. What goes away meanwhile is not there.
fn note(all: &mut FileSnapshot, root: &Path, path: &Path) {
    use std::os::unix::ffi::OsStrExt as _;
    let Ok(metadata) = path.symlink_metadata() else { return };
    let key = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
    if metadata.is_dir() {
        all.insert(key, ('d', 0, Vec::new()));
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            note(all, root, &entry.path());
        }
    } else if metadata.is_symlink() {
        let target = std::fs::read_link(path).unwrap_or_default();
        all.insert(key, ('l', 0, target.as_os_str().as_bytes().to_vec()));
    } else if let Ok(content) = std::fs::read(path) {
        all.insert(key, ('f', metadata.mode(), content));
    }
}

/// Brings a snapshot up to date where the hint says so.
fn catch_up(known: &mut FileSnapshot, root: &Path, hint: &ChangeHint) {
    let ChangeHint::Paths(paths) = hint else {
        *known = snapshot(root);
        return;
    };
    for path in paths {
        known.remove(path.as_bytes());
        let first = [path.as_bytes(), b"/"].concat();
        let beneath = known.range(first.clone()..).take_while(|(key, _)| key.starts_with(&first));
        let beneath: Vec<_> = beneath.map(|(key, _)| key.clone()).collect();
        for key in beneath {
            known.remove(&key);
        }
        // A link above it would lead elsewhere.
        let path = root.join(path.as_str().unwrap());
        let parent = path.parent().unwrap();
        if parent.canonicalize().is_ok_and(|real| real == parent) {
            note(known, root, &path);
        }
    }
}

/// Says loudly that a test could not run; the test harness swallows `eprintln!`.
#[cfg(target_os = "linux")]
fn not_tested(test: &str, needs: &str) {
    use std::io::Write as _;
    writeln!(io::stderr().lock(), "NOT TESTED: {test} needs {needs}").unwrap();
}
