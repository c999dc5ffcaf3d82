//! Middleware before routing: checks Host, Origin and token; adds security headers.
//!
//! In this order: the Host is exactly ours (DNS rebinding), an Origin is exactly ours (requests
//! of foreign pages), the token is one of this start, a login or one that was minted. There are no
//! CORS headers, no cookies, and nothing secret in a URL, so no other site can ask, and none can
//! read an answer. Then the caller's connections and requests in flight are counted.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use retake_engine::model::ErrorCode;

use super::AppState;
use super::caller::{CallerAccount, HttpCaller};
use super::connections::HttpConnection;
use super::error::ErrorResponse;
use super::quota::QuotaPermit;

/// Paths that need no token: they hold nothing of a project.
pub(super) const PUBLIC_PATHS: [&str; 2] = ["/api/exchange", "/docs"];

/// Content security policy of every answer that has none of its own.
const BASE_CSP: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'";

/// The policy of a page that has this style sheet and no script.
pub(super) fn page_policy(style_hash: &str) -> String {
    format!("{BASE_CSP}; style-src 'sha256-{style_hash}'")
}

/// Host names of this server, with its port.
#[derive(Clone, Debug)]
pub(super) struct HostNames(Vec<String>);

impl HostNames {
    /// The names of a server on this port.
    pub(super) fn for_port(port: u16) -> Self {
        Self(["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")).into())
    }

    /// Where a client asks.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.0[0])
    }

    fn is_host(&self, host: &str) -> bool {
        self.0.iter().any(|name| name.eq_ignore_ascii_case(host))
    }

    fn is_origin(&self, origin: &str) -> bool {
        origin.strip_prefix("http://").is_some_and(|host| self.0.iter().any(|name| name == host))
    }
}

/// Lets a request through, or answers it.
pub(super) async fn guard(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let connection = request.extensions().get::<Arc<HttpConnection>>().cloned();
    let _in_flight = connection.as_ref().map(HttpConnection::start_request);
    let mut answer = match check_request(&state, &request) {
        Ok(None) => next.run(request).await,
        Ok(Some(caller)) => match admit(&state, &caller, connection.as_ref()) {
            Ok(_permit) => {
                request.extensions_mut().insert(caller.clone());
                request.extensions_mut().insert(Arc::clone(&state.streams));
                caller.run(next.run(request)).await
            }
            Err(refused) => *refused,
        },
        Err(problem) => problem.into_response(),
    };
    add_security_headers(answer.headers_mut());
    answer
}

/// Returns the caller; none for a path that needs no token.
fn check_request(state: &AppState, request: &Request) -> Result<Option<HttpCaller>, ErrorResponse> {
    check_host(&state.names, request.uri(), request.headers())?;
    check_origin(&state.names, request.headers())?;
    if PUBLIC_PATHS.contains(&request.uri().path()) {
        return Ok(None);
    }
    caller_of(state, request.headers()).map(Some)
}

/// Counts a caller's connection and request; over a bound the answer says to try again.
fn admit(
    state: &AppState,
    caller: &HttpCaller,
    connection: Option<&Arc<HttpConnection>>,
) -> Result<QuotaPermit, Box<Response>> {
    let account: CallerAccount = caller.account();
    if connection.is_some_and(|connection| !connection.assign(&account)) {
        let mut refused = ErrorResponse::busy_connections().into_response();
        let close = HeaderValue::from_static("close");
        refused.headers_mut().insert(header::CONNECTION, close);
        return Err(Box::new(refused));
    }
    let permit = state.requests.acquire(&account);
    permit.ok_or_else(|| Box::new(ErrorResponse::busy_requests().into_response()))
}

/// The one value of a header; an error if there are several, or if it is no text.
fn single_header(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

fn check_host(names: &HostNames, uri: &Uri, headers: &HeaderMap) -> Result<(), ErrorResponse> {
    let host = single_header(headers, header::HOST).ok().flatten();
    // In a request for a proxy the address itself names a host.
    let in_uri = uri.authority().is_none_or(|authority| names.is_host(authority.as_str()));
    if in_uri && host.is_some_and(|host| names.is_host(host)) {
        return Ok(());
    }
    let hint = "ask for http://127.0.0.1 with the port, as run/http.json names it";
    Err(ErrorResponse::new(ErrorCode::ForeignHost, "this host name is not this server's", hint))
}

fn check_origin(names: &HostNames, headers: &HeaderMap) -> Result<(), ErrorResponse> {
    match single_header(headers, header::ORIGIN) {
        Ok(None) => Ok(()),
        Ok(Some(origin)) if names.is_origin(origin) => Ok(()),
        _ => {
            let hint = "pages of other sites cannot use this interface";
            Err(ErrorResponse::new(
                ErrorCode::ForeignOrigin,
                "the request comes from another site",
                hint,
            ))
        }
    }
}

fn caller_of(state: &AppState, headers: &HeaderMap) -> Result<HttpCaller, ErrorResponse> {
    let value = single_header(headers, header::AUTHORIZATION).ok().flatten();
    let token = value
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    token.and_then(|(_, token)| state.caller_with(token)).ok_or_else(|| {
        let hint = "send `Authorization: Bearer` and the token in run/http.json, which changes at \
                    each start, or a login or minted token that is not revoked and not expired";
        ErrorResponse::new(ErrorCode::Unauthorized, "there is no valid token in the request", hint)
    })
}

impl AppState {
    /// The holder of a token.
    fn caller_with(&self, token: &str) -> Option<HttpCaller> {
        if let Some(scope) = self.tokens.scope_of(token) {
            return Some(HttpCaller::of_start(scope));
        }
        let now = self.projects.now();
        let grants = &self.access.grants;
        let grant = grants.find(token, now)?;
        if grant.note_use(now) {
            let access = Arc::clone(&self.access);
            // No request waits for the disk because of it.
            tokio::task::spawn_blocking(move || access.grants.save_uses(now));
        }
        Some(HttpCaller::of_grant(grant))
    }
}

/// Adds the security headers of every answer.
pub(super) fn add_security_headers(headers: &mut HeaderMap) {
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // A page has a policy of its own.
    let policy = HeaderValue::from_static(BASE_CSP);
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
}
