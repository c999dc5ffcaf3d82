//! The routes, by what they are about, and what they share: finding the project that is named,
//! and what names in a request mean there.

#![expect(unused_qualifications, reason = "the macro of utoipa writes them")]

mod apply;
mod bodies;
mod changes;
mod checkpoints;
mod context;
mod dialogs;
mod events;
mod file_changes;
mod history;
mod interface;
mod projects;
mod review;
mod stream;

use std::sync::Arc;

use retake_engine::Project;
use retake_engine::model::{AgentId, ChangeId, DialogId, ErrorCode, ProjectPath};
use retake_service::{ApiError, Masking};
use utoipa_axum::router::OpenApiRouter;

pub(super) use apply::OperationResponse;

use super::AppState;
use super::error::ErrorResponse;
use crate::{ProjectHandle, ProjectPool};

/// Maximum entries of a page.
const MAX_PAGE_SIZE: usize = 1000;

/// Every route there is.
pub(super) fn all_routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(projects::router())
        .merge(changes::router())
        .merge(context::router())
        .merge(review::router())
        .merge(checkpoints::router())
        .merge(events::router())
        .merge(stream::router())
        .merge(dialogs::router())
        .merge(history::router())
        .merge(file_changes::router())
        .merge(interface::router())
}

impl AppState {
    /// Reads in a project, beside its writer.
    async fn read<T: Send + 'static>(
        &self,
        project: String,
        job: impl FnOnce(&Project) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        self.run_blocking(move |pool| Ok(pool.handle(&project)?.read(job)?)).await
    }

    /// Runs a job with a project's handle.
    async fn with_project<T: Send + 'static>(
        &self,
        project: String,
        job: impl FnOnce(&ProjectHandle) -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        self.run_blocking(move |pool| job(&*pool.handle(&project)?)).await
    }

    /// Runs a job with the handle of the project that has a dialog.
    async fn with_dialog<T: Send + 'static>(
        &self,
        dialog: String,
        project: Option<String>,
        job: impl FnOnce(&ProjectHandle, &DialogId) -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        self.run_blocking(move |pool| {
            let dialog = DialogId::from(dialog.as_str());
            job(&*project_of_dialog(pool, &dialog, project.as_deref())?, &dialog)
        })
        .await
    }
}

/// Secrets are masked in what leaves by HTTP, unless the person wants them.
fn masking(project: &Project) -> Masking {
    Masking::from(&project.settings().api)
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
            // A project whose folder is gone cannot be asked.
            Some(handle) => has(handle).unwrap_or(false),
            // One is not opened for good because of this.
            None => match pool.retake().open(&known.root) {
                Ok(project) => project.id() == known.id && project.dialog(dialog)?.is_some(),
                Err(_) => false,
            },
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
