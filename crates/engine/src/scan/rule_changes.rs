//! Ignore rules that agents changed, and the paths they hide.
//!
//! New files that a rule hides are not recorded from the next call on, so the person should know of
//! a rule that an agent wrote and that is not reviewed yet.

use retake_model::{AgentId, ChangeId, DialogId, PathState, ProjectPath};
use retake_store::{PendingPath, StoreError};
use retake_workspace::{IGNORE_FILE, IgnoreRules};

use crate::project::Project;
use crate::scan::state;

/// A rule file that an agent changed and that is not reviewed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleChange {
    /// The rule file.
    pub path: ProjectPath,
    /// The first of the changes.
    pub change: ChangeId,
    /// The dialog; none if several are candidates.
    pub dialog: Option<DialogId>,
    /// The agent; none if several are candidates.
    pub agent: Option<AgentId>,
    /// Paths that the rules hide now and did not hide before: files, and folders with all that is
    /// in them.
    pub hides: Vec<ProjectPath>,
}

impl Project {
    /// The rule files that agents changed and that are not reviewed yet, as of the last full scan.
    pub fn rule_changes(&self) -> Result<Vec<RuleChange>, StoreError> {
        let pending = self.store().pending_paths()?.into_iter();
        let rule_files = pending.filter(|row| row.path.file_name() == IGNORE_FILE);
        rule_files.map(|row| self.rule_change(row)).collect()
    }

    fn rule_change(&self, row: PendingPath) -> Result<RuleChange, StoreError> {
        let before =
            self.store().change(row.first)?.map_or(PathState::Unknown, |change| change.before);
        let before = match before {
            PathState::Known(state) => self.store().read_if_intact(&state.oid)?,
            PathState::Absent | PathState::Unknown => None,
        };
        let mut sources = state::load_rules(self.store())?.unwrap_or_default();
        let folder = row.path.parent().map_or_else(Vec::new, |folder| folder.as_bytes().to_vec());
        match before {
            Some(text) => sources.ignore_files.insert(folder.clone(), text),
            None => sources.ignore_files.remove(&folder),
        };
        let rules = IgnoreRules::new(sources);
        let names = state::load_ignored_names(self.store())?.unwrap_or_default();
        let is_new = |path: &ProjectPath| !rules.is_ignored(path, self.workspace().is_folder(path));
        let hides = names.into_iter().filter(is_new).collect();
        let PendingPath { path, first, dialog, agent, .. } = row;
        Ok(RuleChange { path, change: first, dialog, agent, hides })
    }
}
