//! Projects that lie in, around or beside a project.
//!
//! A file can belong to several projects: to a repository, and to the one that it is nested in. An
//! event is recorded in the project that is nearest to the agent, and relayed to every other one
//! that it concerns, so that none of them attributes the agent's work to the user. What Retake
//! wrote on behalf of one project, the others know by that project's journal.
//!
//! Invariants: neighbours are only read here, and the recorder of an event relays it, once. Damage
//! of a neighbour's record, or of the home's list, does not prevent recording in this project.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use retake_model::{Actor, DialogId, Event, EventKind, PathState, ProjectPath};
use retake_store::{Home, ProjectIdentity, Store, StoreAccess, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attribution::own_operation::OwnOperation;
use crate::calls::open_call::CallTargets;
use crate::project::Project;
use crate::record::submit::{ReplySupport, Submission};
use crate::resolve_path::{PathBase, PathResolution, resolve_by_text};
use crate::scan::observation::ObservedChange;

/// The other projects that an event concerns, and the context for submitting it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRelay {
    /// The projects.
    pub to: Vec<NeighbourProject>,
    /// The folder that the event's relative paths start at.
    pub cwd: Option<String>,
}

/// Another project that an event concerns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbourProject {
    /// Its root.
    pub root: PathBuf,
    /// Its folder in Retake's home.
    pub folder: PathBuf,
}

impl EventRelay {
    /// The event as it is submitted to the other projects: only the first project replies to the
    /// agent.
    pub fn relayed_submission(&self, parcel: &Submission) -> Submission {
        let mut parcel = Submission { reply_support: ReplySupport::Nothing, ..parcel.clone() };
        parcel.event.cwd.clone_from(&self.cwd);
        parcel
    }
}

impl Project {
    /// The other projects that an event concerns: those around this one, those that its call names
    /// a path of or works in, and, if its call may change anything, those in this one. What is no
    /// call concerns those in this one in which its dialog was at work.
    pub(crate) fn relay_for(&self, event: &Event) -> Result<Option<EventRelay>, StoreError> {
        let others = self.neighbours();
        if others.is_empty() {
            return Ok(None);
        }
        let root = self.root();
        let cwd = event.cwd.clone().or_else(|| root.to_str().map(ToOwned::to_owned));
        let call = self.requested_call(event)?;
        let mut to = Vec::new();
        for other in others {
            let is_concerned = root.starts_with(&other.root)
                || match &call {
                    Some(call) => self.may_reach(call, cwd.as_deref(), &other.root),
                    None => other.root.starts_with(root) && has_dialog(&other, &event.dialog),
                };
            if is_concerned {
                to.push(other);
            }
        }
        Ok((!to.is_empty()).then_some(EventRelay { to, cwd }))
    }

    /// All other projects whose folders exist.
    fn neighbours(&self) -> Vec<NeighbourProject> {
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

    /// The tool and the arguments of the call that an event is about.
    fn requested_call(&self, event: &Event) -> Result<Option<(String, Value)>, StoreError> {
        match &event.what {
            EventKind::ToolBegin { tool, input, .. } => Ok(Some((tool.clone(), input.clone()))),
            EventKind::ToolEnd { tool: Some(tool), input, .. } => {
                Ok(Some((tool.clone(), input.clone())))
            }
            EventKind::ToolEnd { call: Some(call), .. } => {
                let call = self.store().call(&event.dialog, call)?;
                Ok(call.map(|call| (call.tool.clone(), call.input.unpack())))
            }
            _ => Ok(None),
        }
    }

    /// Returns true if a call may change files of a project that is not around this one.
    fn may_reach(&self, (tool, input): &(String, Value), cwd: Option<&str>, root: &Path) -> bool {
        let is_in_it =
            |folder: &str| resolve_by_text(root, Path::new(folder)) != PathResolution::Outside;
        if cwd.is_some_and(is_in_it) {
            return true;
        }
        let is_inside = root.starts_with(self.root());
        // Every path into the project from outside contains its name.
        if !is_inside && !mentions(input, &root.file_name().unwrap_or_default().to_string_lossy()) {
            return false;
        }
        let aim = CallTargets::from_arguments(
            PathBase { root, home: self.path_base().home },
            tool,
            cwd,
            input,
        );
        aim.reaches_anything() || (is_inside && aim.may_be_anywhere())
    }
}

fn mentions(input: &Value, name: &str) -> bool {
    match input {
        Value::String(text) => text.contains(name),
        Value::Array(values) => values.iter().any(|value| mentions(value, name)),
        Value::Object(fields) => fields.values().any(|value| mentions(value, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn has_dialog(other: &NeighbourProject, dialog: &DialogId) -> bool {
    let store = Store::open(&other.folder, StoreAccess::Read);
    store.and_then(|store| store.dialog(dialog)).is_ok_and(|known| known.is_some())
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
    let around = project.neighbours().into_iter().filter(is_around).map(open);
    let around = around.inspect(|opened| {
        if let Err(error) = opened {
            tracing::warn!(%error, "a project around this one cannot be read");
        }
    });
    around.filter_map(Result::ok).collect()
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
