//! Tokens that were minted for agents, and logins of browsers. The tokens themselves are shown
//! once, when they are minted.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A token that was minted for an agent, without the token itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AgentToken)]
pub struct AgentTokenDocument {
    /// What it is revoked by.
    pub id: String,
    /// The project that it is for.
    pub project: String,
    /// The dialog that it is bound to; none before its first event.
    pub dialog: Option<String>,
    /// The person's note.
    pub label: Option<String>,
    /// When it was minted.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last used, within an hour.
    #[schema(format = DateTime)]
    pub last_used_at: String,
    /// When it ends, unless it is used before.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

/// The tokens that were minted for a project's agents, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AgentTokens)]
pub struct AgentTokenList {
    /// The tokens.
    pub tokens: Vec<AgentTokenDocument>,
}

/// A token just minted. It is not shown again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = NewAgentToken)]
pub struct MintedTokenDocument {
    /// The token itself.
    pub token: String,
    /// What is kept of it.
    #[serde(flatten)]
    pub grant: AgentTokenDocument,
}

/// A browser that is logged in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Login)]
pub struct LoginDocument {
    /// What it is revoked by.
    pub id: String,
    /// What the program called itself.
    pub label: Option<String>,
    /// When it logged in.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last used, within an hour.
    #[schema(format = DateTime)]
    pub last_used_at: String,
    /// When it ends.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// Whether the request that asks is sent with it.
    pub current: bool,
}

/// The logins, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Logins)]
pub struct LoginList {
    /// The logins.
    pub logins: Vec<LoginDocument>,
}

/// Tokens or logins that are no longer good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Revoked)]
pub struct RevokedDocument {
    /// Their ids.
    pub revoked: Vec<String>,
}
