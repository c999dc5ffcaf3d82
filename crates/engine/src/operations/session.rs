//! Work sessions: approve what a dialog did, or reset it.
//!
//! With several dialogs in one project all of this concerns one dialog's changes;
//! comparing trees serves only an exact reset.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use retake_model::{
    Change, ChangeStatus, Checkpoint, CheckpointKind, DialogId, JournalKind, Millis, ObjectId,
    OperationKind, PathState, ProjectPath, SessionState, WorkSession,
};
use retake_store::{ChangeFilter, StatusMark, StoreError};
use serde_json::json;

use crate::error::OperationError;
use crate::journal::record_entry;
use crate::plan::go_to::{GoToOptions, go_to};
use crate::plan::selection::Selection;
use crate::plan::take_back::{TakeBackOptions, TakeBackRequest, take_back};
use crate::plan::{FileAction, FollowUp, Plan, PlannedFile};
use crate::project::Project;
use crate::record::checkpoint;

/// The result of an approval (SESS-2).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Approval {
    /// The approval, a merge on `main`.
    pub commit: ObjectId,
    /// The work session that was approved.
    pub session: WorkSession,
    /// The work session that is active now.
    pub new_session: String,
    /// Checkpoints in the approved session.
    pub checkpoints: u64,
    /// The changes that were approved; taking back what was approved before is one, too.
    pub changes: u64,
    /// Changes that wait for the approval of another dialog that may have made them.
    pub shared: u64,
}

/// The state of a dialog since its last approval (STAT-1).
#[derive(Clone, Debug)]
pub struct SessionStatus {
    /// The dialog.
    pub dialog: DialogId,
    /// The work session that collects changes.
    pub active: Option<WorkSession>,
    /// All its work sessions, oldest first.
    pub sessions: Vec<WorkSession>,
    /// When it was last approved.
    pub last_approved_at: Option<Millis>,
    /// The files that differ because of the dialog's changes.
    pub changed_files: Vec<SessionFile>,
}

/// One file with changes of a dialog that are not approved.
#[derive(Clone, Debug)]
pub struct SessionFile {
    /// The path.
    pub path: ProjectPath,
    /// The path before, if the dialog moved the file here.
    pub old_path: Option<ProjectPath>,
    /// Without the dialog's work: what a reset would leave.
    pub base: PathState,
    /// The content of `base`, if a reset would merge it.
    pub base_content: Option<Vec<u8>>,
    /// Now.
    pub now: PathState,
}

impl SessionStatus {
    /// Returns whether the dialog has changes that are not approved.
    pub fn has_unapproved(&self) -> bool {
        !self.changed_files.is_empty()
    }
}

impl Project {
    /// Approves everything that a dialog did since its last approval (SESS-2, W-23).
    pub fn approve(
        &self,
        dialog: &DialogId,
        message: Option<&str>,
        at: Millis,
    ) -> Result<Approval, OperationError> {
        self.known_dialog(dialog)?;
        let _lock = self.lock_and_refresh(at)?;
        let (unapproved, shared) = self.unapproved(dialog)?;
        let gone = self.store().approved_and_taken_back(dialog)?;
        let batch = self.store().batch()?;
        let name = message.unwrap_or("Approved").to_owned();
        let kind = CheckpointKind::Closing;
        let closing = checkpoint::create_checkpoint(
            &batch,
            kind,
            &format!("Closing: {name}"),
            Some(dialog),
            at,
        )?;
        let session = checkpoint::work_session_of(&batch, dialog, at)?;
        let parents = [session.base, closing.id];
        let stamp = batch.next_stamp(at);
        let commit = batch.put_commit(&closing.tree, &parents, &name, Some(dialog), stamp)?;
        for change in &unapproved {
            batch.set_approved(change.id, session.number, at)?;
        }
        for change in &gone {
            batch.clear_approval(change.id, at)?;
        }
        let (mut still_shared, mut shared_approved) = (0, 0);
        for change in &shared {
            let dialogs: BTreeSet<_> = change.candidates.iter().map(|by| &by.dialog).collect();
            if batch.approve_shared(change.id, dialog)? < dialogs.len() as u64 {
                still_shared += 1;
            } else {
                batch.set_approved(change.id, session.number, at)?;
                shared_approved += 1;
            }
        }
        let approved = unapproved.len() + gone.len() + shared_approved;
        batch.close_session(&session, Some(&commit), message, at)?;
        let number = batch.open_session(dialog, &commit, at)?;
        let new_session = format!("session_{number}");
        let body = json!({
            "session": session.name(), "commit": commit, "new_session": new_session,
            "changes": approved,
        });
        record_entry(&batch, stamp, JournalKind::Approved, Some(dialog), body)?;
        batch.commit()?;
        let in_it = |made: &Checkpoint| made.session == Some(session.number);
        let checkpoints = self.store().checkpoints(Some(dialog), usize::MAX >> 1)?;
        Ok(Approval {
            commit,
            checkpoints: checkpoints.into_iter().filter(in_it).count() as u64,
            changes: approved as u64,
            shared: still_shared,
            session,
            new_session,
        })
    }

    /// Plans to take back what a dialog did since its last approval (SESS-3).
    ///
    /// With `exact` the files go to the approved state, including changes of other actors.
    pub fn plan_reset(
        &self,
        dialog: &DialogId,
        exact: bool,
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<Plan, OperationError> {
        self.known_dialog(dialog)?;
        self.make_plan(at, |project| {
            let title = format!("reset of {}", project.dialog_name(dialog)?);
            let mut plan = Plan::new(OperationKind::Reset, title);
            plan.dialog = Some(dialog.clone());
            if exact {
                let seq = project.session_base_seq(dialog)?;
                let options = GoToOptions {
                    exact: true,
                    across_git: options.across_git,
                    ..GoToOptions::default()
                };
                go_to(project.store(), &mut plan, seq, Some(dialog), &options)?;
            } else {
                project.plan_without_unapproved(&mut plan, dialog, options)?;
            }
            let session = project.store().active_session(dialog)?;
            if let Some(session) = session.filter(|_| exact || !plan.is_stuck()) {
                let number = session.number;
                plan.follow_up = FollowUp::NewSession { dialog: dialog.0.clone(), number };
            }
            Ok(plan)
        })
    }

    /// Returns the state of a dialog since its last approval, as of the last scan: a caller that
    /// needs the present state scans first (W-4).
    pub fn session_status(&self, dialog: &DialogId) -> Result<SessionStatus, OperationError> {
        self.known_dialog(dialog)?;
        let sessions = self.store().work_sessions(dialog)?;
        let merged = sessions.iter().filter(|session| session.state == SessionState::Merged);
        let mut plan = Plan::new(OperationKind::Reset, String::new());
        // What git did since is shown as well: this only compares.
        let options = TakeBackOptions { across_git: true, ..TakeBackOptions::default() };
        self.plan_without_unapproved(&mut plan, dialog, options)?;
        let files = plan.files.iter().map(|file| self.session_file(file, dialog));
        let files: Result<Vec<_>, _> = files.collect();
        let mut changed_files: Vec<SessionFile> = files?.into_iter().flatten().collect();
        // Taking back a move leads from where the file is to where it was.
        let moves: HashMap<_, _> =
            plan.moves().into_iter().map(|moved| (moved.from, moved.to)).collect();
        for file in &mut changed_files {
            file.old_path = moves.get(&file.path).map(|&old| old.clone());
        }
        Ok(SessionStatus {
            dialog: dialog.clone(),
            active: self.store().active_session(dialog)?,
            last_approved_at: merged.filter_map(|session| session.closed_at).max(),
            sessions,
            changed_files,
        })
    }

    /// Plans to take back the unapproved changes of a dialog, and to bring back changes that were
    /// approved and taken back since: both are unapproved work.
    fn plan_without_unapproved(
        &self,
        plan: &mut Plan,
        dialog: &DialogId,
        options: TakeBackOptions,
    ) -> Result<(), OperationError> {
        let store = self.store();
        let selection = Selection { dialog: Some(dialog.clone()), ..Selection::default() };
        let mut selected = selection.find(store)?;
        selected.effective.retain(|change| change.approved.is_none());
        selected.shared.retain(|change| change.approved.is_none());
        let gone = store.approved_and_taken_back(dialog)?;
        let mut changes: BTreeMap<_, _> =
            selected.effective.iter().map(|change| (change.id, change.clone())).collect();
        for change in &gone {
            let bringing_back = self.changes_to_bring_back(change)?;
            changes.extend(bringing_back.into_iter().map(|change| (change.id, change)));
        }
        let changes: Vec<Change> = changes.into_values().collect();
        let request = TakeBackRequest::new(&changes, ChangeStatus::Reverted, options);
        take_back(store, plan, request)?;
        for change in gone {
            let file = plan.files.iter().find(|file| file.path == change.path);
            let part = file.map_or(u64::MAX, |file| file.part);
            if !plan.files.iter().any(|file| file.part == part && file.is_left()) {
                let (change, old) = (change.id, change.status);
                plan.marks.push(StatusMark { change, part, old, new: ChangeStatus::Accepted });
            }
        }
        self.list_left_changes(plan, &selected)?;
        Ok(())
    }

    /// Returns the changes to take back in order to bring back an approved one: those that Retake
    /// wrote when it took it back, and unapproved ones that went with it.
    fn changes_to_bring_back(&self, change: &Change) -> Result<Vec<Change>, StoreError> {
        let store = self.store();
        let Some((operation, part)) = store.taken_back_by(change.id)? else {
            return Ok(Vec::new());
        };
        let steps = store.operation_steps(operation)?;
        let in_part =
            |path: &ProjectPath| steps.iter().any(|step| step.part == part && step.path == *path);
        let filter = ChangeFilter { made_by: Some(operation), ..ChangeFilter::default() };
        let mut changes = store.changes(&filter)?;
        changes.retain(|change| change.is_effective() && in_part(&change.path));
        for mark in store.marks(operation, true)?.iter().filter(|mark| mark.part == part) {
            let with_it = store.change(mark.change)?;
            changes.extend(with_it.filter(|with_it| with_it.approved.is_none()));
        }
        Ok(changes)
    }

    fn session_file(
        &self,
        file: &PlannedFile,
        dialog: &DialogId,
    ) -> Result<Option<SessionFile>, StoreError> {
        let (path, now) = (file.path.clone(), file.now);
        if file.action != FileAction::Leave {
            let base_content = file.content.clone();
            return Ok(Some(SessionFile {
                path,
                old_path: None,
                base: file.then,
                base_content,
                now,
            }));
        }
        if file.reason.is_as_wanted() {
            return Ok(None);
        }
        // It cannot be taken back as it is: the content before the dialog's first change is the
        // best base.
        let first = file.changes.iter().min().copied();
        let first = first.map(|id| self.store().change(id)).transpose()?.flatten();
        let base = first.filter(|change| change.dialog.as_ref() == Some(dialog));
        let base = base.map_or(PathState::Unknown, |change| change.before);
        Ok(Some(SessionFile { path, old_path: None, base, base_content: None, now }))
    }

    /// The dialog's changes that are in effect and not approved, and those that are shared.
    fn unapproved(&self, dialog: &DialogId) -> Result<(Vec<Change>, Vec<Change>), OperationError> {
        let selection = Selection { dialog: Some(dialog.clone()), ..Selection::default() };
        let mut selected = selection.find(self.store())?;
        selected.effective.retain(|change| change.approved.is_none());
        selected.shared.retain(|change| change.approved.is_none());
        Ok((selected.effective, selected.shared))
    }

    /// Returns the `seq` of the state that a dialog's session began from.
    fn session_base_seq(&self, dialog: &DialogId) -> Result<u64, OperationError> {
        let store = self.store();
        let Some(session) = store.active_session(dialog)? else {
            return Err(OperationError::NoDialog);
        };
        // A checkpoint or an approval; the objects it was made from may have been
        // garbage-collected.
        Ok(store.commit_seq(&session.base)?)
    }
}
