//! The policy of a route, registered with its handler and documentation: who may use it, and
//! its maximum body. There is no other way to add a route.

use std::convert::Infallible;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;
use retake_engine::model::ErrorCode;
use utoipa::openapi::path::PathItem;
use utoipa_axum::router::UtoipaMethodRouter;

use super::AppState;
use super::error::ErrorResponse;
use super::extract::{BodyLimit, MAX_BODY_BYTES};
use super::openapi::document_operation;
use super::token::TokenScope;

/// Who may use an operation, and how large its body may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoutePolicy {
    /// Who.
    pub(super) access: RouteAccess,
    /// How large.
    pub(super) limit: BodyLimit,
}

/// Who may use an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteAccess {
    /// Clients without a token.
    Public,
    /// Clients with any token.
    AnyToken,
    /// People; agents if they only ask for a plan, which the handler checks.
    HumansOrDryRuns,
    /// People.
    Humans,
}

/// An operation for clients with any token.
pub(super) const EVERYONE: RoutePolicy = RoutePolicy::for_access(RouteAccess::AnyToken);
/// An operation for people.
pub(super) const HUMANS: RoutePolicy = RoutePolicy::for_access(RouteAccess::Humans);
/// An operation for people, whose plan agents may see.
pub(super) const HUMANS_OR_DRY_RUNS: RoutePolicy =
    RoutePolicy::for_access(RouteAccess::HumansOrDryRuns);

impl RoutePolicy {
    /// An operation for these users.
    pub(super) const fn for_access(access: RouteAccess) -> Self {
        Self { access, limit: BodyLimit(MAX_BODY_BYTES) }
    }

    /// The route, documented and kept.
    pub(super) fn guard_route(
        self,
        routes: UtoipaMethodRouter<AppState>,
    ) -> UtoipaMethodRouter<AppState> {
        let (schemas, mut paths, handlers) = routes;
        for (path, item) in &mut paths.paths {
            for operation in operations(item) {
                document_operation(path, operation, self);
            }
        }
        (schemas, paths, self.guard_router(handlers))
    }

    /// Only what is routed comes here, so that a wrong method is told as such.
    fn guard_router(
        self,
        router: MethodRouter<AppState, Infallible>,
    ) -> MethodRouter<AppState, Infallible> {
        router.route_layer(from_fn_with_state(self, enforce))
    }

    fn check_request(self, request: &mut Request) -> Result<(), ErrorResponse> {
        if self.access == RouteAccess::Humans {
            let scope = request.extensions().get::<TokenScope>().copied();
            require_human(scope.unwrap_or(TokenScope::Agent))?;
        }
        self.limit.check(request.headers())?;
        request.extensions_mut().insert(self.limit);
        Ok(())
    }
}

async fn enforce(State(policy): State<RoutePolicy>, mut request: Request, next: Next) -> Response {
    match policy.check_request(&mut request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Rejects every scope but the person's.
pub(super) fn require_human(scope: TokenScope) -> Result<(), ErrorResponse> {
    if scope == TokenScope::Human {
        return Ok(());
    }
    let hint = "ask the person to do it; agents record, look, and plan with `dry_run`";
    Err(ErrorResponse::new(ErrorCode::HumanOnly, "an agent's token does not allow this", hint))
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut utoipa::openapi::path::Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.delete, &mut item.patch]
        .into_iter()
        .filter_map(Option::as_mut)
}

/// Answers a path that has no route.
pub(super) async fn unknown_route() -> ErrorResponse {
    ErrorResponse::new(
        ErrorCode::NotFound,
        "there is nothing at this path",
        "GET /api/openapi.json lists all",
    )
}

/// Gives a refused method the one shape of all failures, and tells the log.
pub(super) async fn log_response(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut answer = next.run(request).await;
    let route = route.as_ref().map_or("nowhere", MatchedPath::as_str);
    tracing::debug!("{method} {route}: {}", answer.status().as_u16());
    if answer.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allow = answer.headers_mut().remove(header::ALLOW);
        let hint = "the header Allow says how it is asked";
        answer = ErrorResponse::new(ErrorCode::WrongMethod, "this is not asked so", hint)
            .into_response();
        if let Some(allow) = allow {
            answer.headers_mut().insert(header::ALLOW, allow);
        }
    }
    answer
}
