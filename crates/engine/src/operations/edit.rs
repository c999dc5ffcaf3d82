//! Edit transactions, for hosts that build agents: begin, then commit or abort (DET-21, LIB-1).
//!
//! An edit is a call of a tool that names its paths. Aborting it puts the files
//! back as they were at its begin; what others did to them meanwhile stays.

use retake_model::{CallId, ChangeStatus, DialogId, Event, EventKind, Millis, OperationKind};
use retake_store::{Call, CallState};
use serde_json::{Value, json};

use crate::apply::AppliedPlan;
use crate::calls::open_call::HOST_EDIT_TOOL;
use crate::error::OperationError;
use crate::plan::Plan;
use crate::plan::selection::Selection;
use crate::plan::take_back::{TakeBackOptions, TakeBackRequest, take_back};
use crate::project::Project;
use crate::record::RecordOutcome;

impl Project {
    /// Begins an edit of these paths, relative to the root; `edit` is the caller's name for it.
    pub fn begin_edit(
        &self,
        dialog: &DialogId,
        edit: &str,
        paths: &[&str],
        at: Millis,
    ) -> Result<RecordOutcome, OperationError> {
        let input = json!({ "paths": paths });
        let (call, tool) = (Some(CallId(edit.to_owned())), HOST_EDIT_TOOL.to_owned());
        let begin = EventKind::ToolBegin { call, tool, input };
        Ok(self.record(&Event::new(dialog.clone(), begin), at)?)
    }

    /// Ends an edit that worked; gives its changes.
    pub fn commit_edit(
        &self,
        dialog: &DialogId,
        edit: &str,
        at: Millis,
    ) -> Result<RecordOutcome, OperationError> {
        self.end_edit(dialog, edit, true, at)
    }

    /// Ends an edit that failed and puts its files back.
    pub fn abort_edit(
        &self,
        dialog: &DialogId,
        edit: &str,
        at: Millis,
    ) -> Result<AppliedPlan, OperationError> {
        let begun = self.open_edit(dialog, edit)?.begin_seq;
        self.end_edit(dialog, edit, false, at)?;
        let selection = Selection {
            dialog: Some(dialog.clone()),
            call: Some(CallId(edit.to_owned())),
            ..Selection::default()
        };
        let plan = self.make_plan(at, |project| {
            let mut selected = selection.find(project.store())?;
            // The name may have been used for an earlier edit.
            selected.effective.retain(|change| change.id.0 > begun);
            selected.shared.retain(|change| change.id.0 > begun);
            let mut plan = Plan::new(OperationKind::Abort, format!("abort of edit {edit}"));
            plan.dialog = Some(dialog.clone());
            let request = TakeBackRequest::new(
                &selected.effective,
                ChangeStatus::Reverted,
                TakeBackOptions::default(),
            );
            take_back(project.store(), &mut plan, request)?;
            project.list_left_changes(&mut plan, &selected)?;
            Ok(plan)
        })?;
        self.apply(&plan, at)
    }

    fn end_edit(
        &self,
        dialog: &DialogId,
        edit: &str,
        ok: bool,
        at: Millis,
    ) -> Result<RecordOutcome, OperationError> {
        let call = Some(self.open_edit(dialog, edit)?.call);
        let (tool, input) = (None, Value::Null);
        let (background, task) = (false, None);
        let end = EventKind::ToolEnd {
            call,
            ok: Some(ok),
            exit_code: None,
            tool,
            input,
            background,
            task,
        };
        Ok(self.record(&Event::new(dialog.clone(), end), at)?)
    }
    fn open_edit(&self, dialog: &DialogId, edit: &str) -> Result<Call, OperationError> {
        let call = self.store().call(dialog, &CallId(edit.to_owned()))?;
        let is_open = |call: &Call| call.tool == HOST_EDIT_TOOL && call.state == CallState::Open;
        call.filter(is_open).ok_or_else(|| OperationError::UnknownEdit(edit.to_owned()))
    }
}
