//! Ignore rules as a value, with git's semantics.
//!
//! Order of precedence: include patterns, negations in the user's rules,
//! scratch patterns, then `.gitignore` files from the deepest up,
//! `.git/info/exclude`, `core.excludesFile`, and last the default profile.
//! As in git, nothing beneath an ignored folder can be taken back in by a
//! negation; only include patterns reach there.
//!
//! Invariant: [`IgnoreRules`] built from [`crate::ScanResult::sources`] answer as the scan
//! did, because both use [`GlobalRules::judge`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gix_ignore::search::Match;
use retake_model::ProjectPath;

use crate::include::IncludePatterns;
use crate::pattern_list::PatternList;
use crate::safe_open::split_parent;
use crate::walk::IGNORE_FILE;

/// The texts that ignore rules are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSources {
    /// `.gitignore` contents by folder (relative to the root; empty: the root).
    pub ignore_files: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The content of `.git/info/exclude`.
    pub exclude: Vec<u8>,
    /// The content of the file that `core.excludesFile` names.
    pub global: Vec<u8>,
    /// Default excludes in gitignore syntax, lowest precedence.
    pub profile: Vec<String>,
    /// Scratch patterns (FILT-1), counted apart.
    pub scratch: Vec<String>,
    /// The user's include patterns: what they match is never ignored. A match
    /// of a folder covers all that is beneath it.
    pub include: Vec<String>,
    /// If set, a `.gitignore` is never ignored itself, unless its folder is: a file that hides
    /// others must be tracked.
    pub keeps_rule_files: bool,
}

impl RuleSources {
    /// Returns `true` if these differ from `other` in `.gitignore` files at most.
    pub fn same_but_for_files(&self, other: &Self) -> bool {
        self.exclude == other.exclude
            && self.global == other.global
            && self.profile == other.profile
            && self.scratch == other.scratch
            && self.include == other.include
            && self.keeps_rule_files == other.keeps_rule_files
    }
}

/// Ignore rules that can be asked about any path.
#[derive(Debug)]
pub struct IgnoreRules {
    sources: RuleSources,
    set: GlobalRules,
    chains: BTreeMap<Vec<u8>, Arc<IgnoreFileChain>>,
}

impl IgnoreRules {
    /// Parses the sources.
    pub fn new(sources: RuleSources) -> Self {
        let set = GlobalRules::new(&sources);
        let mut chains = BTreeMap::new();
        // A folder sorts before what is beneath it, so its chain is there already.
        for (folder, content) in &sources.ignore_files {
            let above = nearest_chain(&chains, folder).cloned();
            chains.insert(folder.clone(), IgnoreFileChain::new(folder, content, above));
        }
        Self { sources, set, chains }
    }

    /// Returns the texts that the rules were parsed from.
    pub fn sources(&self) -> &RuleSources {
        &self.sources
    }

    /// Returns `true` if the rules ignore `path`, or a folder above it.
    pub fn is_ignored(&self, path: &ProjectPath, is_dir: bool) -> bool {
        self.find_reason(path, is_dir).is_some()
    }

    /// Returns the rule that ignores `path`, for people: `.gitignore:3 *.log`.
    pub fn why_ignored(&self, path: &ProjectPath, is_dir: bool) -> Option<String> {
        self.find_reason(path, is_dir).map(|reason| reason.describe())
    }

    /// Asks the folders from the top down, as git does.
    fn find_reason(&self, path: &ProjectPath, is_dir: bool) -> Option<IgnoreReason<'_>> {
        let bytes = path.as_bytes();
        let mut standing = FolderStanding::Open;
        for part in prefixes(bytes) {
            let last = part.len() == bytes.len();
            let chain = self.chain_for(split_parent(part).0);
            match self.set.judge(chain, &standing, part, is_dir || !last) {
                RuleVerdict::Keep(next) => standing = next,
                RuleVerdict::Ignored { reason, closed } => match closed {
                    Some(next) if !last => standing = next,
                    _ => return Some(reason),
                },
            }
        }
        None
    }

    /// Returns the standing of `folder` (empty: the root); `None` if the walk does not enter it.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(crate) fn standing(&self, folder: &[u8]) -> Option<FolderStanding> {
        let slashes = folder.iter().enumerate().filter(|&(_, &b)| b == b'/').map(|(at, _)| at);
        let ends = slashes.chain((!folder.is_empty()).then_some(folder.len()));
        ends.map(|end| &folder[..end])
            .try_fold(FolderStanding::Open, |above, part| self.standing_below(&above, part))
    }

    /// Returns the standing of `folder`, given that of its parent.
    pub(crate) fn standing_below(
        &self,
        above: &FolderStanding,
        folder: &[u8],
    ) -> Option<FolderStanding> {
        match self.set.judge(self.chain_for(split_parent(folder).0), above, folder, true) {
            RuleVerdict::Keep(standing) => Some(standing),
            RuleVerdict::Ignored { closed, .. } => closed,
        }
    }

    /// Returns those of these files that the rules ignore.
    pub fn hidden_files<'p, P>(&self, paths: P) -> Vec<ProjectPath>
    where
        P: IntoIterator<Item = &'p ProjectPath>,
    {
        let mut standings: HashMap<&[u8], Option<FolderStanding>> = HashMap::new();
        let mut hidden = Vec::new();
        for path in paths {
            let (folder, _) = split_parent(path.as_bytes());
            self.cache_standing(folder, &mut standings);
            let standing = standings.get(folder).and_then(Option::as_ref);
            let leaves_out = |standing| {
                let chain = self.chain_for(folder);
                let verdict = self.set.judge(chain, standing, path.as_bytes(), false);
                matches!(verdict, RuleVerdict::Ignored { .. })
            };
            if standing.is_none_or(leaves_out) {
                hidden.push(path.clone());
            }
        }
        hidden
    }

    /// Adds the standing of `folder` to the cache, from the nearest cached one above it on.
    fn cache_standing<'p>(
        &self,
        folder: &'p [u8],
        standings: &mut HashMap<&'p [u8], Option<FolderStanding>>,
    ) {
        if standings.contains_key(folder) {
            return;
        }
        let standing = if folder.is_empty() {
            Some(FolderStanding::Open)
        } else {
            let above = split_parent(folder).0;
            self.cache_standing(above, standings);
            let above = standings.get(above).and_then(Option::as_ref);
            above.and_then(|above| self.standing_below(above, folder))
        };
        standings.insert(folder, standing);
    }

    /// Returns the standing of `folder` (empty: the root); `None` if a walk does not get there.
    pub(crate) fn standing_in(&self, folder: &[u8]) -> Option<FolderStanding> {
        let mut standing = FolderStanding::Open;
        for part in prefixes(folder) {
            let chain = self.chain_for(split_parent(part).0);
            standing = match self.set.judge(chain, &standing, part, true) {
                RuleVerdict::Keep(next) => next,
                RuleVerdict::Ignored { closed, .. } => closed?,
            };
        }
        Some(standing)
    }

    pub(crate) fn global_rules(&self) -> &GlobalRules {
        &self.set
    }

    /// The ignore files that apply to names in `folder`.
    pub(crate) fn chain_for(&self, folder: &[u8]) -> Option<&Arc<IgnoreFileChain>> {
        nearest_chain(&self.chains, folder)
    }
}

/// The folders above a path, from the top down, and last the path itself; of an empty one, none.
fn prefixes(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|&(_, &b)| b == b'/').map(|(at, _)| at);
    let whole = (!path.is_empty()).then_some(path.len());
    slashes.chain(whole).map(|end| &path[..end])
}

fn nearest_chain<'a>(
    chains: &'a BTreeMap<Vec<u8>, Arc<IgnoreFileChain>>,
    folder: &[u8],
) -> Option<&'a Arc<IgnoreFileChain>> {
    let mut folder = folder;
    loop {
        if let Some(chain) = chains.get(folder) {
            return Some(chain);
        }
        if folder.is_empty() {
            return None;
        }
        folder = split_parent(folder).0;
    }
}

/// The `.gitignore` of one folder, linked to the one that applies above it.
#[derive(Debug)]
pub(crate) struct IgnoreFileChain {
    folder: Vec<u8>,
    list: PatternList,
    above: Option<Arc<Self>>,
}

impl IgnoreFileChain {
    pub(crate) fn new(folder: &[u8], content: &[u8], above: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { folder: folder.to_vec(), list: PatternList::parse(content), above })
    }

    /// Number of bytes of a path before the part that the patterns match.
    fn base_len(&self) -> usize {
        if self.folder.is_empty() { 0 } else { self.folder.len() + 1 }
    }
}

/// The state that a folder's names inherit from the rules of the folders above.
#[derive(Clone, Debug)]
pub(crate) enum FolderStanding {
    /// The rules decide name by name.
    Open,
    /// An include pattern took in the folder with all that is beneath it.
    Included,
    /// The folder is ignored; only include patterns can take something in.
    Closed(Arc<(RuleOrigin, String)>),
}

/// The decision of the rules on one name.
pub(crate) enum RuleVerdict<'a> {
    Keep(FolderStanding),
    Ignored {
        reason: IgnoreReason<'a>,
        /// For a folder that an include pattern may match beneath.
        closed: Option<FolderStanding>,
    },
}

/// The list that a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleOrigin {
    IgnoreFile,
    Exclude,
    Global,
    Profile,
    Scratch,
}

/// The rule by which a name is ignored.
pub(crate) enum IgnoreReason<'a> {
    Rule { origin: RuleOrigin, folder: &'a [u8], found: Match<'a> },
    Above(Arc<(RuleOrigin, String)>),
}

impl IgnoreReason<'_> {
    pub(crate) fn origin(&self) -> RuleOrigin {
        match self {
            Self::Rule { origin, .. } => *origin,
            Self::Above(above) => above.0,
        }
    }

    pub(crate) fn describe(&self) -> String {
        let (origin, folder, found) = match self {
            Self::Rule { origin, folder, found } => (*origin, *folder, found),
            Self::Above(above) => return above.1.clone(),
        };
        let (line, pattern) = (found.sequence_number, found.pattern);
        match origin {
            RuleOrigin::IgnoreFile if folder.is_empty() => format!(".gitignore:{line} {pattern}"),
            RuleOrigin::IgnoreFile => {
                format!("{}/.gitignore:{line} {pattern}", String::from_utf8_lossy(folder))
            }
            RuleOrigin::Exclude => format!(".git/info/exclude:{line} {pattern}"),
            RuleOrigin::Global => format!("core.excludesFile:{line} {pattern}"),
            RuleOrigin::Profile => format!("default-excludes {pattern}"),
            RuleOrigin::Scratch => format!("scratch {pattern}"),
        }
    }

    pub(crate) fn closed_standing(&self) -> FolderStanding {
        match self {
            Self::Rule { .. } => FolderStanding::Closed(Arc::new((self.origin(), self.describe()))),
            Self::Above(above) => FolderStanding::Closed(Arc::clone(above)),
        }
    }
}

/// The parsed rules that apply to the whole project.
#[derive(Debug)]
pub(crate) struct GlobalRules {
    include: IncludePatterns,
    scratch: PatternList,
    exclude: PatternList,
    global: PatternList,
    profile: PatternList,
    keeps_rule_files: bool,
}

impl GlobalRules {
    pub(crate) fn new(sources: &RuleSources) -> Self {
        Self {
            include: IncludePatterns::new(&sources.include),
            scratch: PatternList::parse_lines(&sources.scratch),
            exclude: PatternList::parse(&sources.exclude),
            global: PatternList::parse(&sources.global),
            profile: PatternList::parse_lines(&sources.profile),
            keeps_rule_files: sources.keeps_rule_files,
        }
    }

    /// Decides on one name; the folders above it were judged before and gave `standing`.
    pub(crate) fn judge<'a>(
        &'a self,
        chain: Option<&'a Arc<IgnoreFileChain>>,
        standing: &FolderStanding,
        path: &[u8],
        is_dir: bool,
    ) -> RuleVerdict<'a> {
        let is_rule_file = || !is_dir && split_parent(path).1 == IGNORE_FILE;
        if self.keeps_rule_files && matches!(standing, FolderStanding::Open) && is_rule_file() {
            return RuleVerdict::Keep(FolderStanding::Open);
        }
        let reason = match (self.include.decide(path, is_dir), standing) {
            (Some(true), _) | (None, FolderStanding::Included) => {
                return RuleVerdict::Keep(FolderStanding::Included);
            }
            (_, FolderStanding::Closed(above)) => Some(IgnoreReason::Above(Arc::clone(above))),
            (_, FolderStanding::Open | FolderStanding::Included) => {
                self.find_reason(chain, path, is_dir)
            }
        };
        let Some(reason) = reason else {
            return RuleVerdict::Keep(FolderStanding::Open);
        };
        let reopen = is_dir && self.include.may_match_beneath(path);
        let closed = reopen.then(|| reason.closed_standing());
        RuleVerdict::Ignored { reason, closed }
    }

    fn find_reason<'a>(
        &'a self,
        chain: Option<&'a Arc<IgnoreFileChain>>,
        path: &[u8],
        is_dir: bool,
    ) -> Option<IgnoreReason<'a>> {
        let git = self.git_rule(chain, path, is_dir);
        if matches!(&git, Some(IgnoreReason::Rule { found, .. }) if found.pattern.is_negative()) {
            return None;
        }
        let positive = |list: &'a PatternList, origin| {
            let found = list.last_match(path, 0, is_dir)?;
            (!found.pattern.is_negative()).then_some(IgnoreReason::Rule {
                origin,
                folder: &[],
                found,
            })
        };
        positive(&self.scratch, RuleOrigin::Scratch)
            .or(git)
            .or_else(|| positive(&self.profile, RuleOrigin::Profile))
    }

    /// The last rule of git's own lists that matches; it may be a negation.
    fn git_rule<'a>(
        &'a self,
        chain: Option<&'a Arc<IgnoreFileChain>>,
        path: &[u8],
        is_dir: bool,
    ) -> Option<IgnoreReason<'a>> {
        let mut next = chain;
        while let Some(chain) = next {
            if let Some(found) = chain.list.last_match(path, chain.base_len(), is_dir) {
                let folder = &chain.folder;
                return Some(IgnoreReason::Rule { origin: RuleOrigin::IgnoreFile, folder, found });
            }
            next = chain.above.as_ref();
        }
        [(&self.exclude, RuleOrigin::Exclude), (&self.global, RuleOrigin::Global)]
            .into_iter()
            .find_map(|(list, origin)| {
                let found = list.last_match(path, 0, is_dir)?;
                Some(IgnoreReason::Rule { origin, folder: &[], found })
            })
    }
}
