//! The caller of what a scan finds with submitted events.

use retake_model::Caller;

use crate::project::Project;
use crate::submission::Submission;

/// While it lives, what is recorded is said by the sender of the submissions, if they have one
/// sender; else by the caller of this process.
pub(super) struct CallerGuard<'p> {
    project: &'p Project,
    /// The caller before.
    before: Option<Caller>,
}

impl<'p> CallerGuard<'p> {
    pub(super) fn for_submissions(project: &'p Project, submissions: &[Submission]) -> Self {
        let before = common_caller(submissions).map(|caller| project.set_caller(caller.clone()));
        Self { project, before }
    }
}

impl Drop for CallerGuard<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            self.project.set_caller(before);
        }
    }
}

/// The caller of all of them; none if they differ, or if one names none.
fn common_caller(submissions: &[Submission]) -> Option<&Caller> {
    let mut callers = submissions.iter().map(|submission| submission.origin.said_by.as_ref());
    let first = callers.next()??;
    callers.all(|caller| caller == Some(first)).then_some(first)
}
