//! Change hints that miss nothing: each query lists the whole project and compares.
//!
//! They guarantee what a watcher does and no more: nothing in an ignored folder is reported, nor an
//! ignored file, unless it was named as tracked there; of a file with several hard links, the new
//! ones or the last one. On request they are also as vague as a watcher may be: they name too
//! much, a folder instead of the files in it, or simply everything.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use fastrand::Rng;
use retake_engine::model::ProjectPath;
use retake_engine::{ChangeHint, HintSource, RuleSources};
use retake_workspace::IgnoreRules;

/// A hint source for tests that do not test the watcher; clones share their state.
#[derive(Clone, Debug)]
pub struct ListingHints(Arc<Mutex<ListingState>>);

#[derive(Debug)]
struct ListingState {
    root: PathBuf,
    listing: PathListing,
    hint: ChangeHint,
    rules: IgnoreRules,
    tracked_hidden: BTreeSet<ProjectPath>,
    vague: Option<Rng>,
    takes: usize,
    ignored: BTreeSet<ProjectPath>,
    /// Paths whose changes are never reported.
    never_reported: BTreeSet<ProjectPath>,
}

type PathListing = BTreeMap<ProjectPath, PathMark>;

/// The metadata that tells two states of a path apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PathMark {
    is_dir: bool,
    mode: u32,
    inode: u64,
    has_other_names: bool,
    /// Of a folder only its mode and inode count.
    size: u64,
    ctime_ns: i64,
}

impl ListingHints {
    /// Starts to watch a folder by these rules.
    pub fn open(root: &Path, rules: RuleSources) -> Self {
        Self(Arc::new(Mutex::new(ListingState {
            root: root.to_owned(),
            listing: list_paths(root),
            hint: ChangeHint::Everything,
            rules: IgnoreRules::new(rules),
            tracked_hidden: BTreeSet::new(),
            vague: None,
            takes: 0,
            ignored: BTreeSet::new(),
            never_reported: BTreeSet::new(),
        })))
    }

    /// Makes the hints vague from now on, each time in another way.
    #[must_use]
    pub fn vague(self, seed: u64) -> Self {
        self.lock().vague = Some(Rng::with_seed(seed));
        self
    }

    /// Never reports changes of this path.
    pub fn never_report(&self, path: &str) {
        self.lock().never_reported.insert(path.parse().unwrap());
    }

    /// Returns the hint that the next scan will get, if nothing else changes.
    pub fn pending(&self) -> ChangeHint {
        self.lock().hint.clone()
    }

    /// Returns the number of hints that were taken.
    pub fn takes(&self) -> usize {
        self.lock().takes
    }

    /// Adds all changes until now to the hint. A watcher sees each change at once; here a test
    /// that creates and removes a file calls this in between.
    pub fn update_hint(&self) {
        let mut seen = self.lock();
        let now = list_paths(&seen.root);
        let paths = seen.listing.keys().chain(now.keys());
        let moved: BTreeSet<_> =
            paths.filter(|path| seen.listing.get(*path) != now.get(*path)).cloned().collect();
        let moved = seen.reported_names(&moved, &now).into_iter();
        let is_dir = |path: &ProjectPath| {
            [&seen.listing, &now].iter().filter_map(|it| it.get(path)).any(|mark| mark.is_dir)
        };
        let (reported, others): (BTreeSet<_>, BTreeSet<_>) =
            moved.partition(|path| seen.is_reported(path, is_dir(path)));
        let is_met = |path: &ProjectPath| {
            path.parent().is_none_or(|folder| !seen.rules.is_ignored(&folder, true))
        };
        let ignored: Vec<_> = others.into_iter().filter(is_met).collect();
        let mut hint = ChangeHint::Paths(reported);
        seen.ignored.extend(ignored);
        seen.listing = now;
        if let Some(mut rng) = seen.vague.take() {
            hint = widen_hint(hint, &seen.listing, &mut rng);
            seen.vague = Some(rng);
        }
        seen.add_hint(hint);
    }

    fn lock(&self) -> MutexGuard<'_, ListingState> {
        self.0.lock().unwrap()
    }
}

impl HintSource for ListingHints {
    fn sync(&self) {
        self.update_hint();
    }

    fn take_hint(&self) -> ChangeHint {
        let mut seen = self.lock();
        seen.takes += 1;
        std::mem::replace(&mut seen.hint, ChangeHint::Paths(BTreeSet::new()))
    }

    fn take_ignored(&self) -> BTreeSet<ProjectPath> {
        std::mem::take(&mut self.lock().ignored)
    }

    fn put_back(&self, hint: ChangeHint) {
        self.lock().add_hint(hint);
    }

    fn apply_rules(&self, sources: &RuleSources, tracked_hidden: &BTreeSet<ProjectPath>) {
        let mut seen = self.lock();
        seen.rules = IgnoreRules::new(sources.clone());
        seen.tracked_hidden.clone_from(tracked_hidden);
    }
}

impl ListingState {
    /// A watcher reports a file by the name that is used, not by its other hard links.
    fn reported_names(
        &self,
        moved: &BTreeSet<ProjectPath>,
        now: &PathListing,
    ) -> BTreeSet<ProjectPath> {
        let linked = |path: &ProjectPath| now.get(path).filter(|mark| mark.has_other_names);
        let was_there = |path: &ProjectPath, mark: &PathMark| {
            self.listing.get(path).is_some_and(|before| before.inode == mark.inode)
        };
        // For each such file the new names, else the last of the old ones.
        let mut used: BTreeMap<u64, Option<&ProjectPath>> = BTreeMap::new();
        for path in moved {
            let Some(mark) = linked(path) else { continue };
            let by = used.entry(mark.inode).or_insert(Some(path));
            *by = by.filter(|_| was_there(path, mark)).map(|_| path);
        }
        let is_reported = |path: &&ProjectPath| match linked(path) {
            Some(mark) if was_there(path, mark) => {
                used.get(&mark.inode).is_some_and(|by| *by == Some(*path))
            }
            _ => true,
        };
        let reported = moved.iter().filter(is_reported);
        reported.filter(|path| !self.never_reported.contains(*path)).cloned().collect()
    }

    fn is_reported(&self, path: &ProjectPath, is_dir: bool) -> bool {
        let out_of_sight = path.parent().is_some_and(|folder| self.rules.is_ignored(&folder, true));
        let in_sight = !out_of_sight && !self.rules.is_ignored(path, is_dir);
        in_sight || self.tracked_hidden.contains(path)
    }

    fn add_hint(&mut self, hint: ChangeHint) {
        match (&mut self.hint, hint) {
            (ChangeHint::Paths(here), ChangeHint::Paths(more)) => here.extend(more),
            (here, _) => *here = ChangeHint::Everything,
        }
    }
}

/// Widens a hint at random; it never covers less.
fn widen_hint(hint: ChangeHint, listing: &PathListing, rng: &mut Rng) -> ChangeHint {
    let ChangeHint::Paths(paths) = hint else { return hint };
    if rng.u8(0..24) == 0 {
        return ChangeHint::Everything;
    }
    let wider = |path: ProjectPath, rng: &mut Rng| match path.parent() {
        Some(folder) if rng.u8(0..4) == 0 => folder,
        _ => path,
    };
    let mut widened: BTreeSet<_> = paths.into_iter().map(|path| wider(path, rng)).collect();
    if rng.bool() {
        let any: Vec<_> = listing.keys().filter(|path| path.file_name() != b".gitignore").collect();
        widened.extend(rng.choice(any).cloned());
    }
    ChangeHint::Paths(widened)
}

fn list_paths(root: &Path) -> PathListing {
    let mut listing = PathListing::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.map(Result::unwrap).filter(|entry| entry.file_name() != ".git") {
            let (path, data) = (entry.path(), entry.metadata().unwrap());
            let inside = path.strip_prefix(root).unwrap().as_os_str().as_bytes();
            listing.insert(ProjectPath::new(inside).unwrap(), path_mark(&data));
            if data.is_dir() {
                waiting.push(path);
            }
        }
    }
    listing
}

fn path_mark(data: &std::fs::Metadata) -> PathMark {
    let is_dir = data.is_dir();
    let ctime_ns = data.ctime() * 1_000_000_000 + data.ctime_nsec();
    PathMark {
        is_dir,
        mode: data.mode(),
        inode: data.ino(),
        has_other_names: !is_dir && data.nlink() > 1,
        size: if is_dir { 0 } else { data.len() },
        ctime_ns: if is_dir { 0 } else { ctime_ns },
    }
}
