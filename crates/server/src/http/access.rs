//! Codes, logins and agents' tokens: handed out, listed and revoked, by HTTP and by the socket.
//!
//! Invariant: a token that an agent holds is bound only to a dialog that was in no project before,
//! or that the person named when it was minted. So no agent can take over another one's dialog.

use std::path::PathBuf;

use retake_engine::iso_8601;
use retake_engine::model::{DialogId, ErrorCode, Millis};
use retake_service::ApiError;
use retake_service::documents::{
    AgentTokenDocument, AgentTokenList, LoginDocument, LoginList, MintedTokenDocument,
    RevokedDocument,
};
use retake_service::request::{EncodedAnswer, to_answer};
use serde::{Deserialize, Serialize};

use super::caller::{HttpCaller, other_dialog};
use super::error::ErrorResponse;
use super::grants::{AgentGrant, MintedToken, TokenGrant, TokenGrants, TokenLifetimes};
use super::one_time_code::OneTimeCodes;
use crate::ProjectPool;

/// Maximum characters of a note.
const MAX_LABEL_CHARS: usize = 100;

/// How other programs come in.
#[derive(Debug)]
pub struct HttpAccess {
    pub(super) codes: OneTimeCodes,
    pub(super) grants: TokenGrants,
}

/// A request about tokens and logins that comes through the daemon's socket.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessRequest {
    /// Mints a token for an agent of the project at or above a folder.
    MintAgentToken {
        /// The folder.
        start: PathBuf,
        /// The dialog that it is bound to; the first that it speaks of if absent.
        dialog: Option<DialogId>,
        /// The person's note.
        label: Option<String>,
    },
    /// Lists the tokens of agents, of one project or of all.
    AgentTokens {
        /// A folder of the project.
        start: Option<PathBuf>,
    },
    /// Revokes the token of an agent.
    RevokeAgentToken {
        /// Its id.
        id: String,
    },
    /// Lists logins.
    Logins {},
    /// Revokes logins.
    Logout {
        /// Their ids; all of them if it is absent.
        ids: Option<Vec<String>>,
    },
}

impl HttpAccess {
    /// Reads the tokens of the pool's home.
    pub(super) fn open(pool: &ProjectPool, lifetimes: TokenLifetimes) -> Self {
        let grants = TokenGrants::open(pool.retake().folder(), lifetimes);
        Self { codes: OneTimeCodes::default(), grants }
    }

    /// One-time codes for browsers.
    pub(crate) fn codes(&self) -> &OneTimeCodes {
        &self.codes
    }

    /// Executes a request of the socket.
    pub(crate) fn run(
        &self,
        pool: &ProjectPool,
        request: AccessRequest,
    ) -> Result<EncodedAnswer, ApiError> {
        let now = pool.now();
        match request {
            AccessRequest::MintAgentToken { start, dialog, label } => {
                let project = pool.open(&start)?.id().to_owned();
                to_answer(&self.mint_agent_token(project, dialog, label, now)?)
            }
            AccessRequest::AgentTokens { start } => {
                let project = start.map(|start| pool.open(&start)).transpose()?;
                let id = project.as_ref().map(|project| project.id());
                to_answer(&self.agent_tokens(id, now))
            }
            AccessRequest::RevokeAgentToken { id } => {
                to_answer(&self.revoke_agent_token(None, &id, now)?)
            }
            AccessRequest::Logins {} => to_answer(&self.logins(None, now)),
            AccessRequest::Logout { ids } => to_answer(&self.logout(ids.as_deref(), now)?),
        }
    }

    /// Mints a token for an agent of a project.
    pub(super) fn mint_agent_token(
        &self,
        project: String,
        dialog: Option<DialogId>,
        label: Option<String>,
        now: Millis,
    ) -> Result<MintedTokenDocument, ApiError> {
        let agent = AgentGrant::new(project, dialog);
        let minted = self.grants.mint(Some(agent), check_label(label)?, now)?;
        let grant =
            self.agent_token(&minted.grant).ok_or_else(|| unknown_token(minted.grant.id()))?;
        Ok(MintedTokenDocument { token: minted.text().to_owned(), grant })
    }

    /// Logs a browser in; the note was checked.
    pub(super) fn log_in(
        &self,
        label: Option<String>,
        now: Millis,
    ) -> Result<MintedToken, ApiError> {
        self.grants.mint(None, label, now)
    }

    /// When a token ends, as documents say it.
    pub(super) fn expiry(&self, grant: &TokenGrant) -> String {
        iso_8601(grant.expires_at(self.grants.lifetimes()))
    }

    /// The tokens of agents, of one project or of all.
    pub(super) fn agent_tokens(&self, project: Option<&str>, now: Millis) -> AgentTokenList {
        let all = self.grants.list(now);
        let documents = all.iter().filter_map(|grant| self.agent_token(grant));
        let is_meant =
            |one: &AgentTokenDocument| project.is_none_or(|project| one.project == project);
        AgentTokenList { tokens: documents.filter(is_meant).collect() }
    }

    /// Revokes the token of an agent, in one project or in any.
    pub(super) fn revoke_agent_token(
        &self,
        project: Option<&str>,
        id: &str,
        now: Millis,
    ) -> Result<RevokedDocument, ApiError> {
        let revoked = self.grants.revoke(now, |grant| {
            let is_meant = |agent: &AgentGrant| project.is_none_or(|own| agent.project() == own);
            grant.id() == id && grant.agent().is_some_and(is_meant)
        })?;
        if revoked.is_empty() { Err(unknown_token(id)) } else { Ok(RevokedDocument { revoked }) }
    }

    /// The logins; `caller` says which one is current.
    pub(super) fn logins(&self, caller: Option<&HttpCaller>, now: Millis) -> LoginList {
        let current = caller.and_then(HttpCaller::grant).map(|grant| grant.id());
        let all = self.grants.list(now);
        let logins = all.iter().filter(|grant| grant.agent().is_none());
        let document = |grant: &TokenGrant| LoginDocument {
            id: grant.id().to_owned(),
            label: grant.label().map(str::to_owned),
            created_at: iso_8601(grant.created_at()),
            last_used_at: iso_8601(grant.last_used_at()),
            expires_at: self.expiry(grant),
            current: current == Some(grant.id()),
        };
        LoginList { logins: logins.map(|grant| document(grant)).collect() }
    }

    /// Revokes logins: these, or all of them.
    pub(super) fn logout(
        &self,
        ids: Option<&[String]>,
        now: Millis,
    ) -> Result<RevokedDocument, ApiError> {
        let known = self.logins(None, now).logins;
        let is_unknown = |id: &&String| !known.iter().any(|login| login.id == **id);
        if let Some(unknown) = ids.into_iter().flatten().find(is_unknown) {
            return Err(unknown_token(unknown));
        }
        let is_meant = |id: &str| ids.is_none_or(|ids| ids.iter().any(|one| one == id));
        let revoked =
            self.grants.revoke(now, |grant| grant.agent().is_none() && is_meant(grant.id()))?;
        Ok(RevokedDocument { revoked })
    }

    /// Checks that the caller may speak for these dialogs; the first one binds its token.
    pub(super) fn bind_dialogs<'a>(
        &self,
        pool: &ProjectPool,
        caller: &HttpCaller,
        dialogs: impl Iterator<Item = &'a DialogId>,
    ) -> Result<(), ErrorResponse> {
        caller.require_speaker()?;
        let Some((grant, agent)) = caller.grant().and_then(|grant| Some((grant, grant.agent()?)))
        else {
            return Ok(());
        };
        let mut dialogs: Vec<_> = dialogs.collect();
        dialogs.dedup();
        let first = dialogs.first().copied();
        if let Some(other) = dialogs.iter().find(|dialog| Some(**dialog) != first) {
            let message = format!("one token does not speak for a second dialog, '{other}'");
            return Err(other_dialog(message));
        }
        let Some(dialog) = first else { return Ok(()) };
        if agent.dialog().is_none() {
            if is_on_record(pool, dialog)? {
                let message =
                    format!("dialog '{dialog}' is on record, and not begun with this token");
                return Err(other_dialog(message));
            }
            if !self.grants.bind(grant, dialog, pool.now())? {
                let message = format!("dialog '{dialog}' belongs to another token");
                return Err(other_dialog(message));
            }
        }
        caller.check_speaks_for(dialog)
    }

    fn agent_token(&self, grant: &TokenGrant) -> Option<AgentTokenDocument> {
        let agent = grant.agent()?;
        Some(AgentTokenDocument {
            id: grant.id().to_owned(),
            project: agent.project().to_owned(),
            dialog: agent.dialog().map(ToString::to_string),
            label: grant.label().map(str::to_owned),
            created_at: iso_8601(grant.created_at()),
            last_used_at: iso_8601(grant.last_used_at()),
            expires_at: self.expiry(grant),
        })
    }
}

/// Returns true if some project has the dialog: events about several projects are recorded in
/// each of them. Records whose folder is away count: it may come back.
fn is_on_record(pool: &ProjectPool, dialog: &DialogId) -> Result<bool, ApiError> {
    for known in pool.known_projects()? {
        if pool.peek(&known.id, |project| Ok(project.dialog(dialog)?.is_some()))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses a note that is no short line.
pub(super) fn check_label(label: Option<String>) -> Result<Option<String>, ApiError> {
    let is_good = |label: &String| {
        label.chars().count() <= MAX_LABEL_CHARS && !label.chars().any(char::is_control)
    };
    if label.as_ref().is_none_or(is_good) {
        return Ok(label);
    }
    Err(ApiError::new(
        ErrorCode::BadValue,
        format!("`label` is no line of at most {MAX_LABEL_CHARS} characters"),
        "write a short name, such as \"ci\"",
    ))
}

fn unknown_token(id: &str) -> ApiError {
    ApiError::new(
        ErrorCode::UnknownToken,
        format!("there is no token or login '{id}'; it may have been revoked or have expired"),
        "`retake daemon token --list` and `retake daemon logout --list` name them",
    )
}
