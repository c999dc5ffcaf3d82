//! The calls that matter to a scan: those on record that may still change files, and those that the
//! events at hand begin.

use std::collections::{HashMap, HashSet};

use retake_model::{CallId, DialogId, Millis, ProjectPath};
use retake_store::{Batch, Call, FileLock, StoreError};

use crate::calls::call_id;
use crate::calls::open_call::LiveCall;
use crate::project::Project;
use crate::tool::ToolKind;

/// Maximum duration of an edit call, unless a person is asked.
const MAX_EDIT_DURATION: Millis = 60 * 1000;
/// Age at which an open call is no longer loaded.
const MAX_CALL_DURATION: Millis = 6 * 60 * 60 * 1000;

/// The calls that matter to a scan, with those that the received events add.
#[derive(Debug)]
pub(crate) struct LiveCalls {
    pub(crate) live: Vec<LiveCall>,
    pub(super) next_temporary: i64,
    /// Messages that arrived with the same events, and are not counted in the store yet.
    pub(super) messages: HashMap<DialogId, u64>,
    /// Calls that have ended with the same events: changes can be attributed to them, but they
    /// cannot end again.
    pub(super) ended: HashSet<i64>,
    /// Calls of runs that were killed: no end will be reported.
    pub(crate) orphaned: Vec<i64>,
    /// Calls that Retake denied and that end all the same.
    pub(crate) denied: Vec<i64>,
}

impl LiveCalls {
    pub(crate) fn load(
        project: &Project,
        batch: &Batch<'_>,
        at: Millis,
    ) -> Result<Self, StoreError> {
        let mut calls = batch.live_calls()?;
        let lives = |call: &Call| FileLock::is_run_alive(batch.folder(), &call.dialog.0);
        // The window of an agent that was killed would otherwise never close.
        let is_fresh = |call: &Call| at.saturating_sub(call.begin_at) < MAX_CALL_DURATION;
        calls.retain(|call| is_fresh(call) || lives(call) == Some(true));
        let is_orphan = |call: &&Call| lives(call) == Some(false);
        let orphaned = calls.iter().filter(is_orphan).map(|call| call.row).collect();
        let live = project.target_cache.borrow_mut().live_calls(project.path_base(), calls);
        Ok(Self { live, orphaned, ..Self::empty() })
    }

    /// For events that concern no calls.
    pub(crate) fn empty() -> Self {
        Self {
            live: Vec::new(),
            next_temporary: -1,
            messages: HashMap::new(),
            ended: HashSet::new(),
            orphaned: Vec::new(),
            denied: Vec::new(),
        }
    }

    /// Paths that open edit tools work on. A change found before the call ends cannot be attributed
    /// to it yet; but a call may also wait long for the person's permission.
    pub(crate) fn paths_being_edited(&self, at: Millis) -> impl Iterator<Item = ProjectPath> {
        self.open_edits(at).flat_map(|live| live.call_targets.named.clone())
    }

    /// The edit calls that may be running.
    pub(crate) fn open_edits(&self, at: Millis) -> impl Iterator<Item = &LiveCall> {
        let edits = |live: &&LiveCall| matches!(live.kind(), ToolKind::Write | ToolKind::Edit);
        self.calls_at_work(at).filter(edits)
    }

    /// Returns true if a new file may be a scratch file of a command, which is known only after the
    /// command has ended. A path that a call could change, and so remove, is never scratch.
    pub(crate) fn may_be_scratch(&self, path: &ProjectPath, at: Millis) -> bool {
        let could_change = |live: &LiveCall| live.is_open() && live.could_change(path);
        self.calls_at_work(at).any(|live| live.could_be_scratch(path))
            && !self.live.iter().any(could_change)
    }

    fn calls_at_work(&self, at: Millis) -> impl Iterator<Item = &LiveCall> {
        let is_short =
            move |live: &LiveCall| at.saturating_sub(live.call.begin_at) < MAX_EDIT_DURATION;
        self.live.iter().filter(move |live| live.is_open() && is_short(live))
    }

    pub(crate) fn get(&self, row: i64) -> Option<&LiveCall> {
        self.live.iter().find(|live| live.call.row == row)
    }

    pub(super) fn open_row(&self, dialog: &DialogId, call: &CallId) -> Option<i64> {
        let is_it = |live: &&LiveCall| {
            self.is_open(live) && live.call.dialog == *dialog && live.call.call == *call
        };
        self.live.iter().find(is_it).map(|live| live.call.row)
    }

    /// The oldest open call of a dialog whose id has this stem.
    pub(crate) fn oldest_open(&self, dialog: &DialogId, stem: &str) -> Option<CallId> {
        let is_it = |live: &&LiveCall| {
            self.is_open(live)
                && live.call.dialog == *dialog
                && call_id::has_stem(&live.call.call, stem)
        };
        self.live.iter().find(is_it).map(|live| live.call.call.clone())
    }

    fn is_open(&self, live: &LiveCall) -> bool {
        live.is_open() && !self.ended.contains(&live.call.row)
    }

    /// Returns true if a dialog has a call with this id among these.
    pub(crate) fn contains(&self, dialog: &DialogId, call: &CallId) -> bool {
        self.live.iter().any(|live| live.call.dialog == *dialog && live.call.call == *call)
    }
}
