//! How the open projects are: watching, queues, spools, and the last failure of each.

use std::sync::{Mutex, PoisonError};

use retake_engine::model::Millis;
use retake_engine::{KnownProject, RootPresence, SpoolBacklog, WatchState, iso_8601};
use retake_service::ApiError;
use retake_service::documents::{HealthDocument, LastFailure, ProjectHealth, WatchingState};

use super::{ProjectHandle, ProjectPool};
use crate::wire::{PROTOCOL_VERSION, VERSION};

/// What a project's worker reports of itself.
#[derive(Debug, Default)]
pub(super) struct WorkerReport {
    last_failure: Mutex<Option<LastFailure>>,
    watch_failure: Mutex<Option<String>>,
}

impl WorkerReport {
    /// Keeps a failure that no request reports, until the next one.
    pub(super) fn fail(&self, failure: &ApiError, at: Millis) {
        let kept = LastFailure {
            at: iso_8601(at),
            code: failure.code.to_string(),
            message: failure.message.clone(),
        };
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }

    /// Keeps the reason why the project is not watched; none if it is.
    pub(super) fn set_watch_failure(&self, why: Option<String>) {
        *self.watch_failure.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    fn last_failure(&self) -> Option<LastFailure> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn watch_failure(&self) -> Option<String> {
        self.watch_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How a project is watched, and why not more.
struct Watching {
    state: WatchingState,
    reason: Option<String>,
    polled: u64,
}

impl Watching {
    fn off(reason: Option<String>) -> Self {
        Self { state: WatchingState::Off, reason, polled: 0 }
    }

    fn of(handle: &ProjectHandle, presence: RootPresence) -> Self {
        match presence {
            RootPresence::Missing => return Self::off(Some("its folder is not there".to_owned())),
            RootPresence::Replaced => {
                return Self::off(Some("another folder stands at its path".to_owned()));
            }
            RootPresence::Present => {}
        }
        let Some(state) = handle.watch_state() else {
            return Self::off(handle.report().watch_failure());
        };
        Self::from(&state)
    }
}

impl From<&WatchState> for Watching {
    fn from(state: &WatchState) -> Self {
        if let Some(why) = &state.unavailable_reason {
            return Self::off(Some(why.clone()));
        }
        let polled = state.polled.len() as u64;
        let why = (polled > 0).then(|| {
            format!(
                "{polled} folders are walked at each scan, because the system's budget of watches \
                 or a permission is missing"
            )
        });
        match (state.catching_up, polled) {
            (true, _) => {
                let lost = match state.overflows {
                    0 => "the next scan walks everything".to_owned(),
                    count => format!(
                        "the system lost events ({count} times), so the next scan walks everything"
                    ),
                };
                Self { state: WatchingState::CatchingUp, reason: Some(lost), polled }
            }
            (false, 0) => Self { state: WatchingState::On, reason: None, polled },
            (false, _) => Self { state: WatchingState::Partial, reason: why, polled },
        }
    }
}

impl ProjectHandle {
    fn health(&self, presence: RootPresence, spool: SpoolBacklog) -> ProjectHealth {
        let watching = Watching::of(self, presence);
        ProjectHealth {
            id: self.id().to_owned(),
            root: self.root().to_string_lossy().into_owned(),
            missing: presence == RootPresence::Missing,
            replaced: presence == RootPresence::Replaced,
            watching: watching.state,
            watching_reason: watching.reason,
            polled_folders: watching.polled,
            queued: self.waiting_jobs() as u64,
            spooled: spool.events,
            oldest_spooled: spool.oldest.map(iso_8601),
            last_error: self.report().last_failure(),
        }
    }
}

fn closed_health(known: &KnownProject, spool: SpoolBacklog) -> ProjectHealth {
    ProjectHealth {
        id: known.id.clone(),
        root: known.root.to_string_lossy().into_owned(),
        missing: known.presence == RootPresence::Missing,
        replaced: known.presence == RootPresence::Replaced,
        watching: WatchingState::Closed,
        watching_reason: Some("no request named it yet".to_owned()),
        polled_folders: 0,
        queued: 0,
        spooled: spool.events,
        oldest_spooled: spool.oldest.map(iso_8601),
        last_error: None,
    }
}

impl ProjectPool {
    /// Returns how the daemon is; opens and scans nothing.
    pub fn health(&self, http: Option<String>) -> Result<HealthDocument, ApiError> {
        let known = self.known_projects()?;
        let open = self.handles();
        let mut projects = Vec::new();
        let mut spooled = 0;
        for project in &known {
            let spool = self.retake().spool_backlog(&project.id).unwrap_or_default();
            spooled += spool.events;
            match open.iter().find(|handle| handle.id() == project.id) {
                Some(handle) => projects.push(handle.health(project.presence, spool)),
                None if spool.events > 0 => projects.push(closed_health(project, spool)),
                None => {}
            }
        }
        projects.sort_by(|one, other| one.root.cmp(&other.root));
        let uptime = self.now().saturating_sub(self.started_at());
        Ok(HealthDocument {
            version: VERSION.to_owned(),
            protocol: PROTOCOL_VERSION,
            pid: std::process::id(),
            since: iso_8601(self.started_at()),
            uptime_seconds: u64::try_from(uptime / 1000).unwrap_or(0),
            http,
            http_note: None,
            known_projects: known.len() as u64,
            open_projects: open.len() as u64,
            spooled,
            queued: projects.iter().map(|project| project.queued).sum(),
            free_bytes: self.retake().free_bytes(),
            projects: Some(projects),
        })
    }
}
