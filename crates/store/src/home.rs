//! Retake's home folder: where projects are stored, and how a project is identified again.
//!
//! ```text
//! HOME/roots/<hash of a root's path>     the id of the project there
//! HOME/projects/<id>/project.json        its root and the root's identity
//! HOME/projects/<id>/retake.db           everything recorded
//! HOME/projects/<id>/stats-<16 hex>      stat cache, may be deleted
//! HOME/projects/<id>/export.git          checkpoints for git, may be deleted
//! HOME/projects/<id>/spool.jsonl, lock
//! ```
//!
//! Nothing is written into the project itself. A root is known by its canonical
//! path and by its identity on disk (device, inode, time of birth): a moved
//! folder is found again by its identity, and another folder at the same path
//! is not taken for the old one.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use retake_model::Millis;
use serde::{Deserialize, Serialize};

use crate::objects::hash_blob;
use crate::{FileLock, Spool, StoreError};

/// Number of hexadecimal digits in a project's id.
const ID_DIGITS: usize = 16;

/// What tells one folder from another one at the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootIdentity {
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
    /// When the folder was made, where the file system tells.
    pub born_ns: Option<i64>,
}

impl RootIdentity {
    /// Returns whether a folder at the same path is still this one. Device numbers change with
    /// reboots, so inode and birth decide.
    pub fn is_same_place(&self, other: &Self) -> bool {
        self.inode == other.inode && self.born_ns == other.born_ns
    }

    /// Inodes are used again, so elsewhere a folder is only known if its birth is.
    fn is_moved_from(&self, other: &Self) -> bool {
        self == other && self.born_ns.is_some()
    }
}

/// What `project.json` holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectIdentity {
    /// The project's id.
    pub id: String,
    /// The root, for people.
    pub root: String,
    /// The root's exact bytes in hexadecimal digits.
    pub root_bytes: String,
    /// The root's identity on disk.
    #[serde(flatten)]
    pub disk: RootIdentity,
    /// When the project was initialised.
    pub created_at: Millis,
}

impl ProjectIdentity {
    /// The root.
    pub fn root_path(&self) -> PathBuf {
        let digits = self.root_bytes.as_bytes();
        let byte = |pair: &[u8]| {
            std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
        };
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
        bytes.map_or_else(|| self.root.clone().into(), |bytes| OsString::from_vec(bytes).into())
    }
}

/// A project that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundProject {
    /// Its folder in the home.
    pub folder: PathBuf,
    /// What is known of it; `root` is where it is now.
    pub identity: ProjectIdentity,
    /// Where it was before, if it has moved since it was last seen.
    pub moved_from: Option<PathBuf>,
    /// What stands at the root's path.
    pub presence: RootPresence,
}

/// What stands at a project's path; unless it is the recorded folder, the project is read only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RootPresence {
    /// The folder that was recorded.
    #[default]
    Present,
    /// Another folder, until the person says whether it is the same project.
    Replaced,
    /// No folder.
    Missing,
}

/// Retake's own folder.
#[derive(Clone, Debug)]
pub struct Home {
    folder: PathBuf,
}

impl Home {
    /// The home in this folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Locks the home, so that one process at a time finds and creates projects.
    pub fn lock(&self, wait: Duration) -> Result<Option<FileLock>, StoreError> {
        retake_seam::fs::create_private_dir_all(&self.folder)
            .map_err(StoreError::io("create", &self.folder))?;
        self.close_open_paths();
        FileLock::acquire(&self.folder, wait)
    }

    /// The project that is recorded for just this canonical path.
    pub fn find(
        &self,
        root: &Path,
        disk: &RootIdentity,
    ) -> Result<Option<FoundProject>, StoreError> {
        let Some(identity) = self.identity_at(root)? else { return Ok(None) };
        let is_same = identity.disk.is_same_place(disk);
        let presence = if is_same { RootPresence::Present } else { RootPresence::Replaced };
        let folder = self.project_folder(&identity.id);
        Ok(Some(FoundProject { folder, identity, moved_from: None, presence }))
    }

    /// The id of the project that is recorded for just this path, even if no folder is there.
    pub fn recorded_id(&self, root: &Path) -> Option<String> {
        self.identity_at(root).ok().flatten().map(|identity| identity.id)
    }

    /// The identity of the project with this id, wherever its root is now.
    pub fn identity(&self, id: &str) -> Result<Option<ProjectIdentity>, StoreError> {
        // An id becomes a file name: nothing else than one is looked up.
        if id.len() != ID_DIGITS || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let identity = read_identity(&self.project_folder(id).join("project.json"))?;
        Ok(identity.filter(|identity| identity.id == id))
    }

    /// Returns whether a project is recorded for just this path, even if no folder is there.
    pub fn is_recorded(&self, root: &Path) -> bool {
        matches!(self.identity_at(root), Ok(Some(_)))
    }

    /// The project that this very folder was when it had another path; it is linked here now.
    ///
    /// Reads what is known of every project, so ask [`Home::find`] first.
    pub fn find_moved(
        &self,
        root: &Path,
        disk: &RootIdentity,
    ) -> Result<Option<FoundProject>, StoreError> {
        let moved = |project: &ProjectIdentity| disk.is_moved_from(&project.disk);
        let Some(old) = self.projects()?.into_iter().find(moved) else { return Ok(None) };
        let from = old.root_path();
        let found = FoundProject {
            folder: self.project_folder(&old.id),
            identity: old,
            moved_from: Some(from),
            presence: RootPresence::Present,
        };
        self.relink(&found, root, *disk).map(Some)
    }

    /// Makes a new project for a root, or gives the one that this very folder already has.
    pub fn create(
        &self,
        root: &Path,
        disk: RootIdentity,
        at: Millis,
    ) -> Result<FoundProject, StoreError> {
        let bytes = root.as_os_str().as_bytes();
        let seed = format!("{}\0{}\0{:?}", disk.device, disk.inode, disk.born_ns);
        let id = short_hash(&[bytes, seed.as_bytes()].concat())?;
        let identity = new_identity(id, root, disk, at);
        let folder = self.project_folder(&identity.id);
        retake_seam::fs::create_private_dir_all(&folder)
            .map_err(StoreError::io("create", &folder))?;
        self.link(&identity)?;
        Ok(FoundProject { folder, identity, moved_from: None, presence: RootPresence::Present })
    }

    /// Syncs a project's folders and names before anything is recorded, so that it is found again
    /// after power loss. A killed process may have created but not synced them.
    pub fn sync_project(&self, project: &FoundProject) -> Result<(), StoreError> {
        if project.folder.join("retake.db").exists() {
            return Ok(()); // that was after this
        }
        // With the folder its spool, so that one event need not sync the names for all others.
        Spool::new(&project.folder).create()?;
        let (projects, roots) = (self.folder.join("projects"), self.folder.join("roots"));
        let above = self.folder.parent().map(Path::to_owned);
        let inside = [project.folder.clone(), projects, roots, self.folder.clone()];
        inside.into_iter().chain(above).try_for_each(|folder| {
            retake_seam::fs::sync_dir_if_permitted(&folder).map_err(StoreError::io("sync", &folder))
        })
    }

    /// Links the project to the folder at `root`.
    pub fn relink(
        &self,
        project: &FoundProject,
        root: &Path,
        disk: RootIdentity,
    ) -> Result<FoundProject, StoreError> {
        let old = &project.identity;
        let identity = new_identity(old.id.clone(), root, disk, old.created_at);
        self.link(&identity)?;
        Ok(FoundProject { identity, presence: RootPresence::Present, ..project.clone() })
    }

    /// Every project, in no order.
    pub fn projects(&self) -> Result<Vec<ProjectIdentity>, StoreError> {
        let folder = self.folder.join("projects");
        let Ok(entries) = std::fs::read_dir(&folder) else {
            return Ok(Vec::new());
        };
        let mut projects = Vec::new();
        for entry in entries {
            let path = entry.map_err(StoreError::io("list", &folder))?.path();
            // Damage of one project must not keep the others from being found.
            match read_identity(&path.join("project.json")) {
                Ok(identity) => projects.extend(identity),
                Err(error) => tracing::warn!(%error, "a project is left out"),
            }
        }
        Ok(projects)
    }

    fn identity_at(&self, root: &Path) -> Result<Option<ProjectIdentity>, StoreError> {
        let Some(id) = read_if_there(&self.root_pointer_file(root)?)? else { return Ok(None) };
        let id = String::from_utf8_lossy(&id);
        let identity = read_identity(&self.project_folder(id.trim()).join("project.json"))?;
        // A pointer that a move left behind names a project that lives elsewhere now.
        Ok(identity.filter(|identity| identity.root_path() == root))
    }

    fn link(&self, identity: &ProjectIdentity) -> Result<(), StoreError> {
        let file = self.project_folder(&identity.id).join("project.json");
        let json = serde_json::to_vec_pretty(identity)
            .map_err(|error| StoreError::Row(format!("project.json: {error}")))?;
        retake_seam::fs::replace_durably(&file, &json).map_err(StoreError::io("write", &file))?;
        let roots = self.folder.join("roots");
        retake_seam::fs::create_private_dir_all(&roots)
            .map_err(StoreError::io("create", &roots))?;
        let pointer = self.root_pointer_file(&identity.root_path())?;
        retake_seam::fs::replace_durably(&pointer, identity.id.as_bytes())
            .map_err(StoreError::io("write", &pointer))
    }

    fn root_pointer_file(&self, root: &Path) -> Result<PathBuf, StoreError> {
        Ok(self.folder.join("roots").join(short_hash(root.as_os_str().as_bytes())?))
    }

    /// The folder of all projects in the home.
    pub fn projects_folder(&self) -> PathBuf {
        self.folder.join("projects")
    }

    /// The folder of a project in the home.
    pub fn project_folder(&self, id: &str) -> PathBuf {
        self.projects_folder().join(id)
    }
}

fn new_identity(id: String, root: &Path, disk: RootIdentity, at: Millis) -> ProjectIdentity {
    use std::fmt::Write as _;
    let mut root_bytes = String::new();
    for byte in root.as_os_str().as_bytes() {
        let _ = write!(root_bytes, "{byte:02x}");
    }
    ProjectIdentity {
        id,
        root: root.to_string_lossy().into_owned(),
        root_bytes,
        disk,
        created_at: at,
    }
}

fn read_identity(file: &Path) -> Result<Option<ProjectIdentity>, StoreError> {
    let Some(json) = read_if_there(file)? else { return Ok(None) };
    let parsed = serde_json::from_slice(&json);
    parsed.map(Some).map_err(|error| StoreError::Row(format!("{}: {error}", file.display())))
}

/// Reads a file; only `NotFound` is `None`, else a new record would replace an unreadable one.
fn read_if_there(file: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("read", file)(error)),
    }
}

fn short_hash(bytes: &[u8]) -> Result<String, StoreError> {
    let mut name = hash_blob(bytes)?.to_string();
    name.truncate(ID_DIGITS);
    Ok(name)
}
