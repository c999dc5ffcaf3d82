//! Who sent a request, as its token says, and what that caller may reach.
//!
//! | token | reaches | speaks for |
//! |---|---|---|
//! | the person's of this start, or a login | everything | every dialog |
//! | minted for an agent | its project | its dialog, from the first event on |
//! | `run/agent-token` | reads and checkpoints of every project | no dialog |
//!
//! Invariant: a request that has passed the guard has exactly one caller, in its extensions and
//! as [`HttpCaller::current`]; code that finds none treats the request as an unknown agent's.

use std::future::Future;
use std::sync::Arc;

use retake_engine::model::{
    Caller, CallerChannel, CallerEvidence, CallerScope, DialogId, ErrorCode,
};
use retake_service::review::CommentReader;

use super::error::ErrorResponse;
use super::grants::{AgentGrant, TokenGrant};
use super::token::TokenScope;

tokio::task_local! {
    static CURRENT: HttpCaller;
}

/// Who is counted when limits are checked: all of a person's tokens are one account, and each
/// minted token is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallerAccount {
    /// The person.
    Person,
    /// Agents that share the token of this start, and clients that have sent no token.
    SharedAgent,
    /// The agent with this minted token.
    Agent(String),
}

impl CallerAccount {
    /// The name that keys of events get, so that those of several senders do not meet.
    pub(super) fn key(&self) -> &str {
        match self {
            Self::Person => "person",
            Self::SharedAgent => "shared",
            Self::Agent(id) => id,
        }
    }

    /// Returns true for the person's account.
    pub(super) fn is_person(&self) -> bool {
        *self == Self::Person
    }
}

/// The sender of a request.
#[derive(Clone, Debug)]
pub(super) struct HttpCaller {
    scope: TokenScope,
    /// The minted token or login; none for a token of this start.
    grant: Option<Arc<TokenGrant>>,
}

impl HttpCaller {
    /// The holder of a token of this start.
    pub(super) fn of_start(scope: TokenScope) -> Self {
        Self { scope, grant: None }
    }

    /// The holder of a minted token or a login.
    pub(super) fn of_grant(grant: Arc<TokenGrant>) -> Self {
        let scope = if grant.agent().is_some() { TokenScope::Agent } else { TokenScope::Human };
        Self { scope, grant: Some(grant) }
    }

    /// The caller of the request that runs in this task.
    pub(super) fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Runs a request as this caller's.
    pub(super) async fn run<F: Future>(self, request: F) -> F::Output {
        CURRENT.scope(self, request).await
    }

    /// Who says what the request of this task says; without a token it is some program.
    pub(super) fn current_as_caller() -> Caller {
        Self::current().map_or_else(
            || Caller::program(CallerChannel::Http, CallerEvidence::None),
            |caller| caller.as_caller(),
        )
    }

    /// The caller as rows of the record name it. An agent is never the person, whatever it sends.
    pub(super) fn as_caller(&self) -> Caller {
        let (channel, evidence) = (CallerChannel::Http, CallerEvidence::Token);
        if self.is_person() {
            return Caller::person(channel, evidence);
        }
        let agent = self.grant.as_ref().and_then(|grant| grant.agent());
        match agent.and_then(AgentGrant::dialog) {
            Some(dialog) => {
                let scope = CallerScope::Agent { dialog: dialog.clone(), agent: None };
                Caller { channel, scope, evidence }
            }
            None => Caller::program(channel, evidence),
        }
    }

    /// The reader of comments that the caller is.
    pub(super) fn comment_reader(&self) -> CommentReader {
        if self.is_person() {
            return CommentReader::Person;
        }
        CommentReader::Agent(self.as_caller().dialog().cloned())
    }

    /// Returns true if the caller is the person.
    pub(super) fn is_person(&self) -> bool {
        self.scope == TokenScope::Human
    }

    /// The minted token or login.
    pub(super) fn grant(&self) -> Option<&Arc<TokenGrant>> {
        self.grant.as_ref()
    }

    /// The account that limits count.
    pub(super) fn account(&self) -> CallerAccount {
        match &self.grant {
            _ if self.is_person() => CallerAccount::Person,
            Some(grant) => CallerAccount::Agent(grant.id().to_owned()),
            None => CallerAccount::SharedAgent,
        }
    }

    /// The one project that the caller may reach; none if it may reach all of them.
    pub(super) fn only_project(&self) -> Option<&str> {
        Some(self.grant.as_ref()?.agent()?.project())
    }

    /// Returns true if the caller may reach a project.
    pub(super) fn may_reach(&self, project: &str) -> bool {
        self.only_project().is_none_or(|own| own == project)
    }

    /// Refuses an agent whose token is for another project.
    pub(super) fn check_project(&self, project: &str) -> Result<(), ErrorResponse> {
        if self.may_reach(project) { Ok(()) } else { Err(self.other_project()) }
    }

    /// The refusal of a project that is not the caller's.
    pub(super) fn other_project(&self) -> ErrorResponse {
        let own = self.only_project().unwrap_or_default();
        let message = format!("this token is for project {own} only");
        let hint = format!(
            "ask below /api/projects/{own}, or ask the person for a token of the other project"
        );
        ErrorResponse::new(ErrorCode::OtherProject, message, hint)
    }

    /// Refuses everybody but the person.
    pub(super) fn require_person(&self) -> Result<(), ErrorResponse> {
        if self.is_person() {
            return Ok(());
        }
        let hint = "ask the person to do it; agents record, look, and plan with `dry_run`";
        Err(ErrorResponse::new(ErrorCode::HumanOnly, "an agent's token does not allow this", hint))
    }

    /// Refuses the shared token, which speaks for no dialog.
    pub(super) fn require_speaker(&self) -> Result<(), ErrorResponse> {
        if self.is_person() || self.grant.is_some() {
            return Ok(());
        }
        let hint = "`retake daemon token --agent` in the project's folder mints a token for one \
                    dialog; hooks need none";
        Err(ErrorResponse::new(
            ErrorCode::UnboundToken,
            "the token in run/agent-token belongs to no dialog, so it cannot speak for one",
            hint,
        ))
    }

    /// Refuses an agent that speaks for a dialog which its token is not bound to.
    pub(super) fn check_speaks_for(&self, dialog: &DialogId) -> Result<(), ErrorResponse> {
        self.require_speaker()?;
        let Some(agent) = self.grant.as_ref().and_then(|grant| grant.agent()) else {
            return Ok(());
        };
        match agent.dialog() {
            Some(own) if own == dialog => Ok(()),
            Some(own) => {
                let message = format!("this token is bound to dialog '{own}', not to '{dialog}'");
                Err(other_dialog(message))
            }
            None => {
                let message = format!("this token is not bound to dialog '{dialog}'");
                Err(other_dialog(message))
            }
        }
    }
}

/// The refusal of a dialog that is not the caller's.
pub(super) fn other_dialog(message: String) -> ErrorResponse {
    let hint = "send the events of one new dialog with each token; a token for a dialog that \
                exists is minted by the person: `retake daemon token --agent --dialog ID`";
    ErrorResponse::new(ErrorCode::OtherDialog, message, hint)
}
