//! What a person keeps of a file, as a difference of its own.

use retake_model::HunkKind;

use crate::error::OperationError;
use crate::plan::{PlanReason, PlannedFile};
use crate::project::Project;
use crate::query::status::{DiffBody, FileDiff};
use crate::review::file::ReviewFile;
use crate::review::file_target::ChosenHunks;
use crate::review::hunk::ReviewHunk;

impl Project {
    /// The difference that the hunks make of which the person has seen all: from the file without the
    /// changes to the file with only these hunks. None if there are none.
    ///
    /// Content of the file that has no lines, and entangled places, are as without the changes: the
    /// rest can be told without them.
    pub fn kept_diff(&self, file: &ReviewFile) -> Result<Option<FileDiff>, OperationError> {
        let is_open = |hunk: &ReviewHunk| !hunk.reviewed || has_no_lines(hunk.kind);
        let open = file.hunks.iter().enumerate().filter(|(_, hunk)| is_open(hunk));
        let open: ChosenHunks<'_> = open.map(|(at, _)| (at, None)).collect();
        if open.len() == file.hunks.len() {
            return Ok(None);
        }
        let kept = file.without(&open)?;
        let mut sides = PlannedFile::going(kept.path, file.base, kept.file.side, PlanReason::Exact);
        sides.now_content.clone_from(&file.base_file.content);
        sides.content = kept.file.content;
        let mut diff = self.planned_diff(&sides)?;
        let is_moved = file.old_path != diff.path;
        let differs = is_moved || diff.before != diff.after;
        let sides = diff.before.known().zip(diff.after.known());
        if sides.is_some_and(|(before, after)| (before.kind, before.oid) == (after.kind, after.oid))
        {
            // However large it is, and whatever it holds.
            diff.body = DiffBody::Lines(Vec::new());
        }
        Ok(differs.then(|| FileDiff { old_path: file.old_path.clone(), ..diff }))
    }
}

fn has_no_lines(kind: HunkKind) -> bool {
    matches!(kind, HunkKind::Binary | HunkKind::TooLarge | HunkKind::Entangled)
}
