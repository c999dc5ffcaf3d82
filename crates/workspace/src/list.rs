//! Listings for the shield: the hidden files that a destructive command is about to remove.
//!
//! They hold files that rules hide (the scan knows the others), up to a limit. Folders are
//! left out, and reported, if a file in or beside them shows that they can be regenerated. A name
//! on the list of default excludes does not prove that: people keep notes in `build`.

use std::os::fd::AsFd as _;

use retake_model::{Gap, GapReason, ProjectPath};
use rustix::io::Errno;

use crate::folder::{FolderEntry, FolderEntryKind, FolderListing, is_version_control};
use crate::rules::{FolderStanding, RuleOrigin, RuleVerdict};
use crate::safe_open::{MAX_PATH_BYTES, split_parent, stat_at};
use crate::stat::EntryStat;
use crate::stat_cache::join_path;
use crate::workspace::{gap, gap_at};
use crate::{FileStat, IgnoreRules, Workspace};

/// Files and links, as many as were asked for.
#[derive(Debug, Clone, Default)]
pub struct HiddenListing {
    /// What was found, sorted by path.
    pub files: Vec<(ProjectPath, FileStat)>,
    /// `true` if the limit cut the listing off.
    pub truncated: bool,
    /// Paths that could not be examined, or were left out.
    pub gaps: Vec<Gap>,
}

/// Chooses what is listed.
pub trait ListingFilter {
    /// Returns `true` if a hidden file is to be listed; only these count against the limit.
    fn lists_file(&mut self, path: &ProjectPath) -> bool;
    /// Returns `true` if a folder that is left out as regenerable must be reported.
    fn reports_folder(&mut self, path: &ProjectPath) -> bool;
}

impl Workspace {
    /// Lists all files and links that some rule hides, at a path or beneath it; without one, in
    /// the whole project.
    ///
    /// Folders that can be regenerated are left out. The folders above `at` are not checked, since
    /// the caller named a path in them.
    pub fn list_hidden(
        &self,
        at: Option<&ProjectPath>,
        rules: &IgnoreRules,
        limit: usize,
        chosen: &mut dyn ListingFilter,
    ) -> HiddenListing {
        let mut lister = HiddenLister {
            workspace: self,
            rules,
            limit,
            filter: chosen,
            listing: HiddenListing::default(),
        };
        match at {
            None => lister.walk(Vec::new(), FolderStanding::Open),
            Some(path) if !self.is_off_limits(path) => lister.list_at(path),
            Some(_) => {}
        }
        lister.finish()
    }
}

struct HiddenLister<'a> {
    workspace: &'a Workspace,
    rules: &'a IgnoreRules,
    limit: usize,
    filter: &'a mut dyn ListingFilter,
    listing: HiddenListing,
}

impl HiddenLister<'_> {
    fn finish(mut self) -> HiddenListing {
        self.listing.files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        self.listing
    }

    fn list_at(&mut self, path: &ProjectPath) {
        let entry = self
            .workspace
            .safe_root
            .open_parent(path.as_bytes())
            .and_then(|folder| stat_at(folder.fd.as_fd(), path.file_name()));
        match entry {
            Ok(EntryStat::Folder) => {
                let hidden = self.rules.is_ignored(path, true);
                self.walk(
                    path.as_bytes().to_vec(),
                    if hidden { closed_standing() } else { FolderStanding::Open },
                );
            }
            Ok(EntryStat::File(_) | EntryStat::Link(_)) if !self.rules.is_ignored(path, false) => {}
            entry => self.add_file(path.clone(), entry),
        }
    }

    /// Adds the files that rules hide, beneath a folder with this standing.
    fn walk(&mut self, start: Vec<u8>, standing: FolderStanding) {
        let mut waiting = vec![(start, standing)];
        while let Some((path, standing)) = waiting.pop().filter(|_| !self.listing.truncated) {
            let Some(folder) = self.open_folder(&path) else {
                continue;
            };
            let is_hidden = matches!(standing, FolderStanding::Closed(_));
            if is_hidden && let Some(why) = self.regenerable_reason(&path, &folder) {
                self.skip_folder(&path, why);
                continue;
            }
            for name in tracked_names(&folder) {
                let child = join_path(&path, &name.bytes);
                let is_dir = name.kind == FolderEntryKind::Folder;
                let below = self.judge(&path, &standing, &child, is_dir);
                match (below, is_dir) {
                    (below, true) => waiting.push((child.as_bytes().to_vec(), below)),
                    (FolderStanding::Closed(_), false) => self.add_name(&folder, child),
                    _ => {}
                }
            }
        }
    }

    /// Returns the standing of `path`: `Closed` is hidden, with everything below it.
    fn judge(
        &self,
        folder: &[u8],
        standing: &FolderStanding,
        path: &ProjectPath,
        is_dir: bool,
    ) -> FolderStanding {
        if matches!(standing, FolderStanding::Closed(_)) {
            return standing.clone();
        }
        let (set, chain) = (self.rules.global_rules(), self.rules.chain_for(folder));
        match set.judge(chain, standing, path.as_bytes(), is_dir) {
            RuleVerdict::Keep(standing) => standing,
            RuleVerdict::Ignored { .. } => closed_standing(),
        }
    }

    /// Returns the evidence that a folder can be regenerated, if there is any.
    fn regenerable_reason(&self, path: &[u8], folder: &FolderListing) -> Option<&'static str> {
        let (above, name) = split_parent(path);
        let within = [&b"CACHEDIR.TAG"[..], b"pyvenv.cfg"];
        if within.iter().any(|mark| folder.has_file(mark)) {
            return Some("it says so itself");
        }
        let is_compiled = |name: &FolderEntry| name.bytes.ends_with(b".pyc");
        let marks: &[&'static str] = match name {
            b"node_modules" => &["package.json"],
            b"target" => &["Cargo.toml", "pom.xml"],
            b"__pycache__" if folder.names.iter().all(is_compiled) => {
                return Some("it is compiled");
            }
            _ => &[],
        };
        let beside = |mark: &&&str| {
            let mark = join_path(above, mark.as_bytes());
            let parent = self.workspace.safe_root.open_parent(mark.as_bytes());
            let found = parent.and_then(|folder| stat_at(folder.fd.as_fd(), mark.file_name()));
            matches!(found, Ok(EntryStat::File(_)))
        };
        marks.iter().find(beside).copied()
    }

    fn skip_folder(&mut self, path: &[u8], why: &str) {
        if let Ok(path) = ProjectPath::new(path)
            && self.filter.reports_folder(&path)
        {
            let detail = format!("can be made again ({why}), so it is not captured");
            self.listing.gaps.push(gap(&path, GapReason::NotShielded, detail));
        }
    }

    fn open_folder(&mut self, path: &[u8]) -> Option<FolderListing> {
        let result = FolderListing::read(&self.workspace.safe_root, path);
        let error = match &result {
            Ok(folder) => folder.error,
            Err(errno) => Some(*errno),
        };
        let gap = error.and_then(|errno| gap_at(&ProjectPath::new(path).ok()?, errno));
        self.listing.gaps.extend(gap);
        result.ok().filter(|folder| path.is_empty() || !self.workspace.is_own(folder.id))
    }

    fn add_name(&mut self, folder: &FolderListing, path: ProjectPath) {
        let entry = if path.as_bytes().len() < MAX_PATH_BYTES {
            folder.stat_name(path.file_name())
        } else {
            Err(Errno::NAMETOOLONG)
        };
        self.add_file(path, entry);
    }

    fn add_file(&mut self, path: ProjectPath, entry: Result<EntryStat, Errno>) {
        match entry {
            Ok(EntryStat::File(_) | EntryStat::Link(_)) if !self.filter.lists_file(&path) => {}
            Ok(EntryStat::File(_) | EntryStat::Link(_))
                if self.listing.files.len() >= self.limit =>
            {
                self.listing.truncated = true;
            }
            Ok(EntryStat::File(stat) | EntryStat::Link(stat)) => {
                self.listing.files.push((path, stat));
            }
            Ok(EntryStat::Special(what)) => {
                self.listing.gaps.push(gap(&path, GapReason::Special, what));
            }
            Ok(EntryStat::Folder) => {}
            Err(errno) => self.listing.gaps.extend(gap_at(&path, errno)),
        }
    }
}

fn tracked_names(folder: &FolderListing) -> impl Iterator<Item = &FolderEntry> {
    folder.names.iter().filter(|name| !is_version_control(&name.bytes))
}

/// The standing "hidden"; listings do not report which rule hides.
fn closed_standing() -> FolderStanding {
    FolderStanding::Closed(std::sync::Arc::new((RuleOrigin::IgnoreFile, String::new())))
}
