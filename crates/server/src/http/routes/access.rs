//! Tokens of agents and logins of browsers: minted, listed and revoked by the person.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use retake_engine::model::{DialogId, ErrorCode};
use retake_service::documents::{AgentTokenList, LoginList, MintedTokenDocument, RevokedDocument};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{OptionalJsonBody, PathParams};
use super::super::route_policy::HUMANS;

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(HUMANS.guard_route(routes!(agent_tokens, mint)))
        .routes(HUMANS.guard_route(routes!(revoke)))
        .routes(HUMANS.guard_route(routes!(logins)))
        .routes(HUMANS.guard_route(routes!(logout)))
}

/// A token to be.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = AgentTokenRequest)]
struct AgentTokenBody {
    /// The dialog that it is bound to; the one of its first event unless told otherwise.
    dialog: Option<String>,
    /// A note for the list of tokens.
    #[schema(max_length = 100, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$")]
    label: Option<String>,
}

/// Mints a token for an agent: it may read this project, make checkpoints, ask for plans, and
/// record one dialog. The token is shown once.
#[utoipa::path(
    post, path = "/api/projects/{project}/agent-tokens", tag = "access",
    params(("project" = String, Path, description = "The project's id.")),
    request_body = Option<AgentTokenBody>,
    responses((status = 200, description = "The token.", body = MintedTokenDocument))
)]
async fn mint(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(body): OptionalJsonBody<AgentTokenBody>,
) -> Result<Json<MintedTokenDocument>, ErrorResponse> {
    let access = Arc::clone(&state.access);
    state
        .run_blocking(move |pool| {
            let project = pool.handle(&id)?.id().to_owned();
            let dialog = body.dialog.as_deref().map(DialogId::from);
            Ok(Json(access.mint_agent_token(project, dialog, body.label, pool.now())?))
        })
        .await
}

/// The tokens of this project's agents, without the tokens themselves.
#[utoipa::path(
    get, path = "/api/projects/{project}/agent-tokens", tag = "access",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The tokens.", body = AgentTokenList))
)]
async fn agent_tokens(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
) -> Result<Json<AgentTokenList>, ErrorResponse> {
    let access = Arc::clone(&state.access);
    state
        .run_blocking(move |pool| {
            let handle = pool.handle(&id)?;
            Ok(Json(access.agent_tokens(Some(handle.id()), pool.now())))
        })
        .await
}

/// Revokes an agent's token; its event streams end.
#[utoipa::path(
    delete, path = "/api/projects/{project}/agent-tokens/{token_id}", tag = "access",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("token_id" = String, Path, description = "The token's id, as the list has it."),
    ),
    responses((status = 200, description = "What was revoked.", body = RevokedDocument))
)]
async fn revoke(
    State(state): State<AppState>,
    PathParams((project, token)): PathParams<(String, String)>,
) -> Result<Json<RevokedDocument>, ErrorResponse> {
    let access = Arc::clone(&state.access);
    state
        .run_blocking(move |pool| {
            Ok(Json(access.revoke_agent_token(Some(&project), &token, pool.now())?))
        })
        .await
}

/// The browsers that are logged in.
#[utoipa::path(
    get, path = "/api/logins", tag = "access",
    responses((status = 200, description = "The logins.", body = LoginList))
)]
async fn logins(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
) -> Result<Json<LoginList>, ErrorResponse> {
    Ok(Json(state.access.logins(Some(&caller), state.projects.now())))
}

/// Which logins end.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = Logout)]
struct LogoutBody {
    /// This one; unless told otherwise, the one that the request is sent with.
    login: Option<String>,
    /// All of them.
    all: bool,
}

/// Ends logins: their tokens are no longer good, and their event streams end.
#[utoipa::path(
    post, path = "/api/logout", tag = "access", request_body = Option<LogoutBody>,
    responses(
        (status = 200, description = "What was revoked.", body = RevokedDocument),
        (status = 404, description = "There is no such login: `unknown_token`.",
            body = ErrorResponse),
    )
)]
async fn logout(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    OptionalJsonBody(body): OptionalJsonBody<LogoutBody>,
) -> Result<Json<RevokedDocument>, ErrorResponse> {
    let ids = body.chosen(&caller)?;
    let access = Arc::clone(&state.access);
    state.run_blocking(move |pool| Ok(Json(access.logout(ids.as_deref(), pool.now())?))).await
}

impl LogoutBody {
    /// The ids of the logins that end; none for all.
    fn chosen(self, caller: &HttpCaller) -> Result<Option<Vec<String>>, ErrorResponse> {
        if self.all {
            return Ok(None);
        }
        let own = caller.grant().map(|grant| grant.id().to_owned());
        self.login.or(own).map(|id| Some(vec![id])).ok_or_else(|| {
            ErrorResponse::new(
                ErrorCode::BadValue,
                "the request is not sent with a login",
                "name one as `login`, or send \"all\": true",
            )
        })
    }
}
