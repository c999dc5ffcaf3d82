//! The messages of a dialog: what the person said, and the checkpoint before it.

use retake_engine::model::DialogId;
use retake_engine::{JournalEvent, Project, StoreError};

/// So many events are read at a time.
const PAGE: usize = 1000;

/// One message of the person.
pub(super) struct Message {
    /// What it says.
    pub(super) text: String,
    /// The id of the checkpoint that was made before it, if one was.
    pub(super) checkpoint: Option<String>,
}

/// The message with this number, counted from 1.
pub(super) fn message(
    project: &Project,
    dialog: &DialogId,
    number: u64,
) -> Result<Option<Message>, StoreError> {
    let is_of = |event: &JournalEvent| {
        event.kind == "user_message" && event.dialog.as_ref() == Some(dialog)
    };
    let (mut after, mut seen) = (0, 0);
    loop {
        let events = project.store().events_after(after, PAGE)?;
        let Some(last) = events.last() else { return Ok(None) };
        after = last.seq;
        for event in events.iter().filter(|event| is_of(event)) {
            seen += 1;
            if seen == number {
                let word = |key: &str| event.body[key].as_str().map(ToOwned::to_owned);
                let text = word("text").unwrap_or_default();
                return Ok(Some(Message { text, checkpoint: word("checkpoint") }));
            }
        }
    }
}

/// Its first words, for a title.
pub(super) fn first_words(text: &str) -> String {
    const CHARS: usize = 50;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
