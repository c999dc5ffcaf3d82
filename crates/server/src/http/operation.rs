//! The policy of a route, registered with its handler and documentation: who may use it, and
//! its maximum body. There is no other way to add a route.

use std::convert::Infallible;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;
use utoipa::openapi::path::PathItem;
use utoipa_axum::router::UtoipaMethodRouter;

use super::Desk;
use super::error::Problem;
use super::input::{LARGEST, Limit};
use super::openapi::document;
use super::token::Scope;

/// Who may use an operation, and how large its body may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    /// Who.
    pub(super) users: Users,
    /// How large.
    pub(super) limit: Limit,
}

/// Who may use an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Users {
    /// Clients without a token.
    Anybody,
    /// Clients with any token.
    Everyone,
    /// People; agents if they only ask for a plan, which the handler checks.
    HumansOrDryRuns,
    /// People.
    Humans,
}

/// An operation for clients with any token.
pub(super) const EVERYONE: Operation = Operation::of(Users::Everyone);
/// An operation for people.
pub(super) const HUMANS: Operation = Operation::of(Users::Humans);
/// An operation for people, whose plan agents may see.
pub(super) const HUMANS_OR_DRY_RUNS: Operation = Operation::of(Users::HumansOrDryRuns);

impl Operation {
    /// An operation for these users.
    pub(super) const fn of(users: Users) -> Self {
        Self { users, limit: Limit(LARGEST) }
    }

    /// The route, documented and kept.
    pub(super) fn keep(self, routes: UtoipaMethodRouter<Desk>) -> UtoipaMethodRouter<Desk> {
        let (schemas, mut paths, handlers) = routes;
        for (path, item) in &mut paths.paths {
            for operation in operations(item) {
                document(path, operation, self);
            }
        }
        (schemas, paths, self.kept(handlers))
    }

    /// Only what is routed comes here, so that a wrong method is told as such.
    fn kept(self, router: MethodRouter<Desk, Infallible>) -> MethodRouter<Desk, Infallible> {
        router.route_layer(from_fn_with_state(self, keep))
    }

    fn admit(self, request: &mut Request) -> Result<(), Problem> {
        if self.users == Users::Humans {
            let scope = request.extensions().get::<Scope>().copied();
            human(scope.unwrap_or(Scope::Agent))?;
        }
        self.limit.check(request.headers())?;
        request.extensions_mut().insert(self.limit);
        Ok(())
    }
}

async fn keep(State(kept): State<Operation>, mut request: Request, next: Next) -> Response {
    match kept.admit(&mut request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Rejects every scope but the person's.
pub(super) fn human(scope: Scope) -> Result<(), Problem> {
    if scope == Scope::Human {
        return Ok(());
    }
    let hint = "ask the person to do it; agents record, look, and plan with `dry_run`";
    Err(Problem::new("human_only", "an agent's token does not allow this", hint))
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut utoipa::openapi::path::Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.delete, &mut item.patch]
        .into_iter()
        .filter_map(Option::as_mut)
}

/// Answers a path that has no route.
pub(super) async fn unknown() -> Problem {
    Problem::new("not_found", "there is nothing at this path", "GET /api/openapi.json lists all")
}

/// Gives a refused method the one shape of all failures, and tells the log.
pub(super) async fn told(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut answer = next.run(request).await;
    let route = route.as_ref().map_or("nowhere", MatchedPath::as_str);
    tracing::debug!("{method} {route}: {}", answer.status().as_u16());
    if answer.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allow = answer.headers_mut().remove(header::ALLOW);
        let hint = "the header Allow says how it is asked";
        answer = Problem::new("wrong_method", "this is not asked so", hint).into_response();
        if let Some(allow) = allow {
            answer.headers_mut().insert(header::ALLOW, allow);
        }
    }
    answer
}
