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

mod context;
mod history;
mod maintenance;
mod record;
mod review;

use retake_engine::Project;
use retake_engine::model::{ErrorCode, Millis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use retake_engine::Submission;

pub use context::{ImportContext, MarkSeen};
pub use history::{CondenseHistory, ImportHistory, UnhideMessages};
pub use maintenance::{CollectGarbage, PurgeContent};
pub use record::{
    CompleteMessage, MIN_ID_DIGITS, MadeCheckpoint, MakeCheckpoint, RecordConversation,
    RecordEvents, RefreshProject, RescanProject, new_idempotency_key,
};
pub use review::{
    AcceptChanges, ApplyPlan, ApproveDialog, ChangeScope, HunkSelection, PlanRedo, PlanReject,
    PlanReset, PlanRestore, PlanRollback, PlanUndo, PlanUndos, RecoverOperation,
};

use crate::ApiError;

/// Progress callback: done, of a total.
pub type ProgressFn<'a> = &'a mut dyn FnMut(u64, u64);

/// A request to a project, with the type of its answer.
pub trait ProjectCommand: Into<ProjectRequest> + Clone {
    /// The answer.
    type Answer: Serialize + DeserializeOwned;

    /// Executes it in this process.
    fn run(
        &self,
        project: &Project,
        at: Millis,
        progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError>;
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
            ) -> Result<Value, ApiError> {
                match self {
                    $(Self::$verb(verb) => to_answer(&verb.run(project, at, progress)?),)*
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
    ImportHistory,
    CondenseHistory,
    UnhideMessages,
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
            | Self::ImportContext(_)
            | Self::PlanUndo(_)
            | Self::PlanUndos(_)
            | Self::PlanRedo(_)
            | Self::PlanReject(_)
            | Self::PlanRollback(_)
            | Self::PlanRestore(_)
            | Self::PlanReset(_) => true,
            Self::MakeCheckpoint(_)
            | Self::MarkSeen(_)
            | Self::ApplyPlan(_)
            | Self::AcceptChanges(_)
            | Self::ApproveDialog(_)
            | Self::RecoverOperation(_)
            | Self::CollectGarbage(_)
            | Self::PurgeContent(_)
            | Self::CondenseHistory(_)
            | Self::UnhideMessages(_) => false,
        }
    }
}

/// Serialises an answer for the daemon's socket.
pub fn to_answer(answer: &impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(answer).map_err(|error| {
        ApiError::new(
            ErrorCode::Wire,
            format!("the answer cannot be sent: {error}"),
            "stop the daemon",
        )
    })
}
