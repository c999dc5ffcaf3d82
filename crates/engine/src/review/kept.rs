//! What a person keeps of a file, as a difference of its own.

use crate::error::OperationError;
use crate::plan::{PlanReason, PlannedFile};
use crate::project::Project;
use crate::query::status::FileDiff;
use crate::review::file::ReviewFile;
use crate::review::file_target::ChosenHunks;

impl Project {
    /// The difference that the hunks make of which the person has seen all: from the file without the
    /// changes to the file with only these hunks. None if there are none.
    pub fn kept_diff(&self, file: &ReviewFile) -> Result<Option<FileDiff>, OperationError> {
        let open = file.hunks.iter().enumerate().filter(|(_, hunk)| !hunk.reviewed);
        let open: ChosenHunks<'_> = open.map(|(at, _)| (at, None)).collect();
        if open.len() == file.hunks.len() {
            return Ok(None);
        }
        let kept = file.without(&open)?;
        let mut sides = PlannedFile::going(kept.path, file.base, kept.file.side, PlanReason::Exact);
        sides.now_content.clone_from(&file.base_file.content);
        sides.content = kept.file.content;
        let diff = self.planned_diff(&sides)?;
        let is_moved = file.old_path != diff.path;
        let differs = is_moved || diff.before != diff.after;
        Ok(differs.then(|| FileDiff { old_path: file.old_path.clone(), ..diff }))
    }
}
