//! The words for what a plan does to a file, the same for every user interface.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use retake_engine::model::{Actor, Change, DialogId, OperationKind, ProjectPath};
use retake_engine::{ChangeFilter, FileAction, Plan, PlanReason, PlannedFile, Project, StoreError};

use crate::describe::DialogNames;

/// Whether a plan is still to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanTense {
    /// It would do something.
    Planned,
    /// It was applied.
    Done,
}

/// Names what is done to a file: `remove`, `bring back`, `restore`, `merge`, `leave`.
pub fn action_label(file: &PlannedFile, tense: PlanTense) -> &'static str {
    let is_merge = matches!(file.reason, PlanReason::Merged | PlanReason::Markers(_));
    let (planned, done) = match file.action {
        FileAction::Leave if file.reason.is_as_wanted() => ("keep", "kept"),
        FileAction::Leave => ("leave", "left"),
        FileAction::Create => ("bring back", "brought back"),
        FileAction::Write if is_merge => ("merge", "merged"),
        FileAction::Write => ("restore", "restored"),
        FileAction::Delete => ("remove", "removed"),
        FileAction::Mode => ("chmod", "chmod"),
    };
    if tense == PlanTense::Done { done } else { planned }
}

/// Tells why a plan does something to its files, or what stays.
#[derive(Debug)]
pub struct PlanDetails<'a> {
    project: &'a Project,
    plan: &'a Plan,
    /// Where files are moved to, by where they are before.
    targets: HashMap<&'a ProjectPath, &'a ProjectPath>,
    /// Where files are before, by where they are moved to.
    origins: HashMap<&'a ProjectPath, &'a ProjectPath>,
}

impl<'a> PlanDetails<'a> {
    /// Details of a plan of this project.
    pub fn new(project: &'a Project, plan: &'a Plan) -> Self {
        let moves = plan.moves();
        let targets = moves.iter().map(|moved| (moved.from, moved.to)).collect();
        let origins = moves.iter().map(|moved| (moved.to, moved.from)).collect();
        Self { project, plan, targets, origins }
    }

    /// Returns where the file is before, if the plan moves it.
    pub fn origin(&self, file: &PlannedFile) -> Option<&'a ProjectPath> {
        self.origins.get(&file.path).copied()
    }

    /// Describes what [`action_label`] does not say already of a file, often nothing.
    pub fn detail(&self, file: &PlannedFile) -> Result<String, StoreError> {
        let is_redo = self.plan.kind == OperationKind::Redo;
        if let Some(target) = self.targets.get(&file.path) {
            return Ok(format!("moves to {target}"));
        }
        Ok(match (&file.reason, file.action) {
            (PlanReason::Exact | PlanReason::Resumed | PlanReason::Merged, FileAction::Delete) => {
                if is_redo { "(as before the undo)" } else { "(did not exist)" }.to_owned()
            }
            (PlanReason::Restored, FileAction::Delete) => "(not in the checkpoint)".to_owned(),
            (PlanReason::Exact | PlanReason::Restored | PlanReason::Resumed, FileAction::Mode) => {
                if is_redo { "permissions as before the undo" } else { "permissions as before" }
                    .to_owned()
            }
            (PlanReason::Exact | PlanReason::Restored | PlanReason::Resumed, _) => String::new(),
            (PlanReason::Merged, _) if self.takes_later_changes(file) => String::new(),
            (PlanReason::Merged, _) if self.has_later_edits_of_person(file)? => {
                "your later edits stay".to_owned()
            }
            (PlanReason::Merged, _) if self.plan.takes_places_of(file) => {
                "its other hunks stay".to_owned()
            }
            (PlanReason::Merged, _) => "later edits stay".to_owned(),
            (reason, _) => reason.to_string(),
        })
    }

    /// Returns true if later changes of the file are taken back, too.
    fn takes_later_changes(&self, file: &PlannedFile) -> bool {
        file.changes.iter().any(|id| self.plan.cascaded.contains(id))
    }

    /// Returns true if the person edited the file after the changes that are taken back.
    fn has_later_edits_of_person(&self, file: &PlannedFile) -> Result<bool, StoreError> {
        // Of a file that is moved, they were made where it is now.
        for path in [Some(&file.path), self.origin(file)].into_iter().flatten() {
            let by_person = ChangeFilter {
                path: Some(path.clone()),
                after: file.changes.iter().map(|id| id.0).max(),
                actors: vec![Actor::User, Actor::Unknown],
                ..ChangeFilter::default()
            };
            if self.project.changes(&by_person)?.iter().any(Change::is_effective) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Describes what goes along with a restore: the answers whose work it undoes, a sentence for each
/// dialog.
pub fn undone_answers(plan: &Plan, names: &DialogNames) -> Vec<String> {
    let sentences = |turns: &BTreeMap<DialogId, BTreeSet<u64>>, how: &str| -> Vec<String> {
        let sentence = |(dialog, turns): (&DialogId, &BTreeSet<u64>)| {
            let numbers: Vec<_> = turns.iter().map(ToString::to_string).collect();
            let word = if numbers.len() == 1 { "answer to message" } else { "answers to messages" };
            format!("{how}: the {word} {} of {}", numbers.join(", "), names.dialog(dialog))
        };
        turns.iter().map(sentence).collect()
    };
    let mut said = sentences(&plan.undone_turns, "Undone with it");
    said.extend(sentences(&plan.partly_undone_turns, "Undone in part with it"));
    said
}

/// What a person can do about files in which later changes touch the same lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictChoice {
    /// The files stay as they are.
    Keep,
    /// Both versions are written, between markers.
    Both,
    /// The later changes are taken back, too.
    TakeLater,
}

impl ConflictChoice {
    /// The choice in words, for so many files and later changes. First letters differ.
    pub fn label(self, files: usize, later: usize) -> &'static str {
        match (self, files, later) {
            (Self::Keep, 1, _) => "keep the file as it is",
            (Self::Keep, ..) => "keep the files as they are",
            (Self::Both, ..) => "both versions with markers",
            (Self::TakeLater, _, 1) => "take the later edit back too",
            (Self::TakeLater, ..) => "take the later edits back too",
        }
    }
}

/// Tells whose later changes touch the same lines: `your later edit touches the same lines`.
pub fn describe_conflict(later: &[Change], names: &DialogNames) -> String {
    let makers: BTreeSet<_> = later.iter().map(|change| names.maker(change)).collect();
    let makers: Vec<_> = makers.iter().map(String::as_str).collect();
    let whose = match (makers.as_slice(), later.len()) {
        ([], _) => "later edits touch".to_owned(),
        (["you"], 1) => "your later edit touches".to_owned(),
        (["you"], _) => "your later edits touch".to_owned(),
        ([one], 1) => format!("a later edit by {one} touches"),
        (several, _) => format!("later edits by {} touch", several.join(" and ")),
    };
    format!("{whose} the same lines")
}
