//! The verbs of the walk, and what must be so after each.

use std::collections::BTreeSet;

use retake_engine::model::{Actor, ChangeStatus};
use retake_engine::{
    AppliedPlan, ChangeFilter, ListedStep, OperationError, Plan, Selection, StepPage, StepState,
    TakeBackOptions, UndoStep,
};
use retake_testkit::disk::{self, DiskFiles};

use super::Walk;

impl Walk {
    /// Takes back the step that is said to be next.
    pub(crate) fn undo(&mut self) -> Option<(AppliedPlan, UndoStep)> {
        let options = TakeBackOptions::default();
        self.look();
        let said = self.opened.next_undo(options).unwrap();
        let listed = self.check_steps();
        match self.opened.plan_undo(options, self.project.tick()) {
            Ok((plan, step)) => {
                self.note(format!("undo of {}, past {:?}", step.describe(), plan.passed));
                assert_eq!(said.map(|said| said.describe()), Some(step.describe()));
                assert_eq!(listed, Some(step.describe()), "the list says the same");
                Some((self.carry_out(&plan), step))
            }
            Err(OperationError::NothingTo(_)) => {
                self.note("nothing to undo".to_owned());
                assert!(said.is_none(), "{said:?}");
                assert_eq!(listed, None, "the list says the same");
                self.check_nothing_is_silently_left();
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The list of steps is the same in pages, and names the next redo; returns the next undo.
    fn check_steps(&mut self) -> Option<String> {
        let all = self.opened.steps(StepPage { before: None, limit: 1000 }).unwrap();
        let (mut before, mut paged) = (None, Vec::new());
        loop {
            let page = self.opened.steps(StepPage { before, limit: 3 }).unwrap();
            paged.extend(page.undo.iter().chain(&page.redo).map(|step| (step.place, step.state)));
            before = page.next_page;
            if before.is_none() {
                break;
            }
        }
        let mut whole: Vec<_> =
            all.undo.iter().chain(&all.redo).map(|step| (step.place, step.state)).collect();
        whole.sort_by_key(|(place, _)| *place);
        paged.sort_by_key(|(place, _)| *place);
        assert_eq!(paged, whole);
        let next = |steps: &[ListedStep]| {
            let mut next = steps.iter().filter(|step| step.state == StepState::Next);
            let first = next.next().map(|step| (step.step.describe(), step.step.operation()));
            assert!(next.next().is_none(), "there is one");
            first
        };
        let redo = self.opened.plan_redo(TakeBackOptions::default(), self.project.tick());
        let redo = redo.ok().map(|(_, undone)| undone.id);
        assert_eq!(next(&all.redo).and_then(|(_, id)| id), redo);
        next(&all.undo).map(|(title, _)| title)
    }

    /// `redo` is announced as the way back, and is.
    pub(crate) fn undo_and_redo(&mut self) {
        self.look();
        let (disk, statuses) = (self.disk(), self.statuses());
        let Some((AppliedPlan { operation: Some(operation), .. }, _)) = self.undo() else { return };
        let options = TakeBackOptions::default();
        let (plan, undone) = self.opened.plan_redo(options, self.project.tick()).unwrap();
        self.note(plan.title.clone());
        assert_eq!(undone.id, operation.id, "redo brings back what was undone last");
        let redone = self.carry_out(&plan);
        assert!(redone.is_whole(), "{:?}", redone.plan);
        assert!(disk::same_files(&self.disk(), &disk), "redo of undo is identity");
        assert_eq!(self.statuses(), statuses);
    }

    /// `undo` is announced as the way back after a redo, in part or not, and is.
    pub(crate) fn redo_and_undo(&mut self) {
        self.look();
        let (disk, statuses) = (self.disk(), self.statuses());
        let options = TakeBackOptions::default();
        let plan = match self.opened.plan_redo(options, self.project.tick()) {
            Ok((plan, _)) => plan,
            Err(OperationError::NothingTo(_)) => return,
            Err(error) => panic!("{error}"),
        };
        self.note(plan.title.clone());
        let AppliedPlan { operation: Some(redo), .. } = self.carry_out(&plan) else { return };
        if self.rng.bool() {
            return;
        }
        let next = self.opened.next_undo(options).unwrap();
        let is_redo = |step: &UndoStep| matches!(step, UndoStep::Redone { redo: next, .. } if next.id == redo.id);
        assert!(next.as_ref().is_some_and(is_redo), "{next:?} is next, and not {redo:?}");
        let (undone, _) = self.undo().unwrap();
        assert!(undone.is_whole(), "{:?}", undone.plan);
        assert!(disk::same_files(&self.disk(), &disk), "undo of redo is identity");
        assert_eq!(self.statuses(), statuses);
    }

    pub(crate) fn rollback(&mut self) {
        let changes = self.opened.changes(&agents()).unwrap();
        let Some(change) = self.rng.choice(&changes) else { return };
        let selection = Selection { changes: vec![change.id], ..Selection::default() };
        self.note(format!("rollback of {}", change.id));
        let options = TakeBackOptions::default();
        let plan = self.opened.plan_rollback(&selection, options, self.project.tick()).unwrap();
        let applied = self.carry_out(&plan);
        let Some(operation) = applied.operation else { return };
        // It said that undo takes it back.
        let next = self.opened.next_undo(options).unwrap();
        let is_it =
            |step: &UndoStep| matches!(step, UndoStep::Operation(one) if one.id == operation.id);
        assert!(next.as_ref().is_some_and(is_it), "{next:?} is next, and not {operation:?}");
    }

    /// Somebody has looked at a change: it is undone and redone with that status.
    pub(crate) fn accept(&mut self) {
        let changes = self.opened.changes(&agents()).unwrap();
        let Some(change) = self.rng.choice(&changes) else { return };
        self.note(format!("accept {}", change.id));
        let selection = Selection { changes: vec![change.id], ..Selection::default() };
        let _ = self.opened.accept(&selection, self.project.tick());
    }

    /// However much there is, undo comes to an end.
    pub(crate) fn undo_everything(&mut self) {
        self.look();
        let changes = self.opened.changes(&ChangeFilter::default()).unwrap().len();
        let most = 4 * (changes + self.opened.operations(usize::MAX).unwrap().len()) + 10;
        for _ in 0..most {
            if self.undo().is_none() {
                return;
            }
        }
        panic!("undo is stuck");
    }

    /// What is in effect of agents' turns and not undone is named.
    fn check_nothing_is_silently_left(&self) {
        let told = self.opened.nothing_to_undo().unwrap();
        let named: BTreeSet<_> = told.taken_back_by_git.iter().chain(&told.left).collect();
        for change in self.opened.changes(&agents()).unwrap() {
            let (Some(dialog), Some(turn)) = (&change.dialog, change.turn) else { continue };
            let name = self.opened.describe_turn(dialog, turn).unwrap();
            // Only the newest are told.
            let is_told = named.contains(&name) || told.left.len() >= 10;
            assert!(!change.is_effective() || is_told, "{name} is left, and only {told:?} is told");
        }
    }

    /// Carries a plan out and checks everything that must be so after any verb.
    fn carry_out(&mut self, plan: &Plan) -> AppliedPlan {
        let root = self.project.root();
        let (before, git) = (self.disk(), disk::git_state(&root));
        let applied = self.opened.apply(plan, self.project.tick()).unwrap();
        self.note(format!("  {:?}", summary(&applied.plan)));
        assert_eq!(summary(plan), summary(&applied.plan), "what was shown is what was done");
        let after = self.disk();
        assert_eq!(disk::git_state(&root), git, ".git is not touched");
        let written: BTreeSet<_> = plan.writes().map(|file| file.path.to_string()).collect();
        for name in before.keys().chain(after.keys()).filter(|name| !written.contains(*name)) {
            assert_eq!(before.get(name), after.get(name), "{name} is not in the plan");
        }
        let seen = self.opened.refresh(self.project.tick()).unwrap().changes;
        assert_eq!(seen, [], "the record is as the disk");
        let (had, has) = (lines_of_the_person(&before), lines_of_the_person(&after));
        let lost: Vec<_> = had.difference(&has).collect();
        assert!(lost.is_empty(), "{lost:?} are gone: {:?}", applied.plan);
        applied
    }

    fn disk(&self) -> DiskFiles {
        disk::read_files(&self.project.root())
    }

    fn statuses(&self) -> Vec<(u64, ChangeStatus)> {
        let changes = self.opened.changes(&agents()).unwrap();
        changes.into_iter().map(|change| (change.id.0, change.status)).collect()
    }
}

fn agents() -> ChangeFilter {
    ChangeFilter { actors: vec![Actor::Agent], ..ChangeFilter::default() }
}

/// The person's lines that are in any file, each with its file.
fn lines_of_the_person(disk: &DiskFiles) -> BTreeSet<(String, String)> {
    let mut lines = BTreeSet::new();
    for (name, entry) in disk {
        let text = String::from_utf8_lossy(&entry.content);
        let theirs = text.lines().filter(|line| line.starts_with("user line"));
        lines.extend(theirs.map(|line| (name.clone(), line.to_owned())));
    }
    lines
}

fn summary(plan: &Plan) -> Vec<(String, &'static str, &'static str)> {
    let line = |file: &retake_engine::PlannedFile| {
        (file.path.to_string(), file.action.as_str(), file.reason.code())
    };
    plan.files.iter().map(line).collect()
}
