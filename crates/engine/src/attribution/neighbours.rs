//! Projects that lie in, around or beside a project, and what Retake wrote on their behalf.
//!
//! A file can belong to several projects: to a repository, and to the one that it is nested in. What
//! Retake wrote on behalf of one project, the others know by that project's journal.
//!
//! Invariants: neighbours are only read here. Damage of a neighbour's record, or of the home's list,
//! does not prevent recording in this project.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use retake_model::{Actor, PathState, ProjectPath};
use retake_store::{Home, ProjectIdentity, Store, StoreAccess, StoreError};
use serde::{Deserialize, Serialize};

use crate::attribution::observed::ObservedChange;
use crate::attribution::own_operation::OwnOperation;
use crate::project::Project;
use crate::resolve_path::{PathResolution, resolve_by_text};

/// Another project that an event concerns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbourProject {
    /// Its root.
    pub root: PathBuf,
    /// Its folder in Retake's home.
    pub folder: PathBuf,
}

impl Project {
    /// All other projects whose folders exist.
    pub(crate) fn neighbours(&self) -> Vec<NeighbourProject> {
        let Some(home) = self.folder().parent().and_then(Path::parent).map(Home::new) else {
            return Vec::new();
        };
        let neighbour = |other: ProjectIdentity| NeighbourProject {
            root: other.root_path(),
            folder: home.project_folder(&other.id),
        };
        let is_other =
            |other: &NeighbourProject| other.folder != self.folder() && other.root.is_dir();
        let projects = home.projects().inspect_err(|error| tracing::warn!(%error, "no neighbours"));
        projects.unwrap_or_default().into_iter().map(neighbour).filter(is_other).collect()
    }
}

/// Operations of Retake in other projects, read only for changes that nothing else claims.
pub(crate) struct NeighbourJournals<'p> {
    project: &'p Project,
    overlapping: Option<Vec<OverlappingProject>>,
}

/// A neighbour that has files in common with the project.
struct OverlappingProject {
    root: PathBuf,
    store: Store,
    unfinished: OwnOperation,
}

impl<'p> NeighbourJournals<'p> {
    pub(crate) fn new(project: &'p Project) -> Self {
        Self { project, overlapping: None }
    }

    /// Returns the neighbours' claim to a change. A journal that cannot be read claims nothing.
    pub(crate) fn claim(&mut self, seen: &ObservedChange) -> NeighbourClaim {
        let project = self.project;
        let path = project.root().join(OsStr::from_bytes(seen.path.as_bytes()));
        let others = self.overlapping.get_or_insert_with(|| open_overlapping(project));
        let claim = |other: &OverlappingProject| match resolve_by_text(&other.root, &path) {
            PathResolution::Inside(there) => {
                other.claim(&there, &seen.after).unwrap_or(NeighbourClaim::None)
            }
            PathResolution::Root | PathResolution::Outside => NeighbourClaim::None,
        };
        others
            .iter()
            .map(claim)
            .find(|claim| *claim != NeighbourClaim::None)
            .unwrap_or(NeighbourClaim::None)
    }
}

/// The neighbours that have files in common with a project.
fn open_overlapping(project: &Project) -> Vec<OverlappingProject> {
    let root = project.root();
    let is_around =
        |other: &NeighbourProject| root.starts_with(&other.root) || other.root.starts_with(root);
    let open = |NeighbourProject { root, folder }: NeighbourProject| {
        let store = Store::open(&folder, StoreAccess::Read)?;
        let unfinished = OwnOperation::load_unfinished(&store)?;
        Ok::<_, StoreError>(OverlappingProject { root, store, unfinished })
    };
    let opened = project.neighbours().into_iter().filter(is_around).map(open);
    let opened = opened.inspect(|opened| {
        if let Err(error) = opened {
            tracing::warn!(%error, "a project around this one cannot be read");
        }
    });
    opened.filter_map(Result::ok).collect()
}

/// Claim of another project's journal to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeighbourClaim {
    /// Nothing.
    None,
    /// Retake wrote just this.
    Written,
    /// It is a temporary file of Retake's.
    Temporary,
}

impl OverlappingProject {
    fn claim(&self, path: &ProjectPath, after: &PathState) -> Result<NeighbourClaim, StoreError> {
        let is_temp_name = retake_workspace::is_temp_name(path.file_name());
        if self.unfinished.is_temp(path) || (is_temp_name && self.store.is_step_temp(path)?) {
            return Ok(NeighbourClaim::Temporary);
        }
        let last = self.store.last_change_of(path)?;
        let is_written = self.unfinished.writes(path, after)
            || last.is_some_and(|last| last.actor == Actor::Retake && last.after == *after);
        Ok(if is_written { NeighbourClaim::Written } else { NeighbourClaim::None })
    }
}
