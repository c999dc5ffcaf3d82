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

use crate::beneath::PATH_LIMIT;
use crate::folder::{Folder, Kind, Name, is_version_control};
use crate::known::{Entry, Names, join};
use crate::pool::{Pool, Share};
use crate::read::read_whole;
use crate::rules::{Chain, Origin, Reason, Rules, Ruleset, Standing, Verdict};
use crate::scan::{IGNORED_LISTED, Ignored, Scan, Suspect};
use crate::workspace::{gap, gap_at};
use crate::{Known, Workspace};

/// Maximum bytes of a `.gitignore`; a longer one is not applied.
pub(crate) const IGNORE_FILE_LIMIT: u64 = 16 << 20;

/// Name of the files that hold ignore rules.
pub const IGNORE_FILE: &[u8] = b".gitignore";

/// Folders that are walked before a second thread starts: they take less time than its start.
const ALONE: usize = 16;

/// The result of the walk, and the paths that it leaves to be examined one by one.
#[derive(Default)]
pub(crate) struct Walked<'a> {
    pub(crate) scan: Scan,
    /// Known folders that were listed completely.
    pub(crate) visited: HashSet<&'a [u8]>,
    /// Paths whose state the walk could not determine.
    pub(crate) doubtful: Vec<ProjectPath>,
}

/// The ignore rules of a walk.
#[derive(Clone, Copy)]
pub(crate) enum By<'a> {
    /// These, and the `.gitignore` files that it finds.
    Found(&'a Ruleset),
    /// These alone.
    Given(&'a Rules),
}

/// Walks from these folders down.
pub(crate) fn walk<'a>(
    workspace: &'a Workspace,
    known: &'a Known,
    by: By<'a>,
    from: Vec<Task>,
) -> Walked<'a> {
    let pool = Pool::new(from);
    let set = match by {
        By::Found(set) => set,
        By::Given(rules) => rules.set(),
    };
    let new_worker = || Worker { workspace, known, by, set, walked: Walked::default() };
    let (mut worker, mut share) = (new_worker(), pool.join());
    for _ in 0..ALONE {
        let Some(task) = share.next() else { return worker.walked };
        worker.enter(task, &mut share);
    }
    let work = |mut worker: Worker<'a>, mut share: Share<'_, Task>| {
        while let Some(task) = share.next() {
            worker.enter(task, &mut share);
        }
        worker.walked
    };
    std::thread::scope(|scope| {
        // Without a second thread (a process limit) the walk only takes longer.
        let help = || work(new_worker(), pool.join());
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
pub(crate) struct Task {
    path: Vec<u8>,
    /// The names to look for; `None` lists the folder.
    names: Option<Vec<Box<[u8]>>>,
    chain: Option<Arc<Chain>>,
    standing: Standing,
}

impl Task {
    /// The whole project.
    pub(crate) fn root() -> Self {
        Self { path: Vec::new(), names: None, chain: None, standing: Standing::Open }
    }

    /// These names in a folder, with all that is beneath them; `None` if no walk that asks these
    /// rules comes to that folder.
    pub(crate) fn names(folder: &[u8], names: Vec<Box<[u8]>>, rules: &Rules) -> Option<Self> {
        Some(Self {
            path: folder.to_vec(),
            names: Some(names),
            chain: rules.chain_for(folder).cloned(),
            standing: rules.standing_in(folder)?,
        })
    }
}

struct Worker<'a> {
    workspace: &'a Workspace,
    known: &'a Known,
    by: By<'a>,
    set: &'a Ruleset,
    walked: Walked<'a>,
}

/// The folder that is being walked.
struct Here<'f> {
    path: &'f [u8],
    folder: &'f Folder,
    names: Option<&'f Names<'f>>,
    chain: Option<Arc<Chain>>,
    standing: Standing,
}

impl Worker<'_> {
    fn enter(&mut self, task: Task, share: &mut Share<'_, Task>) {
        let Task { path, names: only, chain, standing } = task;
        let beneath = &self.workspace.beneath;
        let folder = match &only {
            None => Folder::read(beneath, &path),
            Some(names) => Folder::read_names(beneath, &path, names),
        };
        let folder = match (folder, &only) {
            (Ok(folder), _) => folder,
            (Err(errno), None) => return self.cannot_enter(&path, errno),
            (Err(_), Some(names)) => {
                return self.walked.doubtful.extend(names.iter().map(|name| join(&path, name)));
            }
        };
        if self.workspace.is_own(folder.id) && !path.is_empty() {
            return;
        }
        if let Some(errno) = folder.error {
            self.cannot_enter(&path, errno);
        }
        if only.is_none() && !path.is_empty() && folder.has(b".git") {
            self.walked.scan.nested_repositories.push(whole(&path));
        }
        let known = self.known;
        let names = known.names(&path);
        let here = Here {
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
            self.meet(&here, name, known, share);
        }
        if let (Some(names), None) = (&names, folder.error) {
            self.walked.visited.insert(names.folder);
            if met < names.len() {
                self.not_listed(names, &folder);
            }
        }
    }

    fn cannot_enter(&mut self, path: &[u8], errno: Errno) {
        if path.is_empty() {
            self.walked.scan.root_error = Some(io::Error::from(errno).to_string());
            return;
        }
        match gap_at(&whole(path), errno) {
            Some(gap) => self.walked.scan.gaps.push(gap),
            // It was a folder a moment ago. It may be a file or link now.
            None => self.walked.doubtful.push(whole(path)),
        }
    }

    /// The ignore files that apply to names in this folder, with its own.
    fn chain_here(
        &mut self,
        path: &[u8],
        folder: &Folder,
        above: Option<Arc<Chain>>,
        standing: &Standing,
    ) -> Option<Arc<Chain>> {
        if let By::Given(rules) = self.by {
            return rules.chain_for(path).cloned();
        }
        // Git does not follow a `.gitignore` that is a link, and in an included
        // or ignored folder no ignore file has a say.
        if !matches!(standing, Standing::Open) || !folder.has_file(IGNORE_FILE) {
            return above;
        }
        match self.read_ignore_file(folder) {
            Ok(content) => {
                let chain = Chain::new(path, &content, above);
                self.walked.scan.sources.ignore_files.insert(path.to_vec(), content);
                Some(chain)
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    let file = join(path, IGNORE_FILE);
                    let detail = format!("its rules are not applied: {error}");
                    self.walked.scan.gaps.push(gap(&file, GapReason::Unreadable, detail));
                }
                above
            }
        }
    }

    fn read_ignore_file(&self, folder: &Folder) -> io::Result<Vec<u8>> {
        let file = self.workspace.beneath.open_file(folder.fd(), IGNORE_FILE)?;
        read_whole(file.into(), IGNORE_FILE_LIMIT)
    }

    fn meet(
        &mut self,
        here: &Here<'_>,
        name: &Name,
        known: Option<Entry>,
        share: &mut Share<'_, Task>,
    ) {
        // Nearly every name: a file that is known. No rule is asked, and no path is made of it.
        if let (Some(_), Kind::File { .. }) = (known, name.kind) {
            return self.file(here, &name.bytes, known);
        }
        let path = joined(here.path, &name.bytes);
        if known.is_some() {
            self.walked.doubtful.push(whole(&path));
        }
        let is_dir = name.kind == Kind::Folder;
        let standing = if known.is_some() && !is_dir {
            Standing::Open
        } else {
            match self.set.judge(here.chain.as_ref(), &here.standing, &path, is_dir) {
                Verdict::Keep(standing) => standing,
                Verdict::Ignored { reason, closed } => {
                    let Some(closed) = closed else {
                        return self.ignore(&path, is_dir, &reason);
                    };
                    closed
                }
            }
        };
        match name.kind {
            Kind::Folder => {
                let chain = here.chain.clone();
                share.push(Task { path, names: None, chain, standing });
            }
            Kind::File { .. } => self.file(here, &name.bytes, None),
            Kind::Special(what) if known.is_none() => {
                let special = gap(&whole(&path), GapReason::Special, what);
                self.walked.scan.gaps.push(special);
            }
            Kind::Special(_) => {}
        }
    }

    /// Stats a file and compares it with the cached stat.
    fn file(&mut self, here: &Here<'_>, name: &[u8], known: Option<Entry>) {
        let too_long = here.path.len() + 1 + name.len() >= PATH_LIMIT && !here.path.is_empty();
        let looked =
            if too_long { Err(Errno::NAMETOOLONG) } else { here.folder.look_for_links(name) };
        if let Ok((_, true)) = looked {
            self.walked.scan.linked.push(join(here.path, name));
        }
        match looked.map(|(thing, _)| thing.stat()) {
            Ok(Some(stat)) if known == Some(Entry { stat: Some(stat) }) => {}
            Ok(Some(stat)) => {
                let path = join(here.path, name);
                self.walked.scan.suspects.push(Suspect { path, stat, known: known.is_some() });
            }
            // Swapped or removed meanwhile.
            Ok(None) => self.walked.doubtful.push(join(here.path, name)),
            Err(errno) => {
                let path = join(here.path, name);
                match gap_at(&path, errno) {
                    Some(gap) => self.walked.scan.gaps.push(gap),
                    None => self.walked.doubtful.push(path),
                }
            }
        }
    }

    fn ignore(&mut self, path: &[u8], is_dir: bool, reason: &Reason<'_>) {
        let scan = &mut self.walked.scan;
        scan.ignored_count += 1;
        if reason.origin() == Origin::Scratch {
            scan.scratch += 1;
        }
        if scan.ignored.len() < IGNORED_LISTED {
            scan.ignored.push(Ignored { path: whole(path), is_dir, by: reason.describe() });
        }
    }

    /// Queues the known names that the folder does not list.
    fn not_listed(&mut self, names: &Names<'_>, folder: &Folder) {
        let listed: HashSet<&[u8]> = folder.names.iter().map(|name| &*name.bytes).collect();
        let unmet = names.iter().filter(|name| !listed.contains(name));
        self.walked.doubtful.extend(unmet.map(|name| join(names.folder, name)));
    }
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(folder.len() + 1 + name.len());
    if !folder.is_empty() {
        path.extend_from_slice(folder);
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

fn whole(path: &[u8]) -> ProjectPath {
    taken(path.to_vec())
}

fn taken(path: Vec<u8>) -> ProjectPath {
    ProjectPath::new(path).expect("names that a folder lists are clean")
}
