//! The interface itself: its description, a page to read it on, and how a browser gets a token.

use std::sync::{Arc, LazyLock};

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use retake_engine::model::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::access::check_label;
use super::super::error::ErrorResponse;
use super::super::extract::{BodyLimit, JsonBody};
use super::super::guard::page_policy;
use super::super::one_time_code::CodeRejection;
use super::super::page::{render_page, style_hash};
use super::super::route_policy::{EVERYONE, RouteAccess, RoutePolicy};
use super::super::token::TokenScope;
use super::super::{AppState, description};

pub(super) fn router() -> OpenApiRouter<AppState> {
    let anybody =
        RoutePolicy { limit: BodyLimit(1024), ..RoutePolicy::for_access(RouteAccess::Public) };
    OpenApiRouter::new()
        .routes(anybody.guard_route(routes!(exchange)))
        .routes(anybody.guard_route(routes!(reference)))
        .routes(EVERYONE.filtered().guard_route(routes!(openapi)))
}

/// A one-time code.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Exchange)]
struct CodeExchangeBody {
    /// The code, as `retake` gave it.
    #[schema(example = "AAECAwQFBgcICQoLDA0ODw")]
    code: String,
    /// What the program calls itself in the list of logins.
    #[schema(max_length = 100, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$")]
    label: Option<String>,
}

/// A token and what it allows.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Exchanged)]
struct IssuedToken {
    /// The token.
    token: String,
    /// What it allows.
    scope: TokenScope,
    /// The login's id; none for an agent's token.
    login: Option<String>,
    /// When it ends; none for an agent's token, which ends with the daemon.
    #[schema(format = DateTime)]
    expires_at: Option<String>,
}

/// Gives a token for a one-time code.
///
/// A person's code gives a login, which stays good when the daemon starts again. A code is good
/// once and for a minute. After many wrong ones, others are
/// refused as such for a while; a good one is heard all the same.
#[utoipa::path(
    post, path = "/api/exchange", tag = "interface", request_body = CodeExchangeBody,
    responses(
        (status = 200, description = "The token.", body = IssuedToken),
        (status = 403, description = "The code is not good, or is used: `wrong_code`. Too many \
            were wrong: `too_many_codes`. Or a foreign Host or Origin.", body = ErrorResponse),
    )
)]
async fn exchange(
    State(state): State<AppState>,
    JsonBody(body): JsonBody<CodeExchangeBody>,
) -> Result<Json<IssuedToken>, ErrorResponse> {
    // A code is used up by the exchange, so that what cannot be used is said before it.
    let label = check_label(body.label)?;
    match state.access.codes.redeem(&body.code) {
        Ok(TokenScope::Human) => state.log_in(label).await,
        Ok(scope @ TokenScope::Agent) => {
            let token = state.tokens.token_of(scope).to_owned();
            Ok(Json(IssuedToken { token, scope, login: None, expires_at: None }))
        }
        Err(CodeRejection::Wrong) => {
            let hint = "a code is good once and for a minute; ask for a new one";
            Err(ErrorResponse::new(ErrorCode::WrongCode, "this code is not good", hint))
        }
        Err(CodeRejection::TooManyWrong) => {
            let hint = "try again in a minute";
            Err(ErrorResponse::new(ErrorCode::TooManyCodes, "too many wrong codes were sent", hint))
        }
    }
}

impl AppState {
    /// Logs a browser in. Its token outlives the daemon, and is revoked by `POST /api/logout`.
    async fn log_in(&self, label: Option<String>) -> Result<Json<IssuedToken>, ErrorResponse> {
        let access = Arc::clone(&self.access);
        self.run_blocking(move |pool| {
            let login = access.log_in(label, pool.now())?;
            Ok(Json(IssuedToken {
                token: login.text().to_owned(),
                scope: TokenScope::Human,
                login: Some(login.grant.id().to_owned()),
                expires_at: Some(access.expiry(&login.grant)),
            }))
        })
        .await
    }
}

/// This description as a page.
#[utoipa::path(
    get, path = "/docs", tag = "interface",
    responses((status = 200, description = "The page.", body = String, content_type = "text/html"))
)]
async fn reference() -> Response {
    static PAGE: LazyLock<(String, String)> =
        LazyLock::new(|| (page_policy(&style_hash()), render_page()));
    let (policy, page) = &*PAGE;
    ([(header::CONTENT_SECURITY_POLICY, policy.as_str())], Html(page.as_str())).into_response()
}

/// This description, as OpenAPI 3.1.
#[utoipa::path(
    get, path = "/api/openapi.json", tag = "interface",
    responses((status = 200, description = "The description.", body = Object))
)]
async fn openapi() -> Json<Value> {
    Json(description())
}
