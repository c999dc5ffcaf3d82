//! What asks for attention, over all projects.
//!
//! Invariants: nothing is scanned, and no project is opened for good. One that cannot be read is
//! listed with the reason, and fails none of the others.

use retake_engine::KnownProject;
use retake_engine::ProjectAttention;
use retake_service::ApiError;
use retake_service::documents::{ATTENTION_WINDOW_MS, AttentionDocument, AttentionProject};

use super::ProjectPool;

impl ProjectPool {
    /// Returns what asks for attention in the projects that were recorded to last, at most so
    /// many.
    pub fn attention(&self, limit: usize) -> Result<AttentionDocument, ApiError> {
        let known = self.retake().projects_by_activity()?;
        let more = known.len().saturating_sub(limit) as u64;
        let projects = known
            .iter()
            .take(limit)
            .map(|project| AttentionProject::new(project, self.attention_of(project)));
        Ok(AttentionDocument::new(projects.collect(), more))
    }

    fn attention_of(&self, known: &KnownProject) -> Result<ProjectAttention, ApiError> {
        let since = self.now().saturating_sub(ATTENTION_WINDOW_MS);
        self.peek(&known.id, |project| Ok(project.attention(since)?))
    }
}
