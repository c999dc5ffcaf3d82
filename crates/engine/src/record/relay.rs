//! Relays an event to the other projects that it concerns.
//!
//! An event is recorded in the project that is nearest to the agent, and relayed to every other one
//! that it concerns, so that none of them attributes the agent's work to the user. The recorder of
//! an event relays it, once.

use std::path::Path;

use retake_model::{DialogId, Event, EventKind};
use retake_store::{Store, StoreAccess, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attribution::neighbours::NeighbourProject;
use crate::calls::targets::CallTargets;
use crate::project::Project;
use crate::resolve_path::{PathBase, PathResolution, resolve_by_text};
use crate::submission::{ReplySupport, Submission};

/// The other projects that an event concerns, and the context for submitting it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRelay {
    /// The projects.
    pub to: Vec<NeighbourProject>,
    /// The folder that the event's relative paths start at.
    pub cwd: Option<String>,
}

impl EventRelay {
    /// The event as it is submitted to the other projects: only the first project replies to the
    /// agent.
    pub fn relayed_submission(&self, submission: &Submission) -> Submission {
        let mut relayed = submission.clone().with_reply_support(ReplySupport::Nothing);
        relayed.event.cwd.clone_from(&self.cwd);
        relayed
    }
}

/// The tool and the arguments of the call that an event is about.
struct CallArguments {
    tool: String,
    input: Value,
}

impl Project {
    /// The other projects that an event concerns: those around this one, those that its call names
    /// a path of or works in, and, if its call may change anything, those in this one. What is no
    /// call concerns those in this one in which its dialog was at work. `others` are all of them:
    /// they are read from the home once for several events.
    pub(crate) fn relay_for(
        &self,
        event: &Event,
        others: &[NeighbourProject],
    ) -> Result<Option<EventRelay>, StoreError> {
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
                    None => other.root.starts_with(root) && has_dialog(other, &event.dialog),
                };
            if is_concerned {
                to.push(other.clone());
            }
        }
        Ok((!to.is_empty()).then_some(EventRelay { to, cwd }))
    }

    /// The tool and the arguments of the call that an event is about.
    fn requested_call(&self, event: &Event) -> Result<Option<CallArguments>, StoreError> {
        match &event.what {
            EventKind::ToolBegin { tool, input, .. }
            | EventKind::ToolEnd { tool: Some(tool), input, .. } => {
                Ok(Some(CallArguments { tool: tool.clone(), input: input.clone() }))
            }
            EventKind::ToolEnd { call: Some(call), .. } => {
                let call = self.store().call(&event.dialog, call)?;
                Ok(call.map(|call| CallArguments { input: call.input.unpack(), tool: call.tool }))
            }
            _ => Ok(None),
        }
    }

    /// Returns true if a call may change files of a project that is not around this one.
    fn may_reach(&self, call: &CallArguments, cwd: Option<&str>, root: &Path) -> bool {
        let is_in_it =
            |folder: &str| resolve_by_text(root, Path::new(folder)) != PathResolution::Outside;
        if cwd.is_some_and(is_in_it) {
            return true;
        }
        let is_inside = root.starts_with(self.root());
        // Every path into the project from outside contains its name.
        if !is_inside
            && !mentions(&call.input, &root.file_name().unwrap_or_default().to_string_lossy())
        {
            return false;
        }
        let targets = CallTargets::from_arguments(
            PathBase { root, home: self.path_base().home },
            &call.tool,
            cwd,
            &call.input,
        );
        targets.targets_anything() || (is_inside && targets.may_change_unnamed_paths())
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
