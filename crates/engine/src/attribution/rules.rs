//! Attributes changes to their author: the rules, strongest first.
//!
//! 1. `certain`: the new content is what an open call's arguments predict, or several calls'
//!    arguments one after the other.
//! 2. git's: its own record shows that it put the path there, and no open call runs git.
//! 3. `window`: exactly one open call could have done it, or exactly one targets it.
//! 4. `shared`: several open calls could have; all are kept.
//! 5. A formatter's rewrite joins the change that it formats.
//! 6. `late`: an ended call could have, and there is evidence that it lives on.
//! 7. Otherwise it is the user's: leaving an edit is recoverable, taking one is betrayal.
//!
//! Edit tools say what they will write. One that was denied, that failed, or whose end was not
//! reported owns just that, or a beginning of it; any other change of its file meanwhile is the
//! user's. And they set no modes: a mode change found with an edit is the user's, unless the file
//! was replaced by another one.
//!
//! Changes found after a time in which Retake did not run go by the same rules, as there is no
//! other evidence: no change is `unknown`'s. Only calls are trusted less. One that began within the
//! last minutes may well be running, and its window is as good as ever. One that is open for longer
//! than agents wait for their tools may be all that is left of an agent that was killed: it owns
//! its targets and what was written while it could have run, its window is closed, and the rest is
//! the user's. If it does live, its end is reported and owns its targets.

use std::collections::HashMap;

use retake_model::{
    Actor, AgentId, ChangeId, ChangeMethod, ChangeType, Confidence, DialogId, Millis, OperationId,
    PathState, ProjectPath,
};
use retake_store::{Batch, StoreError};

use crate::attribution::formatter;
use crate::attribution::git_evidence::GitEvidence;
use crate::attribution::interleaved::{
    InterleavedStep, split_interleaved_edits, split_mode_change,
};
use crate::attribution::observed::{EndingCall, ObservedChange};
use crate::calls::open_call::LiveCall;
use crate::calls::path_content::PathContent;
use crate::tool::ToolKind;

/// The author of a change, and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribution {
    pub(crate) actor: Actor,
    pub(crate) confidence: Confidence,
    /// The rows of the calls that can have made it.
    pub(crate) calls: Vec<i64>,
    pub(crate) dialog: Option<DialogId>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) turn: Option<u64>,
    pub(crate) method: ChangeMethod,
    pub(crate) joins: Option<ChangeId>,
    /// The operation of Retake that made it.
    pub(crate) made_by: Option<OperationId>,
}

impl Attribution {
    /// A change by Retake, in an operation of another project.
    pub(crate) fn by_neighbour_operation() -> Self {
        attribute_without_call(Actor::Retake, Confidence::Certain)
    }

    /// A change by Retake itself, in an operation.
    pub(crate) fn by_operation(operation: OperationId, method: ChangeMethod) -> Self {
        let retake = attribute_without_call(Actor::Retake, Confidence::Certain);
        Self { method, made_by: Some(operation), ..retake }
    }
}

/// A step of one file, or a move of one.
#[derive(Debug)]
pub(crate) struct AttributedStep {
    pub(crate) seen: ObservedChange,
    pub(crate) from: Option<ObservedChange>,
    pub(crate) by: Attribution,
}

impl AttributedStep {
    /// A step of a file that did not move.
    pub(crate) fn new(seen: ObservedChange, by: Attribution) -> Self {
        Self { seen, from: None, by }
    }

    /// The state before, at the old path if it moved.
    pub(crate) fn before(&self) -> PathState {
        self.from.as_ref().map_or(self.seen.before, |from| from.before)
    }

    pub(crate) fn change_type(&self) -> ChangeType {
        if self.from.is_some() {
            return ChangeType::Rename;
        }
        match (&self.seen.before, &self.seen.after) {
            (PathState::Absent, _) => ChangeType::Create,
            (_, PathState::Absent) => ChangeType::Delete,
            (PathState::Known(before), PathState::Known(after))
                if before.oid == after.oid && before.kind == after.kind =>
            {
                ChangeType::Mode
            }
            _ => ChangeType::Modify,
        }
    }
}

/// Lag of the file systems' timestamp clock behind the clock of events: one tick.
pub(crate) const CLOCK_GRANULARITY: Millis = 10;

/// Limit of the changes that may be attributed to a call that counts as open.
///
/// When unsure between agent and user, it is the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnershipLimit {
    /// Its begin was missed, or it was closed before: it owns its targets, no more.
    TargetsOnly,
    /// It was denied, it failed, or it was killed at an unknown time: it owns what its arguments
    /// predict, no more.
    PredictedOnly,
    /// It began and ended before this scan: also what was written between these times.
    Between(Millis, Millis),
}

/// Input of attribution at a scan.
pub(crate) struct AttributionContext<'a> {
    pub(crate) calls: &'a [LiveCall],
    /// The call that begins with this scan: what is found happened before it, unless its arguments
    /// predict it (a begin that came late, W-40).
    pub(crate) beginning: Option<i64>,
    /// The call that ends with this scan.
    pub(crate) ending: Option<EndingCall>,
    /// Time at which the watcher first saw a path move, if it did.
    pub(crate) first_seen: &'a dyn Fn(&ProjectPath) -> Option<Millis>,
    /// Calls that may not have been open until now.
    pub(crate) limits: &'a HashMap<i64, OwnershipLimit>,
    /// Evidence of what git did, gathered on first use.
    pub(crate) git: &'a dyn Fn() -> &'a GitEvidence,
    pub(crate) state_before: &'a dyn Fn(&ProjectPath) -> PathState,
    /// The inode at a path before, if it is stored.
    pub(crate) inode_before: &'a dyn Fn(&ProjectPath) -> Option<u64>,
    /// Time at which an entry was last added to or removed from the folder of a path.
    pub(crate) folder_changed_ns: &'a dyn Fn(&ProjectPath) -> Option<i64>,
}

impl AttributionContext<'_> {
    /// Decides who made an observed change; if several did, returns a step for each of them.
    pub(crate) fn attribute_steps(
        &self,
        batch: &Batch<'_>,
        seen: &ObservedChange,
    ) -> Result<Vec<AttributedStep>, StoreError> {
        let is_edited = self.calls.iter().any(|call| is_edit_of(call, &seen.path));
        if let Some((content, mode)) = split_mode_change(seen)
            && is_edited
            && !self.is_replaced(seen)
        {
            let mut steps = self.attribute_undivided(batch, &content)?;
            if steps.iter().all(|step| is_by_edit_tool(&step.by)) {
                let user = attribute_without_call(Actor::User, Confidence::Assumed);
                steps.push(AttributedStep::new(mode, user));
                return Ok(steps);
            }
        }
        self.attribute_undivided(batch, seen)
    }

    fn attribute_undivided(
        &self,
        batch: &Batch<'_>,
        seen: &ObservedChange,
    ) -> Result<Vec<AttributedStep>, StoreError> {
        if let Some(call) = self.predicting_call(batch, seen)? {
            let by = attribute_to_agents(&[call], Confidence::Certain);
            return Ok(vec![AttributedStep::new(seen.clone(), by)]);
        }
        let open: Vec<_> = self.calls.iter().filter(|call| call.is_open()).collect();
        if let Some(steps) =
            split_interleaved_edits(batch, &calls_targeting(&open, &seen.path), seen)?
        {
            let certain = |step: InterleavedStep<'_>| {
                let by = attribute_to_agents(&[step.call], Confidence::Certain);
                AttributedStep::new(step.seen, by)
            };
            return Ok(steps.into_iter().map(certain).collect());
        }
        Ok(vec![AttributedStep::new(seen.clone(), self.attribute(batch, seen)?)])
    }

    fn attribute(
        &self,
        batch: &Batch<'_>,
        seen: &ObservedChange,
    ) -> Result<Attribution, StoreError> {
        let open = self.candidates(batch, seen)?;
        let git_could_be_theirs = open.iter().any(|call| call.may_run_git());
        if !git_could_be_theirs && (self.git)().claims(batch, seen)? {
            return Ok(attribute_without_call(Actor::Git, Confidence::Certain));
        }
        if let Some(attribution) = attribute_to_window(&open, &seen.path) {
            return Ok(attribution);
        }
        if let Some(attribution) = formatter::attribute_formatting(batch, seen)? {
            return Ok(attribution);
        }
        let mut late = Vec::new();
        for call in self.calls {
            if call.could_change_late(batch, &seen.path)? {
                late.push(call);
            }
        }
        if !late.is_empty() {
            return Ok(attribute_to_agents(&late, Confidence::Late));
        }
        Ok(attribute_without_call(Actor::User, Confidence::Assumed))
    }

    /// The open calls that could have made a change which none of them predicts.
    fn candidates(
        &self,
        batch: &Batch<'_>,
        seen: &ObservedChange,
    ) -> Result<Vec<&LiveCall>, StoreError> {
        let (mut open, mut is_by_one) = (Vec::new(), false);
        for call in self.calls {
            if self.could_have_changed(batch, call, seen)? {
                is_by_one = is_by_one || !self.is_refuted(batch, call, seen)?;
                open.push(call);
            }
        }
        Ok(if is_by_one { open } else { Vec::new() })
    }

    fn predicting_call(
        &self,
        batch: &Batch<'_>,
        seen: &ObservedChange,
    ) -> Result<Option<&LiveCall>, StoreError> {
        for call in self.calls.iter().filter(|call| call.is_open()) {
            if call.predicts(batch, &seen.path, &seen.after, self.state_before)?
                && !self.is_chmod(seen)
            {
                return Ok(Some(call));
            }
        }
        Ok(None)
    }

    fn could_have_changed(
        &self,
        batch: &Batch<'_>,
        call: &LiveCall,
        seen: &ObservedChange,
    ) -> Result<bool, StoreError> {
        if !call.is_open() || self.beginning == Some(call.call.row) {
            return Ok(false);
        }
        let has_ended = |end: EndingCall| end.row == call.call.row && self.is_after(seen, end.at);
        if self.ending.is_some_and(has_ended)
            || (is_edit_of(call, &seen.path) && self.is_chmod(seen))
        {
            return Ok(false);
        }
        match self.limits.get(&call.call.row) {
            None if call.could_change(&seen.path) || self.is_other_name(call, seen) => Ok(true),
            None => call.is_own_scratch(batch, seen, self.state_before),
            // An empty file is a beginning of everything: that proves nothing.
            Some(OwnershipLimit::PredictedOnly) => {
                let is_empty = seen.after.known().is_none_or(|state| state.size == 0);
                Ok(!is_empty && Self::is_partially_written(batch, call, seen)?)
            }
            Some(_) if call.targets_path(&seen.path) => Ok(true),
            Some(OwnershipLimit::TargetsOnly) => Ok(false),
            Some(OwnershipLimit::Between(begin, end)) => {
                // Copies and archives keep old mtimes, so the ctime of the inode counts as well. A
                // deleted file has none, but its folder has.
                let times = match seen.stat {
                    Some(stat) => [Some(stat.mtime_ns), Some(stat.ctime_ns)],
                    None => [(self.folder_changed_ns)(&seen.path), None],
                };
                let is_within =
                    |ns: i64| (begin - CLOCK_GRANULARITY..=*end).contains(&(ns / 1_000_000));
                Ok(call.could_change(&seen.path) && times.into_iter().flatten().any(is_within))
            }
        }
    }

    /// Returns true if a call that ends names the file of this path by another name.
    fn is_other_name(&self, call: &LiveCall, seen: &ObservedChange) -> bool {
        let ends = self.ending.is_some_and(|end| end.row == call.call.row);
        ends && seen.stat.is_some_and(|stat| call.names_inode(stat.inode))
    }

    /// Returns true if an edit tool that has not ended predicts another content than is there. Then
    /// it most often waits for the person's permission, and the content is the person's work.
    fn is_refuted(
        &self,
        batch: &Batch<'_>,
        call: &LiveCall,
        seen: &ObservedChange,
    ) -> Result<bool, StoreError> {
        let row = call.call.row;
        let has_ended = match self.limits.get(&row) {
            None => self.ending.is_some_and(|end| end.row == row),
            Some(OwnershipLimit::Between(_, end)) => *end != Millis::MAX,
            Some(OwnershipLimit::TargetsOnly | OwnershipLimit::PredictedOnly) => true,
        };
        if has_ended || !call.predicts_content(&seen.path) {
            return Ok(false);
        }
        let is_known = PathContent::of(batch, &seen.before)?.known_bytes().is_some();
        Ok(is_known && !Self::is_partially_written(batch, call, seen)?)
    }

    /// Returns true if a file holds a beginning of what an edit tool predicts: it is, or was, just
    /// being written.
    fn is_partially_written(
        batch: &Batch<'_>,
        call: &LiveCall,
        seen: &ObservedChange,
    ) -> Result<bool, StoreError> {
        let before = PathContent::of(batch, &seen.before)?;
        let Some(before) = before.known_bytes() else { return Ok(false) };
        let predicted = call.predicted_content(&seen.path, before);
        Ok(match (predicted, PathContent::of(batch, &seen.after)?) {
            (Some(predicted), PathContent::Bytes(found)) => predicted.starts_with(&found),
            _ => false,
        })
    }

    /// Returns true if only the mode has changed.
    fn is_chmod(&self, seen: &ObservedChange) -> bool {
        let is_same = match (seen.before.known(), seen.after.known()) {
            (Some(before), Some(after)) => (before.kind, before.oid) == (after.kind, after.oid),
            _ => false,
        };
        is_same && !self.is_replaced(seen)
    }

    /// Returns true if another file stands at the path: its mode came with it.
    fn is_replaced(&self, seen: &ObservedChange) -> bool {
        let before = (self.inode_before)(&seen.path);
        seen.stat.zip(before).is_some_and(|(stat, before)| stat.inode != before)
    }
}

impl AttributionContext<'_> {
    /// Returns true if a change surely happened after this time: the watcher saw nothing of it
    /// before, and the file's times say so. A late report of the watcher alone proves nothing.
    fn is_after(&self, seen: &ObservedChange, at: Millis) -> bool {
        seen.stat.is_some_and(|stat| stat.ctime_ns / 1_000_000 > at)
            && (self.first_seen)(&seen.path).is_some_and(|first| first > at)
    }
}

fn is_edit_of(call: &LiveCall, path: &ProjectPath) -> bool {
    call.is_open() && call.is_edit() && call.targets_path(path)
}

fn is_by_edit_tool(by: &Attribution) -> bool {
    by.calls.len() == 1 && matches!(by.method, ChangeMethod::Write | ChangeMethod::Patch)
}

fn attribute_to_window(open: &[&LiveCall], path: &ProjectPath) -> Option<Attribution> {
    if let [call] = open {
        return Some(attribute_to_agents(&[call], Confidence::Window));
    }
    match (calls_targeting(open, path).as_slice(), open) {
        (_, []) => None,
        ([call], _) => Some(attribute_to_agents(&[call], Confidence::Window)),
        ([], all) => Some(attribute_to_agents(all, Confidence::Shared)),
        (several, _) => Some(attribute_to_agents(several, Confidence::Shared)),
    }
}

fn calls_targeting<'a>(calls: &[&'a LiveCall], path: &ProjectPath) -> Vec<&'a LiveCall> {
    calls.iter().filter(|call| call.targets_path(path)).copied().collect()
}

fn attribute_to_agents(calls: &[&LiveCall], confidence: Confidence) -> Attribution {
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
        method: calls.first().map_or(ChangeMethod::Command, |live| change_method_of(live.kind())),
        joins: None,
        made_by: None,
    }
}

fn attribute_without_call(actor: Actor, confidence: Confidence) -> Attribution {
    Attribution {
        actor,
        confidence,
        calls: Vec::new(),
        dialog: None,
        agent: None,
        turn: None,
        method: ChangeMethod::External,
        joins: None,
        made_by: None,
    }
}

fn change_method_of(kind: ToolKind) -> ChangeMethod {
    match kind {
        ToolKind::Write => ChangeMethod::Write,
        ToolKind::Edit => ChangeMethod::Patch,
        ToolKind::Delete => ChangeMethod::Delete,
        ToolKind::Shell | ToolKind::Other | ToolKind::Read => ChangeMethod::Command,
    }
}
