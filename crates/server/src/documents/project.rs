//! Projects.

use retake_engine::{KnownProject, iso};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A folder that is tracked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Project {
    /// Its id.
    pub id: String,
    /// Its folder.
    pub root: String,
    /// When it was initialised.
    #[schema(format = DateTime)]
    pub created_at: String,
}

impl From<&KnownProject> for Project {
    fn from(project: &KnownProject) -> Self {
        Self {
            id: project.id.clone(),
            root: project.root.to_string_lossy().into_owned(),
            created_at: iso(project.created_at),
        }
    }
}

/// Every project on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Projects {
    /// The projects.
    pub projects: Vec<Project>,
}

impl From<&[KnownProject]> for Projects {
    fn from(projects: &[KnownProject]) -> Self {
        Self { projects: projects.iter().map(Project::from).collect() }
    }
}
