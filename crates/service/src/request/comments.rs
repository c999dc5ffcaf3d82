//! Requests about comments, and about what agents are told.

use retake_engine::model::{DialogId, Millis, ReviewComment};
use retake_engine::{FeedbackChannel, FeedbackItems, NewComment, Project};
use serde::{Deserialize, Serialize};

use super::{ProgressFn, ProjectCommand};
use crate::{ApiError, Masking};

/// Makes a comment, as a draft.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AddComment {
    /// The comment.
    pub comment: NewComment,
}

impl ProjectCommand for AddComment {
    type Answer = ReviewComment;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<ReviewComment, ApiError> {
        Ok(project.add_comment(&self.comment, at)?)
    }
}

/// Changes one comment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChangeComment {
    /// Its number.
    pub id: u64,
    /// What is done to it.
    pub act: CommentAct,
}

/// What is done to a comment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CommentAct {
    /// A draft gets other words.
    Edit(String),
    /// The agent answers it.
    Answer(String),
    /// It is settled.
    Resolve,
    /// It is removed.
    Remove,
}

impl ProjectCommand for ChangeComment {
    /// The comment; none if it was removed.
    type Answer = Option<ReviewComment>;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        let id = self.id;
        Ok(match &self.act {
            CommentAct::Edit(text) => Some(project.edit_comment(id, text, at)?),
            CommentAct::Answer(text) => Some(project.answer_comment(id, text, at)?),
            CommentAct::Resolve => Some(project.resolve_comment(id, at)?),
            CommentAct::Remove => {
                project.remove_comment(id, at)?;
                None
            }
        })
    }
}

/// Sends drafts to their agents, in one batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SendComments {
    /// These; all drafts if none are named.
    pub ids: Vec<u64>,
}

impl ProjectCommand for SendComments {
    type Answer = Vec<ReviewComment>;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        Ok(project.send_comments(&self.ids, at)?)
    }
}

/// Masks secrets in what an agent is told: it goes to the agent's model. Only by their looks, also in
/// the person's own words.
pub(crate) fn mask_feedback(project: &Project, text: &str) -> String {
    Masking::from(&project.settings().api).mask_text(text).into_owned()
}

/// Takes the feedback for the agent of a dialog: from here on it counts as told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TakeFeedback {
    /// The dialog.
    pub dialog: DialogId,
    /// How the agent is told.
    pub channel: FeedbackChannel,
}

impl ProjectCommand for TakeFeedback {
    /// What it is about, with the words as Markdown; none if there is nothing to tell.
    type Answer = Option<(FeedbackItems, String)>;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        let taken = project.take_feedback(&self.dialog, self.channel, at.into())?;
        Ok(taken.map(|(items, text)| (items, mask_feedback(project, &text))))
    }
}
