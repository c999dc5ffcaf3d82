//! A plan and its outcome as programs read them: one shape for both.

use anyhow::Result;
use retake_engine::model::{ChangeId, Gap};
use retake_engine::{PlannedFile, Project};
use serde_json::{Value, json};

use crate::json;
use crate::outcome::report::way_out;
use crate::outcome::{Outcome, Stage};

/// The document; `done` is null for each file while it is only planned.
pub(super) fn of(project: &Project, outcome: &Outcome) -> Result<Value> {
    let plan = &outcome.plan;
    let operation = outcome.operation.as_ref();
    let files: Vec<_> = plan.files.iter().map(|file| file_document(outcome, file)).collect();
    let mut document = json!({
        "operation": operation.map(|operation| operation.id.to_string()),
        "kind": plan.kind.as_str(),
        "title": plan.title,
        "dialog": plan.dialog.as_ref().map(|id| id.0.as_str()),
        "safety": operation.map(|operation| operation.safety.to_string()),
        "checkpoint": outcome.checkpoint.map(|id| id.to_string()),
        "dry_run": outcome.stage == Stage::Planned,
        "whole": plan.is_whole(),
        "files": files,
        "crosses": plan.crosses.iter().map(|id| id.0.as_str()).collect::<Vec<_>>(),
        "cascaded": ids(&plan.cascaded),
        "not_covered": plan.not_covered.iter().map(not_covered).collect::<Vec<_>>(),
        "asks": super::question::of(project, plan)?.iter().map(|one| one.code).collect::<Vec<_>>(),
    });
    if let Stage::Refused(failure) = &outcome.stage {
        document["error"] = serde_json::to_value(failure)?;
    }
    Ok(document)
}

fn not_covered(gap: &Gap) -> Value {
    let mut document = json::path(&gap.path);
    document["reason"] = gap.reason.as_str().into();
    document
}

fn file_document(outcome: &Outcome, file: &PlannedFile) -> Value {
    let mut document = json::path(&file.path);
    let way_out = file.is_left().then(|| way_out(outcome.plan.kind, file)).flatten();
    document["action"] = file.action.as_str().into();
    document["done"] = file.done.into();
    document["reason"] = json!({
        "code": file.reason.code(),
        "message": file.reason.to_string(),
        "way_out": way_out,
    });
    document["changes"] = ids(&file.changes).into();
    document["blockers"] = ids(&file.blockers).into();
    document["warning"] = file.warning.as_deref().into();
    document
}

fn ids(changes: &[ChangeId]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}
