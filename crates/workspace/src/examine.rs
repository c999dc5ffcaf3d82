//! Examines single paths, one by one.
//!
//! For known paths that a walk did not find, and for callers that know
//! which paths may have changed. Invariant: only a path that is surely gone is
//! called missing; every other path that cannot be examined is a gap.

use std::collections::HashSet;
use std::os::fd::AsFd as _;

use retake_model::{GapReason, ProjectPath};
use rustix::io::Errno;

use crate::beneath::{Access, OpenFolder, PATH_LIMIT, look_for_links, split};
use crate::known::Entry;
use crate::scan::{Scan, Suspect};
use crate::stat::Thing;
use crate::workspace::{gap, gap_at};
use crate::{Known, Workspace};

/// Adds what is found at `paths` to `scan`.
pub(crate) fn examine(
    workspace: &Workspace,
    known: &Known,
    mut paths: Vec<ProjectPath>,
    scan: &mut Scan,
) {
    // By folder, so that each is opened once.
    paths.sort_unstable_by(|a, b| split(a.as_bytes()).cmp(&split(b.as_bytes())));
    paths.dedup();
    paths.retain(|path| !workspace.is_off_limits(path));
    let covered = scan.gaps.iter().map(|gap| gap.path.clone()).collect();
    let mut examiner = Examiner { workspace, known, covered, scan };
    for group in paths.chunk_by(|a, b| split(a.as_bytes()).0 == split(b.as_bytes()).0) {
        examiner.folder(group);
    }
}

struct Examiner<'a> {
    workspace: &'a Workspace,
    known: &'a Known,
    /// Paths with a gap: what lies beneath needs no gap of its own.
    covered: HashSet<ProjectPath>,
    scan: &'a mut Scan,
}

impl Examiner<'_> {
    /// Examines paths that lie in one folder.
    fn folder(&mut self, paths: &[ProjectPath]) {
        let Some(first) = paths.first() else { return };
        match self.workspace.beneath.open_folder(split(first.as_bytes()).0, Access::Pass) {
            // Own state that is reached by another path than the one we know.
            Ok(folder) if self.workspace.is_own(folder.id) && first.parent().is_some() => {}
            Ok(folder) => paths.iter().for_each(|path| self.path(&folder, path)),
            Err(errno) => self.no_folder(paths, errno),
        }
    }

    fn path(&mut self, folder: &OpenFolder, path: &ProjectPath) {
        let entry = self.known.entry(path.as_bytes());
        let looked = if path.as_bytes().len() < PATH_LIMIT {
            look_for_links(folder.fd.as_fd(), path.file_name())
        } else {
            Err(Errno::NAMETOOLONG)
        };
        if let Ok((_, true)) = looked {
            self.scan.linked.push(path.clone());
        }
        match looked.map(|(thing, _)| thing) {
            Ok(Thing::File(stat) | Thing::Link(stat)) => {
                if entry != Some(Entry { stat: Some(stat) }) {
                    let known = entry.is_some();
                    self.scan.suspects.push(Suspect { path: path.clone(), stat, known });
                }
            }
            Ok(Thing::Folder) => self.gone(path),
            Ok(Thing::Special(what)) => {
                self.scan.gaps.push(gap(path, GapReason::Special, what));
                self.gone(path);
            }
            // Not the file but its folder is shut, and with it all names in it.
            Err(Errno::ACCESS) => self.no_folder(std::slice::from_ref(path), Errno::ACCESS),
            Err(errno) => self.failed(path, errno),
        }
    }

    fn failed(&mut self, path: &ProjectPath, errno: Errno) {
        match gap_at(path, errno) {
            None => self.gone(path),
            Some(_) if self.is_covered(path) => {}
            Some(gap) => self.scan.gaps.push(gap),
        }
    }

    /// The folder cannot be opened: one gap for it, not one per path.
    fn no_folder(&mut self, paths: &[ProjectPath], errno: Errno) {
        let folder = paths.first().and_then(ProjectPath::parent);
        let gap = folder.as_ref().and_then(|folder| gap_at(folder, errno));
        match (folder, gap) {
            (Some(folder), Some(gap)) => {
                if !self.is_covered(&folder) {
                    self.covered.insert(folder);
                    self.scan.gaps.push(gap);
                }
            }
            _ => paths.iter().for_each(|path| self.failed(path, errno)),
        }
    }

    fn gone(&mut self, path: &ProjectPath) {
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
