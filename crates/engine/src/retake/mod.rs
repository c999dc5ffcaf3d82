//! Finding, initialising and opening projects.
//!
//! The engine reads no clock, environment or network: the host says where
//! Retake's home, the person's home and the folder for temporary files are, and
//! passes the time into each call.

mod located;
mod open;

use std::path::{Path, PathBuf};
use std::time::Duration;

use retake_model::{Caller, Checkpoint, Millis};
use retake_store::{
    AgentCall, FoundProject, Home, ProjectIdentity, RootIdentity, RootPresence, Store, StoreAccess,
    StoreError,
};
use retake_workspace::{OpenError, git};

pub use located::LocatedProject;

use crate::error::RecordError;
use crate::project::{Project, disk_identity};
use crate::record::spool::SpoolWriter;
use crate::resolve_path::resolve_parent_links;
use crate::scan::refresh::{RefreshOutcome, ScanProgress};

/// Retake on this machine.
#[derive(Clone, Debug)]
pub struct Retake {
    pub(crate) home: Home,
    user_home: Option<PathBuf>,
    config_home: Option<PathBuf>,
    temp: Option<PathBuf>,
    caller: Caller,
}

/// Choices of [`Retake::init`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InitOptions {
    /// Track a home folder, the root of a file system or the folder for temporary files.
    pub anywhere: bool,
    /// The relation of a folder to another one that was recorded at its path.
    pub replaced: Option<ReplacedBy>,
    /// Make a checkpoint of what is there.
    pub checkpoint: bool,
}

/// A project on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownProject {
    /// Its id.
    pub id: String,
    /// Its root.
    pub root: PathBuf,
    /// What stands at the root's path.
    pub presence: RootPresence,
    /// Time of its initialisation.
    pub created_at: Millis,
}

/// The relation of a folder to another one that was recorded at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacedBy {
    /// The same project: its record goes on.
    Same,
    /// A new project: it gets a record of its own, the old one is kept.
    New,
}

/// Outcome of [`Retake::init`].
#[derive(Debug)]
pub struct InitOutcome {
    /// The project.
    pub project: Project,
    /// Set if it is new; otherwise the changes since the last scan were recorded.
    pub is_new: bool,
    /// The findings: of a new project the baseline, else the changes since the last scan.
    pub looked: RefreshOutcome,
    /// The earlier root of the project, if it has moved.
    pub moved_from: Option<PathBuf>,
    /// The checkpoint, if one was asked for.
    pub checkpoint: Option<Checkpoint>,
    /// A checkpoint of what was on record, if the folder stands where another one was.
    pub before: Option<Checkpoint>,
}

/// Origin of a folder's project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProjectOrigin {
    /// It was created just now.
    Created,
    /// It existed.
    Known,
    /// It replaces another one at the same path.
    ReplacedAnother,
}

/// Reason why a project could not be found, initialised or opened.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// No folder at or above has been initialised.
    #[error("{} is in no project yet", .0.display())]
    NotAProject(PathBuf),
    /// The folder is a git directory, or lies in one: those are never written.
    #[error("{} is git's own directory, which Retake never writes", .0.display())]
    GitDirectory(PathBuf),
    /// A folder that is hardly ever meant to be tracked.
    #[error("{} is {what}, and tracking all of it is almost never meant", path.display())]
    TooBroad {
        /// The folder.
        path: PathBuf,
        /// Description of the folder.
        what: &'static str,
    },
    /// The folder cannot be used.
    #[error("{} cannot be opened: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder cannot be opened as a project.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The first scan failed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Retake {
    /// Retake with its home in this folder.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let (home, caller) = (Home::new(home), Caller::default());
        Self { home, user_home: None, config_home: None, temp: None, caller }
    }

    /// Sets the person's home: it is not tracked by accident, and has git's global rules.
    #[must_use]
    pub fn user_home(mut self, folder: Option<PathBuf>) -> Self {
        self.user_home = folder;
        self
    }

    /// Sets the folder of the person's settings (`$XDG_CONFIG_HOME`), for git's global rules.
    #[must_use]
    pub fn config_home(mut self, folder: Option<PathBuf>) -> Self {
        self.config_home = folder;
        self
    }

    /// Sets the folder for temporary files: it is not tracked by accident.
    #[must_use]
    pub fn temp(mut self, folder: Option<PathBuf>) -> Self {
        self.temp = folder;
        self
    }

    /// Sets who says what is recorded in the projects that it opens.
    #[must_use]
    pub fn said_by(mut self, caller: Caller) -> Self {
        self.caller = caller;
        self
    }

    /// Retake's own folder.
    pub fn folder(&self) -> &Path {
        self.home.folder()
    }

    /// Restricts what Retake made in its folder to its owner, should it be open to other users.
    pub fn close_open_paths(&self) {
        self.home.close_open_paths();
    }

    /// The folder with the records of all projects.
    pub fn records_folder(&self) -> PathBuf {
        self.home.projects_folder()
    }

    /// The folder with the record of one project.
    pub fn record_folder(&self, project: &str) -> PathBuf {
        self.home.project_folder(project)
    }

    /// Starts to track a folder, or brings the record of a tracked one up to date.
    pub fn init(
        &self,
        root: &Path,
        options: InitOptions,
        at: Millis,
        progress: ScanProgress<'_>,
    ) -> Result<InitOutcome, ProjectError> {
        let (project, origin) = self.find_or_create(root, options, at)?;
        let moved_from = project.found.moved_from.clone();
        // Files missing in this folder will count as deleted: all of them can be restored at once.
        let before = match origin {
            ProjectOrigin::ReplacedAnother => project.checkpoint_recorded_state(at)?,
            ProjectOrigin::Created | ProjectOrigin::Known => None,
        };
        let looked = project.refresh_with_progress(at, progress)?;
        let checkpoint =
            options.checkpoint.then(|| project.checkpoint_last_scan(at)).transpose()?;
        let is_new = origin == ProjectOrigin::Created;
        Ok(InitOutcome { project, is_new, looked, moved_from, checkpoint, before })
    }

    /// Finds or creates a folder's project, without scanning the files yet.
    fn find_or_create(
        &self,
        root: &Path,
        options: InitOptions,
        at: Millis,
    ) -> Result<(Project, ProjectOrigin), ProjectError> {
        let (root, disk) = self.identify_folder(root)?;
        if let Some(directory) = git::enclosing_git_dir(&root) {
            return Err(ProjectError::GitDirectory(directory.to_owned()));
        }
        if !options.anywhere {
            self.refuse_too_broad(&root)?;
        }
        let _lock = self.home.lock(HOME_LOCK_TIMEOUT)?;
        let found = match self.home.find(&root, &disk)? {
            None => self.home.find_moved(&root, &disk)?,
            found => found,
        };
        let (found, origin) = match (found, options.replaced) {
            (None, _) => (self.home.create(&root, disk, at)?, ProjectOrigin::Created),
            (Some(found), Some(ReplacedBy::New)) if found.presence == RootPresence::Replaced => {
                (self.home.create(&root, disk, at)?, ProjectOrigin::Created)
            }
            (Some(found), Some(ReplacedBy::Same)) if found.presence == RootPresence::Replaced => {
                (self.home.relink(&found, &root, disk)?, ProjectOrigin::ReplacedAnother)
            }
            (Some(found), _) => (found, ProjectOrigin::Known),
        };
        Ok((self.open_found(found)?, origin))
    }

    /// Opens the nearest project at or above a path.
    pub fn open(&self, path: &Path) -> Result<Project, ProjectError> {
        let (start, _) = self.identify_folder(path)?;
        match self.find_nearest(&start)? {
            Some(found) => self.open_found(found),
            None => Err(ProjectError::NotAProject(start)),
        }
    }

    /// Opens the nearest project at or above a path only to read its record, for questions that
    /// must leave no trace, such as shell completion. Writes nothing: a record of another schema is
    /// not migrated, and a folder that has moved since is not found.
    pub fn open_read_only(&self, path: &Path) -> Result<Project, ProjectError> {
        let (start, _) = self.identify_folder(path)?;
        match self.find_nearest_with(&start, Home::find)? {
            Some(found) => self.open_without_trace(found),
            None => Err(ProjectError::NotAProject(start)),
        }
    }

    /// Every project on record, whether its folder is there or not.
    pub fn projects(&self) -> Result<Vec<KnownProject>, StoreError> {
        let known = |identity: ProjectIdentity| KnownProject {
            root: identity.root_path(),
            presence: root_presence(&identity),
            id: identity.id,
            created_at: identity.created_at,
        };
        Ok(self.home.projects()?.into_iter().map(known).collect())
    }

    /// Returns the calls of agents that can still do something, of all projects. Only the records are
    /// read: a folder that was moved, or hangs, does not matter. A record that cannot be read has none.
    pub fn all_agent_calls(&self) -> Result<Vec<AgentCall>, StoreError> {
        let mut calls = Vec::new();
        for identity in self.home.projects()? {
            let folder = self.home.project_folder(&identity.id);
            let own = Store::open(&folder, StoreAccess::Read).and_then(|store| store.agent_calls());
            match own {
                Ok(own) => calls.extend(own),
                Err(error) => tracing::info!(%error, "the calls of a project are not known"),
            }
        }
        Ok(calls)
    }

    /// Finds the project with this id without opening it, even if its folder is gone or another
    /// one stands at its path.
    pub fn locate_by_id(&self, id: &str) -> Result<Option<LocatedProject>, ProjectError> {
        let Some(identity) = self.home.identity(id)? else { return Ok(None) };
        let (folder, presence) = (self.home.project_folder(id), root_presence(&identity));
        let found = FoundProject { folder, identity, moved_from: None, presence };
        Ok(Some(LocatedProject::new(self.home.folder(), found)))
    }

    /// Opens the record of a project whose folder is gone: of the nearest recorded root at or above
    /// a path, or, where no such file exists, of the project whose id is the path's last name.
    pub fn open_record(&self, path: &Path) -> Result<Project, ProjectError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let by_root = path.ancestors().find_map(|root| self.home.recorded_id(root));
        let name = path.file_name().and_then(|name| name.to_str()).map(ToOwned::to_owned);
        let id = by_root.or(name).unwrap_or_default();
        match self.locate_by_id(&id)? {
            Some(located) => self.open_located(&located),
            None => Err(ProjectError::NotAProject(path)),
        }
    }

    /// Opens a project that was located. One whose folder is gone is opened to read its record.
    pub fn open_located(&self, located: &LocatedProject) -> Result<Project, ProjectError> {
        self.open_found(located.found.clone())
    }

    /// A spool writer for the nearest project at or above a path, even if that cannot be opened: a
    /// newer version may have written its store, say.
    pub fn spool_writer(&self, path: &Path) -> Result<Option<SpoolWriter>, ProjectError> {
        let (start, _) = self.identify_folder(path)?;
        Ok(self.find_nearest(&start)?.map(|found| SpoolWriter::for_folder(&found.folder)))
    }

    /// Finds the nearest project at or above a path without opening it.
    pub fn locate(&self, path: &Path) -> Result<LocatedProject, ProjectError> {
        let (start, _) = self.identify_folder(path)?;
        match self.find_nearest(&start)? {
            Some(found) => Ok(LocatedProject::new(self.home.folder(), found)),
            None => Err(ProjectError::NotAProject(start)),
        }
    }

    /// Like [`Retake::locate`], but creates a project as [`Retake::open_or_create`] does.
    pub fn locate_or_create(
        &self,
        path: &Path,
        at: Millis,
    ) -> Result<LocatedProject, ProjectError> {
        match self.locate(path) {
            Err(ProjectError::NotAProject(_)) => {
                let found = self.open_or_create(path, at)?.found;
                Ok(LocatedProject::new(self.home.folder(), found))
            }
            other => other,
        }
    }

    fn find_nearest(&self, start: &Path) -> Result<Option<FoundProject>, ProjectError> {
        // The cheap check for every folder first, then the one that reads every project.
        match self.find_nearest_with(start, Home::find)? {
            None => self.find_nearest_with(start, Home::find_moved),
            found => Ok(found),
        }
    }

    fn find_nearest_with(
        &self,
        start: &Path,
        find: impl Fn(&Home, &Path, &RootIdentity) -> Result<Option<FoundProject>, StoreError>,
    ) -> Result<Option<FoundProject>, ProjectError> {
        for folder in start.ancestors() {
            let Ok(disk) = disk_identity(folder) else { continue };
            if let Some(found) = find(&self.home, folder, &disk)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Opens the nearest project, or creates one for the git repository around a path, else for the
    /// folder itself; never for a home folder, a root or the folder for temporary files.
    ///
    /// A new one is first scanned with its first event.
    pub fn open_or_create(&self, path: &Path, at: Millis) -> Result<Project, ProjectError> {
        match self.open(path) {
            Err(ProjectError::NotAProject(start)) => {
                let root = git::toplevel(&start).unwrap_or(start);
                Ok(self.find_or_create(&root, InitOptions::default(), at)?.0)
            }
            other => other,
        }
    }

    /// The canonical folder at or around a path, and its identity. A recorded folder that no longer
    /// exists is told apart from one that never did.
    fn identify_folder(&self, path: &Path) -> Result<(PathBuf, RootIdentity), ProjectError> {
        identify_folder(path).map_err(|error| {
            let path = resolve_parent_links(
                &std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            );
            let mut missing = path.ancestors().take_while(|folder| is_missing(folder));
            match missing.find(|folder| self.home.is_recorded(folder)) {
                Some(root) => RecordError::Gone(root.display().to_string()).into(),
                None => error,
            }
        })
    }

    fn refuse_too_broad(&self, root: &Path) -> Result<(), ProjectError> {
        match self.too_broad(root) {
            Some(what) => Err(ProjectError::TooBroad { path: root.to_owned(), what }),
            None => Ok(()),
        }
    }

    /// Describes a folder that becomes no project unless the person insists: the home folder, `/`
    /// and the like. The path is canonical.
    pub fn too_broad(&self, root: &Path) -> Option<&'static str> {
        let is = |folder: Option<&Path>| {
            folder.and_then(|folder| folder.canonicalize().ok()).is_some_and(|path| path == root)
        };
        if root.parent().is_none() {
            Some("the root of the file system")
        } else if is(self.user_home.as_deref()) {
            Some("your home folder")
        } else if is(self.temp.as_deref()) {
            Some("the folder for temporary files")
        } else if self.home.folder().canonicalize().is_ok_and(|home| root.starts_with(home)) {
            Some("Retake's own folder")
        } else {
            None
        }
    }
}

/// Compares what stands at a project's path with what was recorded. A link there is not followed:
/// the recorded path is canonical.
fn root_presence(identity: &ProjectIdentity) -> RootPresence {
    let root = identity.root_path();
    if !root.symlink_metadata().is_ok_and(|data| data.is_dir()) {
        return RootPresence::Missing;
    }
    match disk_identity(&root) {
        Ok(disk) if identity.disk.is_same_place(&disk) => RootPresence::Present,
        Ok(_) => RootPresence::Replaced,
        Err(_) => RootPresence::Missing,
    }
}

fn is_missing(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

/// The canonical folder at or around a path, and its identity.
fn identify_folder(path: &Path) -> Result<(PathBuf, RootIdentity), ProjectError> {
    let error = |source| ProjectError::Folder { path: path.to_owned(), source };
    let path = path.canonicalize().map_err(error)?;
    let folder = if path.is_dir() { &path } else { path.parent().unwrap_or(&path) };
    let disk = disk_identity(folder).map_err(error)?;
    Ok((folder.to_owned(), disk))
}

/// Timeout of the home's lock: finding and creating a project takes a moment, unless a process
/// hangs.
const HOME_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
