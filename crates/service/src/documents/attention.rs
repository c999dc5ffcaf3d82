//! What asks for a person's attention, over all projects.

use retake_engine::model::Millis;
use retake_engine::{KnownProject, OpenCallSummary, ProjectAttention, RootPresence, iso_8601};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ApiError;

/// What asks for attention, over all projects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Attention)]
pub struct AttentionDocument {
    /// The sums over the listed projects.
    pub totals: AttentionTotals,
    /// The projects, the one that was recorded to last first.
    pub projects: Vec<AttentionProject>,
    /// Projects that were left out, because more are on record than were asked for.
    pub more: u64,
}

/// The sums over the listed projects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttentionTotals {
    /// Calls that have begun and not ended.
    pub open_calls: u64,
    /// Changes of agents that are not reviewed.
    pub unreviewed_changes: u64,
    /// Files that they concern.
    pub unreviewed_files: u64,
    /// Agents that know files which changed since they read them.
    pub stale_agents: u64,
    /// Rejections that wait for the end of a turn.
    #[serde(default)]
    pub queued_rejections: u64,
    /// Comments that are not sent yet.
    #[serde(default)]
    pub draft_comments: u64,
    /// Operations that left files alone.
    pub conflicts: u64,
    /// What is not protected.
    pub gaps: u64,
    /// Projects with an operation that was interrupted.
    pub interrupted: u64,
    /// Events that wait in spools.
    pub spooled: u64,
    /// Bytes that the records take on disk.
    pub store_bytes: u64,
    /// Projects whose folder is gone, or is another one.
    pub missing: u64,
    /// Projects that cannot be read.
    pub unreadable: u64,
}

/// One project in the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttentionProject {
    /// Its id.
    pub id: String,
    /// Its folder.
    pub root: String,
    /// Whether its folder is gone; the record stays readable.
    pub missing: bool,
    /// Whether another folder stands at its path.
    pub replaced: bool,
    /// What asks for attention; null if the record cannot be read.
    pub attention: Option<AttentionCounts>,
    /// Why the record cannot be read.
    pub problem: Option<ApiError>,
}

/// What of one project asks for attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttentionCounts {
    /// Number of calls that have begun and not ended.
    pub open_calls: u64,
    /// The first 20 of them, the oldest first.
    pub calls: Vec<OpenCallDocument>,
    /// Changes of agents that are not reviewed.
    pub unreviewed_changes: u64,
    /// Files that they concern.
    pub unreviewed_files: u64,
    /// Whether these two also count what git took back: above 2000 it is not told apart.
    pub unreviewed_at_most: bool,
    /// Agents of the last day that know files which changed since they read them.
    pub stale_agents: u64,
    /// Those files, counted for each agent.
    pub stale_files: u64,
    /// Rejections that wait for the end of a turn.
    #[serde(default)]
    pub queued_rejections: u64,
    /// Comments that are not sent yet.
    #[serde(default)]
    pub draft_comments: u64,
    /// Operations of the last day that left files alone, and were not undone.
    pub conflicts: u64,
    /// The files that they left.
    pub conflict_files: u64,
    /// What is not protected right now.
    pub gaps: u64,
    /// The operation that was interrupted, if there is one.
    pub interrupted: Option<InterruptedSummary>,
    /// Events that wait in the spool.
    pub spooled: u64,
    /// Bytes that the record takes on disk.
    pub store_bytes: u64,
    /// Bytes that it may take (`retention.max_bytes`).
    pub budget_bytes: u64,
    /// When a dialog last did anything.
    pub last_activity: Option<String>,
    /// Why the settings cannot be used, if so; then the defaults are in force.
    pub settings_problem: Option<String>,
}

/// A call that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = OpenCall)]
pub struct OpenCallDocument {
    /// Its dialog.
    pub dialog: String,
    /// The product of the dialog's main agent.
    #[schema(example = "claude-code")]
    pub kind: Option<String>,
    /// The agent.
    pub agent: String,
    /// The agent's own id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// When it began.
    #[schema(format = DateTime)]
    pub since: String,
}

impl From<&OpenCallSummary> for OpenCallDocument {
    fn from(call: &OpenCallSummary) -> Self {
        Self {
            dialog: call.dialog.0.clone(),
            kind: call.kind.clone(),
            agent: call.agent.clone(),
            call: call.call.clone(),
            tool: call.tool.clone(),
            since: iso_8601(call.since),
        }
    }
}

/// An operation that was begun and not finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InterruptedSummary {
    /// The operation.
    pub operation: String,
    /// What it is.
    pub title: String,
    /// When it began.
    #[schema(format = DateTime)]
    pub at: String,
}

impl From<&ProjectAttention> for AttentionCounts {
    fn from(found: &ProjectAttention) -> Self {
        let interrupted = found.interrupted.as_ref().map(|operation| InterruptedSummary {
            operation: operation.id.to_string(),
            title: operation.title.clone(),
            at: iso_8601(operation.at),
        });
        Self {
            open_calls: found.open_call_count,
            calls: found.open_calls.iter().map(OpenCallDocument::from).collect(),
            unreviewed_changes: found.unreviewed.changes,
            unreviewed_files: found.unreviewed.files,
            unreviewed_at_most: found.is_upper_bound,
            stale_agents: found.stale_agents,
            stale_files: found.stale_files,
            queued_rejections: found.queued_rejections,
            draft_comments: found.draft_comments,
            conflicts: found.left_out.operations,
            conflict_files: found.left_out.files,
            gaps: found.gaps,
            interrupted,
            spooled: found.spool.events,
            store_bytes: found.store_bytes,
            budget_bytes: found.budget_bytes,
            last_activity: found.last_activity.map(iso_8601),
            settings_problem: found.settings_problem.clone(),
        }
    }
}

impl AttentionProject {
    /// One project, with what was found, or why nothing could be.
    pub fn new(known: &KnownProject, found: Result<ProjectAttention, ApiError>) -> Self {
        let (attention, problem) = match found {
            Ok(found) => (Some(AttentionCounts::from(&found)), None),
            Err(problem) => (None, Some(problem)),
        };
        Self {
            id: known.id.clone(),
            root: known.root.to_string_lossy().into_owned(),
            missing: known.presence == RootPresence::Missing,
            replaced: known.presence == RootPresence::Replaced,
            attention,
            problem,
        }
    }
}

impl AttentionDocument {
    /// The summary of these projects; `more` were left out.
    pub fn new(projects: Vec<AttentionProject>, more: u64) -> Self {
        let mut totals = AttentionTotals::default();
        for project in &projects {
            totals.missing += u64::from(project.missing || project.replaced);
            totals.unreadable += u64::from(project.problem.is_some());
            if let Some(counts) = &project.attention {
                totals.add(counts);
            }
        }
        Self { totals, projects, more }
    }
}

impl AttentionTotals {
    fn add(&mut self, counts: &AttentionCounts) {
        self.open_calls += counts.open_calls;
        self.unreviewed_changes += counts.unreviewed_changes;
        self.unreviewed_files += counts.unreviewed_files;
        self.stale_agents += counts.stale_agents;
        self.queued_rejections += counts.queued_rejections;
        self.draft_comments += counts.draft_comments;
        self.conflicts += counts.conflicts;
        self.gaps += counts.gaps;
        self.interrupted += u64::from(counts.interrupted.is_some());
        self.spooled += counts.spooled;
        self.store_bytes += counts.store_bytes;
    }
}

/// Milliseconds back to which stale agents and operations that left files count.
pub const ATTENTION_WINDOW_MS: Millis = 24 * 60 * 60 * 1000;
