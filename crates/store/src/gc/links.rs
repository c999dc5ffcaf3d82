//! References between git objects: from commits to trees and parents, from trees to entries.
//!
//! Everything that follows objects (export, gc, purge, verification) reads them
//! here. Invariant: a link is never guessed; an object that cannot be parsed is
//! an error, so that "cannot be read" is never taken for "names nothing".

use gix_object::bstr::ByteSlice as _;
use gix_object::{CommitRef, TreeRefIter};
use retake_model::ObjectId;

use crate::{Store, StoreError};

const HASH_KIND: gix_hash::Kind = gix_hash::Kind::Sha1;
/// Trailer of a commit's message that holds its `seq`.
const SEQ_TRAILER: &str = "Retake-Seq: ";

/// What a commit names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitLinks {
    /// The tree of all files.
    pub(crate) tree: ObjectId,
    /// The commits that it follows.
    pub(crate) parents: Vec<ObjectId>,
    /// Its place in the project's order.
    pub(crate) seq: u64,
}

/// What one name of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryLink {
    /// A folder.
    Tree(ObjectId),
    /// A file or a link.
    Blob(ObjectId),
}

impl Store {
    /// Reads the tree, the parents and the `seq` of a commit.
    pub(crate) fn commit_links(&self, oid: &ObjectId) -> Result<CommitLinks, StoreError> {
        let bytes = self.read(oid)?;
        let damaged = |why: String| StoreError::Damaged { oid: *oid, why };
        let commit =
            CommitRef::from_bytes(&bytes, HASH_KIND).map_err(|error| damaged(error.to_string()))?;
        let id = |hex: &[u8]| {
            let text = std::str::from_utf8(hex).map_err(|error| damaged(error.to_string()))?;
            text.parse::<ObjectId>().map_err(|error| damaged(error.to_string()))
        };
        let trailer = commit.message.lines().rev().find_map(|line| {
            line.strip_prefix(SEQ_TRAILER.as_bytes())?.to_str().ok()?.trim().parse().ok()
        });
        Ok(CommitLinks {
            tree: id(commit.tree)?,
            parents: commit.parents.iter().map(|parent| id(parent)).collect::<Result<_, _>>()?,
            seq: trailer.ok_or_else(|| damaged("a commit without its place".to_owned()))?,
        })
    }

    /// The place in the order of a commit's state.
    pub fn commit_seq(&self, oid: &ObjectId) -> Result<u64, StoreError> {
        Ok(self.commit_links(oid)?.seq)
    }

    /// The names of a folder and what they are.
    pub(crate) fn tree_links(
        &self,
        oid: &ObjectId,
    ) -> Result<Vec<(Vec<u8>, EntryLink)>, StoreError> {
        let bytes = self.read(oid)?;
        let mut links = Vec::new();
        for entry in TreeRefIter::from_bytes(&bytes, HASH_KIND) {
            let entry =
                entry.map_err(|error| StoreError::Damaged { oid: *oid, why: error.to_string() })?;
            let named = ObjectId::try_from(entry.oid.as_bytes())
                .map_err(|error| StoreError::Row(error.to_string()))?;
            let link =
                if entry.mode.is_tree() { EntryLink::Tree(named) } else { EntryLink::Blob(named) };
            links.push((entry.filename.to_vec(), link));
        }
        Ok(links)
    }
}
