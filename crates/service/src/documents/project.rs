//! Projects.

use retake_engine::{KnownProject, RootPresence, iso_8601};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A folder that is tracked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Project)]
pub struct ProjectDocument {
    /// Its id.
    pub id: String,
    /// Its folder.
    pub root: String,
    /// When it was initialised.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Whether its folder is gone; the record stays readable.
    pub missing: bool,
    /// Whether another folder stands at its path; the record stays readable.
    pub replaced: bool,
}

impl From<&KnownProject> for ProjectDocument {
    fn from(project: &KnownProject) -> Self {
        Self {
            id: project.id.clone(),
            root: project.root.to_string_lossy().into_owned(),
            created_at: iso_8601(project.created_at),
            missing: project.presence == RootPresence::Missing,
            replaced: project.presence == RootPresence::Replaced,
        }
    }
}

/// Every project on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Projects)]
pub struct ProjectList {
    /// The projects.
    pub projects: Vec<ProjectDocument>,
}

impl From<&[KnownProject]> for ProjectList {
    fn from(projects: &[KnownProject]) -> Self {
        Self { projects: projects.iter().map(ProjectDocument::from).collect() }
    }
}
