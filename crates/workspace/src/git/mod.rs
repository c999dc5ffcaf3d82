//! The user's git repository, only read (promise 4).
//!
//! No process is started and no configuration is executed. Everything here is
//! a hint for the engine: a file that cannot be read or parsed is left out or
//! an error text, never a panic.

mod attributes;
mod config;
mod index;

use std::ffi::OsStr;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use retake_model::{Millis, ObjectId};

use crate::read::{open_path, read_whole_path};

pub use attributes::GitAttributes;
pub use config::{global_attributes, global_excludes, local_attributes, local_excludes};
pub use index::{GitIndex, GitIndexEntry, read_index};

const MAX_SMALL_FILE_BYTES: u64 = 1 << 20;
/// Maximum number of alternates, which also ends cycles of them.
const MAX_ALTERNATES: usize = 32;
const MAX_PACKED_REFS_BYTES: u64 = 256 << 20;
/// Maximum bytes of new reflog between two reads; a reflog line has some 200 bytes.
const MAX_REFLOG_BYTES: u64 = 16 << 20;

/// State of a repository; two equal states mean that no git command changed anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitState {
    /// `ref: refs/heads/main 0123…` on a branch (without the id before the
    /// first commit), `0123…` when detached.
    pub head: Option<String>,
    /// The length of HEAD's reflog, for [`new_reflog_actions`].
    pub reflog_size: u64,
    /// The index's own checksum (hexadecimal), or its size and mtime if git was told not to
    /// compute one.
    pub index_id: Option<String>,
    /// The newest stash's id, empty if there is none; `None` if it cannot be told.
    pub stash: Option<String>,
}

impl GitState {
    /// The commit that is checked out.
    pub fn commit(&self) -> Option<ObjectId> {
        self.head.as_deref()?.rsplit(' ').next()?.parse().ok()
    }

    /// The branch that is checked out: `refs/heads/main`.
    pub fn branch(&self) -> Option<&str> {
        self.head.as_deref()?.strip_prefix("ref: ")?.split(' ').next()
    }

    /// A form to store; [`GitState::from_bytes`] reads it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let mut bytes =
            format!("{}\0{}\0{}", text(&self.head), self.reflog_size, text(&self.index_id));
        if let Some(stash) = &self.stash {
            bytes.push('\0');
            bytes.push_str(stash);
        }
        bytes.into_bytes()
    }

    /// Decodes a stored state; `None` if the bytes are not one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let text = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        let mut parts = std::str::from_utf8(bytes).ok()?.split('\0');
        let (head, size, index) = (parts.next()?, parts.next()?, parts.next()?);
        let stash = parts.next().map(ToOwned::to_owned);
        Some(Self {
            head: text(head),
            reflog_size: size.parse().ok()?,
            index_id: text(index),
            stash,
        })
    }
}

/// Reads the state of the repository with the working tree `root`; `None` if it has none.
pub fn read_state(root: &Path) -> Option<GitState> {
    let repository = GitDirs::find(root)?;
    let reflog = std::fs::metadata(repository.git_dir.join("logs/HEAD"));
    Some(GitState {
        head: repository.head(),
        reflog_size: reflog.map_or(0, |metadata| metadata.len()),
        index_id: index::index_id(&repository.git_dir.join("index")),
        stash: repository.stash(),
    })
}

/// Git operations in progress in a working tree, by git's own files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GitActivity {
    /// When a lock on index or HEAD was last touched, in ms since the epoch.
    pub locked_at: Option<Millis>,
    /// When a rebase that is not finished last made a step.
    pub rebased_at: Option<Millis>,
}

/// Reads the git operations in progress in the working tree `root`. A killed git leaves its locks,
/// so the caller has to compare the times with a clock.
pub fn read_activity(root: &Path) -> GitActivity {
    let Some(repository) = GitDirs::find(root) else {
        return GitActivity::default();
    };
    let newest = |names: &[&str]| {
        let files = names.iter().map(|name| repository.git_dir.join(name));
        files.filter_map(|file| modified_at(&file)).max()
    };
    GitActivity {
        locked_at: newest(&["index.lock", "HEAD.lock"]),
        rebased_at: newest(&["rebase-merge", "rebase-merge/done", "rebase-apply"]),
    }
}

fn modified_at(file: &Path) -> Option<Millis> {
    let metadata = file.symlink_metadata().ok()?;
    Some(metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000)
}

/// The messages that were added to HEAD's reflog since it had `since_size`
/// bytes (`checkout: moving from a to b`, `commit: x`); all of them if it shrank.
/// Lines that leave HEAD at its commit are left out.
pub fn new_reflog_actions(root: &Path, since_size: u64) -> Vec<String> {
    let Some(repository) = GitDirs::find(root) else {
        return Vec::new();
    };
    let added = read_from(&repository.git_dir.join("logs/HEAD"), since_size).unwrap_or_default();
    added
        .split(|&b| b == b'\n')
        .filter_map(|line| {
            let tab = line.iter().position(|&b| b == b'\t')?;
            let mut ids = line[..tab].split(|&b| b == b' ');
            // `checkout -b` and `stash` leave HEAD where it is.
            let moves = ids.next()? != ids.next()?;
            moves.then(|| String::from_utf8_lossy(&line[tab + 1..]).into_owned())
        })
        .collect()
}

fn read_from(log: &Path, since_size: u64) -> std::io::Result<Vec<u8>> {
    let mut file = open_path(log)?;
    let metadata = file.metadata()?;
    let mut added = Vec::new();
    if !metadata.is_file() {
        return Ok(added);
    }
    let start = if metadata.len() < since_size { 0 } else { since_size };
    file.seek(SeekFrom::Start(start))?;
    file.take(MAX_REFLOG_BYTES).read_to_end(&mut added)?;
    Ok(added)
}

/// The nearest folder at or above `path` that holds a repository.
pub fn toplevel(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|folder| GitDirs::find(folder).is_some()).map(Path::to_owned)
}

/// The git directory that `path` is, or lies in: a bare repository, or the `.git` of another one.
pub fn enclosing_git_dir(path: &Path) -> Option<&Path> {
    // As git tells its own directories from others.
    let is_one = |folder: &&Path| {
        folder.join("HEAD").symlink_metadata().is_ok()
            && folder.join("objects").is_dir()
            && folder.join("refs").is_dir()
    };
    path.ancestors().find(is_one)
}

/// The repository's `info/exclude`, whether it exists or not.
pub fn exclude_file(root: &Path) -> Option<PathBuf> {
    Some(GitDirs::find(root)?.common_dir.join("info/exclude"))
}

/// The repository's `info/attributes`, whether it exists or not.
pub fn attributes_file(root: &Path) -> Option<PathBuf> {
    Some(GitDirs::find(root)?.common_dir.join("info/attributes"))
}

/// The folders in which the repository finds its packs: its own, and those that it borrows from.
pub fn pack_folders(root: &Path) -> Vec<PathBuf> {
    let Some(repository) = GitDirs::find(root) else {
        return Vec::new();
    };
    let mut stores = vec![repository.common_dir.join("objects")];
    let mut at = 0;
    while let Some(store) = stores.get(at).cloned() {
        let alternates = read_whole_path(&store.join("info/alternates"), MAX_SMALL_FILE_BYTES)
            .unwrap_or_default();
        for line in alternates.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            let other = store.join(path_of(line));
            if !stores.contains(&other) && stores.len() < MAX_ALTERNATES {
                stores.push(other);
            }
        }
        at += 1;
    }
    stores.into_iter().map(|store| store.join("pack")).collect()
}

/// Where a working tree keeps its data.
struct GitDirs {
    /// HEAD, index and reflog of this working tree.
    git_dir: PathBuf,
    /// What all working trees of the repository share.
    common_dir: PathBuf,
}

impl GitDirs {
    /// The repository of the working tree at `root`, without asking the folders above.
    fn find(root: &Path) -> Option<Self> {
        let entry = root.join(".git");
        let own = if entry.is_dir() {
            entry
        } else {
            // A linked working tree or a submodule: `gitdir: <path>`.
            let text = read_whole_path(&entry, MAX_SMALL_FILE_BYTES).ok()?;
            root.join(path_of(text.strip_prefix(b"gitdir:")?))
        };
        // Git takes a folder without HEAD for none of its own.
        own.join("HEAD").symlink_metadata().ok()?;
        let common = match read_whole_path(&own.join("commondir"), MAX_SMALL_FILE_BYTES) {
            Ok(text) => own.join(path_of(&text)),
            Err(_) => own.clone(),
        };
        Some(Self { git_dir: own, common_dir: common })
    }

    fn head(&self) -> Option<String> {
        // Reference tables replace the files below; the list of tables changes with each update.
        if let Ok(tables) =
            read_whole_path(&self.common_dir.join("reftable/tables.list"), MAX_SMALL_FILE_BYTES)
        {
            return Some(format!("reftable {}", tables.escape_ascii()));
        }
        let head = read_text(&self.git_dir.join("HEAD"))?;
        let Some(name) = head.strip_prefix("ref:") else {
            return Some(head);
        };
        let name = name.trim();
        let oid = self.resolve(name).map(|oid| format!(" {oid}")).unwrap_or_default();
        Some(format!("ref: {name}{oid}"))
    }

    /// Stashes live in the log of their reference.
    fn stash(&self) -> Option<String> {
        match read_whole_path(&self.common_dir.join("logs/refs/stash"), MAX_SMALL_FILE_BYTES) {
            Ok(log) => {
                let last = log.trim_ascii_end().rsplit(|&b| b == b'\n').next()?;
                let id = last.split(|&b| b == b' ').nth(1).filter(|id| !id.contains(&0))?;
                Some(String::from_utf8_lossy(id).into_owned())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(String::new()),
            Err(_) => None,
        }
    }

    fn resolve(&self, name: &str) -> Option<ObjectId> {
        // Anything else could lead out of the repository.
        if !name.starts_with("refs/") || name.split('/').any(|part| matches!(part, "" | "." | ".."))
        {
            return None;
        }
        let loose = |folder: &Path| read_text(&folder.join(name))?.parse().ok();
        loose(&self.git_dir).or_else(|| loose(&self.common_dir)).or_else(|| self.packed(name))
    }

    fn packed(&self, name: &str) -> Option<ObjectId> {
        let packed =
            read_whole_path(&self.common_dir.join("packed-refs"), MAX_PACKED_REFS_BYTES).ok()?;
        packed.split(|&b| b == b'\n').find_map(|line| {
            let (oid, reference) = std::str::from_utf8(line).ok()?.split_once(' ')?;
            if reference == name { oid.parse().ok() } else { None }
        })
    }
}

fn read_text(file: &Path) -> Option<String> {
    let text = String::from_utf8(read_whole_path(file, MAX_SMALL_FILE_BYTES).ok()?).ok()?;
    // NUL separates the fields of a stored state, and git writes none.
    Some(text.trim()).filter(|text| !text.is_empty() && !text.contains('\0')).map(str::to_owned)
}

/// A path in a file of git's: the line without the white space around it.
fn path_of(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text.trim_ascii()))
}
