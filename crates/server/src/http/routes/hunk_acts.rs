//! Deciding on hunks: keeping, marking and rejecting them, and the queue of rejections that wait.
//!
//! Invariants: an act names hunks by their ids, and is refused with the hunks as they are if one of
//! them is another by now. A rejection that waits asks for the same consent as one that is carried
//! out at once, since it asks nothing when it is due.

use axum::extract::State;
use axum::{Extension, Json};
use retake_engine::model::{DialogId, QueueState};
use retake_engine::{HunkRequest, Plan, Project};
use retake_service::ApiError;
use retake_service::caller::is_process_alive;
use retake_service::describe::{DialogNames, unescaped};
use retake_service::documents::{
    DialogName, LocatePaths as _, QueuedRejectionDocument, RejectionQueue, ReviewedHunksDocument,
    SettledRejections,
};
use retake_service::request::{
    CancelRejection, CarryOutRejections, KeepHunks, MarkHunks, PlanRejectHunks, QueueRejection,
    QueuedHunks,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{JsonBody, PathParams, QueryParams};
use super::super::route_policy::{EVERYONE_SHOWING_CONTENT, HUMANS, HUMANS_OR_DRY_RUNS};
use super::apply::{Consent, OperationResponse, apply_plan, check_consent};
use super::hunk_bodies::{KeepHunksBody, MarkHunksBody, RejectHunksBody};
use super::stale_hunks::NamedHunks;
use super::{masking, page_size};
use crate::ProjectHandle;

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(HUMANS.guard_route(routes!(keep)))
        .routes(HUMANS.guard_route(routes!(mark)))
        .routes(HUMANS_OR_DRY_RUNS.guard_route(routes!(reject_hunks)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(queue)))
        .routes(HUMANS.guard_route(routes!(cancel)))
        .routes(HUMANS.guard_route(routes!(carry_out)))
}

impl AppState {
    /// Runs an act on hunks; a refusal of hunks that are others now tells how they are.
    async fn decide_hunks<T: Send + 'static>(
        &self,
        caller: &HttpCaller,
        project: String,
        hunks: NamedHunks,
        act: impl FnOnce(&ProjectHandle, HunkRequest) -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        let request = hunks.request.clone();
        let done = self.with_project(project.clone(), move |handle| act(handle, request)).await;
        self.explain_stale(caller, project, hunks, done).await
    }
}

/// Keeps hunks: they are seen, and changes of which all is seen are accepted. Writes no file.
#[utoipa::path(
    post, path = "/api/projects/{project}/review/keep", tag = "review",
    request_body = KeepHunksBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was kept.", body = ReviewedHunksDocument))
)]
async fn keep(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<KeepHunksBody>,
) -> Result<Json<ReviewedHunksDocument>, ErrorResponse> {
    let scope = body.scope_name();
    let request = state.read(id.clone(), move |project| body.request(project)).await?;
    let hunks = NamedHunks { scope, request };
    let keep = |handle: &ProjectHandle, hunks| {
        Ok(Json(ReviewedHunksDocument::from(&handle.run(KeepHunks { hunks })?)))
    };
    state.decide_hunks(&caller, id, hunks, keep).await
}

/// Marks hunks as seen, or as not seen, and decides on nothing.
#[utoipa::path(
    post, path = "/api/projects/{project}/review/mark", tag = "review",
    request_body = MarkHunksBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was marked.", body = ReviewedHunksDocument))
)]
async fn mark(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<MarkHunksBody>,
) -> Result<Json<ReviewedHunksDocument>, ErrorResponse> {
    let (scope, reviewed) = (body.scope_name(), body.is_reviewed());
    let request = state.read(id.clone(), move |project| body.request(project)).await?;
    let hunks = NamedHunks { scope, request };
    let mark = move |handle: &ProjectHandle, hunks| {
        Ok(Json(ReviewedHunksDocument::from(&handle.run(MarkHunks { hunks, reviewed })?)))
    };
    state.decide_hunks(&caller, id, hunks, mark).await
}

/// What became of a rejection: it was carried out at once, or it waits for the end of a turn.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = RejectedHunks)]
struct RejectionResponse {
    /// What was done, or would be; null if it waits.
    outcome: Option<OperationResponse>,
    /// What waits, one for each hunk; empty if it was carried out.
    queued: Vec<QueuedRejectionDocument>,
    /// The dialogs whose agents are at work, so that it waits, or would.
    waits_for: Vec<DialogName>,
}

/// Takes hunks back that the person does not want.
///
/// While an agent behind them is at work it waits, unless `wait` is false: it is planned again and
/// carried out when the turn has ended. A dry run tells the plan, and whom it would wait for.
#[utoipa::path(
    post, path = "/api/projects/{project}/review/reject", tag = "review",
    request_body = RejectHunksBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done, or waits.", body = RejectionResponse))
)]
async fn reject_hunks(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<RejectHunksBody>,
) -> Result<Json<RejectionResponse>, ErrorResponse> {
    let consent = body.consent().check_caller(&caller)?;
    let scope = body.scope_name();
    let named = body.clone();
    let request = state.read(id.clone(), move |project| named.request(project)).await?;
    let hunks = NamedHunks { scope, request };
    let reject = move |handle: &ProjectHandle, hunks| {
        HunkRejection { handle, hunks, body: &body, consent: &consent }.run().map(Json)
    };
    state.decide_hunks(&caller, id, hunks, reject).await
}

/// A rejection, as a client asks for it.
struct HunkRejection<'a> {
    handle: &'a ProjectHandle,
    hunks: HunkRequest,
    body: &'a RejectHunksBody,
    consent: &'a Consent,
}

impl HunkRejection<'_> {
    fn run(&self) -> Result<RejectionResponse, ErrorResponse> {
        let working = if self.body.waits() { self.working_dialogs()? } else { Vec::new() };
        let plan = self.plan(!working.is_empty())?;
        if working.is_empty() {
            return self.apply(plan);
        }
        let planned = check_consent(self.handle, &plan, self.consent)?;
        if self.consent.dry_run {
            let waits_for = self.name_dialogs(&working)?;
            return Ok(RejectionResponse { outcome: Some(planned), queued: Vec::new(), waits_for });
        }
        let queued = self.queue()?;
        if queued.entries.is_empty() {
            // The turn has ended in between.
            return self.apply(plan);
        }
        let waits_for = self.name_dialogs(&queued.working)?;
        let queued = self.handle.read(|project| {
            let masking = masking(project);
            let entries = queued.entries.iter();
            let entries = entries.map(|entry| QueuedRejectionDocument::new(entry, masking));
            Ok(entries.collect::<Vec<_>>().located(project.root()))
        })?;
        Ok(RejectionResponse { outcome: None, queued, waits_for })
    }

    /// The dialogs behind the hunks whose agents are at work.
    fn working_dialogs(&self) -> Result<Vec<DialogId>, ApiError> {
        let at = self.handle.now();
        let working =
            |project: &Project| Ok(project.working_dialogs(&self.hunks, at, &is_process_alive)?);
        self.handle.read(working)
    }

    fn plan(&self, is_queued: bool) -> Result<Plan, ApiError> {
        let taking = self.body.take_back_options(is_queued);
        let (hunks, reason) = (self.hunks.clone(), self.body.reason());
        self.handle.run(PlanRejectHunks { hunks, taking, reason })
    }

    fn apply(&self, plan: Plan) -> Result<RejectionResponse, ErrorResponse> {
        let outcome = Some(apply_plan(self.handle, plan, self.consent)?);
        Ok(RejectionResponse { outcome, queued: Vec::new(), waits_for: Vec::new() })
    }

    fn queue(&self) -> Result<QueuedHunks, ApiError> {
        let taking = self.body.take_back_options(true);
        let (hunks, reason) = (self.hunks.clone(), self.body.reason());
        self.handle.run(QueueRejection { hunks, taking, reason, if_at_work: true })
    }

    fn name_dialogs(&self, dialogs: &[DialogId]) -> Result<Vec<DialogName>, ApiError> {
        self.handle.read(|project| {
            let names = DialogNames::load(project, unescaped)?;
            let document = |id: &DialogId| DialogName { id: id.0.clone(), name: names.dialog(id) };
            Ok(dialogs.iter().map(document).collect())
        })
    }
}

/// How much of the queue.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct QueueQuery {
    /// At most so many that are settled; 100 unless told otherwise. All that wait are told.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The rejections that wait for the end of a turn, and what became of others, the newest first.
#[utoipa::path(
    get, path = "/api/projects/{project}/review/queue", tag = "review",
    params(("project" = String, Path, description = "The project's id."), QueueQuery),
    responses((status = 200, description = "The queue.", body = RejectionQueue))
)]
async fn queue(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<QueueQuery>,
) -> Result<Json<RejectionQueue>, ErrorResponse> {
    state
        .read(id, move |project| {
            let mut settled = page_size(query.limit, 100)?;
            let mut entries = project.queued_rejections(usize::MAX)?;
            entries.retain(|entry| {
                let is_waiting = entry.state == QueueState::Waiting;
                let is_shown = is_waiting || settled > 0;
                settled -= usize::from(is_shown && !is_waiting);
                is_shown
            });
            let queue = RejectionQueue::new(&entries, masking(project));
            Ok(Json(queue.located(project.root())))
        })
        .await
}

/// Takes a rejection out of the queue: its hunk stays, undecided.
#[utoipa::path(
    post, path = "/api/projects/{project}/review/queue/{rejection}/cancel", tag = "review",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("rejection" = u64, Path, description = "Its number in the queue."),
    ),
    responses((status = 200, description = "The entry.", body = QueuedRejectionDocument))
)]
async fn cancel(
    State(state): State<AppState>,
    PathParams((id, rejection)): PathParams<(String, u64)>,
) -> Result<Json<QueuedRejectionDocument>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let entry = handle.run(CancelRejection { id: rejection })?;
            let document = |project: &Project| {
                let document = QueuedRejectionDocument::new(&entry, masking(project));
                Ok(document.located(project.root()))
            };
            Ok(Json(handle.read(document)?))
        })
        .await
}

/// Carries out the rejections whose agents have ended their turns, as the daemon does by itself.
#[utoipa::path(
    post, path = "/api/projects/{project}/review/queue/run", tag = "review",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was settled.", body = SettledRejections))
)]
async fn carry_out(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
) -> Result<Json<SettledRejections>, ErrorResponse> {
    state
        .with_project(id, |handle| {
            let settled = handle.run(CarryOutRejections {})?;
            Ok(Json(SettledRejections::from(&settled[..])))
        })
        .await
}
