//! A client's filter of a stream.
//!
//! Filters narrow each other. An event that is about several files at once (what git did, an
//! operation) passes a filter for a path: it may be among them.

use std::collections::BTreeSet;

use retake_engine::JournalEvent;
use retake_engine::model::{
    AgentId, CandidateCall, Change, DialogId, ErrorCode, JournalKind, ProjectPath,
};

use retake_service::ApiError;

use super::event::{public_name, stale_files};

/// Events about many files, which do not list them.
const MULTI_FILE_EVENTS: &[JournalKind] = &[
    JournalKind::Git,
    JournalKind::Baseline,
    JournalKind::Operation,
    JournalKind::Collected,
    JournalKind::Purged,
    JournalKind::ContextTracked,
    JournalKind::ContextImported,
];

/// What a client wants; everything if nothing is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamFilter {
    /// Of this dialog, or possibly of it.
    pub dialog: Option<DialogId>,
    /// Of this agent, or possibly of it.
    pub agent: Option<AgentId>,
    /// Only events of these kinds.
    pub kinds: Option<BTreeSet<JournalKind>>,
    /// This file, or what is in this folder.
    pub path: Option<ProjectPath>,
}

impl StreamFilter {
    /// Parses names of events, separated by commas.
    pub fn parse_kinds(list: &str) -> Result<BTreeSet<JournalKind>, ApiError> {
        // Sorted, so that the error does not depend on the order.
        let names: BTreeSet<&str> = list.split(',').map(str::trim).collect();
        names.into_iter().map(parse_kind).collect()
    }

    /// Returns whether an event passes; `change` is the one that it is about.
    pub(super) fn wants(&self, event: &JournalEvent, change: Option<&Change>) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&event.kind))
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

fn parse_kind(name: &str) -> Result<JournalKind, ApiError> {
    let kinds = JournalKind::ALL.iter().copied();
    kinds.clone().find(|kind| public_name(*kind) == name).ok_or_else(|| {
        let known: Vec<_> = kinds.map(public_name).collect();
        ApiError::new(
            ErrorCode::BadKind,
            format!("there are no events '{name}'"),
            format!("the names are {}", known.join(", ")),
        )
    })
}

fn may_be_by(change: Option<&Change>, is_it: impl Fn(&CandidateCall) -> bool) -> bool {
    change.is_some_and(|change| change.candidates.iter().any(is_it))
}

fn concerns(wanted: &ProjectPath, event: &JournalEvent, change: Option<&Change>) -> bool {
    let is_in = |path: &ProjectPath| path == wanted || path.is_beneath(wanted);
    let Some(change) = change else {
        return MULTI_FILE_EVENTS.contains(&event.kind)
            || stale_files(&event.body).any(|file| is_in(&file.path));
    };
    is_in(&change.path) || change.old_path.as_ref().is_some_and(is_in)
}
