//! Last activity of each kind of agent, over all projects.

use std::collections::BTreeMap;

use retake_model::Millis;
use retake_store::{KindActivity, Store, StoreAccess, StoreError};

use crate::retake::Retake;

/// Last activity by agent kind, from the records of all projects.
#[derive(Debug, Default)]
pub struct AgentActivity {
    /// The newest activity of each kind of agent.
    pub kinds: BTreeMap<String, Millis>,
    /// The roots of projects whose record could not be read, and why.
    pub problems: Vec<(String, StoreError)>,
}

impl Retake {
    /// Reads the dialogs of every project; writes nothing.
    pub fn agent_activity(&self) -> Result<AgentActivity, StoreError> {
        let mut activity = AgentActivity::default();
        for project in self.home.projects()? {
            let folder = self.home.project_folder(&project.id);
            let found =
                Store::open(&folder, StoreAccess::Read).and_then(|store| store.activity_by_kind());
            match found {
                Ok(found) => {
                    for KindActivity { kind, last_at } in found {
                        let newest = activity.kinds.entry(kind).or_insert(last_at);
                        *newest = last_at.max(*newest);
                    }
                }
                Err(error) => activity.problems.push((project.root, error)),
            }
        }
        Ok(activity)
    }
}
