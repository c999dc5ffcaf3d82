//! What was said in a dialog (API-6, G-3).

use retake_engine::model::DialogId;
use retake_engine::{Project, Spoken, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::session::session_name;
use crate::Masking;

/// A page of what was said in a dialog, the newest page first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// What was said, the oldest first.
    pub events: Vec<HistoryEvent>,
    /// Whether there is more before it.
    pub has_more: bool,
    /// What to ask for the page before with; null if there is none.
    pub cursor: Option<u64>,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HistoryEvent {
    /// By the person.
    User {
        /// The words.
        content: String,
        /// The checkpoint that was made before it.
        checkpoint: Option<String>,
        /// The work session that it was sent in.
        #[schema(example = "session_1")]
        session: Option<String>,
        /// Its place in the dialog, from 0.
        idx: u64,
    },
    /// By the agent.
    Chat {
        /// The words.
        content: String,
        /// Its place in the dialog, from 0.
        idx: u64,
    },
}

impl History {
    /// At most `limit` messages of a dialog before `cursor`, or its last ones.
    pub fn read(
        project: &Project,
        dialog: &DialogId,
        cursor: Option<u64>,
        limit: usize,
        masking: Masking,
    ) -> Result<Self, StoreError> {
        let spoken = project.store().conversation(dialog)?;
        let end = cursor.map_or(spoken.len(), |cursor| spoken.len().min(cursor as usize));
        let start = end.saturating_sub(limit);
        let events = (start as u64..).zip(&spoken[start..end]);
        Ok(Self {
            events: events.map(|(idx, spoken)| HistoryEvent::new(idx, spoken, masking)).collect(),
            has_more: start > 0,
            cursor: (start > 0).then_some(start as u64),
        })
    }
}

impl HistoryEvent {
    fn new(idx: u64, spoken: &Spoken, masking: Masking) -> Self {
        let words = |text: &str| masking.text(text).into_owned();
        match spoken {
            Spoken::Person(message) => Self::User {
                content: words(&message.text),
                checkpoint: message.checkpoint.clone(),
                session: message.session.map(session_name),
                idx,
            },
            Spoken::Agent(text) => Self::Chat { content: words(text), idx },
        }
    }
}
