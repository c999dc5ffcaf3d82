//! What the person says to agents about their work: rejections with reasons, and comments.
//!
//! Invariant: an agent is told of each once, and that it was is on record before the reply.

pub(crate) mod anchor;
mod deliver;
pub(crate) mod rejected_lines;
pub(crate) mod rejection;
mod text;

pub(crate) use deliver::tell_sender;
pub use deliver::{FeedbackChannel, FeedbackItems, FeedbackMoments};
