//! The walk through the project: from its root, or from hinted paths.
//!
//! Two workers share the folders; each folder is opened by its path beneath the
//! root, so no more than one descriptor per worker is open, however deep or wide
//! the tree is.
//!
//! Invariant: a known path that the walk itself did not find as a file or link
//! is put on the list of doubtful ones, never called missing here.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use retake_model::{GapReason, ProjectPath};
use rustix::io::Errno;

use crate::folder::{FolderEntry, FolderEntryKind, FolderListing, is_version_control};
use crate::pool::{WorkPool, WorkerQueue};
use crate::read::read_whole;
use crate::rules::{
    FolderStanding, GlobalRules, IgnoreFileChain, IgnoreReason, IgnoreRules, RuleOrigin,
    RuleVerdict,
};
use crate::safe_open::MAX_PATH_BYTES;
use crate::scan::{IgnoredName, MAX_IGNORED_LISTED, ScanResult, SuspectFile};
use crate::stat_cache::{CachedNames, CachedStat, join_path};
use crate::workspace::{gap, gap_at};
use crate::{StatCache, Workspace};

/// Maximum bytes of a `.gitignore`; a longer one is not applied.
pub(crate) const MAX_IGNORE_FILE_BYTES: u64 = 16 << 20;

/// Name of the files that hold ignore rules.
pub const IGNORE_FILE: &[u8] = b".gitignore";

/// Folders that are walked before a second thread starts: they take less time than its start.
const SINGLE_THREAD_FOLDERS: usize = 16;

/// The result of the walk, and the paths that it leaves to be examined one by one.
#[derive(Default)]
pub(crate) struct WalkResult<'a> {
    pub(crate) scan: ScanResult,
    /// Known folders that were listed completely.
    pub(crate) visited: HashSet<&'a [u8]>,
    /// Paths whose state the walk could not determine.
    pub(crate) doubtful: Vec<ProjectPath>,
}

/// The ignore rules of a walk.
#[derive(Clone, Copy)]
pub(crate) enum WalkRules<'a> {
    /// These, and the `.gitignore` files that it finds.
    Found(&'a GlobalRules),
    /// These alone.
    Given(&'a IgnoreRules),
}

/// Walks from these folders down.
pub(crate) fn walk<'a>(
    workspace: &'a Workspace,
    known: &'a StatCache,
    by: WalkRules<'a>,
    from: Vec<FolderTask>,
) -> WalkResult<'a> {
    let pool = WorkPool::new(from);
    let set = match by {
        WalkRules::Found(set) => set,
        WalkRules::Given(rules) => rules.global_rules(),
    };
    let new_worker = || WalkWorker { workspace, known, by, set, walked: WalkResult::default() };
    let (mut worker, mut share) = (new_worker(), pool.add_worker());
    for _ in 0..SINGLE_THREAD_FOLDERS {
        let Some(task) = share.next() else { return worker.walked };
        worker.walk_folder(task, &mut share);
    }
    let work = |mut worker: WalkWorker<'a>, mut share: WorkerQueue<'_, FolderTask>| {
        while let Some(task) = share.next() {
            worker.walk_folder(task, &mut share);
        }
        worker.walked
    };
    std::thread::scope(|scope| {
        // Without a second thread (a process limit) the walk only takes longer.
        let help = || work(new_worker(), pool.add_worker());
        let second = std::thread::Builder::new().spawn_scoped(scope, help);
        let mut walked = work(worker, share);
        if let Ok(second) = second {
            let other = second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            walked.scan.merge(other.scan);
            walked.visited.extend(other.visited);
            walked.doubtful.extend(other.doubtful);
        }
        walked
    })
}

/// A folder to be entered.
pub(crate) struct FolderTask {
    path: Vec<u8>,
    /// The names to look for; `None` lists the folder.
    names: Option<Vec<Box<[u8]>>>,
    chain: Option<Arc<IgnoreFileChain>>,
    standing: FolderStanding,
}

impl FolderTask {
    /// The whole project.
    pub(crate) fn root() -> Self {
        Self { path: Vec::new(), names: None, chain: None, standing: FolderStanding::Open }
    }

    /// These names in a folder, with all that is beneath them; `None` if no walk that asks these
    /// rules comes to that folder.
    pub(crate) fn names(folder: &[u8], names: Vec<Box<[u8]>>, rules: &IgnoreRules) -> Option<Self> {
        Some(Self {
            path: folder.to_vec(),
            names: Some(names),
            chain: rules.chain_for(folder).cloned(),
            standing: rules.standing_in(folder)?,
        })
    }
}

struct WalkWorker<'a> {
    workspace: &'a Workspace,
    known: &'a StatCache,
    by: WalkRules<'a>,
    set: &'a GlobalRules,
    walked: WalkResult<'a>,
}

/// The folder that is being walked.
struct CurrentFolder<'f> {
    path: &'f [u8],
    folder: &'f FolderListing,
    names: Option<&'f CachedNames<'f>>,
    chain: Option<Arc<IgnoreFileChain>>,
    standing: FolderStanding,
}

impl WalkWorker<'_> {
    fn walk_folder(&mut self, task: FolderTask, share: &mut WorkerQueue<'_, FolderTask>) {
        let FolderTask { path, names: only, chain, standing } = task;
        let beneath = &self.workspace.safe_root;
        let folder = match &only {
            None => FolderListing::read(beneath, &path),
            Some(names) => FolderListing::read_names(beneath, &path, names),
        };
        let folder = match (folder, &only) {
            (Ok(folder), _) => folder,
            (Err(errno), None) => return self.record_unopened(&path, errno),
            (Err(_), Some(names)) => {
                return self
                    .walked
                    .doubtful
                    .extend(names.iter().map(|name| join_path(&path, name)));
            }
        };
        if self.workspace.is_own(folder.id) && !path.is_empty() {
            return;
        }
        if let Some(errno) = folder.error {
            self.record_unopened(&path, errno);
        }
        if only.is_none() && !path.is_empty() && folder.has(b".git") {
            self.walked.scan.nested_repositories.push(to_project_path(&path));
        }
        let known = self.known;
        let names = known.names(&path);
        let here = CurrentFolder {
            path: &path,
            chain: match only {
                // For single names the task has the chain already.
                Some(_) => chain,
                None => self.chain_here(&path, &folder, chain, &standing),
            },
            folder: &folder,
            names: names.as_ref(),
            standing,
        };
        let mut met = 0;
        for name in folder.names.iter().filter(|name| !is_version_control(&name.bytes)) {
            let known = here.names.and_then(|names| names.get(&name.bytes));
            met += usize::from(known.is_some());
            self.visit_name(&here, name, known, share);
        }
        if let (Some(names), None) = (&names, folder.error) {
            self.walked.visited.insert(names.folder);
            if met < names.len() {
                self.queue_unlisted(names, &folder);
            }
        }
    }

    fn record_unopened(&mut self, path: &[u8], errno: Errno) {
        if path.is_empty() {
            self.walked.scan.root_error = Some(io::Error::from(errno).to_string());
            return;
        }
        match gap_at(&to_project_path(path), errno) {
            Some(gap) => self.walked.scan.gaps.push(gap),
            // It was a folder a moment ago. It may be a file or link now.
            None => self.walked.doubtful.push(to_project_path(path)),
        }
    }

    /// The ignore files that apply to names in this folder, with its own.
    fn chain_here(
        &mut self,
        path: &[u8],
        folder: &FolderListing,
        above: Option<Arc<IgnoreFileChain>>,
        standing: &FolderStanding,
    ) -> Option<Arc<IgnoreFileChain>> {
        if let WalkRules::Given(rules) = self.by {
            return rules.chain_for(path).cloned();
        }
        // Git does not follow a `.gitignore` that is a link, and in an included
        // or ignored folder no ignore file has a say.
        if !matches!(standing, FolderStanding::Open) || !folder.has_file(IGNORE_FILE) {
            return above;
        }
        match self.read_ignore_file(folder) {
            Ok(content) => {
                let chain = IgnoreFileChain::new(path, &content, above);
                self.walked.scan.sources.ignore_files.insert(path.to_vec(), content);
                Some(chain)
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    let file = join_path(path, IGNORE_FILE);
                    let detail = format!("its rules are not applied: {error}");
                    self.walked.scan.gaps.push(gap(&file, GapReason::Unreadable, detail));
                }
                above
            }
        }
    }

    fn read_ignore_file(&self, folder: &FolderListing) -> io::Result<Vec<u8>> {
        let file = self.workspace.safe_root.open_file(folder.fd(), IGNORE_FILE)?;
        read_whole(file.into(), MAX_IGNORE_FILE_BYTES)
    }

    fn visit_name(
        &mut self,
        here: &CurrentFolder<'_>,
        name: &FolderEntry,
        known: Option<CachedStat>,
        share: &mut WorkerQueue<'_, FolderTask>,
    ) {
        // Nearly every name: a file that is known. No rule is asked, and no path is made of it.
        if let (Some(_), FolderEntryKind::File { .. }) = (known, name.kind) {
            return self.check_file(here, &name.bytes, known);
        }
        let path = join_bytes(here.path, &name.bytes);
        if known.is_some() {
            self.walked.doubtful.push(to_project_path(&path));
        }
        let is_dir = name.kind == FolderEntryKind::Folder;
        let standing = if known.is_some() && !is_dir {
            FolderStanding::Open
        } else {
            match self.set.judge(here.chain.as_ref(), &here.standing, &path, is_dir) {
                RuleVerdict::Keep(standing) => standing,
                RuleVerdict::Ignored { reason, closed } => {
                    let Some(closed) = closed else {
                        return self.record_ignored(&path, is_dir, &reason);
                    };
                    closed
                }
            }
        };
        match name.kind {
            FolderEntryKind::Folder => {
                let chain = here.chain.clone();
                share.push(FolderTask { path, names: None, chain, standing });
            }
            FolderEntryKind::File { .. } => self.check_file(here, &name.bytes, None),
            FolderEntryKind::Special(what) if known.is_none() => {
                let special = gap(&to_project_path(&path), GapReason::Special, what);
                self.walked.scan.gaps.push(special);
            }
            FolderEntryKind::Special(_) => {}
        }
    }

    /// Stats a file and compares it with the cached stat.
    fn check_file(&mut self, here: &CurrentFolder<'_>, name: &[u8], known: Option<CachedStat>) {
        let too_long = here.path.len() + 1 + name.len() >= MAX_PATH_BYTES && !here.path.is_empty();
        let found =
            if too_long { Err(Errno::NAMETOOLONG) } else { here.folder.stat_name_and_links(name) };
        if let Ok((_, true)) = found {
            self.walked.scan.linked.push(join_path(here.path, name));
        }
        match found.map(|(entry, _)| entry.stat()) {
            Ok(Some(stat)) if known == Some(CachedStat { stat: Some(stat) }) => {}
            Ok(Some(stat)) => {
                let path = join_path(here.path, name);
                self.walked.scan.suspects.push(SuspectFile { path, stat, known: known.is_some() });
            }
            // Swapped or removed meanwhile.
            Ok(None) => self.walked.doubtful.push(join_path(here.path, name)),
            Err(errno) => {
                let path = join_path(here.path, name);
                match gap_at(&path, errno) {
                    Some(gap) => self.walked.scan.gaps.push(gap),
                    None => self.walked.doubtful.push(path),
                }
            }
        }
    }

    fn record_ignored(&mut self, path: &[u8], is_dir: bool, reason: &IgnoreReason<'_>) {
        let scan = &mut self.walked.scan;
        scan.ignored_count += 1;
        if reason.origin() == RuleOrigin::Scratch {
            scan.scratch += 1;
        }
        if scan.ignored.len() < MAX_IGNORED_LISTED {
            scan.ignored.push(IgnoredName {
                path: to_project_path(path),
                is_dir,
                by: reason.describe(),
            });
        }
    }

    /// Queues the known names that the folder does not list.
    fn queue_unlisted(&mut self, names: &CachedNames<'_>, folder: &FolderListing) {
        let listed: HashSet<&[u8]> = folder.names.iter().map(|name| &*name.bytes).collect();
        let unmet = names.iter().filter(|name| !listed.contains(name));
        self.walked.doubtful.extend(unmet.map(|name| join_path(names.folder, name)));
    }
}

fn join_bytes(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(folder.len() + 1 + name.len());
    if !folder.is_empty() {
        path.extend_from_slice(folder);
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

fn to_project_path(path: &[u8]) -> ProjectPath {
    into_project_path(path.to_vec())
}

fn into_project_path(path: Vec<u8>) -> ProjectPath {
    ProjectPath::new(path).expect("names that a folder lists are clean")
}
