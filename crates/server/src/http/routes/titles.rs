//! Titles that the person gives to dialogs.

use axum::Json;
use axum::extract::State;
use retake_engine::model::{DialogId, ErrorCode};
use retake_service::ApiError;
use retake_service::documents::DialogDocument;
use retake_service::request::SetDialogTitle;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{JsonBody, PathParams};
use super::super::route_policy::HUMANS;
use super::{masking, unknown_dialog};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(HUMANS.guard_route(routes!(set_title)))
}

/// A dialog's title.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTitle)]
struct TitleBody {
    /// The title, at most 200 characters on one line; null takes it away, and the agent's own is
    /// shown again.
    #[serde(deserialize_with = "present")]
    #[schema(required = true, max_length = 200)]
    title: Option<String>,
}

/// A field that may be null, but not left out.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from)
}

/// Gives a dialog a title, which is shown instead of the agent's own, or takes it away.
#[utoipa::path(
    put, path = "/api/projects/{project}/dialogs/{dialog}/title", tag = "dialogs",
    request_body = TitleBody,
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
    ),
    responses((status = 200, description = "The dialog.", body = DialogDocument))
)]
async fn set_title(
    State(state): State<AppState>,
    PathParams((project, dialog)): PathParams<(String, String)>,
    JsonBody(body): JsonBody<TitleBody>,
) -> Result<Json<DialogDocument>, ErrorResponse> {
    let title = body.title.as_deref().map(check_title).transpose()?;
    state
        .with_project(project, move |handle| {
            let dialog = DialogId::from(dialog.as_str());
            handle.run(SetDialogTitle { dialog: dialog.clone(), title })?;
            Ok(Json(handle.read(|project| {
                let known = project.dialog(&dialog)?.ok_or_else(|| unknown_dialog(&dialog))?;
                Ok(DialogDocument::new(&known, &project.agents(&dialog)?, masking(project)))
            })?))
        })
        .await
}

/// Maximum characters of a title.
const MAX_TITLE_CHARS: usize = 200;

fn check_title(text: &str) -> Result<String, ApiError> {
    let title = text.trim();
    let why = if title.is_empty() {
        "a title is not empty"
    } else if title.chars().count() > MAX_TITLE_CHARS {
        "the title has more than 200 characters"
    } else if title.chars().any(char::is_control) {
        "the title has control characters or several lines"
    } else {
        return Ok(title.to_owned());
    };
    Err(ApiError::new(ErrorCode::BadValue, why, "send one short line, or null to take it away"))
}
