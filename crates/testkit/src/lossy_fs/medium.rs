//! The simulated disk: once as programs see it, and once as it would be after a power cut.
//!
//! Invariants:
//! - A file's bytes, size and mode become durable by a sync of that file, names by a sync of the
//!   folder that they are in, and nothing else makes anything durable.
//! - A name that became durable before its file was synced stands for an empty file.
//! - Copies are cheap: they share every node that did not change.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::time::SystemTime;

use fuser::{Errno, RenameFlags};

use super::data::FileData;

pub(super) const ROOT_ID: u64 = 1;
const MAX_NAME_BYTES: usize = 255;

/// An inode: file, folder or link.
#[derive(Clone, Debug)]
pub(super) struct DiskNode {
    pub(super) meta: NodeMetadata,
    pub(super) body: NodeBody,
    /// Hard link count.
    pub(super) links: u32,
    /// The mode that it was made with.
    born_mode: u32,
}

#[derive(Clone, Debug)]
pub(super) struct NodeMetadata {
    /// Permission bits.
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) atime: SystemTime,
    pub(super) mtime: SystemTime,
    pub(super) ctime: SystemTime,
}

impl NodeMetadata {
    pub(super) fn new(mode: u32, uid: u32, gid: u32) -> Self {
        let now = SystemTime::now();
        Self { mode: mode & 0o7777, uid, gid, atime: now, mtime: now, ctime: now }
    }
}

#[derive(Clone, Debug)]
pub(super) enum NodeBody {
    File(FileData),
    Folder(BTreeMap<OsString, u64>),
    Link(Vec<u8>),
}

impl DiskNode {
    pub(super) fn is_folder(&self) -> bool {
        matches!(self.body, NodeBody::Folder(_))
    }

    /// Returns the durable state of a node of which only a name was synced. A symlink's target is
    /// durable with its name.
    pub(super) fn name_only(&self) -> Self {
        let body = match &self.body {
            NodeBody::File(_) => NodeBody::File(FileData::default()),
            NodeBody::Folder(_) => NodeBody::Folder(BTreeMap::new()),
            NodeBody::Link(target) => NodeBody::Link(target.clone()),
        };
        let meta = NodeMetadata { mode: self.born_mode, ..self.meta.clone() };
        Self { meta, body, ..self.clone() }
    }
}

pub(super) type DiskNodes = HashMap<u64, Arc<DiskNode>>;

/// One change of the names of one folder: the new inode of each, or none.
pub(super) type NameChange = Vec<(OsString, Option<u64>)>;

/// A name in a folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeLocation<'n> {
    pub(super) folder: u64,
    pub(super) name: &'n OsStr,
}

/// A disk. Cloned, it is the disk of that moment.
#[derive(Clone, Debug)]
pub struct DiskImage {
    pub(super) now: DiskNodes,
    pub(super) durable: DiskNodes,
    /// Changes of each folder since its last sync, in order.
    pub(super) unsynced: BTreeMap<u64, Vec<NameChange>>,
    next: u64,
}

impl Default for DiskImage {
    fn default() -> Self {
        let body = NodeBody::Folder(BTreeMap::new());
        let root =
            DiskNode { meta: NodeMetadata::new(0o755, 0, 0), body, links: 1, born_mode: 0o755 };
        Self::durable(HashMap::from([(ROOT_ID, Arc::new(root))]), ROOT_ID + 1)
    }
}

impl DiskImage {
    /// A disk on which everything is durable.
    fn durable(nodes: DiskNodes, next: u64) -> Self {
        Self { durable: nodes.clone(), now: nodes, unsynced: BTreeMap::new(), next }
    }

    /// The same disk with other nodes, all of them durable.
    pub(super) fn with_nodes(&self, nodes: DiskNodes) -> Self {
        Self::durable(nodes, self.next)
    }

    pub(super) fn node(&self, id: u64) -> Result<&DiskNode, Errno> {
        self.now.get(&id).map(|node| &**node).ok_or(Errno::ENOENT)
    }

    pub(super) fn node_mut(&mut self, id: u64) -> Result<&mut DiskNode, Errno> {
        self.now.get_mut(&id).map(Arc::make_mut).ok_or(Errno::ENOENT)
    }

    pub(super) fn entries(&self, folder: u64) -> Result<&BTreeMap<OsString, u64>, Errno> {
        match &self.node(folder)?.body {
            NodeBody::Folder(entries) => Ok(entries),
            _ => Err(Errno::ENOTDIR),
        }
    }

    pub(super) fn find(&self, location: NodeLocation<'_>) -> Result<u64, Errno> {
        if location.name.len() > MAX_NAME_BYTES {
            return Err(Errno::ENAMETOOLONG);
        }
        self.entries(location.folder)?.get(location.name).copied().ok_or(Errno::ENOENT)
    }

    fn refuse_existing(&self, location: NodeLocation<'_>) -> Result<(), Errno> {
        match self.find(location) {
            Ok(_) => Err(Errno::EEXIST),
            Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Creates a node.
    pub(super) fn make(
        &mut self,
        location: NodeLocation<'_>,
        meta: NodeMetadata,
        body: NodeBody,
    ) -> Result<u64, Errno> {
        self.refuse_existing(location)?;
        let id = self.next;
        self.next += 1;
        let born_mode = meta.mode;
        self.now.insert(id, Arc::new(DiskNode { meta, body, links: 1, born_mode }));
        self.change_names(location.folder, vec![(location.name.to_owned(), Some(id))])?;
        Ok(id)
    }

    /// Gives a file one more name.
    pub(super) fn link(&mut self, id: u64, location: NodeLocation<'_>) -> Result<(), Errno> {
        self.refuse_existing(location)?;
        self.count_links(id, 1)?;
        self.change_names(location.folder, vec![(location.name.to_owned(), Some(id))])
    }

    /// Removes a name of a file or link.
    pub(super) fn unlink(&mut self, location: NodeLocation<'_>) -> Result<(), Errno> {
        let id = self.find(location)?;
        if self.node(id)?.is_folder() {
            return Err(Errno::EISDIR);
        }
        self.count_links(id, -1)?;
        self.change_names(location.folder, vec![(location.name.to_owned(), None)])
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&mut self, location: NodeLocation<'_>) -> Result<(), Errno> {
        let id = self.find(location)?;
        if !self.entries(id)?.is_empty() {
            return Err(Errno::ENOTEMPTY);
        }
        self.count_links(id, -1)?;
        self.change_names(location.folder, vec![(location.name.to_owned(), None)])
    }

    pub(super) fn rename(
        &mut self,
        from: NodeLocation<'_>,
        to: NodeLocation<'_>,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        let moved = self.find(from)?;
        let met = match self.find(to) {
            Ok(id) => Some(id),
            Err(Errno::ENOENT) => None,
            Err(error) => return Err(error),
        };
        let is_exchange = flags.contains(RenameFlags::RENAME_EXCHANGE);
        if is_exchange && met.is_none() {
            return Err(Errno::ENOENT);
        }
        if flags.contains(RenameFlags::RENAME_NOREPLACE) && met.is_some() {
            return Err(Errno::EEXIST);
        }
        if met == Some(moved) {
            return Ok(()); // two names of one file: both stay
        }
        if let Some(met) = met.filter(|_| !is_exchange) {
            self.may_replace(moved, met)?;
            self.count_links(met, -1)?;
        }
        let left = (from.name.to_owned(), met.filter(|_| is_exchange));
        let taken = (to.name.to_owned(), Some(moved));
        if from.folder == to.folder {
            self.change_names(from.folder, vec![left, taken])?;
        } else {
            self.change_names(to.folder, vec![taken])?;
            self.change_names(from.folder, vec![left])?;
        }
        for id in [Some(moved), met].into_iter().flatten() {
            self.node_mut(id)?.meta.ctime = SystemTime::now();
        }
        Ok(())
    }

    fn may_replace(&self, moved: u64, met: u64) -> Result<(), Errno> {
        match (self.node(moved)?.is_folder(), &self.node(met)?.body) {
            (true, NodeBody::Folder(entries)) if !entries.is_empty() => Err(Errno::ENOTEMPTY),
            (true, NodeBody::Folder(_)) => Ok(()),
            (true, _) => Err(Errno::ENOTDIR),
            (false, NodeBody::Folder(_)) => Err(Errno::EISDIR),
            (false, _) => Ok(()),
        }
    }

    fn count_links(&mut self, id: u64, by: i32) -> Result<(), Errno> {
        let node = self.node_mut(id)?;
        node.links = node.links.saturating_add_signed(by);
        node.meta.ctime = SystemTime::now();
        Ok(())
    }

    fn change_names(&mut self, folder: u64, change: NameChange) -> Result<(), Errno> {
        let node = self.node_mut(folder)?;
        let NodeBody::Folder(entries) = &mut node.body else { return Err(Errno::ENOTDIR) };
        apply_name_change(entries, &change);
        node.meta.mtime = SystemTime::now();
        node.meta.ctime = node.meta.mtime;
        self.unsynced.entry(folder).or_default().push(change);
        Ok(())
    }

    /// Makes a file's bytes or a folder's names durable; without `whole`, not a file's mode.
    pub(super) fn sync(&mut self, id: u64, whole: bool) {
        let Some(node) = self.now.get(&id).cloned() else { return };
        if let NodeBody::Folder(entries) = &node.body {
            for child in entries.values() {
                let newborn = || Arc::new(self.now[child].name_only());
                self.durable.entry(*child).or_insert_with(newborn);
            }
            self.unsynced.remove(&id);
        }
        let mut synced = DiskNode::clone(&node);
        if !whole {
            let known = self.durable.get(&id);
            synced.meta.mode = known.map_or(node.born_mode, |known| known.meta.mode);
        }
        self.durable.insert(id, Arc::new(synced));
    }
}

impl DiskImage {
    /// Makes everything beneath a folder durable.
    pub(super) fn sync_beneath(&mut self, folder: u64) {
        let children: Vec<_> =
            self.entries(folder).map(|names| names.values().copied().collect()).unwrap_or_default();
        for child in children {
            self.sync_beneath(child);
        }
        self.sync(folder, true);
    }

    /// A path of a node, for people.
    pub(super) fn path_of(&self, id: u64) -> String {
        let parent = self.now.iter().find_map(|(folder, node)| match &node.body {
            NodeBody::Folder(names) => {
                let name = names.iter().find(|(_, child)| **child == id)?.0;
                Some((*folder, name.to_string_lossy()))
            }
            _ => None,
        });
        match parent {
            Some((ROOT_ID, name)) => name.into_owned(),
            Some((folder, name)) => format!("{}/{name}", self.path_of(folder)),
            None => "what has no name".to_owned(),
        }
    }

    /// The same disk with everything on it durable.
    #[must_use]
    pub fn all_durable(mut self) -> Self {
        self.sync_beneath(ROOT_ID);
        self
    }
}

/// Applies a change to the names of a folder.
pub(super) fn apply_name_change(entries: &mut BTreeMap<OsString, u64>, change: &NameChange) {
    for (name, id) in change {
        match id {
            Some(id) => entries.insert(name.clone(), *id),
            None => entries.remove(name),
        };
    }
}
