//! What every face of Retake asks for, without an async runtime: the command line, the daemon's
//! socket and its HTTP interface use the same requests, documents and texts.
//!
//! - [`request`] has a type for each request, one [`request::ProjectRequest`] for all of them, and
//!   one dispatcher. A command sends its request to the daemon if one answers, and otherwise
//!   executes it in process, with the same code.
//! - [`documents`] has the shape of everything that other programs read, with its schema; what
//!   they need is beside it: [`patch`], [`confirm`], [`describe`], [`syntax`].
//! - [`review`] has the names of scopes, and a review as a patch and as a report.
//! - [`contents`] gives the contents of files, with their types.
//! - [`Masking`] takes secrets out of what leaves the machine's user.
//! - [`history`] reads and writes conversations as agents have them in files;
//!   [`summary`] has conversations summarised by a model, [`tokens`] counts what they take.
//! - [`hook`] is the work of an agent's hook, in its own process or in the daemon.
//! - [`setup`] tells which agents have Retake's hooks, by their settings on this machine.
//! - [`settings`] tells the settings in force and where they come from, and changes them.
//! - [`ApiError`] is what every surface (terminal, JSON, socket, HTTP) says when something cannot
//!   be done.

mod api_error;
pub mod caller;
pub mod confirm;
pub mod contents;
pub mod describe;
pub mod documents;
pub mod history;
pub mod hook;
mod mask;
pub mod patch;
pub mod plan_words;
pub mod request;
pub mod review;
pub mod settings;
pub mod setup;
pub mod summary;
pub mod syntax;
pub mod tokens;

pub use api_error::{ApiError, ApiErrorCode};
pub use mask::{FileContent, Masking, SecretCalls};
