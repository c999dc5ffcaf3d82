//! Examines single paths, one by one.
//!
//! For known paths that a walk did not find, and for callers that know
//! which paths may have changed. Invariant: only a path that is surely gone is
//! called missing; every other path that cannot be examined is a gap.

use std::collections::HashSet;
use std::os::fd::AsFd as _;

use retake_model::{GapReason, ProjectPath};
use rustix::io::Errno;

use crate::safe_open::{FolderAccess, MAX_PATH_BYTES, OpenFolder, split_parent, stat_at_and_links};
use crate::scan::{ScanResult, SuspectFile};
use crate::stat::EntryStat;
use crate::stat_cache::CachedStat;
use crate::workspace::{gap, gap_at};
use crate::{StatCache, Workspace};

/// Adds what is found at `paths` to `scan`.
pub(crate) fn examine_paths(
    workspace: &Workspace,
    known: &StatCache,
    mut paths: Vec<ProjectPath>,
    scan: &mut ScanResult,
) {
    // By folder, so that each is opened once.
    paths.sort_unstable_by(|a, b| split_parent(a.as_bytes()).cmp(&split_parent(b.as_bytes())));
    paths.dedup();
    paths.retain(|path| !workspace.is_off_limits(path));
    let covered = scan.gaps.iter().map(|gap| gap.path.clone()).collect();
    let mut examiner = PathExaminer { workspace, known, covered, scan };
    for group in paths.chunk_by(|a, b| split_parent(a.as_bytes()).0 == split_parent(b.as_bytes()).0)
    {
        examiner.examine_folder(group);
    }
}

struct PathExaminer<'a> {
    workspace: &'a Workspace,
    known: &'a StatCache,
    /// Paths with a gap: what lies beneath needs no gap of its own.
    covered: HashSet<ProjectPath>,
    scan: &'a mut ScanResult,
}

impl PathExaminer<'_> {
    /// Examines paths that lie in one folder.
    fn examine_folder(&mut self, paths: &[ProjectPath]) {
        let Some(first) = paths.first() else { return };
        match self
            .workspace
            .safe_root
            .open_folder(split_parent(first.as_bytes()).0, FolderAccess::Traverse)
        {
            // Own state that is reached by another path than the one we know.
            Ok(folder) if self.workspace.is_own(folder.id) && first.parent().is_some() => {}
            Ok(folder) => paths.iter().for_each(|path| self.examine_path(&folder, path)),
            Err(errno) => self.record_folder_failure(paths, errno),
        }
    }

    fn examine_path(&mut self, folder: &OpenFolder, path: &ProjectPath) {
        let entry = self.known.entry(path.as_bytes());
        let found = if path.as_bytes().len() < MAX_PATH_BYTES {
            stat_at_and_links(folder.fd.as_fd(), path.file_name())
        } else {
            Err(Errno::NAMETOOLONG)
        };
        if let Ok((_, true)) = found {
            self.scan.linked.push(path.clone());
        }
        match found.map(|(entry, _)| entry) {
            Ok(EntryStat::File(stat) | EntryStat::Link(stat)) => {
                if entry != Some(CachedStat { stat: Some(stat) }) {
                    let known = entry.is_some();
                    self.scan.suspects.push(SuspectFile { path: path.clone(), stat, known });
                }
            }
            Ok(EntryStat::Folder) => self.record_missing(path),
            Ok(EntryStat::Special(what)) => {
                self.scan.gaps.push(gap(path, GapReason::Special, what));
                self.record_missing(path);
            }
            // Not the file but its folder is shut, and with it all names in it.
            Err(Errno::ACCESS) => {
                self.record_folder_failure(std::slice::from_ref(path), Errno::ACCESS);
            }
            Err(errno) => self.record_failure(path, errno),
        }
    }

    fn record_failure(&mut self, path: &ProjectPath, errno: Errno) {
        match gap_at(path, errno) {
            None => self.record_missing(path),
            Some(_) if self.is_covered(path) => {}
            Some(gap) => self.scan.gaps.push(gap),
        }
    }

    /// The folder cannot be opened: one gap for it, not one per path.
    fn record_folder_failure(&mut self, paths: &[ProjectPath], errno: Errno) {
        let folder = paths.first().and_then(ProjectPath::parent);
        let gap = folder.as_ref().and_then(|folder| gap_at(folder, errno));
        match (folder, gap) {
            (Some(folder), Some(gap)) => {
                if !self.is_covered(&folder) {
                    self.covered.insert(folder);
                    self.scan.gaps.push(gap);
                }
            }
            _ => paths.iter().for_each(|path| self.record_failure(path, errno)),
        }
    }

    fn record_missing(&mut self, path: &ProjectPath) {
        if self.known.contains(path) {
            self.scan.missing.push(path.clone());
        }
    }

    fn is_covered(&self, path: &ProjectPath) -> bool {
        let mut at = Some(path.clone());
        while let Some(path) = at {
            if self.covered.contains(&path) {
                return true;
            }
            at = path.parent();
        }
        false
    }
}
