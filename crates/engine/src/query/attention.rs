//! What of a project asks for a person's attention, in counts: for a badge or an overview over all
//! projects.
//!
//! Invariant: nothing is scanned, and nothing is written. Counts come by index; lists have a
//! maximum.

use std::path::PathBuf;
use std::time::SystemTime;

use retake_model::{DialogId, Millis, Operation};
use retake_store::{
    CallState, LeftOutCounts, PendingCounts, RootPresence, Spool, SpoolBacklog, StoreError,
};

use crate::project::Project;
use crate::retake::{KnownProject, Retake};

/// Maximum open calls that are listed; all of them are counted.
const MAX_LISTED_CALLS: usize = 20;
/// Maximum pending changes of which those that git took back are told apart, which costs a query
/// for each file.
const MAX_EXACT_PENDING: u64 = 2000;

/// What of a project asks for attention.
#[derive(Clone, Debug)]
pub struct ProjectAttention {
    /// Number of calls that have begun and not ended.
    pub open_call_count: u64,
    /// The first of them, the oldest first.
    pub open_calls: Vec<OpenCallSummary>,
    /// Changes of agents that are not reviewed.
    pub unreviewed: PendingCounts,
    /// Set if the count includes changes that git took back.
    pub is_upper_bound: bool,
    /// Agents that know files which changed since they read them.
    pub stale_agents: u64,
    /// Those files, counted for each agent.
    pub stale_files: u64,
    /// Rejections that wait for the end of a turn.
    pub queued_rejections: u64,
    /// Comments that are not sent yet.
    pub draft_comments: u64,
    /// Operations that left files alone.
    pub left_out: LeftOutCounts,
    /// Number of gaps.
    pub gaps: u64,
    /// The operation that was begun and not finished.
    pub interrupted: Option<Operation>,
    /// Events that wait in the spool.
    pub spool: SpoolBacklog,
    /// Bytes that the record takes on disk.
    pub store_bytes: u64,
    /// Bytes that the record may take.
    pub budget_bytes: u64,
    /// When a dialog last did anything.
    pub last_activity: Option<Millis>,
    /// What stands at the project's path.
    pub presence: RootPresence,
    /// The reason why the settings cannot be used.
    pub settings_problem: Option<String>,
}

/// A call that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCallSummary {
    /// Its dialog.
    pub dialog: DialogId,
    /// The product of the dialog's main agent.
    pub kind: Option<String>,
    /// The agent.
    pub agent: String,
    /// The agent's own id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// When it began.
    pub since: Millis,
}

impl Project {
    /// Returns what asks for attention; stale agents and operations count if they were active
    /// since then.
    pub fn attention(&self, since: Millis) -> Result<ProjectAttention, StoreError> {
        let store = self.store();
        let (unreviewed, is_upper_bound) = self.unreviewed_counts()?;
        let stale = self.stale_agents(since)?;
        let (open_call_count, open_calls) = self.open_call_summaries()?;
        Ok(ProjectAttention {
            open_call_count,
            open_calls,
            unreviewed,
            is_upper_bound,
            stale_agents: stale.len() as u64,
            stale_files: stale.iter().map(|agent| agent.files as u64).sum(),
            queued_rejections: store.waiting_rejections()?.len() as u64,
            draft_comments: self.draft_comments()?,
            left_out: store.left_out_counts(since)?,
            gaps: store.gap_count()?,
            interrupted: store.unfinished_operation()?,
            spool: self.spool_backlog()?,
            store_bytes: store.disk_size(),
            budget_bytes: self.settings().retention.max_bytes,
            last_activity: store.last_activity()?,
            presence: self.root_presence(),
            settings_problem: self.settings_problem().map(ToString::to_string),
        })
    }

    /// Returns what waits in the spool.
    pub fn spool_backlog(&self) -> Result<SpoolBacklog, StoreError> {
        Spool::new(self.store().folder()).backlog()
    }

    /// Counts as the status does, as long as that is cheap.
    fn unreviewed_counts(&self) -> Result<(PendingCounts, bool), StoreError> {
        let all = self.store().pending_counts()?;
        if all.changes == 0 || all.changes > MAX_EXACT_PENDING {
            return Ok((all, all.changes > 0));
        }
        let (in_files, _) = self.pending_rows()?;
        let files: std::collections::BTreeSet<_> = in_files.iter().map(|row| &row.path).collect();
        let changes = in_files.iter().map(|row| row.changes).sum();
        Ok((PendingCounts { changes, files: files.len() as u64 }, false))
    }

    fn open_call_summaries(&self) -> Result<(u64, Vec<OpenCallSummary>), StoreError> {
        let mut calls = self.store().live_calls()?;
        calls.retain(|call| call.state == CallState::Open);
        let count = calls.len() as u64;
        let mut summaries = Vec::new();
        for call in calls.into_iter().take(MAX_LISTED_CALLS) {
            let kind = self.store().dialog(&call.dialog)?.and_then(|dialog| dialog.kind);
            summaries.push(OpenCallSummary {
                dialog: call.dialog,
                kind,
                agent: call.agent.0,
                call: call.call.0,
                tool: call.tool,
                since: call.begin_at,
            });
        }
        Ok((count, summaries))
    }
}

impl Retake {
    /// Every project on record, the one that was recorded to last first.
    pub fn projects_by_activity(&self) -> Result<Vec<KnownProject>, StoreError> {
        let mut projects: Vec<_> = self
            .projects()?
            .into_iter()
            .map(|project| (self.last_written(&project.id), project))
            .collect();
        projects.sort_by(|(at, one), (other_at, other)| {
            other_at.cmp(at).then_with(|| one.id.cmp(&other.id))
        });
        Ok(projects.into_iter().map(|(_, project)| project).collect())
    }

    /// Returns what waits in a project's spool, without opening the project.
    pub fn spool_backlog(&self, id: &str) -> Result<SpoolBacklog, StoreError> {
        Spool::new(&self.home.project_folder(id)).backlog()
    }

    /// Returns the bytes that are free where the records lie.
    pub fn free_bytes(&self) -> Option<u64> {
        retake_store::free_bytes(self.home.folder())
    }

    fn last_written(&self, id: &str) -> Option<SystemTime> {
        let written = |file: &PathBuf| file.metadata().and_then(|data| data.modified()).ok();
        self.record_files(id).iter().filter_map(written).max()
    }

    fn record_files(&self, id: &str) -> [PathBuf; 2] {
        let folder = self.home.project_folder(id);
        ["retake.db", "retake.db-wal"].map(|name| folder.join(name))
    }
}
