//! Reads the project's files from disk, for comparison.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Kind, mode, time and content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFile {
    /// A symbolic link; its content is the target's text.
    pub is_link: bool,
    /// Permission bits.
    pub mode: u32,
    /// Seconds and nanoseconds.
    pub mtime: (i64, i64),
    /// The bytes.
    pub content: Vec<u8>,
}

impl DiskFile {
    /// Returns `true` if kind, permissions and bytes are equal; mtimes differ after a rewrite.
    pub fn same_content(&self, other: &Self) -> bool {
        (self.is_link, self.mode, &self.content) == (other.is_link, other.mode, &other.content)
    }
}

/// Path to file, without `.git`.
pub type DiskFiles = BTreeMap<String, DiskFile>;

/// Returns `true` if both have the same files.
pub fn same_files(a: &DiskFiles, b: &DiskFiles) -> bool {
    a.len() == b.len()
        && a.iter().all(|(name, entry)| b.get(name).is_some_and(|e| e.same_content(entry)))
}

/// Reads everything beneath a root but `.git`.
pub fn read_files(root: &Path) -> DiskFiles {
    let mut disk = DiskFiles::new();
    collect(root, "", &mut disk);
    disk
}

/// Reads git's own state: HEAD, index and refs.
pub fn git_state(root: &Path) -> Vec<(String, DiskFile)> {
    let mut state = DiskFiles::new();
    collect(&root.join(".git"), "", &mut state);
    state.into_iter().collect()
}

fn collect(folder: &Path, prefix: &str, disk: &mut DiskFiles) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == ".git" {
            continue;
        }
        let (path, key) = (entry.path(), format!("{prefix}{name}"));
        let found = path.symlink_metadata().unwrap();
        if found.is_dir() {
            collect(&path, &format!("{key}/"), disk);
            continue;
        }
        let is_link = found.is_symlink();
        let content = if is_link {
            std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
        } else {
            std::fs::read(&path).unwrap()
        };
        let mode = if is_link { 0o777 } else { found.mode() & 0o7777 };
        let mtime = (found.mtime(), found.mtime_nsec());
        disk.insert(key, DiskFile { is_link, mode, mtime, content });
    }
}
