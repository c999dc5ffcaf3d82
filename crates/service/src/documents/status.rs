//! Unreviewed agent changes, and unprotected files.

use retake_engine::model::{self, AgentId, Millis};
use retake_engine::{self as engine, RefreshOutcome, StoreError, iso_8601};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::agent_kinds::AgentKinds;
use super::path::{PathName, hex_if_needed, path_names};
use super::{InterruptedDocument, LocatePaths as _, StaleAgentDocument};
use crate::{ApiError, Masking};

/// Milliseconds without activity after which a dialog's stale agents are not listed.
pub const ACTIVE_WINDOW_MS: Millis = 24 * 60 * 60 * 1000;

/// What agents did that nobody has decided on, and what is not protected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Status)]
pub struct StatusDocument {
    /// The project's folder.
    pub root: String,
    /// The folder of its record.
    pub store: String,
    /// Whether the files were looked at for this; if not, this is what was last recorded.
    pub looked: bool,
    /// By dialog, the latest one first; what dialogs share comes last.
    pub dialogs: Vec<DialogWork>,
    /// What git took back of agents' changes: in no file now, and it counts again if git brings it
    /// back.
    #[serde(default)]
    pub taken_back_by_git: Vec<TakenBackRow>,
    /// Agents of dialogs that were active within a day, which have not seen files as they are.
    pub stale: Vec<StaleAgentDocument>,
    /// What is not protected.
    pub gaps: Vec<GapDocument>,
    /// Ignore rules that agents changed and nobody has decided on.
    #[serde(default)]
    pub rule_changes: Vec<RuleChangeDocument>,
    /// Rejections that wait for the end of a turn.
    #[serde(default)]
    pub queued_rejections: u64,
    /// Comments that are not sent yet.
    #[serde(default)]
    pub draft_comments: u64,
    /// Files that are tracked.
    pub files: u64,
    /// Changes on record.
    pub changes: u64,
    /// Events that wait to be taken in.
    pub spooled: u64,
    /// Bytes that the record takes on disk.
    pub store_bytes: u64,
    /// How many names rules leave out.
    pub ignored_count: Option<u64>,
    /// How many files the scratch filter leaves out.
    pub scratch: Option<u64>,
    /// Folders that are repositories of their own.
    pub nested_repositories: Option<Vec<PathName>>,
    /// What rules leave out, if it was asked for; the first few thousand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<Vec<IgnoredPath>>,
    /// The operation that was interrupted, if one was: nothing is undone before that is settled.
    pub interrupted: Option<InterruptedDocument>,
}

impl StatusDocument {
    /// The status of a project at this time; `refreshed` is the outcome of a scan just before.
    pub fn read(
        project: &engine::Project,
        at: Millis,
        refreshed: Option<&RefreshOutcome>,
        with_ignored: bool,
        masking: Masking,
    ) -> Result<Self, ApiError> {
        let status = project.status()?;
        let interrupted = project.interrupted()?;
        let stale = project.stale_agents(at.saturating_sub(ACTIVE_WINDOW_MS))?;
        let ignored = refreshed.filter(|_| with_ignored).map(|outcome| &outcome.ignored);
        let mut kinds = AgentKinds::new(project);
        let dialogs = status.dialogs.iter().map(|one| DialogWork::new(one, &mut kinds, masking));
        let dialogs = dialogs.collect::<Result<_, StoreError>>()?;
        let taken_back = status.taken_back_by_git.iter();
        let taken_back = taken_back.map(|row| TakenBackRow::new(row, &mut kinds));
        let taken_back = taken_back.collect::<Result<_, StoreError>>()?;
        let rules = project.rule_changes()?;
        let rules = rules.iter().map(|rule| RuleChangeDocument::new(rule, &mut kinds));
        let rule_changes = rules.collect::<Result<_, StoreError>>()?;
        let document = Self {
            root: project.root().to_string_lossy().into_owned(),
            store: project.folder().to_string_lossy().into_owned(),
            looked: refreshed.is_some(),
            dialogs,
            taken_back_by_git: taken_back,
            stale: stale.iter().map(StaleAgentDocument::from).collect(),
            gaps: status.gaps.iter().map(|(gap, since)| GapDocument::new(gap, *since)).collect(),
            rule_changes,
            queued_rejections: project.waiting_rejections()?.len() as u64,
            draft_comments: project.draft_comments()?,
            files: status.files,
            changes: status.changes,
            spooled: status.spooled as u64,
            store_bytes: status.store_bytes,
            ignored_count: refreshed.map(|outcome| outcome.ignored_count),
            scratch: refreshed.map(|outcome| outcome.scratch),
            nested_repositories: refreshed.map(|outcome| path_names(&outcome.nested_repositories)),
            ignored: ignored.map(|ignored| ignored.iter().map(IgnoredPath::from).collect()),
            interrupted: interrupted.as_ref().map(InterruptedDocument::from),
        };
        Ok(document.located(project.root()))
    }
}

/// What the agents of one dialog did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DialogWork {
    /// The dialog; null for what several dialogs share.
    pub dialog: Option<String>,
    /// The product of its main agent.
    pub kind: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// When it last did anything.
    pub last_activity: Option<String>,
    /// Its agents.
    pub agents: Vec<AgentWork>,
}

impl DialogWork {
    fn new(
        status: &engine::DialogStatus,
        kinds: &mut AgentKinds<'_>,
        masking: Masking,
    ) -> Result<Self, StoreError> {
        let dialog = status.dialog.as_ref();
        let mut agents = Vec::new();
        for (agent, paths) in &status.agents {
            let kind = kinds.find(status.id.as_ref(), agent.as_ref())?;
            agents.push(AgentWork::new(agent.as_ref(), kind, paths));
        }
        Ok(Self {
            dialog: dialog.map(|dialog| dialog.id.0.clone()),
            kind: dialog.and_then(|dialog| dialog.kind.clone()),
            title: dialog.and_then(|dialog| masking.mask_optional(dialog.title.as_deref())),
            last_activity: dialog.map(|dialog| iso_8601(dialog.last_at)),
            agents,
        })
    }
}

/// The paths that one agent changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentWork {
    /// The agent; null for what several agents share.
    pub agent: Option<String>,
    /// Its product.
    #[serde(default)]
    pub kind: Option<String>,
    /// The paths.
    pub files: Vec<StatusRowDocument>,
}

impl AgentWork {
    fn new(agent: Option<&AgentId>, kind: Option<String>, paths: &[engine::PendingPath]) -> Self {
        Self {
            agent: agent.map(|id| id.0.clone()),
            kind,
            files: paths.iter().map(StatusRowDocument::from).collect(),
        }
    }
}

/// A path that an agent changed and nobody has decided on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = StatusRow)]
pub struct StatusRowDocument {
    /// The path.
    #[serde(flatten)]
    pub path: PathName,
    /// `added`, `modified`, `deleted` or `renamed`; null if it came and went.
    pub status: Option<String>,
    /// The path before, if the first of the changes moved it here.
    #[serde(default)]
    pub old_path: Option<String>,
    /// The old path's exact bytes in hexadecimal digits; only if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path_hex: Option<String>,
    /// The first line that the last of the changes changed, as lines are numbered after it.
    #[serde(default)]
    pub line: Option<u32>,
    /// How many pending changes it has.
    pub changes: u64,
    /// The first of them.
    pub first: String,
    /// The last of them.
    pub last: String,
    /// Lines that they added; null if none of them has lines.
    pub added: Option<u64>,
    /// Lines that they removed; null if none of them has lines.
    pub removed: Option<u64>,
}

impl From<&engine::PendingPath> for StatusRowDocument {
    fn from(row: &engine::PendingPath) -> Self {
        Self {
            path: (&row.path).into(),
            status: net_status(row).map(ToOwned::to_owned),
            old_path: row.old_path.as_ref().map(ToString::to_string),
            old_path_hex: row.old_path.as_ref().and_then(hex_if_needed),
            line: row.line,
            changes: row.changes,
            first: row.first.to_string(),
            last: row.last.to_string(),
            added: row.added,
            removed: row.removed,
        }
    }
}

/// What git took back of an agent's changes to a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TakenBack)]
pub struct TakenBackRow {
    /// The dialog; null for what several dialogs share.
    pub dialog: Option<String>,
    /// The agent; null for what several agents share.
    pub agent: Option<String>,
    /// The product of the agent.
    #[serde(default)]
    pub kind: Option<String>,
    /// The changes.
    #[serde(flatten)]
    pub row: StatusRowDocument,
}

impl TakenBackRow {
    fn new(row: &engine::PendingPath, kinds: &mut AgentKinds<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            dialog: row.dialog.as_ref().map(|id| id.0.clone()),
            agent: row.agent.as_ref().map(|id| id.0.clone()),
            kind: kinds.find(row.dialog.as_ref(), row.agent.as_ref())?,
            row: row.into(),
        })
    }
}

/// What an agent's changes made of a path in all; none if it came and went.
pub fn net_status(row: &engine::PendingPath) -> Option<&'static str> {
    match (row.existed, row.exists) {
        (false, false) => None,
        (true, false) => Some("deleted"),
        (true, true) if row.old_path.is_some() => Some("renamed"),
        (true, true) => Some("modified"),
        (false, true) => Some("added"),
    }
}

/// Something that is not protected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Gap)]
pub struct GapDocument {
    /// The path, or the folder under which everything is concerned.
    #[serde(flatten)]
    pub path: PathName,
    /// Why: a stable name.
    #[schema(example = "too_large")]
    pub reason: String,
    /// A detail for people.
    pub detail: String,
    /// Since when.
    #[schema(format = DateTime)]
    pub since: String,
}

impl GapDocument {
    fn new(gap: &model::Gap, since: Millis) -> Self {
        Self {
            path: (&gap.path).into(),
            reason: gap.reason.as_str().to_owned(),
            detail: gap.detail.clone(),
            since: iso_8601(since),
        }
    }
}

/// A rule file that an agent changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = RuleChange)]
pub struct RuleChangeDocument {
    /// The rule file.
    #[serde(flatten)]
    pub path: PathName,
    /// The first of the changes.
    pub change: String,
    /// The dialog; null if several may have done it.
    pub dialog: Option<String>,
    /// The agent; null if several may have done it.
    pub agent: Option<String>,
    /// The product of the agent.
    #[serde(default)]
    pub kind: Option<String>,
    /// What is hidden now and was not before; a folder stands for all that is in it.
    pub hides: Vec<PathName>,
}

impl RuleChangeDocument {
    fn new(rule: &engine::RuleChange, kinds: &mut AgentKinds<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            path: (&rule.path).into(),
            change: rule.change.to_string(),
            dialog: rule.dialog.as_ref().map(|dialog| dialog.0.clone()),
            agent: rule.agent.as_ref().map(|agent| agent.0.clone()),
            kind: kinds.find(rule.dialog.as_ref(), rule.agent.as_ref())?,
            hides: path_names(&rule.hides),
        })
    }
}

/// Something that rules leave out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IgnoredPath {
    /// The path.
    #[serde(flatten)]
    pub path: PathName,
    /// Whether it is a folder, with all that is in it.
    pub folder: bool,
    /// The rule.
    pub by: String,
}

impl From<&engine::IgnoredName> for IgnoredPath {
    fn from(ignored: &engine::IgnoredName) -> Self {
        Self { path: (&ignored.path).into(), folder: ignored.is_dir, by: ignored.by.clone() }
    }
}
