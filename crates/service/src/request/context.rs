//! Requests that record what an agent has seen, from senders other than its hooks.

use retake_engine::model::{
    AgentId, AgentRef, ContextSource, DialogId, LineSpan, Millis, ProjectPath,
};
use retake_engine::{MetadataImport, Project, TaskMetadata};
use serde::{Deserialize, Serialize};

use super::{ProgressFn, ProjectCommand};
use crate::ApiError;

/// Records that an agent has seen files as they are now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MarkSeen {
    /// The dialog.
    pub dialog: DialogId,
    /// The agent.
    pub agent: AgentId,
    /// The files, or lines of them.
    pub files: Vec<(ProjectPath, Option<LineSpan>)>,
    /// How they came into its context.
    pub source: ContextSource,
}

impl ProjectCommand for MarkSeen {
    /// Those that are not tracked, or are no files.
    type Answer = Vec<ProjectPath>;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        let reader = AgentRef { dialog: &self.dialog, agent: &self.agent };
        Ok(project.track_context(reader, &self.files, self.source, at)?)
    }
}

/// Takes in an agent's context as another program kept it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImportContext {
    /// The dialog.
    pub dialog: DialogId,
    /// The agent.
    pub agent: AgentId,
    /// What the program kept.
    pub metadata: TaskMetadata,
}

impl ProjectCommand for ImportContext {
    type Answer = MetadataImport;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<MetadataImport, ApiError> {
        let reader = AgentRef { dialog: &self.dialog, agent: &self.agent };
        Ok(project.import_context(reader, &self.metadata, at)?)
    }
}
