//! Scratch files that a tool creates on the way to its target, and removes again.
//!
//! `sed -i` writes a file beside its target and renames it; many edit tools save like that. The
//! watcher ignores such a file while its call is running. A requested scan has to report what is
//! there, so then there must be evidence that it is the call's: its name and, for edit tools, a
//! content that is a beginning of what they predict. A name alone is none: the person may keep a
//! copy of the very file. A file that is recorded as the call's work is its own until its end.

use retake_model::{ProjectPath, Side};
use retake_store::{Batch, ChangeFilter, StoreError};

use crate::live::{Content, LiveCall};
use crate::observe::Observed;

/// Prefix of the temporary files of `sed`, followed by six random characters.
const OF_SED: &[u8] = b"sed";
const RANDOM_SIGNS: usize = 6;

impl LiveCall {
    /// Returns true if a new file may be its scratch file, judged by the name.
    pub(crate) fn may_scratch_at(&self, path: &ProjectPath) -> bool {
        if self.is_understood() {
            return self.targets().any(|target| target.parent() == path.parent());
        }
        self.derives(path).next().is_some()
    }

    /// Returns true if there is evidence that a change is one of its own scratch files.
    pub(crate) fn has_scratched(
        &self,
        batch: &Batch<'_>,
        seen: &Observed,
        state_before: &dyn Fn(&ProjectPath) -> Side,
    ) -> Result<bool, StoreError> {
        if !self.may_scratch_at(&seen.path) {
            return Ok(false);
        }
        if !seen.before.is_absent() {
            return self.wrote_last(batch, &seen.path);
        }
        if self.is_understood() {
            let runs_sed = self.described().contains("sed");
            return Ok(runs_sed && is_of_sed(seen.path.file_name()));
        }
        let Content::Bytes(found) = Content::of(batch, &seen.after)? else { return Ok(false) };
        for target in self.derives(&seen.path) {
            let before = Content::of(batch, &state_before(target))?;
            let announced = before.told().and_then(|before| self.announced(target, before));
            if announced.is_some_and(|announced| announced.starts_with(&found)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The paths that it has changed so far without naming them.
    pub(crate) fn scratch(&self, batch: &Batch<'_>) -> Result<Vec<ProjectPath>, StoreError> {
        let call = &self.call;
        let filter = ChangeFilter {
            dialog: Some(call.dialog.clone()),
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
        Ok(paths.filter(|path| !self.aims_at(path)).collect())
    }

    /// The files named by this edit tool that the name of this file beside them may derive from.
    fn derives<'a>(&'a self, path: &'a ProjectPath) -> impl Iterator<Item = &'a ProjectPath> {
        let named = if self.is_edit() { self.aim.named.as_slice() } else { &[] };
        named.iter().filter(|target| {
            let (name, stem) = (path.file_name(), target.file_name());
            target.parent() == path.parent()
                && name.len() > stem.len()
                && name.windows(stem.len()).any(|part| part == stem)
        })
    }
}

fn is_of_sed(name: &[u8]) -> bool {
    name.strip_prefix(OF_SED).is_some_and(|signs| {
        signs.len() == RANDOM_SIGNS && signs.iter().all(u8::is_ascii_alphanumeric)
    })
}
