//! Translates between each agent's formats and Retake's: pure, no I/O.
//!
//! A hook's payload becomes neutral [`retake_model::Event`]s ([`parse_hook`]), a verdict becomes
//! the reply that the agent understands ([`render_reply()`]), its transcript becomes messages
//! ([`transcript::read`]) or the whole conversation ([`history::read`]), and its settings get
//! Retake's hooks ([`setup`]). The caller reads and writes the files.
//!
//! Each agent is a folder: `mod.rs` has its row, an `AgentSpec`, and the other files have what the
//! row names. Modules beside these folders hold for every agent, and know one only by its row.
//!
//! Invariants: nothing here reads a file, the clock or the environment; no input makes it panic;
//! unknown events, keys and lines are skipped, not refused.
//!
//! # How to add an agent
//!
//! 1. Capture real payloads and a transcript into `tests/payloads/<name>/`.
//! 2. Write the folder `src/<name>/`, as far as the agent has these:
//!    - `hooks.rs`: `parse_hook` (payload to events) and `REPLIES` (note, denial, "go on");
//!    - `reads.rs`: which lines of which files its answers show;
//!    - `transcript.rs`: which lines are messages;
//!    - `history.rs`: `FORMAT`, its conversations as files; a format of its own is also a variant
//!      of [`history::HistoryFormat`] and a row of the list below it;
//!    - `setup.rs`: `SETUP`, its settings, and the shape of its hook file.
//! 3. Tie them together as `SPEC` in `src/<name>/mod.rs`; what it lacks is `None` or `Unknown`.
//! 4. Add the variant to [`AgentKind`], the row to the list below it, and the module here.
//!
//! The tests that run over [`AgentKind::ALL`] then name what is missing; `UPDATE_EXPECT=1` adds the
//! agent to their tables.

mod agent;
mod claude_code;
mod cline;
mod codex;
mod copilot;
mod copilot_vscode;
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
pub use copilot_vscode::sender::{payload_key, sending_agent};
pub use parse::{HookMessage, HookParseError, HookPhase, TranscriptLocation, parse_hook};
pub use reply::{
    HookFeedback, HookVerdict, PersonalFeedback, feedback_of, personal_feedback_of, render_reply,
};
