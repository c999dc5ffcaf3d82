//! The part of the report about the project: counts, checks and operations, without titles or paths.

use std::collections::BTreeMap;

use retake_engine::model::Operation;
use retake_engine::{Project, ProjectError, ProjectStatus, iso_8601};
use retake_service::Masking;
use retake_service::documents::{CheckUpDocument, DoctorCheck};

use super::document::{ReportCheck, ReportCounts, ReportOperation, ReportProject};
use super::gather::FailedParts;
use crate::context::CommandContext;
use crate::failure::failure_of;

/// Maximum operations in a report.
const MAX_OPERATIONS: usize = 10;
/// Maximum operations that are counted.
const MAX_COUNTED_OPERATIONS: usize = 1_000_000;
/// Maximum problems of a check in a report.
const MAX_DETAILS: usize = 5;
/// Checks whose problems name nothing of the person's. Others quote events and paths.
const OPEN_CHECKS: [&str; 4] = ["database", "contents", "folder", "space"];

/// Gathers what can be read of the project around the current folder.
pub(super) fn gather(context: &CommandContext, failed: &mut FailedParts) -> Option<ReportProject> {
    let project = match context.retake.open_read_only(context.start_folder()) {
        Ok(project) => project,
        Err(ProjectError::NotAProject(_)) => return None,
        Err(error) => {
            failed.add("project", failure_of(&error.into()));
            return None;
        }
    };
    let operations = project.operations(MAX_COUNTED_OPERATIONS).map_err(Into::into);
    let operations = failed.keep("operations", operations).unwrap_or_default();
    let counts = failed.keep("counts", count(&project, operations.len() as u64));
    Some(ReportProject {
        counts,
        checks: failed.keep("health", check(&project)).unwrap_or_default(),
        operations: operations.iter().take(MAX_OPERATIONS).map(describe_operation).collect(),
    })
}

fn count(project: &Project, operations: u64) -> anyhow::Result<ReportCounts> {
    let status = project.status()?;
    Ok(ReportCounts {
        files: status.files,
        changes: status.changes,
        dialogs: project.dialogs()?.len() as u64,
        operations,
        record_bytes: status.store_bytes,
        spooled: status.spooled as u64,
        gaps: count_gaps(&status),
    })
}

fn count_gaps(status: &ProjectStatus) -> BTreeMap<String, u64> {
    let mut gaps = BTreeMap::new();
    for (gap, _) in &status.gaps {
        *gaps.entry(gap.reason.as_str().to_owned()).or_default() += 1;
    }
    gaps
}

fn check(project: &Project) -> anyhow::Result<Vec<ReportCheck>> {
    let found = project.check_health(false, &mut |_, _| {})?;
    let found = CheckUpDocument::new(project, &found, false, Masking::On);
    Ok(found.checks.into_iter().map(describe_check).collect())
}

fn describe_check(check: DoctorCheck) -> ReportCheck {
    let is_open = OPEN_CHECKS.contains(&check.name.as_str());
    let problems = check.problems.len() as u64;
    let details = check.problems.into_iter().filter(|_| is_open).take(MAX_DETAILS).collect();
    ReportCheck { name: check.name, state: check.state, problems, details }
}

fn describe_operation(operation: &Operation) -> ReportOperation {
    ReportOperation {
        id: operation.id.to_string(),
        at: iso_8601(operation.at),
        kind: operation.kind.as_str().to_owned(),
        state: operation.state.as_str().to_owned(),
        undone: operation.undone_by.is_some(),
    }
}
