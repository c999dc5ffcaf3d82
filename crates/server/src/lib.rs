//! Requests to a project, the daemon that serves them, and its HTTP interface.
//!
//! - [`request`] has a type for each request, one [`request::ProjectRequest`] for all of them, and one
//!   dispatcher. A command sends its request to the daemon if one answers, and otherwise
//!   executes it in process, with the same code.
//! - [`DaemonClient`] connects to the [`Daemon`]: one process for all projects of a home.
//! - [`ProjectPool`] is the daemon's pool of open projects, each with a worker thread.
//! - [`documents`] has the shape of everything that other programs read, with its schema; what
//!   they need is beside it: [`patch`], [`confirm`], [`syntax`].
//! - [`http`] serves all of it to other programs, on this machine only; [`stream`] is a project's
//!   events as they follow them.
//! - [`history`] reads and writes conversations as agents have them in files;
//!   [`summary`] has conversations summarised by a model, [`tokens`] counts what they take.
//! - [`hook`] is the work of an agent's hook, in its own process or in the daemon.
//! - [`ApiError`] is what every surface (terminal, JSON, socket, HTTP) says when something cannot
//!   be done.

mod api_error;
mod client;
pub mod confirm;
mod daemon;
pub mod describe;
pub mod documents;
pub mod history;
pub mod hook;
pub mod http;
mod mask;
pub mod patch;
mod projects;
pub mod quote;
pub mod request;
mod run_folder;
pub mod stream;
pub mod summary;
pub mod syntax;
pub mod tokens;
mod wire;

pub use api_error::ApiError;
pub use client::{CallError, ConnectError, DaemonClient, HELLO_TIMEOUT};
pub use daemon::Daemon;
pub use mask::{Masking, SecretCalls};
pub use projects::{BusyGuard, CommitSignal, IdleTracker, ProjectHandle, ProjectPool};
pub use run_folder::RunFolder;
pub use wire::{BrowserCode, DaemonHello, DaemonStatus, ServedProject};
