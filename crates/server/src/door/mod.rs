//! Request types of a project, and the one dispatcher that executes them.
//!
//! Each verb is a type with its own answer. [`Request`] is any of them, as it travels through the
//! daemon's socket; [`Request::carry_out`] is the one dispatcher. Each request takes the
//! project's lock and releases it.
//!
//! A verb that writes files comes in two steps, so that the person sees and agrees to exactly what
//! is done: one makes the [`Plan`](retake_engine::Plan), [`Apply`] carries it out and leaves alone
//! whatever moved on in between.
//!
//! Requests and answers are Retake talking to itself: both sides are the same version, so their
//! form is not stable. What other programs see is decided elsewhere.

mod context;
mod history;
mod record;
mod review;
mod upkeep;

use retake_engine::Project;
use retake_engine::model::Millis;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use retake_engine::Parcel;

pub use context::{ImportContext, MarkSeen};
pub use history::{BringBack, Condense, ImportHistory};
pub use record::{
    CompleteMessage, FEWEST_DIGITS, Look, LookThrough, MadeCheckpoint, MakeCheckpoint, Record,
    RecordConversation, new_key,
};
pub use review::{
    Accept, Apply, Approve, Hunks, PlanRedo, PlanReject, PlanReset, PlanRestore, PlanRollback,
    PlanUndo, PlanUndos, Recover, Scope,
};
pub use upkeep::{Collect, Purge};

use crate::Failure;

/// Progress callback: done, of a total.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// A request to a project, with the type of its answer.
pub trait Verb: Into<Request> + Clone {
    /// The answer.
    type Answer: Serialize + DeserializeOwned;

    /// Executes it in this process.
    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        progress: Progress<'_>,
    ) -> Result<Self::Answer, Failure>;
}

macro_rules! requests {
    ($($verb:ident),* $(,)?) => {
        /// Any verb.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "verb", content = "with", rename_all = "snake_case")]
        pub enum Request {
            $(
                #[doc = concat!("See [`", stringify!($verb), "`].")]
                $verb($verb),
            )*
        }

        $(impl From<$verb> for Request {
            fn from(verb: $verb) -> Self {
                Self::$verb(verb)
            }
        })*

        impl Request {
            /// Executes the request in this process.
            pub fn carry_out(
                &self,
                project: &Project,
                at: Millis,
                progress: Progress<'_>,
            ) -> Result<Value, Failure> {
                match self {
                    $(Self::$verb(verb) => answer(&verb.carry_out(project, at, progress)?),)*
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
    Record,
    CompleteMessage,
    RecordConversation,
    Look,
    LookThrough,
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
    Apply,
    Accept,
    Approve,
    Recover,
    Collect,
    Purge,
    ImportHistory,
    Condense,
    BringBack,
);

impl Request {
    /// Returns whether it is idempotent: it only reads, or carries an idempotency key.
    pub fn may_be_repeated(&self) -> bool {
        match self {
            Self::Record(_)
            | Self::CompleteMessage(_)
            | Self::RecordConversation(_)
            | Self::ImportHistory(_)
            | Self::Look(_)
            | Self::LookThrough(_)
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
            | Self::Apply(_)
            | Self::Accept(_)
            | Self::Approve(_)
            | Self::Recover(_)
            | Self::Collect(_)
            | Self::Purge(_)
            | Self::Condense(_)
            | Self::BringBack(_) => false,
        }
    }
}

pub(crate) fn answer(answer: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(answer).map_err(|error| {
        Failure::new("wire", format!("the answer cannot be sent: {error}"), "stop the daemon")
    })
}
