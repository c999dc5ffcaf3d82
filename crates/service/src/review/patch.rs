//! The hunks that a person keeps, as a patch for `git apply --cached`.

use std::collections::HashSet;

use retake_engine::model::ProjectPath;
use retake_engine::{DiffBody, DiffLine, FileDiff, Project, Review, ReviewFile};

use crate::{ApiError, Masking, patch};

/// A patch, as far as it is shown.
#[derive(Clone, Debug, Default)]
pub struct ShownPatch {
    /// The text, as git reads it.
    pub text: Vec<u8>,
    /// Files that are left out, since their lines hold secrets: a masked patch would write the mask.
    pub left_out: Vec<ProjectPath>,
}

/// Writes all hunks of a review of which the person has seen all, as git reads them.
pub fn kept_patch(project: &Project, review: &Review<'_>) -> Result<Vec<u8>, ApiError> {
    Ok(shown_patch(project, review, Masking::Off)?.text)
}

/// The same without the files whose lines hold secrets, if these are masked.
pub fn shown_patch(
    project: &Project,
    review: &Review<'_>,
    masking: Masking,
) -> Result<ShownPatch, ApiError> {
    let mut shown = ShownPatch::default();
    for entry in review.entries() {
        for file in review.files(entry)? {
            let Some(diff) = project.kept_diff(&file)? else { continue };
            let secrets = secret_lines(project, &file, masking)?;
            let parts = patch::split_for_git(project, &diff)?;
            if parts.iter().any(|part| shows(part, &secrets)) {
                shown.left_out.push(file.path);
                continue;
            }
            for part in parts {
                shown.text.extend(patch::render_patch(&part));
            }
        }
    }
    Ok(shown)
}

/// The lines of both sides of a file that masking would change.
fn secret_lines(
    project: &Project,
    file: &ReviewFile,
    masking: Masking,
) -> Result<HashSet<Vec<u8>>, ApiError> {
    let mut secrets = HashSet::new();
    if masking == Masking::Off {
        return Ok(secrets);
    }
    let old = masking.masking_path(project, &file.old_path, &file.base)?;
    let new = masking.masking_path(project, &file.path, &file.now)?;
    let named = masking.secret_name([&old, &new]);
    for (name, text) in [(&old, &file.base_text), (&new, &file.now_text)] {
        let text = text.as_deref().unwrap_or_default();
        let masked = masking.masked_lines(named.unwrap_or(name), text);
        let lines = text.split(|byte| *byte == b'\n').enumerate();
        let hidden = lines.filter(|(number, _)| masked.contains_key(number));
        secrets.extend(hidden.map(|(_, line)| line.to_vec()));
    }
    Ok(secrets)
}

/// Returns true if a difference shows one of these lines.
fn shows(diff: &FileDiff, secrets: &HashSet<Vec<u8>>) -> bool {
    let DiffBody::Lines(lines) = &diff.body else { return false };
    lines.iter().any(|line| match line {
        DiffLine::Header(_) | DiffLine::NoNewline => false,
        DiffLine::Context(text) | DiffLine::Added(text) | DiffLine::Removed(text) => {
            secrets.contains(text)
        }
    })
}
