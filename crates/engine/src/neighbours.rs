//! Projects that lie in, around or beside a project.
//!
//! A file can belong to several projects: to a repository, and to the one that it is nested in. An
//! event is recorded in the project that is nearest to the agent, and relayed to every other one
//! that it concerns, so that none of them takes the agent's work for the user's. What Retake wrote
//! on behalf of one project, the others know by that project's journal.
//!
//! Invariant: neighbours are only read here. Whoever records an event relays it, once.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use retake_model::{Actor, DialogId, Event, EventKind, ProjectPath, Side};
use retake_store::{Access, Home, Identity, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::live::Aim;
use crate::observe::Observed;
use crate::own_work::OwnWork;
use crate::parcel::{Hears, Parcel};
use crate::place::{Ground, Place, beneath};
use crate::project::Project;

/// The other projects that an event concerns, and how it is told there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relay {
    /// The projects.
    pub to: Vec<Neighbour>,
    /// The folder that the event's relative paths start at.
    pub cwd: Option<String>,
}

/// Another project that an event concerns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Its root.
    pub root: PathBuf,
    /// Its folder in Retake's home.
    pub folder: PathBuf,
}

impl Relay {
    /// An event as it is told to the other projects: only the first one answers the agent.
    pub fn parcel(&self, parcel: &Parcel) -> Parcel {
        let mut parcel = Parcel { hears: Hears::Nothing, ..parcel.clone() };
        parcel.event.cwd.clone_from(&self.cwd);
        parcel
    }
}

impl Project {
    /// The other projects that an event concerns: those around this one, those that its call names
    /// a path of or works in, and, if its call may change anything, those in this one. What is no
    /// call concerns those in this one in which its dialog was at work.
    pub(crate) fn relay(&self, event: &Event) -> Result<Option<Relay>, StoreError> {
        let others = self.neighbours()?;
        if others.is_empty() {
            return Ok(None);
        }
        let root = self.root();
        let cwd = event.cwd.clone().or_else(|| root.to_str().map(ToOwned::to_owned));
        let call = self.asked_of(event)?;
        let mut to = Vec::new();
        for other in others {
            let is_concerned = root.starts_with(&other.root)
                || match &call {
                    Some(call) => self.reaches(call, cwd.as_deref(), &other.root),
                    None => other.root.starts_with(root) && knows(&other, &event.dialog)?,
                };
            if is_concerned {
                to.push(other);
            }
        }
        Ok((!to.is_empty()).then_some(Relay { to, cwd }))
    }

    /// All other projects whose folders are there.
    fn neighbours(&self) -> Result<Vec<Neighbour>, StoreError> {
        let Some(home) = self.folder().parent().and_then(Path::parent).map(Home::new) else {
            return Ok(Vec::new());
        };
        let neighbour = |other: Identity| Neighbour {
            root: other.root_path(),
            folder: home.project_folder(&other.id),
        };
        let is_other = |other: &Neighbour| other.folder != self.folder() && other.root.is_dir();
        Ok(home.projects()?.into_iter().map(neighbour).filter(is_other).collect())
    }

    /// The tool and the arguments of the call that an event is about.
    fn asked_of(&self, event: &Event) -> Result<Option<(String, Value)>, StoreError> {
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

    /// Whether a call may change files of a project that is not around this one.
    fn reaches(&self, (tool, input): &(String, Value), cwd: Option<&str>, root: &Path) -> bool {
        let is_in_it = |folder: &str| beneath(root, Path::new(folder)) != Place::Outside;
        if cwd.is_some_and(is_in_it) {
            return true;
        }
        let is_inside = root.starts_with(self.root());
        // Every way there from elsewhere has its name.
        if !is_inside && !mentions(input, &root.file_name().unwrap_or_default().to_string_lossy()) {
            return false;
        }
        let aim = Aim::of(Ground { root, home: self.ground().home }, tool, cwd, input);
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

fn knows(other: &Neighbour, dialog: &DialogId) -> Result<bool, StoreError> {
    Ok(match Store::open(&other.folder, Access::Read) {
        Ok(store) => store.dialog(dialog)?.is_some(),
        Err(_) => false,
    })
}

/// What Retake did on behalf of other projects, asked for when nobody else claims a change.
pub(crate) struct DoneForOthers<'p> {
    project: &'p Project,
    others: Option<Vec<Other>>,
}

/// A neighbour that has files in common with the project.
struct Other {
    root: PathBuf,
    store: Store,
    unfinished: OwnWork,
}

impl<'p> DoneForOthers<'p> {
    pub(crate) fn new(project: &'p Project) -> Self {
        Self { project, others: None }
    }

    /// Whether Retake put a file into this state, or it is a temporary file of Retake's.
    pub(crate) fn claims(&mut self, seen: &Observed) -> Result<Claim, StoreError> {
        let path = self.project.root().join(OsStr::from_bytes(seen.path.as_bytes()));
        for other in self.others()? {
            let Place::Inside(there) = beneath(&other.root, &path) else { continue };
            if other.has_temp(&there)? {
                return Ok(Claim::Temporary);
            }
            if other.wrote(&there, &seen.after)? {
                return Ok(Claim::Written);
            }
        }
        Ok(Claim::None)
    }

    fn others(&mut self) -> Result<&[Other], StoreError> {
        if self.others.is_none() {
            self.others = Some(self.open()?);
        }
        Ok(self.others.as_deref().unwrap_or_default())
    }

    fn open(&self) -> Result<Vec<Other>, StoreError> {
        let root = self.project.root();
        let mut others = Vec::new();
        for Neighbour { root: other, folder } in self.project.neighbours()? {
            if !root.starts_with(&other) && !other.starts_with(root) {
                continue;
            }
            // One that cannot be read claims nothing.
            let Ok(store) = Store::open(&folder, Access::Read) else { continue };
            let unfinished = OwnWork::unfinished(&store)?;
            others.push(Other { root: other, store, unfinished });
        }
        Ok(others)
    }
}

/// What the journals of other projects say of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nothing.
    None,
    /// Retake wrote just this.
    Written,
    /// It is a temporary file of Retake's.
    Temporary,
}

impl Other {
    fn has_temp(&self, path: &ProjectPath) -> Result<bool, StoreError> {
        Ok(self.unfinished.is_temp(path)
            || (retake_workspace::is_temp_name(path.file_name())
                && self.store.is_step_temp(path)?))
    }

    fn wrote(&self, path: &ProjectPath, after: &Side) -> Result<bool, StoreError> {
        if self.unfinished.writes(path, after) {
            return Ok(true);
        }
        let last = self.store.last_change_of(path)?;
        Ok(last.is_some_and(|last| last.actor == Actor::Retake && last.after == *after))
    }
}
