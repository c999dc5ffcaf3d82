//! The file watcher as a project's source of hints.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use retake_model::{Millis, ProjectPath};
use retake_store::StoreError;
use retake_workspace::{ChangeHint, FileWatcher, RuleSources, WatchBudget, WatchError};

use crate::project::{INITIALISED_AT_KEY, Project};
use crate::scan::hints::HintSource;

/// Timeout for the watcher to catch up on a busy machine; beyond this a full walk is quicker.
const SYNC_TIMEOUT: Duration = Duration::from_millis(500);

impl HintSource for Arc<FileWatcher> {
    fn sync(&self) {
        FileWatcher::flush(self, SYNC_TIMEOUT);
    }

    fn take_hint(&self) -> ChangeHint {
        FileWatcher::take_hint(self)
    }

    fn take_ignored(&self) -> BTreeSet<ProjectPath> {
        FileWatcher::take_ignored(self)
    }

    fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        FileWatcher::first_seen(self, path)
    }

    fn put_back(&self, hint: ChangeHint) {
        FileWatcher::put_back(self, hint);
    }

    fn apply_rules(&self, sources: &RuleSources, tracked_hidden: &BTreeSet<ProjectPath>) {
        self.set_always_tracked(tracked_hidden.clone());
        self.set_rules(sources);
    }
}

impl Project {
    /// Returns true if the project has a baseline, so that there are rules to watch by.
    pub fn has_baseline(&self) -> Result<bool, StoreError> {
        Ok(self.store().meta(INITIALISED_AT_KEY)?.is_some())
    }

    /// Starts the file watcher: a scan then costs what changed, not the size of the tree.
    pub fn watch(&mut self, budget: WatchBudget) -> Result<Arc<FileWatcher>, WatchError> {
        // Without rules too much is watched, until the next full scan.
        let rules = self.watch_rules().unwrap_or_default();
        let cookies = self.store().folder().join("watch");
        let watch = Arc::new(FileWatcher::start(self.workspace(), &rules, &cookies, budget)?);
        self.set_hint_source(Box::new(Arc::clone(&watch)), rules);
        Ok(watch)
    }
}
