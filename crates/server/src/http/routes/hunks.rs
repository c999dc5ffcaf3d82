//! The review: files of a scope, their hunks, and both as texts for others. Agents may look.
//!
//! Invariants: reading decides on nothing and marks nothing as seen. The list reads no content; the
//! hunks of a file are worked out when it is asked for. Files are told as they are now: each read has
//! the project scanned before.

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use retake_engine::model::foreign_text::escape;
use retake_engine::model::{ErrorCode, ProjectPath};
use retake_engine::{ChangeFilter, Project, ReviewEntry};
use retake_service::ApiError;
use retake_service::documents::{
    ForgottenDocument, HunkPage, HunkRenderer, ReviewFilesDocument, ReviewListDocument,
    ReviewSeenDocument,
};
use retake_service::request::{ForgetRejections, MarkAllSeen, RefreshProject};
use retake_service::review::{ReportOptions, render_report_for, shown_patch};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{OptionalJsonBody, PathList, PathParams, QueryParams, QueryWithPaths};
use super::super::route_policy::{EVERYONE, EVERYONE_SHOWING_CONTENT, HUMANS};
use super::hunk_bodies::{FileWords, ScopeWords};
use super::{bodies::bad_value, check_seq, masking, page_size};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE.guard_route(routes!(review)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(review_file)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(review_patch)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(review_report)))
        .routes(HUMANS.guard_route(routes!(review_seen)))
        .routes(HUMANS.guard_route(routes!(review_forget)))
}

impl AppState {
    /// Has a project scanned, so that a read tells of the files as they are.
    pub(super) async fn refresh(&self, project: String) -> Result<(), ErrorResponse> {
        self.with_project(project, |handle| {
            // What is on record is worth telling even if nothing can be added to it.
            let _ = handle.run(RefreshProject {});
            Ok(())
        })
        .await
    }
}

/// A query that names a scope.
macro_rules! scope_query {
    ($(#[$about:meta])* $name:ident { $($(#[$told:meta])* $field:ident: $kind:ty,)* }) => {
        #[derive(Debug, Default, Deserialize, IntoParams)]
        #[serde(default, deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        $(#[$about])*
        struct $name {
            /// Which changes: `all` (the default), `last-turn`, `unseen`, `everything`, a dialog by
            /// its name or id, `DIALOG:N`, `call:ID`, `agent:ID`, or changes: `c12,c13`.
            #[param(example = "last-turn")]
            scope: Option<String>,
            /// Only these files, and what is in these folders; one for each `path`.
            #[param(value_type = Vec<String>, style = Form, explode = true, required = false)]
            #[param(max_items = 50)]
            path: PathList,
            /// Also what was approved.
            approved: bool,
            $($(#[$told])* $field: $kind,)*
        }

        impl $name {
            fn words(&self) -> ScopeWords<'_> {
                let Self { scope, path, approved, .. } = self;
                ScopeWords { name: scope.as_deref(), paths: &path.0, approved: *approved }
            }
        }
    };
}

scope_query! {
    /// Which changes to review.
    ReviewQuery {
        /// The `next` of the page before.
        #[param(pattern = "^([0-9a-f]{2})+$")]
        after: Option<String>,
        /// At most so many files; 200 unless told otherwise.
        #[param(minimum = 1, maximum = 1000)]
        limit: Option<usize>,
    }
}

/// The files of a scope, by path, in pages.
///
/// Counts are those of the single changes: no file is read. The hunks of a file are at
/// `…/review/file`.
#[utoipa::path(
    get, path = "/api/projects/{project}/review", tag = "review",
    params(("project" = String, Path, description = "The project's id."), ReviewQuery),
    responses((status = 200, description = "A page of files.", body = ReviewListDocument))
)]
async fn review(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    QueryWithPaths(query): QueryWithPaths<ReviewQuery>,
) -> Result<Response, ErrorResponse> {
    let limit = page_size(query.limit, 200)?;
    state.refresh(id.clone()).await?;
    state
        .read_heavy(id, move |project| {
            let words = query.words();
            let after = query.after.as_deref().map(check_cursor).transpose()?;
            let review = project.review(&words.resolve(project)?)?;
            let renderer = HunkRenderer::new(project, masking(project))?;
            let renderer = renderer.read_by(caller.comment_reader());
            Ok(renderer.render_list(&review, words.name(), after, limit)?)
        })
        .await
}

fn check_cursor(after: &str) -> Result<&str, ApiError> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if !after.is_empty() && after.len().is_multiple_of(2) && after.bytes().all(is_hex) {
        return Ok(after);
    }
    let message = format!("'{after}' is not a cursor of this list");
    Err(ApiError::new(ErrorCode::BadValue, message, "send the `next` of the page before"))
}

/// Which file, and which of its hunks.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ReviewFileQuery {
    /// Which changes, as in `…/review`.
    #[param(example = "last-turn")]
    scope: Option<String>,
    /// The file.
    #[param(example = "src/main.rs")]
    path: Option<String>,
    /// The same in hexadecimal digits, if it is not UTF-8.
    path_hex: Option<String>,
    /// Also what was approved.
    approved: bool,
    /// The `next` of the page before.
    from: Option<u64>,
    /// At most so many hunks; 100 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Highlight lines; yes unless told otherwise.
    tokens: Option<bool>,
}

impl ReviewFileQuery {
    /// The file that is named.
    fn file(&self, project: &Project) -> Result<ProjectPath, ApiError> {
        let Self { path, path_hex, .. } = self;
        let words = FileWords { path: path.as_deref(), path_hex: path_hex.as_deref() };
        let file = words.resolve(project)?;
        file.ok_or_else(|| bad_value("no file is named", "name it in `path`"))
    }

    fn read(
        &self,
        project: &Project,
        caller: &HttpCaller,
    ) -> Result<ReviewFilesDocument, ApiError> {
        let file = self.file(project)?;
        let first = usize::try_from(self.from.unwrap_or(0)).unwrap_or(usize::MAX);
        let page = HunkPage { first, limit: page_size(self.limit, 100)? };
        let words = ScopeWords {
            name: self.scope.as_deref(),
            approved: self.approved,
            ..ScopeWords::default()
        };
        let review = project.review(&words.resolve(project)?.in_file(&file))?;
        let is_it =
            |entry: &&ReviewEntry| entry.path == file || entry.old_path.as_ref() == Some(&file);
        let mut files = Vec::new();
        for entry in review.entries().iter().filter(is_it) {
            files.extend(review.files(entry)?);
        }
        if files.is_empty() {
            check_on_record(project, &file)?;
        }
        let renderer = HunkRenderer::new(project, masking(project))?.for_one_file();
        let mut renderer = renderer.read_by(caller.comment_reader());
        if self.tokens == Some(false) {
            renderer = renderer.without_tokens();
        }
        Ok(renderer.render_files(&review, words.name(), &files, page)?)
    }
}

/// Fails for a file that was never changed: a path that is misspelt has no hunks either.
fn check_on_record(project: &Project, file: &ProjectPath) -> Result<(), ApiError> {
    let (path, limit) = (Some(file.clone()), Some(1));
    let filter = ChangeFilter { path, limit, ..ChangeFilter::default() };
    if project.changes(&filter)?.is_empty() {
        let message = format!("no change of '{file}' is on record");
        return Err(ApiError::new(ErrorCode::UnknownFile, message, "…/review lists the files"));
    }
    Ok(())
}

/// The hunks of a file, in pages, with those of the files that are taken back together with it.
///
/// A file of which nothing is left to review has none: `files` is empty.
#[utoipa::path(
    get, path = "/api/projects/{project}/review/file", tag = "review",
    params(("project" = String, Path, description = "The project's id."), ReviewFileQuery),
    responses((status = 200, description = "A page of hunks.", body = ReviewFilesDocument))
)]
async fn review_file(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<ReviewFileQuery>,
) -> Result<Response, ErrorResponse> {
    state.refresh(id.clone()).await?;
    state.read_heavy(id, move |project| query.read(project, &caller)).await
}

scope_query! {
    /// Which changes are told as a text.
    ReviewTextQuery {}
}

/// The name of the header that tells how many files a patch is without.
const LEFT_OUT_HEADER: HeaderName = HeaderName::from_static("retake-left-out");

/// The hunks that the person has seen, as a patch for `git apply --cached`.
///
/// What git could not apply is left out: binary and very large content, places that later changes
/// build on, permissions that git does not know; and files whose lines hold secrets while these are
/// masked, since git would write the mask. The header `Retake-Left-Out` tells of how many files.
#[utoipa::path(
    get, path = "/api/projects/{project}/review/patch", tag = "review",
    params(("project" = String, Path, description = "The project's id."), ReviewTextQuery),
    responses((
        status = 200, description = "The patch; empty if no hunk is kept.",
        content_type = "text/x-diff", body = String,
        headers(("Retake-Left-Out" = u64, description = "Files of which something kept is left out.")),
    ))
)]
async fn review_patch(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryWithPaths(query): QueryWithPaths<ReviewTextQuery>,
) -> Result<Response, ErrorResponse> {
    state.refresh(id.clone()).await?;
    let slot = state.heavy.slot().await?;
    let read = move |project: &Project| {
        let review = project.review(&query.words().resolve(project)?)?;
        shown_patch(project, &review, masking(project))
    };
    let patch = state.run_heavy(slot.clone(), id, read).await?;
    let body = state.heavy.body(patch.text).await?;
    drop(slot);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/x-diff")),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=review.patch"),
        ),
        (LEFT_OUT_HEADER, HeaderValue::from(patch.left_out.len())),
    ];
    Ok((headers, body).into_response())
}

/// A scope as Markdown: what was asked, what was done and by whom, and how it was decided.
#[utoipa::path(
    get, path = "/api/projects/{project}/review/report", tag = "review",
    params(("project" = String, Path, description = "The project's id."), ReviewTextQuery),
    responses((
        status = 200, description = "The report.", content_type = "text/markdown", body = String,
    ))
)]
async fn review_report(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    QueryWithPaths(query): QueryWithPaths<ReviewTextQuery>,
) -> Result<Response, ErrorResponse> {
    state.refresh(id.clone()).await?;
    let slot = state.heavy.slot().await?;
    let read = move |project: &Project| {
        let review = project.review(&query.words().resolve(project)?)?;
        let options = ReportOptions { masking: masking(project), show: |name| escape(name) };
        render_report_for(project, &review, options, &caller.comment_reader())
    };
    let report = state.run_heavy(slot.clone(), id, read).await?;
    let body = state.heavy.body(report.into_bytes()).await?;
    drop(slot);
    let headers = [
        (header::CONTENT_TYPE, "text/markdown; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=review.md"),
    ];
    Ok((headers, body).into_response())
}

/// How far the person has looked.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = SeenUpTo)]
struct SeenUpToBody {
    /// The place in the project's order: the `seq` of the list that was looked through. Everything
    /// that is there now unless told otherwise.
    seq: Option<u64>,
}

/// Closes a review, or says that all is seen: `unseen` begins here. It never moves back.
#[utoipa::path(
    post, path = "/api/projects/{project}/review/seen", tag = "review",
    request_body = Option<SeenUpToBody>,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "Up to where it is seen.", body = ReviewSeenDocument))
)]
async fn review_seen(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(body): OptionalJsonBody<SeenUpToBody>,
) -> Result<Json<ReviewSeenDocument>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let seq = body.seq.map(check_seq).transpose()?;
            Ok(Json(ReviewSeenDocument { seen: handle.run(MarkAllSeen { seq })? }))
        })
        .await
}

/// Where rejections are forgotten.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = Forget)]
struct ForgetBody {
    /// In this file; everywhere unless told otherwise.
    path: Option<String>,
    /// The same in hexadecimal digits, if it is not UTF-8.
    path_hex: Option<String>,
}

/// Forgets what was rejected: the same lines are then no repeat when an agent adds them again.
#[utoipa::path(
    post, path = "/api/projects/{project}/review/forget", tag = "review",
    request_body = Option<ForgetBody>,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "How much was forgotten.", body = ForgottenDocument))
)]
async fn review_forget(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(body): OptionalJsonBody<ForgetBody>,
) -> Result<Json<ForgottenDocument>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let ForgetBody { path, path_hex } = &body;
            let file = FileWords { path: path.as_deref(), path_hex: path_hex.as_deref() };
            let path = handle.read(|project| file.resolve(project))?;
            Ok(Json(ForgottenDocument { forgotten: handle.run(ForgetRejections { path })? }))
        })
        .await
}
