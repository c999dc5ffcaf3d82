//! How the daemon is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How the daemon is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Health)]
pub struct HealthDocument {
    /// Its version.
    pub version: String,
    /// The version of the protocol on its socket.
    pub protocol: u32,
    /// Its process.
    pub pid: u32,
    /// When it started.
    #[schema(format = DateTime)]
    pub since: String,
    /// Seconds since then.
    pub uptime_seconds: u64,
    /// Where its HTTP interface is.
    pub http: Option<String>,
    /// Says why it is not at the port in the settings.
    pub http_note: Option<String>,
    /// Projects on record, whether they are open or not.
    pub known_projects: u64,
    /// Projects that are open.
    pub open_projects: u64,
    /// Events that wait in the spools of all projects.
    pub spooled: u64,
    /// Requests that wait for the workers of the open projects.
    pub queued: u64,
    /// Bytes that are free where the records lie.
    pub free_bytes: Option<u64>,
    /// The open projects, and those with events in the spool; null for an agent's token.
    pub projects: Option<Vec<ProjectHealth>>,
}

/// How the daemon serves one project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectHealth {
    /// Its id.
    pub id: String,
    /// Its folder.
    pub root: String,
    /// Whether its folder is gone.
    pub missing: bool,
    /// Whether another folder stands at its path.
    pub replaced: bool,
    /// How its files are watched.
    pub watching: WatchingState,
    /// Why they are not watched, or not all of them.
    pub watching_reason: Option<String>,
    /// Folders that cannot be watched, and are walked at each scan.
    pub polled_folders: u64,
    /// Requests that wait for its worker.
    pub queued: u64,
    /// Events that wait in its spool.
    pub spooled: u64,
    /// When the oldest of them came.
    pub oldest_spooled: Option<String>,
    /// The last failure that no request reported.
    pub last_error: Option<LastFailure>,
}

/// How much of a project is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchingState {
    /// All of it.
    On,
    /// Some folders are walked instead.
    Partial,
    /// The next scan walks everything.
    CatchingUp,
    /// Nothing; each scan walks everything.
    Off,
    /// The project is not open: no request named it yet.
    Closed,
}

impl WatchingState {
    /// Describes the state.
    pub fn describe(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Partial => "partial",
            Self::CatchingUp => "catching up",
            Self::Off => "off",
            Self::Closed => "closed",
        }
    }
}

impl ProjectHealth {
    /// Describes how the project is watched, and why not more.
    pub fn describe_watching(&self) -> String {
        let state = self.watching.describe();
        self.watching_reason.as_ref().map_or(state.to_owned(), |why| format!("{state}: {why}"))
    }
}

/// A failure that no request reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastFailure {
    /// When it was.
    #[schema(format = DateTime)]
    pub at: String,
    /// A stable name.
    pub code: String,
    /// What went wrong.
    pub message: String,
}
