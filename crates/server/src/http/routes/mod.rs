//! The routes, by what they are about, and what they share: finding the project that is named,
//! and what names in a request mean there.

#![expect(unused_qualifications, reason = "the macro of utoipa writes them")]

mod access;
mod apply;
mod bodies;
mod calls;
mod changes;
mod checkpoints;
mod comments;
mod contents;
mod context;
mod dialogs;
mod diffs;
mod events;
mod file_changes;
mod history;
mod hunk_acts;
mod hunk_bodies;
mod hunks;
mod interface;
mod maintenance;
mod operations;
mod overview;
mod projects;
mod review;
mod settings;
mod setup;
mod stale_hunks;
mod stream;
mod titles;

use std::future::Future;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use retake_engine::Project;
use retake_engine::model::{AgentId, ChangeId, DialogId, ErrorCode, ProjectPath};
use retake_service::{ApiError, Masking};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;

pub(super) use apply::OperationResponse;

use super::AppState;
use super::caller::HttpCaller;
use super::conditional::EntityTag;
use super::error::ErrorResponse;
use super::heavy_reads::HeavySlot;
use super::reveal;
use crate::{ProjectHandle, ProjectPool};

/// Maximum entries of a page.
const MAX_PAGE_SIZE: usize = 1000;

/// Maximum bytes of the texts in a page of a conversation.
const MAX_PAGE_TEXT_BYTES: usize = 1024 * 1024;

/// Every route there is.
pub(super) fn all_routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(projects::router())
        .merge(changes::router())
        .merge(calls::router())
        .merge(diffs::router())
        .merge(contents::router())
        .merge(context::router())
        .merge(review::router())
        .merge(hunks::router())
        .merge(hunk_acts::router())
        .merge(comments::router())
        .merge(operations::router())
        .merge(checkpoints::router())
        .merge(events::router())
        .merge(stream::router())
        .merge(dialogs::router())
        .merge(history::router())
        .merge(file_changes::router())
        .merge(access::router())
        .merge(interface::router())
        .merge(overview::router())
        .merge(maintenance::router())
        .merge(settings::router())
        .merge(setup::router())
        .merge(titles::router())
}

impl AppState {
    /// Reads in a project, beside its writer.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        project: String,
        job: impl FnOnce(&Project) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        self.run_blocking(move |pool| Ok(watched_handle(pool, &project)?.read(job)?)).await
    }

    /// Reads in a project what may take much memory: few such reads run at once.
    async fn read_heavy<T: Serialize + 'static>(
        &self,
        project: String,
        job: impl FnOnce(&Project) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<Response, ErrorResponse> {
        let read = move |project: &Project| to_json(&job(project)?);
        self.heavy_json(|slot| self.run_heavy(slot, project, read)).await
    }

    /// The same of the project that has a dialog.
    async fn read_heavy_of_dialog<T: Serialize + 'static>(
        &self,
        dialog: String,
        project: Option<String>,
        job: impl FnOnce(&ProjectHandle, &DialogId) -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<Response, ErrorResponse> {
        let project = limit_to_own_project(project)?;
        let pool = Arc::clone(&self.projects);
        let read = move || {
            let dialog = DialogId::from(dialog.as_str());
            let handle = project_of_dialog(&pool, &dialog, project.as_deref())?;
            handle.start_watching();
            Ok(to_json(&job(&handle, &dialog)?)?)
        };
        self.heavy_json(|slot| self.run_heavy_job(slot, read)).await
    }

    /// The same for a document that a tag names; it is left out for a client that has it.
    async fn read_tagged<T: Serialize + 'static>(
        &self,
        project: String,
        headers: HeaderMap,
        job: impl FnOnce(&Project, &KnownTags) -> Result<TaggedDocument<T>, ApiError> + Send + 'static,
    ) -> Result<Response, ErrorResponse> {
        let slot = self.heavy.slot().await?;
        let read = move |project: &Project| {
            let TaggedDocument { tag, document } = job(project, &KnownTags(headers))?;
            Ok((tag, document.as_ref().map(to_json).transpose()?))
        };
        let (tag, document) = self.run_heavy(slot.clone(), project, read).await?;
        let Some(bytes) = document else { return Ok(tag.not_modified()) };
        let mut answer = json_response(self.heavy.body(bytes).await?);
        drop(slot);
        tag.add_to(answer.headers_mut());
        Ok(answer)
    }

    /// Waits for a place, reads JSON, and answers with it.
    async fn heavy_json<F: Future<Output = Result<Vec<u8>, ErrorResponse>>>(
        &self,
        read: impl FnOnce(HeavySlot) -> F,
    ) -> Result<Response, ErrorResponse> {
        let slot = self.heavy.slot().await?;
        let body = self.heavy.body(read(slot.clone()).await?).await?;
        drop(slot);
        Ok(json_response(body))
    }

    /// Reads in a project on a thread for heavy reads.
    async fn run_heavy<T: Send + 'static>(
        &self,
        slot: HeavySlot,
        project: String,
        job: impl FnOnce(&Project) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        let pool = Arc::clone(&self.projects);
        self.run_heavy_job(slot, move || Ok(watched_handle(&pool, &project)?.read(job)?)).await
    }

    async fn run_heavy_job<T: Send + 'static>(
        &self,
        slot: HeavySlot,
        job: impl FnOnce() -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        // A HTTP request keeps the daemon from idling out, as one on its socket does.
        let busy = self.projects.idle().start_work().ok_or_else(ErrorResponse::busy)?;
        let is_revealed = reveal::is_revealed();
        self.heavy
            .run(slot, move || {
                let done = reveal::run_blocking_revealed(is_revealed, job);
                drop(busy);
                done
            })
            .await
    }

    /// Runs a job with a project's handle.
    async fn with_project<T: Send + 'static>(
        &self,
        project: String,
        job: impl FnOnce(&ProjectHandle) -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        self.run_blocking(move |pool| job(&*watched_handle(pool, &project)?)).await
    }

    /// Runs a job with the handle of the project that has a dialog.
    async fn with_dialog<T: Send + 'static>(
        &self,
        dialog: String,
        project: Option<String>,
        job: impl FnOnce(&ProjectHandle, &DialogId) -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        let project = limit_to_own_project(project)?;
        self.run_blocking(move |pool| {
            let dialog = DialogId::from(dialog.as_str());
            let handle = project_of_dialog(pool, &dialog, project.as_deref())?;
            handle.start_watching();
            job(&handle, &dialog)
        })
        .await
    }
}

/// The project in which a dialog is looked for: the token's, if it is for one only.
fn limit_to_own_project(named: Option<String>) -> Result<Option<String>, ErrorResponse> {
    let Some(caller) = HttpCaller::current() else { return Ok(named) };
    if let Some(named) = &named {
        caller.check_project(named)?;
    }
    Ok(caller.only_project().map(str::to_owned).or(named))
}

/// The handle of a project that a client asks for: from then on it is watched. The client does not
/// wait for the first scan unless its request does.
fn watched_handle(pool: &ProjectPool, project: &str) -> Result<Arc<ProjectHandle>, ApiError> {
    let handle = pool.handle(project)?;
    handle.start_watching();
    Ok(handle)
}

/// A document, and the tag that names its bytes; none if the client has it.
struct TaggedDocument<T> {
    tag: EntityTag,
    document: Option<T>,
}

/// The tags of documents that the client has.
struct KnownTags(HeaderMap);

impl KnownTags {
    fn has(&self, tag: &EntityTag) -> bool {
        tag.is_known(&self.0)
    }
}

fn to_json(document: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(document).map_err(|error| {
        let message = format!("the document cannot be written: {error}");
        ApiError::new(ErrorCode::Internal, message, "report it")
    })
}

fn json_response(body: Body) -> Response {
    let mut answer = Response::new(body);
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    answer
}

/// Secrets are masked in what leaves by HTTP, unless the person wants them: always by the
/// settings, or in this answer.
fn masking(project: &Project) -> Masking {
    if reveal::is_revealed() { Masking::Off } else { Masking::from(&project.settings().api) }
}

/// The handle of the project that has a dialog; a project that is named decides if several do.
fn project_of_dialog(
    pool: &ProjectPool,
    dialog: &DialogId,
    project: Option<&str>,
) -> Result<Arc<ProjectHandle>, ApiError> {
    let has = |handle: &ProjectHandle| handle.read(|project| Ok(project.dialog(dialog)?.is_some()));
    if let Some(id) = project {
        let handle = pool.handle(id)?;
        return if has(&handle)? { Ok(handle) } else { Err(unknown_dialog(dialog)) };
    }
    let open = pool.handles();
    let mut found = Vec::new();
    for known in pool.known_projects()? {
        let has_it = match open.iter().find(|handle| handle.id() == known.id) {
            // A project whose record cannot be read keeps none of the others from being found.
            Some(handle) => has(handle).unwrap_or(false),
            // One is not opened for good because of this.
            None => pool
                .peek(&known.id, |project| Ok(project.dialog(dialog)?.is_some()))
                .unwrap_or(false),
        };
        if has_it {
            found.push(pool.handle(&known.id)?);
        }
    }
    match found.as_slice() {
        [handle] => Ok(Arc::clone(handle)),
        [] => Err(unknown_dialog(dialog)),
        [first, second, ..] => Err(ApiError::new(
            ErrorCode::AmbiguousDialog,
            format!("projects {} and {} both have dialog '{dialog}'", first.id(), second.id()),
            "say which with ?project=",
        )),
    }
}

fn unknown_dialog(dialog: &DialogId) -> ApiError {
    let message = format!("there is no dialog '{dialog}'");
    ApiError::new(
        ErrorCode::UnknownDialog,
        message,
        "GET /api/projects/{project}/dialogs lists them",
    )
}

/// A dialog of the project.
fn find_dialog(project: &Project, id: &str) -> Result<DialogId, ApiError> {
    let id = DialogId::from(id);
    match project.dialog(&id)? {
        Some(_) => Ok(id),
        None => Err(unknown_dialog(&id)),
    }
}

/// An agent that some dialog knows.
fn find_agent(project: &Project, id: &str) -> Result<AgentId, ApiError> {
    let mut agents = project.dialogs()?.into_iter().flat_map(|(_, agents)| agents);
    agents.find(|agent| agent.id.0 == id).map(|agent| agent.id).ok_or_else(|| {
        let message = format!("no dialog has an agent '{id}'");
        ApiError::new(
            ErrorCode::UnknownAgent,
            message,
            "GET /api/projects/{project}/dialogs lists them",
        )
    })
}

/// A change by its id.
fn parse_change_id(text: &str) -> Result<ChangeId, ApiError> {
    let id = text.parse().ok().filter(|id: &ChangeId| check_seq(id.0).is_ok());
    id.ok_or_else(|| {
        let message = format!("'{text}' is not a change id");
        ApiError::new(ErrorCode::BadValue, message, "they look like c12")
    })
}

/// A place in the project's order, which the record counts with signed numbers.
fn check_seq(number: u64) -> Result<u64, ApiError> {
    if i64::try_from(number).is_ok() {
        return Ok(number);
    }
    let message = format!("nothing is at place {number}");
    Err(ApiError::new(ErrorCode::BadValue, message, "send what the page before gave"))
}

/// The place in the project of a path that a client wrote; never one outside of it.
fn resolve_path(project: &Project, text: &str) -> Result<ProjectPath, ApiError> {
    project.resolve_path(project.root(), text).ok_or_else(|| {
        let message = format!("'{text}' is no path in {}", project.root().display());
        ApiError::new(ErrorCode::OutsideProject, message, "name a file or folder of the project")
    })
}

/// Returns the page size; rejects one over the maximum.
fn page_size(requested: Option<usize>, default: usize) -> Result<usize, ApiError> {
    let limit = requested.unwrap_or(default);
    if (1..=MAX_PAGE_SIZE).contains(&limit) {
        return Ok(limit);
    }
    let message = format!("`limit` is {limit}, not 1 to {MAX_PAGE_SIZE}");
    Err(ApiError::new(ErrorCode::BadValue, message, "ask for several pages"))
}
