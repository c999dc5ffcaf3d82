//! Extractors of body, query and path; all reject with the same error shape.

use std::str::FromStr;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use retake_engine::model::ErrorCode;
use retake_service::ApiError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::ErrorResponse;

/// Timeout of reading a request's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum bytes of a body, unless a route says otherwise.
pub(super) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// Maximum number of values of one parameter.
const MAX_LIST_VALUES: usize = 50;

/// Maximum bytes of a body for this route.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyLimit(pub(super) usize);

impl BodyLimit {
    /// Refuses what says of itself that it is larger.
    pub(super) fn check(self, headers: &HeaderMap) -> Result<(), ErrorResponse> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let length: Option<u64> = length.and_then(|text| text.parse().ok());
        if length.is_some_and(|length| length > self.0 as u64) {
            return Err(self.exceeded());
        }
        Ok(())
    }

    fn exceeded(self) -> ErrorResponse {
        let message = format!("the body has more than {} bytes", self.0);
        ErrorResponse::new(ErrorCode::TooLarge, message, "send less at a time")
    }
}

/// A JSON document with nothing in it that is not understood.
#[derive(Debug)]
pub(super) struct JsonBody<T>(pub(super) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ErrorResponse> {
        if !is_json(request.headers()) {
            return Err(not_json_error());
        }
        let bytes = read_body(request).await?;
        parse_json(&bytes, Value::is_object).map(Self)
    }
}

/// A JSON document, or no body at all for what it is without.
#[derive(Debug)]
pub(super) struct OptionalJsonBody<T>(pub(super) T);

impl<S: Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ErrorResponse> {
        let is_json = is_json(request.headers());
        let bytes = read_body(request).await?;
        match (bytes.is_empty(), is_json) {
            (true, _) => Ok(Self(T::default())),
            (false, true) => parse_json(&bytes, |value| value.is_object() || value.is_null())
                .map(Self::or_default),
            (false, false) => Err(not_json_error()),
        }
    }
}

impl<T: Default> OptionalJsonBody<T> {
    fn or_default(body: Option<T>) -> Self {
        Self(body.unwrap_or_default())
    }
}

fn not_json_error() -> ErrorResponse {
    let hint = "send JSON with `Content-Type: application/json`";
    ErrorResponse::new(ErrorCode::BadBody, "the body is not said to be JSON", hint)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim());
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

async fn read_body(request: Request) -> Result<Vec<u8>, ErrorResponse> {
    let limit =
        request.extensions().get::<BodyLimit>().copied().unwrap_or(BodyLimit(MAX_BODY_BYTES));
    let reading = to_bytes(request.into_body(), limit.0);
    let Ok(read) = tokio::time::timeout(BODY_TIMEOUT, reading).await else {
        let message = format!("the body was not there after {} seconds", BODY_TIMEOUT.as_secs());
        return Err(ErrorResponse::new(ErrorCode::SlowBody, message, "send it at once"));
    };
    read.map(Into::into)
        .map_err(|error| if is_too_long(&error) { limit.exceeded() } else { body_error(&error) })
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn body_error(error: &axum::Error) -> ErrorResponse {
    ErrorResponse::new(
        ErrorCode::BadBody,
        format!("the body cannot be read: {error}"),
        "send it again",
    )
}

/// Lists are refused by `is_possible`: they would be taken for the fields of a document in order.
fn parse_json<T: DeserializeOwned>(
    bytes: &[u8],
    is_possible: fn(&Value) -> bool,
) -> Result<T, ErrorResponse> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        ErrorResponse::new(ErrorCode::BadJson, format!("not JSON: {error}"), "send one JSON object")
    })?;
    let hint = "docs/openapi.json says what is understood here";
    if !is_possible(&value) {
        return Err(ErrorResponse::new(ErrorCode::BadValue, "the body is not a JSON object", hint));
    }
    serde_json::from_value(value).map_err(|error| {
        ErrorResponse::new(
            ErrorCode::BadValue,
            format!("the body is not understood: {error}"),
            hint,
        )
    })
}

/// The parameters after the question mark, with none that is not understood.
#[derive(Debug)]
pub(super) struct QueryParams<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        let query = Query::from_request_parts(parts, state).await;
        query.map(|Query(query)| Self(query)).map_err(|error| unreadable_query(error.body_text()))
    }
}

/// The same, where `path` may be given several times.
#[derive(Debug)]
pub(super) struct QueryWithPaths<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryWithPaths<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ErrorResponse> {
        let query = parts.uri.query().unwrap_or_default();
        let (paths, mut rest): (Vec<_>, Vec<_>) =
            query.split('&').partition(|part| part.starts_with(PATH_PARAMETER));
        let paths: Vec<_> = paths.iter().map(|part| &part[PATH_PARAMETER.len()..]).collect();
        // No path has a NUL.
        let joined = format!("{PATH_PARAMETER}{}", paths.join("%00"));
        if !paths.is_empty() {
            rest.push(&joined);
        }
        let uri = Uri::builder().path_and_query(format!("/?{}", rest.join("&"))).build();
        let query = uri.map_err(|error| unreadable_query(error.to_string()))?;
        let query = Query::try_from_uri(&query);
        query.map(|Query(query)| Self(query)).map_err(|error| unreadable_query(error.body_text()))
    }
}

/// The beginning of a path in a query.
const PATH_PARAMETER: &str = "path=";

/// Paths of a query, as [`QueryWithPaths`] joins them.
#[derive(Clone, Debug, Default)]
pub(super) struct PathList(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for PathList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let joined = String::deserialize(deserializer)?;
        let paths: Vec<_> = joined.split('\0').map(ToOwned::to_owned).collect();
        if paths.len() > MAX_LIST_VALUES {
            let message = format!("{} paths, at most {MAX_LIST_VALUES} are possible", paths.len());
            return Err(serde::de::Error::custom(message));
        }
        Ok(Self(paths))
    }
}

fn unreadable_query(message: String) -> ErrorResponse {
    let hint = "docs/openapi.json says what is understood here";
    ErrorResponse::new(ErrorCode::BadQuery, message, hint)
}

/// Several words of a set in one parameter, separated by commas.
#[derive(Clone, Debug)]
pub(super) struct CommaList<T>(pub(super) Vec<T>);

impl<T> Default for CommaList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: FromStr<Err = String> + PartialEq> Deserialize<'de> for CommaList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut values = Vec::new();
        for value in text.split(',') {
            let value = value.parse().map_err(serde::de::Error::custom)?;
            if !values.contains(&value) {
                values.push(value);
            }
        }
        Ok(Self(values))
    }
}

/// The values of a parameter, separated by commas.
pub(super) fn split_values<'a>(
    name: &str,
    values: &'a str,
) -> Result<std::str::Split<'a, char>, ApiError> {
    let count = values.split(',').count();
    if count <= MAX_LIST_VALUES {
        return Ok(values.split(','));
    }
    let message = format!("`{name}` has {count} values, at most {MAX_LIST_VALUES} are possible");
    Err(ApiError::new(ErrorCode::BadValue, message, "ask several times"))
}

/// The path's parameters.
#[derive(Debug)]
pub(super) struct PathParams<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        let named = Path::from_request_parts(parts, state).await;
        named.map(|Path(named)| Self(named)).map_err(|error| {
            ErrorResponse::new(
                ErrorCode::BadPath,
                error.body_text(),
                "write names as UTF-8, percent-encoded",
            )
        })
    }
}
