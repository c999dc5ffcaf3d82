//! Requests to a project, the daemon that serves them, and its HTTP interface.
//!
//! - [`door`] has a type for each request, one [`door::Request`] for all of them, and one
//!   dispatcher. A command sends its request to the daemon if one answers, and otherwise
//!   executes it in process, with the same code.
//! - [`Client`] connects to the [`Daemon`]: one process for all projects of a home.
//! - [`Hall`] is the daemon's pool of open projects, each with a worker thread.
//! - [`documents`] has the shape of everything that other programs read, with its schema; what
//!   they need is beside it: [`patch`], [`questions`], [`syntax`].
//! - [`http`] serves all of it to other programs, on this machine only; [`stream`] is a project's
//!   events as they follow them.
//! - [`history`] reads and writes conversations as agents have them in files;
//!   [`summary`] has conversations summarised by a model, [`tokens`] counts what they take.
//! - [`hook`] is the work of an agent's hook, in its own process or in the daemon.
//! - [`Failure`] is what every surface (terminal, JSON, socket, HTTP) says when something cannot
//!   be done.

mod client;
mod daemon;
pub mod describe;
pub mod documents;
pub mod door;
mod failure;
mod hall;
pub mod history;
pub mod hook;
pub mod http;
mod mask;
pub mod patch;
pub mod questions;
pub mod quote;
mod run_folder;
pub mod stream;
pub mod summary;
pub mod syntax;
pub mod tokens;
mod wire;

pub use client::{Client, HELLO, NoDaemon, Unanswered};
pub use daemon::Daemon;
pub use failure::Failure;
pub use hall::{Busy, Hall, Life, News, Room};
pub use mask::{Masking, SecretCalls};
pub use run_folder::RunFolder;
pub use wire::{DaemonCode, DaemonStatus, Hello, ServedProject};
