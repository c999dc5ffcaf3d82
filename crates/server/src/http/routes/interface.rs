//! The interface itself: its description, a page to read it on, and how a browser gets a token.

use std::sync::LazyLock;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::code::Refused;
use super::super::error::Problem;
use super::super::guard::page_policy;
use super::super::input::{Body, Limit};
use super::super::operation::{EVERYONE, Operation, Users};
use super::super::page::{page, style_hash};
use super::super::token::Scope;
use super::super::{Desk, description};

pub(super) fn router() -> OpenApiRouter<Desk> {
    let anybody = Operation { limit: Limit(1024), ..Operation::of(Users::Anybody) };
    OpenApiRouter::new()
        .routes(anybody.keep(routes!(exchange)))
        .routes(anybody.keep(routes!(reference)))
        .routes(EVERYONE.keep(routes!(openapi)))
}

/// A one-time code.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Exchange {
    /// The code, as `retake` gave it.
    #[schema(example = "AAECAwQFBgcICQoLDA0ODw")]
    code: String,
}

/// A token and what it allows.
#[derive(Debug, Serialize, ToSchema)]
struct Exchanged {
    /// The token.
    token: String,
    /// What it allows.
    scope: Scope,
}

/// Gives a token for a one-time code.
///
/// A code is good once and for a minute. After many wrong ones, others are
/// refused as such for a while; a good one is heard all the same.
#[utoipa::path(
    post, path = "/api/exchange", tag = "interface", request_body = Exchange,
    responses(
        (status = 200, description = "The token.", body = Exchanged),
        (status = 403, description = "The code is not good, or is used: `wrong_code`. Too many \
            were wrong: `too_many_codes`. Or a foreign Host or Origin.", body = Problem),
    )
)]
async fn exchange(
    State(desk): State<Desk>,
    Body(asked): Body<Exchange>,
) -> Result<Json<Exchanged>, Problem> {
    match desk.codes.take(&asked.code) {
        Ok(scope) => Ok(Json(Exchanged { token: desk.tokens.of(scope).to_owned(), scope })),
        Err(Refused::Wrong) => {
            let hint = "a code is good once and for a minute; ask for a new one";
            Err(Problem::new("wrong_code", "this code is not good", hint))
        }
        Err(Refused::TooMany) => {
            let hint = "try again in a minute";
            Err(Problem::new("too_many_codes", "too many wrong codes were sent", hint))
        }
    }
}

/// This description as a page.
#[utoipa::path(
    get, path = "/docs", tag = "interface",
    responses((status = 200, description = "The page.", body = String, content_type = "text/html"))
)]
async fn reference() -> Response {
    static PAGE: LazyLock<(String, String)> =
        LazyLock::new(|| (page_policy(&style_hash()), page()));
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
