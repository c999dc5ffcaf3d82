//! Translates between each agent's formats and Retake's: pure, no I/O.
//!
//! A hook's payload becomes neutral [`retake_model::Event`]s ([`parse_hook`]), a verdict becomes the
//! render_reply that the agent understands ([`render_reply()`]), its transcript becomes messages
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
mod file_reads;
mod gemini;
pub mod history;
mod opencode;
mod parse;
mod prompt;
mod reply;
pub mod setup;
pub mod transcript;
mod wire;

pub use agent::{AgentKind, UnknownAgent};
pub use parse::{HookMessage, HookParseError, HookPhase, TranscriptLocation, parse_hook};
pub use reply::{HookFeedback, HookVerdict, feedback_of, render_reply};
