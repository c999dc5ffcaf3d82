//! Parameters of a scan: why it runs, which paths it covers, and what it may defer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use retake_model::{Millis, ProjectPath};
use retake_workspace::{IgnoredName, SuspectFile, Workspace};

use crate::calls::live_calls::LiveCalls;
use crate::scan::hints::FullScanSnapshot;
use crate::settings::Settings;

/// Trigger of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanTrigger {
    /// A command or an event requires the current state.
    Requested,
    /// The watcher saw a change; no caller waits.
    Watcher,
    /// Retake did not run for a while.
    Reconcile,
}

/// Ignored paths, and other findings that only a full scan has.
#[derive(Clone, Debug, Default)]
pub(crate) struct IgnoredSummary {
    pub(crate) ignored: Vec<IgnoredName>,
    pub(crate) ignored_count: u64,
    pub(crate) scratch: u64,
    pub(crate) nested_repositories: Vec<ProjectPath>,
}

/// Trigger and time of a scan.
#[derive(Clone, Copy)]
pub(crate) struct ScanStart {
    pub(crate) trigger: ScanTrigger,
    pub(crate) at: Millis,
}

/// The paths to scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScanScope {
    /// Exactly these paths.
    Paths(Vec<ProjectPath>),
    /// The whole project.
    Everything,
}

/// The earlier state of a path that rules hide, that the manifest does not have, and that is
/// scanned because a tool or the shield names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HiddenPathState {
    /// It existed before.
    Baseline,
    /// New: an earlier scan of the path found nothing.
    New,
    /// The state before is unknown.
    UnknownBefore,
}

/// Parameters of a scan.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the project")]
#[derive(Debug)]
pub(crate) struct ScanRequest<'a> {
    pub(crate) scope: ScanScope,
    /// Paths that are scanned even if rules hide them.
    pub(crate) always_scanned: Vec<ProjectPath>,
    pub(crate) hidden: HiddenPathState,
    /// The project has no manifest yet: everything is baseline.
    pub(crate) first: bool,
    pub(crate) workspace: &'a Workspace,
    pub(crate) settings: &'a Settings,
    pub(crate) global_excludes: Option<&'a Path>,
    pub(crate) global_attributes: Option<&'a Path>,
    /// A file in Retake's own folder that may be written; its mtime detects racy stats.
    pub(crate) stamp: PathBuf,
    /// Set if that file is on the project's device.
    pub(crate) same_device: bool,
    /// Set if a full scan leaves a snapshot for narrower ones.
    pub(crate) watched: bool,
    /// The snapshot of the last full scan.
    pub(crate) snapshot: Option<Arc<FullScanSnapshot>>,
    pub(crate) deferred: DeferredPaths<'a>,
    /// Set if calls are open that began at an earlier scan: they are judged by the rules at their
    /// begin.
    pub(crate) has_open_calls: bool,
    /// Ignored paths that the watcher saw move.
    pub(crate) moved_ignored: BTreeSet<ProjectPath>,
}

/// Paths whose content this scan does not capture.
#[derive(Debug, Default)]
pub(crate) struct DeferredPaths<'a> {
    pub(crate) paths: BTreeSet<ProjectPath>,
    /// The calls whose scratch files are deferred, and the time.
    pub(crate) scratch_of: Option<(&'a LiveCalls, Millis)>,
}

impl DeferredPaths<'_> {
    pub(super) fn contains(&self, suspect: &SuspectFile) -> bool {
        let is_scratch = |(calls, at): (&LiveCalls, _)| calls.may_be_scratch(&suspect.path, at);
        self.paths.contains(&suspect.path)
            || (!suspect.known && self.scratch_of.is_some_and(is_scratch))
    }
}
