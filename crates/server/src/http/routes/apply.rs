//! Applies a plan for a client, as far as it consented.
//!
//! Invariant: what replaces a person's edits, takes back what was not named, touches files of
//! another dialog or deletes files is never done unless the client says yes to just that.

use std::io;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use retake_engine::Plan;
use retake_engine::model::ErrorCode;
use retake_service::ApiError;
use retake_service::documents::OperationOutcome;
use retake_service::request::ApplyPlan;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::masking;
use crate::ProjectHandle;

/// What an operation would do, or did.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Acted)]
pub(in super::super) struct OperationResponse {
    #[serde(flatten)]
    pub(super) outcome: OperationOutcome,
    /// What the plan is known by: sent back, nothing but this plan is carried out.
    pub(super) plan_digest: Option<String>,
}

/// A client's consent.
#[derive(Clone, Debug, Default)]
pub(super) struct Consent {
    /// Only the plan is wanted.
    pub(super) dry_run: bool,
    /// Yes to everything.
    pub(super) yes: bool,
    /// Yes to these.
    pub(super) agreed: Vec<String>,
    /// The plan that was seen.
    pub(super) plan_digest: Option<String>,
}

impl Consent {
    /// Refuses an agent that wants more than a plan.
    pub(super) fn check_caller(self, caller: &HttpCaller) -> Result<Self, ErrorResponse> {
        if !self.dry_run {
            caller.require_person()?;
        }
        Ok(self)
    }

    fn covers(&self, code: &str) -> bool {
        self.yes || self.agreed.iter().any(|agreed| agreed == code)
    }
}

/// Rejects a client that has seen a plan, if nothing is left to do.
pub(super) fn nothing_to_apply(
    outcome: OperationOutcome,
    consent: &Consent,
) -> Result<OperationResponse, ErrorResponse> {
    let nothing =
        OperationResponse { outcome: outcome.with_dry_run(consent.dry_run), plan_digest: None };
    if consent.plan_digest.is_some() && !consent.dry_run {
        let hint = "there is nothing left to do";
        let problem = ErrorResponse::new(
            ErrorCode::PlanChanged,
            "the plan is not the one that was seen",
            hint,
        );
        return Err(problem.with_outcome(nothing));
    }
    Ok(nothing)
}

/// Applies a plan, as far as the client consented.
pub(super) fn apply_plan(
    handle: &ProjectHandle,
    plan: Plan,
    consent: &Consent,
) -> Result<OperationResponse, ErrorResponse> {
    let planned = check_consent(handle, &plan, consent)?;
    if consent.dry_run {
        return Ok(planned);
    }
    apply_now(handle, plan, planned.plan_digest)
}

/// Returns the plan as the client sees it; an error unless the client only wants to see it, or
/// consented to all of it.
pub(super) fn check_consent(
    handle: &ProjectHandle,
    plan: &Plan,
    consent: &Consent,
) -> Result<OperationResponse, ErrorResponse> {
    let planned = plan_response(handle, plan, consent)?;
    if consent.dry_run {
        return Ok(planned);
    }
    if consent.plan_digest.is_some() && consent.plan_digest != planned.plan_digest {
        let hint = "look at the new plan, and send its digest";
        let problem = ErrorResponse::new(
            ErrorCode::PlanChanged,
            "the plan is not the one that was seen",
            hint,
        );
        return Err(problem.with_outcome(planned));
    }
    let asks = planned.outcome.questions.iter();
    let open: Vec<_> = asks.filter(|question| !consent.covers(&question.code)).collect();
    if !open.is_empty() {
        let texts: Vec<_> = open.iter().map(|question| format!("{}.", question.text)).collect();
        let message =
            format!("nothing was changed, since this needs your confirmation: {}", texts.join(" "));
        let hint = "send the codes in `asks` as `agreed`, or `yes`";
        return Err(ErrorResponse::new(ErrorCode::NeedsYes, message, hint).with_outcome(planned));
    }
    Ok(planned)
}

/// Applies a plan whole or not at all, for an answer that cannot say "in part".
pub(super) fn apply_plan_whole(
    handle: &ProjectHandle,
    plan: Plan,
    consent: &Consent,
) -> Result<OperationResponse, ErrorResponse> {
    let whole = |acted: OperationResponse| {
        if acted.outcome.whole {
            return Ok(acted);
        }
        let hint = "the routes under /api/projects/{project} do the rest, and say what is left";
        let message = "some files would be left as they are";
        Err(ErrorResponse::new(ErrorCode::Partial, message, hint).with_outcome(acted))
    };
    whole(plan_response(handle, &plan, consent)?)?;
    whole(apply_plan(handle, plan, consent)?)
}

fn plan_response(
    handle: &ProjectHandle,
    plan: &Plan,
    consent: &Consent,
) -> Result<OperationResponse, ErrorResponse> {
    let outcome = handle
        .read(|project| Ok(OperationOutcome::planned(project, plan)?.masked(masking(project))))?;
    let outcome = outcome.with_dry_run(consent.dry_run);
    Ok(OperationResponse { outcome, plan_digest: Some(plan_digest(plan)?) })
}

fn apply_now(
    handle: &ProjectHandle,
    plan: Plan,
    plan_digest: Option<String>,
) -> Result<OperationResponse, ErrorResponse> {
    let applied = handle.run(ApplyPlan { plan })?;
    let outcome = handle.read(|project| {
        Ok(OperationOutcome::applied(project, &applied)?.masked(masking(project)))
    })?;
    Ok(OperationResponse { outcome, plan_digest })
}

fn plan_digest(plan: &Plan) -> Result<String, ApiError> {
    let mut digest = DigestWriter(Sha256::new());
    serde_json::to_writer(&mut digest, plan).map_err(|error| {
        ApiError::new(
            ErrorCode::Internal,
            format!("the plan cannot be written: {error}"),
            "report it",
        )
    })?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(digest.0.finalize()))
}

/// Hashes what is written, so that the plan of very many files is not in memory as JSON, too.
struct DigestWriter(Sha256);

impl io::Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
