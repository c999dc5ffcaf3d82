//! Files that setup writes whole, such as opencode's plugin and Cline's hook scripts.
//!
//! Their first lines have a digest of the rest, which identifies an unedited file: only such a file
//! is replaced or removed.

use super::hex;
use crate::AgentKind;

/// Mark that identifies a file written by setup, edited or not.
pub(crate) const MADE_BY_MARK: &str = "Made by `retake setup` (";

/// The language of a file that setup writes whole.
pub(crate) struct OwnFileSpec {
    pub(crate) agent: AgentKind,
    /// What the file must begin with.
    pub(crate) first_line: &'static str,
    /// What begins a comment.
    pub(crate) comment: &'static str,
}

impl OwnFileSpec {
    /// The file with this body, marked with its digest.
    pub(crate) fn with_digest_header(&self, body: &str) -> String {
        let Self { agent, first_line, comment } = self;
        let digest = hex(body.as_bytes(), 8);
        let remove = format!("`retake setup --remove {agent}` takes it away");
        format!("{first_line}{comment} {MADE_BY_MARK}{digest}); {remove}.\n{body}")
    }

    /// Returns true if setup made the file just as it is.
    pub(crate) fn is_untouched(&self, text: &str) -> bool {
        let header = text.split_inclusive('\n').find(|line| line.contains(MADE_BY_MARK));
        let body = header.and_then(|header| text.split_once(header)).map(|(_, body)| body);
        body.is_some_and(|body| self.with_digest_header(body) == text)
    }

    /// Returns true if nothing of a person's is in the file.
    pub(crate) fn is_blank_or_untouched(&self, text: &str) -> bool {
        text.trim().is_empty() || self.is_untouched(text)
    }
}

/// Returns true if setup made the file, edited or not.
pub(crate) fn is_marked(text: &str) -> bool {
    text.lines().take(3).any(|line| line.contains(MADE_BY_MARK))
}
