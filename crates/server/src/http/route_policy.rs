//! The policy of a route, registered with its handler and documentation: who may use it, of which
//! projects it tells, and its maximum body. There is no other way to add a route: the description
//! says the policy of each (`x-scope`, `x-reach`), and a test tries every route as every caller.

use std::convert::Infallible;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;
use retake_engine::model::ErrorCode;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{ParameterIn, PathItem};
use utoipa_axum::router::UtoipaMethodRouter;

use super::AppState;
use super::caller::HttpCaller;
use super::error::ErrorResponse;
use super::extract::{BodyLimit, MAX_BODY_BYTES};
use super::openapi::document_operation;
use super::reveal::{run_revealed, take_reveal};
use super::stream_slot::StreamSlot;
use super::token::TokenScope;

/// Who may use an operation, of which projects it tells, and how large its body may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoutePolicy {
    /// Who.
    pub(super) access: RouteAccess,
    /// How large.
    pub(super) limit: BodyLimit,
    /// Whether the handler tells a caller only what it may reach.
    pub(super) is_filtered: bool,
    /// Whether a person may see secrets in its answer, with `reveal=true`.
    pub(super) can_reveal: bool,
}

/// Who may use an operation. An agent with a minted token only ever reaches its own project, as
/// [`RouteReach`] says.
///
/// | access | person | minted token | `run/agent-token` | no token |
/// |---|---|---|---|---|
/// | `Public` | yes | yes | yes | yes |
/// | `AnyToken` | yes | yes | yes | 401 |
/// | `OwnDialog` | yes | for its dialog | 403 `unbound_token` | 401 |
/// | `HumansOrDryRuns` | yes | plans | plans | 401 |
/// | `Humans` | yes | 403 `human_only` | 403 `human_only` | 401 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteAccess {
    /// Clients without a token.
    Public,
    /// Clients with any token.
    AnyToken,
    /// People; agents in the dialog that their token is bound to, which the handler checks.
    OwnDialog,
    /// People; agents if they only ask for a plan, which the handler checks.
    HumansOrDryRuns,
    /// People.
    Humans,
}

/// How it is known which project an operation is about. For an agent with a minted token:
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteReach {
    /// The path names the project; another one is `403 other_project`.
    Project,
    /// The path names a dialog, which is looked for in the token's project only.
    Dialog,
    /// The handler tells only of the token's project.
    Filtered,
    /// It is about all projects: `403 other_project`.
    Machine,
}

impl RouteAccess {
    /// The name in the description of the interface.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Public => "anybody",
            Self::AnyToken => "agent",
            Self::OwnDialog => "human, or agent of the dialog",
            Self::HumansOrDryRuns => "human, or agent with dry_run",
            Self::Humans => "human",
        }
    }
}

impl RouteReach {
    /// The name in the description of the interface.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Dialog => "dialog",
            Self::Filtered => "filtered",
            Self::Machine => "machine",
        }
    }

    fn check(self, caller: &HttpCaller, params: Option<&RawPathParams>) -> CheckOutcome {
        if caller.only_project().is_none() {
            return Ok(());
        }
        match self {
            Self::Dialog | Self::Filtered => Ok(()),
            Self::Machine => Err(caller.other_project()),
            Self::Project => {
                let named = params
                    .and_then(|params| params.iter().find(|(name, _)| *name == PROJECT_PARAMETER));
                caller.check_project(named.map_or("", |(_, project)| project))
            }
        }
    }
}

/// Name of the path's parameter that holds the project's id.
const PROJECT_PARAMETER: &str = "project";

type CheckOutcome = Result<(), ErrorResponse>;

/// An operation for clients with any token.
pub(super) const EVERYONE: RoutePolicy = RoutePolicy::for_access(RouteAccess::AnyToken);
/// An operation for clients with any token, whose answer shows content.
pub(super) const EVERYONE_SHOWING_CONTENT: RoutePolicy = EVERYONE.showing_content();
/// An operation for people, and for agents in their own dialog.
pub(super) const OWN_DIALOG: RoutePolicy = RoutePolicy::for_access(RouteAccess::OwnDialog);
/// An operation for people.
pub(super) const HUMANS: RoutePolicy = RoutePolicy::for_access(RouteAccess::Humans);
/// An operation for people, whose plan agents may see.
pub(super) const HUMANS_OR_DRY_RUNS: RoutePolicy =
    RoutePolicy::for_access(RouteAccess::HumansOrDryRuns);

/// A policy together with what its route's documentation says.
#[derive(Clone, Copy, Debug)]
pub(super) struct EnforcedPolicy {
    pub(super) policy: RoutePolicy,
    /// How the project is known.
    pub(super) reach: RouteReach,
    /// Whether the answer is an event stream.
    is_stream: bool,
    /// Whether the handler reads the query, and refuses what it does not know there.
    has_query: bool,
}

impl RoutePolicy {
    /// An operation for these users.
    pub(super) const fn for_access(access: RouteAccess) -> Self {
        Self { access, limit: BodyLimit(MAX_BODY_BYTES), is_filtered: false, can_reveal: false }
    }

    /// The same for an operation whose answer shows content.
    pub(super) const fn showing_content(self) -> Self {
        Self { can_reveal: true, ..self }
    }

    /// The same, for a handler that tells a caller only what it may reach.
    pub(super) const fn filtered(self) -> Self {
        Self { is_filtered: true, ..self }
    }

    fn reach_of(self, path: &str) -> RouteReach {
        let names = |parameter: &str| path.split('/').any(|part| part == parameter);
        if names("{project}") {
            RouteReach::Project
        } else if names("{dialog_id}") || path.starts_with("/sessions/{id}/") {
            RouteReach::Dialog
        } else if self.is_filtered {
            RouteReach::Filtered
        } else {
            RouteReach::Machine
        }
    }

    /// The route, documented and kept.
    pub(super) fn guard_route(
        self,
        routes: UtoipaMethodRouter<AppState>,
    ) -> UtoipaMethodRouter<AppState> {
        let (schemas, mut paths, mut handlers) = routes;
        // A registration has one path, and all of its methods.
        for (path, item) in &mut paths.paths {
            let reach = self.reach_of(path);
            let is_stream = operations(item).any(|operation| tells_a_stream(operation));
            let has_query = operations(item).any(|operation| takes_query(operation));
            let enforced = EnforcedPolicy { policy: self, reach, is_stream, has_query };
            for operation in operations(item) {
                document_operation(path, operation, enforced);
            }
            handlers = enforced.guard_router(handlers);
        }
        (schemas, paths, handlers)
    }
}

impl EnforcedPolicy {
    /// Only what is routed comes here, so that a wrong method is told as such.
    fn guard_router(
        self,
        router: MethodRouter<AppState, Infallible>,
    ) -> MethodRouter<AppState, Infallible> {
        router.route_layer(from_fn_with_state(self, enforce))
    }

    fn check_request(self, request: &mut Request, params: Option<&RawPathParams>) -> CheckOutcome {
        let policy = self.policy;
        if policy.access != RouteAccess::Public {
            let caller = request.extensions().get::<HttpCaller>().cloned();
            // Without a guard before it, a route is closed.
            let caller = caller.unwrap_or_else(|| HttpCaller::of_start(TokenScope::Agent));
            match policy.access {
                RouteAccess::Humans => caller.require_person()?,
                RouteAccess::OwnDialog => caller.require_speaker()?,
                RouteAccess::Public | RouteAccess::AnyToken | RouteAccess::HumansOrDryRuns => {}
            }
            self.reach.check(&caller, params)?;
        }
        policy.limit.check(request.headers())?;
        request.extensions_mut().insert(policy.limit);
        Ok(())
    }

    /// Returns whether the answer shows secrets.
    fn check_reveal(self, request: &mut Request) -> Result<bool, ErrorResponse> {
        if !self.policy.can_reveal {
            return Ok(false);
        }
        let is_revealed = take_reveal(request)?;
        match request.uri().query().filter(|query| !self.has_query && !query.is_empty()) {
            None => Ok(is_revealed),
            Some(query) => {
                let message = format!("the query cannot be read: unknown `{query}`");
                Err(ErrorResponse::new(ErrorCode::BadQuery, message, "only `reveal` is known"))
            }
        }
    }
}

async fn enforce(
    State(enforced): State<EnforcedPolicy>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Response {
    let checked = enforced.check_request(&mut request, params.as_ref().ok());
    let is_revealed = match checked.and_then(|()| enforced.check_reveal(&mut request)) {
        Ok(is_revealed) => is_revealed,
        Err(problem) => return problem.into_response(),
    };
    if !enforced.is_stream || request.method() != Method::GET {
        return run_revealed(is_revealed, next.run(request)).await;
    }
    match StreamSlot::acquire(&request) {
        Ok(slot) => slot.hold_while_streaming(next.run(request).await),
        Err(problem) => problem.into_response(),
    }
}

/// Returns true if a success of the operation is an event stream.
fn tells_a_stream(operation: &utoipa::openapi::path::Operation) -> bool {
    operation.responses.responses.values().any(|response| match response {
        RefOr::T(response) => response.content.contains_key("text/event-stream"),
        RefOr::Ref(_) => false,
    })
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut utoipa::openapi::path::Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.delete, &mut item.patch]
        .into_iter()
        .filter_map(Option::as_mut)
}

fn takes_query(operation: &utoipa::openapi::path::Operation) -> bool {
    let mut parameters = operation.parameters.iter().flatten();
    parameters.any(|one| matches!(one.parameter_in, ParameterIn::Query))
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
