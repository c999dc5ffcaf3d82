//! A tracked folder with its record.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use retake_model::{Caller, DialogId, Millis, ProjectPath};
use retake_store::{Batch, FileLock, FoundProject, RootIdentity, RootPresence, Store, StoreError};
use retake_workspace::{Workspace, root_id};

use crate::calls::target_cache::TargetCache;
use crate::error::RecordError;
use crate::query::secret_lineage::SecretLineage;
use crate::resolve_path::{PathBase, PathResolution, resolve_path};
use crate::scan::hints::HintTracker;
use crate::scan::request::{DeferredPaths, HiddenPathState, ScanRequest, ScanScope};
use crate::settings::{Settings, SettingsError};

/// Key of the time at which the baseline was made; without it nothing is a change yet.
pub(crate) const INITIALISED_AT_KEY: &str = "initialised_at";

pub(crate) fn disk_identity(folder: &Path) -> std::io::Result<RootIdentity> {
    let id = root_id(folder)?;
    Ok(RootIdentity { device: id.device, inode: id.inode, born_ns: id.born_ns })
}

/// A folder that is tracked.
///
/// Each call that writes takes the project's lock for itself and gives it back,
/// so that any number of processes can have the same project open.
#[derive(Debug)]
pub struct Project {
    pub(crate) found: FoundProject,
    /// The root as it was when the project was opened.
    pub(crate) disk: RootIdentity,
    pub(crate) workspace: Workspace,
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    pub(crate) settings_problem: Option<SettingsError>,
    pub(crate) global_excludes: Option<PathBuf>,
    pub(crate) global_attributes: Option<PathBuf>,
    pub(crate) same_device: bool,
    pub(crate) read_only: bool,
    pub(crate) hints: Option<HintTracker>,
    /// Cached targets of open calls.
    pub(crate) target_cache: RefCell<TargetCache>,
    /// Cached contents and paths that descend from files of secrets.
    pub(crate) secret_lineage: RefCell<SecretLineage>,
    pub(crate) user_home: Option<PathBuf>,
    pub(crate) clock: Option<fn() -> Millis>,
}

impl Project {
    /// The project's root folder.
    pub fn root(&self) -> &Path {
        self.workspace.root()
    }

    /// The project's id.
    pub fn id(&self) -> &str {
        &self.found.identity.id
    }

    /// The project's folder in Retake's home.
    pub fn folder(&self) -> &Path {
        self.store.folder()
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the reason why the settings cannot be used, if so; then the defaults are in force.
    pub fn settings_problem(&self) -> Option<&SettingsError> {
        self.settings_problem.as_ref()
    }

    /// Locks the run of this dialog as alive; when the lock is released, its call has no window.
    /// `None` if the dialog is no run, or another process holds it.
    pub fn lock_run(&self, dialog: &DialogId) -> Result<Option<FileLock>, StoreError> {
        FileLock::acquire_run(self.store.folder(), &dialog.0)
    }

    /// Removes the lock file of this dialog's run, when its end is recorded.
    pub fn forget_run(&self, dialog: &DialogId) {
        FileLock::remove_run(self.store.folder(), &dialog.0);
    }

    /// The record. Public for the tests of other crates, the fuzz targets and the benchmarks, which
    /// damage, fill and inspect it; hosts use the methods of [`Project`].
    #[doc(hidden)]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Who says what is recorded now.
    pub fn caller(&self) -> Caller {
        self.store.caller()
    }

    /// Sets who says what is recorded from here on, unless a submission names its own caller;
    /// returns the caller before. A project that is opened has the default: a library's user.
    pub fn set_caller(&self, caller: Caller) -> Caller {
        self.store.set_caller(caller)
    }

    /// Defers maintenance of the store to [`Project::run_maintenance`], which the host promises to call.
    pub fn defer_maintenance(&self) {
        self.store.shorten_wal_later();
    }

    /// Runs the deferred maintenance; skipped if another process holds the lock.
    pub fn run_maintenance(&self) {
        if !self.read_only
            && self.store.has_long_wal()
            && let Ok(Some(_lock)) = FileLock::acquire(self.store.folder(), Duration::ZERO)
        {
            self.store.shorten_wal();
        }
    }

    /// Returns true if another folder stands at the project's path; then it is read only.
    pub fn is_replaced(&self) -> bool {
        self.found.presence == RootPresence::Replaced
    }

    /// Returns what stood at the project's path when it was opened.
    pub fn root_presence(&self) -> RootPresence {
        self.found.presence
    }

    /// Fails with the reason if nothing may be recorded.
    pub(crate) fn check_writable(&self) -> Result<(), RecordError> {
        let root = || self.root().display().to_string();
        match disk_identity(self.root()) {
            // One that came back is opened again first: no file of this one can be read.
            _ if self.found.presence == RootPresence::Missing => {
                return Err(RecordError::Gone(root()));
            }
            Err(_) => return Err(RecordError::Gone(root())),
            Ok(disk) if self.is_replaced() || disk != self.disk => {
                return Err(RecordError::Replaced(root()));
            }
            Ok(_) => {}
        }
        if self.read_only {
            return Err(RecordError::ReadOnly(self.store.folder().display().to_string()));
        }
        Ok(())
    }

    /// Resolves a path that a person or an agent wrote to one in the project.
    pub fn resolve_path(&self, cwd: &Path, text: &str) -> Option<ProjectPath> {
        match resolve_path(self.root(), Some(&cwd.to_string_lossy()), text) {
            PathResolution::Inside(path) => Some(path),
            PathResolution::Root | PathResolution::Outside => None,
        }
    }

    /// The file whose mtime a scan compares with.
    pub(crate) fn stamp_file(&self) -> PathBuf {
        self.store.folder().join("stamp")
    }

    /// Sets the clock, by which a call is detected whose agent did not wait for the reply. Without
    /// a clock every agent waits.
    pub fn set_clock(&mut self, clock: fn() -> Millis) {
        self.clock = Some(clock);
    }

    pub(crate) fn now(&self) -> Option<Millis> {
        self.clock.map(|clock| clock())
    }

    /// Returns whether the host's clock says that a time is over.
    pub fn is_past(&self, time: Millis) -> bool {
        self.now().is_some_and(|now| now > time)
    }

    /// The folders that paths of agents are resolved against.
    pub(crate) fn path_base(&self) -> PathBase<'_> {
        PathBase { root: self.root(), home: self.user_home.as_deref() }
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(crate) fn scan_request(
        &self,
        batch: &Batch<'_>,
        scope: ScanScope,
        named: Vec<ProjectPath>,
        hidden: HiddenPathState,
    ) -> Result<ScanRequest<'_>, StoreError> {
        Ok(ScanRequest {
            scope,
            always_scanned: named,
            hidden,
            first: batch.meta(INITIALISED_AT_KEY)?.is_none(),
            workspace: &self.workspace,
            settings: &self.settings,
            global_excludes: self.global_excludes.as_deref(),
            global_attributes: self.global_attributes.as_deref(),
            stamp: self.stamp_file(),
            same_device: self.same_device,
            watched: self.hints.is_some(),
            snapshot: self.full_scan_snapshot(batch)?,
            deferred: DeferredPaths::default(),
            has_open_calls: false,
            moved_ignored: BTreeSet::new(),
        })
    }
}
