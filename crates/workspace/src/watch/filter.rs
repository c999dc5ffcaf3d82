//! Filters events: keeps paths that the walk would visit, and ignored paths that are tracked.

use std::collections::BTreeSet;

use retake_model::ProjectPath;

use crate::rules::{FolderStanding, RuleVerdict};
use crate::safe_open::split_parent;
use crate::{IgnoreRules, RuleSources};

/// The ignore rules, as the walk applies them, and the exceptions from them.
#[derive(Debug)]
pub(crate) struct EventFilter {
    rules: IgnoreRules,
    always_tracked: BTreeSet<ProjectPath>,
}

impl EventFilter {
    pub(crate) fn new(rules: &RuleSources) -> Self {
        Self { rules: IgnoreRules::new(rules.clone()), always_tracked: BTreeSet::new() }
    }

    /// Replaces the rules; `false` if they are the same.
    pub(crate) fn set_rules(&mut self, rules: &RuleSources) -> bool {
        let differ = self.rules.sources() != rules;
        if differ {
            self.rules = IgnoreRules::new(rules.clone());
        }
        differ
    }

    /// Replaces the exceptions; `false` if they are the same.
    pub(crate) fn set_always_tracked(&mut self, paths: BTreeSet<ProjectPath>) -> bool {
        let differ = paths != self.always_tracked;
        self.always_tracked = paths;
        differ
    }

    /// Returns the standing of a folder; `None` if no event in it matters.
    #[cfg(target_os = "linux")]
    pub(crate) fn standing_below(
        &self,
        above: &FolderStanding,
        folder: &ProjectPath,
    ) -> Option<FolderStanding> {
        let bytes = folder.as_bytes();
        match self.rules.global_rules().judge(
            self.rules.chain_for(split_parent(bytes).0),
            above,
            bytes,
            true,
        ) {
            RuleVerdict::Keep(standing) | RuleVerdict::Ignored { closed: Some(standing), .. } => {
                Some(standing)
            }
            RuleVerdict::Ignored { reason, .. } => {
                self.is_exception(folder).then(|| reason.closed_standing())
            }
        }
    }

    /// Returns `true` if events of a name in a folder with this standing matter.
    pub(crate) fn accepts(
        &self,
        standing: &FolderStanding,
        path: &ProjectPath,
        is_dir: bool,
    ) -> bool {
        let bytes = path.as_bytes();
        let chain = self.rules.chain_for(split_parent(bytes).0);
        match self.rules.global_rules().judge(chain, standing, bytes, is_dir) {
            RuleVerdict::Keep(_) | RuleVerdict::Ignored { closed: Some(_), .. } => true,
            RuleVerdict::Ignored { .. } => self.is_exception(path),
        }
    }

    /// Like [`Self::accepts`], for callers without the standing of the path's folder.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(crate) fn accepts_path(&self, path: &ProjectPath, is_dir: bool) -> bool {
        match self.rules.standing(split_parent(path.as_bytes()).0) {
            Some(standing) => self.accepts(&standing, path, is_dir),
            None => self.is_exception(path),
        }
    }

    /// Returns `true` if the path, or one beneath it, is tracked although it is ignored.
    fn is_exception(&self, path: &ProjectPath) -> bool {
        self.always_tracked.contains(path)
            || path.those_beneath(&self.always_tracked).next().is_some()
    }
}
