//! The messages of a dialog (API-6, G-3).

use retake_engine::model::{AgentId, DialogId, MAIN_AGENT};
use retake_engine::{ConversationMessage, Project, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::session::session_name;
use crate::Masking;

/// A page of what was said in a dialog, the newest page first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = History)]
pub struct DialogHistory {
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

impl DialogHistory {
    /// A page of what was said in a dialog; where nothing was heard, of what was taken in.
    pub fn read(
        project: &Project,
        dialog: &DialogId,
        page: HistoryPage,
        masking: Masking,
    ) -> Result<Self, StoreError> {
        let mut said = HistoryItem::all(project, dialog, page.whole)?;
        let end = page.cursor.map_or(said.len(), |cursor| said.len().min(cursor as usize));
        let sizes = said[..end].iter().map(HistoryItem::size);
        let start = page_start(sizes, page.limit, page.max_bytes);
        let events = (start as u64..).zip(said.drain(start..end));
        Ok(Self {
            events: events.map(|(idx, said)| said.event(idx, masking)).collect(),
            has_more: start > 0,
            cursor: (start > 0).then_some(start as u64),
        })
    }
}

/// Which page of a dialog's history.
#[derive(Clone, Copy, Debug)]
pub struct HistoryPage {
    /// What comes before this one; the last ones if none is given.
    pub cursor: Option<u64>,
    /// At most so many.
    pub limit: usize,
    /// Also what is hidden since the conversation was rewound.
    pub whole: bool,
    /// Maximum bytes of text; a page has at least one message.
    pub max_bytes: usize,
}

/// Returns the first place of a page that ends with the last of these messages.
pub(super) fn page_start(
    sizes: impl DoubleEndedIterator<Item = usize> + ExactSizeIterator,
    limit: usize,
    max_bytes: usize,
) -> usize {
    let (mut start, mut bytes) = (sizes.len(), 0_usize);
    for (count, size) in sizes.rev().enumerate().take(limit) {
        bytes = bytes.saturating_add(size);
        if count > 0 && bytes > max_bytes {
            break;
        }
        start -= 1;
    }
    start
}

/// Something that was said: to Retake itself, or in a conversation that was taken in.
enum HistoryItem {
    Heard(ConversationMessage),
    TakenIn(Value),
}

impl HistoryItem {
    fn all(project: &Project, dialog: &DialogId, whole: bool) -> Result<Vec<Self>, StoreError> {
        let spoken = project.spoken_messages(dialog)?;
        if !spoken.is_empty() {
            let shown = spoken.into_iter().filter(|(_, hidden)| whole || !hidden);
            return Ok(shown.map(|(spoken, _)| Self::Heard(spoken)).collect());
        }
        let agent = AgentId::from(MAIN_AGENT);
        let taken_in = if whole {
            project.display_log(dialog, &agent)?
        } else {
            project.display_messages(dialog, &agent)?
        };
        let says = |entry: &Value| entry["text"].as_str().is_some_and(|text| !text.is_empty());
        Ok(taken_in.into_iter().filter(says).map(Self::TakenIn).collect())
    }

    /// The bytes of its text.
    fn size(&self) -> usize {
        match self {
            Self::Heard(ConversationMessage::Person(message)) => message.text.len(),
            Self::Heard(ConversationMessage::Agent { text, .. }) => text.len(),
            Self::TakenIn(entry) => entry["text"].as_str().map_or(0, str::len),
        }
    }

    fn event(self, idx: u64, masking: Masking) -> HistoryEvent {
        let words = |text: &str| masking.mask_text(text).into_owned();
        match self {
            Self::Heard(ConversationMessage::Person(message)) => HistoryEvent::User {
                content: words(&message.text),
                checkpoint: message.checkpoint,
                session: message.session.map(session_name),
                idx,
            },
            Self::Heard(ConversationMessage::Agent { text, .. }) => {
                HistoryEvent::Chat { content: words(&text), idx }
            }
            Self::TakenIn(entry) => {
                let content = words(entry["text"].as_str().unwrap_or_default());
                // The first message of a task is the person's, too.
                if idx == 0 || entry["say"] == "user_feedback" {
                    HistoryEvent::User { content, checkpoint: None, session: None, idx }
                } else {
                    HistoryEvent::Chat { content, idx }
                }
            }
        }
    }
}
