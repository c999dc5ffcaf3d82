//! Which events matter: what the walk would look at, and what is tracked although it is ignored.

use std::collections::BTreeSet;

use retake_model::ProjectPath;

use crate::beneath::split;
use crate::rules::{Standing, Verdict};
use crate::{RuleSources, Rules};

/// The rules, as the walk asks them, and the exceptions from them.
#[derive(Debug)]
pub(crate) struct Sieve {
    rules: Rules,
    always: BTreeSet<ProjectPath>,
}

impl Sieve {
    pub(crate) fn new(rules: &RuleSources) -> Self {
        Self { rules: Rules::new(rules.clone()), always: BTreeSet::new() }
    }

    /// Takes other rules; `false` if they are the same.
    pub(crate) fn set_rules(&mut self, rules: &RuleSources) -> bool {
        let differ = self.rules.sources() != rules;
        if differ {
            self.rules = Rules::new(rules.clone());
        }
        differ
    }

    /// Takes other exceptions; `true` if some are new.
    pub(crate) fn set_always(&mut self, paths: BTreeSet<ProjectPath>) -> bool {
        let grows = !paths.is_subset(&self.always);
        self.always = paths;
        grows
    }

    /// How names in a folder stand; `None` if the walk does not enter it.
    #[cfg(target_os = "linux")]
    pub(crate) fn standing_below(&self, above: &Standing, folder: &[u8]) -> Option<Standing> {
        self.rules.standing_below(above, folder)
    }

    /// Whether a name in a folder that stands like this matters.
    pub(crate) fn wants(&self, standing: &Standing, path: &ProjectPath, is_dir: bool) -> bool {
        let bytes = path.as_bytes();
        let chain = self.rules.chain_for(split(bytes).0);
        match self.rules.set().judge(chain, standing, bytes, is_dir) {
            Verdict::Keep(_) | Verdict::Ignored { closed: Some(_), .. } => true,
            Verdict::Ignored { .. } => self.is_exception(path),
        }
    }

    /// Like [`Sieve::wants`], for who does not know how the path's folder stands.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(crate) fn wants_anywhere(&self, path: &ProjectPath, is_dir: bool) -> bool {
        match self.rules.standing(split(path.as_bytes()).0) {
            Some(standing) => self.wants(&standing, path, is_dir),
            None => self.is_exception(path),
        }
    }

    /// Whether the path, or one beneath it, is tracked although it is ignored.
    fn is_exception(&self, path: &ProjectPath) -> bool {
        self.always.contains(path) || inside(&self.always, path).next().is_some()
    }
}

/// The members of a set that lie beneath `folder`.
pub(crate) fn inside<'a>(
    set: &'a BTreeSet<ProjectPath>,
    folder: &'a ProjectPath,
) -> impl Iterator<Item = &'a ProjectPath> {
    // Not from the folder itself on: `a.b` sorts between `a` and `a/b`.
    let first = folder.child(b"\x01").expect("the least name is a name");
    set.range(first..).take_while(|path| path.is_beneath(folder))
}
