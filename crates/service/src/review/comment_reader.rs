//! Who reads comments: a draft is the person's alone, and what was sent is for one dialog's agent.

use retake_engine::model::{DialogId, ReviewComment};

/// The reader of comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CommentReader {
    /// The person, who sees all of them.
    #[default]
    Person,
    /// The agent of a dialog, or one that is bound to none.
    Agent(Option<DialogId>),
}

impl CommentReader {
    /// Returns true if a comment is shown to this reader: to agents only what was sent to them.
    pub fn sees(&self, comment: &ReviewComment) -> bool {
        match self {
            Self::Person => true,
            Self::Agent(dialog) => {
                let is_sent = comment.batch.is_some();
                is_sent && dialog.is_some() && *dialog == comment.dialog
            }
        }
    }

    /// Returns true for the person.
    pub fn is_person(&self) -> bool {
        *self == Self::Person
    }
}
