//! Who did it: the rules of attribution, strongest first.
//!
//! 1. `certain`: the new content is what an open call's arguments predict, or several calls'
//!    arguments one after the other.
//! 2. git's: its own record shows that it put the path there, and no open call runs git.
//! 3. `window`: exactly one open call could have done it, or exactly one aims at it.
//! 4. `shared`: several open calls could have; all are kept.
//! 5. A formatter's rewrite joins the change that it formats.
//! 6. `late`: an ended call could have, and there is evidence that it lives on.
//! 7. Otherwise it is the user's: leaving an edit is recoverable, taking one is betrayal.
//!
//! What is found after nothing ran for a while goes by the same rules, as there is no telling what
//! else it was: no change is `unknown`'s. Only calls are trusted less. One that began within the
//! last minutes may well be running, and its window is as good as ever. One that is open for longer
//! than agents wait for their tools may be all that is left of an agent that was killed: it owns
//! what it aims at and what was written while it could have run, its window is closed, and the
//! rest is the user's. If it does live, its end is heard and owns what it aims at.

use std::collections::HashMap;

use retake_model::{
    Actor, AgentId, ChangeId, Confidence, DialogId, Means, Millis, OperationId, ProjectPath, Side,
};
use retake_store::{Batch, StoreError};

use crate::formatter;
use crate::git_evidence::GitEvidence;
use crate::live::LiveCall;
use crate::observe::Observed;
use crate::occasion::Ending;
use crate::together::told_apart;
use crate::tool::ToolKind;

/// Who made a change, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribution {
    pub(crate) actor: Actor,
    pub(crate) confidence: Confidence,
    /// The rows of the calls that can have made it.
    pub(crate) calls: Vec<i64>,
    pub(crate) dialog: Option<DialogId>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) turn: Option<u64>,
    pub(crate) operation: Means,
    pub(crate) joins: Option<ChangeId>,
    /// The operation of Retake that did it.
    pub(crate) made_by: Option<OperationId>,
}

impl Attribution {
    /// Retake did it, in an operation of another project.
    pub(crate) fn for_another_project() -> Self {
        by_nobody(Actor::Retake, Confidence::Certain)
    }

    /// Retake did it itself, in an operation.
    pub(crate) fn own(operation: OperationId, means: Means) -> Self {
        let nobody = by_nobody(Actor::Retake, Confidence::Certain);
        Self { operation: means, made_by: Some(operation), ..nobody }
    }
}

/// File systems stamp with a clock that lags a tick behind the one that events are stamped with.
pub(crate) const CLOCK_GRAIN: Millis = 10;

/// How far a call that counts as open can be held responsible.
///
/// When unsure between agent and user, it is the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Its begin was missed, or it was closed before: it owns what it aims at, no more.
    AimOnly,
    /// It began and ended before this look: also what was written between these times.
    Between(Millis, Millis),
}

/// What is known at the moment of a look.
pub(crate) struct Scene<'a> {
    pub(crate) calls: &'a [LiveCall],
    /// The call that begins with this look: what is found happened before it,
    /// unless its arguments predict it (a begin that came late, W-40).
    pub(crate) beginning: Option<i64>,
    /// The call that ends with this look.
    pub(crate) ending: Option<Ending>,
    /// When the watcher first saw a path move, if it did.
    pub(crate) first_seen: &'a dyn Fn(&ProjectPath) -> Option<Millis>,
    /// Calls of which it is not sure that they were open just until now.
    pub(crate) limits: &'a HashMap<i64, Limit>,
    /// What git did, for whoever has to ask.
    pub(crate) git: &'a dyn Fn() -> &'a GitEvidence,
    pub(crate) state_before: &'a dyn Fn(&ProjectPath) -> Side,
    /// When something last came to or went from the folder of a path.
    pub(crate) folder_changed_ns: &'a dyn Fn(&ProjectPath) -> Option<i64>,
}

impl Scene<'_> {
    /// Decides who made an observed change; if several calls did, each of them has a step of it.
    pub(crate) fn steps(
        &self,
        batch: &Batch<'_>,
        seen: &Observed,
    ) -> Result<Vec<(Observed, Attribution)>, StoreError> {
        let by = self.attribute(batch, seen)?;
        if by.confidence == Confidence::Shared {
            let open: Vec<_> = self.calls.iter().filter(|call| call.is_open()).collect();
            if let Some(steps) = told_apart(batch, &aiming(&open, &seen.path), seen)? {
                let certain = |call: &LiveCall| by_agents(&[call], Confidence::Certain);
                return Ok(steps.into_iter().map(|(seen, call)| (seen, certain(call))).collect());
            }
        }
        Ok(vec![(seen.clone(), by)])
    }

    fn attribute(&self, batch: &Batch<'_>, seen: &Observed) -> Result<Attribution, StoreError> {
        if let Some(call) = self.predicting_call(batch, seen)? {
            return Ok(by_agents(&[call], Confidence::Certain));
        }
        let open: Vec<_> = self.calls.iter().filter(|call| self.could_have(call, seen)).collect();
        let git_could_be_theirs = open.iter().any(|call| call.may_run_git());
        if !git_could_be_theirs && (self.git)().claims(batch, seen)? {
            return Ok(by_nobody(Actor::Git, Confidence::Certain));
        }
        if let Some(attribution) = in_window(&open, &seen.path) {
            return Ok(attribution);
        }
        if let Some(attribution) = formatter::joined(batch, seen)? {
            return Ok(attribution);
        }
        let mut late = Vec::new();
        for call in self.calls {
            if call.could_change_late(batch, &seen.path)? {
                late.push(call);
            }
        }
        if !late.is_empty() {
            return Ok(by_agents(&late, Confidence::Late));
        }
        Ok(by_nobody(Actor::User, Confidence::Assumed))
    }

    fn predicting_call(
        &self,
        batch: &Batch<'_>,
        seen: &Observed,
    ) -> Result<Option<&LiveCall>, StoreError> {
        for call in self.calls.iter().filter(|call| call.is_open()) {
            if call.predicts(batch, &seen.path, &seen.after, self.state_before)? {
                return Ok(Some(call));
            }
        }
        Ok(None)
    }

    fn could_have(&self, call: &LiveCall, seen: &Observed) -> bool {
        if !call.is_open() || self.beginning == Some(call.call.row) {
            return false;
        }
        let has_ended = |end: Ending| end.row == call.call.row && self.is_after(seen, end.at);
        if self.ending.is_some_and(has_ended) {
            return false;
        }
        match self.limits.get(&call.call.row) {
            None => call.could_change(&seen.path),
            Some(_) if call.aims_at(&seen.path) => true,
            Some(Limit::AimOnly) => false,
            Some(Limit::Between(begin, end)) => {
                // Copies and archives bring old times of content along, so the time of the inode
                // counts as well. What is gone has none, but its folder knows.
                let times = match seen.stat {
                    Some(stat) => [Some(stat.mtime_ns), Some(stat.ctime_ns)],
                    None => [(self.folder_changed_ns)(&seen.path), None],
                };
                let is_within = |ns: i64| (begin - CLOCK_GRAIN..=*end).contains(&(ns / 1_000_000));
                call.could_change(&seen.path) && times.into_iter().flatten().any(is_within)
            }
        }
    }
}

impl Scene<'_> {
    /// Whether something surely happened after this time: the watcher saw nothing of it before, and
    /// the file itself says so. What the watcher saw late alone proves nothing.
    fn is_after(&self, seen: &Observed, at: Millis) -> bool {
        seen.stat.is_some_and(|stat| stat.ctime_ns / 1_000_000 > at)
            && (self.first_seen)(&seen.path).is_some_and(|first| first > at)
    }
}

fn in_window(open: &[&LiveCall], path: &ProjectPath) -> Option<Attribution> {
    if let [call] = open {
        return Some(by_agents(&[call], Confidence::Window));
    }
    match (aiming(open, path).as_slice(), open) {
        (_, []) => None,
        ([call], _) => Some(by_agents(&[call], Confidence::Window)),
        ([], all) => Some(by_agents(all, Confidence::Shared)),
        (several, _) => Some(by_agents(several, Confidence::Shared)),
    }
}

fn aiming<'a>(calls: &[&'a LiveCall], path: &ProjectPath) -> Vec<&'a LiveCall> {
    calls.iter().filter(|call| call.aims_at(path)).copied().collect()
}

fn by_agents(calls: &[&LiveCall], confidence: Confidence) -> Attribution {
    let first = calls.first().map(|live| &live.call);
    let same = |get: &dyn Fn(&LiveCall) -> String| {
        calls.windows(2).all(|pair| get(pair[0]) == get(pair[1]))
    };
    let same_dialog = same(&|live| live.call.dialog.0.clone());
    let same_agent = same_dialog && same(&|live| live.call.agent.0.clone());
    Attribution {
        actor: Actor::Agent,
        confidence,
        calls: calls.iter().map(|live| live.call.row).collect(),
        dialog: first.filter(|_| same_dialog).map(|call| call.dialog.clone()),
        agent: first.filter(|_| same_agent).map(|call| call.agent.clone()),
        turn: first.filter(|_| same_dialog).map(|call| call.turn),
        operation: calls.first().map_or(Means::Command, |live| operation(live.kind())),
        joins: None,
        made_by: None,
    }
}

fn by_nobody(actor: Actor, confidence: Confidence) -> Attribution {
    Attribution {
        actor,
        confidence,
        calls: Vec::new(),
        dialog: None,
        agent: None,
        turn: None,
        operation: Means::External,
        joins: None,
        made_by: None,
    }
}

fn operation(kind: ToolKind) -> Means {
    match kind {
        ToolKind::Write => Means::Write,
        ToolKind::Edit => Means::Patch,
        ToolKind::Delete => Means::Delete,
        ToolKind::Shell | ToolKind::Other | ToolKind::Read => Means::Command,
    }
}
