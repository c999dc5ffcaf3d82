//! Writes the files of a journalled operation.
//!
//! Each step is a compare-and-swap: the displaced file must be the expected one,
//! else it is put back. The steps of a part are done together or not at all.

use std::collections::{BTreeMap, HashMap};
use std::io;

use retake_model::{FileState, ObjectId, PathState, ProjectPath};
use retake_store::{OperationStep, Store, StoreError};
use retake_workspace::{StagedFile, Workspace, WriteError, WriteFault};

use crate::apply::cleanup::{CleanupWorker, PartCleanup, is_expected};
use crate::apply::control::{OperationControl, OperationPhase};
use crate::apply::links::paths_needing_own_file;
use crate::apply::temp_files::{discard_temp, finish_exchange, state_of, store_file_content};
use crate::plan::nesting::PathNesting;
use crate::plan::{FileAction, PlanReason};
use crate::project::Project;

/// Minimum number of parts for which a second thread is worth its cost.
const MIN_PARTS_FOR_THREAD: usize = 32;

/// The final state of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepFate {
    /// The path has the planned state.
    Done,
    /// The path is unchanged.
    Left(PlanReason),
}

impl Project {
    /// Writes the files. A step that fails is left unchanged, and so is the rest of its part. If it
    /// is cancelled, no file is written and the temporary files are removed.
    pub(super) fn run_steps(
        &self,
        steps: &[OperationStep],
        control: &OperationControl,
    ) -> Vec<StepOutcome> {
        let mut run = StepRunner {
            workspace: self.workspace(),
            store: self.store(),
            steps,
            actions: actions(self.workspace(), steps),
            fates: vec![None; steps.len()],
            kept: vec![None; steps.len()],
            placed: Vec::new(),
            displaced: vec![false; steps.len()],
            untidy: vec![false; steps.len()],
            failed: HashMap::new(),
            folders: Vec::new(),
        };
        if let Err(reason) = run.stage(control) {
            (0..steps.len()).for_each(|at| run.fail(at, &reason));
        }
        for (number, at) in run.placing_order().into_iter().enumerate() {
            control.report(OperationPhase::Writing, number as u64, steps.len() as u64);
            if run.fates[at].is_none() && !run.has_failed(at) {
                run.place(at);
            }
        }
        run.clean_up_parts();
        let is_synced = run.sync();
        let outcome = |(at, fate): (usize, Option<StepFate>)| StepOutcome {
            fate: match (fate, run.failed.get(&steps[at].part)) {
                _ if run.displaced[at] => {
                    StepFate::Left(PlanReason::Displaced(steps[at].temp.to_string()))
                }
                (Some(fate), _) => fate,
                (None, Some(reason)) => StepFate::Left(reason.clone()),
                (None, None) => StepFate::Left(PlanReason::MovedOn),
            },
            kept: run.kept[at],
            // A displaced file that was left on purpose must not be removed later.
            untidy: run.untidy[at] && !run.displaced.contains(&true),
            unsynced: !is_synced && run.fates[at] == Some(StepFate::Done),
        };
        run.fates.iter().cloned().enumerate().map(outcome).collect()
    }
}

/// The outcome of a step. `kept` is a version that another program saved in between and that
/// could not be put back: its content is in the store.
#[derive(Clone, Debug)]
pub(crate) struct StepOutcome {
    pub(crate) fate: StepFate,
    pub(crate) kept: Option<ObjectId>,
    /// Its temporary file could not be removed.
    pub(crate) untidy: bool,
    /// It is done, but the sync failed: it may be lost on power loss.
    pub(crate) unsynced: bool,
}

struct StepRunner<'p> {
    workspace: &'p Workspace,
    store: &'p Store,
    steps: &'p [OperationStep],
    /// The action of each step.
    actions: Vec<FileAction>,
    /// `None` until the step is decided; `Done` may still be taken back.
    fates: Vec<Option<StepFate>>,
    kept: Vec<Option<ObjectId>>,
    /// The steps that were placed, in that order.
    placed: Vec<usize>,
    /// The displaced file could not be put back: it stays at its temporary path.
    displaced: Vec<bool>,
    untidy: Vec<bool>,
    /// The parts of which a step failed, with the first reason.
    failed: HashMap<u64, PlanReason>,
    /// Folders that were created or removed: their names are synced like the files'.
    folders: Vec<ProjectPath>,
}

impl StepRunner<'_> {
    /// Writes all temporary files and syncs them together, up to the point of no return. An error
    /// concerns all steps.
    fn stage(&mut self, control: &OperationControl) -> Result<(), PlanReason> {
        let mut staged: Vec<StagedFile> = Vec::new();
        let snapshot = self.store.snapshot();
        for (at, step) in self.steps.iter().enumerate() {
            if control.is_cancelled() {
                return Err(PlanReason::Cancelled);
            }
            control.report(OperationPhase::Staging, at as u64, self.steps.len() as u64);
            let PathState::Known(then) = &step.then else { continue };
            if self.actions[at] == FileAction::Mode {
                continue;
            }
            let mut fill = |out: &mut dyn io::Write| {
                self.store.read_into(&then.oid, out).map(drop).map_err(io::Error::other)
            };
            match self.workspace.stage(&step.temp, then.kind, then.mode, &mut fill) {
                Ok(one) => staged.push(one),
                Err(error) if is_full(&error) => return Err(write_error_reason(&error)),
                Err(error) => self.fail(at, &write_error_reason(&error)),
            }
        }
        drop(snapshot);
        self.workspace.sync_staged(&staged).map_err(|error| write_error_reason(&error))?;
        self.check_staged();
        if control.begin_writing() { Ok(()) } else { Err(PlanReason::Cancelled) }
    }

    /// Fails steps whose temporary file is not byte for byte the planned content.
    fn check_staged(&mut self) {
        for (at, step) in self.steps.iter().enumerate() {
            let is_staged = matches!(self.actions[at], FileAction::Create | FileAction::Write);
            if is_staged
                && !self.has_failed(at)
                && self.state(&step.temp).map(PathState::Known) != Some(step.then)
            {
                self.fail(
                    at,
                    &PlanReason::NotWritable("it was not written as it should".to_owned()),
                );
            }
        }
    }

    /// Returns the order of steps: those that make room first, plain deletions last.
    fn placing_order(&self) -> Vec<usize> {
        let nesting = PathNesting::of(self.steps.iter().map(|step| &step.path));
        let makes_room = |step: &OperationStep| step.then.is_absent() && nesting.has(&step.path);
        let rank = |at: &usize| match &self.steps[*at] {
            step if makes_room(step) => 0,
            step if !step.then.is_absent() => 1,
            _ => 2,
        };
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_by_key(rank);
        order
    }

    fn place(&mut self, at: usize) {
        let step = &self.steps[at];
        let placed = match self.actions[at] {
            FileAction::Create => {
                let made = self.workspace.place_new(&step.temp, &step.path);
                made.map(|made| self.folders.extend(made))
            }
            FileAction::Write => self.workspace.exchange(&step.temp, &step.path),
            FileAction::Delete => {
                let moved = self.workspace.move_aside(&step.path, &step.temp);
                // An emptied folder is removed at once, so that a file can take its place.
                moved.map(|()| self.folders.extend(self.workspace.remove_emptied(&step.path)))
            }
            FileAction::Mode => self.set_mode(step, &step.now, &step.then),
            FileAction::Leave => Ok(()),
        };
        if placed.is_ok() {
            self.placed.push(at);
        }
        match placed {
            Ok(()) if is_expected(self.workspace, step, self.actions[at]) => {
                self.fates[at] = Some(StepFate::Done);
            }
            Ok(()) => self.fail(at, &PlanReason::MovedOn),
            Err(error) => {
                self.finish_exchange(at);
                self.fail(at, &refusal_reason(self.workspace, step, &error));
            }
        }
    }

    /// Finishes an exchange that is not atomic on this file system and may have failed half-way.
    fn finish_exchange(&mut self, at: usize) {
        match finish_exchange(self.workspace, self.store, &self.steps[at]) {
            Ok(kept) => self.kept[at] = kept,
            Err(error) => tracing::warn!(%error, "what was displaced stays beside its place"),
        }
    }

    /// Undoes the placing of one step; a version that another program saved on top of it stays.
    fn take_back(&mut self, at: usize) {
        let step = &self.steps[at];
        let (workspace, path, temp) = (self.workspace, &step.path, &step.temp);
        let back = match self.actions[at] {
            FileAction::Create => {
                let ours = workspace.move_aside(path, temp);
                ours.and_then(|()| {
                    if self.state(temp).map(PathState::Known) == Some(step.then) {
                        drop(workspace.remove_emptied(path));
                        return Ok(());
                    }
                    workspace.put_back(temp, path)
                })
            }
            FileAction::Write => {
                let swapped = workspace.exchange(temp, path);
                swapped.and_then(|()| {
                    if self.state(temp).map(PathState::Known) == Some(step.then) {
                        return Ok(());
                    }
                    // Another program saved on top of it: that version is the newest, and stays.
                    workspace.exchange(temp, path)
                })
            }
            // Its folder may have been removed with it.
            FileAction::Delete => workspace.place_new(temp, path).map(drop),
            FileAction::Mode => self.set_mode(step, &step.then, &step.now),
            FileAction::Leave => Ok(()),
        };
        if let Err(error) = back {
            tracing::warn!(%path, %error, "a step could not be taken back");
            self.displaced[at] = matches!(self.actions[at], FileAction::Write | FileAction::Delete);
        }
    }

    /// Removes the displaced files, part by part, each after a last check: a program that still had
    /// the file open may have written to it. Then parts that failed are taken back, last step
    /// first.
    fn clean_up_parts(&mut self) {
        let mut parts: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, step) in self.steps.iter().enumerate() {
            parts.entry(step.part).or_default().push(at);
        }
        for cleanup in self.remove_displaced(&parts.values().collect::<Vec<_>>()) {
            match cleanup {
                PartCleanup::WrittenTo(at) => self.fail(at, &PlanReason::MovedOn),
                PartCleanup::Removed(steps) => {
                    for (at, removed) in steps {
                        self.record_cleanup(at, removed);
                    }
                }
            }
        }
        for at in std::mem::take(&mut self.placed).into_iter().rev() {
            if let Some(reason) = self.failed.get(&self.steps[at].part).cloned() {
                self.take_back(at);
                self.fates[at] = Some(StepFate::Left(reason));
            }
        }
        for at in parts.into_values().flatten() {
            if self.has_failed(at) {
                self.clean_up(at);
            }
        }
    }

    /// Removes the displaced files of parts that are wholly done; two threads take half the time.
    fn remove_displaced(&self, parts: &[&Vec<usize>]) -> Vec<PartCleanup> {
        let done =
            |part: &&Vec<usize>| part.iter().all(|at| self.fates[*at] == Some(StepFate::Done));
        let parts: Vec<_> = parts.iter().copied().filter(done).collect();
        let worker =
            CleanupWorker { workspace: self.workspace, steps: self.steps, actions: &self.actions };
        let clean_up = |parts: &[&Vec<usize>]| -> Vec<PartCleanup> {
            parts.iter().map(|part| worker.clean_up_part(part)).collect()
        };
        if parts.len() < MIN_PARTS_FOR_THREAD {
            return clean_up(&parts);
        }
        let (first_half, second_half) = parts.split_at(parts.len() / 2);
        std::thread::scope(|scope| {
            let other = std::thread::Builder::new().spawn_scoped(scope, || clean_up(second_half));
            let mut results = clean_up(first_half);
            results.extend(match other {
                Ok(other) => other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // There may be no second thread (a process limit).
                Err(_) => clean_up(second_half),
            });
            results
        })
    }

    /// Removes the temporary file of a step that failed, and the folders that are empty now.
    fn clean_up(&mut self, at: usize) {
        let step = &self.steps[at];
        if self.displaced[at] {
            // The only copy on disk of the displaced file: stored, but not removed.
            self.kept[at] = store_file_content(self.workspace, self.store, &step.temp).ok();
            return;
        }
        self.record_cleanup(at, discard_temp(self.workspace, self.store, step));
    }

    /// Records whether a step's temporary file was removed.
    fn record_cleanup(&mut self, at: usize, removed: Result<Option<ObjectId>, StoreError>) {
        let step = &self.steps[at];
        match removed {
            Ok(kept) => self.kept[at] = self.kept[at].or(kept),
            Err(error) => {
                tracing::warn!(temp = %step.temp, %error, "a temporary file stays");
                self.untidy[at] = true;
            }
        }
        let is_gone = match &self.fates[at] {
            Some(StepFate::Done) => step.then.is_absent(),
            _ => step.now.is_absent(),
        };
        if is_gone {
            self.folders.extend(self.workspace.remove_emptied(&step.path));
        }
    }

    /// Syncs names and modes to survive power loss; returns whether all syncs succeeded.
    fn sync(&self) -> bool {
        let is_mode = |at: &usize| {
            self.actions[*at] == FileAction::Mode && self.fates[*at] == Some(StepFate::Done)
        };
        let modes = (0..self.steps.len()).filter(is_mode).map(|at| &self.steps[at].path);
        let modes = self.workspace.sync_modes(modes);
        let names = self.steps.iter().flat_map(|step| [&step.path, &step.temp]);
        let names = self.workspace.sync_folders(names.chain(&self.folders));
        let failed = [modes, names].into_iter().filter_map(Result::err);
        failed.inspect(|error| tracing::warn!(%error, "not synced")).count() == 0
    }

    fn set_mode(
        &self,
        step: &OperationStep,
        from: &PathState,
        to: &PathState,
    ) -> Result<(), WriteError> {
        let fault = |why| WriteError { path: step.path.clone(), act: "change the mode of", why };
        let (Some(from), Some(to)) = (from.known(), to.known()) else {
            return Err(fault(WriteFault::Gone));
        };
        let now = self.state(&step.path);
        if now == Some(*to) {
            return Ok(()); // by another name of the file
        }
        if now != Some(*from) {
            return Err(fault(WriteFault::Exists));
        }
        self.workspace.set_mode(&step.path, to.mode)
    }

    fn state(&self, path: &ProjectPath) -> Option<FileState> {
        state_of(self.workspace, path)
    }

    fn has_failed(&self, at: usize) -> bool {
        self.failed.contains_key(&self.steps[at].part)
    }

    /// Marks a step and its part as failed.
    fn fail(&mut self, at: usize, reason: &PlanReason) {
        self.fates[at] = Some(StepFate::Left(reason.clone()));
        self.failed.entry(self.steps[at].part).or_insert_with(|| reason.clone());
    }
}

/// Returns the action of each step. Where another hard link must keep its mode, this path becomes
/// a file of its own.
fn actions(workspace: &Workspace, steps: &[OperationStep]) -> Vec<FileAction> {
    let modes = steps.iter().filter(|step| action(step) == FileAction::Mode);
    let own = paths_needing_own_file(workspace, modes.map(|step| (&step.path, &step.then)));
    let action_of = |step: &OperationStep| match action(step) {
        FileAction::Mode if own.contains(&step.path) => FileAction::Write,
        action => action,
    };
    steps.iter().map(action_of).collect()
}

/// Returns the action of a step, by its two states.
pub(super) fn action(step: &OperationStep) -> FileAction {
    FileAction::between(&step.now, &step.then)
}

fn is_full(error: &WriteError) -> bool {
    matches!(&error.why, WriteFault::Io(io) if io.kind() == io::ErrorKind::StorageFull)
}

fn write_error_reason(error: &WriteError) -> PlanReason {
    match &error.why {
        WriteFault::Filled(why) => PlanReason::Damaged(why.to_string()),
        _ => PlanReason::NotWritable(error.to_string()),
    }
}

/// Converts a write error to a reason. A path that exists or is gone was changed by another
/// program, unless it is a folder: the plan does not know folders without tracked files.
fn refusal_reason(workspace: &Workspace, step: &OperationStep, error: &WriteError) -> PlanReason {
    match &error.why {
        WriteFault::Exists => match workspace.check_writable(&step.path) {
            Err(error) if matches!(error.why, WriteFault::NotAFile(_)) => {
                write_error_reason(&error)
            }
            _ => PlanReason::MovedOn,
        },
        WriteFault::Gone => PlanReason::MovedOn,
        _ => write_error_reason(error),
    }
}
