//! The person's wish to see secrets in one answer: `?reveal=true`.
//!
//! The parameter is taken out of the query before a handler reads it, and the wish goes with the
//! request: the one function that decides about masking asks for it (`routes::masking`).
//!
//! Invariant: only a person's token reveals, only on routes that show content, and only for the
//! request that asks.

use std::future::Future;

use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use retake_engine::model::ErrorCode;

use super::caller::HttpCaller;
use super::error::ErrorResponse;
use super::token::TokenScope;

/// The parameter's name.
pub(super) const REVEAL_PARAMETER: &str = "reveal";

tokio::task_local! {
    /// Whether the request that runs shows secrets.
    static IS_REVEALED: bool;
}

/// Returns true if the request that runs shows secrets.
pub(super) fn is_revealed() -> bool {
    IS_REVEALED.try_with(|is_revealed| *is_revealed).unwrap_or(false)
}

/// Runs a request that shows secrets, or does not.
pub(super) async fn run_revealed<F: Future>(is_revealed: bool, request: F) -> F::Output {
    IS_REVEALED.scope(is_revealed, request).await
}

/// Runs a part of the same request on another thread.
pub(super) fn run_blocking_revealed<T>(is_revealed: bool, job: impl FnOnce() -> T) -> T {
    IS_REVEALED.sync_scope(is_revealed, job)
}

/// Takes the parameter out of a request's query; returns whether secrets are shown.
pub(super) fn take_reveal(request: &mut Request) -> Result<bool, ErrorResponse> {
    let Some(query) = request.uri().query() else { return Ok(false) };
    let is_reveal = |part: &&str| part.split('=').next() == Some(REVEAL_PARAMETER);
    let values: Vec<&str> = query.split('&').filter(is_reveal).collect();
    let is_revealed = match values.as_slice() {
        [] => return Ok(false),
        ["reveal=true"] => true,
        ["reveal=false"] => false,
        _ => {
            let message = "`reveal` is neither true nor false";
            return Err(ErrorResponse::new(
                ErrorCode::BadQuery,
                message,
                "send it once, as reveal=true",
            ));
        }
    };
    if is_revealed {
        let caller = request.extensions().get::<HttpCaller>().cloned();
        caller.unwrap_or_else(|| HttpCaller::of_start(TokenScope::Agent)).require_person()?;
    }
    let rest: Vec<&str> = query.split('&').filter(|part| !is_reveal(part)).collect();
    let path = request.uri().path();
    let shortened =
        if rest.is_empty() { path.to_owned() } else { format!("{path}?{}", rest.join("&")) };
    if let Some(uri) = with_path(request.uri(), &shortened) {
        *request.uri_mut() = uri;
    }
    Ok(is_revealed)
}

fn with_path(uri: &Uri, path_and_query: &str) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(path_and_query).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn request(uri: &str, scope: TokenScope) -> Request {
        let mut request = Request::builder().uri(uri).body(Body::empty()).unwrap();
        request.extensions_mut().insert(HttpCaller::of_start(scope));
        request
    }

    #[test]
    fn the_parameter_is_taken_out_and_only_a_person_reveals() {
        for (uri, revealed, left) in [
            ("/a?reveal=true", true, "/a"),
            ("/a?path=x%20y&reveal=true&form=unified", true, "/a?path=x%20y&form=unified"),
            ("/a?reveal=false&path=x", false, "/a?path=x"),
            ("/a?revealed=1", false, "/a?revealed=1"),
            ("/a", false, "/a"),
        ] {
            let mut request = request(uri, TokenScope::Human);
            assert_eq!(take_reveal(&mut request).ok(), Some(revealed), "{uri}");
            assert_eq!(request.uri().to_string(), left);
        }
        assert!(take_reveal(&mut request("/a?reveal=true", TokenScope::Agent)).is_err());
        assert_eq!(
            take_reveal(&mut request("/a?reveal=false", TokenScope::Agent)).ok(),
            Some(false)
        );
        for uri in ["/a?reveal", "/a?reveal=1", "/a?reveal=true&reveal=true"] {
            assert!(take_reveal(&mut request(uri, TokenScope::Human)).is_err(), "{uri}");
        }
    }
}
