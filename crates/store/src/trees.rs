//! Folders as git tree objects.

use gix_object::tree::{Entry, EntryKind};
use gix_object::{Tree, TreeRef, WriteTo as _};
use retake_model::{FileKind, FileState, ObjectId, PathState, ProjectPath};

use crate::objects::{EncodedObject, ObjectKind, encode};
use crate::{Store, StoreError};

/// Builds the tree of these files and gives its id: what `git write-tree` would print.
///
/// `files` must be sorted by path; `emit` gets each tree object, inner ones first.
pub fn build_tree(
    files: &[(ProjectPath, FileState)],
    emit: &mut dyn FnMut(EncodedObject) -> Result<(), StoreError>,
) -> Result<ObjectId, StoreError> {
    let rows: Vec<_> = files.iter().map(|(path, state)| (path.as_bytes(), state)).collect();
    build_folder(&rows, emit)
}

/// Builds bottom-up: each run of rows with the same first component is a folder.
fn build_folder(
    rows: &[(&[u8], &FileState)],
    emit: &mut dyn FnMut(EncodedObject) -> Result<(), StoreError>,
) -> Result<ObjectId, StoreError> {
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some((path, state)) = rows.get(at) {
        let Some(slash) = path.iter().position(|&b| b == b'/') else {
            entries.push(TreeEntry(tree_entry(path, entry_kind(state), state.oid)));
            at += 1;
            continue;
        };
        let folder = &path[..=slash];
        let len = rows[at..].iter().take_while(|(path, _)| path.starts_with(folder)).count();
        let inside: Vec<_> = rows[at..at + len]
            .iter()
            .map(|(path, state)| (&path[folder.len()..], *state))
            .collect();
        entries.push(TreeEntry::folder(&path[..slash], build_folder(&inside, emit)?));
        at += len;
    }
    let encoded = encode_tree(entries)?;
    let oid = encoded.oid;
    emit(encoded)?;
    Ok(oid)
}

/// One name in a folder.
pub(crate) struct TreeEntry(Entry);

impl TreeEntry {
    /// A file or link; `None` for what is not there or was not captured.
    pub(crate) fn file(name: &[u8], side: &PathState) -> Option<Self> {
        side.known().map(|state| Self(tree_entry(name, entry_kind(state), state.oid)))
    }

    pub(crate) fn name(&self) -> &[u8] {
        &self.0.filename
    }

    /// A folder within the folder.
    pub(crate) fn folder(name: &[u8], tree: ObjectId) -> Self {
        Self(tree_entry(name, EntryKind::Tree, tree))
    }
}

/// The entries of a tree object; `None` if these bytes are none.
pub(crate) fn decode_tree(bytes: &[u8]) -> Option<Vec<TreeEntry>> {
    let tree = TreeRef::from_bytes(bytes, gix_hash::Kind::Sha1).ok()?;
    Some(tree.entries.into_iter().map(|entry| TreeEntry(entry.into())).collect())
}

/// What a name in a folder of a checkpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderEntryKind {
    /// A file or a link with this mode.
    File(FileKind, u32),
    /// A folder.
    Folder,
}

/// A name in a folder of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// The name.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: FolderEntryKind,
    /// The content, or the tree of the folder.
    pub oid: ObjectId,
}

impl Store {
    /// Returns the entries of a folder of a checkpoint, in git's order.
    pub fn folder_entries(&self, tree: &ObjectId) -> Result<Vec<FolderEntry>, StoreError> {
        let damaged = || StoreError::Damaged { oid: *tree, why: "it is not a folder".to_owned() };
        let entries = decode_tree(&self.read(tree)?).ok_or_else(damaged)?;
        entries.into_iter().map(|TreeEntry(entry)| folder_entry(entry)).collect()
    }
}

fn folder_entry(entry: Entry) -> Result<FolderEntry, StoreError> {
    let kind = match entry.mode.kind() {
        EntryKind::Tree => FolderEntryKind::Folder,
        EntryKind::Link => FolderEntryKind::File(FileKind::Link, 0o777),
        EntryKind::BlobExecutable => FolderEntryKind::File(FileKind::File, 0o755),
        EntryKind::Blob | EntryKind::Commit => FolderEntryKind::File(FileKind::File, 0o644),
    };
    let oid = ObjectId::try_from(entry.oid.as_bytes());
    let oid = oid.map_err(|error| StoreError::Row(error.to_string()))?;
    Ok(FolderEntry { name: entry.filename.into(), kind, oid })
}

/// The tree object of a folder with these entries, in any order.
pub(crate) fn encode_tree(entries: Vec<TreeEntry>) -> Result<EncodedObject, StoreError> {
    let mut entries: Vec<_> = entries.into_iter().map(|TreeEntry(entry)| entry).collect();
    entries.sort();
    let mut bytes = Vec::new();
    Tree { entries }.write_to(&mut bytes)?;
    encode(ObjectKind::Tree, &bytes)
}

fn tree_entry(name: &[u8], kind: EntryKind, oid: ObjectId) -> Entry {
    Entry {
        mode: kind.into(),
        filename: name.into(),
        oid: gix_hash::ObjectId::Sha1(*oid.as_bytes()),
    }
}

/// git keeps only the owner's exec bit.
fn entry_kind(state: &FileState) -> EntryKind {
    match state.kind {
        FileKind::Link => EntryKind::Link,
        FileKind::File if state.mode & 0o100 != 0 => EntryKind::BlobExecutable,
        FileKind::File => EntryKind::Blob,
    }
}
