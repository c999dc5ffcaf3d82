//! Filters events: keeps paths that the walk would visit, and ignored paths that are tracked.

use std::collections::BTreeSet;

use retake_model::ProjectPath;

use crate::beneath::split;
use crate::rules::{Standing, Verdict};
use crate::{RuleSources, Rules};

/// The ignore rules, as the walk applies them, and the exceptions from them.
#[derive(Debug)]
pub(crate) struct Sieve {
    rules: Rules,
    always: BTreeSet<ProjectPath>,
}

impl Sieve {
    pub(crate) fn new(rules: &RuleSources) -> Self {
        Self { rules: Rules::new(rules.clone()), always: BTreeSet::new() }
    }

    /// Replaces the rules; `false` if they are the same.
    pub(crate) fn set_rules(&mut self, rules: &RuleSources) -> bool {
        let differ = self.rules.sources() != rules;
        if differ {
            self.rules = Rules::new(rules.clone());
        }
        differ
    }

    /// Replaces the exceptions; `false` if they are the same.
    pub(crate) fn set_always(&mut self, paths: BTreeSet<ProjectPath>) -> bool {
        let differ = paths != self.always;
        self.always = paths;
        differ
    }

    /// Returns the standing of a folder; `None` if no event in it matters.
    #[cfg(target_os = "linux")]
    pub(crate) fn standing_below(
        &self,
        above: &Standing,
        folder: &ProjectPath,
    ) -> Option<Standing> {
        let bytes = folder.as_bytes();
        match self.rules.set().judge(self.rules.chain_for(split(bytes).0), above, bytes, true) {
            Verdict::Keep(standing) | Verdict::Ignored { closed: Some(standing), .. } => {
                Some(standing)
            }
            Verdict::Ignored { reason, .. } => self.is_exception(folder).then(|| reason.close()),
        }
    }

    /// Returns `true` if events of a name in a folder with this standing matter.
    pub(crate) fn wants(&self, standing: &Standing, path: &ProjectPath, is_dir: bool) -> bool {
        let bytes = path.as_bytes();
        let chain = self.rules.chain_for(split(bytes).0);
        match self.rules.set().judge(chain, standing, bytes, is_dir) {
            Verdict::Keep(_) | Verdict::Ignored { closed: Some(_), .. } => true,
            Verdict::Ignored { .. } => self.is_exception(path),
        }
    }

    /// Like [`Sieve::wants`], for callers without the standing of the path's folder.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(crate) fn wants_anywhere(&self, path: &ProjectPath, is_dir: bool) -> bool {
        match self.rules.standing(split(path.as_bytes()).0) {
            Some(standing) => self.wants(&standing, path, is_dir),
            None => self.is_exception(path),
        }
    }

    /// Returns `true` if the path, or one beneath it, is tracked although it is ignored.
    fn is_exception(&self, path: &ProjectPath) -> bool {
        self.always.contains(path) || path.those_beneath(&self.always).next().is_some()
    }
}
