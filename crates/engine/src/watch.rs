//! The file watcher as a project's source of hints.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use retake_model::{Millis, ProjectPath};
use retake_store::StoreError;
use retake_workspace::{Budget, Hint, RuleSources, Watch, WatchError};

use crate::eyes::Eyes;
use crate::project::{INITIALISED, Project};

/// Timeout for the watcher to catch up on a busy machine; beyond this a full walk is quicker.
const PATIENCE: Duration = Duration::from_millis(500);

impl Eyes for Arc<Watch> {
    fn settle(&self) {
        Watch::settle(self, PATIENCE);
    }

    fn take(&self) -> Hint {
        Watch::take(self)
    }

    fn take_ignored(&self) -> BTreeSet<ProjectPath> {
        Watch::take_ignored(self)
    }

    fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        Watch::first_seen(self, path)
    }

    fn put_back(&self, hint: Hint) {
        Watch::put_back(self, hint);
    }

    fn rules(&self, sources: &RuleSources, tracked_hidden: &BTreeSet<ProjectPath>) {
        self.always(tracked_hidden.clone());
        self.set_rules(sources);
    }
}

impl Project {
    /// Returns true if the project has a baseline, so that there are rules to watch by.
    pub fn has_baseline(&self) -> Result<bool, StoreError> {
        Ok(self.store().meta(INITIALISED)?.is_some())
    }

    /// Starts the file watcher: a scan then costs what changed, not the size of the tree.
    pub fn watch(&mut self, budget: Budget) -> Result<Arc<Watch>, WatchError> {
        // Without rules too much is watched, until the next full scan.
        let rules = self.rules_for_eyes().unwrap_or_default();
        let cookies = self.store().folder().join("watch");
        let watch = Arc::new(Watch::start(self.workspace(), &rules, &cookies, budget)?);
        self.open_eyes(Box::new(Arc::clone(&watch)), rules);
        Ok(watch)
    }
}
