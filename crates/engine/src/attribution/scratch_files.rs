//! Scratch files that a tool creates on the way to its target, and removes again.
//!
//! `sed -i` writes a file beside its target and renames it; many edit tools save like that. The
//! watcher ignores such a file while its call is running. A requested scan has to report what is
//! there, so then there must be evidence that it is the call's: its name and, for edit tools, a
//! content that is a beginning of what they predict. A name alone is none: the person may keep a
//! copy of the very file. A file that is recorded as the call's work is its own until its end.

use retake_model::{PathState, ProjectPath};
use retake_store::{Batch, ChangeFilter, StoreError};

use crate::attribution::observed::ObservedChange;
use crate::calls::open_call::LiveCall;
use crate::calls::path_content::PathContent;

/// Prefix of the temporary files of `sed`, followed by six random characters.
const SED_TEMP_PREFIX: &[u8] = b"sed";
const SED_RANDOM_CHARS: usize = 6;

impl LiveCall {
    /// Returns true if a new file may be its scratch file, judged by the name.
    pub(crate) fn could_be_scratch(&self, path: &ProjectPath) -> bool {
        if self.is_understood() {
            return self.targets().any(|target| target.parent() == path.parent());
        }
        self.scratch_sources(path).next().is_some()
    }

    /// Returns true if there is evidence that a change is one of its own scratch files.
    pub(crate) fn is_own_scratch(
        &self,
        batch: &Batch<'_>,
        seen: &ObservedChange,
        state_before: &dyn Fn(&ProjectPath) -> PathState,
    ) -> Result<bool, StoreError> {
        if !self.could_be_scratch(&seen.path) {
            return Ok(false);
        }
        if !seen.before.is_absent() {
            return self.wrote_last(batch, &seen.path);
        }
        if self.is_understood() {
            let runs_sed = self.describe().contains("sed");
            return Ok(runs_sed && is_sed_temp(seen.path.file_name()));
        }
        let PathContent::Bytes(found) = PathContent::of(batch, &seen.after)? else {
            return Ok(false);
        };
        for target in self.scratch_sources(&seen.path) {
            let before = PathContent::of(batch, &state_before(target))?;
            let predicted =
                before.known_bytes().and_then(|before| self.predicted_content(target, before));
            if predicted.is_some_and(|predicted| predicted.starts_with(&found)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The paths that it has changed so far without naming them.
    pub(crate) fn scratch_paths(&self, batch: &Batch<'_>) -> Result<Vec<ProjectPath>, StoreError> {
        let call = &self.call;
        let filter = ChangeFilter {
            dialogs: vec![call.dialog.clone()],
            call: Some(call.call.clone()),
            after: Some(call.begin_seq),
            ..ChangeFilter::default()
        };
        let changes = match batch.changes(&filter) {
            // A damaged row is no reason to record nothing.
            Err(StoreError::Row(_)) => Vec::new(),
            changes => changes?,
        };
        let paths = changes.into_iter().map(|change| change.path);
        Ok(paths.filter(|path| !self.targets_path(path)).collect())
    }

    /// The files named by this edit tool that the name of this file beside them may derive from.
    fn scratch_sources<'a>(
        &'a self,
        path: &'a ProjectPath,
    ) -> impl Iterator<Item = &'a ProjectPath> {
        let named = if self.is_edit() { self.call_targets.named.as_slice() } else { &[] };
        named.iter().filter(|target| {
            let (name, stem) = (path.file_name(), target.file_name());
            target.parent() == path.parent()
                && name.len() > stem.len()
                && name.windows(stem.len()).any(|part| part == stem)
        })
    }
}

fn is_sed_temp(name: &[u8]) -> bool {
    name.strip_prefix(SED_TEMP_PREFIX).is_some_and(|suffix| {
        suffix.len() == SED_RANDOM_CHARS && suffix.iter().all(u8::is_ascii_alphanumeric)
    })
}
