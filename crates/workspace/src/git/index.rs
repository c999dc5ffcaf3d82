//! Reads the repository's index: the files that git tracks, and their blobs.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use gix_index::entry::{Flags, Mode, Stage};
use retake_model::{ObjectId, ProjectPath};

use super::GitDirs;
use crate::read::{open_path, read_whole_path};
use crate::{FileStat, StatKind};

const MAX_INDEX_BYTES: u64 = 2 << 30;
const SHA1_BYTES: usize = 20;

/// One file in git's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GitIndexEntry {
    /// The blob, after git's filters.
    pub oid: ObjectId,
    /// `0o100644`, `0o100755` or `0o120000`.
    pub mode: u32,
    /// The file's size when git last looked, modulo 2³².
    pub size: u32,
    /// The file's mtime when git last looked, in ns since the epoch.
    pub mtime_ns: i64,
    /// The file's ctime when git last looked; 0 if it did not say.
    ctime_ns: i64,
    /// The file's inode when git last looked, modulo 2³²; 0 if it did not say.
    inode: u32,
}

/// The parsed index of a repository.
#[derive(Debug, Default)]
pub struct GitIndex {
    /// The files without conflicts (stage 0).
    pub entries: HashMap<ProjectPath, GitIndexEntry>,
    /// When the index was written, in ns since the epoch.
    written_ns: i64,
}

impl GitIndex {
    /// Returns `true` if a file is unchanged since git last read it, as far as git itself can tell:
    /// a file written at the time of the index, or later, may have changed without a trace (racy).
    pub fn is_clean(&self, entry: &GitIndexEntry, stat: &FileStat) -> bool {
        let kind = if entry.mode == 0o120_000 { StatKind::Link } else { StatKind::File };
        stat.kind == kind
            && stat.size as u32 == entry.size
            && stat.mtime_ns == entry.mtime_ns
            && stat.mtime_ns < self.written_ns
            && (entry.ctime_ns == 0 || stat.ctime_ns == entry.ctime_ns)
            && (entry.inode == 0 || stat.inode as u32 == entry.inode)
    }
}

/// The index; `None` if there is no repository or no index yet.
///
/// Left out: submodules, folders of a sparse index, and files that are only
/// announced (`git add -N`). An index in a form that we do not read (SHA-256,
/// split, damaged) is an error text.
pub fn read_index(root: &Path) -> Result<Option<GitIndex>, String> {
    let Some(repository) = GitDirs::find(root) else {
        return Ok(None);
    };
    let file = repository.git_dir.join("index");
    // Before it is read: if it is replaced in between, more files count as doubtful, not fewer.
    let written = std::fs::metadata(&file).and_then(|data| data.modified());
    let bytes = match read_whole_path(&file, MAX_INDEX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read '{}': {error}", file.display())),
    };
    if is_sha256(&repository) {
        return Err("the repository uses SHA-256 object ids".to_owned());
    }
    verify_checksum(&bytes)?;
    // The bytes are foreign and the parser is not ours: a panic in it must not
    // end a hook.
    std::panic::catch_unwind(|| parse(&bytes))
        .unwrap_or_else(|_| Err("the index cannot be parsed (the parser gave up)".to_owned()))
        .map(|entries| Some(GitIndex { entries, written_ns: written.map_or(0, nanoseconds) }))
}

fn nanoseconds(time: SystemTime) -> i64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

fn is_sha256(repository: &GitDirs) -> bool {
    read_whole_path(&repository.common_dir.join("config"), super::MAX_SMALL_FILE_BYTES)
        .ok()
        .and_then(|text| super::config::config_value(&text, b"extensions", b"objectformat"))
        .is_some_and(|format| !format.eq_ignore_ascii_case(b"sha1"))
}

/// Checks the index against its own checksum: a wrong blob id would become a wrong baseline.
fn verify_checksum(bytes: &[u8]) -> Result<(), String> {
    let Some(at) = bytes.len().checked_sub(SHA1_BYTES) else {
        return Err("the index is too short".to_owned());
    };
    let (content, trailer) = bytes.split_at(at);
    // `index.skipHash` leaves zeros.
    if trailer.iter().all(|&b| b == 0) {
        return Ok(());
    }
    let mut hasher = gix_hash::hasher(gix_hash::Kind::Sha1);
    hasher.update(content);
    match hasher.try_finalize() {
        Ok(sum) if sum.as_bytes() == trailer => Ok(()),
        _ => Err("the index does not match its checksum".to_owned()),
    }
}

fn parse(bytes: &[u8]) -> Result<HashMap<ProjectPath, GitIndexEntry>, String> {
    let options = gix_index::decode::Options { thread_limit: Some(1), ..Default::default() };
    let (state, _) = gix_index::State::from_bytes(
        bytes,
        SystemTime::UNIX_EPOCH.into(),
        gix_hash::Kind::Sha1,
        options,
    )
    .map_err(|error| format!("the index cannot be parsed: {error}"))?;
    if state.link().is_some() {
        return Err("the index is split".to_owned());
    }
    let mut entries = HashMap::with_capacity(state.entries().len());
    for entry in state.entries().iter().filter(|entry| is_file(entry)) {
        let path = ProjectPath::new(entry.path(&state).to_vec())
            .map_err(|error| format!("the index names an impossible path: {error}"))?;
        entries.insert(path, entry_of(entry)?);
    }
    Ok(entries)
}

fn is_file(entry: &gix_index::Entry) -> bool {
    entry.stage() == Stage::Unconflicted
        && !entry.flags.contains(Flags::INTENT_TO_ADD)
        && [Mode::FILE, Mode::FILE_EXECUTABLE, Mode::SYMLINK].contains(&entry.mode)
}

fn entry_of(entry: &gix_index::Entry) -> Result<GitIndexEntry, String> {
    let nanoseconds = |time: gix_index::entry::stat::Time| {
        i64::from(time.secs) * 1_000_000_000 + i64::from(time.nsecs)
    };
    Ok(GitIndexEntry {
        oid: ObjectId::try_from(entry.id.as_bytes()).map_err(|error| error.to_string())?,
        mode: entry.mode.bits(),
        size: entry.stat.size,
        mtime_ns: nanoseconds(entry.stat.mtime),
        ctime_ns: nanoseconds(entry.stat.ctime),
        inode: entry.stat.ino,
    })
}

/// Returns an id of the index's state, without reading it whole.
pub(super) fn index_id(index: &Path) -> Option<String> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = open_path(index).ok()?;
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut trailer = [0; SHA1_BYTES];
    file.seek(SeekFrom::End(-(SHA1_BYTES as i64))).ok()?;
    file.read_exact(&mut trailer).ok()?;
    if trailer != [0; SHA1_BYTES] {
        return Some(ObjectId::from_bytes(trailer).to_string());
    }
    Some(format!("{}:{}.{}", metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}
