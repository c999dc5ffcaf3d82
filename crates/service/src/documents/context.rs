//! The files in the context of agents, and which of them are stale (DM-12, DM-13, C-26).

use retake_engine::model::{AgentId, DialogId, Millis, ProjectPath};
use retake_engine::{
    self as engine, Audience, Project, RecordState, Staleness, StoreError, iso_8601,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::agent_kinds::AgentKinds;
use super::enum_schemas;
use super::{LocatePaths as _, PathName};

/// Which entries are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextChoice {
    /// Only files that are not as the agent last saw them.
    pub stale: bool,
    /// Every entry of each file instead of its newest one.
    pub timeline: bool,
}

/// The files that a dialog's agents know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Context)]
pub struct ContextDocument {
    /// By agent, then by path, then in the order in which it happened.
    pub files_in_context: Vec<ContextEntryDocument>,
    /// What to ask for the next page with; null if this was the last.
    pub cursor: Option<u64>,
}

/// Something that happened to a file in an agent's context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ContextEntry)]
pub struct ContextEntryDocument {
    /// The file.
    #[serde(flatten)]
    pub path: PathName,
    /// `active`, or `stale` if there is a newer entry; it says nothing of the content.
    #[schema(schema_with = enum_schemas::record_state)]
    pub record_state: String,
    /// What happened.
    #[schema(schema_with = enum_schemas::context_source)]
    pub record_source: String,
    /// When the agent last read the file, in milliseconds since the epoch.
    pub roo_read_date: Option<Millis>,
    /// When the agent last changed it.
    pub roo_edit_date: Option<Millis>,
    /// When somebody else changed it, after the agent's last look.
    pub user_edit_date: Option<Millis>,
    /// Whether the file is not as the agent last saw it.
    pub is_stale: bool,
    /// The agent.
    pub agent: String,
    /// Its product.
    #[serde(default)]
    pub kind: Option<String>,
    /// The lines that it saw then, first and last; null for all of them.
    #[schema(value_type = Option<Vec<Vec<u32>>>)]
    pub lines: Option<Vec<(u32, u32)>>,
    /// Who changed the file, if it was not the agent.
    pub by: Option<ChangedBy>,
    /// The change, if it was one.
    #[schema(example = "c12")]
    pub change: Option<String>,
    /// How the file is not as the agent last saw it; null if it is.
    pub stale: Option<StaleFileDocument>,
}

/// A file that is not as an agent last saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = StaleFile)]
pub struct StaleFileDocument {
    /// The file.
    #[serde(flatten)]
    pub path: PathName,
    /// `lines`, `content` (nobody can tell the lines), `deleted` or `moved`.
    #[schema(example = "lines")]
    pub what: String,
    /// The lines as they are numbered now, first and last; the last is one less than the first
    /// where lines were removed before it.
    #[schema(value_type = Vec<Vec<u32>>)]
    pub lines: Vec<(u32, u32)>,
    /// Where it is now, if it was moved.
    pub moved_to: Option<PathName>,
    /// Who changed it.
    pub by: Vec<ChangedBy>,
    /// When it was first different.
    #[schema(format = DateTime)]
    pub since: Option<String>,
    /// In words.
    #[schema(example = "lines 40–62 changed by you")]
    pub text: String,
}

/// Somebody who changed a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedBy {
    /// What they are.
    #[schema(schema_with = enum_schemas::actor)]
    pub actor: String,
    /// The product, if it is an agent.
    pub kind: Option<String>,
    /// The dialog, if it is an agent.
    pub dialog: Option<String>,
    /// The agent, if it is one.
    pub agent: Option<String>,
    /// The operation, if it was Retake.
    pub operation: Option<String>,
}

/// What an agent should know before it goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = StaleContext)]
pub struct StaleContextDocument {
    /// `note`: tell the agent's model; `deny`: do not run the call, and give the model the message
    /// as the reason.
    #[schema(example = "deny")]
    pub reaction: String,
    /// What to tell the agent's model.
    pub message: String,
    /// The files that are not as the agent last saw them.
    pub files: Vec<StaleFileDocument>,
}

/// An agent that has not seen files as they are now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = StaleAgent)]
pub struct StaleAgentDocument {
    /// The dialog.
    pub dialog: String,
    /// The agent.
    pub agent: String,
    /// Its product.
    pub kind: Option<String>,
    /// How many files.
    pub files: u64,
}

/// What came of telling that an agent has seen files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Marked)]
pub struct MarkedFiles {
    /// How many files are known to the agent as they are now.
    pub marked: u64,
    /// Those that are not tracked, or are no files.
    pub untracked: Vec<PathName>,
}

/// What came of taking in another program's record of an agent's context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextImported {
    /// How many entries were added.
    pub entries: u64,
    /// How many were on record already.
    pub known: u64,
    /// What cannot be in a context.
    pub skipped: Vec<SkippedPath>,
}

/// Something that was not taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkippedPath {
    /// What was named.
    pub path: String,
    /// Why it was not taken in.
    pub reason: String,
}

/// An agent's context as other programs keep it: the file `task_metadata.json` (DM-13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TaskMetadata)]
pub struct TaskMetadataDocument {
    /// What happened to each file, in order.
    pub files_in_context: Vec<TaskMetadataEntry>,
}

/// Something that happened to a file, as other programs keep it (DM-12).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskMetadataEntry {
    /// Relative to the project's root.
    #[schema(example = "src/main.rs")]
    pub path: String,
    /// `active` for the newest entry of a path, else `stale`.
    #[schema(schema_with = enum_schemas::record_state)]
    pub record_state: String,
    /// What happened.
    #[schema(schema_with = enum_schemas::context_source)]
    pub record_source: String,
    /// When the agent last read the file, in milliseconds since the epoch.
    #[schema(required)]
    pub roo_read_date: Option<Millis>,
    /// When the agent last changed it.
    #[schema(required)]
    pub roo_edit_date: Option<Millis>,
    /// When somebody else changed it.
    pub user_edit_date: Option<Millis>,
}

impl ContextDocument {
    /// What these agents of a dialog know.
    pub fn read(
        project: &Project,
        dialog: &DialogId,
        agents: &[AgentId],
        choice: ContextChoice,
    ) -> Result<Self, StoreError> {
        let (mut entries, mut kinds) = (Vec::new(), AgentKinds::new(project));
        for agent in agents {
            let kind = kinds.find(Some(dialog), Some(agent))?;
            for file in project.context(dialog, agent)? {
                if file.stale.is_none() && choice.stale {
                    continue;
                }
                let first = if choice.timeline { 0 } else { file.entries.len() - 1 };
                let shown = first..file.entries.len();
                let entry = |number| ContextEntryDocument {
                    kind: kind.clone(),
                    ..ContextEntryDocument::new(agent, &file, number)
                };
                entries.extend(shown.map(entry));
            }
        }
        let document = Self { files_in_context: entries, cursor: None };
        Ok(document.located(project.root()))
    }

    /// At most `limit` entries from `cursor` on.
    #[must_use]
    pub fn page(mut self, cursor: u64, limit: usize) -> Self {
        let start = self.files_in_context.len().min(cursor as usize);
        let mut page = self.files_in_context.split_off(start);
        let is_last = page.len() <= limit;
        page.truncate(limit);
        Self { files_in_context: page, cursor: (!is_last).then_some((start + limit) as u64) }
    }
}

impl ContextEntryDocument {
    fn new(agent: &AgentId, file: &engine::ContextFile, number: usize) -> Self {
        let entry = &file.entries[number];
        let is_newest = number + 1 == file.entries.len();
        let stale = file.stale.as_ref().filter(|_| is_newest);
        Self {
            path: (&file.path).into(),
            record_state: RecordState::of(is_newest).as_str().to_owned(),
            record_source: entry.source.as_str().to_owned(),
            roo_read_date: entry.dates.read,
            roo_edit_date: entry.dates.edit,
            user_edit_date: entry.dates.user,
            is_stale: file.stale.is_some(),
            agent: agent.0.clone(),
            kind: None,
            lines: entry.lines.as_ref().map(|lines| lines.iter().map(|&one| one.into()).collect()),
            by: entry.by.as_ref().map(ChangedBy::from),
            change: entry.change.map(|change| change.to_string()),
            stale: stale.map(|stale| StaleFileDocument::new(stale, Audience::Person)),
        }
    }
}

impl StaleFileDocument {
    /// In words for this reader.
    pub fn new(file: &engine::StaleFile, to: Audience) -> Self {
        let (what, lines, moved_to) = match &file.what {
            Staleness::Lines(places) => {
                ("lines", places.iter().map(|place| place.lines.into()).collect(), None)
            }
            Staleness::Content => ("content", Vec::new(), None),
            Staleness::Deleted => ("deleted", Vec::new(), None),
            Staleness::MovedTo(path) => ("moved", Vec::new(), Some(path.into())),
        };
        Self {
            path: (&file.path).into(),
            what: what.to_owned(),
            lines,
            moved_to,
            by: file.by.iter().map(ChangedBy::from).collect(),
            since: file.since.map(iso_8601),
            text: file.describe(to),
        }
    }
}

impl From<&engine::ChangeAuthor> for ChangedBy {
    fn from(who: &engine::ChangeAuthor) -> Self {
        Self {
            actor: who.actor.as_str().to_owned(),
            kind: who.kind.clone(),
            dialog: who.dialog.as_ref().map(|id| id.0.clone()),
            agent: who.agent.as_ref().map(|id| id.0.clone()),
            operation: who.operation.map(|id| id.to_string()),
        }
    }
}

impl From<&engine::StaleContext> for StaleContextDocument {
    fn from(stale: &engine::StaleContext) -> Self {
        let files = stale.files.iter().map(|file| StaleFileDocument::new(file, Audience::Agent));
        Self {
            reaction: stale.reaction.as_str().to_owned(),
            message: stale.message.clone(),
            files: files.collect(),
        }
    }
}

impl From<&engine::StaleAgent> for StaleAgentDocument {
    fn from(stale: &engine::StaleAgent) -> Self {
        Self {
            dialog: stale.dialog.0.clone(),
            agent: stale.agent.id.0.clone(),
            kind: stale.agent.kind.clone(),
            files: stale.files as u64,
        }
    }
}

impl MarkedFiles {
    /// Of so many files that were named, these are not tracked.
    pub fn new(named: usize, untracked: &[ProjectPath]) -> Self {
        let marked = (named - untracked.len()) as u64;
        Self { marked, untracked: super::path::path_names(untracked) }
    }
}

impl From<&engine::MetadataImport> for ContextImported {
    fn from(imported: &engine::MetadataImport) -> Self {
        let skipped = imported.skipped.iter().cloned();
        Self {
            entries: imported.entries as u64,
            known: imported.known as u64,
            skipped: skipped.map(|(path, reason)| SkippedPath { path, reason }).collect(),
        }
    }
}

impl From<&engine::TaskMetadata> for TaskMetadataDocument {
    fn from(metadata: &engine::TaskMetadata) -> Self {
        let entry = |entry: &engine::MetadataEntry| TaskMetadataEntry {
            path: entry.path.clone(),
            record_state: entry.record_state.as_str().to_owned(),
            record_source: entry.record_source.as_str().to_owned(),
            roo_read_date: entry.roo_read_date,
            roo_edit_date: entry.roo_edit_date,
            user_edit_date: entry.user_edit_date,
        };
        Self { files_in_context: metadata.files_in_context.iter().map(entry).collect() }
    }
}
