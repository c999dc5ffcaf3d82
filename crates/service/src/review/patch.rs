//! The hunks that a person keeps, as a patch for `git apply --cached`.
//!
//! Invariant: git applies the whole patch. What its format cannot say is left out and named, since git
//! refuses a patch of which it cannot apply one file.

use std::collections::{BTreeSet, HashSet};

use retake_engine::model::{HunkKind, ProjectPath};
use retake_engine::{DiffBody, DiffLine, FileDiff, Project, Review, ReviewFile};

use crate::{ApiError, Masking, patch};

/// A patch, as far as it is shown.
#[derive(Clone, Debug, Default)]
pub struct ShownPatch {
    /// The text, as git reads it.
    pub text: Vec<u8>,
    /// The files of which something that is kept is not in it.
    pub left_out: Vec<LeftOutFile>,
}

/// A file of which something that is kept is not in a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutFile {
    /// The file.
    pub path: ProjectPath,
    /// Why.
    pub reasons: BTreeSet<LeftOutReason>,
}

/// Why something that is kept is not in a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOutReason {
    /// It holds secrets: a masked patch would write the mask.
    Secrets,
    /// It is binary.
    Binary,
    /// It is too large to be compared.
    TooLarge,
    /// It was not captured.
    NotCaptured,
    /// Later changes build on it.
    Entangled,
    /// git does not know these permissions.
    Permissions,
}

impl LeftOutReason {
    /// The reason in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Secrets => "it holds secrets",
            Self::Binary => "binary content",
            Self::TooLarge => "content that is too large to compare",
            Self::NotCaptured => "content that was not captured",
            Self::Entangled => "a place that later changes build on",
            Self::Permissions => "permissions that git does not know",
        }
    }
}

/// Writes all hunks of a review of which the person has seen all, as git reads them; without the files
/// whose lines hold secrets, if these are masked.
pub fn shown_patch(
    project: &Project,
    review: &Review<'_>,
    masking: Masking,
) -> Result<ShownPatch, ApiError> {
    let mut shown = ShownPatch::default();
    for entry in review.entries() {
        for file in review.files(entry)? {
            let mut reasons = inexpressible_hunks(&file);
            if let Some(diff) = project.kept_diff(&file)? {
                let parts = patch::split_for_git(project, &diff)?;
                match withheld(project, &file, &parts, masking)? {
                    Some(reason) => drop(reasons.insert(reason)),
                    None => shown.text.extend(render(&parts)),
                }
            }
            if !reasons.is_empty() {
                shown.left_out.push(LeftOutFile { path: file.path, reasons });
            }
        }
    }
    Ok(shown)
}

/// Why single hunks that are kept are in no patch.
fn inexpressible_hunks(file: &ReviewFile) -> BTreeSet<LeftOutReason> {
    let kept = file.hunks.iter().filter(|hunk| hunk.reviewed);
    let reason = |kind: HunkKind| match kind {
        HunkKind::Binary => Some(LeftOutReason::Binary),
        HunkKind::TooLarge => Some(LeftOutReason::TooLarge),
        HunkKind::Entangled => Some(LeftOutReason::Entangled),
        HunkKind::Mode => {
            patch::is_same_git_mode(&file.base, &file.now).then_some(LeftOutReason::Permissions)
        }
        HunkKind::Lines
        | HunkKind::Create
        | HunkKind::Delete
        | HunkKind::Rename
        | HunkKind::Link => None,
    };
    kept.filter_map(|hunk| reason(hunk.kind)).collect()
}

/// Why a file as a whole is in no patch.
fn withheld(
    project: &Project,
    file: &ReviewFile,
    parts: &[FileDiff],
    masking: Masking,
) -> Result<Option<LeftOutReason>, ApiError> {
    let secrets = secret_lines(project, file, masking)?;
    let reason = |part: &FileDiff| match &part.body {
        DiffBody::Lines(_) => shows(part, &secrets).then_some(LeftOutReason::Secrets),
        DiffBody::Binary => Some(LeftOutReason::Binary),
        DiffBody::TooLarge => Some(LeftOutReason::TooLarge),
        DiffBody::NotCaptured => Some(LeftOutReason::NotCaptured),
    };
    Ok(parts.iter().find_map(reason))
}

fn render(parts: &[FileDiff]) -> Vec<u8> {
    let known = parts.iter().filter(|part| !patch::is_nothing_to_git(part));
    known.flat_map(patch::render_patch).collect()
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
