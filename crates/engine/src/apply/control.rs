//! Follows a long operation, and cancels it before it writes its first file.
//!
//! Invariant: an operation is either cancelled or writes files, never both. The two sides race for
//! one atomic state, so that [`OperationControl::cancel`] knows at once which of them it is.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use retake_model::OperationId;
use serde::{Deserialize, Serialize};

use crate::error::OperationError;

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationProgress {
    /// What it does now.
    pub phase: OperationPhase,
    /// Its id, once it is in the journal.
    pub operation: Option<OperationId>,
    /// Number of files, or rows, that this phase is done with.
    pub done: u64,
    /// The number of all of them; 0 if it is not known.
    pub total: u64,
}

/// What an operation does at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationPhase {
    /// It waits for its turn.
    Waiting,
    /// It compares the files with the record, and plans.
    Planning,
    /// It makes durable what it will write and replace, and writes temporary files.
    Staging,
    /// It puts the files into their places; it cannot be cancelled from here on.
    Writing,
    /// It removes records.
    Removing,
}

impl OperationPhase {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Planning => "planning",
            Self::Staging => "staging",
            Self::Writing => "writing",
            Self::Removing => "removing",
        }
    }
}

/// Receives the progress of an operation.
type ProgressListener = Box<dyn Fn(OperationProgress) + Send + Sync>;

/// Follows an operation, and cancels it.
#[derive(Default)]
pub struct OperationControl {
    state: AtomicU8,
    /// The `seq` of the operation; 0 before it is in the journal.
    operation: AtomicU64,
    listener: Option<ProgressListener>,
}

/// States of a control: it may be cancelled, it is, or it is too late for that.
const OPEN: u8 = 0;
const CANCELLED: u8 = 1;
const WRITING: u8 = 2;

impl fmt::Debug for OperationControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.load(Ordering::Acquire);
        f.debug_struct("OperationControl").field("state", &state).finish_non_exhaustive()
    }
}

impl OperationControl {
    /// A control whose progress goes to `listener`.
    pub fn new(listener: impl Fn(OperationProgress) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Box::new(listener)), ..Self::default() }
    }

    /// Cancels the operation; returns `false` if it writes files already.
    pub fn cancel(&self) -> bool {
        self.enter(CANCELLED)
    }

    /// Returns whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.state.load(Ordering::Acquire) == CANCELLED
    }

    /// Returns the operation, once it is in the journal.
    pub fn operation(&self) -> Option<OperationId> {
        Some(self.operation.load(Ordering::Acquire)).filter(|seq| *seq > 0).map(OperationId)
    }

    /// Fails if it was cancelled.
    pub fn check(&self) -> Result<(), OperationError> {
        if self.is_cancelled() {
            return Err(OperationError::Cancelled { operation: self.operation() });
        }
        Ok(())
    }

    /// Reports progress to the listener.
    pub fn report(&self, phase: OperationPhase, done: u64, total: u64) {
        if let Some(listener) = &self.listener {
            listener(OperationProgress { phase, operation: self.operation(), done, total });
        }
    }

    /// From here on it cannot be cancelled; returns `false` if it was.
    pub fn begin_writing(&self) -> bool {
        self.enter(WRITING)
    }

    pub(crate) fn set_operation(&self, id: OperationId) {
        self.operation.store(id.0, Ordering::Release);
    }

    /// Leaves the open state for another; returns whether it is in that one now.
    fn enter(&self, state: u8) -> bool {
        let entered = self.state.compare_exchange(OPEN, state, Ordering::AcqRel, Ordering::Acquire);
        entered.map_or_else(|now| now == state, |_| true)
    }
}
