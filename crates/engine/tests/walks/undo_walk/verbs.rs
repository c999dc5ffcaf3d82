//! The verbs of the walk, and what must be so after each.

use std::cell::RefCell;
use std::rc::Rc;

use retake_engine::model::{Actor, Change, ChangeStatus};
use retake_engine::{
    AppliedPlan, CascadePolicy, ChangeFilter, FileAction, GoToOptions, OperationError, Plan,
    Selection, TakeBackOptions, UndoStep,
};

use retake_testkit::disk::{self, DiskFiles};

use super::{Walk, user_lines};

/// What a verb may do to the user's lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Users {
    /// All of them stay.
    Stay,
    /// It may replace them: they are in the safety checkpoint.
    MayGo,
}

impl Walk {
    pub(crate) fn checkpoint(&mut self) {
        self.note("checkpoint".to_owned());
        let before = self.disk();
        let made = self.opened.checkpoint(None, None, self.project.tick()).unwrap();
        self.remember(&before);
        self.checkpoints.push((made.id, before));
    }

    pub(crate) fn accept(&mut self) {
        let selection = self.selection();
        self.note(format!("accept {selection:?}"));
        let before = self.disk();
        let _ = self.opened.accept(&selection, self.project.tick());
        assert_eq!(self.disk(), before, "accept writes nothing");
    }

    pub(crate) fn reject(&mut self) {
        let selection = self.selection();
        self.note(format!("reject {selection:?}"));
        let options =
            TakeBackOptions { cascade: CascadePolicy::Agents, ..TakeBackOptions::default() };
        let plan = self.opened.plan_reject(&selection, options, self.project.tick());
        self.carry_out(plan, Users::Stay);
    }

    pub(crate) fn rollback(&mut self) {
        let selection = self.selection();
        self.note(format!("rollback {selection:?}"));
        let options = self.options();
        let users = if options.cascade == CascadePolicy::All { Users::MayGo } else { Users::Stay };
        let plan = self.opened.plan_rollback(&selection, options, self.project.tick());
        self.carry_out(plan, users);
    }

    pub(crate) fn undo(&mut self) {
        self.note("undo".to_owned());
        let options = TakeBackOptions::default();
        match self.opened.plan_undo(options, self.project.tick()) {
            Ok((plan, step)) => {
                let is_turn = matches!(step, UndoStep::Turn { .. });
                let users = if is_turn { Users::Stay } else { Users::MayGo };
                self.carry_out(Ok(plan), users);
            }
            Err(error) => assert!(matches!(error, OperationError::NothingTo(_)), "{error}"),
        }
    }

    /// As if nothing had happened, statuses included.
    pub(crate) fn undo_and_redo(&mut self) {
        self.look();
        let (disk, statuses) = (self.disk(), self.statuses());
        let options = TakeBackOptions::default();
        let Ok((plan, _)) = self.opened.plan_undo(options, self.project.tick()) else { return };
        self.note("undo and redo".to_owned());
        let undone = self.carry_out(Ok(plan), Users::MayGo).unwrap();
        if undone.operation.is_none() {
            return;
        }
        let (plan, operation) = self.opened.plan_redo(options, self.project.tick()).unwrap();
        assert_eq!(Some(operation.id), undone.operation.map(|operation| operation.id));
        let redone = self.carry_out(Ok(plan), Users::MayGo).unwrap();
        assert!(redone.is_whole(), "{:?}", redone.plan);
        assert!(disk::same_files(&self.disk(), &disk), "redo of undo is identity");
        assert_eq!(self.statuses(), statuses);
    }

    pub(crate) fn restore(&mut self) {
        let (id, then) = self.rng.choice(&self.checkpoints).unwrap().clone();
        let checkpoint = self.opened.find_checkpoint(&id.to_string()).unwrap();
        let (exact, across_git) = (self.rng.bool(), self.rng.bool());
        self.note(format!("restore {checkpoint:?} exact: {exact}, across git: {across_git}"));
        let options = GoToOptions { exact, across_git, ..GoToOptions::default() };
        let plan = self.opened.plan_restore(&checkpoint, &options, self.project.tick());
        let before = self.disk();
        let applied = self.carry_out(plan, Users::MayGo).unwrap();
        if exact && across_git && applied.is_whole() {
            self.check_restored(&then, &before);
        }
        if !exact {
            self.check_only_agents_files_went(&before, &applied);
        }
    }

    /// What was there then is there again.
    fn check_restored(&self, then: &DiskFiles, before: &DiskFiles) {
        let now = self.disk();
        let tracked: Vec<String> = self
            .opened
            .store()
            .manifest()
            .unwrap()
            .into_iter()
            .map(|entry| entry.path.to_string())
            .collect();
        for (name, entry) in then {
            // What rules hid at that time was never promised.
            if !tracked.contains(name) && before.get(name) == now.get(name) {
                continue;
            }
            let is_back = now.get(name).is_some_and(|now| now.same_content(entry));
            assert!(is_back, "{name} is not as it was at the checkpoint");
        }
    }

    /// A restore that is not exact deletes nothing that the user made.
    fn check_only_agents_files_went(&self, before: &DiskFiles, applied: &AppliedPlan) {
        let now = self.disk();
        for name in before.keys().filter(|name| !now.contains_key(*name)) {
            let of_path = ChangeFilter {
                path: Some(name.parse().unwrap()),
                oldest_first: true,
                ..ChangeFilter::default()
            };
            let changes = self.opened.changes(&of_path).unwrap();
            let made = |change: &&Change| {
                change.path.to_string() == *name
                    && (change.before.is_absent() || change.old_path.is_some())
            };
            let by_agent =
                |change: &Change| matches!(change.actor, Actor::Agent | Actor::Retake | Actor::Git);
            assert!(
                changes.iter().filter(made).any(by_agent),
                "{name} was made by the user: {:?}",
                applied.plan
            );
        }
    }

    pub(crate) fn approve_or_reset(&mut self) {
        let dialog = self.dialog().into();
        let at = self.project.tick();
        if self.rng.bool() {
            self.note(format!("approve {dialog}"));
            let before = self.disk();
            self.opened.approve(&dialog, None, at).unwrap();
            assert_eq!(self.disk(), before, "approve writes nothing");
            return;
        }
        let exact = self.rng.u8(0..4) == 0;
        self.note(format!("reset {dialog}, exact: {exact}"));
        let plan = self.opened.plan_reset(&dialog, exact, TakeBackOptions::default(), at);
        let users = if exact { Users::MayGo } else { Users::Stay };
        let whole = self.carry_out(plan, users).unwrap().is_whole();
        self.opened.refresh(self.project.tick()).unwrap();
        let status = self.opened.session_status(&dialog).unwrap();
        assert!(!whole || !status.has_unapproved(), "{:?}", status.changed_files);
    }

    /// Somebody saves just when a file is exchanged, once in a while into the very same file.
    pub(crate) fn rollback_while_somebody_saves(&mut self) {
        let selection = Selection::default();
        let options = TakeBackOptions::default();
        let tick = self.project.tick();
        let Ok(plan) = self.opened.plan_rollback(&selection, options, tick) else { return };
        let Some(file) = plan.writes().find(|file| file.action == FileAction::Write) else {
            return;
        };
        let path = self.project.root().join(file.path.to_string());
        let line = self.line("user");
        self.note(format!("rollback of everything, {line} saved to {:?} meanwhile", file.path));
        let label = *self.rng.choice(&["exchange", "unlink", "fsync", "create"]).unwrap();
        let mut wait = self.rng.u8(0..3);
        let saved: Rc<RefCell<Option<Vec<u8>>>> = Rc::default();
        let (hook_saved, hook_path) = (Rc::clone(&saved), path.clone());
        retake_seam::on_step(Some(Box::new(move |what| {
            if what != label || hook_saved.borrow().is_some() {
                return;
            }
            wait = wait.saturating_sub(1);
            if wait > 0 || !hook_path.is_file() || hook_path.is_symlink() {
                return;
            }
            let mut content = std::fs::read(&hook_path).unwrap();
            content.extend_from_slice(format!("{line}\n").as_bytes());
            std::fs::write(&hook_path, &content).unwrap();
            *hook_saved.borrow_mut() = Some(content);
        })));
        let applied = self.opened.apply(&plan, self.project.tick());
        retake_seam::on_step(None);
        applied.unwrap();
        self.check_no_temps();
        let Some(content) = saved.borrow_mut().take() else { return };
        let now = std::fs::read(&path).unwrap_or_default();
        assert_eq!(now, content, "what was saved meanwhile is the newest, and stays");
        self.look();
    }

    /// Carries a plan out and checks everything that must be so after any verb.
    fn carry_out(
        &mut self,
        plan: Result<Plan, OperationError>,
        users: Users,
    ) -> Option<AppliedPlan> {
        let plan = match plan {
            Ok(plan) => plan,
            Err(OperationError::Approved(_) | OperationError::Decided { .. }) => return None,
            Err(error) => panic!("{error}"),
        };
        let (before, git) = (self.disk(), disk::git_state(&self.project.root()));
        self.remember(&before);
        let applied = self.opened.apply(&plan, self.project.tick()).unwrap();
        self.note(format!("  {:?}", summary(&applied.plan)));
        let after = self.disk();
        assert_eq!(summary(&plan), summary(&applied.plan), "what was shown is what was done");
        assert_eq!(disk::git_state(&self.project.root()), git, ".git is not touched");
        Self::check_untouched(&applied.plan, &before, &after);
        self.check_no_temps();
        let seen = self.opened.refresh(self.project.tick()).unwrap().changes;
        assert_eq!(seen, [], "the record is as the disk");
        self.remember(&after);
        if users == Users::Stay {
            let (had, has) = (user_lines(&before), user_lines(&after));
            let lost: Vec<_> = had.keys().filter(|line| !has.contains_key(*line)).collect();
            assert!(lost.is_empty(), "{lost:?} are gone: {:?}", applied.plan);
        }
        Some(applied)
    }

    fn check_untouched(plan: &Plan, before: &DiskFiles, after: &DiskFiles) {
        let written: Vec<String> = plan.writes().map(|file| file.path.to_string()).collect();
        for name in before.keys().chain(after.keys()).filter(|name| !written.contains(name)) {
            assert_eq!(before.get(name), after.get(name), "{name} is not in the plan");
        }
        for file in plan.writes() {
            let name = file.path.to_string();
            assert_eq!(file.then.is_absent(), !after.contains_key(&name), "{file:?}");
        }
    }

    fn check_no_temps(&self) {
        let temps: Vec<_> =
            self.disk().into_keys().filter(|name| name.contains(".retake-")).collect();
        assert!(temps.is_empty(), "{temps:?}");
    }

    fn statuses(&self) -> Vec<(u64, ChangeStatus)> {
        let filter = ChangeFilter { actors: vec![Actor::Agent], ..ChangeFilter::default() };
        let changes = self.opened.changes(&filter).unwrap();
        changes.into_iter().map(|change| (change.id.0, change.status)).collect()
    }

    fn selection(&mut self) -> Selection {
        let filter = ChangeFilter { actors: vec![Actor::Agent], ..ChangeFilter::default() };
        let changes = self.opened.changes(&filter).unwrap();
        let mut selection = Selection::default();
        let Some(change) = self.rng.choice(&changes) else { return selection };
        match self.rng.u8(0..6) {
            0 | 1 => selection.changes = vec![change.id],
            2 => selection.path = Some(change.path.clone()),
            3 => selection.dialog.clone_from(&change.dialog),
            4 => {
                selection.dialog.clone_from(&change.dialog);
                selection.message = change.turn.filter(|_| change.dialog.is_some());
            }
            _ => selection.after = Some(change.at),
        }
        selection
    }

    fn options(&mut self) -> TakeBackOptions {
        let cascade =
            if self.rng.u8(0..4) == 0 { CascadePolicy::All } else { CascadePolicy::Leave };
        TakeBackOptions { cascade, markers: false, across_git: self.rng.bool() }
    }
}

fn summary(plan: &Plan) -> Vec<(String, &'static str, &'static str)> {
    let line = |file: &retake_engine::PlannedFile| {
        (file.path.to_string(), file.action.as_str(), file.reason.code())
    };
    plan.files.iter().map(line).collect()
}
