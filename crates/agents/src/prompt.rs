//! Distinguishes a person's prompt from a notification of the agent itself.
//!
//! An agent wakes its model with the same hook and the same kind of line that carry a person's
//! message. A turn started by a notification must not look like one that a person began.

/// Text that arrived as a person's message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Prompt<'a> {
    /// A message that a person wrote.
    Message(&'a str),
    /// A background task has ended; its name, if it is told.
    TaskEnd(Option<&'a str>),
}

impl<'a> Prompt<'a> {
    /// Distinguishes a message from a notification.
    pub(crate) fn of(text: &'a str) -> Self {
        match text.trim_start().strip_prefix("<task-notification>") {
            None => Self::Message(text),
            Some(notification) => {
                Self::TaskEnd(element_text(notification, "<task-id>", "</task-id>"))
            }
        }
    }

    /// The words of a person, if it is that.
    pub(crate) fn message(self) -> Option<&'a str> {
        match self {
            Self::Message(text) => Some(text),
            Self::TaskEnd(_) => None,
        }
    }
}

/// Returns the text between two marks, trimmed; none if it is empty.
pub(crate) fn element_text<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(open)?;
    let (inner, _) = after.split_once(close)?;
    Some(inner.trim()).filter(|inner| !inner.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_told_from_words_about_it() {
        let done = "\n <task-notification>\n<task-id> b1 </task-id>\n<status>completed</status>";
        assert_eq!(Prompt::of(done), Prompt::TaskEnd(Some("b1")));
        assert_eq!(Prompt::of("<task-notification>"), Prompt::TaskEnd(None));
        assert_eq!(Prompt::of("<task-notification><task-id></task-id>"), Prompt::TaskEnd(None));
        let about = "what is a <task-notification>?";
        assert_eq!(Prompt::of(about), Prompt::Message(about));
    }
}
