//! The report as a document. Every text in it is scrubbed before it is shown or written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a maintainer needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BugReport {
    /// When it was made.
    pub(super) at: String,
    /// Retake itself.
    pub(super) retake: ReportBuild,
    /// The machine.
    pub(super) system: ReportSystem,
    /// Agents that Retake knows.
    pub(super) agents: Vec<ReportAgent>,
    /// Settings that are not default.
    pub(super) settings: Vec<ReportSetting>,
    /// The daemon.
    pub(super) daemon: ReportDaemon,
    /// The end of the daemon's log.
    pub(super) log: ReportLog,
    /// The project around the current folder; null if there is none, or it cannot be opened.
    pub(super) project: Option<ReportProject>,
    /// Parts that could not be made.
    pub(super) failures: Vec<ReportFailure>,
}

/// The program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReportBuild {
    /// Its version.
    pub(super) version: String,
    /// The machine that it was built for.
    pub(super) target: String,
    /// Whether it was built for debugging.
    pub(super) debug: bool,
}

/// The machine and the terminal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReportSystem {
    /// The distribution or product, where it says so.
    pub(super) os: Option<String>,
    /// Kernel, release and architecture.
    pub(super) kernel: Option<String>,
    /// The name of the person's shell.
    pub(super) shell: Option<String>,
    /// `TERM`.
    pub(super) term: Option<String>,
    /// Columns of the terminal; null without one.
    pub(super) width: Option<u16>,
    /// The version of git; null if it is not installed.
    pub(super) git: Option<String>,
    /// Whether Retake's own folder is the usual one.
    pub(super) usual_home: bool,
}

/// An agent on this machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReportAgent {
    /// Its name.
    pub(super) agent: String,
    /// Whether it is installed.
    pub(super) installed: bool,
    /// Its version, where its files say it.
    pub(super) version: Option<String>,
    /// The state of its hooks for all projects.
    pub(super) hooks: String,
    /// The state of its hooks in this project.
    pub(super) hooks_here: String,
    /// When it was last heard, in any project.
    pub(super) last_event: Option<String>,
}

/// A setting that is not default.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReportSetting {
    /// Its section and name.
    pub(super) key: String,
    /// Its value; of a list the number of its entries, of an address that it is set.
    pub(super) value: Value,
    /// `home` or `project`.
    pub(super) source: String,
}

/// The daemon.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ReportDaemon {
    /// Whether a process is the daemon.
    pub(super) running: bool,
    /// Its version, if it answers.
    pub(super) version: Option<String>,
    /// Since when it runs.
    pub(super) since: Option<String>,
    /// Whether it has its HTTP interface.
    pub(super) http: bool,
    /// How many of its open projects are watched how.
    pub(super) watching: BTreeMap<String, u64>,
    /// Events that wait in the spools of all projects.
    pub(super) spooled: Option<u64>,
    /// Requests that wait.
    pub(super) queued: Option<u64>,
}

/// The daemon's log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ReportLog {
    /// Its last lines.
    pub(super) lines: Vec<String>,
    /// Its last warnings and errors.
    pub(super) problems: Vec<String>,
    /// Lines that are no entries, and are left out.
    pub(super) left_out: u64,
}

/// The project.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ReportProject {
    /// Counts of what is on record.
    pub(super) counts: Option<ReportCounts>,
    /// The quick checks of `doctor`.
    pub(super) checks: Vec<ReportCheck>,
    /// The last operations, newest first.
    pub(super) operations: Vec<ReportOperation>,
}

/// Counts of what is on record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReportCounts {
    /// Tracked files.
    pub(super) files: u64,
    /// Changes.
    pub(super) changes: u64,
    /// Dialogs.
    pub(super) dialogs: u64,
    /// Operations.
    pub(super) operations: u64,
    /// Bytes of the record.
    pub(super) record_bytes: u64,
    /// Events that wait.
    pub(super) spooled: u64,
    /// Paths that are not protected, by reason.
    pub(super) gaps: BTreeMap<String, u64>,
}

/// One check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReportCheck {
    /// Its name.
    pub(super) name: String,
    /// `ok`, `problem` or `skipped`.
    pub(super) state: String,
    /// How many problems it found.
    pub(super) problems: u64,
    /// The first of them, where they name nothing of the person's.
    pub(super) details: Vec<String>,
}

/// An operation, without its title.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReportOperation {
    /// Its id.
    pub(super) id: String,
    /// When it began.
    pub(super) at: String,
    /// Its kind.
    pub(super) kind: String,
    /// Its state.
    pub(super) state: String,
    /// Whether it was taken back.
    pub(super) undone: bool,
}

/// A part that could not be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReportFailure {
    /// The part.
    pub(super) part: String,
    /// The code of the error.
    pub(super) code: String,
    /// Why.
    pub(super) error: String,
}
