//! Settings for what agents are told of a review.

use serde::{Deserialize, Serialize};

/// What agents are told of the person's review of their work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeedbackSettings {
    /// Whether an agent that has ended its turn is told at once, and goes on: comments, and
    /// rejections with a reason. Otherwise it is told with the next message. Only for agents whose
    /// hook at the end of a turn can hand work back.
    pub at_turn_end: bool,
}

impl Default for FeedbackSettings {
    fn default() -> Self {
        Self { at_turn_end: true }
    }
}
