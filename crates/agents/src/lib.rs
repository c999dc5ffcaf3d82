//! Translates between each agent's formats and Retake's: pure, no I/O.
//!
//! A hook's payload becomes neutral [`retake_model::Event`]s ([`hear`]), a verdict becomes the
//! reply that the agent understands ([`reply()`]), its transcript becomes messages
//! ([`transcript::read`]) or the whole conversation ([`history::read`]), and its settings get
//! Retake's hooks. The caller reads and writes the files.
//!
//! Invariants: nothing here reads a file, the clock or the environment; no input makes it panic;
//! unknown events, keys and lines are skipped, not refused.

mod agent;
mod claude_code;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod heard;
pub mod history;
mod opencode;
mod prompt;
mod reply;
pub mod setup;
mod sight;
pub mod transcript;
mod wire;

pub use agent::{Agent, UnknownAgent};
pub use heard::{Heard, Misheard, Moment, TranscriptPlace, hear};
pub use reply::{Answer, Verdict, hears, reply};
