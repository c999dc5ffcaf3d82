//! Short titles of the messages of a dialog.

use retake_engine::model::{Change, DialogId};
use retake_engine::{Project, StoreError};

/// The first words of a message, for a title.
pub(crate) fn first_words(text: &str) -> String {
    const MAX_TITLE_CHARS: usize = 50;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The first words of the messages behind changes; each message is looked up once.
#[derive(Default)]
pub(super) struct PromptCache {
    known: std::collections::HashMap<(DialogId, u64), Option<String>>,
}

impl PromptCache {
    /// The message that a change was made for.
    pub(super) fn first_words_for(
        &mut self,
        project: &Project,
        change: &Change,
    ) -> Result<Option<String>, StoreError> {
        let (Some(dialog), Some(turn)) = (&change.dialog, change.turn) else { return Ok(None) };
        let key = (dialog.clone(), turn);
        if !self.known.contains_key(&key) {
            let message = project.message_of_turn(dialog, turn)?;
            let words = message.map(|message| first_words(&message.text));
            self.known.insert(key.clone(), words.filter(|words| !words.is_empty()));
        }
        Ok(self.known[&key].clone())
    }
}
