//! Staging: ignored files that are tracked all the same because a tool wrote them.
//!
//! A file that an agent's tool names is tracked from then on (STAGE-1, STAGE-2): it is in
//! every later checkpoint, and a restore concerns it. Shell commands and manual edits do
//! not stage (STAGE-6). A host can stage a file by name.

use std::collections::BTreeSet;

use retake_model::{Actor, Change, ChangeMethod, DialogId, Millis, ProjectPath};
use retake_store::{ChangeFilter, StoreError};
use retake_workspace::IgnoreRules;

use crate::error::OperationError;
use crate::project::Project;
use crate::scan::refresh::RefreshOutcome;
use crate::scan::state;

impl Project {
    /// Tracks these files from now on, although ignore rules match them; a missing file is recorded
    /// as deleted (STAGE-5).
    pub fn stage(
        &self,
        paths: &[ProjectPath],
        at: Millis,
    ) -> Result<RefreshOutcome, OperationError> {
        let _lock = self.acquire_lock()?;
        self.catch_up(at)?;
        Ok(self.refresh_paths_locked(paths, at)?)
    }

    /// The hidden files that a dialog's tools wrote since its last checkpoint: they are in the
    /// next one (STAGE-3).
    pub fn staged(&self, dialog: &DialogId) -> Result<Vec<ProjectPath>, StoreError> {
        let store = self.store();
        let Some(rules) = state::load_rules(store)? else { return Ok(Vec::new()) };
        let rules = IgnoreRules::new(rules);
        let session = store.active_session(dialog)?;
        let tip = session.map(|session| store.checkpoint(&session.tip)).transpose()?.flatten();
        let written = store.changes(&ChangeFilter {
            dialogs: vec![dialog.clone()],
            actors: vec![Actor::Agent],
            after: tip.map(|checkpoint| checkpoint.seq),
            ..ChangeFilter::default()
        })?;
        let by_tool =
            |change: &Change| matches!(change.method, ChangeMethod::Write | ChangeMethod::Patch);
        let paths = written.into_iter().filter(by_tool).map(|change| change.path);
        let mut staged = BTreeSet::new();
        for path in paths.filter(|path| rules.is_ignored(path, false)) {
            if store.manifest_entry(&path)?.is_some() {
                staged.insert(path);
            }
        }
        Ok(staged.into_iter().collect())
    }
}
