//! A client's filter of a stream.
//!
//! Filters narrow each other. An event that is about several files at once (what git did, an
//! operation) passes a filter for a path: it may be among them.

use std::collections::BTreeSet;

use retake_engine::JournalEvent;
use retake_engine::model::{AgentId, CandidateCall, Change, DialogId, ProjectPath};
use retake_service::ApiError;

use super::event::{EVENT_NAMES, name_of, stale_files};

/// Events about many files, which do not list them.
const MULTI_FILE_EVENTS: &[&str] =
    &["git", "baseline", "operation", "collected", "purged", "context_tracked", "context_imported"];

/// What a client wants; everything if nothing is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamFilter {
    /// Of this dialog, or possibly of it.
    pub dialog: Option<DialogId>,
    /// Of this agent, or possibly of it.
    pub agent: Option<AgentId>,
    /// Only events with these names.
    pub names: Option<BTreeSet<String>>,
    /// This file, or what is in this folder.
    pub path: Option<ProjectPath>,
}

impl StreamFilter {
    /// Names of events, separated by commas.
    pub fn parse_names(list: &str) -> Result<BTreeSet<String>, ApiError> {
        let names: BTreeSet<String> = list.split(',').map(|name| name.trim().to_owned()).collect();
        match names.iter().find(|name| !EVENT_NAMES.contains(&name.as_str())) {
            None => Ok(names),
            Some(unknown) => Err(ApiError::new(
                "bad_kind",
                format!("there are no events '{unknown}'"),
                format!("the names are {}", EVENT_NAMES.join(", ")),
            )),
        }
    }

    /// Returns whether an event passes; `change` is the one that it is about.
    pub(super) fn wants(&self, event: &JournalEvent, change: Option<&Change>) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(name_of(&event.kind)))
            && self.dialog.as_ref().is_none_or(|dialog| {
                event.dialog.as_ref() == Some(dialog)
                    || may_be_by(change, |candidate| candidate.dialog == *dialog)
            })
            && self.agent.as_ref().is_none_or(|agent| {
                event.agent.as_ref() == Some(agent)
                    || may_be_by(change, |candidate| candidate.agent == *agent)
            })
            && self.path.as_ref().is_none_or(|path| concerns(path, event, change))
    }
}

fn may_be_by(change: Option<&Change>, is_it: impl Fn(&CandidateCall) -> bool) -> bool {
    change.is_some_and(|change| change.candidates.iter().any(is_it))
}

fn concerns(wanted: &ProjectPath, event: &JournalEvent, change: Option<&Change>) -> bool {
    let is_in = |path: &ProjectPath| path == wanted || path.is_beneath(wanted);
    let Some(change) = change else {
        return MULTI_FILE_EVENTS.contains(&event.kind.as_str())
            || stale_files(&event.body).any(|file| is_in(&file.path));
    };
    is_in(&change.path) || change.old_path.as_ref().is_some_and(is_in)
}
