//! A client's filter of a stream.
//!
//! Filters narrow each other. An event that is about several files at once (what git did, an
//! operation), or about a file that it does not name (a comment), passes a filter for a path: it may
//! be among them.

use std::collections::BTreeSet;

use retake_engine::JournalEvent;
use retake_engine::model::{
    AgentId, CandidateCall, Change, DialogId, ErrorCode, JournalKind, ProjectPath,
};

use retake_service::ApiError;

use super::event::{path_in_body, public_name, stale_files};
use crate::projects::{EphemeralEvent, PROGRESS_HINT};

/// The name of the hint that a file was saved and is not on record yet.
pub(super) const FILE_TOUCHED: &str = "file_touched";

/// Events about many files, or about one that they do not name.
const MULTI_FILE_EVENTS: &[JournalKind] = &[
    JournalKind::Git,
    JournalKind::Baseline,
    JournalKind::Operation,
    JournalKind::Collected,
    JournalKind::Purged,
    JournalKind::ContextTracked,
    JournalKind::ContextImported,
    JournalKind::ReviewSeen,
    JournalKind::RejectionQueue,
    JournalKind::ReviewComment,
];

/// What a client wants; everything if nothing is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamFilter {
    /// Of this dialog, or possibly of it.
    pub dialog: Option<DialogId>,
    /// Of this agent, or possibly of it.
    pub agent: Option<AgentId>,
    /// Only events of these kinds.
    pub kinds: Option<BTreeSet<StreamKind>>,
    /// Also all hints, which are not on record.
    pub hints: bool,
    /// This file, or what is in this folder.
    pub path: Option<ProjectPath>,
}

/// A kind of events that a client can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamKind {
    /// Events of the journal.
    Recorded(JournalKind),
    /// Hints of this name.
    Hint(&'static str),
}

impl StreamKind {
    /// The kinds that there are.
    fn all() -> impl Iterator<Item = Self> + Clone {
        let recorded = JournalKind::ALL.iter().copied().map(Self::Recorded);
        recorded.chain([FILE_TOUCHED, PROGRESS_HINT].map(Self::Hint))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Recorded(kind) => public_name(kind),
            Self::Hint(name) => name,
        }
    }
}

impl StreamFilter {
    /// Parses names of events, separated by commas.
    pub fn parse_kinds(list: &str) -> Result<BTreeSet<StreamKind>, ApiError> {
        // Sorted, so that the error does not depend on the order.
        let names: BTreeSet<&str> = list.split(',').map(str::trim).collect();
        names.into_iter().map(parse_kind).collect()
    }

    /// Returns whether an event passes; `change` is the one that it is about.
    pub(super) fn wants(&self, event: &JournalEvent, change: Option<&Change>) -> bool {
        let kind = StreamKind::Recorded(event.kind);
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
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

    /// Returns true if the hint that a file was saved passes.
    pub(super) fn wants_touched(&self, path: &ProjectPath) -> bool {
        self.wants_saves() && self.path.as_ref().is_none_or(|wanted| is_at(wanted, path))
    }

    /// Returns true if any such hint passes: without being asked for, but not in a list of other
    /// kinds. It is of no dialog and no agent.
    pub(super) fn wants_saves(&self) -> bool {
        let kind = StreamKind::Hint(FILE_TOUCHED);
        (self.hints || self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind)))
            && self.dialog.is_none()
            && self.agent.is_none()
    }

    /// Returns whether another hint passes: those that were asked for. One that concerns no dialog passes
    /// a filter by dialog.
    pub(super) fn wants_hint(&self, hint: &EphemeralEvent) -> bool {
        let kind = StreamKind::Hint(hint.name);
        (self.hints || self.kinds.as_ref().is_some_and(|kinds| kinds.contains(&kind)))
            && self.agent.is_none()
            && match (&self.dialog, &hint.dialog) {
                (Some(wanted), Some(dialog)) => wanted == dialog,
                _ => true,
            }
    }
}

fn parse_kind(name: &str) -> Result<StreamKind, ApiError> {
    let mut kinds = StreamKind::all();
    kinds.clone().find(|kind| kind.name() == name).ok_or_else(|| {
        let known: Vec<_> = kinds.by_ref().map(StreamKind::name).collect();
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
    let is_in = |path: &ProjectPath| is_at(wanted, path);
    let Some(change) = change else {
        if event.kind == JournalKind::HunksReviewed {
            return path_in_body(&event.body).is_some_and(|path| is_in(&path));
        }
        return MULTI_FILE_EVENTS.contains(&event.kind)
            || stale_files(&event.body).any(|file| is_in(&file.path));
    };
    is_in(&change.path) || change.old_path.as_ref().is_some_and(is_in)
}

/// Returns true if a path is the wanted one, or beneath it.
fn is_at(wanted: &ProjectPath, path: &ProjectPath) -> bool {
    path == wanted || path.is_beneath(wanted)
}
