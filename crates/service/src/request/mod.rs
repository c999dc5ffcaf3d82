//! ProjectRequest types of a project, and the one dispatcher that executes them.
//!
//! Each verb is a type with its own answer. [`ProjectRequest`] is any of them, as it travels through the
//! daemon's socket; [`ProjectRequest::run`] is the one dispatcher. Each request takes the
//! project's lock and releases it.
//!
//! A verb that writes files comes in two steps, so that the person sees and agrees to exactly what
//! is done: one makes the [`Plan`](retake_engine::Plan), [`ApplyPlan`] carries it out and leaves alone
//! whatever moved on in between.
//!
//! Requests and answers are Retake talking to itself: both sides are the same version, so their
//! form is not stable. What other programs see is decided elsewhere.

mod comments;
mod context;
mod history;
mod hunks;
mod maintenance;
mod record;
mod review;
mod title;

use retake_engine::model::{DialogId, ErrorCode, Millis};
use retake_engine::{OperationControl, OperationError, OperationPhase, Project};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use retake_engine::Submission;

pub(crate) use comments::mask_feedback;
pub use comments::{AddComment, ChangeComment, CommentAct, SendComments, TakeFeedback};
pub use context::{ImportContext, MarkSeen};
pub use history::{CondenseHistory, ImportHistory, UnhideMessages};
pub use hunks::{
    CancelRejection, CarryOutRejections, ForgetRejections, KeepHunks, MarkAllSeen, MarkHunks,
    PlanRejectHunks, QueueRejection, QueuedHunks,
};
pub use maintenance::{CollectGarbage, PurgeContent};
pub use record::{
    CompleteMessage, MIN_ID_DIGITS, MadeCheckpoint, MakeCheckpoint, RecordConversation,
    RecordEvents, RefreshProject, RescanProject, new_idempotency_key,
};
pub use review::{
    AcceptChanges, ApplyPlan, ApproveDialog, ChangeScope, HunkSelection, PlanRedo, PlanReject,
    PlanReset, PlanRestore, PlanRollback, PlanUndo, PlanUndoOf, PlanUndos, RecoverOperation,
};
pub use title::SetDialogTitle;

use crate::ApiError;

/// Progress callback: done, of a total.
pub type ProgressFn<'a> = &'a mut dyn FnMut(u64, u64);

/// A request to a project, with the type of its answer.
pub trait ProjectCommand: Into<ProjectRequest> + Clone {
    /// The answer.
    type Answer: Serialize + DeserializeOwned;

    /// Whether it only reads and plans, so that it can be cancelled until its end.
    const ONLY_PLANS: bool = false;

    /// Whether it takes the project's lock for a moment at a time, so that a daemon runs it beside
    /// other requests.
    const RUNS_BESIDE: bool = false;

    /// Returns what it does if that may take long, so that clients can follow it: the verb, or the
    /// kind of the operation.
    fn long_verb(&self) -> Option<&'static str> {
        None
    }

    /// Returns the dialog that it is about, if it is one.
    fn dialog(&self) -> Option<&DialogId> {
        None
    }

    /// Executes it in this process.
    fn run(
        &self,
        project: &Project,
        at: Millis,
        progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError>;

    /// Executes it in this process, so that it can be followed and, before it writes, cancelled.
    fn run_with_control(
        self,
        project: &Project,
        at: Millis,
        control: &OperationControl,
    ) -> Result<Self::Answer, ApiError> {
        control.check()?;
        if !Self::ONLY_PLANS {
            begin_writing(control)?;
        }
        let phase =
            if Self::ONLY_PLANS { OperationPhase::Planning } else { OperationPhase::Writing };
        control.report(phase, 0, 0);
        let answer = self.run(project, at, &mut |done, all| control.report(phase, done, all))?;
        control.check()?;
        Ok(answer)
    }
}

/// From here on a command cannot be cancelled; fails if it was.
fn begin_writing(control: &OperationControl) -> Result<(), ApiError> {
    if control.begin_writing() {
        return Ok(());
    }
    Err(OperationError::Cancelled { operation: None }.into())
}

macro_rules! requests {
    ($($verb:ident),* $(,)?) => {
        /// Any verb.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "verb", content = "with", rename_all = "snake_case")]
        pub enum ProjectRequest {
            $(
                #[doc = concat!("See [`", stringify!($verb), "`].")]
                $verb($verb),
            )*
        }

        $(impl From<$verb> for ProjectRequest {
            fn from(verb: $verb) -> Self {
                Self::$verb(verb)
            }
        })*

        impl ProjectRequest {
            /// Executes the request in this process.
            pub fn run(
                &self,
                project: &Project,
                at: Millis,
                progress: ProgressFn<'_>,
            ) -> Result<EncodedAnswer, ApiError> {
                match self {
                    $(Self::$verb(verb) => to_answer(&verb.run(project, at, progress)?),)*
                }
            }

            /// Like [`ProjectRequest::run`], so that it can be followed and cancelled.
            pub fn run_with_control(
                self,
                project: &Project,
                at: Millis,
                control: &OperationControl,
            ) -> Result<EncodedAnswer, ApiError> {
                match self {
                    $(Self::$verb(verb) => {
                        to_answer(&verb.run_with_control(project, at, control)?)
                    })*
                }
            }

            /// See [`ProjectCommand::long_verb`].
            pub fn long_verb(&self) -> Option<&'static str> {
                match self {
                    $(Self::$verb(verb) => verb.long_verb(),)*
                }
            }

            /// See [`ProjectCommand::dialog`].
            pub fn dialog(&self) -> Option<&DialogId> {
                match self {
                    $(Self::$verb(verb) => verb.dialog(),)*
                }
            }

            /// See [`ProjectCommand::RUNS_BESIDE`].
            pub fn runs_beside(&self) -> bool {
                match self {
                    $(Self::$verb(_) => $verb::RUNS_BESIDE,)*
                }
            }

            /// Its name, for logs.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$verb(_) => stringify!($verb),)*
                }
            }
        }
    };
}

requests!(
    RecordEvents,
    CompleteMessage,
    RecordConversation,
    RefreshProject,
    RescanProject,
    MakeCheckpoint,
    MarkSeen,
    ImportContext,
    PlanUndo,
    PlanUndoOf,
    PlanUndos,
    PlanRedo,
    PlanReject,
    PlanRollback,
    PlanRestore,
    PlanReset,
    ApplyPlan,
    AcceptChanges,
    ApproveDialog,
    RecoverOperation,
    CollectGarbage,
    PurgeContent,
    SetDialogTitle,
    ImportHistory,
    CondenseHistory,
    UnhideMessages,
    KeepHunks,
    MarkHunks,
    MarkAllSeen,
    PlanRejectHunks,
    QueueRejection,
    CancelRejection,
    CarryOutRejections,
    ForgetRejections,
    AddComment,
    ChangeComment,
    SendComments,
    TakeFeedback,
);

impl ProjectRequest {
    /// Returns whether it is idempotent: it only reads, or carries an idempotency key.
    pub fn is_idempotent(&self) -> bool {
        match self {
            Self::RecordEvents(_)
            | Self::CompleteMessage(_)
            | Self::RecordConversation(_)
            | Self::ImportHistory(_)
            | Self::RefreshProject(_)
            | Self::RescanProject(_)
            | Self::SetDialogTitle(_)
            | Self::ImportContext(_)
            | Self::PlanUndo(_)
            | Self::PlanUndoOf(_)
            | Self::PlanUndos(_)
            | Self::PlanRedo(_)
            | Self::PlanReject(_)
            | Self::PlanRejectHunks(_)
            | Self::PlanRollback(_)
            | Self::PlanRestore(_)
            | Self::PlanReset(_)
            // Each of these leaves things as it would the first time.
            | Self::MarkHunks(_)
            | Self::MarkAllSeen(_)
            | Self::CarryOutRejections(_)
            | Self::ForgetRejections(_) => true,
            Self::MakeCheckpoint(_)
            | Self::MarkSeen(_)
            | Self::ApplyPlan(_)
            | Self::AcceptChanges(_)
            | Self::ApproveDialog(_)
            | Self::RecoverOperation(_)
            | Self::CollectGarbage(_)
            | Self::PurgeContent(_)
            | Self::CondenseHistory(_)
            | Self::UnhideMessages(_)
            | Self::KeepHunks(_)
            | Self::QueueRejection(_)
            | Self::CancelRejection(_)
            | Self::AddComment(_)
            | Self::ChangeComment(_)
            | Self::SendComments(_)
            | Self::TakeFeedback(_) => false,
        }
    }
}

/// An answer as JSON. As a tree of values, one about many files would take ten times the memory.
pub type EncodedAnswer = Vec<u8>;

/// Serialises an answer for the daemon's socket.
pub fn to_answer(answer: &impl Serialize) -> Result<EncodedAnswer, ApiError> {
    serde_json::to_vec(answer).map_err(|error| {
        ApiError::new(
            ErrorCode::Wire,
            format!("the answer cannot be sent: {error}"),
            "stop the daemon",
        )
    })
}
