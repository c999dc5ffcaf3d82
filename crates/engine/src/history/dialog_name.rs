//! Names of dialogs and their turns, for people.

use std::collections::HashMap;

use retake_model::{DialogId, title_of};
use retake_store::StoreError;

use crate::project::Project;

/// Maximum characters of a message that are quoted in a title.
pub(crate) const MAX_QUOTED_CHARS: usize = 50;

/// A title without the message that it quotes: `undo of turn 2 of claude-2`.
pub(crate) fn title_without_quote(title: &str) -> String {
    match (title.find(" (“"), title.rfind("”)")) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{}", &title[..start], &title[end + "”)".len()..])
        }
        _ => title.to_owned(),
    }
}

impl Project {
    /// Returns the dialog that has this id or short name, else those whose id begins with the text,
    /// at most two.
    pub fn dialogs_by_name(&self, text: &str) -> Result<Vec<DialogId>, StoreError> {
        self.store().dialogs_by_name(text)
    }

    /// Returns the short name of a dialog, for people: `claude-2`. A dialog that is not on record
    /// has its id.
    pub fn dialog_name(&self, id: &DialogId) -> Result<String, StoreError> {
        Ok(self.store().dialog(id)?.map_or_else(|| id.0.clone(), |dialog| dialog.name))
    }

    /// Returns the short names of all dialogs.
    pub fn dialog_names(&self) -> Result<HashMap<DialogId, String>, StoreError> {
        let dialogs = self.store().dialogs()?.into_iter();
        Ok(dialogs.map(|dialog| (dialog.id, dialog.name)).collect())
    }

    /// Describes a turn for people: `turn 2 of claude-2 (“Update the README”)`.
    pub fn describe_turn(&self, dialog: &DialogId, turn: u64) -> Result<String, StoreError> {
        let name = self.dialog_name(dialog)?;
        if turn == 0 {
            return Ok(format!("what {name} did before its first message"));
        }
        let message = self.message_of_turn(dialog, turn)?;
        let words = message.map(|message| title_of(&message.text, MAX_QUOTED_CHARS));
        let words = words.filter(|words| !words.is_empty());
        // The message comes last, where a purge finds it even if it was cut within a secret.
        let words = words.map_or_else(String::new, |words| format!(" (“{words}”)"));
        Ok(format!("turn {turn} of {name}{words}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_left_out_of_a_title() {
        for (title, without) in [
            ("undo of turn 2 of claude-2 (“use (“x”) here”)", "undo of turn 2 of claude-2"),
            ("undo of o7 (undo of turn 1 of d1 (“go”))", "undo of o7 (undo of turn 1 of d1)"),
            ("rollback of c3", "rollback of c3"),
        ] {
            assert_eq!(title_without_quote(title), without);
        }
    }
}
