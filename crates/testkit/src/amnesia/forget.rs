//! Computes the state of a disk after a power cut.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::sync::Arc;

use fastrand::Rng;

use super::data::Data;
use super::medium::{Body, Medium, NameChange, Node, Nodes, ROOT, apply};

/// The part of the unsynced data that a power cut loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
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

impl Medium {
    /// The disk when the power is back.
    #[must_use]
    pub fn after(&self, forget: Forget) -> Self {
        let mut nodes = match forget {
            Forget::Unsynced => self.durable.clone(),
            Forget::Bytes => self.each(|id, now| self.without_bytes(id, now, false)),
            Forget::BytesToZeros => self.each(|id, now| self.without_bytes(id, now, true)),
            Forget::Some { seed } => {
                let mut chance = Chance::new(seed);
                self.each(|id, now| self.by_chance(id, now, &mut chance))
            }
        };
        mend(&mut nodes);
        self.with(nodes)
    }

    /// In the order of the ids, so that the same seed gives the same.
    fn each(&self, mut left: impl FnMut(u64, &Node) -> Node) -> Nodes {
        let ordered: BTreeMap<_, _> = self.now.iter().collect();
        ordered.into_iter().map(|(id, now)| (*id, Arc::new(left(*id, now)))).collect()
    }

    /// Returns the durable state of a node; if there is none, its state at creation.
    fn old(&self, id: u64, now: &Node) -> Node {
        self.durable.get(&id).map_or_else(|| now.newborn(), |node| Node::clone(node))
    }

    fn without_bytes(&self, id: u64, now: &Node, zeros: bool) -> Node {
        let mut left = now.clone();
        if let (Body::File(new), Body::File(old)) = (&now.body, self.old(id, now).body) {
            let mut kept = old;
            if zeros {
                kept.resize(new.size());
            }
            left.body = Body::File(kept);
        }
        left
    }

    fn by_chance(&self, id: u64, now: &Node, chance: &mut Chance) -> Node {
        let (mut left, old) = (now.clone(), self.old(id, now));
        if !chance.spares() {
            left.meta = old.meta;
        }
        left.body = match (&now.body, old.body) {
            (Body::File(new), Body::File(old)) => {
                Body::File(Data::partly(&old, new, || chance.spares()))
            }
            (Body::Folder(_), Body::Folder(old)) => {
                let changes = self.unsynced.get(&id).map_or(&[][..], Vec::as_slice);
                Body::Folder(chance.names(old, changes))
            }
            (body, _) => body.clone(),
        };
        left
    }
}

/// Decides at random what survives; the share differs from cut to cut.
struct Chance {
    random: Rng,
    share: f64,
}

impl Chance {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let share = [0.1, 0.5, 0.9][random.usize(..3)];
        Self { random, share }
    }

    fn spares(&mut self) -> bool {
        self.random.f64() < self.share
    }

    fn names(
        &mut self,
        mut entries: BTreeMap<OsString, u64>,
        changes: &[NameChange],
    ) -> BTreeMap<OsString, u64> {
        let first = self.random.bool().then(|| self.random.usize(..=changes.len()));
        for (at, change) in changes.iter().enumerate() {
            if first.map_or_else(|| self.spares(), |first| at < first) {
                apply(&mut entries, change);
            }
        }
        entries
    }
}

/// Makes a tree of the nodes: a folder has one name, what has none is gone, links are counted.
fn mend(nodes: &mut Nodes) {
    let (mut seen, mut links) = (HashSet::from([ROOT]), BTreeMap::from([(ROOT, 1)]));
    let mut waiting = vec![ROOT];
    while let Some(folder) = waiting.pop() {
        let Some(Body::Folder(mut entries)) = nodes.get(&folder).map(|node| node.body.clone())
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
            Arc::make_mut(node).body = Body::Folder(entries);
        }
    }
    nodes.retain(|id, _| links.contains_key(id));
    for (id, node) in nodes.iter_mut() {
        Arc::make_mut(node).links = links[id];
    }
}
