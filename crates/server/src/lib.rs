//! The daemon: one process for all projects of a home, its socket, and its HTTP interface.
//!
//! - [`DaemonClient`] connects to the [`Daemon`] and sends it the requests of
//!   [`retake_service::request`].
//! - [`ProjectPool`] is the daemon's pool of open projects, each with a worker thread.
//! - [`http`] serves the documents of [`retake_service::documents`] to other programs, on this
//!   machine only; [`stream`] is a project's events as they follow them.

mod client;
mod daemon;
pub mod http;
mod projects;
mod run_folder;
pub mod stream;
mod wire;

pub use client::{CallError, ConnectError, DaemonClient, HELLO_TIMEOUT};
pub use daemon::Daemon;
pub use projects::{
    BusyGuard, CommitSignal, EphemeralEvent, IdleTracker, ProjectHandle, ProjectPool,
};
pub use run_folder::RunFolder;
pub use wire::{BrowserCode, DaemonHello, DaemonStatus, ServedProject};
