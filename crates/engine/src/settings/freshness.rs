//! Settings for the notices to agents about files that changed after they read them.

use retake_model::ContextSource;
use serde::{Deserialize, Serialize};

/// Notices to agents about files that changed since they read them (CTX-20).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FreshnessSettings {
    /// What is done before an edit of such a file. If it is not set: `deny` where an agent can
    /// receive the reason, else `note`.
    pub policy: Option<FreshnessPolicy>,
    /// Changes within this many milliseconds after the agent's read do not count.
    pub threshold_ms: u64,
    /// Only files count that the agent last read in one of these ways.
    pub sources: Vec<ContextSource>,
    /// Whether a formatter's rewrite of what the agent wrote counts as another actor's change.
    pub formatters: bool,
}

/// The reaction before an agent edits a file that changed since it last read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FreshnessPolicy {
    /// The edit is denied, with what changed; the agent has to read again.
    Deny,
    /// The agent's model is notified, and the edit goes on.
    Note,
    /// Nothing; also nothing before a message.
    Off,
}

impl Default for FreshnessSettings {
    fn default() -> Self {
        let sources = ContextSource::ALL.to_vec();
        Self { policy: None, threshold_ms: 0, sources, formatters: false }
    }
}
