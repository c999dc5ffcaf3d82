//! Callers: who said what is on record, and how that is known.

use retake_engine::model::{Caller, CallerChannel, CallerEvidence, CallerScope};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::enum_schemas;

/// Who said something, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SaidBy)]
pub struct CallerDocument {
    /// The way by which it was said.
    #[schema(schema_with = enum_schemas::caller_channel)]
    pub channel: CallerChannel,
    /// For whom the caller speaks: `person`, `agent`, or `program` for one that is bound to no
    /// dialog.
    #[schema(schema_with = enum_schemas::caller_scope)]
    pub scope: String,
    /// The dialog that an agent is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<String>,
    /// The agent within the dialog, if exactly one can be meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How the scope is known.
    #[schema(schema_with = enum_schemas::caller_evidence)]
    pub evidence: CallerEvidence,
}

impl From<&Caller> for CallerDocument {
    fn from(caller: &Caller) -> Self {
        let (scope, dialog, agent) = match &caller.scope {
            CallerScope::Person => ("person", None, None),
            CallerScope::Agent { dialog, agent } => {
                ("agent", Some(dialog.0.clone()), agent.as_ref().map(|agent| agent.0.clone()))
            }
            CallerScope::Program => ("program", None, None),
        };
        let (channel, evidence) = (caller.channel, caller.evidence);
        Self { channel, scope: scope.to_owned(), dialog, agent, evidence }
    }
}
