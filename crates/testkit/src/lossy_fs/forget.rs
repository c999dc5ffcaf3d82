//! Computes the state of a disk after a power cut.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::sync::Arc;

use fastrand::Rng;

use super::data::FileData;
use super::medium::{
    DiskImage, DiskNode, DiskNodes, NameChange, NodeBody, ROOT_ID, apply_name_change,
};

/// The part of the unsynced data that a power cut loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossModel {
    /// Everything.
    Unsynced,
    /// All bytes, but no name: files are there, and short.
    Bytes,
    /// The same, but files are as long as they were to be, with zeros in place of bytes.
    BytesToZeros,
    /// A random part: single blocks, sizes, modes, and names, of which in each folder
    /// either the first ones or any ones are left.
    Some {
        /// The same seed loses the same part.
        seed: u64,
    },
}

impl DiskImage {
    /// The disk when the power is back.
    #[must_use]
    pub fn after_loss(&self, forget: LossModel) -> Self {
        let mut nodes = match forget {
            LossModel::Unsynced => self.durable.clone(),
            LossModel::Bytes => self.map_nodes(|id, now| self.without_bytes(id, now, false)),
            LossModel::BytesToZeros => self.map_nodes(|id, now| self.without_bytes(id, now, true)),
            LossModel::Some { seed } => {
                let mut chance = LossChance::new(seed);
                self.map_nodes(|id, now| self.random_loss(id, now, &mut chance))
            }
        };
        rebuild_tree(&mut nodes);
        self.with_nodes(nodes)
    }

    /// In the order of the ids, so that the same seed gives the same.
    fn map_nodes(&self, mut left: impl FnMut(u64, &DiskNode) -> DiskNode) -> DiskNodes {
        let ordered: BTreeMap<_, _> = self.now.iter().collect();
        ordered.into_iter().map(|(id, now)| (*id, Arc::new(left(*id, now)))).collect()
    }

    /// Returns the durable state of a node; if there is none, its state at creation.
    fn durable_node(&self, id: u64, now: &DiskNode) -> DiskNode {
        self.durable.get(&id).map_or_else(|| now.name_only(), |node| DiskNode::clone(node))
    }

    fn without_bytes(&self, id: u64, now: &DiskNode, zeros: bool) -> DiskNode {
        let mut left = now.clone();
        if let (NodeBody::File(new), NodeBody::File(old)) =
            (&now.body, self.durable_node(id, now).body)
        {
            let mut kept = old;
            if zeros {
                kept.resize(new.size());
            }
            left.body = NodeBody::File(kept);
        }
        left
    }

    fn random_loss(&self, id: u64, now: &DiskNode, chance: &mut LossChance) -> DiskNode {
        let (mut left, old) = (now.clone(), self.durable_node(id, now));
        if !chance.survives() {
            left.meta = old.meta;
        }
        left.body = match (&now.body, old.body) {
            (NodeBody::File(new), NodeBody::File(old)) => {
                NodeBody::File(FileData::partial(&old, new, || chance.survives()))
            }
            (NodeBody::Folder(_), NodeBody::Folder(old)) => {
                let changes = self.unsynced.get(&id).map_or(&[][..], Vec::as_slice);
                NodeBody::Folder(chance.names(old, changes))
            }
            (body, _) => body.clone(),
        };
        left
    }
}

/// Decides at random what survives; the share differs from cut to cut.
struct LossChance {
    random: Rng,
    share: f64,
}

impl LossChance {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let share = [0.1, 0.5, 0.9][random.usize(..3)];
        Self { random, share }
    }

    fn survives(&mut self) -> bool {
        self.random.f64() < self.share
    }

    fn names(
        &mut self,
        mut entries: BTreeMap<OsString, u64>,
        changes: &[NameChange],
    ) -> BTreeMap<OsString, u64> {
        let first = self.random.bool().then(|| self.random.usize(..=changes.len()));
        for (at, change) in changes.iter().enumerate() {
            if first.map_or_else(|| self.survives(), |first| at < first) {
                apply_name_change(&mut entries, change);
            }
        }
        entries
    }
}

/// Makes a tree of the nodes: a folder has one name, what has none is gone, links are counted.
fn rebuild_tree(nodes: &mut DiskNodes) {
    let (mut seen, mut links) = (HashSet::from([ROOT_ID]), BTreeMap::from([(ROOT_ID, 1)]));
    let mut waiting = vec![ROOT_ID];
    while let Some(folder) = waiting.pop() {
        let Some(NodeBody::Folder(mut entries)) = nodes.get(&folder).map(|node| node.body.clone())
        else {
            continue;
        };
        entries.retain(|_, id| {
            let Some(node) = nodes.get(id) else { return false };
            let is_first = seen.insert(*id);
            if node.is_folder() && is_first {
                waiting.push(*id);
            }
            let counts = is_first || !node.is_folder();
            *links.entry(*id).or_insert(0) += u32::from(counts);
            counts
        });
        if let Some(node) = nodes.get_mut(&folder) {
            Arc::make_mut(node).body = NodeBody::Folder(entries);
        }
    }
    nodes.retain(|id, _| links.contains_key(id));
    for (id, node) in nodes.iter_mut() {
        Arc::make_mut(node).links = links[id];
    }
}
