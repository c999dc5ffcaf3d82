//! The answer with a content: whole or a range, streamed, with types that no browser runs.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use retake_engine::model::{ErrorCode, FileKind, FileState, ProjectPath};
use retake_engine::{ContentCheck, StoredContent};
use retake_service::contents::{BINARY_TYPE, ContentBody, GivenContent, TEXT_TYPE};
use utoipa::IntoResponses;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{ContentBuilder, KnownFormat, Ref, RefOr, ResponseBuilder};

use super::AppState;
use super::caller::HttpCaller;
use super::conditional::{EntityTag, RequestedRange};
use super::error::ErrorResponse;

/// Bytes that are read from the store at once.
const STREAM_STEP_BYTES: u64 = 256 * 1024;

/// A content that may be given, and what is told beside it.
#[derive(Debug)]
pub(super) struct FoundContent {
    /// The content.
    pub(super) content: GivenContent,
    /// The path that it is of; the first one, if several have it.
    pub(super) path: ProjectPath,
    /// The state that it is of; none if it was asked for by its id.
    pub(super) state: Option<FileState>,
}

/// Answers with a content, or with the range of it that is asked for.
pub(super) async fn respond(
    state: AppState,
    project: String,
    headers: &HeaderMap,
    found: FoundContent,
) -> Result<Response, ErrorResponse> {
    let tag = EntityTag::of(&[&found.content.tag, found.content.media_type]);
    if tag.is_known(headers) {
        return Ok(tag.not_modified());
    }
    let size = found.content.body.size();
    let (status, range) = match RequestedRange::of(headers, &tag, size) {
        RequestedRange::Whole => (StatusCode::OK, 0..size),
        RequestedRange::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        RequestedRange::Outside => return Ok(outside(size)),
    };
    let mut answer = status.into_response();
    describe(answer.headers_mut(), &found);
    tag.add_to(answer.headers_mut());
    let mut set = |name: HeaderName, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            answer.headers_mut().insert(name, value);
        }
    };
    set(header::CONTENT_LENGTH, (range.end - range.start).to_string());
    if status == StatusCode::PARTIAL_CONTENT {
        let last = range.end - 1;
        set(header::CONTENT_RANGE, format!("bytes {}-{last}/{size}", range.start));
    }
    *answer.body_mut() = body(state, project, found.content.body, range).await?;
    Ok(answer)
}

fn outside(size: u64) -> Response {
    let message = format!("the range lies outside of the {size} bytes");
    let problem = ErrorResponse::new(ErrorCode::BadRange, message, "ask for a part of them");
    let mut answer = problem.into_response();
    if let Ok(value) = HeaderValue::from_str(&format!("bytes */{size}")) {
        answer.headers_mut().insert(header::CONTENT_RANGE, value);
    }
    answer
}

/// Adds what is told beside the bytes.
fn describe(headers: &mut HeaderMap, found: &FoundContent) {
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(header::CONTENT_TYPE, found.content.media_type);
    set(header::ACCEPT_RANGES, "bytes");
    let name = percent_encoded(found.path.file_name());
    set(header::CONTENT_DISPOSITION, &format!("attachment; filename*=UTF-8''{name}"));
    let masked = if found.content.is_masked { "true" } else { "false" };
    set(HeaderName::from_static("retake-masked"), masked);
    if let Some(state) = &found.state {
        let kind = match state.kind {
            FileKind::File => "file",
            FileKind::Link => "link",
        };
        set(HeaderName::from_static("retake-kind"), kind);
        set(HeaderName::from_static("retake-mode"), &format!("{:04o}", state.mode));
        set(HeaderName::from_static("retake-oid"), &state.oid.to_string());
    }
}

/// A name with nothing but unreserved characters in it.
fn percent_encoded(name: &[u8]) -> String {
    use std::fmt::Write as _;
    name.iter().fold(String::new(), |mut text, &byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

async fn body(
    state: AppState,
    project: String,
    body: ContentBody,
    range: Range<u64>,
) -> Result<Body, ErrorResponse> {
    match body {
        ContentBody::Whole(mut bytes) => {
            bytes.truncate(range.end as usize);
            bytes.drain(..range.start as usize);
            state.heavy.body(bytes).await
        }
        ContentBody::Pieces(content) => {
            let is_whole = range == (0..content.size());
            let check = is_whole.then(|| content.check());
            let content = Arc::new(content);
            let caller = HttpCaller::current();
            let mut stream =
                ContentStream { state, caller, project, content, range, check, reading: None };
            // What is missing or damaged at the beginning is told with a status.
            let first = stream.read_step().await?;
            stream.keep(&first)?;
            Ok(Body::from_stream(StartedStream { first: Some(first.into()), rest: stream }))
        }
    }
}

type StepFuture = Pin<Box<dyn Future<Output = Result<Vec<u8>, ErrorResponse>> + Send>>;

/// Reads a content step by step, each when the connection has taken the one before.
struct ContentStream {
    state: AppState,
    /// Whose request it is: the steps are read outside of its task.
    caller: Option<HttpCaller>,
    project: String,
    content: Arc<StoredContent>,
    /// The bytes that are left.
    range: Range<u64>,
    /// Verifies the content as a whole, if all of it is read.
    check: Option<ContentCheck>,
    reading: Option<StepFuture>,
}

impl ContentStream {
    fn read_step(&self) -> StepFuture {
        let (state, project) = (self.state.clone(), self.project.clone());
        let content = Arc::clone(&self.content);
        let end = self.range.end.min(self.range.start.saturating_add(STREAM_STEP_BYTES));
        let step = self.range.start..end;
        let caller = self.caller.clone();
        Box::pin(async move {
            let read =
                state.read(project, move |project| Ok(project.read_content_range(&content, step)?));
            match caller {
                Some(caller) => caller.run(read).await,
                None => read.await,
            }
        })
    }

    /// Counts bytes that were read; with the last of them the content as a whole is verified.
    fn keep(&mut self, bytes: &[u8]) -> Result<(), ErrorResponse> {
        self.range.start += bytes.len() as u64;
        if let Some(check) = &mut self.check {
            check.update(bytes);
        }
        if self.range.is_empty()
            && let Some(check) = self.check.take()
        {
            check
                .finish()
                .map_err(|error| ErrorResponse::from(retake_service::ApiError::from(error)))?;
        }
        Ok(())
    }
}

impl Stream for ContentStream {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if self.range.is_empty() {
            return Poll::Ready(None);
        }
        let mut reading = match self.reading.take() {
            Some(reading) => reading,
            None => self.read_step(),
        };
        let Poll::Ready(read) = reading.as_mut().poll(context) else {
            self.reading = Some(reading);
            return Poll::Pending;
        };
        // The connection is cut: the client has fewer bytes than were announced.
        let failed = |problem: ErrorResponse| Poll::Ready(Some(Err(problem.into_io_error())));
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(problem) => return failed(problem),
        };
        match self.keep(&bytes) {
            Ok(()) => Poll::Ready(Some(Ok(bytes.into()))),
            Err(problem) => failed(problem),
        }
    }
}

/// A stream whose first step is read already.
struct StartedStream {
    first: Option<Bytes>,
    rest: ContentStream,
}

impl Stream for StartedStream {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Poll::Ready(Some(Ok(first)));
        }
        Poll::Ready(ready!(Pin::new(&mut self.rest).poll_next(context)))
    }
}

/// The answers of a route that gives a content, for the description.
pub(super) struct ContentResponses;

impl IntoResponses for ContentResponses {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let types = [
            TEXT_TYPE,
            BINARY_TYPE,
            "image/png",
            "image/jpeg",
            "image/gif",
            "image/webp",
            "image/avif",
        ];
        let given = |text: &str| {
            let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
            let bytes = ObjectBuilder::new().schema_type(Type::String).format(Some(binary));
            let content = ContentBuilder::new().schema(Some(Schema::from(bytes))).build();
            let response = ResponseBuilder::new().description(text);
            types.into_iter().fold(response, |all, name| all.content(name, content.clone())).build()
        };
        let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        let outside = ResponseBuilder::new()
            .description("The range lies outside of the content: `bad_range`.")
            .content("application/json", problem);
        let known = "The client has it: `If-None-Match` names its `ETag`.";
        BTreeMap::from([
            ("200".to_owned(), given("The content.").into()),
            ("206".to_owned(), given("The one range that `Range` asks for.").into()),
            ("304".to_owned(), ResponseBuilder::new().description(known).build().into()),
            ("416".to_owned(), outside.build().into()),
        ])
    }
}
