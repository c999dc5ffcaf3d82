//! The result of a scan.

use retake_model::{Gap, ProjectPath};
use serde::{Deserialize, Serialize};

use crate::{FileStat, RuleSources};

/// Maximum number of ignored names that are listed; the rest is only counted.
pub(crate) const MAX_IGNORED_LISTED: usize = 4096;

/// The paths that may have changed, and those that could not be examined.
///
/// All lists are sorted by path.
#[derive(Debug, Clone, Default)]
pub struct ScanResult {
    /// New paths, and known ones whose content may have changed.
    pub suspects: Vec<SuspectFile>,
    /// Known paths that are surely gone (or are now a folder or special file).
    pub missing: Vec<ProjectPath>,
    /// Files found that have other hard links, in the project or not: a watcher reports a write
    /// through one of these names by that name only.
    pub linked: Vec<ProjectPath>,
    /// Paths that could not be examined; known paths beneath are neither suspect nor missing.
    pub gaps: Vec<Gap>,
    /// Number of names that the scratch patterns left out (a folder counts once);
    /// they are among `ignored`, too.
    pub scratch: u64,
    /// The top-most ignored names, at most some thousand of them.
    pub ignored: Vec<IgnoredName>,
    /// Number of all top-most ignored names.
    pub ignored_count: u64,
    /// Folders other than the root that hold a `.git`.
    pub nested_repositories: Vec<ProjectPath>,
    /// The rules that were asked: the given ones with all `.gitignore` files found.
    pub sources: RuleSources,
    /// Why the root itself could not be listed (a [`Gap`] cannot name it).
    /// Then nothing new was found; known paths were examined one by one.
    pub root_error: Option<String>,
}

/// A path whose content must be read to know whether it changed.
#[derive(Debug, Clone)]
pub struct SuspectFile {
    /// The path.
    pub path: ProjectPath,
    /// Its stat now.
    pub stat: FileStat,
    /// `true` if the manifest has it.
    pub known: bool,
}

/// A name that the rules left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IgnoredName {
    /// The file, or the folder that was not entered.
    pub path: ProjectPath,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// The rule, for people: `.gitignore:3 *.log`, `default-excludes node_modules/`.
    pub by: String,
}

impl ScanResult {
    /// Adds the result of another worker.
    pub(crate) fn merge(&mut self, other: Self) {
        self.suspects.extend(other.suspects);
        self.missing.extend(other.missing);
        self.linked.extend(other.linked);
        self.gaps.extend(other.gaps);
        self.scratch += other.scratch;
        self.ignored.extend(other.ignored);
        self.ignored_count += other.ignored_count;
        self.nested_repositories.extend(other.nested_repositories);
        self.sources.ignore_files.extend(other.sources.ignore_files);
        self.root_error = self.root_error.take().or(other.root_error);
    }

    pub(crate) fn sort(&mut self) {
        self.suspects.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.suspects.dedup_by(|a, b| a.path == b.path);
        self.missing.sort_unstable();
        self.missing.dedup();
        self.linked.sort_unstable();
        self.linked.dedup();
        self.gaps.sort_by(|a, b| (&a.path, a.reason).cmp(&(&b.path, b.reason)));
        self.gaps.dedup_by(|a, b| (&a.path, a.reason) == (&b.path, b.reason));
        self.ignored.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.ignored.truncate(MAX_IGNORED_LISTED);
        self.nested_repositories.sort_unstable();
    }
}
