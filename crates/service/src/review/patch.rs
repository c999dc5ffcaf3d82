//! The hunks that a person keeps, as a patch for `git apply --cached`.

use retake_engine::{Project, Review};

use crate::{ApiError, patch};

/// Writes all hunks of a review of which the person has seen all, as git reads them.
pub fn kept_patch(project: &Project, review: &Review<'_>) -> Result<Vec<u8>, ApiError> {
    let mut text = Vec::new();
    for entry in review.entries() {
        for file in review.files(entry)? {
            let Some(diff) = project.kept_diff(&file)? else { continue };
            for part in patch::split_for_git(project, &diff)? {
                text.extend(patch::render_patch(&part));
            }
        }
    }
    Ok(text)
}
