//! The watched folders as a tree, and how it follows the real one.
//!
//! inotify names a folder by a number (the watch descriptor) that sticks to the inode wherever it
//! is moved. A node keeps only its own name and its parent's number, so a path is put together
//! when it is needed.
//!
//! Events describe the past; by the time they are read, the name may be another file,
//! and an exchange of two folders is reported as two moves that contradict each other. So an
//! event is only ever a reason to stat a name *now* ([`WatchTree::resolve_event`]). A later change
//! has an event of its own, because the folder around it is watched.
//!
//! Invariant: the order is add watch → list → mark. A file created in a folder before it is watched
//! is found by the listing or lies beneath the mark; a later one has an event.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;

use retake_model::ProjectPath;
use rustix::fs::inotify::{self, WatchFlags};
use rustix::io::Errno;

use super::WatchBudget;
use super::filter::EventFilter;
use crate::Workspace;
use crate::folder::{FolderEntryKind, FolderListing, is_version_control};
use crate::rules::FolderStanding;
use crate::safe_open::{FolderAccess, OpenFolder, split_parent};
use crate::stat_cache::join_path;
use crate::walk::IGNORE_FILE;

/// Events watched on every folder. The watch of its parent reports its own removal and moves.
const FOLDER_EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::EXCL_UNLINK)
    .union(WatchFlags::ONLYDIR);
/// Events watched on the root, whose parent is not watched.
const ROOT_EVENTS: WatchFlags =
    FOLDER_EVENTS.union(WatchFlags::MOVE_SELF).union(WatchFlags::DELETE_SELF);

/// A watch descriptor.
pub(crate) type WatchDescriptor = i32;

/// The watched folders.
#[derive(Debug)]
pub(crate) struct WatchTree {
    workspace: Workspace,
    inotify: Arc<OwnedFd>,
    budget: WatchBudget,
    pub(crate) filter: EventFilter,
    nodes: HashMap<WatchDescriptor, WatchNode>,
    root: WatchDescriptor,
    /// The top-most folders that could not be watched.
    polled: BTreeSet<ProjectPath>,
}

#[derive(Debug)]
struct WatchNode {
    /// The folder above and the name in it; `None` for the root.
    place: Option<ParentLink>,
    /// The standing of its names by the rules.
    standing: FolderStanding,
    children: BTreeMap<Arc<[u8]>, WatchDescriptor>,
}

#[derive(Clone, Debug)]
struct ParentLink {
    parent: WatchDescriptor,
    name: Arc<[u8]>,
}

/// A folder to be watched.
struct WatchTask {
    place: Option<ParentLink>,
    /// Empty: the root.
    path: Vec<u8>,
    standing: FolderStanding,
}

/// The folders that are descended into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DescendInto {
    /// Into folders that are not watched yet.
    New,
    /// Into all folders.
    All,
}

/// The outcome of adding watches.
#[derive(Debug, Default)]
pub(crate) struct WatchTreeUpdate {
    /// `true` if a folder is watched, or polled, that was not before.
    pub(crate) new_folders: bool,
    /// `true` if one of them holds a `.gitignore`.
    pub(crate) new_rules: bool,
    /// Why the root itself could not be listed.
    pub(crate) root_error: Option<Errno>,
}

/// The meaning of an event, after a stat of its name.
#[derive(Debug)]
pub(crate) enum EventTarget {
    /// Nothing that matters, whatever the rules are.
    Nothing,
    /// Something that does not matter by these rules.
    Ignored(ProjectPath),
    /// Something that may change what the rules say.
    Rules,
    Path(ProjectPath),
}

impl WatchTree {
    /// Watches the root, and nothing beneath it yet.
    pub(crate) fn new(
        workspace: Workspace,
        inotify: Arc<OwnedFd>,
        budget: WatchBudget,
        filter: EventFilter,
    ) -> Result<Self, Errno> {
        if !budget.try_take() {
            return Err(Errno::NOSPC);
        }
        let added = workspace
            .safe_root
            .open_folder(b"", FolderAccess::List)
            .and_then(|folder| add_inotify_watch(&inotify, &folder, ROOT_EVENTS));
        let root = added.inspect_err(|_| budget.give_back(1))?;
        let node =
            WatchNode { place: None, standing: FolderStanding::Open, children: BTreeMap::new() };
        let nodes = HashMap::from([(root, node)]);
        Ok(Self { workspace, inotify, budget, filter, nodes, root, polled: BTreeSet::new() })
    }

    pub(crate) fn root(&self) -> WatchDescriptor {
        self.root
    }

    /// Number of watched folders.
    pub(crate) fn watched(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn polled(&self) -> &BTreeSet<ProjectPath> {
        &self.polled
    }

    /// Goes through all folders: adds missing watches, removes those that are not wanted.
    pub(crate) fn refresh(&mut self) -> WatchTreeUpdate {
        let root = WatchTask { place: None, path: Vec::new(), standing: FolderStanding::Open };
        self.watch_subtree(root, DescendInto::All)
    }

    /// Stats the name of an event, and updates the watches if it is a folder.
    pub(crate) fn resolve_event(
        &mut self,
        parent: WatchDescriptor,
        name: &[u8],
        is_dir: bool,
    ) -> EventTarget {
        // Events of a watch that was given up may still be under way.
        let Some(node) = self.nodes.get(&parent) else {
            return EventTarget::Nothing;
        };
        if is_version_control(name) {
            return EventTarget::Nothing;
        }
        let child = node.children.get(name).copied();
        let above = node.standing.clone();
        let path = join_path(&self.path(parent), name);
        // Where a file replaced a folder, another event reports that the folder is gone.
        if !is_dir {
            return match name {
                IGNORE_FILE => EventTarget::Rules,
                _ if self.filter.accepts(&above, &path, false) => EventTarget::Path(path),
                _ => EventTarget::Ignored(path),
            };
        }
        let mut update = WatchTreeUpdate::default();
        if let Some(standing) = self.filter.standing_below(&above, &path) {
            let place = Some(ParentLink { parent, name: name.into() });
            let task = WatchTask { place, path: path.as_bytes().to_vec(), standing };
            update = self.watch_subtree(task, DescendInto::New);
        } else {
            self.unwatch_path(child, &path);
        }
        if update.new_rules {
            EventTarget::Rules
        } else if self.filter.accepts(&above, &path, true) {
            EventTarget::Path(path)
        } else {
            EventTarget::Ignored(path)
        }
    }

    /// Handles a watch that the system removed; returns its folder.
    pub(crate) fn handle_lost_watch(&mut self, wd: WatchDescriptor) -> Option<ProjectPath> {
        self.nodes.get(&wd)?;
        let path = ProjectPath::new(self.path(wd)).ok()?;
        self.unwatch_path(Some(wd), &path);
        Some(path)
    }

    /// Watches a folder and those beneath it, breadth first.
    fn watch_subtree(&mut self, start: WatchTask, reach: DescendInto) -> WatchTreeUpdate {
        let mut update = WatchTreeUpdate::default();
        let mut waiting = VecDeque::from([start]);
        while let Some(task) = waiting.pop_front() {
            let known = self.node_at(task.place.as_ref());
            let path = ProjectPath::new(task.path.clone()).ok();
            match self.watch_and_list(&task, known) {
                Ok((wd, folder)) => {
                    let is_new = known != Some(wd);
                    update.new_folders |= is_new;
                    update.new_rules |= is_new && folder.has(IGNORE_FILE);
                    update.root_error =
                        update.root_error.or(folder.error.filter(|_| path.is_none()));
                    self.update_children(wd, &task, &folder, reach, &mut waiting);
                }
                Err(errno) => {
                    let Some(path) = path else {
                        update.root_error = Some(errno);
                        break;
                    };
                    let was_polled = self.polled.contains(&path);
                    self.unwatch_path(known, &path);
                    if needs_polling(errno) {
                        update.new_folders |= !was_polled;
                        self.polled.insert(path);
                    }
                }
            }
        }
        update
    }

    fn node_at(&self, place: Option<&ParentLink>) -> Option<WatchDescriptor> {
        match place {
            None => Some(self.root),
            Some(place) => self.nodes.get(&place.parent)?.children.get(&place.name).copied(),
        }
    }

    /// Adds a watch for the task's folder and lists it, in this order.
    fn watch_and_list(
        &mut self,
        task: &WatchTask,
        known: Option<WatchDescriptor>,
    ) -> Result<(WatchDescriptor, FolderListing), Errno> {
        let folder = self.workspace.safe_root.open_folder(&task.path, FolderAccess::List)?;
        if task.place.is_some() && self.workspace.is_own(folder.id) {
            return Err(Errno::NOENT);
        }
        let wd = self.add_watch(task, &folder, known)?;
        Ok((wd, FolderListing::list(folder.fd, folder.id)))
    }

    /// Adds the folder's watch and inserts it into the tree.
    fn add_watch(
        &mut self,
        task: &WatchTask,
        folder: &OpenFolder,
        known: Option<WatchDescriptor>,
    ) -> Result<WatchDescriptor, Errno> {
        let Some(place) = &task.place else {
            return Ok(self.root);
        };
        let mut paid = self.budget.try_take();
        if !paid && known.is_none() {
            return Err(Errno::NOSPC);
        }
        let added = add_inotify_watch(&self.inotify, folder, FOLDER_EVENTS);
        let mut wd = added.inspect_err(|_| self.budget.give_back(paid.into()))?;
        if known == Some(wd) {
            self.budget.give_back(paid.into());
            return Ok(wd);
        }
        if self.nodes.contains_key(&wd) {
            // It was moved here, and the event of that is not read yet.
            self.remove_watches(wd);
            let added = add_inotify_watch(&self.inotify, folder, FOLDER_EVENTS);
            wd = added.inspect_err(|_| self.budget.give_back(paid.into()))?;
        }
        if let Some(other) = known {
            self.remove_watches(other);
        }
        paid = paid || self.budget.try_take();
        let Some(parent) = self.nodes.get_mut(&place.parent).filter(|_| paid) else {
            let _ = inotify::remove_watch(&self.inotify, wd);
            self.budget.give_back(paid.into());
            // Its parent is no longer in the tree; an event will report its new place.
            return Err(if paid { Errno::NOENT } else { Errno::NOSPC });
        };
        parent.children.insert(Arc::clone(&place.name), wd);
        let standing = task.standing.clone();
        let place = Some(place.clone());
        self.nodes.insert(wd, WatchNode { place, standing, children: BTreeMap::new() });
        Ok(wd)
    }

    /// Updates the children of a watched folder: queues new folders, unwatches those that are gone.
    fn update_children(
        &mut self,
        wd: WatchDescriptor,
        task: &WatchTask,
        folder: &FolderListing,
        reach: DescendInto,
        waiting: &mut VecDeque<WatchTask>,
    ) {
        let Some(node) = self.nodes.get_mut(&wd) else { return };
        node.standing = task.standing.clone();
        let mut gone = node.children.clone();
        let mut unpolled = self.polled_in(&task.path);
        let folders = folder.names.iter().filter(|name| name.kind == FolderEntryKind::Folder);
        for name in folders.filter(|name| !is_version_control(&name.bytes)) {
            let path = join_path(&task.path, &name.bytes);
            let Some(standing) = self.filter.standing_below(&task.standing, &path) else {
                continue;
            };
            let known = gone.remove(&*name.bytes);
            unpolled.remove(&path);
            if known.is_none() || reach == DescendInto::All {
                let place = Some(ParentLink { parent: wd, name: (&*name.bytes).into() });
                waiting.push_back(WatchTask { place, path: path.as_bytes().to_vec(), standing });
            }
        }
        let own_path = ProjectPath::new(task.path.clone()).ok();
        if folder.error.is_some() {
            // Not all names could be read, so nothing is known to be gone.
            self.polled.extend(own_path);
            return;
        }
        if let Some(path) = own_path {
            self.polled.remove(&path);
        }
        for wd in gone.into_values() {
            self.remove_watches(wd);
        }
        for path in unpolled {
            self.polled.remove(&path);
        }
    }

    /// The polled folders right in this one.
    fn polled_in(&self, folder: &[u8]) -> BTreeSet<ProjectPath> {
        let is_here = |path: &&ProjectPath| split_parent(path.as_bytes()).0 == folder;
        match ProjectPath::new(folder) {
            Ok(folder) => folder.those_beneath(&self.polled).filter(is_here).cloned().collect(),
            Err(_) => self.polled.iter().filter(is_here).cloned().collect(),
        }
    }

    /// Stops watching or polling a path.
    fn unwatch_path(&mut self, wd: Option<WatchDescriptor>, path: &ProjectPath) {
        if let Some(wd) = wd {
            self.remove_watches(wd);
        }
        self.stop_polling(path);
    }

    fn stop_polling(&mut self, folder: &ProjectPath) {
        self.polled.remove(folder);
        let beneath: Vec<_> = folder.those_beneath(&self.polled).cloned().collect();
        for path in beneath {
            self.polled.remove(&path);
        }
    }

    /// Removes the watches of a folder and of all beneath it.
    fn remove_watches(&mut self, wd: WatchDescriptor) {
        if let Ok(path) = ProjectPath::new(self.path(wd)) {
            self.stop_polling(&path);
        }
        if let Some(place) = self.nodes.get(&wd).and_then(|node| node.place.clone())
            && let Some(parent) = self.nodes.get_mut(&place.parent)
            && parent.children.get(&place.name) == Some(&wd)
        {
            parent.children.remove(&place.name);
        }
        let mut doomed = vec![wd];
        while let Some(wd) = doomed.pop() {
            let Some(node) = self.nodes.remove(&wd) else { continue };
            doomed.extend(node.children.into_values());
            // The system has given it up already if the folder is gone.
            let _ = inotify::remove_watch(&self.inotify, wd);
            self.budget.give_back(1);
        }
    }

    /// The path of a folder (empty: the root).
    fn path(&self, wd: WatchDescriptor) -> Vec<u8> {
        let mut names = Vec::new();
        let mut next = self.nodes.get(&wd);
        while let Some(place) = next.and_then(|node| node.place.as_ref()) {
            names.push(&*place.name);
            next = self.nodes.get(&place.parent);
        }
        names.reverse();
        names.join(&b'/')
    }
}

impl Drop for WatchTree {
    fn drop(&mut self) {
        self.budget.give_back(self.nodes.len());
    }
}

/// Returns `true` if a folder that cannot be watched may still hold files that a scan can see.
fn needs_polling(errno: Errno) -> bool {
    // Gone, a link by now, another mount, or unreachable for any process.
    let nothing = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::XDEV, Errno::NAMETOOLONG];
    !nothing.contains(&errno)
}

/// Watches an opened folder: by its descriptor, so that it is this one and no other.
fn add_inotify_watch(
    inotify: &OwnedFd,
    folder: &OpenFolder,
    events: WatchFlags,
) -> Result<WatchDescriptor, Errno> {
    inotify::add_watch(inotify, format!("/proc/self/fd/{}", folder.fd.as_raw_fd()), events)
}
