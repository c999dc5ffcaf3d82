//! The one front door: what can be asked of a project, and how it is carried out.
//!
//! Each verb is a type with its own answer. [`Request`] is any of them, as it travels through the
//! daemon's socket; [`Request::carry_out`] is the one dispatcher. Whoever carries out a request
//! takes the project's lock for it and gives it back.
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

/// Tells how far something has come: so much, of so much.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Something that can be asked of a project.
pub trait Verb: Into<Request> + Clone {
    /// What comes of it.
    type Answer: Serialize + DeserializeOwned;

    /// Does it, in this process.
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
            /// Does what is asked for, in this process.
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
    /// Whether it does no harm to do it twice: it reads, or it counts once by what it says.
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
