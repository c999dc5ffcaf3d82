//! What a person does in a review, and what must be so after it.

use std::collections::BTreeMap;

use retake_engine::model::{Event, EventKind, HunkKind, QueueState};
use retake_engine::{
    AppliedPlan, CascadePolicy, GoToOptions, HunkChoice, HunkLines, HunkRequest, OperationError,
    Plan, ReviewFile, ReviewHunk, ReviewScope, TakeBackOptions,
};
use retake_testkit::disk;

use super::{Walk, persons_lines};

/// What a rejection may do to the person's lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PersonsLines {
    Stay,
    MayGo,
}

impl Walk {
    pub(super) fn keep_some(&mut self) {
        self.look();
        let (scope, _) = self.scope();
        let hunks = self.some_hunks(&scope);
        self.note(format!("keeps {hunks:?}"));
        let before = self.disk();
        let request = HunkRequest { scope: scope.clone(), hunks, all: false };
        let kept = self.opened.keep_hunks(&request, self.project.tick()).unwrap();
        assert_eq!(self.disk(), before, "keep writes nothing");
        let open: Vec<_> = self.files(&scope).into_iter().flat_map(|file| file.hunks).collect();
        for id in kept.accepted {
            let unseen = open.iter().find(|hunk| !hunk.reviewed && hunk.changes.contains(&id));
            assert!(unseen.is_none(), "{id} is accepted, but not all of it was seen: {unseen:?}");
        }
    }

    pub(super) fn reject_some(&mut self) {
        self.look();
        let (scope, _) = self.scope();
        let hunks = self.some_hunks(&scope);
        self.reject(&HunkRequest { scope, hunks, all: false }, CascadePolicy::Leave);
    }

    /// With later changes that stand in the way.
    pub(super) fn reject_with_those_too(&mut self) {
        self.look();
        let (scope, _) = self.scope();
        let cascade = if self.rng.bool() { CascadePolicy::Agents } else { CascadePolicy::All };
        let hunks = self.some_hunks(&scope);
        self.reject(&HunkRequest { scope, hunks, all: false }, cascade);
    }

    /// In any order it comes to the same files.
    pub(super) fn reject_some_and_then_the_rest(&mut self) {
        self.look();
        let (scope, _) = self.scope();
        let all = HunkRequest { scope: scope.clone(), hunks: Vec::new(), all: true };
        let options = TakeBackOptions::default();
        let at_once = self.opened.plan_reject_places(&all, options, self.project.tick()).unwrap();
        let (disk, statuses) = (self.disk(), self.statuses());
        let hunks = self.some_hunks(&scope);
        self.note(format!("of {:?} first some", scope.changes));
        let mut done = Vec::new();
        done.push(self.reject(&HunkRequest { scope, hunks, all: false }, CascadePolicy::Leave));
        self.note("then the rest".to_owned());
        done.push(self.reject(&all, CascadePolicy::Leave));
        for file in at_once.writes() {
            let entry = self.opened.store().manifest_entry(&file.path).unwrap();
            let now = entry.map_or(retake_engine::model::PathState::Absent, |it| it.state.into());
            assert_eq!(now, file.then, "{} {at_once:#?}", file.path);
        }
        for _ in done.iter().filter(|applied| applied.operation.is_some()) {
            let (plan, _) = self.opened.plan_undo(options, self.project.tick()).unwrap();
            self.note("undo of it".to_owned());
            self.carry_out(Ok(plan), PersonsLines::MayGo);
        }
        assert!(disk::same_files(&self.disk(), &disk), "undo brings the bytes back");
        assert_eq!(self.statuses(), statuses, "and the statuses");
    }

    pub(super) fn queue_some(&mut self) {
        self.look();
        let (scope, _) = self.scope();
        let hunks = self.some_hunks(&scope);
        self.note(format!("queues {hunks:?}"));
        let before = self.disk();
        let request = HunkRequest { scope, hunks, all: false };
        let options = TakeBackOptions::default();
        let queued = self
            .opened
            .queue_rejection(&request, options, Some("no"), self.project.tick())
            .unwrap();
        assert_eq!(self.disk(), before, "what waits writes nothing");
        if self.rng.bool() {
            self.agent_edits();
        }
        if self.rng.bool() {
            self.user_edits();
        }
        for dialog in super::DIALOGS {
            self.record(&Event::new(*dialog, EventKind::TurnEnd { background: Vec::new() }));
        }
        let before = persons_lines(&self.disk());
        let settled = self.opened.carry_out_rejections(self.project.tick(), &|_| true).unwrap();
        self.note(format!("{settled:?}"));
        assert_eq!(settled.len(), queued.len(), "{settled:?}");
        assert!(settled.iter().all(|row| row.state != QueueState::Waiting));
        assert!(!self.opened.has_waiting_rejections().unwrap());
        let after = persons_lines(&self.disk());
        assert!(before.is_subset(&after), "{before:?} {after:?}");
        assert_eq!(self.opened.refresh(self.project.tick()).unwrap().changes, []);
        for dialog in super::DIALOGS {
            self.say(dialog);
        }
    }

    pub(super) fn rollback(&mut self) {
        let (_, selection) = self.scope();
        self.note(format!("rollback of {selection:?}"));
        let options = TakeBackOptions::default();
        let plan = self.opened.plan_rollback(&selection, options, self.project.tick());
        self.carry_out(plan, PersonsLines::Stay);
    }

    /// To one of the newest checkpoints.
    pub(super) fn restore(&mut self) {
        let checkpoints = self.opened.checkpoints(None, 10).unwrap();
        let Some(checkpoint) = self.rng.choice(&checkpoints) else { return };
        self.note(format!("restores {}", checkpoint.message));
        let options = GoToOptions { across_git: true, ..GoToOptions::default() };
        let plan = self.opened.plan_restore(checkpoint, &options, self.project.tick());
        self.carry_out(plan, PersonsLines::MayGo);
    }

    pub(super) fn undo(&mut self) {
        self.note("undo".to_owned());
        let options = TakeBackOptions::default();
        if let Ok((plan, _)) = self.opened.plan_undo(options, self.project.tick()) {
            self.carry_out(Ok(plan), PersonsLines::MayGo);
        }
    }

    pub(super) fn undo_and_redo(&mut self) {
        let options = TakeBackOptions::default();
        let Ok((plan, _)) = self.opened.plan_undo(options, self.project.tick()) else { return };
        self.note("undo and redo".to_owned());
        let undone = self.carry_out(Ok(plan), PersonsLines::MayGo);
        if undone.operation.is_some() {
            let (plan, _) = self.opened.plan_redo(options, self.project.tick()).unwrap();
            self.carry_out(Ok(plan), PersonsLines::MayGo);
        }
    }

    /// Hunks of a scope by chance, of some only lines.
    fn some_hunks(&mut self, scope: &ReviewScope) -> Vec<HunkChoice> {
        let mut chosen = Vec::new();
        for file in self.files(scope) {
            for hunk in &file.hunks {
                if self.rng.u8(0..3) > 0 {
                    chosen.push(self.choice(&file, hunk));
                }
            }
        }
        chosen
    }

    fn choice(&mut self, file: &ReviewFile, hunk: &ReviewHunk) -> HunkChoice {
        let by_lines = matches!(hunk.kind, HunkKind::Lines | HunkKind::Create);
        let mut choose = |count: usize| {
            let numbers = 1..=u32::try_from(count).unwrap();
            numbers.filter(|_| self.rng.bool()).collect()
        };
        let lines =
            HunkLines { removed: choose(hunk.removed.len()), added: choose(hunk.added.len()) };
        let is_some = !lines.removed.is_empty() || !lines.added.is_empty();
        let lines = (by_lines && is_some && self.rng.u8(0..3) == 0).then_some(lines);
        let path = self.rng.bool().then(|| file.path.clone());
        HunkChoice { id: hunk.id, path, lines, digest: Some(file.digest.clone()) }
    }

    fn reject(&mut self, request: &HunkRequest, cascade: CascadePolicy) -> AppliedPlan {
        self.note(format!("rejects {:?} {:?} {cascade:?}", request.scope.changes, request.hunks));
        let options = TakeBackOptions { cascade, ..TakeBackOptions::default() };
        let plan = self.opened.plan_reject_places(request, options, self.project.tick());
        let may_go = cascade == CascadePolicy::All;
        let lines = if may_go { PersonsLines::MayGo } else { PersonsLines::Stay };
        self.carry_out(plan, lines)
    }

    /// Carries a plan out and checks everything that must be so after it.
    fn carry_out(
        &mut self,
        plan: Result<Plan, OperationError>,
        lines: PersonsLines,
    ) -> AppliedPlan {
        let plan = plan.unwrap();
        let before = self.disk();
        let applied = self.opened.apply(&plan, self.project.tick()).unwrap();
        let after = self.disk();
        self.note(format!("  {:?}", summary(&applied.plan)));
        assert_eq!(summary(&plan), summary(&applied.plan), "what was shown is what was done");
        let written: BTreeMap<_, _> =
            plan.writes().map(|file| (file.path.to_string(), file.then)).collect();
        for name in before.keys().chain(after.keys()).filter(|name| !written.contains_key(*name)) {
            assert_eq!(before.get(name), after.get(name), "{name} is not in the plan");
        }
        assert_eq!(self.opened.refresh(self.project.tick()).unwrap().changes, []);
        if lines == PersonsLines::Stay {
            let (had, has) = (persons_lines(&before), persons_lines(&after));
            let lost: Vec<_> = had.difference(&has).collect();
            assert!(lost.is_empty(), "{lost:?} are gone: {:#?}", applied.plan);
        }
        applied
    }
}

fn summary(plan: &Plan) -> Vec<(String, &'static str, &'static str)> {
    let line = |file: &retake_engine::PlannedFile| {
        (file.path.to_string(), file.action.as_str(), file.reason.code())
    };
    plan.files.iter().map(line).collect()
}
