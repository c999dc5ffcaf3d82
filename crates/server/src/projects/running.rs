//! The long verbs that run, or wait, in a project: how far each is, and how it is cancelled.
//!
//! Invariants: a run is listed from the moment it is asked for until its answer is ready. Its
//! progress is told to followers as a hint, at once for each phase and else at most every
//! [`HINT_INTERVAL`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use retake_engine::model::{DialogId, ErrorCode, Millis};
use retake_engine::{OperationControl, OperationPhase, OperationProgress, iso_8601};
use retake_service::ApiError;
use retake_service::documents::RunningOperation;
use serde_json::json;

use super::handle::ProjectShared;
use super::{EphemeralEvent, ProjectHandle};

/// Minimum interval between two hints about the same phase of a run.
const HINT_INTERVAL: Duration = Duration::from_millis(100);
/// Name of the hints.
pub(crate) const PROGRESS_HINT: &str = "operation_progress";

/// The runs of a project.
#[derive(Debug, Default)]
pub(super) struct RunList {
    next: AtomicU64,
    runs: Mutex<Vec<Arc<OperationRun>>>,
}

/// One long verb that runs or waits.
#[derive(Debug)]
pub(crate) struct OperationRun {
    id: String,
    verb: &'static str,
    dialog: Option<DialogId>,
    since: Millis,
    progress: Arc<Mutex<OperationProgress>>,
    control: OperationControl,
}

/// Lists a run for as long as it lives.
#[derive(Debug)]
pub(crate) struct RunGuard {
    shared: Arc<ProjectShared>,
    run: Arc<OperationRun>,
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.shared.runs.lock().retain(|run| run.id != self.run.id);
    }
}

impl RunGuard {
    /// Lists a run of this verb.
    pub(super) fn begin(
        shared: &Arc<ProjectShared>,
        verb: &'static str,
        dialog: Option<DialogId>,
        since: Millis,
    ) -> Self {
        let id = format!("r{}", shared.runs.next.fetch_add(1, Ordering::Relaxed) + 1);
        let waiting = OperationProgress {
            phase: OperationPhase::Waiting,
            operation: None,
            done: 0,
            total: 0,
        };
        let progress = Arc::new(Mutex::new(waiting));
        let teller = ProgressTeller {
            shared: Arc::clone(shared),
            id: id.clone(),
            verb,
            dialog: dialog.clone(),
            progress: Arc::clone(&progress),
            told: Mutex::new(None),
        };
        let control = OperationControl::new(move |progress| teller.tell(progress));
        let run = Arc::new(OperationRun { id, verb, dialog, since, progress, control });
        shared.runs.lock().push(Arc::clone(&run));
        Self { shared: Arc::clone(shared), run }
    }

    /// Returns how far the run is.
    pub(crate) fn progress(&self) -> OperationProgress {
        *lock(&self.run.progress)
    }

    /// Cancels the run; returns `false` if it writes files already.
    pub(crate) fn cancel(&self) -> bool {
        self.run.control.cancel()
    }

    /// Follows and cancels the run.
    pub(crate) fn control(&self) -> &OperationControl {
        &self.run.control
    }
}

/// Tells followers of a run's progress.
struct ProgressTeller {
    shared: Arc<ProjectShared>,
    id: String,
    verb: &'static str,
    dialog: Option<DialogId>,
    progress: Arc<Mutex<OperationProgress>>,
    /// The phase that was told last, and when.
    told: Mutex<Option<(OperationPhase, Instant)>>,
}

impl ProgressTeller {
    fn tell(&self, progress: OperationProgress) {
        *lock(&self.progress) = progress;
        let mut told = lock(&self.told);
        let is_due =
            told.is_none_or(|(phase, at)| phase != progress.phase || at.elapsed() >= HINT_INTERVAL);
        if !is_due {
            return;
        }
        *told = Some((progress.phase, Instant::now()));
        drop(told);
        let OperationProgress { phase, operation, done, total } = progress;
        let data = json!({
            "type": PROGRESS_HINT, "project": self.shared.id, "run": self.id, "verb": self.verb,
            "operation": operation.map(|id| id.to_string()), "dialog": self.dialog,
            "phase": phase, "done": done, "total": total,
        });
        self.shared.commits.publish(&EphemeralEvent {
            name: PROGRESS_HINT,
            dialog: self.dialog.clone(),
            data,
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunList {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<OperationRun>>> {
        lock(&self.runs)
    }

    /// Finds a run by its own name, or by that of its operation.
    fn find(&self, name: &str) -> Option<Arc<OperationRun>> {
        let is_it = |run: &&Arc<OperationRun>| {
            let operation = run.control.operation();
            run.id == name || operation.is_some_and(|id| id.to_string() == name)
        };
        self.lock().iter().find(is_it).cloned()
    }
}

impl OperationRun {
    fn document(&self) -> RunningOperation {
        let progress = *lock(&self.progress);
        RunningOperation {
            run: self.id.clone(),
            verb: self.verb.to_owned(),
            operation: self.control.operation().map(|id| id.to_string()),
            dialog: self.dialog.as_ref().map(|id| id.0.clone()),
            since: iso_8601(self.since),
            phase: progress.phase.as_str().to_owned(),
            done: progress.done,
            total: progress.total,
            cancelled: self.control.is_cancelled(),
        }
    }
}

impl ProjectHandle {
    /// The long verbs that run or wait, the oldest first.
    pub fn running_operations(&self) -> Vec<RunningOperation> {
        self.run_list().lock().iter().map(|run| run.document()).collect()
    }

    /// Cancels a run, by its own name or by that of its operation: what it has not begun to write
    /// is not written.
    pub fn cancel_operation(&self, name: &str) -> Result<RunningOperation, ApiError> {
        let Some(run) = self.run_list().find(name) else {
            return Err(self.not_running(name));
        };
        if run.control.cancel() {
            return Ok(run.document());
        }
        let message = format!("{} ({}) writes files already, and will be finished", name, run.verb);
        Err(ApiError::new(ErrorCode::TooLate, message, "take it back with undo once it is done"))
    }

    /// The reason why there is nothing to cancel.
    fn not_running(&self, name: &str) -> ApiError {
        let id = name.strip_prefix('o').and_then(|digits| digits.parse().ok());
        let known = id.map(|seq| {
            let id = retake_engine::model::OperationId(seq);
            self.read(|project| Ok(project.operation(id)?))
        });
        match known {
            Some(Ok(Some(operation))) => ApiError::new(
                ErrorCode::NotRunning,
                format!("operation {name} does not run: it is {}", operation.state.as_str()),
                "take it back with undo; one that was interrupted is settled with recover",
            ),
            _ => ApiError::new(
                ErrorCode::UnknownOperation,
                format!("no operation '{name}' runs or is on record"),
                "GET /api/projects/{project}/operations/running lists those that run",
            ),
        }
    }
}
