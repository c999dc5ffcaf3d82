//! Opens a project that was found: its folder, its record and its settings.

use std::cell::RefCell;
use std::path::Path;

use retake_store::{FoundProject, RootPresence, Store, StoreAccess, StoreError};
use retake_workspace::{Workspace, git};

use crate::project::{Project, disk_identity};
use crate::settings::Settings;

use super::{ProjectError, Retake};

impl Retake {
    pub(super) fn open_found(&self, found: FoundProject) -> Result<Project, ProjectError> {
        let workspace = self.open_workspace(&found)?;
        self.home.sync_project(&found)?;
        let (store, read_only) = open_store(&found.folder)?;
        self.project_of(found, workspace, store, read_only)
    }

    /// Opens a project only to read its record, and leaves Retake's home as it is.
    pub(super) fn open_without_trace(&self, found: FoundProject) -> Result<Project, ProjectError> {
        let workspace = self.open_workspace(&found)?;
        let store = Store::open(&found.folder, StoreAccess::Peek)?;
        self.project_of(found, workspace, store, true)
    }

    fn open_workspace(&self, found: &FoundProject) -> Result<Workspace, ProjectError> {
        let root = found.identity.root_path();
        let mut workspace = match found.presence {
            RootPresence::Missing => Workspace::absent(&root),
            RootPresence::Present | RootPresence::Replaced => Workspace::open(&root)?,
        };
        workspace.exclude_own_folder(self.home.folder());
        Ok(workspace)
    }

    fn project_of(
        &self,
        found: FoundProject,
        workspace: Workspace,
        store: Store,
        read_only: bool,
    ) -> Result<Project, ProjectError> {
        let root = found.identity.root_path();
        store.set_caller(self.caller.clone());
        // Unusable settings must not prevent recording.
        let (settings, settings_problem) = match Settings::load(self.home.folder(), &found.folder) {
            Ok(settings) => (settings, None),
            Err(error) => (Settings::default(), Some(error)),
        };
        let home = self.user_home.as_deref();
        let global_excludes = git::local_excludes(&root, home)
            .or_else(|| git::global_excludes(home, self.config_home.as_deref()));
        let global_attributes = git::local_attributes(&root, home)
            .or_else(|| git::global_attributes(home, self.config_home.as_deref()));
        let error = |source| ProjectError::Folder { path: root.clone(), source };
        let disk = match found.presence {
            RootPresence::Missing => found.identity.disk,
            RootPresence::Present | RootPresence::Replaced => {
                disk_identity(&root).map_err(error)?
            }
        };
        let same_device =
            disk_identity(&found.folder).is_ok_and(|folder| folder.device == disk.device);
        Ok(Project {
            found,
            disk,
            workspace,
            store,
            settings,
            settings_problem,
            global_excludes,
            global_attributes,
            same_device,
            read_only,
            hints: None,
            target_cache: RefCell::default(),
            secret_lineage: RefCell::default(),
            user_home: self.user_home.clone(),
            clock: None,
        })
    }
}

/// Opens a store read-only if it cannot be written.
fn open_store(folder: &Path) -> Result<(Store, bool), StoreError> {
    match Store::open(folder, StoreAccess::Write) {
        Ok(store) => Ok((store, false)),
        Err(error) if error.is_read_only() => Ok((Store::open(folder, StoreAccess::Read)?, true)),
        Err(error) => Err(error),
    }
}
