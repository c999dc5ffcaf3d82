//! An opened project root: scans, queries about single paths, and the rule sources.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use retake_model::{Gap, GapReason, ProjectPath};
use rustix::io::Errno;

use crate::examine::examine_paths;
use crate::folder::in_version_control;
use crate::rules::GlobalRules;
use crate::safe_open::{FolderId, SafeRoot, gap_reason, split_parent, stat_at};
use crate::stat::EntryStat;
use crate::walk::{FolderTask, WalkResult, WalkRules, walk};
use crate::{IgnoreRules, RootId, RuleSources, ScanResult, StatCache, git, root_id};

/// An opened project root.
///
/// The descriptor is held, so a root that is moved or replaced at its path
/// while a scan runs stays the folder that was opened.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    pub(crate) safe_root: SafeRoot,
    own_folders: Vec<OwnFolder>,
    #[cfg(test)]
    pub(crate) missing_features: crate::write::MissingFeatures,
}

/// A folder of Retake's own state inside the root.
#[derive(Clone, Debug)]
struct OwnFolder {
    id: FolderId,
    /// Its path in the project, to check single paths without opening the folders above them.
    path: Option<ProjectPath>,
    /// `true` if it lies in the project, by any name.
    inside: bool,
}

/// Why a root cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no folder, or it cannot be read.
    #[error("cannot open the project folder '{}': {source}", .root.display())]
    Unreadable {
        /// The path that was asked for.
        root: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl Workspace {
    /// Opens the folder at `root`.
    pub fn open(root: &Path) -> Result<Self, OpenError> {
        let error = |source| OpenError::Unreadable { root: root.to_owned(), source };
        let canonical = root.canonicalize().map_err(error)?;
        let beneath = SafeRoot::open(&canonical).map_err(|errno| error(errno.into()))?;
        Ok(Self {
            root: canonical,
            safe_root: beneath,
            own_folders: Vec::new(),
            #[cfg(test)]
            missing_features: crate::write::MissingFeatures::default(),
        })
    }

    /// A root whose folder is not there: nothing beneath it can be read or written.
    pub fn absent(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            safe_root: SafeRoot::absent(),
            own_folders: Vec::new(),
            #[cfg(test)]
            missing_features: crate::write::MissingFeatures::default(),
        }
    }

    /// The same opened root, for another thread.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            root: self.root.clone(),
            safe_root: self.safe_root.try_clone()?,
            own_folders: self.own_folders.clone(),
            #[cfg(test)]
            missing_features: crate::write::MissingFeatures::default(),
        })
    }

    /// The canonical path of the root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Keeps every scan, listing and write out of `folder`, Retake's own state.
    ///
    /// The folder is recognised by device and inode, so it does not matter
    /// by which path the walk reaches it. A folder that does not exist is ignored.
    pub fn exclude_own_folder(&mut self, folder: &Path) {
        let Ok(RootId { device, inode, .. }) = root_id(folder) else {
            return;
        };
        let canonical = folder.canonicalize().ok();
        let path = canonical.as_ref().and_then(|folder| {
            let relative = folder.strip_prefix(&self.root).ok()?;
            ProjectPath::new(relative.as_os_str().as_bytes()).ok()
        });
        let root = root_id(&self.root).ok();
        let is_root = |above: &Path| root.is_some() && root_id(above).ok() == root;
        // Neither links nor other mounts are ever passed, so nothing else leads there.
        let inside = canonical.is_none_or(|folder| folder.ancestors().any(is_root));
        self.own_folders.push(OwnFolder { id: FolderId { device, inode }, path, inside });
    }

    /// Walks the whole project and compares it with the cached stats in `known`.
    ///
    /// `base` gives all rules except the `.gitignore` files, which the walk
    /// finds itself; [`ScanResult::sources`] has them all. Rules are asked for
    /// folders and for files that are not known: a known file stays tracked
    /// even if the rules or a folder above ignore it.
    pub fn scan(&self, known: &StatCache, base: &RuleSources) -> ScanResult {
        let set = GlobalRules::new(base);
        let walked = walk(self, known, WalkRules::Found(&set), vec![FolderTask::root()]);
        let mut scan = self.examine_remaining(known, walked, &[]);
        scan.sources =
            RuleSources { ignore_files: scan.sources.ignore_files, ..without_ignore_files(base) };
        scan
    }

    /// Scans at and beneath `places` with the result that [`Workspace::scan`] has there, provided
    /// that `rules` still apply, and examines `also` as [`Workspace::scan_paths`] does.
    ///
    /// No place lies beneath another one. `known` has all cached stats at and beneath
    /// them, and of `also`; [`ScanResult::sources`] has the `.gitignore` files found beneath them.
    pub fn scan_within(
        &self,
        known: &StatCache,
        rules: &IgnoreRules,
        places: &BTreeSet<ProjectPath>,
        also: &[ProjectPath],
    ) -> ScanResult {
        let mut folders: BTreeMap<&[u8], Vec<Box<[u8]>>> = BTreeMap::new();
        for place in places.iter().filter(|place| !self.is_off_limits(place)) {
            let (folder, name) = split_parent(place.as_bytes());
            folders.entry(folder).or_default().push(name.into());
        }
        let tasks = folders.into_iter();
        let tasks = tasks.filter_map(|(folder, names)| FolderTask::names(folder, names, rules));
        let walked = walk(self, known, WalkRules::Found(rules.global_rules()), tasks.collect());
        self.examine_remaining(known, walked, also)
    }

    /// Walks the whole project by exactly these rules; the current `.gitignore` files are not read.
    pub fn scan_with_rules(&self, known: &StatCache, rules: &IgnoreRules) -> ScanResult {
        let walked = walk(self, known, WalkRules::Given(rules), vec![FolderTask::root()]);
        self.examine_remaining(known, walked, &[])
    }

    /// Examines one by one the paths that a walk could not decide.
    fn examine_remaining(
        &self,
        known: &StatCache,
        mut walked: WalkResult<'_>,
        also: &[ProjectPath],
    ) -> ScanResult {
        let unvisited = known.folders().filter(|names| !walked.visited.contains(names.folder));
        for names in unvisited {
            walked
                .doubtful
                .extend(names.iter().map(|name| crate::stat_cache::join_path(names.folder, name)));
        }
        walked.doubtful.extend_from_slice(also);
        let mut scan = walked.scan;
        examine_paths(self, known, walked.doubtful, &mut scan);
        scan.sort();
        scan
    }

    /// Scans exactly these paths: no rules are asked, and a path that is a folder
    /// contributes nothing.
    pub fn scan_paths(&self, known: &StatCache, paths: &[ProjectPath]) -> ScanResult {
        let mut scan = ScanResult::default();
        examine_paths(self, known, paths.to_vec(), &mut scan);
        scan.sort();
        scan
    }

    /// Returns `true` if the system says that nothing is at a path.
    pub fn is_gone(&self, path: &ProjectPath) -> bool {
        let folder = self.safe_root.open_parent(path.as_bytes());
        let entry = folder.and_then(|folder| stat_at(folder.fd.as_fd(), path.file_name()));
        matches!(entry, Err(Errno::NOENT | Errno::NOTDIR))
    }

    /// Returns `true` if a folder is at a path.
    pub fn is_folder(&self, path: &ProjectPath) -> bool {
        let folder = self.safe_root.open_parent(path.as_bytes());
        let entry = folder.and_then(|folder| stat_at(folder.fd.as_fd(), path.file_name()));
        matches!(entry, Ok(EntryStat::Folder))
    }

    /// Returns the mtime (ns) of a folder, or of the nearest existing one above it: when a name
    /// was last added or removed there. `None` is the root.
    pub fn folder_changed_ns(&self, folder: Option<&ProjectPath>) -> Option<i64> {
        let mut at = folder.cloned();
        loop {
            let path = at.as_ref().map_or(&b""[..], ProjectPath::as_bytes);
            let place = self.root.join(std::ffi::OsStr::from_bytes(path));
            if let Ok(data) = place.symlink_metadata() {
                return Some(data.mtime() * 1_000_000_000 + data.mtime_nsec());
            }
            at = at?.parent();
        }
    }

    /// Reads the rules that do not lie in the tree: `info/exclude` and the
    /// global file. [`Workspace::scan`] adds the `.gitignore` files.
    ///
    /// A file that cannot be read counts as empty: then more is tracked, never less.
    pub fn rule_sources(
        &self,
        profile: &[String],
        scratch: &[String],
        include: &[String],
        global_excludes: Option<&Path>,
    ) -> RuleSources {
        let exclude = git::exclude_file(&self.root);
        let text = |file: Option<&Path>| file.and_then(read_rule_file).unwrap_or_default();
        RuleSources {
            exclude: text(exclude.as_deref()),
            global: text(global_excludes),
            profile: profile.to_vec(),
            scratch: scratch.to_vec(),
            include: include.to_vec(),
            keeps_rule_files: true,
            ..RuleSources::default()
        }
    }

    /// Returns `true` if this folder is Retake's own state.
    pub(crate) fn is_own(&self, id: FolderId) -> bool {
        self.own_folders.iter().any(|own| own.id == id)
    }

    /// Returns `true` if a folder of Retake's own state lies in the project.
    pub(crate) fn has_own_folder(&self) -> bool {
        self.own_folders.iter().any(|own| own.inside)
    }

    /// Returns `true` for paths that Retake never touches: version control data and own state.
    pub(crate) fn is_off_limits(&self, path: &ProjectPath) -> bool {
        in_version_control(path.as_bytes())
            || self
                .own_folders
                .iter()
                .filter_map(|own| own.path.as_ref())
                .any(|own| path.is_beneath(own))
    }
}

fn without_ignore_files(base: &RuleSources) -> RuleSources {
    RuleSources {
        ignore_files: BTreeMap::new(),
        exclude: base.exclude.clone(),
        global: base.global.clone(),
        profile: base.profile.clone(),
        scratch: base.scratch.clone(),
        include: base.include.clone(),
        keeps_rule_files: base.keeps_rule_files,
    }
}

fn read_rule_file(file: &Path) -> Option<Vec<u8>> {
    match crate::read::read_whole_path(file, crate::walk::MAX_IGNORE_FILE_BYTES) {
        Ok(content) => Some(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "ignore rules cannot be read");
            None
        }
    }
}

/// The gap that an error leaves at `path`; `None` if the path is just not there.
pub(crate) fn gap_at(path: &ProjectPath, errno: Errno) -> Option<Gap> {
    gap_reason(errno).map(|reason| gap(path, reason, io::Error::from(errno).to_string()))
}

pub(crate) fn gap(path: &ProjectPath, reason: GapReason, detail: impl Into<String>) -> Gap {
    Gap { path: path.clone(), reason, detail: detail.into() }
}
