//! How each agent speaks: pure translation, no I/O.
//!
//! A hook's payload becomes neutral [`retake_model::Event`]s ([`hear`]), a verdict becomes the
//! reply that the agent understands ([`reply()`]), its transcript becomes messages
//! ([`transcript::read`]) or the whole conversation ([`history::read`]), and its settings get
//! Retake's hooks. Whoever calls reads and writes the files.
//!
//! Invariants: nothing here reads a file, the clock or the environment; no input makes it panic;
//! what an agent may add tomorrow (events, keys, lines) is passed over, not refused.

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
