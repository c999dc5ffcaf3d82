//! `retake daemon token` and `retake daemon logout`: who may use the HTTP interface.

use anyhow::Result;
use retake_engine::model::{DialogId, ErrorCode};
use retake_server::http::AccessRequest;
use retake_service::documents::{
    AgentTokenList, LoginDocument, LoginList, MintedTokenDocument, RevokedDocument,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{connect, map_unanswered};
use crate::args::{DaemonLogoutArgs, DaemonTokenArgs};
use crate::context::{CommandContext, Exit};
use crate::describe::plural;
use crate::escape::escape_text;
use crate::failure::ApiError;
use crate::output::{TextStyle, print_message};

pub(super) fn token(context: &CommandContext, options: &DaemonTokenArgs) -> Result<Exit> {
    if options.list {
        return list_tokens(context);
    }
    if let Some(id) = &options.revoke {
        let revoked = ask(context, AccessRequest::RevokeAgentToken { id: id.clone() })?;
        return show_revoked(context, &revoked);
    }
    let minted: MintedTokenDocument = ask(
        context,
        AccessRequest::MintAgentToken {
            start: context.start_folder().to_owned(),
            dialog: options.dialog.as_deref().map(DialogId::from),
            label: options.label.clone(),
        },
    )?;
    if context.json {
        context.out.json(&minted)?;
    } else {
        context.out.text(&format!("{}\n", minted.token))?;
        let bound = match &minted.grant.dialog {
            Some(dialog) => format!("for dialog {}", escape_text(dialog)),
            None => "for the first dialog that it sends an event of".to_owned(),
        };
        let text = format!("{}, {bound}; it is not shown again", minted.grant.id);
        print_message("token", TextStyle::Mark, &text);
    }
    Ok(Exit::Done)
}

/// Lists the tokens of the current project; outside of a project, all of them.
fn list_tokens(context: &CommandContext) -> Result<Exit> {
    let start = context.start_folder();
    let start = context.retake.locate(start).is_ok().then(|| start.to_owned());
    let list: AgentTokenList = ask(context, AccessRequest::AgentTokens { start })?;
    let lines = list.tokens.iter().map(|token| {
        let dialog = token.dialog.as_deref().unwrap_or("no dialog yet");
        let label = token.label.as_deref().unwrap_or_default();
        let [dialog, label] = [dialog, label].map(escape_text);
        format!("{}  {}  {dialog}  until {}  {label}", token.id, token.project, token.expires_at)
    });
    show_list(context, &list, lines.collect(), "No agent has a token.\n")
}

pub(super) fn logout(context: &CommandContext, options: &DaemonLogoutArgs) -> Result<Exit> {
    if options.list {
        let list: LoginList = ask(context, AccessRequest::Logins {})?;
        let lines = list.logins.iter().map(describe_login).collect();
        return show_list(context, &list, lines, "No browser is logged in.\n");
    }
    let ids = match (options.all, options.ids.as_slice()) {
        (true, _) => None,
        (false, []) => Some(vec![only_login(context)?]),
        (false, ids) => Some(ids.to_vec()),
    };
    show_revoked(context, &ask(context, AccessRequest::Logout { ids })?)
}

/// The id of the only login there is.
fn only_login(context: &CommandContext) -> Result<String> {
    let mut logins = ask::<LoginList>(context, AccessRequest::Logins {})?.logins;
    match (logins.pop(), logins.len()) {
        (Some(login), 0) => Ok(login.id),
        (last, rest) => {
            let count =
                plural(rest as u64 + u64::from(last.is_some()), "browser is", "browsers are");
            let message = format!("{count} logged in, so it is not clear which login ends");
            let hint = "name it, as `retake daemon logout --list` does, or pass --all";
            Err(ApiError::new(ErrorCode::UnknownToken, message, hint).into())
        }
    }
}

fn describe_login(login: &LoginDocument) -> String {
    let label = escape_text(login.label.as_deref().unwrap_or_default());
    let (since, until) = (&login.created_at, &login.expires_at);
    format!("{}  since {since}  until {until}  {label}", login.id)
}

fn ask<T: DeserializeOwned>(
    context: &CommandContext,
    request: AccessRequest,
) -> Result<T, ApiError> {
    map_unanswered(connect(context)?.access(request))
}

fn show_list(
    context: &CommandContext,
    document: &impl Serialize,
    lines: Vec<String>,
    none: &str,
) -> Result<Exit> {
    if context.json {
        context.out.json(document)?;
    } else if lines.is_empty() {
        context.out.text(none)?;
    } else {
        for line in lines {
            context.out.text(&format!("{}\n", line.trim_end()))?;
        }
    }
    Ok(Exit::Done)
}

fn show_revoked(context: &CommandContext, revoked: &RevokedDocument) -> Result<Exit> {
    if context.json {
        context.out.json(revoked)?;
    } else if revoked.revoked.is_empty() {
        context.out.text("There was nothing to revoke.\n")?;
    } else {
        context.out.text(&format!("Revoked {}.\n", revoked.revoked.join(", ")))?;
    }
    Ok(Exit::Done)
}
