//! Listings for the shield: the hidden files that a destructive command is about to remove.
//!
//! They hold files that rules hide (the scan knows the others), up to a limit. Folders are
//! left out, and reported, if a file in or beside them shows that they can be regenerated. A name
//! on the list of default excludes does not prove that: people keep notes in `build`.

use std::os::fd::AsFd as _;

use retake_model::{Gap, GapReason, ProjectPath};
use rustix::io::Errno;

use crate::beneath::{PATH_LIMIT, look, split};
use crate::folder::{Folder, Kind, Name, is_version_control};
use crate::known::join;
use crate::rules::{Origin, Standing, Verdict};
use crate::stat::Thing;
use crate::workspace::{gap, gap_at};
use crate::{Rules, Stat, Workspace};

/// Files and links, as many as were asked for.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// What was found, sorted by path.
    pub files: Vec<(ProjectPath, Stat)>,
    /// `true` if the limit cut the listing off.
    pub truncated: bool,
    /// Paths that could not be examined, or were left out.
    pub gaps: Vec<Gap>,
}

/// Chooses what is listed.
pub trait Choose {
    /// Returns `true` if a hidden file is to be listed; only these count against the limit.
    fn file(&mut self, path: &ProjectPath) -> bool;
    /// Returns `true` if a folder that is left out as regenerable must be reported.
    fn folder(&mut self, path: &ProjectPath) -> bool;
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
        rules: &Rules,
        limit: usize,
        chosen: &mut dyn Choose,
    ) -> Listing {
        let mut lister =
            Lister { workspace: self, rules, limit, chosen, listing: Listing::default() };
        match at {
            None => lister.walk(Vec::new(), Standing::Open),
            Some(path) if !self.is_off_limits(path) => lister.start_at(path),
            Some(_) => {}
        }
        lister.finish()
    }
}

struct Lister<'a> {
    workspace: &'a Workspace,
    rules: &'a Rules,
    limit: usize,
    chosen: &'a mut dyn Choose,
    listing: Listing,
}

impl Lister<'_> {
    fn finish(mut self) -> Listing {
        self.listing.files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        self.listing
    }

    fn start_at(&mut self, path: &ProjectPath) {
        let thing = self
            .workspace
            .beneath
            .open_parent(path.as_bytes())
            .and_then(|folder| look(folder.fd.as_fd(), path.file_name()));
        match thing {
            Ok(Thing::Folder) => {
                let hidden = self.rules.is_ignored(path, true);
                self.walk(path.as_bytes().to_vec(), if hidden { closed() } else { Standing::Open });
            }
            Ok(Thing::File(_) | Thing::Link(_)) if !self.rules.is_ignored(path, false) => {}
            thing => self.take(path.clone(), thing),
        }
    }

    /// Adds the files that rules hide, beneath a folder with this standing.
    fn walk(&mut self, start: Vec<u8>, standing: Standing) {
        let mut waiting = vec![(start, standing)];
        while let Some((path, standing)) = waiting.pop().filter(|_| !self.listing.truncated) {
            let Some(folder) = self.open(&path) else {
                continue;
            };
            let is_hidden = matches!(standing, Standing::Closed(_));
            if is_hidden && let Some(why) = self.made_by(&path, &folder) {
                self.leave_out(&path, why);
                continue;
            }
            for name in tracked_names(&folder) {
                let child = join(&path, &name.bytes);
                let is_dir = name.kind == Kind::Folder;
                let below = self.judge(&path, &standing, &child, is_dir);
                match (below, is_dir) {
                    (below, true) => waiting.push((child.as_bytes().to_vec(), below)),
                    (Standing::Closed(_), false) => self.take_name(&folder, child),
                    _ => {}
                }
            }
        }
    }

    /// Returns the standing of `path`: `Closed` is hidden, with everything below it.
    fn judge(
        &self,
        folder: &[u8],
        standing: &Standing,
        path: &ProjectPath,
        is_dir: bool,
    ) -> Standing {
        if matches!(standing, Standing::Closed(_)) {
            return standing.clone();
        }
        let (set, chain) = (self.rules.set(), self.rules.chain_for(folder));
        match set.judge(chain, standing, path.as_bytes(), is_dir) {
            Verdict::Keep(standing) => standing,
            Verdict::Ignored { .. } => closed(),
        }
    }

    /// Returns the evidence that a folder can be regenerated, if there is any.
    fn made_by(&self, path: &[u8], folder: &Folder) -> Option<&'static str> {
        let (above, name) = split(path);
        let within = [&b"CACHEDIR.TAG"[..], b"pyvenv.cfg"];
        if within.iter().any(|mark| folder.has_file(mark)) {
            return Some("it says so itself");
        }
        let is_compiled = |name: &Name| name.bytes.ends_with(b".pyc");
        let marks: &[&'static str] = match name {
            b"node_modules" => &["package.json"],
            b"target" => &["Cargo.toml", "pom.xml"],
            b"__pycache__" if folder.names.iter().all(is_compiled) => {
                return Some("it is compiled");
            }
            _ => &[],
        };
        let beside = |mark: &&&str| {
            let mark = join(above, mark.as_bytes());
            let parent = self.workspace.beneath.open_parent(mark.as_bytes());
            let found = parent.and_then(|folder| look(folder.fd.as_fd(), mark.file_name()));
            matches!(found, Ok(Thing::File(_)))
        };
        marks.iter().find(beside).copied()
    }

    fn leave_out(&mut self, path: &[u8], why: &str) {
        if let Ok(path) = ProjectPath::new(path)
            && self.chosen.folder(&path)
        {
            let detail = format!("can be made again ({why}), so it is not captured");
            self.listing.gaps.push(gap(&path, GapReason::NotShielded, detail));
        }
    }

    fn open(&mut self, path: &[u8]) -> Option<Folder> {
        let result = Folder::read(&self.workspace.beneath, path);
        let error = match &result {
            Ok(folder) => folder.error,
            Err(errno) => Some(*errno),
        };
        let gap = error.and_then(|errno| gap_at(&ProjectPath::new(path).ok()?, errno));
        self.listing.gaps.extend(gap);
        result.ok().filter(|folder| path.is_empty() || !self.workspace.is_own(folder.id))
    }

    fn take_name(&mut self, folder: &Folder, path: ProjectPath) {
        let thing = if path.as_bytes().len() < PATH_LIMIT {
            folder.look(path.file_name())
        } else {
            Err(Errno::NAMETOOLONG)
        };
        self.take(path, thing);
    }

    fn take(&mut self, path: ProjectPath, thing: Result<Thing, Errno>) {
        match thing {
            Ok(Thing::File(_) | Thing::Link(_)) if !self.chosen.file(&path) => {}
            Ok(Thing::File(_) | Thing::Link(_)) if self.listing.files.len() >= self.limit => {
                self.listing.truncated = true;
            }
            Ok(Thing::File(stat) | Thing::Link(stat)) => self.listing.files.push((path, stat)),
            Ok(Thing::Special(what)) => {
                self.listing.gaps.push(gap(&path, GapReason::Special, what));
            }
            Ok(Thing::Folder) => {}
            Err(errno) => self.listing.gaps.extend(gap_at(&path, errno)),
        }
    }
}

fn tracked_names(folder: &Folder) -> impl Iterator<Item = &Name> {
    folder.names.iter().filter(|name| !is_version_control(&name.bytes))
}

/// The standing "hidden"; listings do not report which rule hides.
fn closed() -> Standing {
    Standing::Closed(std::sync::Arc::new((Origin::IgnoreFile, String::new())))
}
